"""What pipelines are written out as, and that C programs link and run it."""

from __future__ import annotations

import importlib.util
import re
import shutil
import struct
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest

import rfactor as hl
from rfactor.compiler.codegen.chooser import chooser
from rfactor.compiler.language.target import named_machine
from rfactor.errors import AlgorithmError, TargetError
from rfactor.native.engine import Linkable

x, y = hl.Var("x"), hl.Var("y")
CC = shutil.which("cc") or ""
needs_cc = pytest.mark.skipif(not CC, reason="no C compiler")


def scaled() -> tuple[hl.Func, list[hl.ImageParam | hl.Param]]:
    """An image looked up in a table, times a parameter, plus a value of libm."""
    image, factor = hl.ImageParam(hl.UInt(8), 2, "image"), hl.Param(hl.Int(32), "factor")
    table = hl.Buffer(np.arange(256, dtype=np.int32)[::-1] * 3, name="table")
    f = hl.Func("scaled")
    f[x, y] = table[hl.i32(image[x + 1, y])] * factor + hl.i32(hl.exp(hl.f32(x)))
    f.vectorize(x, 8).parallel(y)
    return f, [image, factor]


MAIN = """
#include "scaled.h"
#include <stdio.h>
#include <string.h>

int main(void) {
    uint8_t in[5 * 9];
    int32_t out[6 * 8];
    memset(out, 0, sizeof out);
    for (int i = 0; i < 45; i++) in[i] = (uint8_t)(i * 5);
    rfactor_dimension from[] = {{0, 9, 1}, {0, 5, 9}}, to[] = {{0, 7, 1}, {1, 4, 8}};
    rfactor_buffer image = {in, from, 2, rfactor_uint8}, result = {out, to, 2, rfactor_int32};
    int status = scaled(&image, -7, &result);
    printf("%d %d\\n", status, rfactor_threads());
    for (int i = 0; i < 48; i++) printf("%d ", out[i]);
    return status;
}
"""


def built(folder: Path, main: str, *options: str) -> list[str]:
    """The lines that a C program prints; it must compile without a warning."""
    (folder / "main.c").write_text(main)
    program = str(folder / "main")
    command = [CC, "-Wall", "-Wextra", "-Werror", str(folder / "main.c"), *options, "-lm", "-o", program]
    subprocess.run(command, check=True, cwd=folder)
    return subprocess.run([program], check=True, capture_output=True, text=True, timeout=60).stdout.split("\n")


def expected() -> list[int]:
    """What `scaled` leaves in an array of 6 rows of 8, of which it computes 7 columns of rows 1 to 4."""
    image = (np.arange(45) * 5 % 256).reshape(5, 9)
    rows = (255 - image[1:5, 1:8]) * 3 * -7 + np.exp(np.arange(7, dtype=np.float32)).astype(np.int32)
    out = np.zeros((6, 8), np.int64)
    out[:4, :7] = rows
    return [int(value) for value in out.ravel()]


@needs_cc
@pytest.mark.parametrize("kind", ["object", "library"])
def test_a_c_program_links_and_runs_a_pipeline(tmp_path: Path, kind: str) -> None:
    f, arguments = scaled()
    prefix = str(tmp_path / "scaled")
    if kind == "object":
        f.compile_to_file(prefix, arguments, "scaled")
    else:
        f.compile_to_static_library(prefix, arguments, "scaled")
    head, values, *_ = built(tmp_path, MAIN, prefix + (".o" if kind == "object" else ".a"))
    assert head == "0 1"
    assert [int(value) for value in values.split()] == expected()


@needs_cc
def test_a_c_program_runs_parallel_loops_by_openmp(tmp_path: Path) -> None:
    f, arguments = scaled()
    f.compile_to_file(str(tmp_path / "scaled"), arguments, "scaled")
    try:
        main = "#define RFACTOR_OPENMP\n" + MAIN.replace("int status", "omp_set_num_threads(3); int status")
        head, values, *_ = built(tmp_path, main, str(tmp_path / "scaled.o"), "-fopenmp")
    except subprocess.CalledProcessError:
        if subprocess.run([CC, "-fopenmp", "-x", "c", "-E", "/dev/null"], capture_output=True).returncode:
            pytest.skip("no OpenMP")
        raise
    assert head == "0 3"
    assert [int(value) for value in values.split()] == expected()


