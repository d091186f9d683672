"""Lines that compiled code writes to the standard output, each by one call of `rfactor.puts`.

In this process that is Python's `sys.stdout` (see `native.printing`); anywhere else the C library's `puts` will do.
"""

from __future__ import annotations

from llvmlite import ir

from rfactor.ir.effects import Print, Told
from rfactor.ir.types import Type
from rfactor.native.literal import Builder, LLVMValue

I32, I64, POINTER = ir.IntType(32), ir.IntType(64), ir.PointerType()
LONGEST = 4096
"""Bytes of a line, its end included; what is longer is cut off."""
PUTS = "rfactor.puts"


def write(builder: Builder, line: Print, condition: LLVMValue, arguments: list[LLVMValue]) -> None:
    """Write `line` where `condition` holds, once a lane of it and of what it prints; see `Told` for what is not so."""
    once = isinstance(line, Told) and line.condition.type.lanes == 1
    lanes = 1 if once else max(child.type.lanes for child in line.children)
    shown = [form(argument.type, once) for argument in line.arguments]
    text = line.template.replace("%", "%%").format(*shown)
    room = _room(builder)
    for lane in range(lanes):
        holds = lane_of(builder, condition, lane)
        with builder.if_then(holds):
            wide = [
                _wide(builder, argument.type, lane_of(builder, value, own))
                for argument, value in zip(line.arguments, arguments, strict=True)
                for own in (range(argument.type.lanes) if once else (lane,))
            ]
            builder.call(_snprintf(builder), [room, I64(LONGEST), _text(builder, text), *wide])
            builder.call(_function(builder, PUTS, ir.FunctionType(I32, [POINTER])), [room])


def lane_of(builder: Builder, value: LLVMValue, lane: int) -> LLVMValue:
    """One lane of a vector; a scalar is the same in all."""
    return builder.extract_element(value, I32(lane)) if isinstance(value.type, ir.VectorType) else value


def form(type: Type, whole: bool = False) -> str:
    """How C writes a value; of a vector one lane, or the whole."""
    if whole and type.lanes > 1:
        return f"<{', '.join([form(type)] * type.lanes)}>"
    if type.is_bool:
        return "%s"
    if type.is_float:
        return "%e" if type.bits == 64 else "%f"
    return "%lld" if type.is_signed else "%llu"


def _wide(builder: Builder, type: Type, value: LLVMValue) -> LLVMValue:
    """A value as C passes it where there is no prototype."""
    if type.is_bool:
        return builder.select(value, _text(builder, "true"), _text(builder, "false"))
    if type.is_float:
        return value if type.bits == 64 else builder.fpext(value, ir.DoubleType())
    if type.bits == 64:
        return value
    return (builder.sext if type.is_signed else builder.zext)(value, I64)


def _room(builder: Builder) -> LLVMValue:
    """Memory for a line, taken once a call of the function."""
    with builder.goto_entry_block():
        room: LLVMValue = builder.alloca(ir.ArrayType(ir.IntType(8), LONGEST))
    room.type = POINTER  # llvmlite still types what alloca gives; LLVM no longer knows such pointers.
    return room


def _snprintf(builder: Builder) -> ir.Function:
    return _function(builder, "snprintf", ir.FunctionType(I32, [POINTER, I64, POINTER], var_arg=True))


def _function(builder: Builder, name: str, type: ir.FunctionType) -> ir.Function:
    found = builder.module.globals.get(name)
    return ir.Function(builder.module, type, name) if found is None else found


def _text(builder: Builder, text: str) -> LLVMValue:
    """The address of a constant text."""
    data = bytearray(text.encode(errors="replace") + b"\0")
    name = f"text.{data.hex()}"
    found = builder.module.globals.get(name)
    if found is None:
        found = ir.GlobalVariable(builder.module, ir.ArrayType(ir.IntType(8), len(data)), name)
        found.global_constant, found.linkage = True, "private"
        found.initializer = ir.Constant(found.value_type, data)
        found.type = POINTER  # llvmlite still types what a global is; LLVM no longer knows such pointers.
    return found
