"""One pipeline for several targets of one architecture: an object for each, and one that chooses when it is called."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rfactor.compiler.deep import deep
from rfactor.compiler.language.target import Target, get_host_target, named_machine
from rfactor.compiler.language.target_features import TargetArch
from rfactor.compiler.outputs import Made, archive, write
from rfactor.errors import TargetError, TypeMismatch

if TYPE_CHECKING:
    from rfactor.compiler.language.func import Func


@deep
def write_library(outputs: Sequence[Func], prefix: str, given: Sequence[Any], targets: Sequence[Any]) -> None:
    """Write `prefix.a` and `prefix.h`. Raises as `compile_to` does, and `TargetError`."""
    made, members = _members(outputs, given, targets, ())
    for _, content, _ in members:
        if not content.startswith(b"\x7fELF"):
            raise NotImplementedError(f"a static library for {targets[-1]} is not there yet: write object files")
    named = [(f"{made.name}{suffix}.o", content, symbols) for suffix, content, symbols in members]
    write([(f"{prefix}.a", archive(named)), (f"{prefix}.h", made.header())])


@deep
def write_objects(
    outputs: Sequence[Func], prefix: str, given: Sequence[Any], targets: Sequence[Any], suffixes: Sequence[str]
) -> None:
    """Write an object a target, `prefix_wrapper.o` and `prefix.h`. Raises as `compile_to` does, and `TargetError`."""
    made, members = _members(outputs, given, targets, suffixes)
    ending = ".o" if members[0][1].startswith((b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe")) else ".obj"
    files = [(f"{prefix}{suffix}{ending}", content) for suffix, content, _ in members]
    write([*files, (f"{prefix}.h", made.header())])


_Member = tuple[str, bytes, list[str]]
"""The end of a file's name, an object, its symbols."""


def _members(
    outputs: Sequence[Func], given: Sequence[Any], targets: Sequence[Any], suffixes: Sequence[str]
) -> tuple[Made, list[_Member]]:
    wanted = [Target(one) if isinstance(one, str) else one for one in targets]
    _check(wanted, suffixes)
    ends = [f"-{end}" for end in (suffixes or [str(target) for target in wanted])]
    made = Made(outputs, given, "", wanted[-1])
    if len(wanted) == 1:
        return made, [("", made.compiled().code.object(), [made.name, f"{made.name}_error"])]
    for target in wanted:
        made.check(target)
    names = [made.name + re.sub(r"\W", "_", end) for end in ends]
    if len(set(names)) < len(names):
        raise TargetError(f"each of several targets needs a suffix of its own: {', '.join(end[1:] for end in ends)}")
    machines = [named_machine(target) for target in wanted]
    compiled = [made.compiled_as(name, machine) for name, machine in zip(names, machines, strict=True)]
    members = [
        (end, one.code.object(), [name, f"{name}_error"])
        for end, one, name in zip(ends, compiled, names, strict=True)
    ]  # fmt: skip
    return made, [("_wrapper", _wrapper(made, names, machines), [made.name, f"{made.name}_error"]), *members]


def _wrapper(made: Made, names: Sequence[str], machines: Sequence[Any]) -> bytes:
    from rfactor.compiler.codegen.chooser import chooser
    from rfactor.compiler.codegen.entry import signature
    from rfactor.native.engine import Linkable

    features = [frozenset(re.findall(r"\+([^,]+)", machine.features)) for machine in machines]
    types = [str(type) for type in signature(made.compiled().entry)]
    text = chooser(made.name, types, list(zip(names, features, strict=True)))
    return Linkable(text, replace(machines[-1], level=1)).object()


def _check(targets: Sequence[Target], suffixes: Sequence[str]) -> None:
    if not targets:
        raise TargetError("compile_to_multitarget needs targets: the last is for processors that none else is for")
    if strange := [one for one in targets if not isinstance(one, Target)]:
        raise TypeMismatch(f"the targets are Targets, not {strange[0]!r}")
    if len({(one.arch, one.bits, one.os) for one in targets}) > 1:
        raise TargetError(
            "all targets must have one architecture, number of bits and operating system, not "
            + ", ".join(map(str, targets))
        )
    if suffixes and len(suffixes) != len(targets):
        raise TargetError(f"{len(targets)} targets take as many suffixes, or none, not {len(suffixes)}")
    if len(targets) > 1 and targets[-1].arch is not TargetArch.X86:
        raise TargetError(
            f"which of several targets fits the processor is asked at run time on x86 alone, not on {targets[-1]}: "
            "give one target, or call compile_to_object once for each, with a name of its own"
        )
    if len(targets) > 1 and get_host_target().arch is not TargetArch.X86:
        raise NotImplementedError("code that asks x86 for its features is written on x86 only: one object a target")
