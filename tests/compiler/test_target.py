"""Targets: their names, what LLVM is told of them, and which are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

import rfactor as hl
from rfactor.compiler.language.target import machine
from rfactor.errors import TargetError, TypeMismatch
from rfactor.native.engine import host


@pytest.mark.parametrize(
    "name", ["x86-64-linux", "x86-64-linux-avx2-fma", "arm-64-osx", "riscv-64-linux", "wasm-32-wasmrt"]
)
def test_a_name_is_read_and_written(name: str) -> None:
    target = hl.Target(name)
    assert target.to_string() == str(target) == name
    assert target == hl.Target(target.os, target.arch, target.bits, list(target.features))


def test_words_may_come_in_any_order_and_twice() -> None:
    assert str(hl.Target("avx2-linux-x86-64-avx2")) == "x86-64-linux-avx2"


def test_host_is_this_machine() -> None:
    assert hl.Target("host") == hl.Target("") == hl.get_host_target()
    assert hl.Target("host-no_asserts").has_feature(hl.TargetFeature.NoAsserts)
    assert machine(hl.Target("host")) == machine(None) == machine(hl.Target()) == host()
    assert hl.get_jit_target_from_environment().has_feature(hl.TargetFeature.JIT)
    assert hl.get_host_target().supported()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("x86-64", "it lacks os"),
        ("avx2", "Did not understand Halide target avx2"),
        ("x86-64-linux-avx3", "'avx3' is unknown"),
    ],
)
def test_what_is_no_target_is_refused(name: str, said: str) -> None:
    with pytest.raises(TargetError, match=said):
        hl.Target(name)
    assert not hl.Target.validate_target_string(name)


def test_no_code_for_some_targets_of_32_bits_nor_for_gpus() -> None:
    for name in ("powerpc-32-linux", "arm-32-windows"):
        with pytest.raises(TargetError, match=rf"no code is generated for {name}.*bits 64"):
            machine(hl.Target(name))
        assert not hl.Target(name).supported()
    assert hl.Target("arm-32-linux").supported()
    with pytest.raises(NotImplementedError, match="the feature cuda of target x86-64-linux-cuda"):
        machine(hl.Target("x86-64-linux-cuda"))
    with pytest.raises(NotImplementedError, match="the feature sve of target x86-64-linux-sve"):
        machine(hl.Target("x86-64-linux-sve"))
    assert not hl.Target("x86-64-linux-cuda").supported()
    assert hl.Target("x86-64-linux-cuda").has_gpu_feature()


def test_features_become_llvm_s() -> None:
    assert machine(hl.Target("x86-64-linux-avx2-f16c")).features == "+avx2,+f16c"
    assert machine(hl.Target("x86-64-linux-f16c")).converts_f16
    assert not machine(hl.Target("x86-64-linux")).converts_f16
    assert machine(hl.Target("arm-64-linux-sve2")).triple == "aarch64-unknown-linux-gnu"


def test_features_are_given_and_taken() -> None:
    target = hl.Target("x86-64-linux")
    more = target.with_feature(hl.TargetFeature.AVX2)
    assert (str(target), str(more)) == ("x86-64-linux", "x86-64-linux-avx2")
    assert more.without_feature(hl.TargetFeature.AVX2) == target
    target.set_features([hl.TargetFeature.AVX2, hl.TargetFeature.FMA])
    assert target.features_all_of([hl.TargetFeature.FMA, hl.TargetFeature.AVX2])
    assert not target.features_all_of([hl.TargetFeature.FMA, hl.TargetFeature.SVE])
    assert target.features_any_of([hl.TargetFeature.FMA, hl.TargetFeature.SVE])
    assert not target.features_any_of([hl.TargetFeature.SVE])
    target.set_feature(hl.TargetFeature.FMA, False)
    assert str(target) == "x86-64-linux-avx2"


@pytest.mark.parametrize(
    ("name", "lanes"),
    [("x86-64-linux", 4), ("x86-64-linux-avx2", 8), ("x86-64-linux-avx512_skylake", 16), ("arm-64-linux", 4)],
)
def test_how_many_values_a_vector_holds(name: str, lanes: int) -> None:
    assert hl.Target(name).natural_vector_size(hl.Int(32)) == lanes
    assert hl.Target(name).natural_vector_size(hl.UInt(8)) == 4 * lanes


def test_realize_runs_here_alone() -> None:
    f, x = hl.Func("f"), hl.Var("x")
    f[x] = x
    other = "arm-64-linux" if hl.get_host_target().arch != hl.TargetArch.ARM else "x86-64-linux"
    with pytest.raises(NotImplementedError, match="the feature trace_pipeline of target"):
        f.realize([4], hl.get_host_target().with_feature(hl.TargetFeature.TracePipeline))
    with pytest.raises(TargetError, match="is not this machine"):
        f.realize([3], hl.Target(other))
    with pytest.raises(TargetError, match="is not this machine"):
        f.compile_jit(hl.Target(other))
    f.compile_jit(hl.get_jit_target_from_environment())
    assert [f.realize([3], hl.get_host_target())[i] for i in range(3)] == [0, 1, 2]


def test_the_environment_may_name_the_targets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    host, x, f = hl.get_host_target(), hl.Var("x"), hl.Func("f")
    f[x] = x
    monkeypatch.setenv("HL_TARGET", "riscv-64-linux")
    assert str(hl.get_target_from_environment()) == "riscv-64-linux"
    f.compile_to_object(str(tmp_path / "f.o"), [], "f")
    assert (tmp_path / "f.o").read_bytes()[18] == 243  # the machine that an ELF file is for
    assert [*f.realize([2])] == [0, 1]
    plain = hl.Target(host.os, host.arch, host.bits)
    monkeypatch.setenv("HL_JIT_TARGET", str(plain))
    assert hl.get_jit_target_from_environment() == plain.with_feature(hl.TargetFeature.JIT)
    monkeypatch.setenv("HL_JIT_TARGET", "riscv-64-linux")
    with pytest.raises(TargetError, match="must match the host"):
        hl.get_jit_target_from_environment()


def test_a_runtime_is_written_by_kind(tmp_path: Path) -> None:
    files = {hl.OutputFileType.object: str(tmp_path / "r.o")}
    assert hl.compile_standalone_runtime(files, hl.Target("x86-64-linux")) == files
    assert (tmp_path / "r.o").read_bytes()[:4] == b"\x7fELF"


def test_an_expression_may_ask_for_the_target() -> None:
    here, x, f = hl.get_host_target(), hl.Var("x"), hl.Func("f")
    wide = hl.select(hl.target_has_feature(hl.TargetFeature.SVE2), 1, 0) + hl.target_natural_vector_size(hl.UInt(8))
    f[x] = hl.select(hl.target_arch_is(here.arch) & hl.target_os_is(here.os), hl.target_bits(), 0) * 1000 + wide
    assert list(f.realize([2])) == [64000 + here.natural_vector_size(hl.UInt(8)) + here.has_feature(
        hl.TargetFeature.SVE2
    )] * 2  # fmt: skip
    with pytest.raises(TypeMismatch, match="no TargetArch"):
        hl.target_arch_is("x86")


def test_the_answer_of_this_machine_is_compiled_for_no_other(tmp_path: Path) -> None:
    here, x, f, g = hl.get_host_target(), hl.Var("x"), hl.Func("f"), hl.Func("g")
    f[x] = hl.select(hl.target_arch_is(here.arch), x, -x)
    f.compute_root()
    g[x] = f[x] + hl.i32(hl.target_bits())
    name = str(tmp_path / "g.o")
    for target in (hl.Target(), hl.Target("host"), here.without_feature(hl.TargetFeature.FMA)):
        g.compile_to_object(name, [], "g", target)
    other = "riscv-64-linux"
    with pytest.raises(TargetError, match=r"target_arch_is\(.*\) is True .* it is False for riscv-64-linux"):
        g.compile_to_object(name, [], "g", hl.Target(other))