@needs_cc
def test_a_c_program_is_told_what_is_wrong(tmp_path: Path) -> None:
    f, arguments = scaled()
    f.compile_to_file(str(tmp_path / "scaled"), arguments, "scaled")
    cases = {
        "image.type = rfactor_int8": "image must hold u8, whose number is 264",
        "image.dimensions = 3": "image must have 2 dimensions",
        "image.data = 0": "image has elements but its data is null",
        "image.dim = 0": "image has a null dim",
        "from[1].extent = -1": "image has a negative extent in dimension 1",
        "from[1].min = 2147483647": "image ends beyond 2^31 in dimension 1",
        "from[0].extent = 7": "input image is read from scaled.min.0 + 1 to ",
        "from[0].stride = 2": "input image has stride image.stride.0 in dimension 0, where 1 is expected",
        "from[1].stride = INT64_MAX / 2 + 1": "image spans too much memory in dimension 1: look at its stride",
        "to[1].stride = INT64_MIN": "scaled spans too much memory in dimension 1: look at its stride",
        "to[1].stride = 0": "scaled is an output and some of its elements share memory with each other",
        "to[1].stride = -6": "scaled is an output and some of its elements share memory with each other",
        "to[1].extent = 1; to[1].stride = 0": "done",
        "to[1].extent = 1; to[1].stride = INT64_MIN": "done",
        "result.data = (char *)out + 1": "scaled must be aligned to its elements of 4 bytes",
        "to[1].extent = 5": "input image is read from scaled.min.1 to ",
    }
    start = MAIN.index("    int status")
    calls = "".join(
        f"""{MAIN[MAIN.index("    uint8_t in") : start].replace("    uint8_t", "{ uint8_t", 1)}
        {change}; puts(scaled_error(scaled(&image, -7, &result)));
        for (int i = {"7" if said == "done" else "0"}; i < 48; i++) if (out[i]) puts("written"); }}"""
        for change, said in cases.items()
    )
    more = (
        "puts(scaled_error(scaled(0, 1, 0))); puts(scaled_error(0)); puts(scaled_error(-1)); puts(scaled_error(999));"
    )
    main = MAIN[: MAIN.index("    uint8_t in")] + calls + more + "return 0; }"
    lines = built(tmp_path, main, str(tmp_path / "scaled.o"))
    for line, said in zip(lines, cases.values(), strict=False):
        assert line.startswith(said)
    assert lines[len(cases) : -1] == [
        "image is null", "done", "no memory for an intermediate", "no error has this number"
    ]  # fmt: skip


@needs_cc
def test_the_program_of_the_documentation_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (Path(__file__).parents[2] / "docs" / "aot.md").read_text()
    python, c = (text.split(f"```{language}\n")[1].split("```")[0] for language in ("python", "c"))
    monkeypatch.chdir(tmp_path)
    exec(python, {})
    c = c.replace("#define RFACTOR_OPENMP", "").replace("/* in one file", "/* in one file")
    checked = c.replace("    int status", "    in[7] = 9; in[480 * 640 - 1] = 201;\n    int status")
    checked = checked.replace(
        "    return status", '    printf("%d %d\\n", out[7], out[480 * 640 - 1]);\n    return status'
    )
    assert built(tmp_path, checked, "scaled.o") == ["4 100", ""]


