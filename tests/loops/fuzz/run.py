"""Judge one random loop: called once, in parts that are merged, as a stream of chunks; make what is wrong smaller."""

from __future__ import annotations

import ast
import importlib.util
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from tests.loops.fuzz.columns import literal, values
from tests.loops.fuzz.grammar import Program
from tests.loops.fuzz.program import generate
from tests.loops.judge import EXACT, Outcome, Verdict, compare, outcome, rounding
from tests.loops.subject import Joined, decorator, refusal

HEADING = "from collections import Counter, defaultdict\nfrom math import inf, nan\n\nimport numpy as np\n\n\n"
FOLDER = tempfile.TemporaryDirectory(prefix="loops")
MANY = 70_000


@dataclass(frozen=True)
class Fault:
    """A program and data with which it differs, and in which way of calling."""

    source: str
    data: tuple[Any, ...]
    way: str
    """call, partial or stream."""
    cuts: tuple[int, ...]
    verdict: Verdict

    def script(self) -> str:
        """Print the fault so that it can be pasted."""
        several = len(self.data) > 1
        bounds = f"(0, *{self.cuts}, len(a))"
        parts = ", ".join(f"{name}[s:e]" for name, _ in zip("ab", self.data, strict=False))
        call = {
            "call": f"loop({', '.join('ab'[: len(self.data)])})",
            "partial": f"sum_of([loop.partial({parts}) for s, e in pairwise({bounds})])",
            "stream": f"loop.stream([{f'({parts})' if several else parts} for s, e in pairwise({bounds})])",
        }[self.way]
        merge = "def sum_of(states):\n    total, *rest = states\n    for state in rest:\n        total += state\n"
        merge += "    return total.result()\n\n\n"
        given = "".join(f"{name} = {literal(one)}\n" for name, one in zip("ab", self.data, strict=False))
        plain = f"print(plain({', '.join('ab'[: len(self.data)])}))"
        return (
            f"{HEADING.replace('import numpy', 'import rfactor' + chr(10) + 'import numpy')}"
            f"{'from itertools import pairwise' + chr(10) + chr(10) if self.way != 'call' else ''}"
            f"{self.source}\n\n{merge if self.way == 'partial' else ''}{given}"
            f"plain, loop = loop, rfactor.fold(loop)\n{plain}\nprint({call})\n"
            f"# {self.verdict.status}: {self.verdict.detail.strip().splitlines()[-1]}\n"
        )


