"""Text of what is shared: linear in the distinct parts, for statements, pages, expressions and messages."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import rfactor as hl
from rfactor.errors import NoTruthValue
from rfactor.ir.expr import Expr, Var, apply, const
from rfactor.ir.loopnest import Assert, Let
from rfactor.ir.nest_printer import show_nest
from rfactor.ir.printer import brief, show
from rfactor.ir.types import BOOL, I32

x, y = hl.Var("x"), hl.Var("y")


def inlined(depth: int) -> hl.Func:
    """A function whose value is a tree of 2**depth leaves, and some 3*depth distinct nodes."""
    f = hl.Func("f")
    f[x] = x
    for i in range(depth):
        f, inner = hl.Func(f"f{i}"), f
        f[x] = hl.max(inner[x] ^ i, inner[x])
    return f


def doubled(depth: int) -> hl.Expr:
    e = x + 0
    for i in range(depth):
        e = hl.max(e ^ i, e)
    return e


def written_out(text: str) -> str:
    """The lines of a nest with what `let .t0 = …` stands for in its place."""
    names: dict[str, str] = {}
    lines = []
    for line in text.splitlines():
        line = re.sub(r"\.t\d+", lambda found: names[found[0]] if found[0] in names else found[0], line)
        found = re.fullmatch(r" *let (\.t\d+) = (.*)", line)
        if found is None:
            lines.append(line)
        else:
            names[found[1]] = found[2]
    return "".join(f"{line}\n" for line in lines)


def test_a_statement_is_as_long_as_its_distinct_parts(tmp_path: Path) -> None:
    def size(depth: int, format: hl.StmtOutputFormat) -> int:
        file = tmp_path / f"{depth}"
        inlined(depth).compile_to_lowered_stmt(str(file), [], format)
        return len(file.read_text())

    for format in (hl.StmtOutputFormat.Text, hl.StmtOutputFormat.HTML):
        sizes = [size(depth, format) for depth in (20, 30, 40)]
        assert abs((sizes[2] - sizes[1]) - (sizes[1] - sizes[0])) < 200 > sizes[2] // 100


def test_what_is_named_stands_for_what_is_written_out() -> None:
    value: Expr = Var(I32, "x")
    for i in range(6):
        value = apply("max", apply("^", value, const(I32, i)), value)
    end = Assert(const(BOOL, True), "")
    text = show_nest(Let("f", value, Let("g", apply("-", value, value), Let("h", Var(I32, "x"), Let("i", value, end)))))
    assert ".t1" in text
    whole = show(value)
    assert (
        written_out(text)
        == f"let f = {whole}\nlet g = {whole} - {whole}\nlet h = x\nlet i = {whole}\nassert True: ''\n"
    )


def test_a_short_part_is_written_wherever_it_occurs() -> None:
    assert ".t" not in inlined(3).lowered()
    assert ".t0" in inlined(6).lowered()


def test_text_of_an_expression_is_as_long_as_its_distinct_parts() -> None:
    assert "let" not in str(doubled(3))
    text = str(doubled(5))
    assert re.search(r"\(let \.t0 = max\(.*\) in max\(.*bitwise_xor\(\.t0, \d\), \.t0\)\)", text)
    assert len(str(doubled(200))) < 200 * 200
    assert len(str(sum([x] * 3000, hl.Expr(0)))) > 3000  # deeper than Python's stack


def test_messages_cut_long_expressions() -> None:
    with pytest.raises(NoTruthValue) as told:
        bool(doubled(200))
    assert str(told.value).startswith("max(max(")
    assert "… ^ 196" in str(told.value)
    assert len(str(told.value)) < 600
    short = doubled(3).node
    assert brief(short) == show(short) == f"{doubled(3)}"


class Page(HTMLParser):
    """Which elements are open, and the text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.texts.append(data)


def _pipelines() -> list[hl.Func]:
    a, b = hl.ImageParam(hl.Int(32), 2, "a<b>&c"), hl.ImageParam(hl.Int(32), 1, "b")
    r, n = hl.RDom([hl.Range(1, 99)], "r"), hl.Param(hl.Int(32), "n")
    ro, ri, u = hl.RVar("ro"), hl.RVar("ri"), hl.Var("u")
    compared, total, scan = hl.Func("compared<i>"), hl.Func("total"), hl.Func("scan")
    compared[x, y] = a[x, y] < 3
    total[()] = 0
    total[()] += b[r.x]
    total.update().split(r.x, ro, ri, 10)
    total.update().rfactor(ro, u).compute_root().update().parallel(u)
    scan[x] = b[x]
    scan[r.x] = scan[r.x - 1] + scan[r.x]
    rows, sliding = hl.Func("rows"), hl.Func("sliding")
    rows[x, y] = a[x, y]
    sliding[x, y] = rows[x, y] + rows[x, y + 1]
    rows.store_root().compute_at(sliding, y)
    sliding.vectorize(x, 8)
    pair, tuples = hl.Func("pair"), hl.Func("tuples")
    pair[x] = hl.Tuple([x, x * 2])
    tuples[x] = pair[x][0] + pair[x][1]
    pair.compute_root().vectorize(x, 4).parallel(x)
    special = hl.Func("special")
    special[x] = hl.print_when(x < n, x, "<p> & 'q' \"r\"")
    special.specialize(n > 3).vectorize(x, 8)
    special.specialize_fail("a <b>\n  c")
    required = hl.Func("required")
    required[x] = hl.require(n < 3, x, "is </div> too\n large")
    return [compared, total, scan, sliding, tuples, special, required, inlined(8)]


@pytest.mark.parametrize("i", range(8))
def test_a_page_is_well_formed_and_says_what_the_text_says(i: int, tmp_path: Path) -> None:
    f = _pipelines()[i]
    kinds = hl.OutputFileType
    for text, page in ((kinds.stmt, kinds.stmt_html), (kinds.conceptual_stmt, kinds.conceptual_stmt_html)):
        hl.Pipeline(f).compile_to({text: str(tmp_path / "t"), page: str(tmp_path / "p")}, f.infer_arguments(), "p")
        read = Page((tmp_path / "p").read_text())
        assert not read.open
        lines = [line.strip() for line in (tmp_path / "t").read_text().splitlines()]
        said = "".join(read.texts)
        assert all(line in said for line in lines)


def test_other_expressions_have_other_texts() -> None:
    """Texts are names and keys of expressions in places, so they may not be cut."""
    texts = set()
    for constant in range(3):
        expr: Expr = Var(I32, "x")
        for i in range(200):
            expr = apply("max", apply("^", expr, const(I32, 7 if i else constant)), expr)
        texts.add(str(expr))
    assert len(texts) == 3
    assert max(map(len, texts)) < 30_000
