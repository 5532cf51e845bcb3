"""The fit of the reader's weights runs to its end: what it judges by is still open when the weights are there."""

import ast

from benchmarks import reader_weights
from kgrag import KnowledgeBase
from kgrag.llm.extractive.sentence_ranking import CERTAINTY_WEIGHTS, FEATURES
from kgrag.model import Document
from kgrag.testing import HashEmbedder

PAGE = "The delay of rounds is three seconds. Ann Lee keeps the ferry. The ferry leaves at noon."
ASKED = (("How long is the delay of rounds?", "three"), ("Who keeps the ferry?", "Ann Lee"))


def opened(packages, folder, half):
    kb = KnowledgeBase(folder, embedder=HashEmbedder())
    kb.add_many([Document(text=PAGE, title="Rounds", id="page")])
    kb.build("passages")
    return kb


def test_both_tuples_of_weights_are_printed(monkeypatch, capsys, tmp_path):
    rows = [{"kind": "term", "question": asked, "answers": [answer], "file": "page"} for asked, answer in ASKED]
    monkeypatch.setattr(reader_weights, "knowledge_base", opened)
    monkeypatch.setattr(reader_weights, "questions", lambda _: rows)
    monkeypatch.setattr(reader_weights, "SentenceTransformerEmbedder", HashEmbedder)
    monkeypatch.setattr(reader_weights, "_SETS", {})
    reader_weights.main([str(tmp_path)])
    printed = dict(line.split(" = ") for line in capsys.readouterr().out.splitlines())
    assert len(ast.literal_eval(printed["WEIGHTS"])) == len(FEATURES)
    assert len(ast.literal_eval(printed["CERTAINTY_WEIGHTS"])) == len(CERTAINTY_WEIGHTS)
