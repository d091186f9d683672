"""Run the examples of one function's docstring, plain and decorated: what the second process of `wild` does."""

from __future__ import annotations

import contextlib
import copy
import doctest
import importlib.util
import io
import random
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.loops.subject import decorator, refusal


class Watched(doctest.DocTestRunner):
    """A run that sorts the examples that fail: refused, wrong, or crashed."""

    def __init__(self, refusals: tuple[type[BaseException], ...] = ()) -> None:
        super().__init__(verbose=False)
        self.refusals = refusals
        self.refused: list[BaseException] = []
        self.calls = 0
        self.answered = 0
        """Calls of the function that were not refused."""
        self.faults: list[tuple[str, str]] = []
        """Status and detail of each example that fails."""
        self._before = (0, 0)

    def watch(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap the function so that its refusals are seen wherever they are caught."""

        def call(*args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            try:
                result = function(*args, **kwargs)
            except self.refusals as error:
                self.refused.append(error)
                raise
            except BaseException:
                self.answered += 1
                raise
            self.answered += 1
            return result

        return call

    def report_start(self, out: Any, test: doctest.DocTest, example: doctest.Example) -> None:
        """Note how many calls there were before an example."""
        self._before = (self.calls, len(self.refused))

    def _explained(self) -> bool:
        """Return True where an example fails because it, or one before that it builds on, was refused."""
        calls, refused = self._before
        return len(self.refused) > refused or (bool(self.refused) and self.calls == calls)

    def report_failure(self, out: Any, test: doctest.DocTest, example: doctest.Example, got: str) -> None:
        """Keep an example whose output is another one."""
        told = f"{example.source.strip()}\nexpected: {example.want.strip()}\ngot: {got.strip()}"
        self.faults.append(("refused" if self._explained() else "wrong", told))

    def report_unexpected_exception(
        self, out: Any, test: doctest.DocTest, example: doctest.Example, exc_info: Any
    ) -> None:
        """Keep an example that raises what it does not expect."""
        told = f"{example.source.strip()}\n{''.join(traceback.format_exception(*exc_info)[-4:])}"
        self.faults.append(("refused" if self._explained() else "crash", told))


_modules: dict[str, ModuleType] = {}


def _module(root: Path, path: str) -> ModuleType:
    """Import a file of the collection, once in a process."""
    if path not in _modules:
        for folder in (str(root), str((root / path).parent)):
            if folder not in sys.path:
                sys.path.append(folder)
        name = path.removesuffix(".py").replace("/", ".")
        spec = importlib.util.spec_from_file_location(name, root / path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        _modules[path] = module
    return _modules[path]


def run(
    module: ModuleType, name: str, call: Callable[..., Any] | None, refusals: tuple[type[BaseException], ...]
) -> Watched:
    """Run the examples of a function of a module, with another form in its place if one is given."""
    function = getattr(module, name)
    watched = Watched(refusals)
    runs = watched.watch(function if call is None else call)
    random.seed(0)
    # Examples may change lists of the module that they pass on: each run has its own.
    fresh = {k: copy.deepcopy(v) if type(v) in (list, dict, set) else v for k, v in vars(module).items()}
    for test in doctest.DocTestFinder(recurse=False).find(function, name, module, globs=fresh):
        test.globs[name] = runs
        setattr(module, name, runs)
        try:
            with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                watched.run(test, out=lambda text: None, clear_globs=False)
        finally:
            setattr(module, name, function)
    return watched


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Judge one function: excluded where it cannot be imported or its examples fail plain."""
    fold, refusals = decorator(request["plain"])
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = _module(Path(request["root"]), request["path"])
        function = getattr(module, request["name"])
    except (Exception, SystemExit) as error:
        return {"status": "excluded", "detail": f"import: {type(error).__name__}: {error}"}
    plain = run(module, request["name"], None, ())
    if plain.faults or not plain.calls:
        return {"status": "excluded", "detail": plain.faults[0][1] if plain.faults else "it is not called"}
    if request["check"]:
        return {"status": "counted"}
    begun = time.perf_counter()
    try:
        call = fold(function)
    except refusals as error:
        return {"status": "refused", "seconds": time.perf_counter() - begun, "refusal": refusal(error)}
    watched = run(module, request["name"], call, refusals)
    told: dict[str, Any] = {"seconds": time.perf_counter() - begun, "answered": watched.answered}
    for status in ("crash", "wrong"):
        for found, detail in watched.faults:
            if found == status:
                return {**told, "status": status, "detail": detail}
    if watched.refused:
        return {**told, "status": "refused", "refusal": refusal(watched.refused[0])}
    return {**told, "status": "right"}
