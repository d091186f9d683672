"""The operator of an answer on numbers and arrays: what one step is, what two runs are together, what a run does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfactor.errors import Error
from rfactor.ir.evaluate import dtype_of, evaluate_all, held
from rfactor.ir.expr import Expr, variables
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import Type
from rfactor.ir.unknown import signatures
from rfactor.matcher.answer import Answer

Array = NDArray[Any]


def element_of(answer: Answer, data: Mapping[str, Any]) -> Any:
    """Compute the state of one step from data and constants by their names."""
    return _computed(answer, _parts(answer)[1], data)


def combined(answer: Answer, s: Any, t: Any, constants: Mapping[str, Any]) -> Any:
    """Join the states of two runs, that of the earlier one first."""
    types, _, operator, _ = _parts(answer)
    return _computed(answer, operator, constants, _operands("x", types, s) | _operands("y", types, t))


def applied(answer: Answer, x: Any, s: Any, constants: Mapping[str, Any]) -> Any:
    """Compute what a run with the state `s` makes of the accumulators `x`."""
    types, _, _, apply = _parts(answer)
    return _computed(answer, apply, constants, _operands("x", answer.update.types, x) | _operands("y", types, s))


def _parts(answer: Answer) -> tuple[tuple[Type, ...], tuple[Expr, ...], tuple[Expr, ...], tuple[Expr, ...]]:
    """The types of a run's state, what a step's is, how two are joined and how one acts. Raises `rfactor.Error`."""
    lift = answer.lift
    if lift is not None:
        return lift.types, lift.data, lift.operator, lift.apply
    if answer.operator is None or answer.data is None:
        raise Error(f"there is no operator, the answer is {answer.verdict.replace('_', ' ')}: {answer.reason}")
    return answer.update.types, answer.data, answer.operator, answer.operator


def _operands(letter: str, types: Sequence[Type], state: Any) -> dict[str, tuple[Type, Any]]:
    """The parts of a state by their names in the operator."""
    parts = tuple(state) if isinstance(state, tuple | list) else (state,)
    if len(parts) != len(types):
        raise Error(
            f"a state has {len(types)} part{'s' * (len(types) > 1)} ({', '.join(map(str, types))}), not {len(parts)}"
        )
    return {f"{letter}{i}": (types[i], part) for i, part in zip(range(len(parts)), parts, strict=True)}


def _computed(
    answer: Answer,
    exprs: Sequence[Expr],
    named: Mapping[str, Any],
    operands: Mapping[str, tuple[Type, Any]] = {},
) -> Any:
    """The values of expressions, one or a tuple: numbers where all that is given are numbers, otherwise arrays."""
    for name in signatures(exprs):
        raise Error(f"{name} may be any function: its value is not known")
    read = {var.name: var.type for expr in exprs for var in variables(expr) if var.name not in operands}
    _check_names(answer, read, named)
    given = dict(operands) | {name: (type_, named[name]) for name, type_ in read.items()}
    meaning = answer.update.meaning
    arrays = {name: _array(name, type_, value, meaning) for name, (type_, value) in given.items()}
    try:
        shape = np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError as error:
        raise Error(f"arrays of different shapes: {error}") from None
    flat = {name: np.broadcast_to(array, shape).reshape(-1) for name, array in arrays.items()}
    size = int(np.prod(shape, dtype=int))
    plain = not any(isinstance(value, np.ndarray | np.generic) for _, value in given.values())
    results = []
    for expr, result in zip(exprs, evaluate_all(exprs, flat, meaning), strict=True):
        boxed = meaning is Meaning.MATH and expr.type.is_int
        values = np.broadcast_to(result if boxed else held(expr.type, result), (size,)).reshape(shape)
        results.append(_number(values[()]) if not shape and plain else values[()] if not shape else values.copy())
    return results[0] if len(results) == 1 else tuple(results)


def _check_names(answer: Answer, read: Mapping[str, Type], named: Mapping[str, Any]) -> None:
    missing = [name for name in read if name not in named]
    if missing:
        raise Error(f"a value is needed for {', '.join(missing)}")
    told = answer.update.components
    if answer.from_start is not None:  # what is left of the update may read less, and constants of its start
        start = answer.from_start.start or ()
        told = (*told, *answer.asked.components, *(value for value in start if value is not None))
    known = {var.name for expr in told for var in variables(expr)}
    strange = [name for name in named if name not in known]
    if strange:
        own = {x.name for x in answer.update.accumulators}
        raise Error(f"no value is read of {', '.join(strange)}; names are {', '.join(sorted(known - own)) or 'none'}")


def _array(name: str, type_: Type, value: Any, meaning: Meaning) -> Array:
    """A number or an array as the type holds it. Raises `rfactor.Error` for what is none of its values."""
    given = np.asarray(value)
    if given.dtype.kind not in "biuf" and not (given.dtype == object and all(isinstance(v, int) for v in given.flat)):
        raise Error(f"{name} is a number or an array of numbers, not {value!r:.80}")
    if type_.is_int and meaning is Meaning.MATH and given.dtype.kind in "iuO":
        made = np.empty(given.shape, dtype=object)
        made[...] = given.astype(object)
        return made
    fits = {"bool": "b", "int": "iuO", "uint": "iuO", "float": "iufO", "bfloat": "iufO"}[type_.code]
    if given.dtype.kind not in fits:
        raise Error(f"{name} is {type_}, and not {value!r:.80}")
    if type_.is_int and given.size and not (type_.min <= given.min() and given.max() <= type_.max):
        raise Error(f"{name} is {type_}, whose range is {type_.min} to {type_.max}, and not {value!r:.80}")
    with np.errstate(all="ignore"):
        return held(type_, given.astype(dtype_of(type_)))


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
