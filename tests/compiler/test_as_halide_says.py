"""What programs for Halide's bindings ask of values, texts and errors beside numbers."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import rfactor as hl

x, y = hl.Var("x"), hl.Var("y")


class Pair:
    """A class of a user's that stands for a tuple."""

    def __init__(self, *parts: Any) -> None:
        self.parts = parts

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, index: int) -> Any:
        return self.parts[index]


def test_an_object_with_elements_is_a_tuple_of_values() -> None:
    f = hl.Func("f")
    f[x] = Pair(x, 2.5)
    f[x] = Pair(f[x][0] * 2, f[x][1] + 1.0)
    a, b = f.realize([3])
    assert np.asarray(a).tolist() == [0, 2, 4]
    assert np.asarray(b).tolist() == [3.5] * 3
    g = hl.Func("g")
    g[x] = hl.select(x > 1, Pair(x, 1), Pair(7, 8))
    assert [np.asarray(part).tolist() for part in g.realize([3])] == [[7, 7, 2], [8, 8, 1]]


@pytest.mark.parametrize("value", ["text", {0: x}, None, object()])
def test_what_has_no_elements_in_order_is_no_tuple(value: Any) -> None:
    with pytest.raises(TypeError, match="is no expression"):
        hl.Func("f")[x] = value


def test_functions_of_tuples_give_tuples() -> None:
    f, r = hl.Func("f"), hl.RDom([(0, 4)])
    f[x] = hl.abs(x - 2)
    assert type(hl.argmin(f[r])) is tuple
    assert type(hl.argmax(f[r])) is tuple
    assert type(hl.select(x > 1, (x, x), (x, y))) is tuple


def _mixed() -> None:
    hl.select((x < 3, y < 3), (x, y), x + y < 9, (x, y), (y, x))


def _sizes() -> None:
    hl.select((x < 3, y < 3), (x, y, 0), (1, 2, 3, 4))


def _twice() -> None:
    f = hl.Func("f")
    reference = f[x]
    reference += 1
    reference += 1


def _used() -> None:
    f = hl.Func("f")
    f[x] = 1 + f[x]


def _assigned_again() -> None:
    f = hl.Func("f")
    reference = f[x] + 1
    f[x] = reference
    assert f.realize([2])[1] == 1
    f[x] = reference


def _assigned_elsewhere() -> None:
    f = hl.Func("f")
    f[0] = f[x] + 1


def _rank() -> None:
    hl.Func(hl.Int(32), 1, "f")[x, y] = 0


def _types() -> None:
    hl.Func([hl.Int(32), hl.Float(32)], 1, "f")[x] = (hl.i16(0), hl.f64(0))


def _type_of_several() -> None:
    hl.Func([hl.Int(32), hl.Float(32)], 1, "f").type()


def _components() -> None:
    f = hl.Func("f")
    f[x] = (x, x + 1)
    f[x] + 1


def _scheduled() -> None:
    f = hl.Func("f")
    f[x] = 0
    f[x] += 1
    f.update().vectorize(x, 4).unscheduled()


def _features() -> None:
    hl.Target(hl.TargetOS.Linux, hl.TargetArch.X86, 64, ["avx2"])


def _gradient(size: Any) -> None:
    f = hl.Func("f")
    f[x, y] = x + y
    f.realize(size)


def _unset() -> None:
    f = hl.Func("f")
    f[x] = hl.ImageParam(hl.Int(32), 1, "im")[x]
    f.realize([3])


@pytest.mark.parametrize(
    ("wrong", "kind", "says"),
    [
        (_mixed, hl.HalideError, r"select\(\) on Tuples may not mix Expr and Tuple for the condition elements\."),
        (_sizes, hl.HalideError, r"select\(\) on Tuples requires all Tuples to have identical sizes\."),
        (_twice, TypeError, r"unsupported operand type\(s\) for \+=: '.*_UnevaluatedFuncRefExpr' and 'int'"),
        (_used, hl.HalideError, r"Error: Can't call Func \"f\S*\" because it has not yet been defined\."),
        (_assigned_again, hl.HalideError, "define an update when a pure definition already exists"),
        (_assigned_elsewhere, hl.HalideError, "define an update at a different location"),
        (lambda: hl.Func("f").type(), hl.HalideError, "it is undefined"),
        (_type_of_several, hl.HalideError, "it returns a Tuple"),
        (_rank, hl.HalideError, "constrained to have exactly 1 dimensions, but is defined with 2 dimensions"),
        (_types, hl.HalideError, r"of type \(int32, float32\) but is defined with values of type \(int16, float64\)"),
        (lambda: hl.Func("f")[x / 2.0], hl.HalideError, "Implicit cast from float32 to int"),
        (_components, hl.HalideError, r"f\S* returns a Tuple"),
        (_scheduled, hl.HalideError, "Stage::unscheduled called on an update definition with a schedule"),
        (_features, TypeError, "incompatible constructor arguments"),
        (
            lambda: _gradient([3]),
            hl.HalideError,
            r"2 dimensions, but realize\(\) is requesting a realization with 1 dim",
        ),
        (
            lambda: _gradient(hl.Buffer(hl.Int(32), [2])),
            hl.HalideError,
            "requires a buffer of exactly 2 dimensions, but",
        ),
        (_unset, hl.HalideError, r"Error: Buffer argument im\S* is nullptr"),
        (
            lambda: hl.Target("x86-64-linux-no"),
            hl.HalideError,
            "Did not understand Halide target x86-64-linux-no: 'no'",
        ),
    ],
)
def test_errors_say_what_halide_says(wrong: Any, kind: Any, says: str) -> None:
    with pytest.raises(kind, match=says):
        wrong()


