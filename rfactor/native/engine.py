"""Machine code from LLVM IR: the target, the passes, code that lives as long as someone holds it, and code for files.

llvmlite is imported when the first target is asked for, never on `import rfactor`. It takes a lock of its own around
every call of LLVM, and what is compiled here shares no object, so that several threads may compile at once.
"""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from rfactor.errors import Error
from rfactor.forks import GATE


@dataclass(frozen=True)
class Target:
    """A machine that code is generated for, and how hard the passes try."""

    triple: str
    cpu: str
    features: str
    vector_bits: int
    """Width of the widest vector register that code should use."""
    converts_f16: bool = True
    """Whether it has instructions between f16 and f32."""
    level: int = 3
    """Strength of the passes: 0 runs none, nor any of the code generator's, 1 those that simplify each function by
    itself, 3 what `-O3` runs."""
    loop_vectorizer: bool = True
    slp_vectorizer: bool = True
    loop_unroller: bool = True
    loop_repeater: bool = False
    """Whether several iterations of a loop are made one, where only passes of level 1 run: those of 3 do anyway."""
    store_remover: bool = False
    """Whether stores that others follow are looked for, where only passes of level 1 run: those of others do anyway."""
    cases: bool = False
    """Whether loops that a schedule made vectors of are left alone, as others are as they were written."""
    pointers: bool = True
    """Whether the code generator looks for pointers that move with loops: it takes long (x86; others always do)."""
    abi: str = ""
    """How functions are called, where a target has several ways."""
    bits: int = 64
    """Width of an address."""

    @property
    def near(self) -> bool:
        """Whether code in memory lies near its constants, as code for files does: LLVM sees what a constant holds and
        keeps it in a register then. The linker that puts them side by side is known to work here."""
        return self.triple.startswith("x86_64") and "linux" in self.triple

    @property
    def masked_bits(self) -> int:
        """Lanes of so many bits or more are loaded and stored under a mask by one instruction; 128 where none are."""
        flags = self.features.split(",")
        if "+avx512bw" in flags:
            return 8
        return 32 if "+avx" in flags or "+avx2" in flags else 128

    def lanes(self, bits: int) -> int:
        """How many values of `bits` bits one vector register holds."""
        return max(1, self.vector_bits // bits)


def _vector_bits(features: dict[str, bool]) -> int:
    if features.get("avx512f") and features.get("avx512bw"):
        return 512
    if features.get("avx2"):
        return 256
    return 128


@cache
def host() -> Target:
    """The machine that this process runs on."""
    import llvmlite.binding as llvm

    _initialize()
    features = llvm.get_host_cpu_features()
    # 512-bit vectors are asked for where they pay; LLVM's model of a processor that shuns them must not split them.
    tuning = ["-prefer-256-bit"] if features.get("avx512f") else []
    # SSE4a has no VEX encoding: between instructions of AVX each of its own costs some hundred cycles.
    tuning += ["-sse4a"] if "sse4a" in features else []
    flags = ",".join([features.flatten(), *tuning])
    triple = llvm.get_process_triple()
    converts_f16 = bool(features.get("f16c")) or not triple.startswith("x86_64")
    return Target(triple, llvm.get_host_cpu_name(), flags, _vector_bits(features), converts_f16)


@cache
def _initialize() -> None:
    """Register the machine's code generator, and libm's routines under the names that generated code uses."""
    import llvmlite.binding as llvm

    from rfactor.native.emit import FUSED_SYMBOLS, LIBM_SYMBOLS
    from rfactor.native.output import PUTS
    from rfactor.native.printing import PUTS_HERE

    GATE.add(llvm.ffi.lib._lock)
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    library = ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None)
    for symbol, name in LIBM_SYMBOLS.items():
        address = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
        llvm.add_symbol(symbol, address)
    for name in FUSED_SYMBOLS:
        llvm.add_symbol(name, ctypes.cast(getattr(library, name), ctypes.c_void_p).value)
    llvm.add_symbol(PUTS, ctypes.cast(PUTS_HERE, ctypes.c_void_p).value)


@cache
def _initialize_all() -> None:
    """Register the code generators of all targets that LLVM was built with."""
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    llvm.initialize_native_asmparser()


def _machine(target: Target, in_memory: bool = True) -> Any:
    """A new machine: an execution engine takes the one it is given for its own.

    Raises `Error` where LLVM has no code generator for the target.
    """
    import llvmlite.binding as llvm

    if in_memory:
        _initialize()
    else:
        _initialize_all()
    try:
        chosen = llvm.Target.from_triple(target.triple)
    except RuntimeError as error:
        raise Error(f"there is no code generator for {target.triple}: {error}") from None
    level = 3 if target.level else 0
    model = "default" if not in_memory else "small" if target.near else "jitdefault"
    return chosen.create_target_machine(
        cpu=target.cpu, features=target.features, opt=level, reloc="pic", codemodel=model, jit=in_memory,
        abiname=target.abi,
    )  # fmt: skip


