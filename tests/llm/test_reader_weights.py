"""The fit of the reader's weights runs to its end: what it judges by is still open when the weights are there."""

import ast

from benchmarks import reader_weights
from benchmarks.reader_weights import Ranking
from kgrag import KnowledgeBase
from kgrag.llm.extractive.question_words import read_question
from kgrag.llm.extractive.sentence_ranking import CERTAINTY_WEIGHTS, FEATURES
from kgrag.model import Document
from kgrag.testing import HashEmbedder

PAGE = "The delay of rounds is three seconds. Ann Lee keeps the ferry. The ferry leaves at noon."
ASKED = (("How long is the delay of rounds?", "three"), ("Who keeps the ferry?", "Ann Lee"))


def opened(packages, folder, half, file):
    kb = KnowledgeBase(folder, embedder=HashEmbedder())
    kb.add_many([Document(text=PAGE, title="Rounds", id="page")])
    kb.build("passages")
    return kb


def test_both_tuples_of_weights_are_printed(monkeypatch, capsys, tmp_path):
    same = {"kind": "term", "file": "page"}
    rows = [same | {"question": asked, "answers": [answer], "package": asked} for asked, answer in ASKED]
    monkeypatch.setattr(reader_weights, "knowledge_base", opened)
    monkeypatch.setattr(reader_weights, "questions", lambda *_: rows)
    monkeypatch.setattr(reader_weights, "SentenceTransformerEmbedder", HashEmbedder)
    monkeypatch.setattr(reader_weights, "_SETS", {})
    reader_weights.main([str(tmp_path)])
    printed = dict(line.split(" = ") for line in capsys.readouterr().out.splitlines() if " = " in line)
    assert len(ast.literal_eval(printed["WEIGHTS"])) == len(FEATURES)
    assert len(ast.literal_eval(printed["CERTAINTY_WEIGHTS"])) == len(CERTAINTY_WEIGHTS)


def test_a_world_is_judged_by_weights_that_its_own_questions_did_not_make(monkeypatch):
    fitted_on = []

    def certainty(rankings, weights):
        fitted_on.append({one.asked for one in rankings})
        return reader_weights.np.zeros(len(CERTAINTY_WEIGHTS))

    monkeypatch.setattr(reader_weights, "_certainty", certainty)
    question = read_question("Who keeps the ferry?", [])
    worlds = {"Who?": "ferry", "When?": "ferry", "Where?": "", "Why?": None}
    rankings = [
        Ranking(asked, question, [], reader_weights.np.zeros(0), 1.0, bool, world) for asked, world in worlds.items()
    ]
    judged = reader_weights.left_out(rankings)
    assert [one.asked for one, *_ in judged] == ["Where?", "Who?", "When?"]
    assert fitted_on == [{"Who?", "When?", "Why?"}, {"Where?", "Why?"}]
