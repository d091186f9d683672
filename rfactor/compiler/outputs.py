"""What a pipeline is written out as: lowered statement, LLVM IR, bitcode, assembly, object, library, C header."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rfactor.compiler.deep import deep
from rfactor.compiler.language.arguments import Argument, OutputFileType
from rfactor.compiler.language.buffer import Buffer, ImageParam
from rfactor.compiler.language.freeze import Frozen, frozen
from rfactor.compiler.language.images import OutputImageParam
from rfactor.compiler.language.target import Target, get_target_from_environment, machine
from rfactor.compiler.language.warned import warn, warned
from rfactor.compiler.lower import arguments as expected
from rfactor.compiler.lower import lower, passes
from rfactor.compiler.lower.as_written import renumbered
from rfactor.compiler.lower.storage import buffer_name
from rfactor.errors import AlgorithmError, TypeMismatch
from rfactor.files import write_whole
from rfactor.ir.algorithm import plain
from rfactor.ir.loopnest import BufferArgument, LoweredPipeline
from rfactor.ir.nest_html import page
from rfactor.ir.nest_printer import show_nest, show_pipeline

if TYPE_CHECKING:
    from rfactor.compiler.codegen.entry import Entry
    from rfactor.compiler.language.func import Func
    from rfactor.native import engine

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WORDS_OF_C = frozenset(
    """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept const const_cast
    constexpr continue decltype default delete do double dynamic_cast else enum explicit export extern false float for
    friend goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private
    protected public register reinterpret_cast requires restrict return short signed sizeof static static_assert
    static_cast struct switch template this thread_local throw true try typedef typeid typename typeof union unsigned
    using virtual void volatile wchar_t while xor xor_eq
    """.split()  # noqa: SIM905 - a list this long is read as text
)
"""Words that name nothing else in C or in C++, which reads the header too."""
_SIZE_OF_HEADER = 60
"""Bytes of a member's header in an archive."""


def infer_arguments(outputs: Sequence[Func]) -> list[Argument]:
    """What a function compiled from `outputs` must be given: images and parameters, by name; then outputs are."""
    pipeline = frozen(outputs)
    images = (image for image in pipeline.images if isinstance(image, ImageParam))
    return sorted((Argument(one) for one in (*images, *pipeline.parameters)), key=lambda argument: argument.name)


@deep
def compile_to(
    outputs: Sequence[Func], files: Mapping[OutputFileType, str], given: Sequence[Any], fn_name: str, target: Any
) -> None:
    """Write each file. Nothing is written if any of them cannot be made."""
    made = Made(outputs, given, fn_name, target)
    write([(name, made.content(kind)) for kind, name in files.items()])


def write(contents: Sequence[tuple[str, str | bytes]]) -> None:
    """Write files that are made already."""
    for name, content in contents:
        write_whole(name, content)


def joined(kind: OutputFileType, functions: Sequence[Made]) -> str | bytes:
    """What the file of a kind holds of several functions. Raises `NotImplementedError` for all but two kinds."""
    if len(functions) == 1:
        return functions[0].content(kind)
    if kind == OutputFileType.c_header:
        return "\n".join(made.header() for made in functions)
    if kind == OutputFileType.static_library:
        return archive([made.member() for made in functions])
    raise NotImplementedError(f"{kind.name} of a module of several functions is not there: write a static_library")


