"""Over which box each function of a pipeline is needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rfactor.compiler.language.freeze import Frozen
from rfactor.compiler.lower import built
from rfactor.compiler.lower.bounds import infer_bounds
from rfactor.compiler.schedule.defaults import default_schedule
from rfactor.compiler.schedule.directives import ROOT, Schedule
from rfactor.ir.expr import Expr, const, substitute
from rfactor.ir.types import I32

Box = tuple[tuple[Expr, Expr], ...]
"""(min, extent) of each dimension."""


def boxes(pipeline: Frozen, asked: Sequence[tuple[Expr, Expr]] | None) -> Mapping[str, Box]:
    """The box of each function, where the one output is computed over `asked`; of none where that is not known.

    Ends are made of parameters and the boxes of images.
    """
    algorithm = pipeline.algorithm
    (output,) = algorithm.outputs
    if asked is None and algorithm.function(output).variables:
        return {}
    plain = {f.name: replace(default_schedule(f), compute=ROOT, store=ROOT) for f in algorithm.functions}
    whole, schedule, nest = built(algorithm, Schedule(plain))
    known: dict[str, Expr] = {}
    for d, (low, extent) in enumerate(asked or ()):
        known[f"{output}.min.{d}"], known[f"{output}.extent.{d}"] = low, extent
    for name, value in infer_bounds(nest, whole, schedule).definitions:
        known[name] = substitute(value, known)
    nothing = const(I32, 0)  # of what is named, and read by nothing that is computed
    return {
        f.name: tuple(
            (known.get(f"{f.name}.min.{d}", nothing), known.get(f"{f.name}.extent.{d}", nothing))
            for d in range(len(f.variables))
        )
        for f in algorithm.functions
    }
