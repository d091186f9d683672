"""`propagate_adjoints`: how a result changes with each of the things that it is computed from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rfactor.compiler.language.buffer import Buffer, ImageParam
from rfactor.compiler.language.expr import Expr, as_expr, converted
from rfactor.compiler.language.func import Func
from rfactor.compiler.language.public import public
from rfactor.compiler.language.told import tell, untold
from rfactor.compiler.language.variables import Param, Var, end_pairs
from rfactor.errors import AlgorithmError, TypeMismatch
from rfactor.ir import expr as ir

if TYPE_CHECKING:
    from rfactor.compiler.derivative.adjoints import Backward


@public
class Derivative:
    """Adjoints by what they are of: `d[f]`, `d[buffer]`, `d[image]`, `d[param]`; `d[f, i]` after update `i` of `f`.

    `d[f]` is that of the pure definition of `f`, of the values before its updates. Each is a `Func` of the same
    dimensions, to be scheduled and realized as any other: 0 everywhere where the result does not change with it, one
    that is not defined where the result is not computed from it, or it holds no floats.
    """

    def __init__(self, backward: Backward) -> None:
        self._backward = backward

    def __getitem__(self, of: Any) -> Func:
        states = self._backward.states
        match of:
            case Func():
                return states.get((of.name(), -1)) or self._zero(of)
            case (Func() as func, int() as update):
                known = -1 <= update < func.num_update_definitions()
                return states.get((func.name(), update)) or (self._zero(func) if known else Func())
            case Buffer() | ImageParam() | Param():
                return self._zero(of)
        raise TypeMismatch(f"a Derivative is of a Func, a Func and an update, a Buffer or a Param, not of {of!r}")

    def _zero(self, of: Func | Buffer | ImageParam | Param) -> Func:
        """The adjoint of an input, or one to which nothing was added."""
        types = of.types() if isinstance(of, Func) and of.defined() else [] if isinstance(of, Func) else [of.type()]
        known = of.name() in self._backward and any(type_.is_float() for type_ in types)
        return self._backward.adjoint(of.name()) if known else Func()


def propagate_adjoints(
    output: Func, adjoint: Func | Buffer | None = None, output_bounds: Sequence[Any] | None = None
) -> Derivative:
    """The derivative of `output` with respect to everything that it is computed from.

    `propagate_adjoints(loss)` of a function without dimensions; `propagate_adjoints(f, adjoint, [(min, extent), …])`
    where `adjoint(x, …)` says how much a result changes with each value of `f`; `propagate_adjoints(f, buffer)` over
    the box of a `Buffer`. Floats alone have derivatives. Raises `AlgorithmError` where an update overwrites
    intermediate values that its derivative needs, or calls what has no derivative; `TypeMismatch`.
    """
    from rfactor.compiler.derivative.adjoints import Backward
    from rfactor.compiler.derivative.boxes import boxes
    from rfactor.compiler.language.freeze import freeze

    (type_,) = (output.type().ir,)
    if not type_.is_float:
        raise TypeMismatch(f"propagate_adjoints of {output.name()}, which is {type_}: floats alone have derivatives")
    pipeline = freeze(output)
    inputs = {one.name(): one for one in (*pipeline.images, *pipeline.parameters)}
    asked = None
    if isinstance(adjoint, Buffer):
        asked = [(as_expr(d.min()), as_expr(d.extent())) for d in map(adjoint.dim, range(adjoint.dimensions()))]
    elif output_bounds is not None:
        asked = list(end_pairs("propagate_adjoints", list(output_bounds)))
    if asked is not None and len(asked) != output.dimensions():
        raise AlgorithmError(f"propagate_adjoints of {output.name()}: a range for each of its dimensions is needed")

    def seed(variables: list[Var]) -> Expr:
        if adjoint is None:
            return Expr(ir.const(type_, 1))
        if isinstance(adjoint, Buffer):
            from rfactor.compiler.language.boundary_conditions import constant_exterior

            return converted(type_, constant_exterior(adjoint, 0)[tuple(variables)])
        return converted(type_, adjoint[tuple(variables)])

    ends = None if asked is None else [(low.node, extent.node) for low, extent in asked]
    readings = {one.name(): one for one in pipeline.readings}
    backward = Backward(pipeline, boxes(pipeline, ends), {**inputs, **readings})
    with untold():
        backward.run(seed)
    for name in sorted(backward.dropped):
        tell(f"Dropping gradients at call to {name}")
    return Derivative(backward)
