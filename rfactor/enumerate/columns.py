"""Whether the columns of a row say the same of its operator: what is not a theorem but can be computed."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from rfactor.enumerate.prove import open_components
from rfactor.ir.expr import leaves
from rfactor.ir.printer import show
from rfactor.table.mirror import mirrored, root
from rfactor.table.prints import fingerprint, kind_of
from rfactor.table.row import Row
from rfactor.table.scope import parse_scope

_IDENTITIES = {"two-sided": (True, False), "left": (True, False), "right": (False, True), "none": (False, False)}
"""Whether a row has `identity` and `right_identity`, by its kind."""


def wrong_columns(row: Row, prints: Collection[int]) -> Iterator[str]:
    """What is wrong with a row as it is stored, its laws aside.

    `prints` are those of the rows of its class.
    """
    components, scope = row.components, parse_scope(row.column("types"))
    if row.column("components") != len(scope.open):
        yield f"{row.column('components')} components in types {scope.text}"
    if row.leaves != sum(map(leaves, components)):
        yield f"{row.leaves} leaves of {', '.join(map(show, components))}"
    if row.root != ",".join(map(root, components)):
        yield f"root {row.root} of {', '.join(map(show, components))}"
    if any(said and not is_open for said, is_open in zip(scope.open, open_components(components), strict=True)):
        yield "a component of any type is computed with"
    if (row.column("identity") is not None, row.column("right_identity") is not None) != _IDENTITIES[row.identity_kind]:
        yield f"an identity of kind {row.identity_kind} is in another column, or missing"
    sides = {"two-sided": ("left", "right"), "left": ("left",), "right": ("right",), "none": ()}[row.identity_kind]
    said = {True: ["commutative"], False: ["not_commutative"], None: []}[row.commutative]
    claims = ["associative", *(f"{side}_identity" for side in sides), *said]
    if sorted(proof["claim"] for proof in row.proofs) != sorted(claims):
        yield f"its columns say {', '.join(claims)}, its proofs are of other claims"
    if next((proof.get("method") for proof in row.proofs if proof["claim"] == "associative"), None) != row.method:
        yield f"associativity by {row.method} is not what its proofs say"
    kind = kind_of(row.types[0], row.meaning)
    try:
        own = fingerprint(components, kind)
        turned = fingerprint(mirrored(row.column("operator"), row.types, scope.text), kind)
    except KeyError as error:
        yield f"an operation that no table holds: {error}"
        return
    if row.column("print") != own:
        yield "its print is not that of its operator"
    # Where a law holds at some types alone, a row and the mirror of another may have one class.
    if not {own, turned}.issuperset(prints):
        yield f"class {row.klass} is of another function"


__all__ = ["wrong_columns"]
