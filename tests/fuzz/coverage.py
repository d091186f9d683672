"""What random programs are made of: in how many of them each directive and each name of the language occurs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

import rfactor as hl
from rfactor.compiler.language.placement import Placement
from rfactor.compiler.language.stage import Stage
from rfactor.errors import Error
from tests.fuzz.execute import generate, plain
from tests.fuzz.program import Program
from tests.fuzz.schedules import schedule
from tests.fuzz.session import Session

_NAME = re.compile(r"hl\.((?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*)")
_CALLED = re.compile(r"\.([a-z]\w*)\(")
_FEATURES = {
    "(tuples)": re.compile(r"^f\d+\[.*?\] = \(.*, .*\)$", re.MULTILINE),
    "(several outputs)": re.compile(r"^outputs, mins, sizes = \[\w+, ", re.MULTILINE),
    "(where)": re.compile(r"\.where\("),
    "(param)": re.compile(r"hl\.Param\("),
    "(rfactor of several)": re.compile(r"\.rfactor\(\[\(.*?\), \("),
    "(arrays of other strides)": re.compile(r"np\.(asfortranarray|repeat)|\[::-1\]"),
}


def directives() -> frozenset[str]:
    """All methods of functions and stages that may be directives."""
    return frozenset(name for cls in (Placement, Stage) for name in dir(cls) if not name.startswith("_"))


def features(program: Program) -> frozenset[str]:
    """What occurs in one program."""
    definitions, lines = "\n".join(program.definitions), "\n".join(program.directives)
    found = {f"hl.{name}" for name in _NAME.findall(definitions + "\n" + lines)}
    found |= {f".{name}" for name in _CALLED.findall(lines) if name in directives()}
    return frozenset(
        found | {name for name, pattern in _FEATURES.items() if pattern.search(definitions + "\n" + lines)}
    )


def counted(seeds: Iterable[int]) -> Counter[str]:
    """In how many programs of these seeds each occurs, with the directives that were accepted."""
    counts: Counter[str] = Counter()
    for seed in seeds:
        program, random = generate(seed)
        try:
            session = Session.of(program.definitions)
            schedule(random, session, plain(program))
        except Error:
            counts["(invalid)"] += 1
            continue
        counts["(refused)" if session.why is not None else "(accepted)"] += 1
        counts.update(features(Program(program.definitions, tuple(session.directives))))
    return counts


def lines(counts: Counter[str]) -> Iterator[str]:
    """As text: what there is, most often first, and what is never drawn."""
    for kind in ("(", ".", "hl."):
        own = [(name, count) for name, count in counts.most_common() if name.startswith(kind)]
        yield ", ".join(f"{name} {count}" for name, count in own)
    yield "directives never drawn: " + ", ".join(sorted(name for name in directives() if f".{name}" not in counts))
    language = {name for name in dir(hl) if name[0].islower() and callable(getattr(hl, name))}
    yield "functions never drawn: " + ", ".join(sorted(name for name in language if f"hl.{name}" not in counts))
