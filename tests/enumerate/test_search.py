"""The search against an enumerator that prunes nothing, and its laws."""

from __future__ import annotations

import itertools
from functools import lru_cache

import numpy as np
import pytest

from rfactor.enumerate.classes import WHOLE, Classes, Share
from rfactor.enumerate.filters import fingerprints
from rfactor.enumerate.groups import Group, groups
from rfactor.enumerate.identity import fits, guesses
from rfactor.enumerate.pairs import transposed
from rfactor.enumerate.points import INTEGER, SIGNED, UNSIGNED, samples
from rfactor.enumerate.trees import REVERSED, expression, renamed
from rfactor.enumerate.units import Unit, search
from rfactor.ir.evaluate import evaluate
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import I8, I16, I32, U8, Type
from rfactor.native.lanes import CODE, LEAVES, REAL, Domain
from rfactor.native.linking import link
from rfactor.native.programs import WIDTH, associative, hashes, values

BINARY = ("+", "-", "*", "min", "max")


@lru_cache
def every_tree(leaves: int) -> list[tuple[int, ...]]:
    """The postfix code of every tree over x0, y0 and k, nothing left out."""
    if leaves == 1:
        return [(LEAVES.index(name),) for name in ("x0", "y0", "k")]
    found = [
        (*left, *right, CODE[op])
        for size in range(1, leaves)
        for left in every_tree(size)
        for right in every_tree(leaves - size)
        for op in BINARY
    ]
    for sizes in itertools.product(range(1, leaves), repeat=4):
        if sum(sizes) == leaves:
            for parts in itertools.product(*map(every_tree, sizes)):
                found += [tuple(itertools.chain(*parts, (CODE[op],))) for op in ("<", "==")]
    return found


def as_programs(trees: list[tuple[int, ...]]) -> np.ndarray:
    programs = np.zeros((len(trees), WIDTH), np.uint8)
    for row, tree in zip(programs, trees, strict=True):
        row[: len(tree)], row[-1] = tree, len(tree)
    return programs


def associative_functions(group: Group, programs: np.ndarray) -> set[bytes]:
    """Fingerprints of the operators that use x and y and are associative, by NumPy alone."""
    (type_,) = group.types
    dtype = f"{type_.code[0]}{type_.bits // 8}"
    triples = samples(type_, Domain(type_.bits, type_.is_signed), (4, 400), (5,)).astype(dtype)
    x, y, z, k = triples
    kept = []
    for row, program in zip(range(len(programs)), programs, strict=True):
        tree = expression(program, (type_,), type_)

        def op(a: np.ndarray, b: np.ndarray, n: int, tree=tree) -> np.ndarray:
            return np.broadcast_to(evaluate(tree, {"x0": a, "y0": b, "k": k[:n]}, Meaning.WRAP), (n,))

        if all(np.array_equal(op(op(x[:n], y[:n], n), z[:n], n), op(x[:n], op(y[:n], z[:n], n), n)) for n in (8, 400)):
            kept.append(row)
    chosen = programs[kept]
    points = samples(type_, group.domain, (5, 2048), (6,))
    plain = values(group.domain, chosen, points)
    uses = []
    for leaf in (0, 2):
        moved = points.copy()
        moved[leaf] = np.random.default_rng(leaf).permutation(points[leaf])
        uses.append((values(group.domain, chosen, moved) != plain).any(axis=1))
    return {key.tobytes() for key in fingerprints(group, (chosen[uses[0] & uses[1]],), 0)}


@pytest.mark.parametrize("type_", [I16, U8], ids=str)
def test_search_finds_what_an_enumerator_that_prunes_nothing_finds(type_: Type):
    (group,) = groups([type_], [Meaning.WRAP])
    found: set[bytes] = set()
    expected: set[bytes] = set()
    for leaves in (2, 3):
        result = search(Unit(group.family, (leaves,)), [group], 0)[group.name].survivors
        for programs in (result.programs[0], renamed(result.programs[0], REVERSED)):
            found |= {key.tobytes() for key in fingerprints(group, (programs,), 0)}
        expected |= associative_functions(group, as_programs(every_tree(leaves)))
    assert len(expected) >= 14
    assert found == expected


def test_classes_are_as_many_as_the_study_counted():
    classes = Classes(SIGNED, 1, 0)
    for _ in range(3):
        classes.grow()
    counts = [len(classes.rows(size)) for size in (2, 3, 4)]
    assert counts[:2] == [22, 280]
    assert 4470 <= counts[2] <= 4490


def test_every_new_class_is_another_function():
    classes = Classes(UNSIGNED, 2, 1)
    for _ in range(2):
        classes.grow()
    fingerprint = classes.vectors[:, 256:]
    assert len(np.unique(fingerprint, axis=0)) == len(fingerprint)


def test_compiled_programs_agree_with_numpy():
    classes = Classes(SIGNED, 1, 3)
    for _ in range(3):
        classes.grow()
    rows = np.random.default_rng(0).permutation(len(classes.programs))[:60]
    points = samples(I32, SIGNED.domain, (5, 64), (9,))
    env = {name: points[leaf] for leaf, name in zip(range(5), LEAVES, strict=True)}
    for row, result in zip(rows, values(SIGNED.domain, classes.programs[rows], points), strict=True):
        tree = expression(classes.programs[row], (I32,), I32)
        assert np.array_equal(np.broadcast_to(evaluate(tree, env, Meaning.WRAP), result.shape), result), tree
    vectors = classes.scanner.make(classes.codes[3:], classes.operands[3:], classes.vectors)
    assert np.array_equal(vectors, classes.vectors[3:])


