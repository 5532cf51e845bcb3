"""Answers of every method over a page and data of an invented world, scored from build to verdict with recorded replies.

The replies were written for this test by a reader of the prompts. Where a prompt changes, its reply is missing, and is
to be recorded again (``benchmarks/model/README.md``).
"""

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from benchmarks.model.asking import METHODS, asked, questions_in, run
from benchmarks.model.judging import answer_items, tally
from benchmarks.model.keeping import Fact, facts_kept
from benchmarks.model.planting import planted
from kgrag.model import Prompt
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder, ScriptedModel

WORLD = Path(__file__).parents[1] / "benchmarks" / "model" / "world"
REPLIES = {row["prompt"]: row["reply"] for row in map(json.loads, (WORLD / "replies.jsonl").read_text().splitlines())}
QUESTIONS = [one for one in questions_in(WORLD / "questions.jsonl") if one.id in {"w01", "w03", "w11", "o02", "o05"}]
TELLING = {"w01": "18", "w03": "8 centimetres", "o02": "Swift", "o05": "27"}


def recorded(prompt: Prompt) -> str:
    key = hashlib.sha256(prompt.text.encode()).hexdigest()[:16]
    assert key in REPLIES, f"no reply was recorded for this prompt of {prompt.name}:\n{prompt.text}"
    return REPLIES[key]


@pytest.fixture(scope="module")
def into(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    for method in METHODS:
        sources = [WORLD / "harbour.ttl"] if method == "obqc" else [WORLD / "manuals.ttl", WORLD / "gate-controller.md"]
        parts = {"model": ScriptedModel(recorded), "embedder": HashEmbedder()}
        run(folder, method, sources=sources, questions=QUESTIONS, settings=Settings(concurrency=1), **parts)
    return folder


@pytest.fixture(scope="module")
def lines(into: Path) -> list[dict[str, Any]]:
    return [line for method in METHODS for line in asked(into / f"{method}.jsonl")]


def test_every_method_answers_what_its_sources_state_and_nothing_else(lines: list[dict[str, Any]]) -> None:
    answers = {(line["method"], line["id"]): line for line in lines if "build" not in line}
    assert len(answers) == 4 * 3 + 2
    for (method, question), line in answers.items():
        assert line["unknown"] == (question == "w11"), (method, question, line["explain"])
        assert TELLING.get(question, "") in line["answer"]
    assert [line["pending"] for line in lines if "build" in line] == [[]] * len(METHODS)


def test_citations_of_every_method_name_what_their_sentence_is_about(lines: list[dict[str, Any]]) -> None:
    for line in (line for line in lines if line.get("method") not in (None, "obqc")):
        for sentence in line["sentences"]:
            cited = " ".join(one["quote"] for one in sentence["citations"])
            needed = {
                "w01": ["rise_limit", "18"],
                "w03": ["8 centimetres" if "differ" in sentence["text"] else "upper"],
            }
            assert all(word in cited for word in needed[line["id"]]), (line["method"], sentence)
            assert 1 <= len(sentence["citations"]) <= 2  # the second names the lock


def test_items_have_no_method_and_verdicts_become_counts(lines: list[dict[str, Any]]) -> None:
    items = answer_items(lines)
    assert Counter(item["kind"] for item in items) == {"answer": 10, "carries": 15}
    assert not any(method in json.dumps(item) for item in items for method in METHODS)
    verdicts = {
        item["id"]: {"verdict": "right"} if item["kind"] == "answer" else {"carries": "yes", "useless": []}
        for item in items
    }
    counts = tally(lines, verdicts)
    assert {method: (count["right"], count["wrong"], count["unknown"]) for method, count in counts.items()} == {
        "og_rag": (3, 0, 0),
        "obqc": (2, 0, 0),
        "poly_rag": (3, 0, 0),
        "cg_rag": (3, 0, 0),
        "sire_rag": (3, 0, 0),
    }


@pytest.mark.parametrize("elsewhere", [False, True], ids=["from nowhere", "of something else"])
def test_no_false_number_passes(into: Path, elsewhere: bool) -> None:
    parts = {"model": ScriptedModel(recorded), "embedder": HashEmbedder()}
    for method in ("og_rag", "cg_rag", "sire_rag"):
        questions = [one for one in QUESTIONS if one.is_for(method)]
        found = planted(into, method, questions, settings=Settings(), elsewhere=elsewhere, **parts)
        assert found
        assert all(line.startswith("refused") for line in found), found


def test_every_fact_of_a_reply_is_in_the_hypergraph_with_the_name_of_its_thing(into: Path) -> None:
    parts = {"model": ScriptedModel(recorded), "embedder": HashEmbedder()}
    held, lost = facts_kept(into, [WORLD / "manuals.ttl", WORLD / "gate-controller.md"], settings=Settings(), **parts)
    assert lost == []
    assert Fact("rise_limit", "default value", "18") in held
