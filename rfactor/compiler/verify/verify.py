"""Are the bounds of a pipeline right: the bounds query of its nest, decided by Z3."""

from __future__ import annotations

from collections.abc import Sequence

from rfactor.compiler.language.freeze import frozen
from rfactor.compiler.language.func import Func
from rfactor.compiler.lower import built, checked
from rfactor.compiler.lower.bounds import infer_bounds
from rfactor.compiler.schedule.directives import Schedule
from rfactor.compiler.verify.decide import Decider
from rfactor.compiler.verify.query import query
from rfactor.compiler.verify.result import Verification
from rfactor.ir.algorithm import Algorithm
from rfactor.ir.loopnest import Stmt
from rfactor.semantics.validity import validate


def verify(outputs: Sequence[Func], timeout: float = 1.0) -> Verification:
    """The obligations of a pipeline, each within `timeout` seconds a question. See `Compiled.verify`."""
    if not timeout > 0:
        raise ValueError(f"timeout must be positive, not {timeout}")
    pipeline = frozen(outputs)
    return verify_pipeline(pipeline.algorithm, pipeline.schedule, timeout)


def verify_pipeline(algorithm: Algorithm, schedule: Schedule, timeout: float = 1.0) -> Verification:
    """The obligations of a pipeline as data."""
    return verify_nest(*bounded_nest(algorithm, schedule), timeout)


def bounded_nest(algorithm: Algorithm, schedule: Schedule) -> tuple[Stmt, Algorithm, Schedule]:
    """The nest whose bounds are chosen, with its checks, and the algorithm and schedule that it is of."""
    validate(algorithm)
    algorithm, schedule, nest = built(algorithm, schedule)
    return checked(infer_bounds(nest, algorithm, schedule), algorithm, schedule), algorithm, schedule


def verify_nest(body: Stmt, algorithm: Algorithm, schedule: Schedule, timeout: float = 1.0) -> Verification:
    """The obligations of a nest as `bounded_nest` gives it."""
    asked = query(body, algorithm, schedule)
    decider = Decider(asked, timeout)
    return Verification(tuple(map(decider.decide, asked.specs)))