class Made:
    """A pipeline on its way to files; what several need is made once."""

    def __init__(self, outputs: Sequence[Func], given: Sequence[Any], fn_name: str, target: Any) -> None:
        """Raises `AlgorithmError` where `given` lacks an image or a parameter, or `fn_name` is no name in C."""
        if not isinstance(fn_name, str):
            raise TypeMismatch(f"the name of a function in C is text, not {fn_name!r}")
        self._frozen = frozen(outputs)
        warn(self._frozen, outputs)
        boxes = (*self._frozen.images, *(image for output in outputs for image in output.output_images))
        self._sparse = frozenset(
            image.stride_name() for image in boxes if isinstance(image, OutputImageParam) and not image.is_dense()
        )
        """Arrays whose dimension 0 has another stride than 1, or any."""
        self._given = [Argument(one) for one in given]
        self.name = fn_name or re.sub(r"\W", "_", "_".join(self._frozen.algorithm.outputs))
        if not _WORD.fullmatch(self.name):
            raise AlgorithmError(f"{self.name!r} is no name for a function in C: letters, digits and _ are")
        if self.name in _WORDS_OF_C:
            raise AlgorithmError(
                f"{self.name!r} is no name for a function: it is a word of C or C++ itself; give another as fn_name"
            )
        self._target = get_target_from_environment() if target is None else target
        self.check(Target(self._target) if isinstance(self._target, str) else self._target)
        self._lowered: LoweredPipeline | None = None
        self._linkable: _Compiled | None = None

    def check(self, target: Target) -> None:
        """Raise `TargetError` where the pipeline asked for something that is otherwise on `target`."""
        for query in self._frozen.queries if target != Target() else ():
            query.check(target)

    def content(self, kind: OutputFileType) -> str | bytes:
        """What the file of that kind holds. Raises `NotImplementedError` for a kind that is not there."""
        make = _KINDS.get(kind)
        if make is None:
            raise NotImplementedError(f"compile_to {kind.name} is not there")
        return make(self)

    def lowered(self) -> LoweredPipeline:
        """The nest that code is generated from: dimension 0 is dense where nothing else was promised."""
        if self._lowered is None:
            self._lowered = warned(lower(self._frozen.algorithm, self._frozen.schedule, self._sparse))
        return self._lowered

    def statement(self) -> str:
        """The lowered nest as text."""
        frozen = self._frozen
        return renumbered(show_pipeline(self.lowered()), frozen.algorithm, frozen.schedule)

    def conceptual(self) -> str:
        """The nest before its bounds are known, as text."""
        frozen = self._frozen
        _, nest = next(passes(frozen.algorithm, frozen.schedule))
        return renumbered(show_nest(nest), frozen.algorithm, frozen.schedule)

    def html(self, text: str) -> str:
        """Text as a page."""
        return page(self.name, text)

    def compiled(self) -> _Compiled:
        """The code."""
        if self._linkable is None:
            self._linkable = self.compiled_as(self.name, machine(self._target))
        return self._linkable

    def compiled_as(self, name: str, on: engine.Target) -> _Compiled:
        """The code of a function called `name` for another machine."""
        from rfactor.compiler.codegen.entry import emit_entry
        from rfactor.native.engine import Linkable

        entry = replace(self._entry(), name=name)
        text, messages, tuned = emit_entry(entry, on)
        return _Compiled(entry, messages, Linkable(text, tuned))

    def header(self) -> str:
        """The C header."""
        from rfactor.compiler.codegen.header import header

        compiled = self.compiled()
        return header(compiled.entry, compiled.messages)

    def extension(self) -> str:
        """The source of a Python module around the object."""
        from rfactor.compiler.codegen.extension import extension

        compiled = self.compiled()
        return extension(compiled.entry, compiled.messages)

    def source(self) -> str:
        """The pipeline in C, every loop one iteration after the other."""
        from rfactor.compiler.codegen.c.source import source

        stages = passes(self._frozen.algorithm, self._frozen.schedule, self._sparse)
        return source(self._entry(), next(body for name, body in stages if name == "tidy"))

    def library(self) -> bytes:
        """The object in a static library, in the form that linkers of ELF targets read."""
        return archive([self.member()])

    def member(self) -> tuple[str, bytes, list[str]]:
        """Its part of a library: a name, the object, the symbols."""
        content = self.compiled().code.object()
        if not content.startswith(b"\x7fELF"):
            raise NotImplementedError(f"compile_to_static_library for {self._target} is not there yet: use an object")
        return f"{self.name}.o", content, [self.name, f"{self.name}_error"]

    def _entry(self) -> Entry:
        from rfactor.compiler.codegen.entry import Constant, Entry

        frozen = self._frozen
        given = [argument.declared() for argument in self._given]
        listed = [argument.name for argument in given]
        told = ", ".join(map(plain, listed)) or "none"
        constants = {
            image.name(): Constant(image.array, image.mins)
            for image in frozen.images
            if isinstance(image, Buffer) and image.name() not in listed
        }
        wanted = expected(frozen.algorithm, self._sparse)
        results = [a for a in wanted if isinstance(a, BufferArgument) and a.output]
        inputs = {a.name: a for a in wanted if a.name not in constants and a not in results}
        boxes = dict(_boxes(frozen))
        missing = [name for name in inputs if name not in boxes and name not in listed]
        if missing:
            raise AlgorithmError(
                f"{self.name} needs {' and '.join(map(plain, missing))}, which the list of arguments lacks: it has "
                f"{told}; infer_arguments() gives them all"
            )
        if len(set(listed)) < len(listed):
            raise AlgorithmError(f"the list of arguments of {self.name} has one twice: {told}")
        own = tuple(inputs.get(argument.name) or argument for argument in given)
        titles = {buffer_name(f.name, 0): f.name for f in frozen.algorithm.functions if len(f.types) == 1}
        titles |= {name: plain(name) for name in listed}
        alike = tuple(_alike(frozen, results))
        return Entry(self.name, self.lowered(), (*own, *results), boxes, alike, constants, titles)


