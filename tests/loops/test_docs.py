"""Test the pages on folds: their code runs, and prints what they say."""

import json
import re
import subprocess
import sys

import pytest

from tests.loops.notebook import PATH, executed
from tests.loops.pages import ROOT, blocks_of, ran

PAGES = ["docs/fold.md", "docs/refusals.md"]


@pytest.mark.parametrize("name", PAGES)
def test_the_code_of_a_page_runs_and_prints_what_it_says(name, tmp_path):
    for block in ran(blocks_of((ROOT / name).read_text()), tmp_path):
        if block.text is not None:
            assert _stable(block.printed) == _stable(block.text), f"{name}:{block.line}"


def _stable(text):
    """Leave out why nothing was found: faster machines come to the end of other searches."""
    return re.sub(r"\([^()]*\) \[R8\]", "[R8]", text)


def test_each_kind_of_refusal_has_its_page_and_its_message():
    page = (ROOT / "docs/refusals.md").read_text()
    parts = re.split(r"^## (R\d+)", page, flags=re.M)[1:]
    kinds = dict(zip(parts[::2], parts[1::2], strict=True))
    assert list(kinds) == [f"R{k}" for k in range(1, 11)]
    for kind, part in kinds.items():
        messages = [b.text for b in blocks_of(part) if b.text]
        assert any(f"[{kind}]" in text for text in messages), kind
        assert "Write instead" in part, kind


def test_links_of_the_pages_lead_somewhere():
    for name in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)", (ROOT / name).read_text()):
            assert (ROOT / "docs" / target).exists(), target


@pytest.mark.parametrize("name", ["fold_drawdown", "fold_text", "fold_refused"])
def test_examples_run(name):
    done = subprocess.run([sys.executable, ROOT / f"examples/{name}.py"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_the_notebook_runs_and_shows_what_it_says(tmp_path):
    notebook = json.loads(PATH.read_text())
    shown = [c["outputs"] for c in notebook["cells"] if c["cell_type"] == "code"]
    again = [c["outputs"] for c in executed(notebook, tmp_path)["cells"] if c["cell_type"] == "code"]

    def kinds(outputs):
        return [[o["output_type"], sorted(o.get("data", ()))] for o in outputs]

    assert [kinds(a) for a in shown] == [kinds(b) for b in again]
    assert shown[0] == again[0]
    assert shown[3] == again[3]
