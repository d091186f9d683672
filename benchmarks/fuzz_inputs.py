"""Random and hostile texts for everything that is read: updates in lines of batches, operators, claims, rows of tables,
options of the command line.

    python -m benchmarks.fuzz_inputs [--count 1000000] [--jobs 2] [--seed 0] [--answers 2000] [--kind KIND]

Each input is read or refused by an `rfactor.Error` of bounded length: no other exception, no file opened, no module
imported, no code run (an audit hook watches), at most five seconds of CPU, results of bounded depth. `--answers` of the
updates are also answered whole, with a timeout of 0.2 s: these take longer than all others. What fails is printed as a
line that makes it again. Exits with 1 if anything failed.
"""

from __future__ import annotations

import argparse
import functools
import json
import multiprocessing
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from rfactor.cli.check import _functions, _names, _typed_names, batch_line
from rfactor.cli.claims import read_claim
from rfactor.cli.objects import constants_of, functions_of, meaning_of, read_object, type_of, types_of
from rfactor.cli.operators import parse_operator
from rfactor.errors import Error
from rfactor.ir.expr import Expr
from rfactor.ir.parser import parse_update
from rfactor.ir.types import SCALARS
from rfactor.table.row import Row
from rfactor.table.schema import OPERATORS
from rfactor.table.scope import parse_scope

MOST_SECONDS = 5.0
"""Of CPU for reading one input."""
MOST_MESSAGE = 1500
"""Characters of an error."""
MOST_DEPTH = 1200
"""Of a result: the parser's limit of 400, times what a spelling such as `clamp` is made of."""

# What inputs are made of.

_NAMES = ["x", "x0", "x1", "y", "y0", "y1", "k", "k0", "a", "b", "i", "h", "g", "inf", "nan", "True", "False", "MIN"]
_NUMBERS = ["0", "1", "-1", "2", "7", "255", "256", "1.5", "1e308", "1e400", "9" * 40, "0x7f", "1_0", "1j", "0.1"]
_INFIX = [" + ", " - ", " * ", " / ", " // ", " % ", " & ", " | ", " ^ ", " << ", " >> ", " < ", " <= ", " == ",
          " != ", " and ", " or ", ", "]  # fmt: skip
_CALLS = ["min", "max", "select", "abs", "clamp", "sqrt", "exp", "h", "f", "u8", "i32", "f32", "bool", "not ", "-", "~"]
_HOSTILE = [
    "__import__('os').system('true')", "(lambda: 0)()", "[x for x in y]", "x.__class__", "open('/etc/passwd')",
    "exec('1')", "x := 1", "x if a else b", "x[0]", "{x: 1}", "{1}", "f'{x}'", "'text'", "b'b'", "...", "*x", "**",
    "await x", "yield", "x = a", "x += a", "\x00", "\ud800", "é", "ﬁ", "𝐱", "١", "#", "\\", "\n", "\t", ";", "@", "!",
    "$", "?", "&&", "||", "(", ")", "[", "]", "{", "}", "'", '"', "9" * 5000, "0" * 5000, "1e" + "9" * 400, "not",
    "None", "is", "in", "lambda", "if", "else", ",", "->", "x" * 300, "1.", ".5", "0b1", "0o7", "u8(300)", "i8(-129)",
]  # fmt: skip
_WRAPS = ["({})", "-{}", "~{}", "not {}", "min({}, a)", "select(a < x, {}, x)", "u8({})", "h({})", "{} + x", "x * {}",
          "({},)", "{} if a else b", "{}.a", "{}[0]", "[{}]", "lambda: {}", "clamp({}, a, b)", "{} < a"]  # fmt: skip
_VALUES: list[Any] = [None, True, 0, -1, 1.5, 10**30, "", "x", "i32", "i33", "a,b", [], ["a"], [1], {}, {"a": "i32"},
                      {"a": 1}, [[]], "h: i32", {"h": "i32 -> f32"}, {"h": "->"}, {"h": None}, "\ud800"]  # fmt: skip


