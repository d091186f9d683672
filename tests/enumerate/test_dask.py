"""The same shards on a Dask cluster."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rfactor.enumerate.backend import Serial, backend
from rfactor.enumerate.run import Parameters, generate
from rfactor.errors import Error
from rfactor.table.export import exported
from rfactor.table.store import open_table
from tests.enumerate.test_run import square_or_die

distributed = pytest.importorskip("distributed")


def test_a_cluster_of_processes_makes_the_rows_of_one_process(tmp_path: Path):
    parameters = Parameters(("u8",), (3, 4), (1,), ("wrap",), 0)
    generate(tmp_path / "here.db", parameters, Serial())
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        chosen = backend("dask", 1, cluster.scheduler_address)
        generate(tmp_path / "there.db", parameters, chosen)
        chosen.close()
    rows = [[json.dumps(row) for row in exported(open_table(tmp_path / name))] for name in ("here.db", "there.db")]
    assert rows[0] == rows[1]


def test_the_work_of_a_lost_worker_is_run_again(tmp_path: Path):
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        chosen = backend("dask", 1, cluster.scheduler_address)
        tasks = [(number, str(tmp_path / "died")) for number in range(8)]
        assert sorted(chosen.run(square_or_die, tasks)) == [(n, n * n) for n in range(8)]
        chosen.close()
    assert (tmp_path / "died").exists()


def test_a_scheduler_that_is_not_there_is_named():
    with pytest.raises(Error, match="no Dask scheduler is reached at here, as in --scheduler HOST:8786"):
        backend("dask", 1, "here")
