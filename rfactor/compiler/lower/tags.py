"""The first and the last lines of a trace: where the pipeline begins and ends, and what the lines between tell of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.bounds import Bounded
from rfactor.compiler.lower.boxes import hulls
from rfactor.compiler.lower.ends import Interval, union
from rfactor.compiler.lower.trace import ALWAYS, line
from rfactor.compiler.schedule.directives import Trace
from rfactor.ir.algorithm import Algorithm, Function
from rfactor.ir.effects import Print
from rfactor.ir.expr import Call, Expr, names, walk
from rfactor.ir.loopnest import Stmt, Write, block
from rfactor.ir.types import Type

_CODES = {"int": 0, "uint": 1, "bool": 1, "float": 2, "bfloat": 4}


def whole(body: Stmt, bounded: Bounded, algorithm: Algorithm, traces: Mapping[str, Trace]) -> Stmt:
    """A whole pipeline between lines that say where it begins and ends, what is traced, and its tags; as it is where
    nothing that is traced has storage."""
    kinds = tuple(_kinds(bounded, algorithm, traces))
    if not kinds:
        return body
    name = "_".join(algorithm.outputs).replace("$", "_")
    return block(
        line("Begin pipeline", name, ()),
        *(_tag(*told) for told in kinds),
        *(_tag(name, tag, ()) for name, tag in _own(algorithm, traces)),
        body,
        line("End pipeline", name, ()),
    )


def _tag(name: str, text: str, box: tuple[Expr, ...]) -> Stmt:
    head = f"Tag {name}.0() tag = ".replace("{", "{{").replace("}", "}}")
    return Write(Print(f'{head}"{text}"', ALWAYS, ALWAYS, box))


def _own(algorithm: Algorithm, traces: Mapping[str, Trace]) -> Iterator[tuple[str, str]]:
    """The tags that a program gave, of outputs first; those of what has no lines of its own are left out."""
    order = (*algorithm.outputs, *(name for name in traces if name not in algorithm.outputs))
    for name in order:
        trace = traces.get(name)
        if trace is not None and (trace.loads or trace.realizations):
            for tag in trace.tags:
                yield name, tag.replace("{", "{{").replace("}", "}}")


def _kinds(
    bounded: Bounded, algorithm: Algorithm, traces: Mapping[str, Trace]
) -> Iterator[tuple[str, str, tuple[Expr, ...]]]:
    """What each traced image and function is, producers first, and the box of what is touched of it."""
    known = {name for name, _ in bounded.definitions} | {parameter.name for parameter in algorithm.parameters}
    known |= {reading.var.name for reading in algorithm.readings}
    shapes = [(one, len(algorithm.function(one).variables)) for one in algorithm.outputs]
    shapes += [(image.name, image.dimensions) for image in algorithm.images]
    known |= {f"{name}.{end}.{d}" for name, count in shapes for d in range(count) for end in ("min", "extent")}
    functions = {function.name: function for function in algorithm.functions}
    images = {image.name: image for image in algorithm.images}
    for name in _order(functions, algorithm.outputs):
        if name in functions and bounded.computed.get(name):
            types, dimensions = functions[name].types, len(functions[name].variables)
            yield name, *_kind(types, dimensions, bounded.computed[name], known)
        elif name in images and name in traces and bounded.images[name]:
            boxes = tuple(hulls(bounded.images[name]).values())
            yield name, *_kind((images[name].type,), images[name].dimensions, boxes, known)


def _order(functions: Mapping[str, Function], outputs: Sequence[str]) -> tuple[str, ...]:
    """Functions and images, each after all that it calls; what one calls is taken by name."""
    done: dict[str, None] = {}
    waiting = [(name, False) for name in reversed(outputs)]
    while waiting:
        name, seen = waiting.pop()
        if seen or name not in functions:
            done.setdefault(name)
        elif name not in done:
            waiting.append((name, True))
            called = {node.name: node.kind for node in _calls(functions[name]) if node.name != name}
            inputs = sorted(called, key=lambda one: f"{one}_im" if called[one] == "image" else one, reverse=True)
            waiting += [(one, False) for one in inputs]
    return tuple(done)


def _calls(function: Function) -> Iterator[Call]:
    for stage in function.stages:
        for expr in stage.expressions:
            yield from (node for node in walk(expr) if isinstance(node, Call) and node.kind in ("func", "image"))


def _kind(
    types: tuple[Type, ...], count: int, boxes: Sequence[Sequence[Interval]], known: set[str]
) -> tuple[str, tuple[Expr, ...]]:
    told = "".join(f" {_CODES[type_.code]} {type_.bits} {type_.lanes}" for type_ in types)
    box: list[Expr] = []
    for d in range(count):
        low, high = boxes[0][d]
        for other in boxes[1:]:
            low, high = union((low, high), other[d], None)
        if low is None or high is None or not known.issuperset((*names(low), *names(high))):
            box += (affine.integer(0), affine.integer(0))
        else:
            box += (low, affine.add(affine.subtract(high, low), affine.integer(1)))
    text = f"func_type_and_dim: {len(types)}{told} {count}" + " {}" * len(box)
    return text, tuple(box)
