"""Who is compared with: one file a peer, each with `NAMES`, `version()` and `contenders(case)`; both raise `Absent`."""

from __future__ import annotations

from types import ModuleType

from rfactor.bench.peers import of_c, of_halide, of_numba, of_numpy

PEERS: dict[str, ModuleType] = {"halide": of_halide, "numpy": of_numpy, "numba": of_numba, "c": of_c}
"""By the names that `rfactor bench --peers` takes."""
