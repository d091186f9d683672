"""Other solvers, asked through SMT-LIB: an answer that does not rest on the prover nor on Z3."""

from __future__ import annotations

import importlib
import re
from typing import Any, Literal

from rfactor.errors import Error
from rfactor.prover.obligation import Obligation, smtlib

Name = Literal["z3", "cvc5", "bitwuzla"]
NAMES: tuple[Name, ...] = ("z3", "cvc5", "bitwuzla")
Answer = Literal["unsat", "sat", "unknown"]
_VECTORS_ALONE = re.compile(r"\(set-logic QF_(UF)?(BV)?\)")


def available(name: Name) -> None:
    """Raises `rfactor.Error`, which says what to install, where the solver is not there."""
    _module(name)


def decide(obligation: Obligation, name: Name, seconds: float) -> tuple[Answer, str]:
    """Whether the denial of an obligation can be met (`unsat` proves the obligation), and why it is not known."""
    module = _module(name)
    try:
        # cvc5 gives an error instead of an answer that is not the expected one.
        script = smtlib(obligation).replace("(set-info :status unsat)\n", "")
    except Error as error:
        return "unknown", str(error)
    try:
        said = {"z3": _z3, "cvc5": _cvc5, "bitwuzla": _bitwuzla}[name](module, script, int(seconds * 1000))
    except Exception as error:  # each has errors of its own; what a solver cannot do proves nothing
        return "unknown", f"{name} failed: {' '.join(str(error).split())[:200]}"
    answers: dict[str, Answer] = {"unsat": "unsat", "sat": "sat"}
    return answers.get(said, "unknown"), said


def _module(name: Name) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise Error(f"the solver {name} is not installed: pip install 'rfactor-compiler[verify]'") from None


def _z3(z3: Any, script: str, milliseconds: int) -> str:
    solver = z3.Solver(ctx=z3.Context())
    solver.set("timeout", milliseconds)
    solver.from_string(script)
    return str(solver.check())


def _cvc5(cvc5: Any, script: str, milliseconds: int) -> str:
    solver = cvc5.Solver(cvc5.TermManager())
    solver.setOption("tlimit-per", str(milliseconds))
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, script, "obligation")
    symbols = parser.getSymbolManager()
    said = ""
    while not (command := parser.nextCommand()).isNull():
        said += command.invoke(solver, symbols)
    return said.strip()


def _bitwuzla(bitwuzla: Any, script: str, milliseconds: int) -> str:
    if not _VECTORS_ALONE.search(script):
        return "bitwuzla reads bit-vectors and truth values alone"
    options = bitwuzla.Options()
    options.set(bitwuzla.Option.TIME_LIMIT_PER, milliseconds)
    options.set(bitwuzla.Option.MEMORY_LIMIT, _MEGABYTES)
    parser = bitwuzla.Parser(bitwuzla.TermManager(), options, "smt2")
    # Left to itself it would print its answer.
    parser.parse(script.replace("(check-sat)\n", "").replace("(exit)\n", ""), True, False)
    return str(parser.bitwuzla().check_sat())


_MEGABYTES = 2000

__all__ = ["NAMES", "Name", "available", "decide"]
