"""Every name of Halide's Python bindings is there, and takes what it takes there; or says that it is not there.

`halide_names.json` has the names, overloads and numbers of Halide 21: `old outer inner factor tail=` is an overload
whose last argument may be left out.
"""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rfactor as hl

NAMES = json.loads((Path(__file__).parent / "halide_names.json").read_text())
REFUSED = frozenset(
    """
    active_generator_context alias AutoSchedulerResults AutoschedulerParams create_callable_from_generator
    deserialize_parameters deserialize_pipeline ExternFuncArgument Generator generator GeneratorContext GeneratorParam
    load_plugin main serialize_pipeline user_context_value
    """.split()  # noqa: SIM905 - a list this long is read as text
)
"""Generators, autoschedulers, extern stages, serialization."""
OF_DEVICES = frozenset(
    """
    async_ copy_to_device copy_to_host define_extern gpu gpu_blocks gpu_lanes gpu_single_thread gpu_threads gpu_tile
    hexagon ring_buffer
    """.split()  # noqa: SIM905
)
"""Methods of `Func` and `Stage` for devices, extern stages and asynchronous execution."""
CALLED = frozenset(
    """
    Buffer.__init__ Callable.__call__ Func.__init__ Func.realize Func.tile Pipeline.realize Range.__init__ Stage.tile
    Target.__init__ Tuple.__init__ argmax argmin maximum minimum product sum min max select Buffer.cropped
    Buffer.translated Buffer.transposed Buffer.set_min Parameter.set_scalar RDom.__init__ Argument.__init__
    lambda_func print
    """.split()  # noqa: SIM905
)
"""Those that take anything and look at it: `test_overloads_that_look_alike` calls them."""


@pytest.mark.parametrize("name", sorted({*NAMES["functions"], *NAMES["classes"], *NAMES["enumerations"]}))
def test_a_name_of_the_module_is_there_or_refused(name: str) -> None:
    if name not in REFUSED:
        assert getattr(hl, name) is not None
        assert name in dir(hl)
        return
    with pytest.raises(NotImplementedError, match=rf"^rfactor\.{name} is not there"):
        getattr(hl, name)
    with pytest.raises(NotImplementedError, match=rf"^rfactor\.{name} is not there"):
        exec(f"from rfactor import {name}")


def test_a_star_brings_the_names_of_the_module() -> None:
    brought: dict[str, Any] = {}
    exec("from rfactor import *", brought)
    assert {*NAMES["functions"], *NAMES["classes"], *NAMES["enumerations"]} - REFUSED <= brought.keys()
    assert "check" not in brought


def test_inner_names_of_generators_are_refused() -> None:
    for name in ("_generatorcontext_enter", "_create_python_generator", "_generator_helpers"):
        with pytest.raises(NotImplementedError, match=rf"^rfactor\.{name} is not there"):
            getattr(hl, name)


def test_names_of_nothing_are_none() -> None:
    with pytest.raises(AttributeError):
        importlib.import_module("rfactor").nonsense  # noqa: B018
    with pytest.raises(ImportError):
        exec("from rfactor import nonsense")


@pytest.mark.parametrize("name", sorted(NAMES["enumerations"]))
def test_enumerations_have_the_numbers(name: str) -> None:
    ours = getattr(hl, name)
    for member, number in NAMES["enumerations"][name].items():
        one = getattr(ours, member)
        assert (one.value, int(one), ours(number)) == (number, number, one)
        if (name, member) != ("TargetFeature", "HVX"):  # another name of HVX_128
            assert (one.name, str(one), repr(one)) == (member, f"{name}.{member}", f"<{name}.{member}: {number}>")


def overloads() -> Iterator[tuple[str, Callable[..., Any], str, bool]]:
    """Name, function, overload, whether it is called on an object."""
    for name, forms in NAMES["functions"].items():
        if name not in REFUSED | CALLED:
            yield from ((name, getattr(hl, name), form, False) for form in forms)
    for name, methods in NAMES["classes"].items():
        ours = None if name in REFUSED else getattr(hl, name)
        for method, forms in methods.items() if ours is not None else ():
            if f"{name}.{method}" in CALLED or not isinstance(forms, list) or method in OF_DEVICES:
                continue
            bound = not isinstance(inspect.getattr_static(ours, method), classmethod | staticmethod)
            bound = bound and not inspect.ismodule(ours)
            yield from ((f"{name}.{method}", getattr(ours, method), form, bound) for form in forms)


def takes(function: Callable[..., Any], given: int, named: list[str], bound: bool) -> None:
    """Raise `TypeError` unless `function` may be called so."""
    several = getattr(function, "spread", None)
    if several is not None:
        assert named in ([], [several])
        return
    others = getattr(function, "also_named", {})
    inspect.signature(function).bind(*[0] * (given + bound), **{others.get(name, name): 0 for name in named})