@needs_cc
@pytest.mark.parametrize("kind", ["object", "c_source"])
def test_dimension_0_has_the_stride_that_was_promised_or_any(tmp_path: Path, kind: str) -> None:
    image, c = hl.ImageParam(hl.UInt(8), 3, "image"), hl.Var("c")
    image.dim(0).set_stride(3)
    image.dim(2).set_stride(1).set_bounds(0, 3)
    f = hl.Func("f")
    f[x, y, c] = 255 - image[x, y, c]
    f.output_buffer().dim(0).set_stride(hl.Expr())
    f.vectorize(x, 4)
    target = {hl.OutputFileType.c_header: str(tmp_path / "f.h")}
    linked = str(tmp_path / ("f.o" if kind == "object" else "f.c"))
    f.compile_to({**target, hl.OutputFileType[kind]: linked}, [image], "f")
    main = """
    #include "f.h"
    #include <stdio.h>
    int main(void) {
        uint8_t in[5 * 2 * 3], out[5 * 2 * 3];
        for (int i = 0; i < 30; i++) in[i] = (uint8_t)i;
        rfactor_dimension from[] = {{0, 5, 3}, {0, 2, 15}, {0, 3, 1}}, to[] = {{0, 5, -2}, {0, 2, 15}, {0, 3, 5}};
        rfactor_buffer image = {in, from, 3, rfactor_uint8}, result = {out + 8, to, 3, rfactor_uint8};
        to[2].extent = 1; to[1].stride = 10;
        puts(f_error(f(&image, &result)));
        for (int y = 0; y < 2; y++) for (int x = 0; x < 5; x++) printf("%d ", out[8 - 2*x + 10*y]);
        from[0].stride = 1;
        puts(f_error(f(&image, &result)));
        return 0;
    }"""
    lines = built(tmp_path, main, linked)
    assert lines[0] == "done"
    assert lines[1].startswith(" ".join(str(255 - 15 * y_ - 3 * x_) for y_ in range(2) for x_ in range(5)))
    assert "in dimension 0, where" in lines[1]
    assert "was promised" in lines[1]


@needs_cc
@pytest.mark.parametrize("kind", ["object", "c_source"])
def test_the_alignment_that_was_said_is_checked_on_entry(tmp_path: Path, kind: str) -> None:
    image, f = hl.ImageParam(hl.UInt(8), 1, "image"), hl.Func("f")
    image.set_host_alignment(64)
    f[x] = image[x] + 1
    linked = str(tmp_path / ("f.o" if kind == "object" else "f.c"))
    f.compile_to({hl.OutputFileType.c_header: str(tmp_path / "f.h"), hl.OutputFileType[kind]: linked}, [image], "f")
    main = """
    #include "f.h"
    #include <stdio.h>
    #include <string.h>
    int main(void) {
        _Alignas(64) uint8_t in[128];
        uint8_t out[8];
        memset(in, 0, sizeof in);
        rfactor_dimension box[] = {{0, 8, 1}};
        rfactor_buffer image = {in, box, 1, rfactor_uint8}, result = {out, box, 1, rfactor_uint8};
        puts(f_error(f(&image, &result)));
        image.data = in + 16;
        puts(f_error(f(&image, &result)));
        return 0;
    }"""
    lines = built(tmp_path, main, linked)
    assert lines[0] == "done"
    assert lines[1].startswith("The host pointer of image is not aligned to a 64 bytes boundary")


SCALARS = {
    "uint8": (hl.UInt(8), "uint8_t", "250"),
    "int8": (hl.Int(8), "int8_t", "-100"),
    "uint16": (hl.UInt(16), "uint16_t", "65000"),
    "int16": (hl.Int(16), "int16_t", "-30000"),
    "uint32": (hl.UInt(32), "uint32_t", "4000000000u"),
    "int32": (hl.Int(32), "int32_t", "-2000000000"),
    "uint64": (hl.UInt(64), "uint64_t", "18000000000000000000u"),
    "int64": (hl.Int(64), "int64_t", "-9000000000000000000"),
    "float32": (hl.Float(32), "float", "0.1f"),
    "float64": (hl.Float(64), "double", "0.1"),
    "bool": (hl.Bool(), "bool", "true"),
}
"""By the name in a buffer: the type, the type in C, and a value."""


