"""Engines that have data in parts give the plain result, whatever is killed meanwhile."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

import rfactor
from tests.loops.folds import best_stretch, climbs, mean, top, total, weighted

ROOT = Path(__file__).parents[2]
RNG = np.random.default_rng(11)
GAINS = RNG.integers(-500, 501, 300_000)
WEIGHTS = RNG.normal(size=300_000)


def started(program: str, *arguments: object, **limits: int) -> subprocess.Popen[str]:
    """Start a Python program beside this one."""
    env = os.environ | {"PYTHONPATH": f"{ROOT}"} | {k: str(v) for k, v in limits.items()}
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program), *map(str, arguments)], env=env, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT,
    )  # fmt: skip


@pytest.fixture(scope="module")
def table():
    pa = pytest.importorskip("pyarrow")
    return pa.table({"v": GAINS, "w": WEIGHTS})


@pytest.fixture
def file(table, tmp_path):
    from pyarrow import parquet

    parquet.write_table(table, tmp_path / "x.parquet", row_group_size=20_000)
    return tmp_path / "x.parquet"


def test_tables_and_batches_are_chunks(table):
    names = {"a": "v", "b": "w"}
    plain = weighted(GAINS, WEIGHTS)
    assert weighted.stream(table, columns=names) == plain
    assert weighted.stream(table.to_batches(7000), columns=names) == plain
    assert weighted.partial(table, columns=names).result() == pytest.approx(plain)
    assert best_stretch.stream(table["v"]) == best_stretch(GAINS)


def test_data_frames_and_queries_are_chunks(table):
    names = {"a": "v", "b": "w"}
    plain = weighted(GAINS, WEIGHTS)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"v": GAINS, "w": WEIGHTS})
    assert weighted.stream(frame, columns=names) == plain
    assert weighted.stream([frame[:1000], frame[1000:]], columns=names) == plain
    polars = pytest.importorskip("polars")
    assert weighted.stream(polars.from_arrow(table), columns=names) == plain
    assert weighted.stream(polars.from_arrow(table).lazy(), columns=names) == plain
    assert best_stretch.stream(polars.from_arrow(table)["v"]) == best_stretch(GAINS)
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        connection.register("x", table)
        assert weighted.stream(connection.sql("select v as a, w as b from x")) == plain


def test_columns_with_nulls_are_refused(table):
    pa = pytest.importorskip("pyarrow")
    with pytest.raises(rfactor.Error, match="null"):
        total.stream([pa.array([1, None, 2])])


def test_parquet_files_are_read_by_row_groups_and_a_state_goes_on(file, tmp_path):
    names = {"gains": "v"}
    plain = best_stretch(GAINS)
    state = tmp_path / "run.state"
    told = []
    assert best_stretch.parquet(file, names) == plain
    assert best_stretch.parquet(file, names, state=state, progress=told.append) == plain
    assert told[-1] == len(GAINS)
    assert best_stretch.parquet(str(tmp_path / "*.parquet"), names, state=state) == plain
    assert weighted.parquet([file, file], {"a": "v", "b": "w"}, k=3) == weighted(
        np.concatenate([GAINS, GAINS]), np.concatenate([WEIGHTS, WEIGHTS]), 3
    )
    with pytest.raises(rfactor.FoldError, match="other files"):
        best_stretch.parquet([file, file], names, state=state)
    with pytest.raises(rfactor.FoldError, match="digest"):
        total.parquet(file, {"a": "v"}, state=state)
    with pytest.raises(rfactor.FoldError, match="no column"):
        total.parquet(file)


KILLED = """
    import sys, time
    from tests.loops.folds import mean
    print(mean.parquet(sys.argv[1], {"a": "w"}, state=sys.argv[2], progress=lambda n: time.sleep(0.05)).hex())