def test_every_overload_is_taken() -> None:
    count = 0
    for name, function, form, bound in overloads():
        words = [word for word in form.split() if not word.startswith("*")]
        all_, needed = [word.rstrip("=") for word in words], [word for word in words if not word.endswith("=")]
        try:
            takes(function, len(all_), [], bound)
            takes(function, len(needed), [], bound)
            if not any(word.removeprefix("arg").isdigit() for word in all_) and not name.endswith("__getitem__"):
                takes(function, 0, all_, bound)
                takes(function, 0, needed, bound)
        except TypeError as error:
            pytest.fail(f"{name}({form}): {error}")
        count += 1
    assert count > 500


def test_inputs_and_outputs_are_used_without_a_generator() -> None:
    x, y = hl.Var("x"), hl.Var("y")
    a, s, o = hl.InputBuffer(hl.Int(32), 2), hl.InputScalar(hl.Int(32)), hl.OutputBuffer(hl.Int(32), 2)
    o[x, y] = a[x, y] * s
    out = np.zeros((2, 3), np.int32)
    o.compile_to_callable([a, s])(np.full((2, 3), 5, np.int32), 3, out)
    assert (out == 15).all()
    total = hl.OutputScalar(hl.Int(32))
    r = hl.RDom(a)
    total[()] += a[r.x, r.y]
    a.set(out)
    assert total.realize()[()] == 90
    assert isinstance(a, hl.ImageParam)
    assert isinstance(s, hl.Param)
    assert isinstance(total, hl.OutputBuffer)
    with pytest.raises(hl.HalideError, match="constrained to only hold values of type float32"):
        hl.OutputBuffer(hl.Float(32), 1)[x] = x


def test_what_can_be_asked_of_objects() -> None:
    x, im, p = hl.Var("x"), hl.ImageParam(hl.UInt(8), 2, "im"), hl.Param(hl.Int(32), "p", 4)
    made = {
        "Argument": hl.Argument(im), "ArgumentEstimates": hl.ArgumentEstimates(), "ArgInfo": hl.ArgInfo(),
        "RDom": hl.RDom([(0, 1)] * 4), "Range": hl.Range(0, 1), "Target": hl.Target("x86-64-linux"),
        "VarOrRVar": hl.VarOrRVar(x),
    }  # fmt: skip
    for name, one in made.items():
        for attribute, forms in NAMES["classes"][name].items():
            if not isinstance(forms, list):
                assert getattr(one, attribute) is not None
    p.set_range(1, 8)
    p.set_estimate(3)
    im.dim(0).set_estimate(0, 9)
    scalar, image = hl.Argument(p), hl.Argument(im)
    told = scalar.argument_estimates
    ends = (told.scalar_min, told.scalar_max, told.scalar_estimate, image.argument_estimates.buffer_estimates[0].extent)
    assert [f"{end}" for end in ends] == ["1", "8", "3", "9"]
    assert not told.scalar_def.defined()
    assert (image.name, image.kind, image.dimensions, image.type) == (
        "im", hl.ArgumentKind.InputBuffer, 2, hl.UInt(8),
    )  # fmt: skip
    assert (hl.Argument().name, hl.Argument().type.bits()) == ("", 0)
    inside = im.parameter()
    assert (inside.name(), inside.is_buffer(), inside.dimensions(), inside.defined()) == ("im", True, 2, True)
    inside.set_min_constraint(1, 2)
    assert f"{im.parameter().min_constraint(1)}" == "2"
    assert not inside.stride_constraint(0).defined()
    p.parameter().set_scalar(7)
    assert p.get() == p.parameter().scalar() == 7
    p.parameter().set_scalar(value_type=hl.Int(32), value=0)
    assert p.get() == 0
    assert not hl.Parameter().defined()
    with pytest.raises(hl.HalideError, match="im is an array: it has no value"):
        inside.scalar()


def test_devices_are_refused_by_name() -> None:
    x, f = hl.Var("x"), hl.Func("f")
    f[x] = 0
    f[x] += 1
    for one, name in ((f, "Func"), (f.update(), "Stage")):
        for method in sorted(OF_DEVICES & NAMES["classes"][name].keys()):
            with pytest.raises(NotImplementedError, match=rf"^{name}\.{method} is not there"):
                getattr(one, method)(x)
    b = hl.Buffer(hl.Int(32), [3])
    for method in ("copy_to_device", "device_malloc", "set_device_dirty"):
        with pytest.raises(NotImplementedError, match=rf"^Buffer\.{method}"):
            getattr(b, method)()
    assert (b.device_sync(), b.device_free(), b.device_detach_native(), b.device_deallocate()) == (0, 0, 0, None)
    for kind in (hl.MemoryType.GPUShared, hl.MemoryType.VTCM):
        with pytest.raises(NotImplementedError, match=kind.name):
            f.store_in(kind)
    with pytest.raises(NotImplementedError, match=r"Pipeline\.apply_autoscheduler"):
        hl.Pipeline([f]).apply_autoscheduler(hl.Target(), None)


