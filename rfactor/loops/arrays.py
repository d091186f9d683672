"""The data of a call: addresses of arrays for compiled loops, and how far they reach."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from rfactor.ir.evaluate import dtype_of
from rfactor.ir.expr import Expr, Var, names
from rfactor.ir.types import I64
from rfactor.loops.affine import affine
from rfactor.loops.body import Datum, Reading
from rfactor.loops.kinds import kind_of_dtype
from rfactor.loops.sequences import Typed
from rfactor.loops.update import is_stateful
from rfactor.native.fold import STEP, Inputs, Run, Stream, compile_fold

Array = NDArray[Any]


class Replan(Exception):
    """An array is of another type than the plan was made for."""


@dataclass
class Data:
    """Where the data of each step lie."""

    dims: tuple[int, ...]
    """Numbers of steps of the loops, outermost first."""
    limit: int
    """Steps of which all data are there."""
    streams: dict[str, tuple[Stream, int, int]] = field(default_factory=dict)
    """By variable: the stream, the address of its first element and the bytes between elements."""
    constants: dict[str, Any] = field(default_factory=dict)
    held: list[Any] = field(default_factory=list)
    """Arrays that must live as long as their addresses are used."""
    arrays: dict[str, Array] = field(default_factory=dict)
    """The elements by variable, one a step, where one array has them."""

    def inputs(self, exprs: Sequence[Expr]) -> tuple[Inputs, list[tuple[int, int]], list[Any]]:
        """What a kernel for `exprs` takes: its inputs, addresses and constants."""
        used = {n for e in exprs for n in names(e)}
        chosen = [self.streams[n] for n in self.streams if n in used]
        constants = [n for n in self.constants if n in used]
        types = {v.name: v for e in exprs for v in _variables(e)}
        inputs = Inputs(tuple(s for s, _, _ in chosen), tuple(types[n] for n in constants))
        return inputs, [(a, b) for _, a, b in chosen], [self.constants[n] for n in constants]


def _variables(e: Expr) -> tuple[Var, ...]:
    from rfactor.ir.expr import variables

    return variables(e)


def in_steps(expr: Expr, depth: int) -> Expr:
    """An expression over the counters of nested loops, as one over the number of the step."""
    from rfactor.ir.expr import apply, substitute

    if depth == 1:
        return expr
    values: dict[str, Expr] = {}
    rest: Expr = STEP
    for k in reversed(range(depth)):
        size = Var(I64, f"dim{k}")
        values[f"t{k}"] = apply("%", rest, size) if k else rest
        rest = apply("//", rest, size)
    return substitute(expr, values)


def gathered(
    reading: Reading,
    dims: tuple[int, ...],
    constants: Mapping[str, Any],
    find: Callable[[str, Any], Typed | None],
    compute: Callable[[Datum], tuple[Typed | None, int]],
    limit: int,
) -> Data:
    """Find the data of every step. Raises `Replan` where types are not the plan's."""
    total = int(np.prod(dims, dtype=object))
    data = Data(
        dims,
        min(limit, total),
        constants=dict(constants) | {f"dim{k}": n for k, n in zip(range(len(dims)), dims, strict=True)},
    )
    for name, datum in reading.data.items():
        if datum.view is not None:
            _place(data, name, datum, reading, find)
        else:
            found, reached = compute(datum)
            if found is None or found.kind != datum.kind:
                if reached > 1:
                    raise Replan(f"{ast.unparse(datum.node)}" if datum.node is not None else name)
                data.limit = 0
                continue
            data.limit = min(data.limit, reached)
            _dense(data, name, datum.var, found.array)
    return data


def _dense(data: Data, name: str, var: Var, array: Array) -> None:
    array = np.ascontiguousarray(array.astype(dtype_of(var.type), copy=False))
    data.held.append(array)
    data.arrays[name] = array
    data.streams[name] = Stream(var, True), array.ctypes.data, array.itemsize