def expression(rng: random.Random, size: int) -> str:
    """A text that mostly is an expression."""
    if size <= 1:
        return rng.choice(_NAMES if rng.random() < 0.75 else _NUMBERS)
    if rng.random() < 0.55:
        left = rng.randint(1, size - 1)
        return expression(rng, left) + rng.choice(_INFIX) + expression(rng, size - left)
    call = rng.choice(_CALLS)
    arguments = {"min": 2, "max": 2, "select": 3, "clamp": 3}.get(call, 1) + (rng.random() < 0.03)
    inner = ", ".join(expression(rng, max(1, (size - 1) // arguments)) for _ in range(arguments))
    return f"{call}({inner})"


def mutated(rng: random.Random, text: str) -> str:
    """A text changed at a few places."""
    for _ in range(rng.randint(1, 3)):
        a, b = sorted(rng.randint(0, len(text)) for _ in range(2))
        match rng.randint(0, 5):
            case 0:
                text = text[:a] + text[b:]
            case 1:
                text = text[:a] + rng.choice(_HOSTILE) + text[a:]
            case 2:
                text = text[:b] + text[a:]
            case 3:
                text = text[:a] + chr(rng.choice((rng.randint(0, 127), rng.randint(0, 0x10FFFF)))) + text[a + 1 :]
            case 4:
                text = text[:a] + rng.choice(_NAMES + _NUMBERS + _INFIX + _CALLS) + text[b:]
            case _:
                text = rng.choice(_WRAPS).replace("{}", text)
    return text


def enormous(rng: random.Random) -> str:
    """A text that is very long, wide or deep."""
    times = rng.choice((50, 390, 410, 3000, 20_000))
    match rng.randint(0, 4):
        case 0:
            before, after = rng.choice(_WRAPS).split("{}")
            return before * times + rng.choice(_NAMES) + after * times
        case 1:
            return rng.choice(_INFIX).join(rng.choice(_NAMES) + str(n) * (rng.random() < 0.5) for n in range(times))
        case 2:
            return f"{rng.choice(_CALLS)}({', '.join(rng.choice(_NAMES) for _ in range(times))})"
        case 3:
            return rng.choice(_HOSTILE) * times
        case _:
            return _balanced(rng, min(times, 3000))


def _balanced(rng: random.Random, size: int) -> str:
    if size <= 1:
        return rng.choice("abcdefgh") + str(rng.randint(0, 999))
    return f"({_balanced(rng, size // 2)}{rng.choice((' + ', ' * ', ' - '))}{_balanced(rng, size - size // 2)})"


@functools.cache
def _known() -> tuple[list[str], list[dict[str, Any]]]:
    """Updates of the corpus, and claims that hold."""
    found = [json.loads(line) for path in sorted(Path("tests/corpus").glob("*.jsonl")) for line in path.open()]
    updates = [case["update"] for case in found if isinstance(case.get("update"), str)] or ["x + a"]
    lines = [{"update": text, "type": "i32"} for text in ("x + a", "min(x0, a), select(x0 < a, x1, i)", "a*x + b")]
    return updates, [batch_line(json.dumps(line), 10.0)[0] for line in lines]


def text(rng: random.Random) -> str:
    """An update or operator, valid or not."""
    choice = rng.random()
    if choice < 0.35:
        return expression(rng, rng.choice((1, 2, 4, 8, 16)))
    if choice < 0.6:
        return rng.choice(_known()[0])
    if choice < 0.997:
        base = rng.choice(_known()[0]) if rng.random() < 0.5 else expression(rng, rng.choice((2, 5, 12)))
        return mutated(rng, base)
    return enormous(rng)


def _type(rng: random.Random) -> Any:
    return rng.choice(SCALARS).name if rng.random() < 0.9 else rng.choice(_VALUES)


def record(rng: random.Random) -> dict[str, Any]:
    """A line of a batch, some keys of other kinds."""
    case: dict[str, Any] = {"update": text(rng) if rng.random() < 0.97 else rng.choice(_VALUES), "type": _type(rng)}
    for key in ("types", "const", "semantics", "functions", "id"):
        if rng.random() < 0.15:
            case[key] = rng.choice([*_VALUES, "math", "wrap", {"a": _type(rng), "x1": _type(rng)}])
    return case


def claim(rng: random.Random) -> dict[str, Any]:
    """A claim, some parts of it changed."""
    case: dict[str, Any] = json.loads(json.dumps(rng.choice(_known()[1])))
    parts = list(_places(case))
    for _ in range(rng.randint(0, 3)):
        holder, key = rng.choice(parts)
        try:
            old = holder[key]
        except (KeyError, IndexError, TypeError):
            continue
        changed = mutated(rng, old) if isinstance(old, str) and rng.random() < 0.5 else text(rng)
        holder[key] = rng.choice([changed, rng.choice(_VALUES)])
    return case


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from _places(value[key])


def as_line(rng: random.Random, case: dict[str, Any]) -> str:
    """An object as a text, now and then one that is none."""
    line = json.dumps(case, ensure_ascii=rng.random() < 0.5)
    if rng.random() < 0.1:
        return mutated(rng, line)
    if rng.random() < 0.002:
        return rng.choice(("[", '{"update":', '{"a":[')) * rng.choice((10, 5000, 100_000)) + rng.choice(
            ("", "9" * 5000)
        )
    return line


# What is done with them.


def read_update(rng: random.Random) -> Any:
    line = as_line(rng, record(rng))
    return line, lambda: _parsed(line)


def _parsed(line: str) -> Any:
    case = read_object(line, "an object")
    update = case.get("update")
    if not isinstance(update, str):
        raise Error("update")
    settings = type_of(case), types_of(case), constants_of(case), meaning_of(case), functions_of(case)
    return parse_update(update, *settings).components


def read_operator(rng: random.Random) -> Any:
    wanted, settings = text(rng), {"type": _type(rng), "types": {}, "semantics": rng.choice(("wrap", "math"))}
    return (wanted, settings), lambda: parse_operator(wanted, settings).components


def read_claims(rng: random.Random) -> Any:
    line = as_line(rng, claim(rng))
    return line, lambda: read_claim(read_object(line, "a claim"))


def read_row(rng: random.Random) -> Any:
    values: dict[str, Any] = dict.fromkeys(OPERATORS, 0) | {"id": 1, "semantics": rng.choice(("wrap", "math"))}
    for key in ("operator", "identity", "right_identity"):
        values[key] = rng.choice([text(rng), rng.choice(["MIN", "0, MAX", "inf", "k", None])])
        if rng.random() < 0.05:
            values[key] = rng.choice([0, 1.5, b"x + y", None])
    scope = rng.choice(["i32", "u8|u16", "signed", "float,*", "bool", "*,*", "i33", "", ",", "|", 5, None, "i32,u8"])

    def read() -> Any:
        own = next(parse_scope(scope).members()) if isinstance(scope, str) else (SCALARS[0],)
        row = Row(tuple(values.values()), own)
        return row.components, row.identity, row.right_identity

    return (values, scope), read


def read_options(rng: random.Random) -> Any:
    """What `check` is given on the command line: --type, --types, --const, --function."""
    names = [rng.choice(_NAMES) for _ in range(rng.randint(0, 3))]
    texts = {
        "types": ",".join(f"{name}={_type(rng)}" for name in names),
        "const": ",".join(names),
        "function": f"{rng.choice(_NAMES)}: {_type(rng)}, {_type(rng)} -> {_type(rng)}",
    }
    for key, written in texts.items():
        if rng.random() < 0.4:
            texts[key] = mutated(rng, written)
    update, own = text(rng), _type(rng)

    def read() -> Any:
        case = {"type": own, "types": _typed_names(texts["types"]), "const": _names(texts["const"])}
        case |= {"functions": _functions((texts["function"],))} if len(names) == 1 else {}
        return parse_update(
            update, type_of(case), types_of(case), constants_of(case), meaning_of(case), functions_of(case)
        ).components

    return (update, own, texts), read


def answered(rng: random.Random) -> Any:
    line = as_line(rng, record(rng))
    return line, lambda: json.dumps(batch_line(line, 0.2)[0])


KINDS: dict[str, Callable[[random.Random], Any]] = {
    "update": read_update, "operator": read_operator, "claim": read_claims, "row": read_row, "options": read_options,
    "answer": answered,
}  # fmt: skip

# How it is watched.

_FORBIDDEN = ("open", "import", "os.", "subprocess.", "socket.", "shutil.", "ctypes.dlopen", "code.__new__", "pickle.")
_watching = False
_seen: list[str] = []


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if _watching and (event == "exec" or event.startswith(_FORBIDDEN)):
        _seen.append(f"{event} {arguments!r:.100}")


class TooSlow(BaseException):
    """An input took more than its share of CPU."""


def _too_slow(*_: object) -> None:
    raise TooSlow


@contextmanager
def watched(seconds: float, audited: bool) -> Iterator[None]:
    """Raises `TooSlow` after so much CPU; with `audited`, `RuntimeError` if files are opened or code is run."""
    global _watching
    old = signal.signal(signal.SIGVTALRM, _too_slow)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    _seen.clear()
    _watching = audited
    try:
        yield
    finally:
        _watching = False
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, old)
    if _seen:
        raise RuntimeError(f"it did what no reading does: {_seen[0]}")


def depth(value: Any) -> int:
    """How deep expressions are nested."""
    deepest, waiting = 0, [(value, 0)]
    seen: set[tuple[int, int]] = set()
    while waiting:
        node, level = waiting.pop()
        deepest = max(deepest, level)
        if isinstance(node, tuple):
            waiting += [(part, level) for part in node]
        elif isinstance(node, Expr) and (id(node), level) not in seen and len(seen) < 200_000:
            seen.add((id(node), level))
            waiting += [(part, level + 1) for part in getattr(node, "args", ())]
    return deepest


def attempt(kind: str, seed: str) -> tuple[str, str]:
    """("read", "refused" or "FAILED", what went wrong) of the input that the seed makes."""
    made, read = KINDS[kind](random.Random(seed))
    answering = kind == "answer"
    try:
        with watched(20.0 if answering else MOST_SECONDS, not answering):
            result = read()
    except (Error, click.UsageError) as error:
        said = str(error)
        return ("refused", "") if 0 < len(said) <= MOST_MESSAGE else ("FAILED", f"an error of {len(said)} characters")
    except (Exception, TooSlow) as error:
        return "FAILED", f"{type(error).__name__}: {error!s:.200} of {made!r:.300}"
    if not answering and depth(result) > MOST_DEPTH:
        return "FAILED", f"{depth(result)} deep: {made!r:.300}"
    return "read", ""


def run(kind: str, seed: str, count: int) -> tuple[Counter[str], list[str]]:
    """How many of `count` inputs were read, refused, or failed; and what failed."""
    counts: Counter[str] = Counter()
    failures = []
    for number in range(count):
        outcome, said = attempt(kind, f"{seed} {number}")
        counts[outcome] += 1
        if outcome == "FAILED":
            failures.append(f"attempt({kind!r}, '{seed} {number}'): {said}")
    return counts, failures


def prepare() -> None:
    """Loads what is imported late, so that the watch sees no imports, and starts it; it cannot be stopped."""
    _known()
    sys.addaudithook(_watch)
    for kind in KINDS:
        run(kind, "warm", 3 if kind == "answer" else 200)


def _chunk(task: tuple[str, str, int]) -> tuple[str, Counter[str], list[str]]:
    return (task[0], *run(*task))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1_000_000, help="inputs that are read")
    parser.add_argument("--answers", type=int, default=2000, help="updates that are answered whole")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", default="0")
    parser.add_argument("--kind", choices=KINDS, help="this kind alone")
    options = parser.parse_args()
    prepare()
    read = [kind for kind in KINDS if kind != "answer" and options.kind in (None, kind)]
    chunk = 2000
    tasks = [
        (kind, f"{options.seed} {at}", min(chunk, options.count // len(read) - at * chunk))
        for kind in read
        for at in range(-(-(options.count // len(read)) // chunk))
    ]
    if options.kind in (None, "answer"):
        tasks = [("answer", f"{options.seed} {at}", 50) for at in range(options.answers // 50)] + tasks
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    began, failed = time.perf_counter(), 0
    with multiprocessing.get_context("fork").Pool(options.jobs) as pool:
        for kind, found, failures in pool.imap_unordered(_chunk, tasks):
            counts[kind] += found
            failed += len(failures)
            for failure in failures[:5]:
                print(failure, flush=True)
    for kind, found in counts.items():
        print(f"{kind:10}" + "".join(f"{found[word]:9} {word}" for word in ("read", "refused", "FAILED")))
    total = sum(found.total() for found in counts.values())
    print(f"seed {options.seed!r}: {total} inputs in {time.perf_counter() - began:.0f} s, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
