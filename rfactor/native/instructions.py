"""Instructions that LLVM has and llvmlite has not, or not as they are needed here."""

from __future__ import annotations

from llvmlite import ir
from llvmlite.ir.instructions import Instruction

from rfactor.native.literal import Builder, Literal, LLVMValue, Text, vector

I32 = ir.IntType(32)


def declare(builder: Builder, name: str, result: ir.Type, arguments: list[ir.Type]) -> ir.Function:
    """The function `name` of the module under construction, declared if it is not yet."""
    module = builder.module
    found = module.globals.get(name)
    return ir.Function(module, ir.FunctionType(result, arguments), name) if found is None else found


def call_intrinsic(builder: Builder, name: str, *arguments: LLVMValue, overloads: int = 1) -> LLVMValue:
    """Call LLVM's intrinsic `name`, overloaded on the types of its first `overloads` arguments, of the first's type."""
    suffix = "".join(f".{mangled(a.type)}" for a in arguments[:overloads])
    function = declare(builder, name + suffix, arguments[0].type, [a.type for a in arguments])
    return builder.call(function, list(arguments))


def mangled(type: ir.Type) -> str:
    """The part that `type` has in the name of an overloaded intrinsic."""
    if isinstance(type, ir.VectorType):
        return f"v{type.count}{mangled(type.element)}"
    return f"i{type.width}" if isinstance(type, ir.IntType) else str(type.intrinsic_name)


def splat(builder: Builder, value: LLVMValue, lanes: int) -> LLVMValue:
    """Scalar `value` in each of `lanes` lanes."""
    if isinstance(value, Literal):
        return Literal(value.language_type.with_lanes(lanes), value.value)
    poison = Text(ir.VectorType(value.type, lanes), "poison")
    one = builder.insert_element(poison, value, I32(0))
    return _shuffled(builder, one, poison, Text(ir.VectorType(I32, lanes), "zeroinitializer"))


def freeze(builder: Builder, value: LLVMValue) -> LLVMValue:
    """`value`, as something that LLVM does not look into."""
    instruction = Instruction(builder.block, value.type, "freeze", [value])
    builder._insert(instruction)
    return instruction


def shuffle(builder: Builder, first: LLVMValue, second: LLVMValue, lanes: list[int]) -> LLVMValue:
    """The named lanes of `first` followed by `second`."""
    return _shuffled(builder, first, second, vector(I32, lanes))


class _Shuffle(Instruction):  # type: ignore[misc]
    """llvmlite's own looks at every lane."""

    def descr(self, buf: list[str]) -> None:
        buf.append("shufflevector " + ", ".join(f"{one.type} {one.get_reference()}" for one in self.operands))


def _shuffled(builder: Builder, first: LLVMValue, second: LLVMValue, mask: Text) -> LLVMValue:
    type = ir.VectorType(first.type.element, mask.type.count)
    instruction = _Shuffle(builder.block, type, "shufflevector", [first, second, mask])
    builder._insert(instruction)
    return instruction
