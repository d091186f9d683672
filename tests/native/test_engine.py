"""The engine: lifetime of code, several threads, and a machine whose vectors are used as they are asked for."""

from __future__ import annotations

import ctypes
import gc
import re
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from rfactor.errors import Error
from rfactor.native.engine import Linkable, _machine, _optimized, compile_module, host

ADD = "define i32 @add(i32 %x) {{ %y = add i32 %x, {} ret i32 %y }}"


def add(constant: int) -> int:
    code = compile_module(ADD.format(constant), ["add"])
    function = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32)(code.addresses["add"])
    return int(function(1))


def test_code_outlives_what_made_it_and_machines_are_not_shared() -> None:
    codes = [compile_module(ADD.format(k), ["add"]) for k in range(20)]
    del codes[::2]
    gc.collect()
    for k, code in zip(range(1, 20, 2), codes, strict=True):
        assert ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32)(code.addresses["add"])(100) == 100 + k
        assert f", {k}" in code.llvm_ir()
        assert "add:" in code.assembly()


def test_threads_compile_at_once() -> None:
    results: list[int] = []
    threads = [
        threading.Thread(target=lambda k=k: results.extend(add(100 * k + j) for j in range(10))) for k in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == sorted(1 + 100 * k + j for k in range(4) for j in range(10))


def test_a_text_that_is_no_module_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="expected"):
        compile_module("define nonsense", [])


@pytest.mark.skipif(host().vector_bits < 512, reason="no 512-bit vectors here")
def test_vectors_of_512_bits_stay_whole() -> None:
    text = """
    define void @f(ptr %p, <16 x i32> %x) {
      %y = load <16 x i32>, ptr %p, align 4
      %z = add <16 x i32> %x, %y
      store <16 x i32> %z, ptr %p, align 4
      ret void
    }"""
    assembly = compile_module(text, ["f"]).assembly()
    assert re.search(r"vpaddd\s.*%zmm", assembly)
    assert "%ymm" not in assembly


@pytest.mark.skipif("sse4a" not in host().features, reason="no SSE4a here")
def test_no_instruction_is_between_those_of_avx_that_has_none_of_their_encoding() -> None:
    text = """
    define void @f(ptr %p, <16 x i8> %x) {
      %y = load <16 x i8>, ptr %p, align 1
      %z = shufflevector <16 x i8> %x, <16 x i8> %y, <16 x i32> <i32 16, i32 17, i32 18, i32 3, i32 4, i32 5, i32 6,
        i32 7, i32 undef, i32 undef, i32 undef, i32 undef, i32 undef, i32 undef, i32 undef, i32 undef>
      store <16 x i8> %z, ptr %p, align 1
      ret void
    }"""
    assembly = compile_module(text, ["f"]).assembly()
    assert "%xmm" in assembly
    assert not re.search(r"\b(insertq|extrq|movnts[sd])\b", assembly)


def test_f16_is_refused_where_the_machine_does_not_convert_it() -> None:
    text = "define half @f(float %x) { %y = fptrunc float %x to half ret half %y }"
    with pytest.raises(Error, match="f16 needs a processor that converts it"):
        compile_module(text, ["f"], replace(host(), converts_f16=False))
    if host().converts_f16:
        assert compile_module(text, ["f"]).addresses["f"]


def test_code_for_files_calls_libm_by_its_names_and_nothing_of_this_process():
    text = (
        'declare double @"rfactor.NAME.f64"(double) nounwind\n'
        'define double @f(double %x) {\n  %y = call double @"rfactor.NAME.f64"(double %x)\n  ret double %y\n}\n'
    )
    made = Linkable(text.replace("NAME", "exp"), host())
    assert "@exp(double" in made.llvm_ir()
    assert "rfactor" not in made.llvm_ir()
    assert made.assembly() == made.assembly()
    assert made.object() == made.object()
    with pytest.raises(NotImplementedError, match=r"rfactor\.unknown\.f64, a function of this process"):
        Linkable(text.replace("NAME", "unknown"), host())


CLAMP = """
define i32 @clamp(ptr noalias %p, ptr noalias %q) {
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%j, %loop]
  %x = phi i32 [0, %entry], [%z, %loop]
  %a = getelementptr i32, ptr %p, i64 %i
  %b = getelementptr i32, ptr %q, i64 %i
  %least = load i32, ptr %a
  %most = load i32, ptr %b
  %y = call i32 @llvm.smax.i32(i32 %x, i32 %least)
  %z = call i32 @llvm.smin.i32(i32 %y, i32 %most)
  %j = add i64 %i, 1
  %done = icmp eq i64 %j, 4096
  br i1 %done, label %end, label %loop
end:
  ret i32 %z
}
declare i32 @llvm.smax.i32(i32, i32)
declare i32 @llvm.smin.i32(i32, i32)
"""