@dataclass(frozen=True, slots=True)
class _Compiled:
    entry: Entry
    messages: tuple[str, ...]
    code: Any
    """A `native.engine.Linkable`."""


def _boxes(frozen: Frozen) -> Iterator[tuple[str, tuple[str, int, str]]]:
    for name in frozen.algorithm.outputs:
        for d in range(len(frozen.algorithm.function(name).variables)):
            for what in ("min", "extent"):
                yield f"{name}.{what}.{d}", (buffer_name(name, 0), d, what)


def _alike(frozen: Frozen, results: list[BufferArgument]) -> Iterator[tuple[BufferArgument, BufferArgument]]:
    known = {argument.name: argument for argument in results}
    for name in frozen.algorithm.outputs:
        for component in range(1, len(frozen.algorithm.function(name).types)):
            yield known[buffer_name(name, component)], known[buffer_name(name, 0)]


def archive(members: Sequence[tuple[str, bytes, Sequence[str]]]) -> bytes:
    """A static library in the System V form: an index of the symbols, the long names, the objects."""
    names, starts = b"", []
    for name, _, _ in members:
        starts.append(len(names))
        names += f"{name}/\n".encode()
    symbols = [symbol for _, _, own in members for symbol in own]
    texts = b"".join(symbol.encode() + b"\0" for symbol in symbols)
    size = 4 + 4 * len(symbols) + len(texts)
    at = 8 + _SIZE_OF_HEADER + _even(size) + _SIZE_OF_HEADER + _even(len(names))
    index, objects = len(symbols).to_bytes(4, "big"), b""
    for start, (_, content, own) in zip(starts, members, strict=True):
        index += (at + len(objects)).to_bytes(4, "big") * len(own)
        objects += _member(f"/{start}", content)
    return b"!<arch>\n" + _member("/", index + texts) + _member("//", names) + objects


def _member(name: str, content: bytes) -> bytes:
    head = f"{name:<16}{0:<12}{0:<6}{0:<6}{'644':<8}{len(content):<10}`\n".encode()
    return head + content + b"\n" * (_even(len(content)) - len(content))


def _even(size: int) -> int:
    return size + size % 2


_KINDS: dict[OutputFileType, Callable[[Made], str | bytes]] = {
    OutputFileType.assembly: lambda made: made.compiled().code.assembly(),
    OutputFileType.bitcode: lambda made: made.compiled().code.bitcode(),
    OutputFileType.c_header: Made.header,
    OutputFileType.c_source: Made.source,
    OutputFileType.llvm_assembly: lambda made: made.compiled().code.llvm_ir(),
    OutputFileType.object: lambda made: made.compiled().code.object(),
    OutputFileType.python_extension: Made.extension,
    OutputFileType.static_library: Made.library,
    OutputFileType.stmt: Made.statement,
    OutputFileType.stmt_html: lambda made: made.html(made.statement()),
    OutputFileType.conceptual_stmt: Made.conceptual,
    OutputFileType.conceptual_stmt_html: lambda made: made.html(made.conceptual()),
}
