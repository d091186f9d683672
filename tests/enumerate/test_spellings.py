"""Spellings: every one is its row's function, none that the grammar has is missing, none that is false is believed."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rfactor.enumerate.backend import Serial
from rfactor.enumerate.groups import groups
from rfactor.enumerate.run import Parameters, generate
from rfactor.enumerate.spellings import spellings
from rfactor.enumerate.verify import check_spelling, verify
from rfactor.ir.evaluate import evaluate
from rfactor.ir.expr import Expr, Var, apply, select
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_tuple
from rfactor.ir.printer import show
from rfactor.ir.types import I8, U8, Type
from rfactor.ir.widthless import canonical_at
from rfactor.table.export import exported
from rfactor.table.merge import merge
from rfactor.table.store import Table, open_table


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    path = tmp_path_factory.mktemp("spellings") / "t.db"
    generate(path, Parameters(("u8", "i8"), (4, 5), (1, 2), ("wrap",), 0), Serial())
    return open_table(path)


def written(table: Table, operator: str, type_: Type) -> set[str]:
    (row,) = table.alike(parse_tuple(operator, dict.fromkeys(("x0", "y0", "k"), type_), (type_,)), (type_,))
    return {text for text, _ in table.spellings.get(row.id, ())}


def values(text: str, type_: Type) -> np.ndarray:
    every = np.arange(256, dtype=np.uint8).view("u1" if type_ is U8 else "i1")
    few = np.array([0, 1, 2, 3, 100, 127, 128, 200, 255], np.uint8).view(every.dtype)
    x, y, k = (part.ravel() for part in np.meshgrid(every, every, few, indexing="ij"))
    (expr,) = parse_tuple(text, dict.fromkeys(("x0", "y0", "k"), type_), (type_,))
    return np.broadcast_to(evaluate(expr, {"x0": x, "y0": y, "k": k}, Meaning.WRAP), x.shape)


def test_a_function_is_listed_as_it_may_be_written(table: Table):
    assert "x0 + y0 - max(x0, y0)" in written(table, "min(x0, y0)", I8)
    assert "max(x0, y0) * min(x0, y0)" in written(table, "x0*y0", U8)
    assert not any("min(x0, x0" in text for text in written(table, "min(x0, y0)", I8))


@pytest.mark.parametrize("type_", [I8, U8])
def test_every_spelling_is_its_row_on_all_values(table: Table, type_: Type):
    seen = 0
    for row in table.rows((type_,)):
        for text, _ in table.spellings.get(row.id, ()):
            assert (values(text, type_) == values(row.column("operator"), type_)).all(), text
            seen += 1
    assert seen > 10


def trees(size: int, type_: Type) -> list[Expr]:
    """All trees of the grammar, simply."""
    if size == 1:
        return [Var(type_, name) for name in ("x0", "y0", "k")]
    found: list[Expr] = []
    for s in range(1, size):
        for a, b in itertools.product(trees(s, type_), trees(size - s, type_)):
            found += [apply(op, a, b) for op in ("+", "-", "*", "min", "max")]
    if size == 4:
        leaves = trees(1, type_)
        for p, q, a, b in itertools.product(leaves, repeat=4):
            found += [select(apply(c, p, q), a, b) for c in ("<", "==") if p != q and a != b]
    return found


def test_no_spelling_is_missing_to_three_leaves_and_of_selects_to_four(table: Table):
    listed: dict[bytes, set[str]] = {}
    for row in table.rows((I8,)):
        texts = {row.column("operator")} | written(table, row.column("operator"), I8)
        listed.setdefault(values(row.column("operator"), I8).tobytes(), set()).update(texts)
    own = [*trees(2, I8), *trees(3, I8), *(tree for tree in trees(4, I8) if show(tree).startswith("select"))]
    compared = 0
    for text in {show(canonical_at(tree, I8)) for tree in own}:
        known = listed.get(values(text, I8).tobytes())
        if known is not None and text not in ("x0", "y0") and not known & {"x0", "y0"}:
            assert text in known
            compared += 1
    assert compared > 12


def test_what_is_false_is_refuted(table: Table):
    (row,) = table.alike(parse_tuple("min(x0, y0)", {"x0": I8, "y0": I8}, (I8,)), (I8,))
    assert check_spelling(row, "x0 + y0 - max(x0, y0)").result == "proved"
    assert check_spelling(row, "x0 - max(x0 - y0, k)").result == "refuted"


def test_trees_that_agree_on_samples_alone_are_left_out(monkeypatch: pytest.MonkeyPatch):
    (signed,) = groups([I8], [Meaning.WRAP])
    row: dict[str, Any] = {"class": 1, "types": "i8", "components": 1, "operator": "min(x0, y0)"}
    found = {one["operator"] for one in spellings(signed, [row], 4, 0)}
    monkeypatch.setattr("rfactor.enumerate.spellings._POINTS", 2)
    again = {one["operator"] for one in spellings(signed, [row], 4, 0)}
    assert again <= found


def test_an_open_component_is_only_moved_in_every_spelling():
    (signed,) = groups([I8], [Meaning.WRAP])
    row = {"class": 1, "types": "i8,*", "components": 2, "operator": "min(x0, y0), select(x0 < y0, x1, y1)"}
    for one in spellings(signed, [row], 6, 0):
        assert one["operator"].endswith(("x1, y1)", "y1, x1)"))


def test_a_spelling_that_computes_with_an_open_component_is_not_believed():
    row = next(r for r in open_table().subtable((I8, I8), "min,select") if r.column("types").endswith("*"))
    first, second = row.column("operator").split(", ", 1)
    assert check_spelling(row, row.column("operator")).result == "proved"
    assert check_spelling(row, f"{first}, {second} + x1 - x1").result == "unknown"


def test_verifying_proves_spellings_and_merging_keeps_them(table: Table, tmp_path: Path):
    claims = [check for check in verify(table) if check.claim.startswith("spelling")]
    held = sum(map(len, table.spellings.values()))
    assert len(claims) >= held > 20
    assert {check.result for check in claims} == {"proved"}
    merge(tmp_path / "one.db", [table])
    again = open_table(tmp_path / "one.db")
    assert [row["operator"] for row in exported(again)] == [row["operator"] for row in exported(table)]
    assert sum(map(len, again.spellings.values())) == held


def test_spellings_are_exported_with_the_class_and_the_laws_of_their_row(table: Table):
    rows = [row for row in exported(table) if row["types"] == ["i8"]]
    (own,) = [row for row in rows if row["operator"] == ["min(x0, y0)"]]
    (other,) = [row for row in rows if row["operator"] == ["x0 + y0 - max(x0, y0)"]]
    assert other == {**own, "operator": other["operator"], "leaves": 4, "root": "-"}


def test_what_its_own_results_or_identity_lead_out_of_has_no_spellings():
    # max(x0, y0) = x0 + y0 - min(x0, y0) of all reals, but not at the identity -inf; -(x0 * y0) is min(-(x0 * y0), y0)
    # of naturals, but not of what it makes of them.
    shipped = open_table()
    for types, columns in (shipped[row] for row in shipped.spellings):
        assert columns["semantics"] == "wrap"
        assert not any(type_.is_float for type_ in types.types)


def test_the_shipped_table_has_spellings():
    shipped = open_table()
    listed = [text for found in shipped.spellings.values() for text, _ in found]
    assert len(listed) > 1000