@needs_cc
def test_scalars_of_every_type_and_outputs_of_several_components(tmp_path: Path) -> None:
    parameters = [hl.Param(type_, f"p_{name}") for name, (type_, _, _) in SCALARS.items()]
    f = hl.Func("f")
    f[x] = tuple(hl.select(x >= 0, parameter, parameter) for parameter in parameters)
    f.compile_to_file(str(tmp_path / "f"), parameters, "f")
    arrays = "".join(
        f"{kind} v_{name}[2]; rfactor_buffer b_{name} = {{v_{name}, d, 1, rfactor_{name}}};\n"
        for name, (_, kind, _) in SCALARS.items()
    )
    call = ", ".join([value for _, _, value in SCALARS.values()] + [f"&b_{name}" for name in SCALARS])
    checks = "".join(
        f'if (v_{name}[1] != ({kind}){value}) puts("{name}");\n' for name, (_, kind, value) in SCALARS.items()
    )
    main = f"""
    #include "f.h"
    #include <stdio.h>
    int main(void) {{
        rfactor_dimension d[] = {{{{0, 2, 1}}}}, other[] = {{{{1, 2, 1}}}};
        {arrays}
        puts(f_error(f({call})));
        {checks}
        b_int8.dim = other;
        puts(f_error(f({call})));
        return 0;
    }}"""
    lines = built(tmp_path, main, str(tmp_path / "f.o"))
    assert lines == ["done", "f.1 and f.0 must have one box; they differ in dimension 0", ""]


MACHINES = {
    "x86-64-linux": 62, "x86-64-linux-avx2": 62, "arm-64-linux": 183, "arm-64-android": 183, "arm-64-linux-sve2": 183,
    "riscv-64-linux": 243, "powerpc-64-linux": 21,
}  # fmt: skip
"""The machine's number in the header of an ELF file."""


@pytest.mark.parametrize("name", MACHINES)
def test_objects_are_for_the_machine_that_was_named(tmp_path: Path, name: str) -> None:
    f, arguments = scaled()
    f.compile_to_object(str(tmp_path / "f.o"), arguments, hl.Target(name))
    start = (tmp_path / "f.o").read_bytes()[:64]
    assert start[:6] == b"\x7fELF\x02\x01"
    assert struct.unpack("<HH", start[16:20]) == (1, MACHINES[name])


def test_objects_for_other_systems(tmp_path: Path) -> None:
    f, arguments = scaled()
    f.compile_to_object(str(tmp_path / "f.o"), arguments, hl.Target("arm-64-osx"))
    assert struct.unpack("<II", (tmp_path / "f.o").read_bytes()[:8]) == (0xFEEDFACF, 0x0100000C)
    f.compile_to_object(str(tmp_path / "f.o"), arguments, hl.Target("x86-64-windows"))
    assert struct.unpack("<H", (tmp_path / "f.o").read_bytes()[:2]) == (0x8664,)
    with pytest.raises(NotImplementedError, match="compile_to_static_library for arm-64-osx"):
        f.compile_to_static_library(str(tmp_path / "f"), arguments, "f", hl.Target("arm-64-osx"))
    with pytest.raises(TargetError, match="no code is generated for powerpc-32-linux"):
        f.compile_to_object(str(tmp_path / "f.o"), arguments, "f", hl.Target("powerpc-32-linux"))
    f.compile_to_file(str(tmp_path / "g"), arguments, "f", hl.Target("x86-64-windows"))
    assert sorted(path.name for path in tmp_path.glob("g.*")) == ["g.h", "g.obj"]


