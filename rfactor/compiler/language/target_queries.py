"""What an expression may ask of the machine that it is compiled for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from rfactor.compiler.language.expr import Expr, as_expr
from rfactor.compiler.language.target import Target, get_host_target
from rfactor.compiler.language.target_features import TargetArch, TargetFeature, TargetOS
from rfactor.compiler.language.types import Type
from rfactor.errors import TargetError, TypeMismatch

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class TargetQuery:
    """One question. Expressions hold the answer of this machine; others are held to it when code is made for them."""

    text: str
    answer: Callable[[Target], bool | int]

    def check(self, target: Target) -> None:
        """Raise `TargetError` where the answer of `target` is another one."""
        here, there = self.answer(get_host_target()), self.answer(target)
        if here != there:
            raise TargetError(
                f"{self.text} is {here} in this pipeline, which was written for this machine; it is {there} for "
                f"{target}: ask Target({str(target)!r}) instead, and write its answer"
            )


def target_arch_is(arch: TargetArch) -> Expr:
    """Whether the machine has this kind of processor."""
    return _asked(f"target_arch_is({_one(TargetArch, arch).name})", lambda target: target.arch is arch)


def target_os_is(os: TargetOS) -> Expr:
    """Whether the machine has this operating system."""
    return _asked(f"target_os_is({_one(TargetOS, os).name})", lambda target: target.os is os)


def target_has_feature(feature: TargetFeature) -> Expr:
    """Whether the machine has a feature."""
    name = _one(TargetFeature, feature).name
    return _asked(f"target_has_feature({name})", lambda target: target.has_feature(feature))


def target_bits() -> Expr:
    """The machine's width of a pointer, i32."""
    return _asked("target_bits()", lambda target: target.bits)


def target_natural_vector_size(type: Type) -> Expr:
    """How many values of `type` one vector register of the machine holds, i32."""
    name = _one(Type, type)
    return _asked(f"target_natural_vector_size({name})", lambda target: target.natural_vector_size(type))


def _one(kind: type[_T], given: _T) -> _T:
    if not isinstance(given, kind):
        raise TypeMismatch(f"{given!r} is no {kind.__name__}")
    return given


def _asked(text: str, answer: Callable[[Target], bool | int]) -> Expr:
    return Expr(as_expr(answer(get_host_target())).node, {text: TargetQuery(text, answer)})
