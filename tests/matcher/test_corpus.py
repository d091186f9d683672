"""Every update of the corpus gets the verdict it deserves, and every claim of the answer holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rfactor.cli.check import batch_line
from tests.matcher.oracle import Judge

CORPUS = Path(__file__).parent.parent / "corpus"
CLASSES = sorted(path.stem for path in CORPUS.glob("*.jsonl"))


def cases(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CORPUS / f"{name}.jsonl").read_text().splitlines() if line.strip()]


@pytest.mark.parametrize("name", CLASSES)
def test_verdicts_are_right_and_every_claim_survives_an_independent_judge(name: str) -> None:
    wrong = []
    for case in cases(name):
        answer, read = batch_line(json.dumps(case), 10.0)
        assert read, answer
        answer = json.loads(json.dumps(answer))
        expected = case["expect"]
        if answer["verdict"] not in expected["verdict"]:
            wrong.append((case["id"], answer["verdict"], answer["reason"]))
        elif answer["verdict"] in ("associative", "lifted"):
            wrong += [
                (case["id"], key, answer[key])
                for key in ("commutative", "identity_kind")
                if expected.get(key) is not None and expected[key] != answer[key]
            ]
        else:
            assert answer["reason"], case["id"]
            assert answer["verdict"] == "unknown" or answer["counterexample"], case["id"]
        Judge(answer, case.get("const", ())).check()
    assert not wrong


def test_the_corpus_has_positives_and_negatives_of_every_class() -> None:
    everything = [case for name in CLASSES for case in cases(name)]
    assert len(everything) >= 150
    for name in CLASSES:
        verdicts = {verdict for case in cases(name) for verdict in case["expect"]["verdict"]}
        assert verdicts & {"associative", "lifted"}, name
        assert verdicts & {"not_associative", "unknown"}, name
    assert len({case["id"] for case in everything}) == len(everything)
