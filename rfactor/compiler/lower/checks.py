"""Entry checks: what the nest asks of the caller's arrays, asserted before anything runs.

read of a over (0, n - 1)   ->   assert a.min.0 <= 0 and n <= a.min.0 + a.extent.0
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.bounds import Bounded, Covered, Limited
from rfactor.compiler.lower.boxes import Box, hulls
from rfactor.compiler.lower.overflow import coordinates_fit, in_i64, required_where, storage_fits
from rfactor.compiler.lower.storage import buffer_name
from rfactor.errors import AlgorithmError
from rfactor.ir.algorithm import Algorithm, Function
from rfactor.ir.expr import Call, Const, Expr, Var, apply, walk
from rfactor.ir.loopnest import Assert, Let, Stmt, block
from rfactor.ir.types import BOOL, I32, I64


def entry_checks(bounded: Bounded, algorithm: Algorithm, sparse: frozenset[str]) -> Stmt:
    """The assertions, in the order of the arguments. `sparse` names arrays whose dimension 0 may have any stride."""
    checks = [Assert(asked.condition, asked.message, asked.arguments) for asked in algorithm.requirements]
    checks += [*bounded.required, *coordinates_fit(bounded, algorithm), *storage_fits(bounded)]
    checks.extend(_covers(covered) for covered in bounded.covered)
    checks.extend(map(_is_kept, bounded.limited))
    readers = _readers(algorithm)
    for image in algorithm.images:
        if image.dimensions and image.name not in sparse:
            checks.append(_dense(f"input {image.name}", image.name))
        advice = (readers.get(image.name, ""),) * image.dimensions
        for live, box in hulls(bounded.images[image.name]).items():
            checks.extend(_inside(f"input {image.name}", "is read", image.name, box, live, advice))
    for name in algorithm.outputs:
        function = algorithm.function(name)
        for component in range(len(function.types)):
            buffer = buffer_name(name, component)
            what = f"output {name}" if len(function.types) == 1 else f"output {name}[{component}]"
            if function.variables and buffer not in sparse:
                checks.append(_dense(what, buffer))
            written = tuple(_elsewhere(function, d) for d in range(len(function.variables)))
            checks.extend(_inside(what, "is computed", buffer, bounded.outputs[name], Const(BOOL, True), written))
    return block(*checks)


def read_first(algorithm: Algorithm, sparse: frozenset[str], body: Stmt) -> Stmt:
    """`body` after the readings of the algorithm, each checked before."""
    for reading in reversed(algorithm.readings):
        name, value = reading.value.name, reading.value
        places = [Var(I32, f"{reading.var.name}.at.{d}") for d in range(len(value.args))]
        checks = [_dense(f"input {name}", name)] if places and name not in sparse else []
        checks += _inside(f"input {name}", "is read", name, tuple((at, at) for at in places), Const(BOOL, True))
        read = Let(reading.var.name, Call(value.type, name, tuple(places), "image", value.index), body)
        body = block(*checks, read)
        for at, index in zip(places, value.args, strict=True):
            body = Let(at.name, index, body)
    return body


def _covers(covered: Covered) -> Assert:
    (low, high), (least, greatest) = covered.given, covered.needed
    name, variable = covered.name, covered.variable
    if low is None or high is None or least is None or greatest is None:
        raise AlgorithmError(f"nothing bounds what is needed of {name} in {variable}, which is given a bound")
    holds = apply("and", apply("<=", in_i64(low), in_i64(least)), apply("<=", in_i64(greatest), in_i64(high)))
    nothing = apply("<", in_i64(greatest), in_i64(least))
    message = (
        f"Error: Bounds given for {name} in {variable} (from {{}} to {{}}) do not cover required region "
        "(from {} to {}): give a wider bound"
    )
    condition = required_where(covered.live, apply("or", nothing, holds))
    return Assert(condition, message, (low, high, least, greatest))


def _is_kept(limited: Limited) -> Assert:
    message = (
        f"The explicit allocation bound ({{}}) of dimension {limited.variable} of {limited.name} is too small to store "
        "the required region ({}): give a greater one, or leave out bound_storage"
    )
    holds = apply("<=", in_i64(limited.kept), in_i64(limited.most))
    return Assert(required_where(limited.live, holds), message, (limited.most, limited.kept))


def _dense(what: str, buffer: str) -> Assert:
    stride = Var(I64, f"{buffer}.stride.0")
    condition = apply("==", stride, Const(I64, 1))
    return Assert(condition, f"{what} has stride {{}} in dimension 0, where 1 is expected", (stride,))


def _elsewhere(function: Function, d: int) -> str:
    """The updates that write at other points of a dimension than those asked for, and what would be accepted."""
    variable = function.variables[d]
    stages = dict.fromkeys(
        function.told(k)
        for k, definition in enumerate(function.stages)
        if not (isinstance(at := definition.arguments[d], Var) and at.name == variable)
    )
    return f" (written by {', '.join(stages)}: give {variable} that extent, or clamp the index)" if stages else ""


def _readers(algorithm: Algorithm) -> Mapping[str, str]:
    """The stages that read each image, and what would be accepted."""
    found: dict[str, dict[str, None]] = {}
    for function in algorithm.functions:
        for k, stage in zip(count(), function.stages, strict=False):
            nodes = (node for expr in stage.expressions for node in walk(expr))
            for name in {node.name for node in nodes if isinstance(node, Call) and node.kind == "image"}:
                found.setdefault(name, {})[function.told(k)] = None
    return {n: f" (read by {', '.join(all_)}: give a larger array, or clamp the index)" for n, all_ in found.items()}


def _inside(what: str, verb: str, buffer: str, box: Box, live: Expr, advice: tuple[str, ...] = ()) -> Iterator[Assert]:
    for d, (low, high) in zip(range(len(box)), box, strict=True):
        least, extent = Var(I32, f"{buffer}.min.{d}"), Var(I32, f"{buffer}.extent.{d}")
        last = affine.subtract(affine.add(least, extent), affine.integer(1))
        distance = apply("-", in_i64(high), in_i64(least))
        inside = apply("and", apply("<=", in_i64(least), in_i64(low)), apply("<", distance, in_i64(extent)))
        if not (isinstance(low, Const) and low == high):
            inside = apply("or", apply("<", in_i64(high), in_i64(low)), inside)
        message = f"{what} {verb} from {{}} to {{}} in dimension {d}, but it holds {{}} to {{}}"
        message += advice[d] if advice else ""
        yield Assert(required_where(live, inside), message, tuple(map(in_i64, (low, high, least, last))))