def test_a_pipeline_without_outputs_has_a_text() -> None:
    assert str(hl.Pipeline()) == "<halide.Pipeline Pipeline()>"


def test_types_that_devices_lack_as_halide_tells_them() -> None:
    halide = pytest.importorskip("halide")
    types = [("Int", 8), ("UInt", 16), ("Int", 64), ("Float", 16), ("Float", 32), ("Float", 64), ("Bool", 1)]
    features = [(), ("Metal",), ("OpenCL",), ("OpenCL", "CLDoubles"), ("Vulkan", "VulkanFloat64"), ("WebGPU",)]

    def answers(module: Any) -> list[bool]:
        targets = [
            module.Target(
                module.TargetOS.Linux, module.TargetArch.X86, 64, [getattr(module.TargetFeature, one) for one in words]
            )
            for words in features
        ]
        devices = [(), *((getattr(module.DeviceAPI, one),) for one in ("Host", "Default_GPU", "OpenCL", "Metal"))]
        made = [getattr(module, name)(bits) for name, bits in types]
        return [t.supports_type(one, *device) for t in targets for one in made for device in devices]

    found = answers(hl)
    assert found == answers(halide)
    assert True in found
    assert False in found


def _made(api: Any) -> tuple[Any, Any]:
    v, f = api.Var("x"), api.Func("f")
    f[v] = v
    return v, f


def _read(api: Any, v: Any, f: Any) -> Any:
    g = api.Func("g")
    g[v] = f[v]
    return g


def _rdom_that_reads(api: Any, v: Any, f: Any) -> None:
    r, g = api.RDom([(0, 4)], "r"), api.Func("g")
    r.where(r < f[0])
    g[v] = 0
    g[v] += r


def _mistaken(api: Any, v: Any, f: Any) -> None:
    with pytest.raises(api.HalideError):
        _read(api, 3 + v, f)


_USES: dict[str, Any] = {
    "realize": lambda api, v, f: f.realize([3]),
    "read": _read,
    "read by what is realized": lambda api, v, f: _read(api, v, f).realize([3]),
    "read by a predicate": _rdom_that_reads,
    "read by a sum": lambda api, v, f: api.sum(api.RDom([(0, 3)]) * f[v]),
    "pipeline": lambda api, v, f: api.Pipeline([f]),
    "compile": lambda api, v, f: f.compile_jit(),
    "loops": lambda api, v, f: f.print_loop_nest(),
    "arguments": lambda api, v, f: f.infer_arguments(),
    "wrapper": lambda api, v, f: f.in_(),
    "evaluate": lambda api, v, f: api.evaluate(f[3]),
    "boundary": lambda api, v, f: api.BoundaryConditions.constant_exterior(f, 0, [(0, 3)]),
    # Not uses:
    "text": lambda api, v, f: (str(f[v]), f.defined(), f.dimensions(), f.values()),
    "expression": lambda api, v, f: (f[v] + 1) * 2,
    "schedule": lambda api, v, f: f.compute_root().vectorize(v, 4).trace_stores().bound(v, 0, 3),
    "promise": lambda api, v, f: f.output_buffer().dim(0).set_min(0),
    "update": lambda api, v, f: f.__setitem__(v, f[v] + 1),
    "a mistake": _mistaken,
}


@pytest.mark.parametrize("use", _USES)
def test_what_is_used_gets_no_more_updates(use: str) -> None:
    halide = pytest.importorskip("halide")
    told = []
    for api in (hl, halide):
        v, f = _made(api)
        _kept = _USES[use](api, v, f)
        try:
            f[v] += 1
        except api.HalideError as error:
            told.append(re.sub(r"\$\d+", "", str(error)).removeprefix("Error: ").strip())
        else:
            told.append("")
            f[v] += 2
    ours, theirs = told
    assert ours.startswith(theirs)
    assert bool(ours) == bool(theirs)