@contextmanager
def _generating(target: Target) -> Iterator[None]:
    """Around the generation of code, so that a choice takes the same time whatever data are.

    For x86 LLVM makes branches of conditional moves in loops: where data are at random, each that is predicted wrongly
    takes as long as a dozen choices. That is an option of the process, as is the search for pointers; others that use
    LLVM keep what they have.
    """
    import llvmlite.binding as llvm

    if not target.triple.startswith(("x86_64", "i386", "i486", "i586", "i686")):
        yield
        return
    with llvm.ffi.lib._lock:
        try:
            llvm.set_option("", "-x86-cmov-converter=false")
            llvm.set_option("", f"-disable-lsr={'false' if target.pointers else 'true'}")
            yield
        finally:
            llvm.set_option("", "-x86-cmov-converter=true")
            llvm.set_option("", "-disable-lsr=false")


@dataclass(eq=False)
class Code:
    """Machine code in memory. Its addresses hold for as long as this object lives."""

    text: str
    """The LLVM IR that it was made from."""
    target: Target
    addresses: dict[str, int]
    """The address of each exported function."""
    _engine: Any = field(repr=False)

    def keep(self) -> Code:
        """Have the code stay where it is until the process is gone: a thread may be in it when the interpreter ends."""
        self._engine.detach()
        return self

    def llvm_ir(self) -> str:
        """The LLVM IR after all passes."""
        with _optimized(self.text, self.target, _machine(self.target)) as module:
            return str(module)

    def assembly(self) -> str:
        """The code as the target's assembly."""
        machine = _machine(self.target)
        with _optimized(self.text, self.target, machine) as module, _generating(self.target):
            return str(machine.emit_assembly(module))


def compile_module(text: str, exports: Sequence[str], target: Target | None = None) -> Code:
    """Compile the LLVM IR `text`, keeping the functions `exports` visible.

    Raises `Error` for f16 on a machine that does not convert it; `RuntimeError` from LLVM if the text is no valid
    module, which would be a bug of the generator.
    """
    import llvmlite.binding as llvm

    target = host() if target is None else target
    _check_f16(text, target)
    machine = _machine(target)
    if target.near:
        return linked(object_of(text, target, machine), text, exports, target, machine)
    with _optimized(text, target, machine) as module:
        engine = llvm.create_mcjit_compiler(module, machine)
        try:
            with _generating(target):
                engine.finalize_object()
            addresses = {name: engine.get_function_address(name) for name in exports}
        finally:
            engine.remove_module(module)  # the code stays, and half the memory is free again
    return Code(text, target, addresses, engine)


def object_of(text: str, target: Target, machine: Any = None) -> bytes:
    """Make an object file of the LLVM IR `text`, for a target whose code in memory is linked."""
    _check_f16(text, target)
    machine = _machine(target) if machine is None else machine
    with _optimized(text, target, machine) as module, _generating(target):
        return bytes(machine.emit_object(module))


def linked(code: bytes, text: str, exports: Sequence[str], target: Target, machine: Any = None) -> Code:
    """Link an object file of the LLVM IR `text` in memory. Raise `RuntimeError` where it is none."""
    held = _linked(code, text, exports, _machine(target) if machine is None else machine)
    return Code(text, target, {name: held[name] for name in exports}, held)


def _linked(code: bytes, text: str, exports: Sequence[str], machine: Any) -> Any:
    """An object file of the LLVM IR `text`, in memory: sections side by side. What holds it knows the addresses."""
    import llvmlite.binding as llvm

    from rfactor.native.emit import LIBM_SYMBOLS

    library = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
    for name in exports:
        library.export_symbol(name)
    for symbol in LIBM_SYMBOLS:
        if symbol in text:
            library.import_symbol(symbol, llvm.address_of_symbol(symbol))
    return library.link(llvm.create_lljit_compiler(machine, use_jit_link=True), "code")


