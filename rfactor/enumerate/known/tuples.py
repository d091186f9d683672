"""Tuples whose components belong together: moments, linear algebra, rescaled sums, colours, physics."""

from __future__ import annotations

from rfactor.enumerate.known.template import COMMON, FLOATS, MAIN, MATH, REALS, SIGNED_WORDS, WORDS, Family

_C = {"c": "bool"}

MOMENTS = [
    Family("sums", COMMON, ["x0 + a, x1 + 1", "x0 + 1, x1 + a", "x0 + a, x1 + b", "x0 + a, x1 + a*a", "x0 + a, x1 + a*b", "x0 + a, x1 - a", "x0 + a*a, x1 + a", "x0 + 1, x1 + 1"]),
    Family("sums/several", MAIN, ["x0 + 1, x1 + a, x2 + a*a", "x0 + a, x1 + a*a, x2 + 1", "x0 + a, x1 + b, x2 + a*b", "x0 + a, x1 + b, x2 + a*a, x3 + a*b", "x0 + a, x1 + b, x2 + 1",
                                  "x0 + 1, x1 + a, x2 + b, x3 + a*b, x4 + a*a", "x0 + a, x1 + b, x2 + a*a, x3 + b*b, x4 + a*b", "x0 + 1, x1 + a, x2 + b, x3 + a*a, x4 + b*b, x5 + a*b",
                                  "x0 + a, x1 + a*a, x2 + a*a*a", "x0 + a, x1 + a*a, x2 + a*a*a, x3 + a*a*a*a", "x0 + a, x1 + b, x2 + e", "x0 + a*b, x1 + a*a, x2 + b*b", "x0 + a, x1 + a*b, x2 + a*b*b",
                                  "x0 + w, x1 + w*a, x2 + w*a*a", "x0 + w, x1 + w*a", "x0 + w*a, x1 + w", "x0 + a*w, x1 + b*w, x2 + w", "x0 + 1, x1 + a, x2 + a*a, min(x3, a), max(x4, a)",
                                  "x0*a, x1 + a", "x0 + a, x1*a", "x0 + a, x1*a, x2 + 1", "x0*a, x1 + 1", "x0*a, x1*b", "x0 + select(c, a, 0), x1 + select(c, 0, a)"], typed=_C),
    Family("sums/count of integers", REALS, ["x0 + a, x1 + 1", "x0 + 1, x1 + a", "select(c, x0 + a, x0), x1 + select(c, 1, 0)", "select(c, x0 + a, x0), select(c, x1 + 1, x1)"],
           typed=_C | {"x1": "i32", "x0": "T"}),
    Family("running mean", REALS, ["x0 + 1, x1 + (a - x1)/(x0 + 1)", "x0 + 1, (x1*x0 + a)/(x0 + 1)", "x0 + (a - x0)/(x1 + 1), x1 + 1", "(x0*x1 + a)/(x1 + 1), x1 + 1", "x0 + w, x1 + (a - x1)*w/(x0 + w)",
                                   "x0 + w, x1 + (w/(x0 + w))*(a - x1)", "x0 + w, (x0*x1 + w*a)/(x0 + w)", "(x0*x1 + a*w)/(x1 + w), x1 + w", "x0 + 1, x1*x0/(x0 + 1) + a/(x0 + 1)",
                                   "x0 + 1, x1 + (a - x1)*(1/(x0 + 1))", "x0 + w, x1 + w*(a - x1)/(x0 + w)", "x0 + (a - x0)*w/(x1 + w), x1 + w",
                                   "select(c, x0 + 1, x0), select(c, x1 + (a - x1)/(x0 + 1), x1)", "x0 + 1, x1 + (a - x1)/(x0 + 1), x2 + (b - x2)/(x0 + 1)"], typed=_C),
    Family("running variance", REALS, ["x0 + 1, x1 + (a - x1)/(x0 + 1), x2 + (a - x1)*(a - (x1 + (a - x1)/(x0 + 1)))", "x0 + 1, x1 + (a - x1)/(x0 + 1), x2 + (a - x1)*(a - x1)*x0/(x0 + 1)",
                                       "x0 + (a - x0)/(x1 + 1), x1 + 1, x2 + (a - x0)*(a - x0)*x1/(x1 + 1)", "x0 + (a - x0)/(x2 + 1), x1 + (a - x0)*(a - (x0 + (a - x0)/(x2 + 1))), x2 + 1",
                                       "x0 + w, x1 + (a - x1)*w/(x0 + w), x2 + w*(a - x1)*(a - (x1 + (a - x1)*w/(x0 + w)))", "x0 + 1, x1 + (a - x1)/(x0 + 1), x2 + (a - (x1 + (a - x1)/(x0 + 1)))*(a - x1)",
                                       "x0 + (a - x0)/(x2 + 1), x1 + (a - x0)*(a - x0)*x2/(x2 + 1), x2 + 1",
                                       "x0 + 1, x1 + (a - x1)/(x0 + 1), x2 + (b - x2)/(x0 + 1), x3 + (a - x1)*(b - (x2 + (b - x2)/(x0 + 1)))",
                                       "x0 + 1, x1 + (a - x1)/(x0 + 1), x2 + ((a - x1)*(a - (x1 + (a - x1)/(x0 + 1))) - x2)/(x0 + 1)",
                                       "x0 + 1, x1 + (a - x1)/(x0 + 1), x2 + (a - x1)*(a - x1)*(x0/(x0 + 1))"]),
]  # fmt: skip