@pytest.mark.parametrize(
    ("name", "start", "where"),
    [
        ("x86-32-linux", b"\x7fELF\x01\x01", struct.pack("<HH", 1, 3)),
        ("arm-32-android", b"\x7fELF\x01\x01", struct.pack("<HH", 1, 40)),
        ("riscv-32-noos", b"\x7fELF\x01\x01", struct.pack("<HH", 1, 243)),
        ("arm-32-ios-armv7s", struct.pack("<IIII", 0xFEEDFACE, 12, 11, 1), b""),
        ("x86-32-windows", struct.pack("<H", 0x14C), b""),
        ("wasm-32-wasmrt", b"\0asm\x01\0\0\0", b""),
        ("wasm-32-wasmrt-wasm_simd128-wasm_threads", b"\0asm\x01\0\0\0", b""),
    ],
)
def test_objects_for_machines_of_32_bits(tmp_path: Path, name: str, start: bytes, where: bytes) -> None:
    f, arguments = scaled()
    f.compile_to_object(str(tmp_path / "f.o"), arguments, "f", hl.Target(name))
    content = (tmp_path / "f.o").read_bytes()
    assert content.startswith(start)
    assert content[16 : 16 + len(where)] == where


def test_memory_of_32_bits_is_asked_for_with_sizes_of_32_bits(tmp_path: Path) -> None:
    x, f, g = hl.Var("x"), hl.Func("f"), hl.Func("g")
    g[x] = hl.f32(x) * 2.5
    f[x] = g[x] + g[x * 7]
    g.compute_root().vectorize(x, 4)
    f.compile_to_llvm_assembly(str(tmp_path / "f.ll"), [], "f", hl.Target("arm-32-linux"))
    text = (tmp_path / "f.ll").read_text()
    assert "@malloc(i32" in text
    assert "@malloc(i64" not in text
    assert re.search(r"icmp \w+ (i32 %[.\w]+, 1073741792|i64 %[.\w]+, 4294967296)", text)  # fewer bytes than 2^32
    f.compile_to_assembly(str(tmp_path / "f.s"), [], "f", hl.Target("arm-32-linux"))
    assert not re.search(r"\b(vadd|vmul)\.f32\s+[qd]\d", (tmp_path / "f.s").read_text())  # not IEEE 754's


def test_half_floats_need_a_machine_that_converts_them(tmp_path: Path) -> None:
    f = hl.Func("f")
    f[x] = hl.f16(x) / hl.f16(3)
    f.compile_to_object(str(tmp_path / "f.o"), [], "f", hl.Target("x86-64-linux-f16c"))
    with pytest.raises(hl.Error, match="f16 needs a processor that converts it"):
        f.compile_to_object(str(tmp_path / "f.o"), [], "f", hl.Target("x86-64-linux"))


@pytest.mark.parametrize(
    "target", ["x86-64-linux", "x86-64-linux-avx512_zen4", "arm-64-linux", "arm-32-linux", "riscv-64-linux"]
)
def test_brain_floats_need_no_instructions_and_no_routines(target: str, tmp_path: Path) -> None:
    image, f = hl.ImageParam(hl.BFloat(16), 1, "im"), hl.Func("f")
    f[x] = hl.cast(hl.BFloat(16), hl.f64(image[x]) * hl.f64(1.1)) / image[x + 1] + hl.cast(
        hl.BFloat(16), hl.i64(x) << 40
    )
    f.vectorize(x, 8)
    f.compile_to_assembly(str(tmp_path / "f.s"), [image], "f", hl.Target(target))
    assert not re.search(r"cvt\w*bf16|bfcvt|__(trunc|extend)", (tmp_path / "f.s").read_text())


def test_several_files_at_once(tmp_path: Path) -> None:
    f, arguments = scaled()
    kinds = [
        "assembly", "bitcode", "c_header", "llvm_assembly", "object", "static_library", "stmt", "stmt_html",
        "conceptual_stmt", "conceptual_stmt_html",
    ]  # fmt: skip
    files = {hl.OutputFileType[kind]: str(tmp_path / kind) for kind in kinds}
    hl.Pipeline(f).compile_to(files, arguments, "scaled")
    content = {kind: (tmp_path / kind).read_bytes() for kind in kinds}
    assert content["bitcode"].startswith(b"BC\xc0\xde")
    assert "scaled" in {g.name for g in llvm.parse_bitcode(content["bitcode"]).functions}
    assert "scaled" in {g.name for g in llvm.parse_assembly(content["llvm_assembly"].decode()).functions}
    assert b"scaled:" in content["assembly"]
    assert content["object"] in content["static_library"]
    assert b"int32_t scaled(const rfactor_buffer *a0, int32_t a1, rfactor_buffer *a2);" in content["c_header"]
    assert content["stmt"].decode() == f.lowered()
    assert content["conceptual_stmt"].startswith(b"produce scaled:\n")
    for kind in ("stmt_html", "conceptual_stmt_html"):
        text = content[kind].decode()
        assert text.startswith("<!DOCTYPE html>")
        assert text.count("<details open>") == text.count("</details>") > 2
        assert "parallel for</b> scaled.s0.y" in text


