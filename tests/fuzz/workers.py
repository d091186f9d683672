"""Child processes that run programs, so that one that crashes or hangs takes nothing else with it.

A child reads jobs as lines of JSON and writes what becomes of them as lines of JSON.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import select
import signal
import subprocess
import sys
import warnings
from contextlib import suppress
from typing import Any

from tests.fuzz.program import Program, parsed

CPU_SECONDS = 30.0
"""Of one program, at most; what takes longer is skipped."""
WALL_SECONDS = 240.0
"""After which a child counts as hung."""
JOBS_OF_A_CHILD = 400
_MEMORY = 6 << 30

Answer = dict[str, Any]


class TimeUp(BaseException):
    """A program took too long."""


def serve() -> None:
    """The child: run jobs until there are none."""
    from tests.fuzz.execute import PASSES, run_program, run_seed

    gc.freeze()

    answers, sys.stdout = sys.stdout, sys.stderr
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    signal.signal(signal.SIGPROF, _time_up)
    warnings.simplefilter("ignore")

    def told(program: Program) -> None:
        print(json.dumps({"running": program.text()}), file=answers, flush=True)

    for line in sys.stdin:
        job = {"code": True, "passes": PASSES, "prove": False, **json.loads(line)}
        how = (job["code"], job["passes"], job["prove"])
        seconds = job.get("seconds", CPU_SECONDS)
        signal.setitimer(signal.ITIMER_PROF, seconds)
        try:
            outcome = (
                run_seed(job["seed"], told, *how) if "seed" in job else run_program(parsed(job["text"]), told, *how)
            )
            answer = {
                "kind": outcome.kind, "text": outcome.program.text(), "detail": outcome.detail,
                "expected": outcome.expected, "used": outcome.used, "refused": outcome.refused,
                "proved": outcome.proved,
            }  # fmt: skip
        except TimeUp:
            answer = {"kind": "skipped", "detail": f"more than {seconds:.0f} seconds of CPU", "text": ""}
        signal.setitimer(signal.ITIMER_PROF, 0)
        print(json.dumps(answer), file=answers, flush=True)


def _time_up(*_: Any) -> None:
    raise TimeUp


class Worker:
    """A child and its jobs, one at a time."""

    def __init__(self) -> None:
        self.child: subprocess.Popen[str] | None = None
        self.jobs = 0
        self.last = ""
        self.read = b""
        """Of the child's lines, what has come and is not looked at yet."""

    def run(self, job: dict[str, Any]) -> Answer:
        """What becomes of one job: a seed, or the text of a program."""
        self.start(job)
        return self.finish()

    def start(self, job: dict[str, Any]) -> None:
        """Hand a job over."""
        if self.child is None or self.jobs >= JOBS_OF_A_CHILD:
            self.stop()
            environment = {**os.environ, "OMP_NUM_THREADS": "4", "PYTHONHASHSEED": "0"}
            self.child = subprocess.Popen(
                [sys.executable, "-X", "faulthandler", "-m", "tests.fuzz", "--serve"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, bufsize=1,
                env=environment,
            )  # fmt: skip
            self.jobs = 0
        assert self.child.stdin is not None
        self.jobs += 1
        self.last = job.get("text", "")
        with suppress(BrokenPipeError):
            print(json.dumps(job), file=self.child.stdin, flush=True)

    def finish(self) -> Answer:
        """Wait for its answer."""
        assert self.child is not None
        assert self.child.stdout is not None
        while True:
            # What `select` waits for must not lie in a buffer of Python's already: the lines are cut here.
            while b"\n" not in self.read:
                ready, _, _ = select.select([self.child.stdout], [], [], WALL_SECONDS)
                if not ready:
                    self.stop()
                    return {"kind": "hang", "text": self.last, "detail": f"no answer in {WALL_SECONDS:.0f} seconds"}
                more = os.read(self.child.stdout.fileno(), 1 << 16)
                if not more:
                    code = self.child.wait()
                    self.stop()
                    name = signal.Signals(-code).name if code < 0 else f"exit {code}"
                    return {"kind": f"crash {name}", "text": self.last, "detail": f"the process ended: {name}"}
                self.read += more
            line, self.read = self.read.split(b"\n", 1)
            answer: Answer = json.loads(line)
            if "running" not in answer:
                return answer
            self.last = answer["running"]

    def stop(self) -> None:
        """End the child."""
        if self.child is not None:
            self.child.kill()
            self.child.wait()
            self.child, self.read = None, b""


def is_defect(kind: str) -> bool:
    """Whether an answer of this kind is a defect of the compiler (or of its references)."""
    return kind.startswith(("disagree", "internal", "crash", "hang"))
