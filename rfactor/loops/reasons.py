"""Why no operator was found, in the words of the loop."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from rfactor.ir.expr import Expr, Var
from rfactor.ir.printer import show
from rfactor.loops.body import Reading, Slot
from rfactor.loops.update import Abstracted
from rfactor.matcher.answer import Answer

_RUNS = re.compile(
    r"from (?P<alike>.+?) the data \((?P<first>.*?)\) and \((?P<second>.*?)\) both lead to (?P<end>.+?), "
    r"but from (?P<apart>.+?) they lead to (?P<one>.+?) and (?P<other>.+?)(;|$)"
)


def reason_of(form: Abstracted, answer: Answer, slots: Sequence[Slot], reading: Reading) -> tuple[str, str, str]:
    """The reason, its heading in docs/refusals.md, and what to do."""
    who = list(dict.fromkeys(s.name for s in slots))
    if answer.verdict != "not_associative":
        update = ", ".join(show(_named(c, form.meanings, reading, slots)) for c in form.update.components)
        return (
            f"no operator was found for {', '.join(who)} := {update} ({answer.reason})", "R8",
            "a longer timeout= may help, or a simpler update",
        )  # fmt: skip
    reason = (
        f"no operator joins two runs of steps, as {' and '.join(who)} after the second depends on all that came before"
    )
    told = _RUNS.search(answer.reason or "")
    if told:
        names = ", ".join(s.name if s.part == "value" else f"{s.name} ({s.part})" for s in slots)
        first, second = (_run(told[k], form.meanings, reading) for k in ("first", "second"))
        reason += (
            f": the runs {first} and {second} end alike where {names} begins at {told['alike']} (at {told['end']}), "
            f"and apart where it begins at {told['apart']} (at {told['one']} and {told['other']})"
        )
    return reason, "R7", "the loop is serial: keep it, or accumulate something else"


def _run(text: str, meanings: Mapping[str, Expr], reading: Reading) -> str:
    """The data of a run: a list where each step has one number."""
    steps = [dict(pair.split(" = ", 1) for pair in step.split(", ") if " = " in pair) for step in text.split(" then ")]
    names = {n.rstrip("'0123456789") if "'" in n else n for s in steps for n in s}
    if len(names) == 1 and all(len(s) == 1 for s in steps):
        return f"[{', '.join(next(iter(s.values())) for s in steps)}]"
    shown = []
    for step in steps:
        shown.append(", ".join(f"{_word(n, meanings, reading)}={v}" for n, v in step.items()))
    return "[" + "; ".join(shown) + "]"


def _word(name: str, meanings: Mapping[str, Expr], reading: Reading) -> str:
    """A datum as the loop's text has it."""
    expr = meanings.get(name)
    return name if expr is None else show(_named(expr, {}, reading))


def _named(expr: Expr, meanings: Mapping[str, Expr], reading: Reading, slots: Sequence[Slot] = ()) -> Expr:
    """An expression with the words of the loop's text for what is read."""
    from rfactor.ir.expr import substitute

    words: dict[str, Expr] = {}
    for name, datum in reading.data.items():
        if datum.word:
            words[name] = Var(datum.var.type, datum.word)
    for k, slot in zip(range(len(slots)), slots, strict=True):
        if slot.part == "value":
            words[f"x{k}"] = Var(slot.var.type, slot.name)
    return substitute(substitute(expr, dict(meanings)), words)
