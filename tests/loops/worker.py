"""A second process that answers requests: what crashes, hangs or takes all memory there does not end this one.

Requests and answers are JSON, a line each. `python -m tests.loops.worker MODULE:FUNCTION [MIB]` is the other side:
FUNCTION takes the request and gives the answer.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import selectors
import signal
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


class Died(Exception):
    """Raised where the process ended, or did not answer in time, while it worked at a request."""


class Worker:
    """One process, started when it is first asked and again after it has died."""

    def __init__(self, target: str, mebibytes: int = 0, cwd: Path | None = None) -> None:
        self.target = target
        self.mebibytes = mebibytes
        """The limit of its address space; 0: none."""
        self.cwd = cwd
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, request: Any, timeout: float) -> Any:
        """Give the answer to a request; raise `Died` after `timeout` seconds without one or when the process ends."""
        if self._process is None:
            command = [sys.executable, "-m", "tests.loops.worker", self.target, str(self.mebibytes)]
            path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).strip(os.pathsep)
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                cwd=self.cwd,
                env=os.environ | {"PYTHONPATH": path},
            )
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
        except BrokenPipeError:
            raise self._died() from None
        with selectors.DefaultSelector() as waiting:
            waiting.register(process.stdout, selectors.EVENT_READ)
            if not waiting.select(timeout):
                process.kill()
                self._process = None
                process.wait()
                raise Died(f"no answer in {timeout:g} s")
        line = process.stdout.readline()
        if not line:
            raise self._died()
        return json.loads(line)

    def _died(self) -> Died:
        """Say how the process ended."""
        assert self._process is not None
        code = self._process.wait()
        self._process = None
        return Died(signal.Signals(-code).name if code < 0 else f"exit status {code}")

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            try:
                self._process.wait(2)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None


def main() -> None:
    """Answer the requests on standard input; what the work prints goes nowhere."""
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 1)
    if len(sys.argv) > 2 and int(sys.argv[2]):
        limit = int(sys.argv[2]) << 20
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    requests = os.fdopen(os.dup(0), "rb")
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    module, _, name = sys.argv[1].partition(":")
    answer = getattr(importlib.import_module(module), name)
    for line in requests:
        try:
            told = answer(json.loads(line))
        except Exception:
            told = {"status": "crash", "detail": traceback.format_exc()}
        answers.write(json.dumps(told).encode() + b"\n")


if __name__ == "__main__":
    main()
