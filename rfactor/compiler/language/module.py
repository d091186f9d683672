"""`Module`: what a pipeline is compiled to, before it is written to files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rfactor.compiler.language.arguments import OutputFileType
from rfactor.compiler.language.keywords import also_named
from rfactor.compiler.language.public import public
from rfactor.compiler.language.target import Target, machine
from rfactor.compiler.numbered import Numbered
from rfactor.errors import AlgorithmError

if TYPE_CHECKING:
    from rfactor.compiler.language.buffer import Buffer
    from rfactor.compiler.outputs import Made


class LinkageType(Numbered):
    """Who sees a function. All functions are seen by everyone, and there are no descriptions of them."""

    External = 0
    ExternalPlusMetadata = 1
    ExternalPlusArgv = 2
    Internal = 3


class NameMangling(Numbered):
    """How the name of a function is written for linkers. All are those of C."""

    Default = 0
    C = 1
    CPlusPlus = 2


@public
class Module:
    """A name, a target, and what was compiled: a function of one's own (`f.compile_to_module`), other modules."""

    def __init__(self, name: str, target: Target) -> None:
        self._name, self._target = name, target
        self._made: Made | None = None
        self._modules: list[Module] = []
        self._buffers: list[Buffer] = []
        self._renamed: dict[str, str] = {}

    @classmethod
    def of(cls, made: Made, target: Target) -> Module:
        """The module of one function."""
        module = cls(made.name, target)
        module._made = made
        return module

    def name(self) -> str:
        """Its name: of a module of one function, the function's."""
        return self._name

    def target(self) -> Target:
        """The machine that it is for."""
        return self._target

    @also_named(buffer="module")
    def append(self, module: Module | Buffer) -> None:
        """Put another module into it, or keep an array with it: those that code reads are a part of the code."""
        if isinstance(module, Module):
            self._modules.append(module)
        else:
            self._buffers.append(module)

    def submodules(self) -> list[Module]:
        """The modules put into it."""
        return list(self._modules)

    def buffers(self) -> list[Buffer]:
        """The arrays kept with it."""
        return list(self._buffers)

    def resolve_submodules(self) -> Module:
        """It, with the functions of its modules as its own: they are so in any case."""
        return self

    def remap_metadata_name(self, from_: str, to: str) -> None:
        """Call an argument otherwise in descriptions of the function: there are none."""
        self._renamed[from_] = to

    def get_metadata_name_map(self) -> dict[str, str]:
        """The names that were given to arguments for descriptions."""
        return dict(self._renamed)

    def get_auto_scheduler_results(self) -> Any:
        """Raises `NotImplementedError`."""
        raise NotImplementedError("Module.get_auto_scheduler_results is not there: there are no autoschedulers")

    def set_auto_scheduler_results(self, results: Any) -> None:
        """Raises `NotImplementedError`."""
        raise NotImplementedError("Module.set_auto_scheduler_results is not there: there are no autoschedulers")

    def compile_to_buffer(self) -> Buffer:
        """The object file as an array of bytes."""
        import numpy as np

        from rfactor.compiler.language.buffer import Buffer

        content = self._only(OutputFileType.object).content(OutputFileType.object)
        assert isinstance(content, bytes)
        return Buffer(np.frombuffer(content, np.uint8))

    def compile(self, outputs: Mapping[OutputFileType, str]) -> None:
        """Write files: of several functions, static libraries and headers.

        Nothing is written if any of them cannot be made: `NotImplementedError`, `AlgorithmError` of an empty module.
        """
        from rfactor.compiler.outputs import joined, write

        write([(name, joined(kind, self.functions())) for kind, name in outputs.items()])

    def functions(self) -> list[Made]:
        """All functions in it. Raises `AlgorithmError` if there is none."""
        found = [self._made] if self._made is not None else []
        for module in self._modules:
            found += module.functions()
        if not found:
            raise AlgorithmError(f"the module {self._name} has no function: f.compile_to_module(…) makes one that has")
        return found

    def _only(self, kind: OutputFileType) -> Made:
        found = self.functions()
        if len(found) > 1:
            raise NotImplementedError(f"{kind.name} of a module of several functions is not there: write a library")
        return found[0]

    def __repr__(self) -> str:
        return f"<halide.Module '{self._name}'>"


def link_modules(name: str, modules: Sequence[Module]) -> Module:
    """One module of several. Raises `AlgorithmError` for modules of several targets."""
    if len({str(module.target()) for module in modules}) > 1:
        targets = ", ".join(f"{module.name()} for {module.target()}" for module in modules)
        raise AlgorithmError(f"link_modules takes modules for one target, not {targets}")
    linked = Module(name, modules[0].target() if modules else Target())
    for module in modules:
        linked.append(module)
    return linked


def compile_standalone_runtime(
    filename: str | Mapping[OutputFileType, str] | None = None,
    target: Target | None = None,
    *,
    outputs: Mapping[OutputFileType, str] | None = None,
) -> dict[OutputFileType, str] | None:
    """Write an object file to link programs with: it is empty, as compiled functions need none.

    `compile_standalone_runtime("rt.o", target)`, or `({OutputFileType.object: "rt.o"}, target)`, also of a static
    library, which gives what was written. Raises `NotImplementedError` for other kinds.
    """
    from rfactor.compiler.outputs import archive, write
    from rfactor.native.engine import Linkable

    asked = filename if outputs is None else outputs
    files = asked if isinstance(asked, Mapping) else {OutputFileType.object: str(asked)}
    content = Linkable("", machine(target)).object()
    made = []
    for kind, name in files.items():
        if kind not in (OutputFileType.object, OutputFileType.static_library):
            raise NotImplementedError(f"compile_standalone_runtime of {kind.name} is not there: an object is")
        whole = archive([("runtime.o", content, [])]) if kind == OutputFileType.static_library else content
        made.append((name, whole))
    write(made)
    return dict(files) if isinstance(asked, Mapping) else None
