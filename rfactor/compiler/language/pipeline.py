"""`Pipeline`: several functions that are computed together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rfactor.compiler.language.compiled import Compiled
from rfactor.compiler.language.expr import ExprLike
from rfactor.compiler.language.freeze import Outputs, frozen
from rfactor.compiler.language.func import Func
from rfactor.compiler.language.public import public
from rfactor.compiler.language.shorthands import requirement
from rfactor.errors import AlgorithmError, OutOfBounds


@public
class Pipeline(Compiled):
    """The functions given, computed in one call: `Pipeline([f, g]).realize([w, h])` returns one `Buffer` for each."""

    def __init__(self, outputs: Func | Sequence[Func] = ()) -> None:
        """Raises `AlgorithmError` for a function that is given twice."""
        self._outputs = (outputs,) if isinstance(outputs, Func) else tuple(outputs)
        if len(set(map(id, self._outputs))) < len(self._outputs):
            names = ", ".join(func.name() for func in self._outputs)
            raise AlgorithmError(f"a Pipeline is given each function once, not {names}")
        for func in self._outputs:
            func.use()
        self._required: Mapping[str, Any] = {}
        self.prepared: Any = None

    def results(self) -> tuple[Func, ...]:
        """The functions that are computed. Raises `AlgorithmError` where there are none."""
        if not self._outputs:
            raise AlgorithmError("this Pipeline has no outputs: write Pipeline(f), or Pipeline([f, g])")
        return Outputs(self._outputs, self._required) if self._required else self._outputs

    def outputs(self) -> list[Func]:
        """The functions that are computed."""
        return list(self._outputs)

    def defined(self) -> bool:
        """Whether it has outputs."""
        return bool(self._outputs)

    def get_func(self, index: int) -> Func:
        """Function number `index` of all that it needs, producers first. Raises `OutOfBounds` for a number of none."""
        functions = frozen(self.results()).functions
        if not 0 <= index < len(functions):
            raise OutOfBounds(f"get_func({index}): there are {len(functions)} functions in the pipeline, from 0 on")
        return functions[index]

    def add_requirement(self, condition: ExprLike, *told: Any) -> None:
        """Stop with a `BufferError` on entry where `condition`, over parameters and boxes of images and of the outputs
        (`f.output_buffer()`), does not hold.

        What is told is put after it: see `require`. Raises `AlgorithmError` for a condition on anything else.
        """
        boxes = frozenset(
            name for func in self._outputs for image in func.output_images for name in image.entry_names()
        )
        self._required = {**self._required, **requirement("add_requirement", condition, told, boxes)}
        self.prepared = None

    def apply_autoscheduler(self, target: Any = None, autoscheduler_params: Any = None) -> None:
        """Raises `NotImplementedError`."""
        raise NotImplementedError("Pipeline.apply_autoscheduler is not there: there are no autoschedulers")

    def __repr__(self) -> str:
        if not self._outputs:
            return "<halide.Pipeline Pipeline()>"
        return f"<halide.Pipeline [{', '.join(repr(func.name()) for func in self._outputs)}]>"