def test_each_kind_has_a_method_of_its_own(tmp_path: Path) -> None:
    f, arguments = scaled()
    for method in ("object", "header", "bitcode", "llvm_assembly", "assembly", "lowered_stmt", "conceptual_stmt"):
        file = tmp_path / method
        getattr(f, f"compile_to_{method}")(str(file), arguments)
        first = file.read_bytes()
        getattr(hl.Pipeline([f]), f"compile_to_{method}")(str(file), arguments, target=hl.Target("host"))
        assert file.read_bytes() == first
    f.compile_to_lowered_stmt(str(tmp_path / "page"), arguments, hl.StmtOutputFormat.HTML)
    assert (tmp_path / "page").read_text().startswith("<!DOCTYPE html>")


def test_bad_arguments_are_refused_and_leave_no_file(tmp_path: Path) -> None:
    f, arguments = scaled()
    file = tmp_path / "f.o"
    with pytest.raises(AlgorithmError, match=r"scaled needs factor, which the list of arguments lacks: it has image"):
        f.compile_to_object(str(file), arguments[:1])
    with pytest.raises(AlgorithmError, match="has one twice"):
        f.compile_to_object(str(file), [*arguments, arguments[0]])
    with pytest.raises(AlgorithmError, match="'two words' is no name for a function in C"):
        f.compile_to_object(str(file), arguments, "two words")
    with pytest.raises(NotImplementedError, match="compile_to registration is not there"):
        f.compile_to({hl.OutputFileType.object: str(file), hl.OutputFileType.registration: str(file)}, arguments, "f")
    assert not list(tmp_path.iterdir())


def test_arguments_are_inferred_by_name() -> None:
    f, _ = scaled()
    found = f.infer_arguments()
    assert [(a.name, a.kind, a.dimensions) for a in found] == [
        ("factor", hl.ArgumentKind.InputScalar, 0),
        ("image", hl.ArgumentKind.InputBuffer, 2),
    ]


def test_arguments_that_are_of_no_use_are_taken(tmp_path: Path) -> None:
    f, unused = hl.Func("f"), hl.ImageParam(hl.Float(64), 3, "unused")
    f[x] = x
    f.compile_to_header(str(tmp_path / "f.h"), [unused])
    assert "int32_t f(const rfactor_buffer *a0, rfactor_buffer *a1);" in (tmp_path / "f.h").read_text()
    f.compile_to_object(str(tmp_path / "f.o"), [unused])


def imported(folder: Path, f: hl.Func, arguments: list[Any], name: str) -> Any:
    """The Python module of a pipeline; its source compiles as C and as C++ without a warning."""
    source, thing = folder / f"{name}.c", folder / f"{name}.o"
    files = {hl.OutputFileType.object: str(thing), hl.OutputFileType.python_extension: str(source)}
    f.compile_to(files, arguments, name)
    include = sysconfig.get_paths()["include"]
    if not (Path(include) / "Python.h").exists():
        pytest.skip("no headers of Python")
    library = folder / f"{name}{sysconfig.get_config_var('EXT_SUFFIX')}"
    command = [CC, "-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers", "-shared", "-fPIC", f"-I{include}"]
    subprocess.run([*command, str(source), str(thing), "-lm", "-o", str(library)], check=True)
    if shutil.which("c++"):
        subprocess.run(["c++", "-x", "c++", "-fsyntax-only", f"-I{include}", str(source)], check=True)
    spec = importlib.util.spec_from_file_location(name, library)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(not CC, reason="no C compiler")
