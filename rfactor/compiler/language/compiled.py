"""What a `Func` and a `Pipeline` have in common: both are run, compiled and written out."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

from rfactor.compiler.language.arguments import Argument, OutputFileType, StmtOutputFormat
from rfactor.compiler.language.public import public
from rfactor.compiler.language.target import Target, get_target_from_environment, is_host, named_machine
from rfactor.compiler.language.target_features import TargetOS
from rfactor.errors import TargetError, TypeMismatch

if TYPE_CHECKING:
    from rfactor.compiler.language.callable import Callable
    from rfactor.compiler.language.func import Func
    from rfactor.compiler.language.module import Module
    from rfactor.compiler.verify.result import Verification


@cache
def _pipeline() -> ModuleType:
    """What runs pipelines imports this module; an import statement would cost each call a microsecond."""
    from rfactor.compiler import pipeline

    return pipeline


@public
class Compiled:
    """Something with outputs. A `target` is the machine that this runs on where none is named.

    `compile_to_…` take the arguments of the function that is made, in order: every `ImageParam` and `Param` of the
    pipeline. Its outputs follow. A `Buffer` that is not among them becomes part of the code. See docs/aot.md.
    """

    prepared: Any
    """What `realize` last used, for as long as nothing changes: see `pipeline.Prepared`."""

    def results(self) -> tuple[Func, ...]:
        """The functions that are computed."""
        raise NotImplementedError

    # Running

    def realize(self, *given: Any, sizes: Any = None, dst: Any = None, target: Any = None) -> Any:
        """Compute it: over sizes (dimension 0 first) into new `Buffer`s, or into the arrays given.

        `f.realize([w, h])`, `f.realize(array)`, `f.realize((a, b))` for two components. Returns a `Buffer`, a tuple of
        them for several components, None when arrays were given. Raises `BufferError`, `AlgorithmError`,
        `ScheduleError`.
        """
        prepared = self.prepared
        if prepared is not None and sizes is dst is target is None and prepared.repeated(given):
            return None
        if given and isinstance(given[-1], Target):
            *rest, target = given
            given = tuple(rest)
        if target is not None:
            _check_here(target)
        if sizes is not None or dst is not None:
            given += tuple(one for one in (sizes, dst) if one is not None)
        return _pipeline().realize(self, given)

    def compile_jit(self, target: Target | None = None) -> None:
        """Compile it now rather than at the first `realize`."""
        from rfactor.compiler.pipeline import executable

        _check_here(target)
        executable(self)

    def compile_to_callable(self, arguments: Sequence[Any], target: Target | None = None) -> Callable:
        """A function of `arguments` and then the outputs, all arrays or numbers."""
        from rfactor.compiler.language.callable import Callable

        _check_here(target)
        return Callable(self, [Argument(one) for one in arguments])

    def infer_arguments(self) -> list[Argument]:
        """What a function compiled from it must be given, by name; its outputs follow."""
        from rfactor.compiler.outputs import infer_arguments

        return infer_arguments(self.results())

    def infer_input_bounds(self, dst: Any, target: Target | None = None) -> None:
        """Set every `ImageParam` without an array to zeros of just the box that is read for `dst`, arrays or sizes."""
        from rfactor.compiler.input_bounds import infer_input_bounds

        _check_here(target)
        infer_input_bounds(self, dst)

    def invalidate_cache(self) -> None:
        """Nothing: what is compiled is compared with the definitions at every use."""

    # Showing

    def lowered(self) -> str:
        """The lowered nest as text."""
        from rfactor.compiler.pipeline import statement

        return statement(self.results())

    def print_loop_nest(self) -> None:
        """Write the loops to the standard error, with a range where it is constant."""
        from rfactor.compiler.pipeline import loop_nest

        print(loop_nest(self.results()), end="", file=sys.stderr)

    # Proofs

    def verify(self, timeout: float = 1.0) -> Verification:
        """Whether the bounds that were chosen for the schedule are right, for all sizes, parameters and data.

        Every access, computed box, fold, loop and coordinate is an obligation that Z3 decides, each question within
        `timeout` seconds. Nothing is compiled or run. See docs/verify.md. Raises `AlgorithmError`, `ScheduleError`;
        `ValueError` where `timeout` is not positive.
        """
        from rfactor.compiler.verify.verify import verify

        return verify(self.results(), timeout)

    # Files

    def compile_to(
        self, outputs: Mapping[OutputFileType, str], arguments: Sequence[Any], fn_name: str, target: Any = None
    ) -> None:
        """Write several files at once: `{OutputFileType.object: "f.o", OutputFileType.c_header: "f.h"}`.

        Raises `AlgorithmError` where `arguments` lacks something that is read, or `fn_name` is no name in C;
        `TargetError` for a target that code is not generated for.
        """
        from rfactor.compiler.outputs import compile_to

        compile_to(self.results(), outputs, arguments, fn_name, target)

    def compile_to_object(self, filename: str, arguments: Sequence[Any], fn_name: Any = "", target: Any = None) -> None:
        """Write an object file."""
        self._write(OutputFileType.object, filename, arguments, fn_name, target)

    def compile_to_header(self, filename: str, arguments: Sequence[Any], fn_name: Any = "", target: Any = None) -> None:
        """Write the C header of the object file."""
        self._write(OutputFileType.c_header, filename, arguments, fn_name, target)

    def compile_to_bitcode(
        self, filename: str, arguments: Sequence[Any], fn_name: Any = "", target: Any = None
    ) -> None:
        """Write LLVM bitcode, after all passes."""
        self._write(OutputFileType.bitcode, filename, arguments, fn_name, target)

    def compile_to_llvm_assembly(
        self, filename: str, arguments: Sequence[Any] | None = None, fn_name: Any = "", target: Any = None
    ) -> None:
        """Write LLVM IR, after all passes."""
        self._write(OutputFileType.llvm_assembly, filename, arguments, fn_name, target)

    def compile_to_assembly(
        self, filename: str, arguments: Sequence[Any] | None = None, fn_name: Any = "", target: Any = None
    ) -> None:
        """Write the target's assembly."""
        self._write(OutputFileType.assembly, filename, arguments, fn_name, target)

    def compile_to_lowered_stmt(
        self,
        filename: str,
        arguments: Sequence[Any] | None = None,
        fmt: StmtOutputFormat = StmtOutputFormat.Text,
        target: Any = None,
    ) -> None:
        """Write the lowered nest, as text or as a page."""
        kind = OutputFileType.stmt_html if _is_page(fmt) else OutputFileType.stmt
        self._write(kind, filename, arguments, "", target)

    def compile_to_conceptual_stmt(
        self,
        filename: str,
        arguments: Sequence[Any] | None = None,
        fmt: StmtOutputFormat = StmtOutputFormat.Text,
        target: Any = None,
    ) -> None:
        """Write the nest before its bounds are known, as text or as a page."""
        kind = OutputFileType.conceptual_stmt_html if _is_page(fmt) else OutputFileType.conceptual_stmt
        self._write(kind, filename, arguments, "", target)

    def compile_to_file(
        self, filename_prefix: str, arguments: Sequence[Any], fn_name: Any = "", target: Any = None
    ) -> None:
        """Write `prefix.o`, for Windows `prefix.obj`, and `prefix.h`."""
        self._with_header(OutputFileType.object, ".o", filename_prefix, arguments, fn_name, target)

    def compile_to_static_library(
        self, filename_prefix: str, arguments: Sequence[Any], fn_name: Any = "", target: Any = None
    ) -> None:
        """Write `prefix.a` and `prefix.h`. Raises `NotImplementedError` for targets without ELF files."""
        self._with_header(OutputFileType.static_library, ".a", filename_prefix, arguments, fn_name, target)

    def compile_to_c(self, filename: str, arguments: Sequence[Any], fn_name: str = "", target: Any = None) -> None:
        """Write C99 with the function that an object file would have; every loop is serial. See docs/aot.md."""
        self._write(OutputFileType.c_source, filename, arguments, fn_name, target)

    def compile_to_module(
        self, arguments: Sequence[Any], fn_name: str = "", target: Any = None, linkage: Any = None
    ) -> Module:
        """The function, to be written by `module.compile({OutputFileType.object: "f.o"})`. See `compile_to`."""
        from rfactor.compiler.language.module import Module
        from rfactor.compiler.outputs import Made

        wanted = Target(target) if isinstance(target, str) else target or get_target_from_environment()
        return Module.of(Made(self.results(), arguments, fn_name, wanted), wanted)

    def compile_to_multitarget_static_library(
        self, filename_prefix: str, arguments: Sequence[Any], targets: Sequence[Target]
    ) -> None:
        """Write `prefix.a` and `prefix.h`: a function that runs the code of the first of `targets`, all of x86, whose
        features the processor has, the last where none other can be. See docs/aot.md.

        Raises `TargetError` for targets that differ in more than features, or none.
        """
        from rfactor.compiler.multitarget import write_library

        write_library(self.results(), filename_prefix, arguments, targets)

    def compile_to_multitarget_object_files(
        self, filename_prefix: str, arguments: Sequence[Any], targets: Sequence[Target], suffixes: Sequence[str]
    ) -> None:
        """The same in objects to be linked together: `prefix-SUFFIX.o` for each, `prefix_wrapper.o`, `prefix.h`.

        The suffix is by default the target's name. One target alone gives `prefix.o`.
        """
        from rfactor.compiler.multitarget import write_objects

        write_objects(self.results(), filename_prefix, arguments, targets, suffixes)

    def _with_header(
        self, kind: OutputFileType, ending: str, prefix: str, arguments: Sequence[Any], fn_name: Any, target: Any
    ) -> None:
        if isinstance(fn_name, Target):
            fn_name, target = "", fn_name
        system = target.os if isinstance(target, Target) else Target(target).os if target else None
        if system == TargetOS.Windows:
            ending = _OF_WINDOWS[ending]
        files = {kind: prefix + ending, OutputFileType.c_header: f"{prefix}.h"}
        self.compile_to(files, arguments, fn_name, target)

    def _write(
        self, kind: OutputFileType, filename: str, arguments: Sequence[Any] | None, fn_name: Any, target: Any
    ) -> None:
        # Halide's overloads without a name have the target in its place.
        if isinstance(fn_name, Target):
            fn_name, target = "", fn_name
        self.compile_to({kind: filename}, self.infer_arguments() if arguments is None else arguments, fn_name, target)


def _is_page(fmt: Any) -> bool:
    if not isinstance(fmt, StmtOutputFormat):
        raise TypeMismatch(f"a nest is written as StmtOutputFormat.Text or StmtOutputFormat.HTML, not as {fmt!r}")
    return fmt == StmtOutputFormat.HTML


_OF_WINDOWS = {".o": ".obj", ".a": ".lib"}


def _check_here(target: Any) -> None:
    if target is not None and not isinstance(target, Target):
        raise TypeMismatch(f"a target is a Target, as in Target('host'), not {target!r}")
    if target is not None and target != Target() and not is_host(target):
        named_machine(target)  # tells of a feature without a meaning
        raise TargetError(f"{target} is not this machine: realize runs here; compile_to_object compiles for others")
