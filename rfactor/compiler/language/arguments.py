"""What compiled functions take, and what they are written out as, by Halide's names."""

from __future__ import annotations

from enum import Enum
from typing import Any

from rfactor.compiler.language.buffer import Buffer, ImageParam
from rfactor.compiler.language.types import Type
from rfactor.compiler.language.variables import Param
from rfactor.errors import TypeMismatch
from rfactor.ir.loopnest import BufferArgument, ScalarArgument


class OutputFileType(Enum):
    """What `compile_to` can write; of the last ones nothing is there yet."""

    assembly = "assembly"
    bitcode = "bitcode"
    c_header = "c_header"
    llvm_assembly = "llvm_assembly"
    object = "object"
    static_library = "static_library"
    stmt = "stmt"
    stmt_html = "stmt_html"
    conceptual_stmt = "conceptual_stmt"
    conceptual_stmt_html = "conceptual_stmt_html"
    c_source = "c_source"
    compiler_log = "compiler_log"
    cpp_stub = "cpp_stub"
    featurization = "featurization"
    function_info_header = "function_info_header"
    hlpipe = "hlpipe"
    python_extension = "python_extension"
    pytorch_wrapper = "pytorch_wrapper"
    registration = "registration"
    schedule = "schedule"
    device_code = "device_code"


class StmtOutputFormat(Enum):
    """How a statement is written."""

    Text = 0
    HTML = 1


class ArgumentKind(Enum):
    """What an argument is."""

    InputScalar = 0
    InputBuffer = 1
    OutputBuffer = 2


class Argument:
    """One argument of a compiled function, made from an `ImageParam`, a `Param` or a `Buffer`."""

    name: str
    kind: ArgumentKind
    dimensions: int
    type: Type

    def __init__(self, given: Any) -> None:
        """Raises `TypeMismatch` for what is no argument."""
        if isinstance(given, Argument):
            self.name, self.kind, self.dimensions, self.type = given.name, given.kind, given.dimensions, given.type
        elif isinstance(given, Param):
            self.name, self.kind, self.dimensions = given.name(), ArgumentKind.InputScalar, 0
            self.type = given.type()
        elif isinstance(given, Buffer | ImageParam):
            self.name, self.kind, self.dimensions = given.name(), ArgumentKind.InputBuffer, given.dimensions()
            self.type = given.type()
        else:
            raise TypeMismatch(f"an argument is an ImageParam, a Param or a Buffer, not {given!r}")

    def declared(self) -> BufferArgument | ScalarArgument:
        """It, as an argument of a nest."""
        if self.kind == ArgumentKind.InputScalar:
            return ScalarArgument(self.name, self.type.ir)
        return BufferArgument(self.name, self.type.ir, self.dimensions, self.kind == ArgumentKind.OutputBuffer)

    def __repr__(self) -> str:
        return f"Argument({self.name}: {self.type}, {self.dimensions} dimensions)"