def test_a_wrapper_and_a_clone_of_what_is_used_are_used() -> None:
    v, f = _made(hl)
    g = _read(hl, v, f)
    for one in (f.in_(g), hl.ImageParam(hl.Int(32), 1, "im").in_(g)):
        with pytest.raises(hl.HalideError, match="cannot be given a new update definition"):
            one[v] += 1
    _, other = _made(hl)
    h = _read(hl, v, other)
    clone = other.clone_in(h)
    with pytest.raises(hl.HalideError, match="cannot be given a new update definition"):
        clone[v] += 1


def _params(api: Any, *types: Any) -> list[Any]:
    return [api.Param(type_, "same", value) for type_, value in zip(types, (3, 4), strict=True)]


def _in_one_expression(api: Any, v: Any, f: Any) -> Any:
    p, q = _params(api, api.Int(32), api.Int(32))
    f[v] = q + v + p * 10
    return f


def _in_two_definitions(api: Any, v: Any, f: Any) -> Any:
    p, q = _params(api, api.Int(32), api.Int(32))
    f[v] = v + p
    f[v] += q
    return f


def _in_two_functions(api: Any, v: Any, f: Any) -> Any:
    p, q = _params(api, api.Int(32), api.Int(32))
    g = api.Func("g")
    g[v] = p + v
    f[v] = g[v] + q
    return f


def _in_two_components(api: Any, v: Any, f: Any) -> Any:
    p, q = _params(api, api.Int(32), api.Int(32))
    f[v] = (p + v, q + v)
    return f


def _of_two_types(api: Any, v: Any, f: Any) -> Any:
    p, q = _params(api, api.Int(32), api.Float(32))
    f[v] = p + v + q
    return f


def _two_images(api: Any, v: Any, f: Any) -> Any:
    images = [api.ImageParam(api.Int(32), 1, "same") for _ in range(2)]
    for n, image in enumerate(images):
        image.set(api.Buffer(np.full(4, n, np.int32)))
    f[v] = images[0][v] + images[1][v] * 10
    return f


def _an_image_and_a_number(api: Any, v: Any, f: Any) -> Any:
    image = api.ImageParam(api.Int(32), 1, "same")
    image.set(api.Buffer(np.full(4, 7, np.int32)))
    f[v] = image[v] + api.Param(api.Int(32), "same", 3)
    return f


def _an_image_and_its_array(api: Any, v: Any, f: Any) -> Any:
    image, array = api.ImageParam(api.Int(32), 1, "same"), api.Buffer(np.full(4, 7, np.int32), "same")
    image.set(array)
    f[v] = image[v] + array[v]
    return f


@pytest.mark.parametrize(
    ("made", "refused"),
    [
        (_in_one_expression, False),
        (_an_image_and_its_array, False),
        (_in_two_definitions, True),
        (_in_two_functions, True),
        (_in_two_components, True),
        (_of_two_types, True),
        (_two_images, True),
        (_an_image_and_a_number, True),
    ],
)
def test_inputs_of_one_name_are_one_number_or_refused(made: Any, refused: bool) -> None:
    halide = pytest.importorskip("halide")
    found = []
    for api in (hl, halide):
        f = made(api, api.Var("x"), api.Func("f"))
        if refused:
            with pytest.raises(api.HalideError, match="must have unique names, but the name 'same' was seen multiple"):
                f.realize([4])
        else:
            found.append(np.array(f.realize([4])).tolist())
    assert found[1:] == found[:1]


def test_two_arrays_of_one_name_are_refused() -> None:
    v, f, g = hl.Var("x"), hl.Func("f"), hl.Func("g")
    a, b = (hl.Buffer(np.full(4, n, np.int32), "same") for n in range(2))
    f[v] = a[v] + b[v]
    with pytest.raises(hl.HalideError, match="'same' was seen multiple times"):
        f.realize([4])
    g[v] = a[v] + hl.Buffer(np.full(4, 2, np.int32))[v] + hl.Buffer(np.full(4, 3, np.int32))[v]
    assert np.array(g.realize([4])).tolist() == [5] * 4


def test_updates_know_the_box_of_their_output() -> None:
    f = hl.Func("f")
    f[x] = 0
    r = hl.RDom([(0, f.output_buffer().width())])
    r.where(r.x < f.output_buffer().width() - 1)
    f[r.x] += r.x * f.output_buffer().width()
    for size in (3, 5):
        assert np.asarray(f.realize([size])).tolist() == [i * size for i in range(size - 1)] + [0]
    g = hl.Func("g")
    g[x] = f[x]
    f.compute_root()
    with pytest.raises(hl.HalideError, match=r"update 0, extent of r\S*: f\S*.extent.0 is unknown there"):
        g.realize([3])
