"""What expressions refer to is told apart by what it is, never by its name."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.errors import AlgorithmError

X = hl.Var("x")


def image(name: str) -> hl.ImageParam:
    made = hl.ImageParam(hl.Int(32), 1, name)
    made.set(np.array([5, 2, 7, 1], np.int32))
    return made


def values(f: hl.Func, count: int = 4) -> list[int]:
    return [int(value) for value in np.asarray(f.realize([count] if f.dimensions() else []).__array__()).flat]


def test_a_parameter_is_no_pure_variable_of_its_name() -> None:
    p, u, f, g = hl.Param(hl.Int(32), "u", 5), hl.Var("u"), hl.Func("f"), hl.Func("g")
    f[u] = p - u * 2
    g[X] = f[X + 1] + p
    assert values(f) == [5, 3, 1, -1]
    assert values(g) == [8, 6, 4, 2]


@pytest.mark.parametrize(
    "beside",
    [
        lambda name: hl.Param(hl.Int(32), name, 5),
        lambda name: image(name)[0],
        lambda name: image(name).width(),
        lambda name: hl.Buffer(np.zeros(4, np.int32), name)[X],
        lambda name: hl.Func(hl.i32(1), name=name)[()],
    ],
    ids=["param", "image", "extent", "buffer", "func"],
)
def test_an_undefined_variable_is_none_of_what_has_its_name(beside: Callable[[str], Any]) -> None:
    f, other = hl.Func("f"), beside("alike")
    assert "alike" in other.uses
    with pytest.raises(AlgorithmError, match='Undefined variable "alike"'):
        f[X] = other + hl.Var("alike")


@pytest.mark.parametrize("what", ["bound", "range", "where", "require", "specialize", "reduction"])
def test_a_variable_is_nothing_that_is_known_on_entry(what: str) -> None:
    p, u, f = hl.Param(hl.Int(32), f"u_{what}", 5), hl.Var(f"u_{what}"), hl.Func("f")
    im, r = image("im"), hl.RDom([(0, 2)])
    assert p.name() == u.name()
    f[X] = p + im[X]
    if what == "require":  # then it is asked where it is computed, where it is unknown
        with pytest.raises(AlgorithmError, match="Undefined variable"):
            hl.Func()[X] = hl.require(p + u > 0, p)
        return
    if what == "reduction":
        f = hl.Func("f")
        f[u] = hl.sum(r, im[r.x + u] * p)
        assert values(f, 3) == [35, 45, 40]
        return
    calls: dict[str, Callable[[], Any]] = {
        "bound": lambda: f.bound(X, 0, p + u),
        "range": lambda: hl.Param(hl.Int(32)).set_range(0, p + u),
        "where": lambda: hl.RDom([(0, im[p + u])]),
        "specialize": lambda: f.specialize(p + u > 3),
    }
    with pytest.raises(hl.Error, match=r"varies|known before anything"):
        calls[what]()


def test_a_reduction_over_a_variable_called_like_an_image_or_a_domain() -> None:
    im, r = image("im"), hl.RDom([(0, 2)], "r")
    f, v, w = hl.Func("f"), hl.Var("im"), hl.Var("r_x")
    f[v, w] = hl.sum(r, im[r.x + v] + w)
    row = hl.Func("row")
    row[X] = f[X, 1]
    assert values(row, 3) == [9, 11, 10]


def test_a_loop_that_is_called_like_a_parameter() -> None:
    p, f = hl.Param(hl.Int(32), "u_loop", 5), hl.Func("f")
    f[X] = p + X
    f.split(X, hl.Var("u_loop"), hl.Var("f"), 2).vectorize(hl.Var("f"))
    assert values(f) == [5, 6, 7, 8]


def test_a_factored_update_over_what_is_called_like_a_parameter() -> None:
    n, u, f, im = hl.Param(hl.Int(32), "u", 3), hl.Var("u"), hl.Func("f"), image("x0")
    r = hl.RDom([(0, 4)], "n")
    f[()] = n
    f[()] += im[r.x] * n
    f.update(0).rfactor([(r.x, u)]).compute_root().update(0).vectorize(u, 4)
    assert values(f) == [48]


def test_a_derivative_by_a_parameter_called_like_a_variable() -> None:
    p, x, g, total = hl.Param(hl.Float(32), "x", 2.0), hl.Var("x"), hl.Func("g"), hl.Func("total")
    r = hl.RDom([(0, 4)])
    g[x] = p * hl.f32(x)
    total[()] = hl.f32(0)
    total[()] += g[r.x]
    assert values(hl.propagate_adjoints(total)[p]) == [6]


def test_texts_tell_what_names_would_not() -> None:
    """Texts are names and keys of expressions in places; messages call a parameter by its own name."""
    p, x, y = hl.Param(hl.Int(32), "x", 2), hl.Var("x"), hl.Var("y")
    pairs = [(p + 0, x + 0), (x + y, hl.Var("x + y")), (hl.i32(3), hl.Var("3")), (x + hl.Var("y + x"), (x + y) + x)]
    assert all(str(a.node) != str(b.node) for a, b in pairs)
    assert f"{p + 1}" == "x + 1"


def test_a_loop_without_a_range_has_no_value() -> None:
    f, u = hl.Func("f"), hl.Var("u")
    with pytest.raises(AlgorithmError, match="u has no range of its own: it names a loop"):
        f[u] = hl.RVar("u") + 1


def test_files_tell_parameters_from_arrays(tmp_path: Any) -> None:
    p, f, im = hl.Param(hl.Int(32), "x", 5), hl.Func("f"), image("int")
    f[X] = p + im[X]
    assert [one.name for one in f.infer_arguments()] == ["int", "x"]
    f.compile_to_header(str(tmp_path / "f.h"), [p, im], "f")
    assert "scalar x\n" in (tmp_path / "f.h").read_text()
    with pytest.raises(AlgorithmError, match="f needs x, which the list of arguments lacks: it has int"):
        f.compile_to_object(str(tmp_path / "f.o"), [im], "f")
    out = np.zeros(4, np.int32)
    f.compile_to_callable([p, im])(x=7, int=np.arange(4, dtype=np.int32), f=out)
    assert out.tolist() == [7, 8, 9, 10]


@pytest.mark.parametrize(
    "name", ["a b", "é", "变量", "'", '"', "\\", "{}", "a\nb", "x + 1", "undefined", "x0", "f$1", "a" * 2000]
)
def test_names_of_any_kind(name: str) -> None:
    v, f, g, im = hl.Var(name), hl.Func(name), hl.Func("g"), image(name)
    p = hl.Param(hl.Int(32), f"{name}p", 3)
    f[v] = im[v] * p
    g[v] = f[v] + v
    g.vectorize(v, 4)
    f.compute_root()
    assert values(g) == [15, 7, 23, 6]


@pytest.mark.parametrize("name", ["\0", "\ud800", "", "f.min.0"])
def test_names_that_nothing_may_have(name: str) -> None:
    with pytest.raises(
        AlgorithmError, match=r"the name .* (is empty or has a dot|has a character that code cannot hold)"
    ):
        hl.Var(name)