class Linkable:
    """Code to be linked into other programs: it calls libm by the names that linkers know.

    It is kept as bitcode and read for each form: to generate code changes a module, and what is asked for first does
    not show in the rest.
    """

    def __init__(self, text: str, target: Target) -> None:
        """Raises `Error` for a target that LLVM has no code generator for, or f16 on one that does not convert it;
        `NotImplementedError` for code that calls back into this process.
        """
        _check_f16(text, target)
        self._target = target
        self._machine = _machine(target, in_memory=False)
        text = _calling_libm(text)
        with _optimized(text if target.bits == 64 else _narrow(text), target, self._machine) as module:
            self._bitcode = bytes(module.as_bitcode())

    def llvm_ir(self) -> str:
        """The LLVM IR after all passes."""
        with _read(self._bitcode) as module:
            return str(module)

    def bitcode(self) -> bytes:
        """The same as bitcode."""
        return self._bitcode

    def assembly(self) -> str:
        """The target's assembly."""
        with _read(self._bitcode) as module, _generating(self._target):
            return str(self._machine.emit_assembly(module))

    def object(self) -> bytes:
        """An object file of the target's own format."""
        with _read(self._bitcode) as module, _generating(self._target):
            return bytes(self._machine.emit_object(module))


def _calling_libm(text: str) -> str:
    """LLVM IR with libm's own names. LLVM takes them for any functions: what it knows of them may round otherwise."""
    from rfactor.native.emit import LIBM_SYMBOLS

    for symbol, name in LIBM_SYMBOLS.items():
        if symbol in text:
            text = re.sub(rf'(?m)^(declare .*@"{re.escape(symbol)}".*)$', r"\1 nobuiltin", text)
            text = text.replace(f'@"{symbol}"', f'@"{name}"')
    left = re.search(r'(?m)^declare .*@"?(rfactor\.[\w.]+)', text)
    if left:
        raise NotImplementedError(f"{left[1]}, a function of this process, in code for files is not there yet")
    return text


_NARROW_MALLOC = """
declare noalias ptr @malloc(i32)
define internal noalias ptr @"rfactor.malloc"(i64 %size) {
    %fits = icmp ult i64 %size, 4294967296
    br i1 %fits, label %some, label %none
some:
    %narrow = trunc i64 %size to i32
    %room = call ptr @malloc(i32 %narrow)
    ret ptr %room
none:
    ret ptr null
}
"""


def _narrow(text: str) -> str:
    """LLVM IR for addresses of 32 bits: `malloc` takes as many, and there is no memory for sizes that need more."""
    narrow, found = re.subn(r'(?m)^declare .*@"malloc"\(i64.*$', "", text)
    return narrow.replace('@"malloc"', '@"rfactor.malloc"') + _NARROW_MALLOC if found else text


def _check_f16(text: str, target: Target) -> None:
    if not target.converts_f16 and re.search(r"\bhalf\b", text):
        raise Error(
            f"f16 needs a processor that converts it to f32 and back, and {target.cpu} does not: on x86, the feature "
            "f16c of the target says that it does"
        )


@contextmanager
def _read(code: str | bytes) -> Iterator[Any]:
    """A module of LLVM IR or bitcode, in a context of its own: what LLVM keeps of its types and constants goes with it.

    Both are gone at the end, the module first. It has to be: what an error's traceback holds is collected in any order,
    and neither a module nor an engine that holds one outlives the context. Where an engine has kept the module, as
    where an interrupt comes at that very moment, the context stays.
    """
    import llvmlite.binding as llvm

    context = llvm.create_context()
    context._owned = True  # so that it does not go by itself
    module = llvm.parse_assembly(code, context) if isinstance(code, str) else llvm.parse_bitcode(code, context)
    try:
        yield module
    finally:
        if not module._owned:
            module.close()
            context._owned = False
            context.close()


@contextmanager
def _optimized(text: str, target: Target, machine: Any) -> Iterator[Any]:
    """`text` as a module for `target`, after the passes that the target asks for."""
    with _read(text) as module:
        module.triple = target.triple
        module.data_layout = str(machine.target_data)
        module.verify()
        if target.level > 0:
            _run_passes(module, target, machine)
        yield module


def _run_passes(module: Any, target: Target, machine: Any) -> None:
    import llvmlite.binding as llvm
    from llvmlite.binding.newpassmanagers import NewPassManager

    options = llvm.create_pipeline_tuning_options(speed_level=target.level)
    options.loop_vectorization = target.loop_vectorizer
    options.slp_vectorization = target.slp_vectorizer
    options.loop_interleaving = target.loop_vectorizer
    options.loop_unrolling = target.loop_unroller
    builder = llvm.create_pass_builder(machine, options)
    if target.level > 1:
        manager = builder.getModulePassManager()
        manager.run(module, builder)
    else:
        manager = builder.getFunctionPassManager()
        if target.loop_repeater:
            manager.add_loop_unroll_pass()
        if target.store_remover:
            manager.add_dead_store_elimination_pass()
        for function in module.functions:
            if not (function.is_declaration or _left_alone(function)):
                manager.run(function, builder)
    NewPassManager._dispose(manager)  # which llvmlite forgets: its `close` finds a method that does nothing


def _left_alone(function: Any) -> bool:
    return any(b"optnone" in group for group in function.attributes)
