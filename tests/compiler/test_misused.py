"""Arguments that are not what a call takes are named, before anything is done or where it fails."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.compiler.language.public import public
from rfactor.errors import AlgorithmError, BufferError, Error, TypeMismatch

x, y = hl.Var("x"), hl.Var("y")


class Pipelines:
    """One of each that can be misused."""

    def __init__(self) -> None:
        self.im, self.p = hl.ImageParam(hl.Int(32), 2, "im"), hl.Param(hl.Int(32), "p", 3)
        self.b = hl.Buffer(np.zeros((4, 4), np.int32), "b")
        self.f, self.t = hl.Func("f"), hl.Func("t")
        self.f[x, y] = self.im[x, y] + self.p
        self.t[x] = (x, x + 1)


MISUSES: list[tuple[Callable[[Pipelines], object], str]] = [
    (lambda o: o.f.update("a"), r"Func.update\(\) takes as idx: int, not 'a' \(str\)"),
    (lambda o: o.f.update(1.0), r"takes as idx: int, not 1.0 \(float\)"),
    (lambda o: o.f.update(idx=None), r"takes as idx: int, not None \(NoneType\)"),
    (lambda o: o.f.specialize_fail(slice(0)), r"takes as message: str, not slice\(None, 0, None\) \(slice\)"),
    (lambda o: o.f.compile_to_static_library(o.f, []), r"takes as filename_prefix: str, not <halide.Func 'f"),
    (lambda o: o.f.compile_to_object("f.o", 3), r"takes as arguments: Sequence\[Any\], not 3 \(int\)"),
    (lambda o: o.f.compile_jit("host"), r"a target is a Target, as in Target\('host'\), not 'host'"),
    (lambda o: o.f.realize([2], target="host"), "a target is a Target"),
    (lambda o: o.f.in_("g"), r"takes as f: Func \| Sequence\[Func\] \| None, not 'g' \(str\)"),
    (
        lambda o: o.f.prefetch(np.zeros(3), x, x),
        r"Func.prefetch\(\) takes as image: Func \| .*, not array\(\[0",
    ),
    (lambda o: o.f.set_estimates(3), r"\(min, extent\) pairs, one a dimension, not 3"),
    (lambda o: o.im.set_estimates("xy"), r"\(min, extent\) pairs, one a dimension, not 'xy'"),
    (lambda o: o.f.tile(x, y, x, y), "tile takes lists of loops"),
    (lambda o: hl.Pipeline(3), r"Pipeline\(\) takes as outputs: Func \| Sequence\[Func\], not 3 \(int\)"),
    (lambda o: hl.Pipeline([o.f, 3]), r"not \[<halide.Func 'f[^']*'>, 3\] \(list\)"),
    (lambda o: hl.Pipeline(o.im), r"Pipeline\(\) takes as outputs: .*, not <halide.ImageParam"),
    (lambda o: hl.funcs(3), r"funcs\(\) takes as names: str, not 3 \(int\)"),
    (lambda o: hl.concat_bits(o.f), r"concat_bits\(\) takes as values: Sequence\[ExprLike\], not <halide.Func"),
    (lambda o: hl.BoundaryConditions.repeat_edge({}, [(0, 3)]), r"repeat_edge\(\) takes as f: Func \| .*, not {}"),
    (lambda o: hl.Int("8"), r"Int\(\) takes as bits: int, not '8' \(str\)"),
    (lambda o: hl.Type(3), "Type takes a TypeCode first"),
    (lambda o: hl.Buffer(hl.Int(32), [2.5]), r"a size of a Buffer of int32 is a whole number, not 2.5 \(float\)"),
    (lambda o: hl.Buffer(hl.Int(32), [1 << 40, 1 << 40]), "there is no such memory"),
    (lambda o: o.b.set_min(0.5), r"a coordinate of b.* is a whole number, not 0.5"),
    (lambda o: o.b.crop(0, "1", 2), "a coordinate of b.* is a whole number, not '1'"),
    (lambda o: o.b.crop([1, 2]), r"crop of b.* takes a dimension and numbers, or 2 numbers each, not 1"),
    (lambda o: o.b.translate(None), r"translate of b.* takes a dimension and numbers, or a list, not None"),
    (lambda o: o.b.dim(x), r"takes as dimension: int, not <halide.Var 'x'>"),
    (lambda o: o.b[1.5, 0], "a coordinate of b.* is a whole number, not 1.5"),
    (lambda o: hl.Target("host").supports_type(4), r"Target.supports_type\(\) takes as type: Type, not 4 \(int\)"),
    (lambda o: o.p.parameter().same_as("p"), r"takes as other: Parameter, not 'p' \(str\)"),
    (lambda o: hl.Tuple(x, y)[2**63], r"a Tuple of 2 expressions has no \[9223372036854775808\]"),
    (lambda o: hl.f32(10**400), "an integer of 1329 bits is beyond all of f32"),
    (lambda o: hl.f64(x) + 10**309, "an integer of 1027 bits is beyond all of f64"),
    (lambda o: o.p.set_max_value(x), r"the max of p.* is known before anything is computed, unlike x in x"),
    (lambda o: o.p.set_range(0, hl.RDom([(0, 3)], "r").x), "the max of p.* is known before anything is computed"),
    (
        lambda o: o.im.dim(1).set_extent(x + o.p),
        r"the extent of im.* is known before anything is computed, unlike x in",
    ),
]


@pytest.mark.parametrize(("misuse", "message"), MISUSES)
def test_an_argument_that_is_not_what_is_taken_is_named(misuse: Callable[[Pipelines], object], message: str) -> None:
    with pytest.raises((Error, IndexError), match=message):
        misuse(Pipelines())


def test_what_is_known_on_entry_may_bound_parameters_and_boxes() -> None:
    o, q = Pipelines(), hl.Param(hl.Int(32), "q", 5)
    o.p.set_range(0, q + o.im.dim(1).extent() * 2)
    o.im.dim(1).set_extent(q - 1)
    o.im.set(np.zeros((4, 4), np.int32))
    assert np.asarray(o.f.realize([4, 4])).tolist() == [[3] * 4] * 4
    q.set(6)
    with pytest.raises(BufferError, match="5 was promised"):
        o.f.realize([4, 4])


@public
def _halves(count: int, names: list[str], more: Any = None) -> list[str]:
    """Fails by itself where `count` is 0."""
    return [name[: len(name) // count] for name in names] + ([] if more is None else [more.name])


def test_a_failure_of_arguments_that_are_right_is_left_as_it_is() -> None:
    count: Any = np.int64(2)
    assert _halves(2, ["abcd"]) == _halves(count, names=["abcd"]) == ["ab"]
    with pytest.raises(ZeroDivisionError):
        _halves(0, ["abcd"])
    with pytest.raises(AttributeError):
        _halves(1, [], 3)
    with pytest.raises(TypeError, match="missing 1 required positional"):
        _halves(1)  # type: ignore[call-arg]
    with pytest.raises(TypeMismatch, match=r"_halves\(\) takes as names: list\[str\], not \['a', 1\] \(list\)") as told:
        _halves(1, ["a", 1])  # type: ignore[list-item]
    assert isinstance(told.value.__cause__, TypeError)


class _Two:
    def __index__(self) -> int:
        return 2


@pytest.mark.parametrize("two", [2, np.int8(2), np.array(2), _Two()])
def test_what_says_which_whole_number_it_is_is_taken_for_that(two: Any) -> None:
    o, r = Pipelines(), hl.RDom([(0, 1), (0, 2), (0, 3)], "r")
    o.f[x, y] += 1
    o.f[x, y] += 2
    o.f[x, y] += 3
    assert hl.Int(8, lanes=two).lanes() == 2
    assert o.f.update(idx=two).name() == o.f.update(2).name()
    assert r[two].name() == r.z.name()
    assert hl.Buffer(hl.Int(32), [3, 4, 5]).dim(two).extent() == 5


def test_a_method_without_its_object_lacks_it() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'self'"):
        hl.Func.update()


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_what_has_a_name_is_not_copied(copied: Callable[[object], object]) -> None:
    """Two of one name were one in a definition: `f[x] = b[x] + copy.deepcopy(b)[x]` read one of them twice."""
    x = hl.Var("x")
    f = hl.Func("f")
    f[x] = x
    n, buffer = hl.Param(hl.Int(32), "n", 3), hl.Buffer(np.zeros(3, np.int32))
    for named in (f, n, buffer, hl.ImageParam(hl.Int(32), 1), hl.RDom([(0, 3)])):
        with pytest.raises(TypeError, match="neither copied nor pickled"):
            copied(named)
    copied(x + 1)
    copied(hl.Int(32))
    assert buffer.copy().name() != buffer.name()


def test_functions_and_classes_can_be_pickled() -> None:
    for value in (getattr(hl, name) for name in hl.__all__):
        if inspect.isclass(value) or inspect.isfunction(value):
            assert pickle.loads(pickle.dumps(value)) is value


@pytest.mark.parametrize(
    "value",
    [
        np.str_("3"),
        np.datetime64("2020-01-01"),
        np.timedelta64(5, "ns"),
        np.complex64(1),
        np.array("3"),
        np.array(None),
    ],
)
def test_what_only_looks_like_a_number_is_no_expression(value: Any) -> None:
    for use in (lambda: x + value, lambda: hl.f32(value), lambda: hl.u64(value), lambda: hl.select(x > 0, value, 1)):
        with pytest.raises(TypeMismatch, match="no expression"):
            use()
    with pytest.raises(TypeMismatch, match="no number"):
        hl.Buffer(np.zeros(3, np.int32)).fill(value)


def test_a_member_of_an_enumeration_is_no_tuple() -> None:
    f = hl.Func()
    with pytest.raises(TypeMismatch, match="is no expression"):
        f[x] = hl.MemoryType.Stack


def test_numbers_wider_than_f64_keep_their_fraction() -> None:
    assert str((hl.f64(x) + np.longdouble(1.5)).type()) == "float64"
    f = hl.Func()
    f[x] = hl.f32(x) + np.longdouble(1.5)
    assert np.asarray(f.realize([2])).tolist() == [1.5, 2.5]
    with pytest.raises(TypeMismatch, match=r"1.5 is no i32"):
        hl.Buffer(np.zeros(3, np.int32)).fill(np.longdouble(1.5))


def test_an_image_has_no_end_to_list() -> None:
    with pytest.raises(TypeError, match="not iterable"):
        list(hl.ImageParam(hl.Int(32), 1))


@pytest.mark.parametrize("given", [np.zeros((8, 8)), np.zeros(1, np.int32), 2.5, "x", None])
def test_the_number_of_dimensions_of_an_image_is_a_whole_number(given: Any) -> None:
    with pytest.raises(TypeMismatch, match="a number of dimensions and a name: the second is a whole number, not"):
        hl.ImageParam(hl.Bool(), given)
    assert hl.ImageParam(hl.Bool(), np.int8(2)).dimensions() == 2


def test_nothing_is_written_where_an_argument_is_refused(tmp_path: Path) -> None:
    o = Pipelines()
    wrong: list[Any] = [3, [o.im, "p"], [o.im]]
    for arguments in wrong:
        with pytest.raises((TypeMismatch, AlgorithmError)):
            o.f.compile_to_file(str(tmp_path / "f"), arguments)
    assert not list(tmp_path.iterdir())


class _Mine(Exception):
    pass


def _raising(*values: Any) -> Any:
    yield from values
    raise _Mine("in the middle")


class _Elements:
    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> Any:
        raise _Mine("in the middle")


@pytest.mark.parametrize(
    "call",
    [
        lambda: hl.Pipeline(_raising(hl.Func(hl.i32(1)))),
        lambda: hl.Buffer.make_bounds_query(hl.Int(32), _raising(3)),
        lambda: hl.Buffer.make_bounds_query(hl.Int(32), _Elements()),
        lambda: hl.Func(hl.i32(1)).compile_to_callable(_Elements()),
    ],
)
def test_what_code_of_the_users_raises_comes_through(call: Callable[[], Any]) -> None:
    with pytest.raises(_Mine, match="in the middle"):
        call()


def _plane() -> hl.Func:
    f, x, y = hl.Func("f"), hl.Var("x"), hl.Var("y")
    f[x, y] = x + y
    return f


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: hl.ImageParam(hl.Bool(), -1), "of -1 dimensions: arrays have 0 to 64"),
        (lambda: hl.ImageParam(hl.Bool(), 65), "of 65 dimensions: arrays have 0 to 64"),
        (lambda: hl.Func(hl.Int(8), -1, "f"), "of -1 dimensions: give it 0 or more"),
        (lambda: hl.Func([3], 1, "f"), "Func takes a name, a value, or types"),
        (lambda: hl.Int(8, 1 << 16), "a type of 65536 lanes: a scalar has one, a vector more, up to 65535"),
        (lambda: hl.Var.implicit(-1), "the implicit variables are _0, _1"),
        (lambda: hl.Param(hl.UInt(8)).set_range(-1, 3), "-1 does not fit u8, whose range is 0 to 255"),
        (lambda: hl.Param(hl.UInt(8)).set_max_value(300), "300 does not fit u8, whose range is 0 to 255"),
        (lambda: hl.Param(hl.Int(32)).set_min_value(2.5), "2.5 is no i32"),
        (lambda: hl.Param(hl.Int(32)).set_range(5, 3), "no value is between; the least comes first"),
        (lambda: hl.ImageParam(hl.Int(8), 1).dim(0).set_extent(-1), "it is 0 or more, and at most 2147483647"),
        (lambda: hl.ImageParam(hl.Int(8), 1).dim(0).set_min(1 << 40), "at most 2147483647"),
        (lambda: _plane().split("x", "xo", "xi", 1 << 31), "beyond the range of i32"),
        (lambda: _plane().vectorize("x", 0), "the factor must be a number, 1 or more"),
        (lambda: _plane().vectorize("x", 1 << 16).lowered(), "over 65536 lanes: 4096 is the most; split it"),
        (lambda: _plane().unroll("x", 1 << 20).lowered(), "unrolled 1048576 times: 16384 is the most; split it"),
        (lambda: _plane().bound("x", 0, -1), "bound of f: an extent is 0 or more, not -1"),
        (lambda: _plane().bound_extent("x", -1), "bound_extent of f: an extent is 0 or more, not -1"),
        (lambda: _plane().bound_storage("x", -1), "bound_storage of f: an extent is 0 or more, not -1"),
        (lambda: _plane().align_bounds("x", 0), "align_bounds of f: 0 must be a number, 1 or more"),
        (lambda: _plane().align_storage("x", 1 << 31), "must be a number up to 2147483647"),
    ],
)
def test_numbers_that_nothing_can_have_are_refused_with_what_can(call: Callable[[], Any], said: str) -> None:
    with pytest.raises(hl.Error, match=said):
        call()
