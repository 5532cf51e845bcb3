"""PolyRAG answers from the text behind the rows of a query, and goes on where that text does not answer."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kgrag import KnowledgeBase
from kgrag.model import Answer
from kgrag.testing import ScriptedModel
from tests.methods.test_poly_rag_growth import farm, thing

PRICES = """PREFIX f: <https://example.org/farm#>
SELECT ?price WHERE { ?plant f:price ?price }"""
TEXT = "Brena costs a price of 9 if it is bought in May.\n\nBrena was bred in Oslo.\n\nBo Oak sells it."
WORDED = "The price of Brena is 9, where the text says: “Brena costs a price of 9 if it is bought in May.”"
QUESTION = "What may somebody pay for such a plant, and where?"
UNKNOWN = {"unknown": True, "sentences": [], "not_stated": ""}


def said(*sentences: tuple[str, int, str], not_stated: str = "") -> dict[str, Any]:
    """Return a reply of sentences, each with the number of a piece of evidence and words of it."""
    cited = [{"text": text, "citations": [{"evidence": at, "quote": quote}]} for text, at, quote in sentences]
    return {"unknown": False, "sentences": cited, "not_stated": not_stated}


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel({})


@pytest.fixture
def read(tmp_path: Path, model: ScriptedModel) -> Iterator[KnowledgeBase]:
    facts = {"things": [thing("Brena", "plant", price="9")], "triples": []}
    model._replies = {"poly_rag/facts": json.dumps(facts)}
    with farm(tmp_path, model, TEXT) as kb:
        kb.build("poly_rag")
        model.prompts.clear()
        yield kb


def asked(
    kb: KnowledgeBase,
    model: ScriptedModel,
    *replies: dict[str, Any],
    sparql: str = PRICES,
    question: str = QUESTION,
    method: str = "poly_rag",
) -> Answer:
    insufficient = json.dumps({"sufficient": False, "answers": []})
    model._replies = {"obqc/ask": sparql, "poly_rag/sufficient": insufficient}
    if replies:
        model._replies["answering/answer"] = [json.dumps(reply) for reply in replies]
    model._turns.clear()
    return kb.ask(question, method=method)


def layers(answer: Answer) -> list[str]:
    return [line for line in answer.explain if line.startswith(("ontology", "graph", "text"))]


def test_a_row_is_answered_from_the_text_that_states_it_with_its_condition(
    read: KnowledgeBase, model: ScriptedModel
) -> None:
    answer = asked(read, model, said(("It costs 9 if it is bought in May.", 2, "a price of 9 if it is bought in May")))
    shown = model.prompts[-1].variables["evidence"]
    assert [(one["kind"], one["text"]) for one in shown] == [("row", WORDED), ("passage", TEXT)]
    assert (answer.sentences, layers(answer)) == (("It costs 9 if it is bought in May.",), ["ontology: answered"])
    assert [one.text for one in answer.values] == ["9"]
    assert "if it is bought in May" in answer.citations[answer.values[0].citation].quote
    assert answer.sparql == PRICES and len(model.prompts) == 2


def test_that_a_query_was_cut_off_is_told_beside_an_answer_from_its_rows(
    read: KnowledgeBase, model: ScriptedModel
) -> None:
    reply = said(("It costs 9 if it is bought in May.", 2, "a price of 9 if it is bought in May"))
    twice = PRICES.replace("WHERE {", "WHERE { VALUES ?time { 1 2 }")
    answer = asked(read, model, reply, sparql=twice, method="poly_rag:rows=1")
    cut, doubt = answer.text.splitlines()[1:]
    assert (cut, doubt.partition(": ")[0]) == ("The query was cut off after 1 rows.", "Caution")


def test_rows_that_do_not_answer_leave_the_question_to_the_layers_below(
    read: KnowledgeBase, model: ScriptedModel
) -> None:
    answer = asked(read, model, UNKNOWN, said(("Bo Oak sells it.", 1, "Bo Oak sells it")))
    assert answer.sentences == ("Bo Oak sells it.",)
    assert layers(answer) == [
        "ontology: did not answer: what it found does not carry an answer",
        "graph: did not answer: there is no triple",
        "text: answered",
    ]


def test_what_rows_answer_in_part_is_completed_by_text_or_stays(
    read: KnowledgeBase, model: ScriptedModel, tmp_path: Path
) -> None:
    part = said(("It costs 9.", 2, "a price of 9 if it is bought in May"), not_stated="the town")
    answer = asked(read, model, part)
    assert (answer.not_stated, [one.name for one in model.prompts].count("answering/answer")) == ("the town", 1)
    (tmp_path / "shop.txt").write_text("Bo Oak has a shop in Bath, where he sells plants.")
    read.ingest(tmp_path / "shop.txt")
    whole = said(("It costs 9.", 1, "a price of 9 if it is bought in May"), ("Bo Oak sells it in Bath.", 2, "Bath"))
    answer = asked(read, model, part, whole, question="In what town may somebody buy such a plant?")
    assert answer.sentences == ("It costs 9.", "Bo Oak sells it in Bath.")
    answer = asked(read, model, part, UNKNOWN, question="Which town has such a plant?")
    assert (answer.sentences, answer.not_stated) == (("It costs 9.",), "the town")
    assert layers(answer)[::2] == [
        "ontology: answered, but left open 'the town'",
        "text: did not answer: what it found does not carry an answer",
    ]


@pytest.mark.parametrize(
    "sparql",
    [PRICES, "PREFIX f: <https://example.org/farm#> SELECT (COUNT(?price) AS ?n) WHERE { ?plant f:price ?price }"],
)
def test_rows_stay_as_they_are_for_a_model_that_only_queries_and_where_they_were_counted(
    read: KnowledgeBase, model: ScriptedModel, sparql: str
) -> None:
    replies = [] if sparql == PRICES else [UNKNOWN]
    answer = asked(read, model, *replies, sparql=sparql)
    assert "The price of Brena is 9" in answer.text
    assert layers(answer) == ["ontology: answered"]


ALTERED = """The version that altered the list of plants is below.

