"""Memory of a function that is computed whole is given back after its last reader, not at the end."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import numpy as np

import rfactor as hl
from rfactor.compiler.codegen.module import generate
from rfactor.compiler.language.freeze import freeze
from rfactor.compiler.lower import lower
from rfactor.native.engine import host

x, y = hl.Var("x"), hl.Var("y")


def turns(output: Any, *, failing: bool = False) -> str:
    """What is taken (`+`) and given back (`-`) in turn, each by its number: with `failing` where the last that is taken
    cannot be had, else where it can."""
    frozen = freeze(output)
    text, _ = generate(lower(frozen.algorithm, frozen.schedule), host())
    taken: list[str] = []
    result = []
    without = False
    for line in text.splitlines():
        if line.endswith(":"):
            without = line.endswith("else:")
        elif found := re.search(r'(%\S+) = call ptr @"malloc"', line):
            taken.append(found[1])
            result.append(f"+{len(taken) - 1}")
        elif (found := re.search(r'call void @"free"\(ptr (\S+)\)', line)) and without == failing:
            result.append(f"-{taken.index(found[1])}")
    return " ".join(result)


def chain(length: int) -> list[Any]:
    """Functions of which each reads the one before."""
    a = hl.ImageParam(hl.Int(32), 1, "a")
    functions = [hl.Func(f"back{number}") for number in range(length)]
    functions[0][x] = a[x]
    for before, f in pairwise(functions):
        f[x] = before[x - 1] + before[x + 1]
    for f in functions[:-1]:
        f.compute_root()
    return functions


def test_two_of_a_chain_are_held_at_once() -> None:
    assert turns(chain(6)[-1]) == "+0 +1 -0 +2 -1 +3 -2 +4 -3 -4"


def test_what_is_read_later_is_held_until_then() -> None:
    functions = chain(4)
    last = hl.Func("last")
    last[x] = functions[3][x] + functions[0][x]
    functions[3].compute_root()
    assert turns(last) == "+0 +1 +2 -1 +3 -2 -0 -3"


def test_what_is_held_is_given_back_where_more_cannot_be_had() -> None:
    functions = chain(4)
    last = hl.Func("last")
    last[x] = functions[3][x] + functions[0][x]
    functions[3].compute_root()
    assert turns(last, failing=True) == "+0 +1 -0 +2 -0 -1 +3 -0 -2"


def test_what_is_in_one_loop_is_given_back_in_it() -> None:
    a = hl.ImageParam(hl.Int(32), 2, "a")
    first, second, f = hl.Func("first"), hl.Func("second"), hl.Func("f")
    first[x, y] = a[x, y]
    second[x, y] = first[x, y] + first[x + 1, y]
    f[x, y] = second[x, y] * second[x + 1, y]
    for one in (first, second):
        one.compute_at(f, y)
    assert turns(f) == "+0 +1 -0 -1"


def test_values_and_threads_are_as_they_were() -> None:
    values = np.random.default_rng(0).integers(-99, 99, 5000).astype(np.int32)
    functions = [hl.Func(f"same{number}") for number in range(5)]
    source = hl.BoundaryConditions.repeat_edge(hl.Buffer(values))
    functions[0][x] = source[x]
    for before, f in pairwise(functions):
        f[x] = before[x - 1] + before[x + 1]
    for f in functions[:-1]:
        f.compute_root().vectorize(x, 8).parallel(x)
    expected = np.pad(values, 4, mode="edge")
    for _ in range(4):
        expected = expected[:-2] + expected[2:]
    for _ in range(20):
        np.testing.assert_array_equal(np.asarray(functions[-1].realize([5000])), expected)