def test_overloads_that_look_alike() -> None:
    x, y, xo, yo, xi, yi = map(hl.Var, ("x", "y", "xo", "yo", "xi", "yi"))
    r = hl.RDom(region=[(0, 3), hl.Range(1, 4)], name="r")
    data = np.arange(12, dtype=np.int32).reshape(3, 4)
    b = hl.Buffer(buffer=data, name="data", reverse_axes=True)
    assert np.array_equal(np.array(b), data)
    assert hl.Buffer(type=hl.Int(32), sizes=[4, 3], storage_order=[1, 0], name="z").dim(1).stride() == 1
    for given in ({"buffer": b}, {"image_param": hl.ImageParam(hl.Int(32), 2)}):
        assert hl.RDom(**given).dimensions() == 2
    for reduce, wanted in ((hl.sum, 42), (hl.product, 0), (hl.maximum, 6), (hl.minimum, 1)):
        value = r.x + r.y
        for one in (reduce(expr=value, name="n"), reduce(rdom=r, expr=value), reduce(r, value, name="n")):
            assert hl.evaluate(expr=one) == (wanted if reduce is not hl.product else hl.evaluate(reduce(value)))
    assert hl.evaluate(hl.Tuple(hl.argmin(rdom=r, expr=r.x - r.y, name="a"))) == (0, 4, -4)
    with pytest.raises(TypeError, match="unexpected keyword"):
        hl.sum(value=r.x)
    tiled = []
    for number, arguments in enumerate(
        (
            {"x": x, "y": y, "xo": xo, "yo": yo, "xi": xi, "yi": yi, "xfactor": 2, "yfactor": 4},
            {"yfactor": 4, "xfactor": 2, "yi": yi, "xi": xi, "y": y, "x": x},
            {"previous": [x, y], "outers": [xo, yo], "inners": [xi, yi], "factors": [2, 4]},
            {"factors": [2, 4], "previous": [x, y], "inners": [xi, yi], "tail": hl.TailStrategy.GuardWithIf},
        )
    ):
        f = hl.Func(required_type=hl.Int(32), required_dimensions=2, name=f"f{number}_")
        f[x, y] = x + 10 * y
        f.tile(**arguments)
        tiled.append(np.array(f.realize(sizes=[5, 3], target=hl.get_host_target())).tolist())
    assert all(one == tiled[0] for one in tiled)
    with pytest.raises(TypeError, match="unexpected keyword"):
        f.tile(x=x, nonsense=1)
    g, h = hl.Func("g"), hl.Func(required_types=[hl.Int(32)], required_dimensions=1, name="h")
    g[x] = x
    h[x] = g[x]
    g.compute_at(loop_level=hl.LoopLevel(func=h, var=x)).compute_at(f=h, var=x).store_root()
    h.reorder(vars=[x]).prefetch(func=g, at=x, **{"from": x}).serial(var=hl.VarOrRVar(x))
    assert g.in_(fs=[h]) is g.in_(f=h)
    h.realize(dst=hl.Buffer(np.zeros(4, np.int32)))
    targets = [
        hl.Target(hl.TargetOS.Linux, hl.TargetArch.X86, 64, hl.TargetProcessorTune.TuneZnVer3, [hl.TargetFeature.AVX]),
        hl.Target("x86-64-linux-tune_znver3-avx"),
    ]
    assert targets[0] == targets[1]
    assert str(targets[0]) == "x86-64-linux-tune_znver3-avx"
    assert hl.Range((1, 2)).extent.type() == hl.Int(32)
    assert hl.host_supports_target_device(hl.Target("host"))
    assert not hl.host_supports_target_device(hl.Target("host-cuda"))
    assert hl.target_feature_for_device_api(hl.DeviceAPI.CUDA) == hl.TargetFeature.CUDA
    assert Path(hl.install_dir(), "__init__.py").exists()


