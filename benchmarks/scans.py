"""Running sums, serial and as parallel scans, beside NumPy, Numba and C; counting by atomic updates and by `rfactor`.

python -m benchmarks.scans [--trials N] [BITS …]      (sizes 2^BITS)
"""

from __future__ import annotations

import argparse
import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import rfactor as hl
from rfactor.bench.rounds import in_turn, sleep_soon

SIZES = (8, 12, 15, 16, 17, 18, 20, 22, 24)
BLOCKS = (1 << 14, 1 << 16)
Call = Callable[[], object]


def main() -> None:
    """Print milliseconds, the least of all trials, in turn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=15)
    parser.add_argument("bits", nargs="*", type=int, default=SIZES)
    given = parser.parse_args()
    sleep_soon()
    in_c = compiled_c()
    for bits in given.bits:
        for dtype in (np.int32, np.float32):
            show(f"sum, {np.dtype(dtype).name}, 2^{bits}", sums(1 << bits, dtype, in_c), given.trials)
    for bits in given.bits:
        for bins in (256, 1):
            show(f"counts of {bins} values, 2^{bits}", counts(1 << bits, bins), given.trials)


def show(title: str, calls: dict[str, Call], trials: int) -> None:
    times = in_turn(list(calls.values()), trials)
    print(f"{title:28}", *(f"{name} {time.least:.3f}  " for name, time in zip(calls, times, strict=True)), flush=True)


def sums(size: int, dtype: Any, in_c: Any) -> dict[str, Call]:
    """Running sums of random numbers into an array that is there."""
    data = np.random.default_rng(1).integers(0, 100, size).astype(dtype)
    out = np.zeros(size, dtype)
    found: dict[str, Call] = {"serial": partial(running_sum(data, 0).realize, out)}
    found |= {f"blocks of {block}": partial(running_sum(data, block).realize, out) for block in BLOCKS}
    found["NumPy"] = partial(np.cumsum, data, dtype=dtype, out=out)
    try:
        import numba
    except ImportError:
        pass
    else:
        loop = numba.njit(serial_sum)
        found["Numba"] = partial(loop, data, out)
    if in_c is not None and dtype is np.int32:
        found["OpenMP C"] = partial(in_c, ctypes.c_void_p(out.ctypes.data), ctypes.c_void_p(data.ctypes.data), size)
    return found


def serial_sum(data: Any, out: Any) -> None:
    out[0] = data[0]
    for i in range(1, len(data)):
        out[i] = out[i - 1] + data[i]


def running_sum(data: Any, block: int) -> Any:
    """A running sum; serial where the block is 0."""
    source, f, x, r = hl.Buffer(data), hl.Func("f"), hl.Var("x"), hl.RDom([(1, len(data) - 1)])
    f[x] = hl.undef(source.type())
    f[0] = source[0]
    f[r.x] = f[r.x - 1] + source[r.x]
    if block:
        f.update(1).parallel_scan(r.x, block)
    f.compile_jit()
    return f


def counts(size: int, bins: int) -> dict[str, Call]:
    """Counts of bytes: serial, by atomic updates, by counts of each chunk."""
    data = np.random.default_rng(1).integers(0, bins, size).astype(np.uint8)
    out = np.zeros(256, np.int32)

    def counter(kind: str) -> Any:
        source, f, i, u = hl.Buffer(data), hl.Func("f"), hl.Var("i"), hl.Var("u")
        r, ro, ri = hl.RDom([(0, size)]), hl.RVar("ro"), hl.RVar("ri")
        f[i] = hl.i32(0)
        f[hl.i32(source[r.x])] += hl.i32(1)
        if kind != "serial":
            f.update(0).split(r.x, ro, ri, max(size // 16, 1))
        if kind == "atomic":
            f.update(0).atomic().parallel(ro)
        if kind == "rfactor":
            f.update(0).rfactor([(ro, u)]).compute_root().update(0).parallel(u)
        f.compile_jit()
        return f

    return {kind: partial(counter(kind).realize, out) for kind in ("serial", "atomic", "rfactor")}


def compiled_c() -> Any:
    """The scan in C; None without a compiler."""
    if shutil.which("cc") is None:
        return None
    library = Path(tempfile.mkdtemp()) / "scans.so"
    source = Path(__file__).with_suffix(".c")
    subprocess.run(
        ["cc", "-O3", "-march=native", "-fopenmp", "-shared", "-fPIC", "-o", str(library), str(source)], check=True
    )
    function = ctypes.CDLL(str(library)).scan
    function.argtypes, function.restype = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64], None
    return function


if __name__ == "__main__":
    main()