"""


def test_a_run_that_is_killed_goes_on_with_the_same_bits(file, tmp_path):
    alone = mean.parquet(file, {"a": "w"}, state=tmp_path / "alone.state")
    rng, state = random.Random(5), tmp_path / "killed.state"
    killed = 0
    for _ in range(30):
        process = started(KILLED, file, state)
        deadline = time.monotonic() + 60
        before = state.read_bytes() if state.exists() else b""
        while process.poll() is None and time.monotonic() < deadline:
            if state.exists() and state.read_bytes() != before:
                break
            time.sleep(0.01)
        if killed < 3 and process.poll() is None:
            time.sleep(rng.random() * 0.2)
            process.send_signal(signal.SIGKILL)
            process.communicate()
            killed += 1
            continue
        out, errors = process.communicate(timeout=100)
        assert out.strip() == alone.hex(), errors
        break
    assert killed == 3


LIMITED = """
    import resource, sys
    from tests.loops.folds import best_stretch, mean
    best_stretch.parquet(sys.argv[1], {"gains": "v"})
    used = int(next(l for l in open("/proc/self/status") if l.startswith("VmData")).split()[1]) * 1024
    limit = used + int(sys.argv[3])
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    print(*best_stretch.parquet(sys.argv[2], {"gains": "v"}))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the limit is that of Linux")
def test_a_file_is_larger_than_the_memory(file, tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    pa = pytest.importorskip("pyarrow")
    room = 64 << 20
    numbers = np.random.default_rng(2).integers(-500, 501, 1 << 20)
    table = pa.table({"v": numbers})
    with pq.ParquetWriter(tmp_path / "large.parquet", table.schema, use_dictionary=False, compression="none") as out:
        for _ in range(20):
            out.write_table(table, row_group_size=1 << 18)
    assert (tmp_path / "large.parquet").stat().st_size > 2 * room
    process = started(LIMITED, file, tmp_path / "large.parquet", room, ARROW_DEFAULT_MEMORY_POOL="system")
    out, errors = process.communicate(timeout=200)
    assert out.split() == [str(v) for v in best_stretch.stream(numbers for _ in range(20))], errors


def test_dask_takes_arrays_bags_and_frames():
    da = pytest.importorskip("dask.array")
    x, y = da.from_array(GAINS, chunks=70_000), da.from_array(WEIGHTS, chunks=70_000)
    assert best_stretch.dask(x).compute() == best_stretch(GAINS)
    assert weighted.dask(x, y, k=3).compute() == pytest.approx(weighted(GAINS, WEIGHTS, 3))
    assert weighted.dask(x, y, k=3).key == weighted.dask(x, y, k=3).key
    with pytest.raises(rfactor.FoldError, match="different places"):
        weighted.dask(x, y.rechunk(1000))
    bag = pytest.importorskip("dask.bag").from_sequence(GAINS[:2000].tolist(), npartitions=7)
    assert top.dask(bag).compute(scheduler="threads") == top(GAINS[:2000].tolist())
    pandas = pytest.importorskip("pandas")
    frame = pytest.importorskip("dask.dataframe").from_pandas(
        pandas.DataFrame({"v": GAINS, "w": WEIGHTS}), npartitions=5
    )
    assert weighted.dask(frame, columns={"a": "v", "b": "w"}).compute() == pytest.approx(weighted(GAINS, WEIGHTS))
    assert climbs.dask(frame["v"]).compute() == climbs(GAINS)


def test_a_killed_dask_worker_changes_nothing():
    distributed = pytest.importorskip("distributed")
    da = pytest.importorskip("dask.array")
    x = da.from_array(GAINS, chunks=10_000)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50, processes=True
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        future = client.compute(best_stretch.dask(x))
        time.sleep(1.0)
        os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
        assert future.result(timeout=120) == best_stretch(GAINS)


def test_ray_takes_blocks_in_their_order():
    ray = pytest.importorskip("ray")
    pytest.importorskip("ray.data")
    ray.init(
        num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error",
        runtime_env={"env_vars": {"PYTHONPATH": str(ROOT)}},
    )  # fmt: skip
    try:
        dataset = ray.data.from_numpy([GAINS[:1000], GAINS[1000:200_000], GAINS[200_000:]])
        assert best_stretch.ray(dataset) == best_stretch(GAINS)
    finally:
        ray.shutdown()


def test_spark_needs_an_order_where_the_operator_does_not_commute(monkeypatch):
    sql = pytest.importorskip("pyspark.sql")
    pandas = pytest.importorskip("pandas")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    session = (
        sql.SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "3")
        .getOrCreate()
    )
    try:
        backward = np.arange(5000)[::-1].copy()
        frame = session.createDataFrame(pandas.DataFrame({"a": GAINS[:5000], "t": backward}))
        assert best_stretch.spark(frame, {"gains": "a"}, order="t") == best_stretch(GAINS[:5000][::-1])
        assert total.spark(frame) == total(GAINS[:5000])
        with pytest.raises(rfactor.FoldError, match="no order"):
            best_stretch.spark(frame, {"gains": "a"})
    finally:
        session.stop()