_M2 = "x0*a + x1*e, x0*b + x1*f, x2*a + x3*e, x2*b + x3*f"
LINEAR = [
    Family("complex product", MAIN, ["x0*a - x1*b, x0*b + x1*a", "x0*a - x1*b, x1*a + x0*b", "a*x0 - b*x1, b*x0 + a*x1", "x0*a + x1*b, x1*a - x0*b", "x0*a - x1*b + e, x0*b + x1*a + f",
                                     "select(c, x0*a - x1*b, x0), select(c, x0*b + x1*a, x1)", "x0*a - x1*b, x0*b + x1*a, x2 + 1", "x1*a + x0*b, x1*b - x0*a"], typed=_C),
    Family("complex sums", REALS, ["x0 + a*b - e*f, x1 + a*f + b*e", "x0 + a*cos(b), x1 + a*sin(b)", "x0*cos(a) - x1*sin(a), x0*sin(a) + x1*cos(a)", "x0 + a*e + b*f, x1 + b*e - a*f"]),
    Family("pairs", MAIN, ["x0*a, x0*b + x1*a", "x0*a, x1*a + b*x0", "x0*a + x1*b, x0*b + x1*a", "x0*a, x1*b", "x0*a, x0*b + x1", "x0*a, x1*a + b", "x0*a + b, x1*a", "x0*a, x1 + b*x0", "x0*a, x1 + x0*b",
                           "x0 + a, x1 + a*x0", "x0 + a, x1 + b*x0", "x0*a + x1*b, x0*e + x1*f", "x0*a + x1*e, x0*b + x1*f", "x0*a, x0*b + x1*e", "x0*a + x1*b, x1*e", "x0*a + x1*b + e, x0*f + x1*g + h",
                           "x0*a + b, x1*e + f", "x0*a + b, x1*a + e", "x0*a, x1 + a", "x0 + x1*a, x1*b", "x0*a + x1, x1*b", "x0 + x1, x1*a", "x0*a - x1*b, x1*a + x0*a", "x0*k, x1*k + a", "x0*k + x1*k1, x0*k2 + x1*k3",
                           "x0*k + x1*k1 + a, x0*k2 + x1*k3 + b", "x0*a + x1, x0", "x1 + a*x0, x0"]),
    Family("matrices", MAIN, [_M2, "a*x0 + b*x2, a*x1 + b*x3, e*x0 + f*x2, e*x1 + f*x3", "x0*a, x0*b + x1*e, x2*e", "x0*a, x0*b + x1*f, x2*a, x2*b + x3*f", "x0*a + x1*b, x0*b + x1*e, x1*b + x2*e",
                              "x0*a + x1*e, x0*b + x1*f, x2 + 1"]),
    Family("vectors by matrices", MAIN, ["x0*a + x1*b + x2*e, x0*f + x1*g + x2*h, x0*l + x1*m + x2*n", "x0*a, x0*b + x1*e, x0*f + x1*g + x2*h"]),
    Family("matrices of three", ("i32", "f32", "f64"), [", ".join(f"x{3 * i}*m0{j} + x{3 * i + 1}*m1{j} + x{3 * i + 2}*m2{j}" for i in range(3) for j in range(3)),
                                                       ", ".join(f"m{i}0*x{j} + m{i}1*x{3 + j} + m{i}2*x{6 + j}" for i in range(3) for j in range(3))]),
    Family("affine maps of the plane", REALS, ["x0*a + x1*e, x0*b + x1*f, x2*a + x3*e, x2*b + x3*f, x4*a + x5*e + g, x4*b + x5*f + h"]),
    Family("quaternions", MAIN, ["x0*a - x1*b - x2*e - x3*f, x0*b + x1*a + x2*f - x3*e, x0*e - x1*f + x2*a + x3*b, x0*f + x1*e - x2*b + x3*a",
                                 "a*x0 - b*x1 - e*x2 - f*x3, a*x1 + b*x0 + e*x3 - f*x2, a*x2 - b*x3 + e*x0 + f*x1, a*x3 + b*x2 - e*x1 + f*x0"]),
    Family("vectors", MAIN, ["x0 + a, x1 + b, x2 + e", "x0 + a*b, x1 + a*e, x2 + a*f", "x0 + a, x1 + b, x2 + e, x3 + f", "x0 + a*e, x1 + b*e, x2 + e", "x0 + w*a, x1 + w*b, x2 + w", "x0 + a*b, x1 + a, x2 + b",
                             "x0 + a*a, x1 + b*b, x2 + a*b", "x0 + a*e - b*f, x1 + b"]),
    Family("max-plus matrices", ("i32", "f32", "f64"), ["max(x0 + a, x1 + e), max(x0 + b, x1 + f), max(x2 + a, x3 + e), max(x2 + b, x3 + f)", "min(x0 + a, x1 + e), min(x0 + b, x1 + f), min(x2 + a, x3 + e), min(x2 + b, x3 + f)"],
           semantics=MATH),
    Family("boolean matrices", ("bool",), ["(x0 and a) or (x1 and e), (x0 and b) or (x1 and f)", "(x0 and a) or (x1 and e), (x0 and b) or (x1 and f), (x2 and a) or (x3 and e), (x2 and b) or (x3 and f)"]),
]  # fmt: skip

