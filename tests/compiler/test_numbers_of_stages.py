"""Cases and scans are stages of a nest; what a user sees has the stages that the user wrote."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.errors import ScheduleError
from tests.compiler.test_lowering import printed

x, u = hl.Var("x"), hl.Var("u")


def with_cases(directive: str) -> Any:
    """Update 0 has three cases, or is a scan; update 1 is another."""
    p = hl.Param(hl.Int(32), "p", 5)
    a = hl.Buffer(np.arange(40, dtype=np.int32).reshape(5, 8), name="a")
    r, s, f = hl.RDom([(0, 8), (0, 5)], "r"), hl.RDom([(1, 7)], "s"), hl.Func("f")
    f[x] = 0
    if directive == "scan":
        f[s.x] = f[s.x - 1] + a[s.x, 0]
        f.update(0).parallel_scan(s.x, 2)
    else:
        f[x] = f[x] + a[r.x, r.y]
        f.update(0).specialize(p > 3).rfactor(r.y, u)
        f.update(0).specialize(p > 2)
    f[x] = f[x] * 2
    return f


@pytest.mark.parametrize("directive", ["cases", "scan"])
def test_text_and_errors_have_the_stages_of_the_user(directive: str, tmp_path: Path) -> None:
    f = with_cases(directive)
    stages = re.compile(r"(?<![\w.])f\.s(\d+)\.")
    assert set(stages.findall(printed(f, "final"))) >= {"0", "1", "2", "3"}
    f.compile_to_lowered_stmt(str(tmp_path / "f.txt"), [], hl.StmtOutputFormat.Text)
    for text in (f.lowered(), (tmp_path / "f.txt").read_text()):
        assert set(stages.findall(text)) == {"0", "1", "2"}
    f.update(1).unroll(x)
    with pytest.raises(ScheduleError, match=r"^f\.s2\.x cannot be unrolled"):
        f.realize([3])
    with pytest.raises(ScheduleError, match=r"^f\.s2\.x cannot be unrolled"):
        f.compile_jit()


def test_partitions_and_prefetches_too(capsys: pytest.CaptureFixture[str]) -> None:
    f = with_cases("cases")
    b = hl.ImageParam(hl.Int(32), 1, "b")
    g = hl.Func("g")
    g[x] = f[x] + b[x]
    f.compute_root().update(1).prefetch(b, x, x, 1)
    g.print_loop_nest()
    assert "at loop nest of f.s2.x from location f.s2.x" in capsys.readouterr().out
    f.update(1).partition(x, hl.Partition.Always)
    with pytest.raises(ScheduleError, match=r"set to Always for f\.s2\.x, but"):
        g.compile_jit()


def test_loops_have_the_names_that_the_user_gave(capfd: pytest.CaptureFixture[str]) -> None:
    f = with_cases("cases")
    f.trace_stores()
    f.print_loop_nest()
    f.realize([2])
    out, err = capfd.readouterr()
    assert "for x" in err
    assert not re.search(r"\.s\d", out + err)