def load(source: str) -> Callable[..., Any]:
    """Give the function of a source text, from a file, so that its source can be found."""
    path = Path(FOLDER.name) / f"loop_{abs(hash(source)):x}.py"
    path.write_text(HEADING + source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    loop: Callable[..., Any] = module.loop
    return loop


def _copy(data: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(one.copy() if isinstance(one, (np.ndarray, list)) else one for one in data)


def _chunks(data: tuple[Any, ...], cuts: tuple[int, ...]) -> Iterator[tuple[Any, ...]]:
    """Yield the data cut along its first axis."""
    bounds = [0, *cuts, len(data[0])]
    for start, end in pairwise(bounds):
        yield tuple(one[start:end] for one in data)


def _partial(fold: Any, data: tuple[Any, ...], cuts: tuple[int, ...]) -> Any:
    state = None
    for chunk in _chunks(data, cuts):
        one = fold.partial(*chunk)
        if state is None:
            state = one
        else:
            state += one
    assert state is not None
    return state.result()


def attempt(
    plain: Callable[..., Any],
    fold: Any,
    data: tuple[Any, ...],
    way: str,
    cuts: tuple[int, ...],
    inexact: bool,
    refusals: tuple[type[BaseException], ...],
) -> Verdict:
    """Compare one way of calling with the plain function."""
    expected = outcome(plain, _copy(data))
    if way == "call":
        found = outcome(fold, _copy(data))
    elif way == "partial":
        found = outcome(lambda *given: _partial(fold, given, cuts), _copy(data))
    else:
        chunks = (chunk if len(data) > 1 else chunk[0] for chunk in _chunks(_copy(data), cuts))
        found = outcome(lambda *given: fold.stream(chunks), _copy(data))
    if way != "call" and expected.error is not None and type(found.error) is type(expected.error):
        # A message may name a place in a chunk.
        found = Outcome(found.result, expected.error, found.arguments, found.printed, found.seconds)
    within = rounding(data, len(data[0])) if inexact else EXACT
    return compare(expected, found, within, refusals)


def inputs(program: Program, seed: int) -> Iterator[tuple[tuple[Any, ...], tuple[int, ...]]]:
    """Yield data and cuts: few elements, up to 200, and now and then 70,000."""
    rng = random.Random(seed)
    numbers = np.random.default_rng(seed)
    sizes = [rng.choice([0, 1, 2, 3]), rng.randrange(4, 30), rng.randrange(30, 201)]
    rng.shuffle(sizes)
    if rng.random() < 0.03 and not program.grows:
        sizes.append(MANY)
    for n in sizes:
        data = tuple(values(one, n, numbers) for one in program.columns)
        yield data, tuple(sorted(rng.randint(0, n) for _ in range(rng.choice([1, 1, 2, 5]))))


def check(seed: int, plain_only: bool = False, shrink: int = 60) -> dict[str, Any]:
    """Judge the program of a seed in all ways: agree, refused, wrong or crash, with the script of a fault."""
    program = generate(seed)
    plain = load(program.source)
    decorate, refusals = decorator(plain_only)
    if plain_only:
        decorate = Joined
    told: dict[str, Any] = {"seed": seed, "kind": program.kind, "source": program.source, "ways": {}}
    begun = time.perf_counter()
    try:
        fold = decorate(plain)
    except refusals as error:
        return told | {"status": "refused", "refusal": refusal(error)}
    raised = 0
    for data, cuts in inputs(program, seed):
        for way in ("call", "partial", "stream"):
            if way != "call" and not hasattr(fold, way):
                continue
            verdict = attempt(plain, fold, data, way, cuts, program.inexact, refusals)
            raised += way == "call" and bool(verdict.plain_error)
            counts = told["ways"].setdefault(way, {})
            counts[verdict.status] = counts.get(verdict.status, 0) + 1
            if verdict.status in ("wrong", "crash"):
                fault = smaller(Fault(program.source, data, way, cuts, verdict), program.inexact, plain_only, shrink)
                told |= {"status": verdict.status, "way": way, "detail": verdict.detail, "script": fault.script()}
                return told
            if verdict.status == "refused" and way == "call":
                told.setdefault("refusal", {"reason": verdict.detail, "line": verdict.line, "kind": ""})
    agreed = told["ways"].get("call", {}).get("right", 0)
    seconds = time.perf_counter() - begun
    return told | {"status": "agree" if agreed else "refused", "raised": raised, "seconds": seconds}


def smaller(fault: Fault, inexact: bool, plain_only: bool, tries: int) -> Fault:
    """Drop elements and statements while the fault stays, at most `tries` times."""
    decorate, refusals = decorator(plain_only)
    if plain_only:
        decorate = Joined
    while tries > 0:
        for source, data, cuts in _less(fault):
            tries -= 1
            try:
                plain = load(source)
                verdict = attempt(plain, decorate(plain), data, fault.way, cuts, inexact, refusals)
            except Exception:
                verdict = Verdict("right")
            # What lost the start of a name raises in both: that is another fault.
            lost = verdict.plain_error.startswith(("NameError", "UnboundLocalError"))
            if verdict.status == fault.verdict.status and not lost:
                fault = Fault(source, data, fault.way, cuts, verdict)
                break
            if tries <= 0:
                return fault
        else:
            return fault
    return fault


def _less(fault: Fault) -> Iterator[tuple[str, tuple[Any, ...], tuple[int, ...]]]:
    """Yield programs with less data, then with fewer statements."""
    n = len(fault.data[0])
    for width in dict.fromkeys((n // 2, n // 4, n // 8, 1)):
        for start in (0, n - width, (n - width) // 2) if width else ():
            kept = [k for k in range(n) if not start <= k < start + width]
            data = tuple(_kept(one, kept) for one in fault.data)
            yield fault.source, data, tuple(min(c - (c > start) * min(width, c - start), len(kept)) for c in fault.cuts)
    count = len(list(_places(ast.parse(fault.source))))
    for k in range(count):
        tree = ast.parse(fault.source)
        block, at = list(_places(tree))[k]
        if isinstance(block[at], ast.Return) and block is tree.body[0].body:  # type: ignore[attr-defined]
            continue
        if ast.unparse(block[at]) in ("i += 1", "i -= 1"):
            # Without its step a `while` does not end.
            continue
        block[at : at + 1] = [] if len(block) > 1 else [ast.Pass()]
        yield ast.unparse(tree) + "\n", fault.data, fault.cuts


def _kept(one: Any, kept: list[int]) -> Any:
    if isinstance(one, np.ndarray):
        return one[kept]
    parts = [one[k : k + 1] for k in kept]
    return [v for part in parts for v in part] if isinstance(one, list) else type(one)().join(parts)


def _places(tree: ast.Module) -> Iterator[tuple[list[ast.stmt], int]]:
    """Yield each statement of the function as a block and a place in it."""
    for node in ast.walk(tree):
        if node is tree:
            continue
        for name in ("body", "orelse"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                yield from ((block, at) for at in range(len(block)) if not isinstance(block[at], ast.Pass))


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Judge the program of a seed: what the second process does."""
    return check(request["seed"], request["plain"], request["shrink"])
