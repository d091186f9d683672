"""What compiled functions take, and what they are written out as, by Halide's names."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rfactor.compiler.language.buffer import Buffer, ImageParam
from rfactor.compiler.language.expr import Expr
from rfactor.compiler.language.images import OutputImageParam
from rfactor.compiler.language.public import public
from rfactor.compiler.language.types import Type
from rfactor.compiler.language.variables import Param, Range
from rfactor.compiler.numbered import Numbered
from rfactor.errors import TypeMismatch
from rfactor.ir.algorithm import PARAMETER
from rfactor.ir.loopnest import BufferArgument, ScalarArgument


class OutputFileType(Numbered):
    """What `compile_to` can write; of the last ones nothing is there yet."""

    assembly = 0
    bitcode = 1
    c_header = 2
    c_source = 3
    compiler_log = 4
    cpp_stub = 5
    featurization = 6
    function_info_header = 7
    hlpipe = 8
    llvm_assembly = 9
    object = 10
    python_extension = 11
    pytorch_wrapper = 12
    registration = 13
    schedule = 14
    static_library = 15
    stmt = 16
    conceptual_stmt = 17
    stmt_html = 18
    conceptual_stmt_html = 19
    device_code = 20


class StmtOutputFormat(Numbered):
    """How a statement is written."""

    Text = 0
    HTML = 1


class ArgumentKind(Numbered):
    """What an argument is."""

    InputScalar = 0
    InputBuffer = 1
    OutputBuffer = 2


class ArgInfoDirection(Numbered):
    """Whether a function is given something or gives it."""

    Input = 0
    Output = 1


class ArgInfoKind(Numbered):
    """What a function is given or gives."""

    Scalar = 0
    Function = 1
    Buffer = 2


@public
@dataclass(slots=True)
class ArgInfo:
    """One thing that a function is given or gives, with the type of each component."""

    name: str = ""
    dir: ArgInfoDirection = ArgInfoDirection.Input
    kind: ArgInfoKind = ArgInfoKind.Scalar
    types: list[Type] = field(default_factory=list)
    dimensions: int = 0


@public
class ArgumentEstimates:
    """What was said of an argument: undefined expressions where nothing was."""

    scalar_def: Expr
    scalar_min: Expr
    scalar_max: Expr
    scalar_estimate: Expr
    buffer_estimates: list[Range]
    """What the box will be like, a range each dimension."""

    def __init__(self) -> None:
        self.scalar_def, self.scalar_min, self.scalar_max, self.scalar_estimate = Expr(), Expr(), Expr(), Expr()
        self.buffer_estimates = []


def estimates_of(given: Param | OutputImageParam) -> ArgumentEstimates:
    """What was said of an input."""
    made = ArgumentEstimates()
    if isinstance(given, Param):
        made.scalar_def, made.scalar_estimate = given.default, given.estimate
        made.scalar_min, made.scalar_max = given.min_value(), given.max_value()
    else:
        known = given.estimates
        made.buffer_estimates = [
            Range(known.get(("min", d), Expr()), known.get(("extent", d), Expr())) for d in range(given.dimensions())
        ]
    return made


@public
class Argument:
    """One argument of a compiled function, made from an `ImageParam`, a `Param` or a `Buffer`. `Argument()` is none."""

    name: str
    kind: ArgumentKind
    dimensions: int
    type: Type
    argument_estimates: ArgumentEstimates

    def __init__(self, given: Any = None, *, im: Any = None, param: Any = None, buffer: Any = None) -> None:
        """Raises `TypeMismatch` for what is no argument."""
        given = next((one for one in (given, im, param, buffer) if one is not None), None)
        self.name, self.kind, self.dimensions, self.type = "", ArgumentKind.InputScalar, 0, Type()
        self.argument_estimates = ArgumentEstimates()
        if isinstance(given, Argument):
            self.name, self.kind, self.dimensions, self.type = given.name, given.kind, given.dimensions, given.type
            self.argument_estimates = given.argument_estimates
        elif isinstance(given, Param):
            self.name, self.type, self.argument_estimates = given.name(), given.type(), estimates_of(given)
        elif isinstance(given, Buffer | OutputImageParam):
            self.name, self.dimensions, self.type = given.name(), given.dimensions(), given.type()
            mine = isinstance(given, Buffer | ImageParam)
            self.kind = ArgumentKind.InputBuffer if mine else ArgumentKind.OutputBuffer
            if isinstance(given, OutputImageParam):
                self.argument_estimates = estimates_of(given)
        elif given is not None:
            raise TypeMismatch(f"an argument is an ImageParam, a Param or a Buffer, not {given!r}")

    def declared(self) -> BufferArgument | ScalarArgument:
        """It, as an argument of a nest."""
        if self.kind == ArgumentKind.InputScalar:
            return ScalarArgument(self.name + PARAMETER, self.type.ir)
        return BufferArgument(self.name, self.type.ir, self.dimensions, self.kind == ArgumentKind.OutputBuffer)

    def __repr__(self) -> str:
        return f"Argument({self.name}: {self.type}, {self.dimensions} dimensions)"
