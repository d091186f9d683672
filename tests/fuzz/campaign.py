"""Many programs: run in children, counted, and those that fail made small."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from queue import SimpleQueue

from tests.fuzz.execute import passes_of
from tests.fuzz.program import Program, parsed, pasteable
from tests.fuzz.shrink import shrunk
from tests.fuzz.workers import Answer, Worker, is_defect


@dataclass
class Failure:
    """A program that failed, made small."""

    seed: int
    kind: str
    script: str
    detail: str


@dataclass
class Summary:
    """What a campaign found."""

    kinds: Counter[str] = field(default_factory=Counter)
    used: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    proved: Counter[str] = field(default_factory=Counter)
    """Obligations of bounds, where these are verified."""
    reasons: Counter[str] = field(default_factory=Counter)
    """Why whole programs were refused, invalid or skipped."""
    failures: list[Failure] = field(default_factory=list)

    def add(self, answer: Answer) -> None:
        """Count one program."""
        kind: str = answer["kind"]
        self.kinds[kind if not is_defect(kind) else "defect"] += 1
        self.used.update(answer.get("used", {}))
        self.refused.update(answer.get("refused", {}))
        self.proved.update(answer.get("proved", {}))
        if not is_defect(kind) and kind != "agree":
            self.reasons[f"{kind}: {_general(answer['detail'])}"] += 1

    def lines(self) -> Iterator[str]:
        """As text."""
        yield f"programs {self.kinds.total()}: " + ", ".join(f"{n} {kind}" for kind, n in self.kinds.most_common())
        yield "directives (accepted/refused): " + ", ".join(
            f"{name} {self.used[name]}/{self.refused[name]}" for name in sorted({*self.used, *self.refused})
        )
        for what, count in self.proved.most_common(20):
            yield f"  {count} {what}"
        for reason, count in self.reasons.most_common(12):
            yield f"  {count} x {reason}"
        for failure in self.failures:
            yield f"seed {failure.seed}: {failure.kind}"


def _general(message: str) -> str:
    """A message without the names and numbers of one program."""
    words = ("#" if any(c.isdigit() for c in word) else word for word in message.splitlines()[0].split())
    return " ".join(words)[:110] if message else ""


def campaign(
    seeds: range,
    jobs: int,
    progress: Callable[[Summary], None],
    failed: Callable[[Failure], None],
    *,
    shrinks: int = 400,
    code: bool = True,
    prove: bool = False,
) -> Summary:
    """Run every seed, without machine code unless `code`; with `prove`, verify its bounds instead.

    `progress` is called after each program, `failed` for each failure, in this thread.
    """
    summary = Summary()
    free: SimpleQueue[Worker] = SimpleQueue()
    workers = [Worker() for _ in range(jobs)]
    for worker in workers:
        free.put(worker)

    def one(seed: int) -> tuple[Answer, Failure | None]:
        worker = free.get()
        try:
            answer = worker.run({"seed": seed, "code": code, "passes": passes_of(seed), "prove": prove})
            return answer, failure(seed, answer, worker, shrinks, prove) if is_defect(answer["kind"]) else None
        finally:
            free.put(worker)

    waiting: set[Future[tuple[Answer, Failure | None]]] = set()
    rest = iter(seeds)
    try:
        with ThreadPoolExecutor(jobs) as pool:
            while True:
                while len(waiting) < jobs and (seed := next(rest, None)) is not None:
                    waiting.add(pool.submit(one, seed))
                if not waiting:
                    break
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    answer, found = future.result()
                    summary.add(answer)
                    if found is not None:
                        summary.failures.append(found)
                        failed(found)
                    progress(summary)
    finally:
        for worker in workers:
            worker.stop()
    return summary


def failure(seed: int, answer: Answer, worker: Worker, tries: int, prove: bool = False) -> Failure:
    """A failure made small, if there is a program yet."""
    kind = answer["kind"]
    if not answer["text"]:
        return Failure(seed, kind, "", answer["detail"])
    original = parsed(answer["text"])
    best, code = answer, False

    def fails(program: Program) -> bool:
        nonlocal best
        found = worker.run({"text": program.text(), "code": code, "passes": passes_of(seed), "prove": prove})
        if found["kind"] not in (kind, kind.replace("compiled, ", "")):
            return False
        best = found
        return True

    # What is wrong before machine code is made is found without making it.
    again = fails(original)
    if not again:
        code = True
        again = fails(original)
    small = shrunk(original, fails, tries) if again else original
    return Failure(seed, kind, pasteable(small, best.get("expected", "")), best["detail"])