def _place(data: Data, name: str, datum: Datum, reading: Reading, find: Callable[[str, Any], Typed | None]) -> None:
    view, var = datum.view, datum.var
    assert view is not None
    found = find(view.array, reading.arrays[view.array])
    if found is None:
        raise Replan(view.array)
    array = found.array
    if len(array) == 0 or data.limit == 0:
        data.limit = 0
        _dense(data, name, var, np.zeros(1, dtype_of(var.type)))
        return
    if (found.kind != view.kind and not view.fields) or array.shape[1:] != view.shape[1:]:
        raise Replan(view.array)
    for field_ in view.fields:
        array = getattr(array, field_) if array.dtype.kind == "c" else array[field_]
    if kind_of_dtype(array.dtype) and array.dtype != dtype_of(var.type):
        raise Replan(view.array)
    steps = {f"t{k}" for k in range(len(data.dims))} if len(data.dims) > 1 else {STEP.name}
    forms: list[tuple[dict[str, int], int]] = []
    for index in view.indices:
        form = affine(index, steps, data.constants)
        if form is None or form[1] is None:
            _gather(data, name, var, array, view.indices)
            return
        forms.append((form[0], form[1]))
    order = sorted(steps)
    base, strides = 0, dict.fromkeys(order, 0)
    for (factors, offset), size, stride in zip(forms, array.shape, array.strides, strict=True):
        if size == 0:
            data.limit = 0
            offset, factors, stride = 0, {}, 0
        ends = [offset]
        for step, n in zip(order, data.dims, strict=True):
            reach = factors.get(step, 0) * (n - 1 if len(data.dims) > 1 else data.limit - 1)
            ends = [min(ends) + min(0, reach), max(ends) + max(0, reach)]
        low, high = min(ends), max(ends)
        if -size <= low and high < 0:
            offset, low, high = offset + size, low + size, high + size
        if low < 0 or high >= size:
            if (low < 0 and -size <= low and high < size) or len(data.dims) > 1:
                _gather(data, name, var, array, view.indices)
                return
            factor = factors.get(order[0], 0)
            reach = data.limit
            if offset >= size or offset < -size:
                reach = 0
            elif factor > 0:
                reach = min(reach, max(0, -(-(size - offset) // factor)))
            elif factor < 0 and offset >= 0:
                reach = min(reach, offset // -factor + 1)
            elif offset < 0:
                _gather(data, name, var, array, view.indices)
                return
            data.limit = reach
            if offset < 0 and reach:
                _gather(data, name, var, array, view.indices)
                return
        base += offset * stride
        for step, factor in factors.items():
            strides[step] += factor * stride
    _strided(data, name, var, array, base, [strides[s] for s in order])


def _strided(data: Data, name: str, var: Var, array: Array, base: int, strides: list[int]) -> None:
    data.held.append(array)
    dims = data.dims
    size = array.dtype.itemsize
    flat = all(strides[k] == strides[k + 1] * dims[k + 1] for k in range(len(dims) - 1))
    if data.limit == 0:
        _dense(data, name, var, np.zeros(1, dtype_of(var.type)))
        return
    if flat:
        address = array.ctypes.data + base
        data.streams[name] = Stream(var, strides[-1] == size), address, strides[-1]
        data.arrays[name] = _window(array, base, (data.limit,), (strides[-1],))
        return
    copied = np.ascontiguousarray(_window(array, base, dims, tuple(strides))).reshape(-1)
    _dense(data, name, var, copied)


def _window(array: Array, base: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    """Elements of an array from `base` bytes after its first on."""
    address = array.ctypes.data + base
    holder = _Memory(address, array.dtype, array)
    return as_strided(np.asarray(holder), shape, strides)


class _Memory:
    """One element at an address, as NumPy takes it; holds the array that owns it."""

    def __init__(self, address: int, dtype: np.dtype[Any], owner: Array) -> None:
        self.owner = owner
        self.__array_interface__ = {"shape": (1,), "typestr": dtype.str, "data": (address, True), "version": 3}


def _gather(data: Data, name: str, var: Var, array: Array, indices: Sequence[Expr]) -> None:
    """Elements at places that data name, copied side by side."""
    if data.limit == 0:
        _dense(data, name, var, np.zeros(1, dtype_of(var.type)))
        return
    places = [column(data, i) for i in indices]
    reach = data.limit
    for place, size in zip(places, array.shape, strict=True):
        bad = (place < -size) | (place >= size)
        if bad.any():
            reach = min(reach, int(bad.argmax()))
    data.limit = reach
    picked = array[tuple(p[:reach] for p in places)]
    _dense(data, name, var, picked if reach else np.zeros(1, dtype_of(var.type)))


def column(data: Data, expr: Expr) -> Array:
    """The value of an expression over data, one a step."""
    assert not is_stateful(expr)
    whole = in_steps(expr, len(data.dims))
    if isinstance(whole, Var) and whole.name in data.arrays:
        return data.arrays[whole.name][: data.limit]
    inputs, streams, constants = data.inputs([whole])
    kernel = compile_fold(Run(inputs, (), (), stored=(whole,)))
    out = np.empty(data.limit, dtype_of(whole.type))
    kernel(streams, constants, (), 0, data.limit, stored=(out,))
    return out