Brena was altered in version 2.

Corva was altered in version 5.

Delta was altered in version 9, the last version."""


@pytest.fixture
def versions(tmp_path: Path, model: ScriptedModel) -> Iterator[KnowledgeBase]:
    things = [thing(name, "plant", price=price) for name, price in (("Brena", "2"), ("Corva", "5"), ("Delta", "9"))]
    model._replies = {"poly_rag/facts": json.dumps({"things": things, "triples": []})}
    with farm(tmp_path, model, ALTERED) as kb:
        kb.build("poly_rag")
        yield kb


def quotes(answer: Answer, sentence: int) -> list[str]:
    return [one.quote for one in answer.citations if one.sentence == sentence]


def test_a_sentence_that_orders_rows_cites_them_all_and_one_that_does_not_its_own(
    versions: KnowledgeBase, model: ScriptedModel
) -> None:
    reply = said(
        ("Brena was altered in version 2, the first.", 4, "Brena was altered in version 2"),
        ("Corva was altered in version 5.", 4, "Corva was altered in version 5"),
        ("Delta was altered in version 9, the last version.", 4, "Delta was altered in version 9, the last version"),
    )
    answer = asked(versions, model, reply, question="Which plant was altered first, and which then?")
    by_sentence = [[quote.rstrip(".") for quote in quotes(answer, at)] for at in range(3)]
    stated = [part.rstrip(".") for part in ALTERED.split("\n\n") if "was altered" in part]
    assert by_sentence == [stated, stated[1:2], stated[2:]]  # the text itself says what is last, not what is first
    assert answer.text.startswith("Brena was altered in version 2, the first. [1][2][3] Corva")
    assert [one.text in answer.citations[one.citation].quote for one in answer.values] == [True] * 3


def test_a_sentence_that_orders_parts_of_one_sentence_cites_it_whole(tmp_path: Path, model: ScriptedModel) -> None:
    text = "Brena costs 2, Corva costs 5, and Delta costs 9."
    things = [thing(name, "plant", price=price) for name, price in (("Brena", "2"), ("Corva", "5"), ("Delta", "9"))]
    model._replies = {"poly_rag/facts": json.dumps({"things": things, "triples": []})}
    with farm(tmp_path, model, f"Prices are below.\n\n{text}") as kb:
        kb.build("poly_rag")
        reply = said(("Corva is the next dearest, at 5.", 4, "Brena costs 2, Corva costs 5"))
        answer = asked(kb, model, reply, question="Which plant is the next dearest?")
    assert quotes(answer, 0) == [text]
    assert [one.citation for one in answer.values if one.text == "5"] == [0]