_MAX, _UP = "max(x0, a)", "exp(x0 - max(x0, a))"
_S = f"x1*{_UP} + exp(a - {_MAX})"
RESCALED = [
    Family("log of a sum of exponentials", REALS, ["log(exp(x) + exp(a))", "max(x, a) + log(1 + exp(-abs(x - a)))", "max(x, a) + log1p(exp(-abs(x - a)))", "x + log(1 + exp(a - x))", "x + log1p(exp(a - x))",
                                                   "select(x > a, x + log(1 + exp(a - x)), a + log(1 + exp(x - a)))", "select(x > a, x + log1p(exp(a - x)), a + log1p(exp(x - a)))", "log(exp(x) + a)",
                                                   "max(x, a) + log(1 + exp(min(x, a) - max(x, a)))", "max(x, a) + log1p(exp(min(x, a) - max(x, a)))", "max(x, a) + log(exp(x - max(x, a)) + exp(a - max(x, a)))",
                                                   "-log(exp(-x) + exp(-a))", "log(exp(x + a) + exp(b))", "log(k*exp(x) + exp(a))", "x + exp(a)", "x0 + exp(a), x1 + exp(a)*b", "x0 + exp(a), x1 + b*exp(a)",
                                                   "max(x, a) + log(1 + exp(-abs(a - x)))", "log2(exp2(x) + exp2(a))"]),
    Family("online softmax", REALS, [f"{_MAX}, {_S}", f"{_MAX}, exp(a - {_MAX}) + x1*{_UP}", "select(a > x0, a, x0), select(a > x0, x1*exp(x0 - a) + 1, x1 + exp(a - x0))",
                                     "max(x0, a), select(a > x0, x1*exp(x0 - a) + 1, x1 + exp(a - x0))", "max(x0, a), select(x0 >= a, x1 + exp(a - x0), 1 + x1*exp(x0 - a))",
                                     "x0*exp(x1 - max(x1, a)) + exp(a - max(x1, a)), max(x1, a)", "max(x0, a), select(a >= x0, x1*exp(x0 - a) + 1, x1 + exp(a - x0))",
                                     "max(x0, a), x1*exp2(x0 - max(x0, a)) + exp2(a - max(x0, a))", "max(x0, a*k), x1*exp(x0 - max(x0, a*k)) + exp(a*k - max(x0, a*k))",
                                     "max(x0, a), x1*exp(k*(x0 - max(x0, a))) + exp(k*(a - max(x0, a)))", "select(c, max(x0, a), x0), select(c, x1*exp(x0 - max(x0, a)) + exp(a - max(x0, a)), x1)",
                                     "min(x0, a), x1*exp(min(x0, a) - x0) + exp(min(x0, a) - a)", "max(x0, a), (x1*exp(x0) + exp(a))*exp(-max(x0, a))"], typed=_C),
    Family("streaming attention", REALS, [f"{_MAX}, {_S}, x2*{_UP} + v*exp(a - {_MAX})", f"{_MAX}, {_S}, x2*{_UP} + exp(a - {_MAX})*v",
                                          "select(a > x0, a, x0), select(a > x0, x1*exp(x0 - a) + 1, x1 + exp(a - x0)), select(a > x0, x2*exp(x0 - a) + v, x2 + v*exp(a - x0))",
                                          f"{_MAX}, x1*{_UP} + v*exp(a - {_MAX})", f"{_MAX}, {_S}, x2*{_UP} + v*exp(a - {_MAX}), x3*{_UP} + w*exp(a - {_MAX})",
                                          f"{_MAX}, {_S}, x2 + a", f"{_MAX}, {_S}, x2 + 1", "max(x0, a*b), x1*exp(x0 - max(x0, a*b)) + exp(a*b - max(x0, a*b)), x2*exp(x0 - max(x0, a*b)) + v*exp(a*b - max(x0, a*b))",
                                          f"{_MAX}, {_S}, (x2*x1*{_UP} + v*exp(a - {_MAX}))/({_S})", f"{_MAX}, {_S}, select(a > x0, i, x2)"]),
    Family("gates", REALS, ["max(f + x0, i), x1*exp(f + x0 - max(f + x0, i)) + exp(i - max(f + x0, i))", "max(f + x0, i), x1*exp(f + x0 - max(f + x0, i)) + exp(i - max(f + x0, i))*v",
                            "max(x0, i), x1*d*exp(x0 - max(x0, i)) + exp(i - max(x0, i))*v", "max(x0 - k, a), x1*exp(x0 - k - max(x0 - k, a)) + exp(a - max(x0 - k, a))",
                            "max(f + x0, i), x1*exp(f + x0 - max(f + x0, i)) + exp(i - max(f + x0, i))*v, x2*exp(f + x0 - max(f + x0, i)) + exp(i - max(f + x0, i))"]),
    Family("decaying means", REALS, ["x0*k + w, x1 + (a - x1)*w/(x0*k + w)", "x0*k + 1, x1 + (a - x1)/(x0*k + 1)", "x0*k + w, (x0*k*x1 + w*a)/(x0*k + w)", "x0*k + 1, x1*k + a", "x0*k + w, x1*k + w*a",
                                     "x0*exp(-b) + a, x1*exp(-b) + 1", "x0*0.9 + 1, x1*0.9 + a"]),
    Family("norms", REALS, ["sqrt(x*x + a*a)", "sqrt(x*x + a)", "sqrt(a*a + x*x)", "pow(pow(x, 2.0) + pow(a, 2.0), 0.5)", "sqrt(x*x + a*a + b*b)", "x + sqrt(a*a + b*b)", "max(x, sqrt(a*a + b*b))", "pow(x*x*x + a*a*a, 1.0/3.0)",
                            "select(a > x0, 1 + x1*(x0/a)*(x0/a), x1 + (a/x0)*(a/x0)), max(x0, a)", "max(x0, a), select(a > x0, 1 + x1*(x0/a)*(x0/a), x1 + (a/x0)*(a/x0))"]),
    Family("blending", REALS, ["x*(1 - a) + b", "x*(1 - a) + a*b", "x + (1 - x)*a", "a + x*(1 - a)", "1 - (1 - x)*(1 - a)", "x0*(1 - a) + b*a, x1*(1 - a) + a", "x0 + (1 - x1)*a*b, x1 + (1 - x1)*a",
                               "x0 + x1*a*b, x1*(1 - a)", "x0*(1 - e) + a*e, x1*(1 - e) + b*e, x2*(1 - e) + f*e", "x0*(1 - e) + a, x1*(1 - e) + b, x2*(1 - e) + f, x3*(1 - e) + e", "x0 + (1 - x1)*b, x1 + (1 - x1)*a",
                               "x0 + x1*a, x1*(1 - b)", "x0*x1 + a, x1*b", "x0 + x3*a*e, x1 + x3*b*e, x2 + x3*f*e, x3*(1 - e)", "x0*exp(-a), x1 + x0*b", "x0*exp(-a), x1 + x0*(1 - exp(-a))*b", "x0*(1 - a), x1 + x0*a",
                               "x0*(1 - a), x1 + x0*a*b", "x0 + a*x1, x1*(1 - a)", "x0 + (1 - x3)*a*e, x1 + (1 - x3)*b*e, x2 + (1 - x3)*f*e, x3 + (1 - x3)*e"]),
    Family("nearest", MAIN, ["select(z < x0, z, x0), select(z < x0, a, x1), select(z < x0, b, x2), select(z < x0, e, x3)", "select(z > x0, z, x0), select(z > x0, a, x1), select(z > x0, b, x2), select(z > x0, e, x3)"]),
    Family("angles", REALS, ["x + a - floor(x + a)", "x + a - k*floor((x + a)/k)", "x + a - 360.0*floor((x + a)/360.0)", "x*cos(a) + b", "x + a*a - floor(x + a*a)"]),
    Family("states of models", REALS, ["x*a + b*e", "x*exp(a*b) + a*e", "x0*a + b*e, x1*a + b*f", "x0*a + e, x1*b + f, x2*g + h", "x*a + (1 - a)*b", "x*(1 - a) + a*tanh(b)", "x*a + tanh(b)", "max(x*a + b, 0)"]),
    Family("motion", REALS, ["x0 + x1*k, x1 + a*k", "x0 + x1*a, x1 + b*a", "x0 + x1, x1 + a", "x0 + k*x1 + a, x1 + b", "x0 + x1*k + 0.5*a*k*k, x1 + a*k", "x0 + k*x1, x1 - k1*x0 + a", "x0 + x1*k, x1*k1 + a"]),
]  # fmt: skip

