"""Test the loops of docs/gallery.md: the page has their code, and folds of it give what plain Python gives."""

import warnings

import pytest

import rfactor as rf
from benchmarks.fold_loops import LOOPS, agree, arguments, own
from tests.loops.pages import ROOT, blocks_of

PAGE = (ROOT / "docs/gallery.md").read_text()
CODE = [block.code for block in blocks_of(PAGE)]


def test_the_page_has_all_loops():
    assert len(CODE) == len(LOOPS) >= 20
    for loop in LOOPS:
        assert f"## {loop.title}\n" in PAGE


@pytest.mark.parametrize(
    ("loop", "code"), zip(LOOPS, CODE, strict=True), ids=[loop.function.__name__ for loop in LOOPS]
)
def test_the_code_of_the_page_folds_and_is_right(loop, code, tmp_path):
    path = tmp_path / "loops.py"
    path.write_text(code)
    names = {}
    exec(compile(code, str(path), "exec"), names)
    plain = names[loop.function.__name__]
    fold = rf.fold(plain)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in (100, 1000, 70_000):
            args = arguments(loop, n)
            assert agree(fold(*own(args)), plain(*own(args)), loop.approx)
    assert not fold.refusals
    said = fold.explain().loops[0].verdict
    assert f"**{said}**" in PAGE.split(f"## {loop.title}\n")[1].split("\n## ")[0]