def test_a_python_extension_takes_brain_floats_as_integers_of_16_bits(tmp_path: Path) -> None:
    x, image, weight, f = (
        hl.Var("x"),
        hl.ImageParam(hl.BFloat(16), 1, "image"),
        hl.Param(hl.BFloat(16), "w"),
        hl.Func("f"),
    )
    f[x] = image[x] * weight
    module = imported(tmp_path, f, [image, weight], "weighted")
    given, out = np.array([0x3F80, 0x4000, 0xC040], np.uint16), np.zeros(3, np.uint16)  # 1, 2, -3
    module.weighted(given, 1.1, out)
    assert out.tolist() == [0x3F8D, 0x400D, 0xC054]  # of 1.1015625; -3.3046875 lies in the middle
    with pytest.raises(RuntimeError, match="image must hold bf16"):
        module.weighted(given.view(np.int16), 1.1, out)


@pytest.mark.skipif(not CC, reason="no C compiler")
def test_a_python_extension_takes_arrays_and_numbers(tmp_path: Path) -> None:
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    image, offset, scale = hl.ImageParam(hl.UInt(8), 2, "image"), hl.Param(hl.Int(16), "offset"), hl.Param(hl.Float(32))
    flip = hl.Param(hl.Bool(), "flip")
    f = hl.Func("f")
    many = hl.Param(hl.UInt(64), "many")
    value = hl.select(flip, hl.i32(image[y, x]), hl.i32(image[x, y])) + offset
    f[x, y, c] = hl.f32(value) * scale + hl.f32(c) + hl.f32(many >> 60)
    f.parallel(c)
    module = imported(tmp_path, f, [image, offset, scale, flip, many], "brighter")
    given = np.arange(25, dtype=np.uint8).reshape(5, 5)
    planes = np.arange(2)[:, None, None]
    out = np.zeros((2, 5, 5), np.float32)
    assert module.brighter(given, -3, 0.5, False, 0, out) is None
    assert np.array_equal(out, (given.astype(np.int32) - 3) * np.float32(0.5) + planes)
    module.brighter(given, np.int16(0), np.float64(1), 0, np.uint64(1 << 63), out)
    assert np.array_equal(out, given + planes + 8.0)
    other = np.zeros((5, 5, 2), np.float32, order="F")  # the first axis is x
    module.brighter(np.asfortranarray(given), offset=7, flip=True, many=0, f=other, **{scale.name(): 1.0})
    assert np.array_equal(other, (given.T.astype(np.int32) + 7)[..., None] + np.arange(2))
    for wrong, error, said in [
        ((given, 1 << 15, 0.5, False, 0, out), OverflowError, "offset: i16 holds -32768 to 32767"),
        ((given, 1, 0.5, False, -1, out), OverflowError, "negative"),
        ((given, "a", 0.5, False, 0, out), TypeError, "int"),
        ((given[0], 1, 0.5, False, 0, out), ValueError, "image: Expected 2 dimensions, got 1"),
        ((given[:, ::2], 1, 0.5, False, 0, out), ValueError, "neither C's nor Fortran's"),
        ((given.astype(np.int8), 1, 0.5, False, 0, out), RuntimeError, "image must hold u8"),
        ((given[:4], 1, 0.5, False, 0, out), RuntimeError, "image is read"),
        ((given, 1, 0.5, False, 0), TypeError, "argument"),
    ]:
        with pytest.raises(error, match=said):
            module.brighter(*wrong)
    out.flags.writeable = False
    with pytest.raises((ValueError, BufferError), match=r"writ|read-only"):
        module.brighter(given, 1, 0.5, False, 0, out)