def test_left_identities_stay_the_same_when_components_are_exchanged_twice():
    masks = np.random.default_rng(0).integers(0, 1 << 63, 50, dtype=np.uint64)
    assert np.array_equal(transposed(transposed(masks)), masks)
    assert transposed(np.array([2], np.uint64))[0] == 1 << 8


def test_associativity_filter_sees_a_failure_in_one_lane():
    minus = as_programs([(0, 2, CODE["-"]), (0, 2, CODE["+"])])
    zeros = np.zeros((7, 40), np.int32)
    assert associative(Domain(32, True), [minus], zeros).tolist() == [True, True]
    one = zeros.copy()
    one[4, 39] = 1
    assert associative(Domain(32, True), [minus], one).tolist() == [False, True]


def test_doubles_reject_only_where_they_are_exact():
    times = as_programs([(0, 2, 4, CODE["*"], CODE["+"])])  # x + y * k
    small = np.array([[1.0], [0], [2], [0], [3], [0], [2]])
    assert associative(REAL, [times], small).tolist() == [False]
    assert associative(REAL, [times], small * 2.0**52).tolist() == [True]


def test_saturated_difference_is_associative_over_the_integers_alone():
    # min(max(k - x, y), x)
    program = as_programs([(4, 0, CODE["-"], 2, CODE["max"], 0, CODE["min"])])
    for type_, meaning, expected in ((I32, Meaning.MATH, True), (I32, Meaning.WRAP, False), (U8, Meaning.WRAP, False)):
        (group,) = groups([type_], [meaning])
        triples = samples(type_, group.domain, (7, 2000), (1,))
        assert associative(group.domain, [program], triples).tolist() == [expected], (type_, meaning)


@pytest.mark.parametrize("type_", [I8, U8], ids=str)
def test_as_many_have_a_left_identity_as_a_right_one(type_: Type):
    """Exchanging the operands turns one kind into the other, and the enumeration does not know left from right."""
    (group,) = groups([type_], [Meaning.WRAP])
    classes = Classes(group.family, 1, 0)
    for _ in range(3):
        classes.grow()
    triples = samples(type_, group.domain, (7, 4096), (3,))
    chosen = classes.programs[associative(group.domain, [classes.programs], triples)]
    kinds = [fits(type_, Meaning.WRAP, (chosen,), side, 0).any(axis=1) for side in ("left", "right")]
    left, right = kinds[0] & ~kinds[1], kinds[1] & ~kinds[0]
    assert left.sum() == right.sum() > 5
    mirrored = fingerprints(group, (chosen[left],), 0, turned=True)
    assert set(mirrored.tolist()) == set(fingerprints(group, (chosen[right],), 0).tolist())


def test_a_guess_that_fits_few_samples_is_tried_on_values_near_fractions_of_the_range():
    # select(min(x, k) == min(2x, max(x, k)), x, y): at k = 2^32 * 2/3 the value 2k + 1 is chosen, so it is no identity.
    x, y, k, least, most = 0, 2, 4, CODE["min"], CODE["max"]
    (program,) = as_programs([(x, k, least, x, x, CODE["+"], x, k, most, least, x, y, CODE["=="])])
    found = dict.fromkeys(guesses(I32, Meaning.WRAP, (program,), 0))
    assert ("left", ("k * 2 + 1",)) not in found
    assert fits(I32, Meaning.WRAP, (program[None],), "left", 0).sum() > len(found)
    third = -1431655766
    chosen = {"x0": I32.wrap(third * 2 + 1), "y0": 7, "k": third}
    env = {name: np.array([value], np.int32) for name, value in chosen.items()}
    tree = expression(program, (I32,), I32)
    assert evaluate(tree, env, Meaning.WRAP)[0] != 7


def test_families_of_bounded_samples_never_overflow():
    classes = Classes(INTEGER, 1, 0)
    assert np.abs(classes.vectors[:, 256:].astype(np.int64)).max() ** 8 < 1 << 31


def test_shares_of_a_stream_are_all_of_it():
    classes = Classes(SIGNED, 1, 0)
    for _ in range(2):
        classes.grow()
    (group,) = groups([I32], [Meaning.WRAP])

    def functions(share: Share) -> set[int]:
        return {
            key for found in classes.streamed(5, share) for key in fingerprints(group, (found.programs,), 0).tolist()
        }

    whole = functions(WHOLE)
    parts = [functions(Share(part, 3)) for part in range(3)]
    assert set().union(*parts) == whole
    assert all(len(part) < len(whole) for part in parts)


def test_linked_programs_are_those_of_the_trees():
    pool = as_programs([(0,), (2, 4, CODE["+"])])
    codes = np.array([CODE["max"], CODE["<"]])
    linked = link(codes, np.array([[0, 1, 0, 0], [0, 1, 1, 0]]), pool)
    expected = as_programs([(0, 2, 4, CODE["+"], CODE["max"]), (0, 2, 4, CODE["+"], 2, 4, CODE["+"], 0, CODE["<"])])
    assert np.array_equal(linked, expected)


def test_hashes_tell_functions_apart_and_take_both_zeros_for_one():
    programs = as_programs([(0, 2, CODE["+"]), (2, 0, CODE["+"]), (0, 2, CODE["-"])])
    points = np.array([[1.0, 2.0, 0.0], [0, 0, 0], [3.0, 4.0, -0.0], [0, 0, 0], [0, 0, 0]])
    forth = hashes(REAL, programs, points)
    assert forth[0] == forth[1] != forth[2]
    assert hashes(REAL, programs[:1], points)[0] == hashes(REAL, programs[:1], points * [1, 1, -1])[0]
