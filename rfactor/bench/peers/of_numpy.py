"""NumPy: whole-array functions, where it has them."""

from __future__ import annotations

import numpy as np

from rfactor.bench.contender import Contender, remembered
from rfactor.bench.table1 import Case

NAMES = ("NumPy",)


def version() -> str:
    return f"NumPy {np.__version__}"


def contenders(case: Case) -> list[Contender]:
    """None for a product of complex integers and for the kitchen sink."""
    program = case.program()
    return [] if program.numpy is None else [remembered("NumPy", program, program.numpy)]
