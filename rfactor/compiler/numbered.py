"""Enumerations as Halide's bindings have them."""

from __future__ import annotations

from enum import Enum


class Numbered(Enum):
    """Members whose value is the number that Halide gives them."""

    def __int__(self) -> int:
        return int(self.value)

    __index__ = __int__


class Worded(Numbered):
    """Members that have a word too: the one in a target's name."""

    word: str

    def __new__(cls, number: int, word: str) -> Worded:
        member = object.__new__(cls)
        member._value_, member.word = number, word
        return member
