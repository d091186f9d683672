"""`VarOrRVar`: a loop, of either kind of variable."""

from __future__ import annotations

from rfactor.compiler.language.public import public
from rfactor.compiler.language.variables import RDom, RVar, Var
from rfactor.errors import TypeMismatch


@public
class VarOrRVar:
    """The name of a loop, and whether it is one of a reduction."""

    def __init__(self, given: str | Var | RVar | RDom, is_rvar: bool = False) -> None:
        """A variable, a one-dimensional domain, or a name and whether it is of a reduction. Raises `TypeMismatch`."""
        self.var, self.rvar = Var(), RVar()
        self.is_rvar = is_rvar or isinstance(given, RVar | RDom)
        if isinstance(given, str):
            self.var, self.rvar = Var(given), RVar(given) if is_rvar else self.rvar
        elif isinstance(given, Var):
            self.var = given
        elif isinstance(given, RVar):
            self.rvar = given
        elif isinstance(given, RDom) and given.dimensions() == 1:
            self.rvar = given[0]
        else:
            raise TypeMismatch(f"VarOrRVar takes a Var, an RVar, a one-dimensional RDom or a name, not {given!r}")

    def name(self) -> str:
        """The name of the loop."""
        return (self.rvar if self.is_rvar else self.var).name()