HERE = str(hl.get_host_target()).split("-")[0]
needs_x86 = pytest.mark.skipif(HERE != "x86", reason="code for x86 runs here")
WIDE, PLAIN = hl.Target("x86-64-linux-avx2"), hl.Target("x86-64-linux-sse41")
NOT_THERE = hl.Target("x86-64-linux-fma4-avx512_zen5")  # no processor has both


def has(word: str) -> bool:
    return llvm.get_host_cpu_features().get(word, False)


@needs_cc
@needs_x86
@pytest.mark.parametrize("kind", ["objects", "library"])
def test_code_for_several_targets_chooses_when_it_runs(tmp_path: Path, kind: str) -> None:
    f, arguments = scaled()
    prefix = str(tmp_path / "scaled")
    if kind == "objects":
        f.compile_to_multitarget_object_files(prefix, arguments, [NOT_THERE, WIDE, PLAIN], ["never", "wide", "plain"])
        linked = [str(path) for path in tmp_path.glob("*.o")]
        assert {Path(path).name for path in linked} == {
            "scaled-never.o", "scaled-wide.o", "scaled-plain.o", "scaled_wrapper.o"
        }  # fmt: skip
    else:
        f.compile_to_multitarget_static_library(prefix, arguments, [NOT_THERE, PLAIN])
        linked = [prefix + ".a"]
    status, *rows = built(tmp_path, MAIN, *linked)
    assert status == "0 1"
    assert [int(value) for value in rows[0].split()] == expected()


CHOICES = """
#include <stdio.h>
int chosen(int a);
const char *chosen_error(int a);
int first(int a) { return a + 100; }
int second(int a) { return a + 200; }
int third(int a) { return a + 300; }
const char *third_error(int a) { return a == 7 ? "seven" : "other"; }
int main(void) { printf("%d %d %s", chosen(1), chosen(2), chosen_error(7)); return 0; }
"""


@needs_cc
@needs_x86
@pytest.mark.parametrize("words", [
    ["sse4.1"], ["avx"], ["avx2"], ["fma"], ["f16c"], ["fma4"], ["avxvnni"], ["avx512f"], ["avx512vl", "avx512dq"],
    ["avx512bf16"], ["avx512vnni", "avx512ifma"], ["avx512vbmi", "avx512cd"], ["fma4", "avx512f"], [],
])  # fmt: skip
def test_features_are_asked_of_the_processor(tmp_path: Path, words: list[str]) -> None:
    """LLVM's own question to the processor is the judge."""
    text = chooser("chosen", ["i32"], [
        ("first", frozenset(["fma4", "avx512f"])), ("second", frozenset(words)), ("third", frozenset())
    ])  # fmt: skip
    (tmp_path / "chosen.o").write_bytes(Linkable(text, named_machine(PLAIN)).object())
    there = 200 if all(has(word) for word in words) else 300
    assert built(tmp_path, CHOICES, str(tmp_path / "chosen.o")) == [f"{there + 1} {there + 2} seven"]


@needs_x86
def test_targets_that_cannot_be_chosen_from_are_refused(tmp_path: Path) -> None:
    f, arguments = scaled()
    prefix = str(tmp_path / "scaled")
    for targets, suffixes, says in [
        ([], [], "needs targets"),
        ([WIDE, hl.Target("arm-64-linux")], [], "one architecture"),
        ([hl.Target("arm-64-linux-sve"), hl.Target("arm-64-linux")], [], "on x86 alone"),
        ([WIDE, PLAIN], ["one"], "2 targets take as many suffixes"),
        ([WIDE, PLAIN], ["a", "a"], "a suffix of its own"),
        ([PLAIN, PLAIN], [], "a suffix of its own"),
    ]:
        with pytest.raises(TargetError, match=says):
            f.compile_to_multitarget_object_files(prefix, arguments, targets, suffixes)
    assert not list(tmp_path.iterdir())
    f.compile_to_multitarget_object_files(prefix, arguments, [PLAIN], [])
    assert {path.name for path in tmp_path.iterdir()} == {"scaled.o", "scaled.h"}