def test_texts_are_those_of_halide() -> None:
    x, y, r = hl.Var("x"), hl.Var("y"), hl.RDom([(0, 3), (1, 4)], "q")
    im, p, f, t = hl.ImageParam(hl.UInt(8), 2, "im"), hl.Param(hl.Int(32), "p"), hl.Func("f"), hl.Func("t")
    gain = hl.Param(hl.Float(32), "gain")
    f[x] = x
    f[x] += r.x
    t[x] = (x, hl.u8(x))
    texts = {
        "<halide.Expr of type int32: ((x*2) + 1)>": x * 2 + 1,
        "<halide.Expr of type uint16: (uint16((uint8)im_im(x, y + 1))*(uint16)2)>": hl.u16(im[x, y + 1]) * 2,
        "<halide.Expr of type bool: ((x < y) && (y != 3))>": (x < y) & (y != 3),
        "<halide.Expr of type float32: ((float32)sqrt_f32(float32(x))/1.500000f)>": hl.sqrt(hl.f32(x)) / 1.5,
        "<halide.Expr of type int32: select(x < 1, bitwise_and(x, 7), max(y, 0 - x))>": hl.select(
            x < 1, x & 7, hl.max(y, -x)
        ),
        "<halide.Expr of type int32: (f(q$x) + q$y)>": f[r.x] + r.y,
        "<halide.Expr of type float32: ((float32)gain*float32(p))>": gain * hl.f32(p),
        "<halide.Expr of type int32: ((im.min.0 + im.extent.0) - 1)>": im.dim(0).max(),
        "<halide.Expr of type int32: (f(x) + q$x)>": f.update_value(),
        "<undefined halide.Expr>": hl.Expr(),
        "<halide.RDom RDom(\n  q$x(0, 3)\n  q$y(1, 4)\n)>": r,
        "<halide.RVar q$y(1, 4)>": r.y,
        "<halide.ImageParam 'im', dims: 2, type: uint8>": im,
        "<halide.OutputImageParam 'f', dims: 1, type: int32>": f.output_buffer(),
        "<halide.Param 'p' type int32>": p,
        "<halide.Func 'f'>": f,
        "<halide.Tuple of size 2>": hl.Tuple((x, y)),
        "<halide.Buffer of type uint8 shape:[[0,4,1],[0,3,4]]>": hl.Buffer(np.zeros((3, 4), np.uint8)),
        "<undefined halide.Buffer>": hl.Buffer(),
        "<halide.Pipeline ['f', 't']>": hl.Pipeline([f, t]),
        "<halide.Parameter 'im' type uint8>": im.parameter(),
    }  # fmt: skip
    for wanted, one in texts.items():
        assert str(one) == repr(one) == wanted
    both = {
        ("x", "<halide.Var 'x'>"): x,
        ("int32x4", "<halide.Type int32x4>"): hl.Int(32, 4),
        ("handle0", "<halide.Type handle0>"): hl.Type(),
        ("x86-64-linux-avx2", "<halide.Target x86-64-linux-avx2>"): hl.Target("x86-64-linux-avx2"),
    }
    assert {(str(one), repr(one)) for one in both.values()} == set(both)
    assert (r.x.name(), r[1].name(), f"{x // 2}", t[x][1].index()) == ("q$x", "q$y", "x // 2", 1)
    assert f.update().dump_argument_list() == "Vars: q$x q$y x __outermost\n"


def test_what_halide_catches_is_caught() -> None:
    x = hl.Var("x")
    f = hl.Func("f")
    for wrong in (lambda: f.realize([3]), lambda: hl.Expr(x) + "a", lambda: hl.Buffer(hl.Int(32), [3])[5]):
        with pytest.raises((hl.HalideError, TypeError)):
            wrong()


def test_values_are_written_to_files_as_halide_does(tmp_path: Path) -> None:
    x, y, f, g = hl.Var("x"), hl.Var("y"), hl.Func("f"), hl.Func("g")
    f[x, y] = hl.i32(x + y * 2)
    g[x, y] = f[x, y] + f[x + 1, y]
    f.debug_to_file(str(tmp_path / "f.npy"))
    with pytest.raises(hl.HalideError, match=r"debug_to_file of f: .* compute_root\(\) it"):
        g.realize([4, 3])
    f.compute_root()
    wanted = np.add.outer(np.arange(3) * 2, np.arange(5)).astype(np.int32)
    out = np.array(g.realize([4, 3]))
    assert np.array_equal(np.load(tmp_path / "f.npy").ravel(), wanted.ravel())
    assert np.load(tmp_path / "f.npy").shape == (5, 3)
    g.debug_to_file(str(tmp_path / "g.tmp"))
    g.realize(np.zeros((3, 4), np.int32))
    head = np.array([4, 3, 1, 1, 7], np.int32)
    assert (tmp_path / "g.tmp").read_bytes() == head.tobytes() + out.tobytes()