SIDE_BY_SIDE = [
    Family("side by side", MAIN, ["x0 + a, max(x1, a), select(a > x1, i, x2)", "x0 + a, x1 + a*a, min(x2, a), max(x3, a)", "max(x0, a), x1 + a*b", "min(x0, a), x1 + b", "x0 + a, x1 + select(a > 0, 1, 0)",
                                  "x0*k + a, max(x1, a)", "x0*31 + a, x1 + 1", "x0*a + b, x1 + 1", "x0 + a, x1*k + a", "x0 + a, select(c, a, x1)", "select(c, a, x0), x1 + a", "a, x1 + a", "x0 + a, a", "max(x0, a), a", "x0 + a, select(a > 0, a, x1)",
                                  "select(c, x0 + a, x0), select(c, max(x1, a), x1)", "select(c, x0 + 1, x0), select(c, x1 + a, x1), select(c, x2 + a*a, x2)", "x0 + a, x0 + a + 1", "x0 + a, 2*(x0 + a)", "max(x0, a), max(x0, a) + 1",
                                  "x0 + 1, x1 + a, max(x2, a), select(a > x2, i, x3)", "x0 + a, x1 + 1, (x0 + a)/(x1 + 1)"], typed=_C)
    ,
    Family("side by side/truths", MAIN, ["x0 + a, max(x1, a), x2 or a > k", "x0 + 1, x1 + a, x2 and a > 0", "min(x0, a), max(x1, a), x2 or a == 0", "x0 + a, x1 + 1, x2 or c"], typed=_C | {"x2": "bool"}),
    Family("side by side/bits", WORDS, ["x0 + a, x1 ^ a", "x0 | a, x1 + 1", "x0 ^ a, x1 + a, max(x2, a)", "x0 & a, x1 | a, x2 ^ a", "max(x0, a), x1 | a", "x0 ^ a, x1 + 1", "x0 + 1, x1 ^ a"]),
]  # fmt: skip

FAMILIES = [*MOMENTS, *LINEAR, *RESCALED, *SIDE_BY_SIDE]