@pytest.mark.skipif(not host().triple.startswith("x86_64"), reason="conditional moves of x86")
def test_choices_are_no_branches_and_others_keep_their_options() -> None:
    def moves(assembly: str) -> int:
        return len(re.findall(r"\tcmov", assembly))

    def of_others() -> int:
        machine = _machine(host())
        with _optimized(CLAMP, host(), machine) as module:
            return moves(str(machine.emit_assembly(module)))

    before = of_others()
    assert moves(compile_module(CLAMP, ["clamp"]).assembly()) >= 2
    assert moves(Linkable(CLAMP, host()).assembly()) >= 2
    assert of_others() == before < 2


SUM_OF_A_COLUMN = """
define i32 @column(ptr noalias %p, i64 %stride) {
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%j, %loop]
  %sum = phi i32 [0, %entry], [%more, %loop]
  %at = mul i64 %i, %stride
  %a = getelementptr i32, ptr %p, i64 %at
  %x = load i32, ptr %a
  %more = xor i32 %sum, %x
  %j = add nsw i64 %i, 1
  %done = icmp eq i64 %j, 4096
  br i1 %done, label %end, label %loop
end:
  ret i32 %more
}
"""


@pytest.mark.skipif(not host().triple.startswith("x86_64"), reason="an option of x86")
def test_pointers_that_move_are_looked_for_where_asked_and_others_keep_their_options() -> None:
    plain = replace(host(), level=1)

    def of_others() -> bool:
        machine = _machine(plain)
        with _optimized(SUM_OF_A_COLUMN, plain, machine) as module:
            return "imul" in str(machine.emit_assembly(module))

    assert "imul" not in compile_module(SUM_OF_A_COLUMN, ["column"], plain).assembly()
    assert "imul" in compile_module(SUM_OF_A_COLUMN, ["column"], replace(plain, pointers=False)).assembly()
    assert "imul" in Linkable(SUM_OF_A_COLUMN, replace(plain, pointers=False)).assembly()
    assert not of_others()


@pytest.mark.skipif(not host().triple.startswith("x86_64"), reason="an option of x86")
def test_an_interrupt_between_two_options_leaves_others_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []

    def interrupted(name: str, option: str) -> None:
        said.append(option)
        if len(said) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr("llvmlite.binding.set_option", interrupted)
    with pytest.raises(KeyboardInterrupt):
        compile_module(ADD.format(1), ["add"])
    assert said[2:] == ["-x86-cmov-converter=true", "-disable-lsr=false"]


MAKER = "create_lljit_compiler" if host().near else "create_mcjit_compiler"


@pytest.mark.parametrize("moment", ["create_pass_builder", MAKER, "set_option"])
def test_what_an_interrupt_leaves_is_collected_in_any_order(moment: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error and all that was being made are one cycle: a module after its context, or an engine, was a crash."""

    def interrupted(*given: object, **named: object) -> None:
        raise KeyboardInterrupt

    def interrupt() -> None:
        held: list[BaseException] = []
        try:
            compile_module(ADD.format(1), ["add"])
        except KeyboardInterrupt as error:
            held.append(error)

    assert add(1) == 2
    monkeypatch.setattr(f"llvmlite.binding.{moment}", interrupted)
    for _ in range(20):
        interrupt()
        gc.collect()
    monkeypatch.undo()
    assert add(2) == 3


TABLE = """
define i32 @of(i32 %i) {
  %at = and i32 %i, 7
  %value = extractelement <8 x i32> <i32 3, i32 1, i32 4, i32 1, i32 5, i32 9, i32 2, i32 6>, i32 %at
  ret i32 %value
}
"""


@pytest.mark.skipif(not host().near, reason="code that lies far from its constants")
def test_code_in_memory_lies_near_its_constants() -> None:
    code = compile_module(TABLE, ["of"])
    of = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32)(code.addresses["of"])
    assert [of(i) for i in range(8)] == [3, 1, 4, 1, 5, 9, 2, 6]
    assert "(%rip)" in code.assembly()
    assert "GOTOFF" not in code.assembly()


def test_code_in_memory_goes_with_who_holds_it_and_stays_where_it_is_kept() -> None:
    def pages() -> int:
        return Path("/proc/self/maps").read_text().count("\n")

    if not Path("/proc/self/maps").exists():
        pytest.skip("needs /proc")
    compile_module(TABLE, ["of"])
    gc.collect()
    before = pages()
    held = [compile_module(TABLE, ["of"]) for _ in range(64)]
    assert pages() > before
    held.clear()
    gc.collect()
    assert pages() <= before + 4
    kept = compile_module(TABLE, ["of"]).keep()
    of = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32)(kept.addresses["of"])
    del kept
    gc.collect()
    assert of(5) == 9
