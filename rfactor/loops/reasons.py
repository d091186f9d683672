"""Why no operator was found, in the words of the loop."""

from __future__ import annotations

from collections.abc import Sequence

from rfactor.ir.printer import show
from rfactor.loops.body import Slot
from rfactor.loops.update import Abstracted
from rfactor.matcher.answer import Answer


def reason_of(form: Abstracted, answer: Answer, slots: Sequence[Slot]) -> tuple[str, str, str]:
    """The reason, its heading in docs/refusals.md, and what to do."""
    who = ", ".join(dict.fromkeys(s.name for s in slots))
    if answer.verdict == "not_associative":
        return (
            f"no operator joins two runs of steps, as {who} after the second depends on all that {who} was before it",
            "R7", "the loop is serial: keep it, or accumulate something else",
        )  # fmt: skip
    return (
        f"no operator was found for {who} := {', '.join(show(c) for c in form.update.components)} ({answer.reason})",
        "R8", "a longer timeout= may help, or a simpler update",
    )  # fmt: skip
