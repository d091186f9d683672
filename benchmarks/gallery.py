"""Write docs/gallery.md: loops, what rfactor says of them, and times. `python -m benchmarks.gallery [--size N]`."""

from __future__ import annotations

import argparse
import inspect
import os
import warnings
from pathlib import Path

import rfactor as rf
from benchmarks.fold_loops import LOOPS, Loop, arguments, own
from benchmarks.folds import Timed, geomean, machine, measured
from rfactor.loops.wording import Found, Part, assigned

PAGE = Path(__file__).parents[1] / "docs" / "gallery.md"
_LONGEST = 300


def said(loop: Loop) -> list[str]:
    """Tell the verdict on a loop and the operator behind it, a line each."""
    fold = rf.fold(loop.function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fold(*own(arguments(loop, 1000)))
    found = fold.explain().loops[0].found
    assert found is not None
    return [f"**{found.verdict}**", *_lines(found)]


def _lines(found: Found) -> list[str]:
    lines = [line for part in found.parts for line in _of_part(part)]
    lines += [f"each step: `{text}`" for text in found.stored]
    if found.leaves:
        lines.append(f"ends where `{found.leaves}`")
    return lines


def _of_part(part: Part) -> list[str]:
    key = f" by `{part.key}`" if part.key else ""
    joined = ", ".join(part.operator)
    if part.driven:
        joined = f"summaries from each state that drives it, `{part.driven}`"
    elif len(joined) > _LONGEST:
        joined = f"{len(part.operator)} numbers a run of steps"
    else:
        joined = f"`{joined}`" + (f", over {len(part.operator)} numbers a run of steps" if part.lifted else "")
    lines = [f"update: `{assigned(part.state, part.update)}`{key}", f"operator: {joined}"]
    lines.append("it commutes" if part.commutes else "runs are joined in order")
    lines += [f"invariant: `{text}`" for text in part.invariants if not part.driven]
    return lines


def page(times: list[Timed], size: int) -> str:
    """Write the page."""
    ratios = [t.ratio for t in times if t.ratio is not None]
    mean, least, most = geomean(ratios), min(ratios), max(ratios)
    lines = [
        "# A gallery of loops",
        "",
        f"{len(LOOPS)} loops as people write them, what `rfactor.fold` says of each, and times beside plain Python and",
        f"`numba.njit`, for {size:,} elements. `make gallery` writes this page; a test holds that its code runs and is",
        "right. In operators, `s` is the left operand and `s'` the right one; `s0`, `s1`, … are the numbers of a",
        "summary where that is another than the state.",
        "",
        f"Measured on {machine()}; plain Python on",
        "100,000 elements, scaled. Other work ran on the machine: ratios within a row tell more than times. Beside",
        f"Numba's serial code: {mean:.2f} times as fast in the geometric mean, {least:.2f} to {most:.2f}.",
        "",
        "| loop | Python, ms | Numba, ms | fold, ms | beside Numba | first call, ms |",
        "|---|---|---|---|---|---|",
    ]
    for loop, t in zip(LOOPS, times, strict=True):
        numba, ratio = ("–", "–") if t.ratio is None else (f"{t.numba:.1f}", f"{t.ratio:.2f}x")
        link = loop.title.lower().replace(",", "").replace("?", "").replace(" ", "-")
        lines.append(f"| [{loop.title}](#{link}) | {t.python:.0f} | {numba} | {t.fold:.1f} | {ratio} | {t.first:.0f} |")
    for loop in LOOPS:
        lines += ["", f"## {loop.title}", "", "```python", inspect.getsource(loop.function).rstrip(), "```", ""]
        lines += [f"* {text}" for text in said(loop)]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=10_000_000, help="elements")
    parser.add_argument("--rounds", type=int, default=5, help="calls, of which the fastest counts")
    options = parser.parse_args()
    os.environ.setdefault("RFACTOR_CACHE", "0")
    times = measured(options.size, options.rounds, lambda text: print(text, flush=True))
    PAGE.write_text(page(times, options.size))


if __name__ == "__main__":
    main()
