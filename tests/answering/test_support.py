"""Sentences of answers: what they state stands in what they cite, or they are left out."""

import json

import pytest

from kgrag import KnowledgeBase, shacl
from kgrag.answering.cited_answers import PROMPT, answer, with_unsupported
from kgrag.answering.json_forms import answer_json
from kgrag.answering.reply_words import UNKNOWN
from kgrag.answering.support import Ground, unsupported
from kgrag.cli.printing import answer_text
from kgrag.model import Answer, Chunk, Document, Hit, Span
from kgrag.testing import ScriptedModel
from kgrag.text import documents

TEXT = (
    "Soybean is sown in the Southern zone between 15 June and 5 July 2013 at 65 kg per hectare. "
    "In the Central zone, give 1,200 kg of lime to JS 335, at 2 ml per litre, below -5 °C. It was bred in India by Ann Lee."
)
SOWN = "Soybean is sown in the Southern zone between 15 June and 5 July 2013 at 65 kg per hectare."
QUESTION = "How is soybean grown?"


def ask(kb: KnowledgeBase, *sentences: tuple[str, str], question: str = QUESTION) -> Answer:
    document, chunk = Document(TEXT, "Manual"), Chunk(TEXT, 0, len(TEXT), 0, 1)
    kb.store.publish([documents.document_draft(document, [chunk], names=kb.store.names)])
    iri = documents.document_iri(document, kb.store.names)
    span = Span(kb.store.names.chunk(iri, 0, len(TEXT)).value, iri.value, 0, len(TEXT))
    rows = [{"text": text, "citations": [{"evidence": 1, "quote": quote}]} for text, quote in sentences]
    model = ScriptedModel({PROMPT: json.dumps({"unknown": False, "sentences": rows})})
    hit = Hit(span.chunk, "passage", TEXT, 1.0, (span,))
    return answer(question, [hit], model=model, store=kb.store, method="passages")


@pytest.fixture
def kb() -> KnowledgeBase:
    return KnowledgeBase()


def test_a_false_amount_that_cites_a_single_word_is_left_out_and_shown_beside_the_answer(kb: KnowledgeBase) -> None:
    found = ask(kb, ("Sow 80 kg per hectare.", "Soybean"), ("Sow 65 kg per hectare.", "at 65 kg per hectare"))
    assert found.sentences == ("Sow 65 kg per hectare.",)
    assert [(one.sentence, one.missing, one.place) for one in found.unsupported] == [
        ("Sow 80 kg per hectare.", ("80 kg per hectare",), 0)
    ]
    assert found.dropped["unsupported"] == 1
    assert "not supported by what it cites, left out: Sow 80 kg" in answer_text(found)
    assert answer_json(found)["unsupported"][0]["missing"] == ["80 kg per hectare"]
    assert with_unsupported(found).text == (
        "Sow 80 kg per hectare. [not supported: 80 kg per hectare] Sow 65 kg per hectare. [1]"
    )


def test_an_answer_of_which_nothing_is_supported_is_unknown_with_the_reason(kb: KnowledgeBase) -> None:
    found = ask(kb, ("Sow 80 kg per hectare.", "Soybean"))
    assert (found.unknown, found.text, found.citations) == (True, UNKNOWN, ())
    assert "80 kg per hectare" in found.explain[0]
    assert with_unsupported(found).text.startswith("Sow 80 kg per hectare. [not supported")


def test_what_was_left_out_is_kept_with_the_answer_in_a_graph_that_conforms(kb: KnowledgeBase) -> None:
    kb.keep(ask(kb, ("Sow 80 t in Kelmont.", "Soybean"), ("Sow 65 kg per hectare.", "at 65 kg per hectare")))
    rows = kb.query("SELECT ?m WHERE { ?s a kg:UnsupportedSentence ; kg:missing ?m ; kg:text ?t } ORDER BY ?m").values()
    assert [row[0] for row in rows] == ["80 t", "Kelmont"]
    assert shacl.validate(kb.store, shacl.graph_shapes()) == []


def test_a_quote_of_few_words_is_cited_with_its_sentence_and_a_value_with_its_unit_as_it_is(kb: KnowledgeBase) -> None:
    word = ask(kb, ("Soybean is sown.", "Soybean"))
    value = ask(kb, ("It takes 65 kg.", "65 kg"))
    assert [citation.quote for citation in (*word.citations, *value.citations)] == [SOWN, "65 kg"]


@pytest.mark.parametrize("quote", ["the", "It was", "in the"])
def test_a_stop_word_is_no_citation(kb: KnowledgeBase, quote: str) -> None:
    assert ask(kb, ("It was bred.", quote)).unknown


@pytest.mark.parametrize(
    "sentence",
    [
        "The Southern zone sows 65.0kg/ha of soybean.",
        "The southern zone sows sixty-five kilograms a hectare.",
        "Sowing ends on July 5th, 2013.",
        "It is sown from 2013-06-15 to 05/07/2013.",
        "It is sown in June and July 2013.",
        "Central zone: 1200 kg, or 1,200.0 kg.",
        "Give JS335 and JS-335 2 ml/l below −5°C.",
        "Ann Lee, an Indian, bred it.",
        "A. Lee bred it.",
        "There are two zones.",
        "Farmers sow it at 65 kg.",
    ],
)
def test_another_way_of_writing_what_is_cited_is_supported(sentence: str) -> None:
    assert unsupported(sentence, Ground((TEXT,), question=QUESTION)) == []


@pytest.mark.parametrize(
    ("sentence", "missing"),
    [
        ("Sow 56 kg per hectare.", "56 kg per hectare"),
        ("Sow 65 quintals per hectare.", "65 quintals per hectare"),
        ("Sow 65 kg per acre.", "65 kg per acre"),
        ("Sow 65 kg of seed per acre.", "per acre"),
        ("Sow seventy-five kilograms.", "seventy-five kilograms"),
        ("Sow until 6 July.", "6 July"),
        ("Sow until 5 August.", "5 August"),
        ("Sow until 5 July 2014.", "5 July 2014"),
        ("Sow until June 37.", "37 June"),
        ("Keep it below 5 °C.", "5 °c"),
        ("Give 1,200 g of lime.", "1,200 g"),
        ("Give 1.2 kg of lime.", "1.2 kg"),
        ("It was bred in China by Ann Lee.", "China"),
        ("It was bred by Bo Lee.", "Bo Lee"),
        ("Give 2 ml to JS336.", "JS336"),
        ("Use version 5.0.1 of it.", "5.0.1"),
    ],
)
def test_another_number_unit_date_or_name_is_not_supported(sentence: str, missing: str) -> None:
    assert missing in unsupported(sentence, Ground((TEXT,), question=QUESTION))


def test_a_share_or_multiple_in_words_is_stated_in_some_form() -> None:
    ground = Ground(("The new lamp burns a third of what the old one took, and lasts 2 times as long.",))
    wrong = "It burns a quarter of it.", "It burns half of it.", "It lasts three times as long."
    assert [unsupported(one, ground) for one in wrong] == [["a quarter"], ["half"], ["three times"]]
    assert [unsupported(one, ground) for one in ("It burns one third of it.", "It lasts twice as long.")] == [[], []]


def test_a_name_of_another_sentence_than_the_cited_one_is_not_supported() -> None:
    assert unsupported("The Central zone sows 65 kg per hectare.", Ground((SOWN,), shown=TEXT)) == ["Central"]


def test_a_number_of_the_question_is_allowed_where_no_cited_number_is_in_its_place() -> None:
    ground = Ground((SOWN,), question="What of release 4.2 in 1999, at 80 kg per hectare?")
    assert unsupported("In release 4.2 soybean is sown.", ground) == []
    assert unsupported("In 1999 soybean was sown.", ground) == ["1999"]
    assert unsupported("The rate is 80 kg per hectare.", ground) == ["80 kg per hectare"]
    assert unsupported("The rate is not 80 kg per hectare.", ground) == []


@pytest.mark.parametrize(
    ("sentence", "missing"),
    [
        # the number of the question stands where a version belongs, and another clause denies something
        ("With Postfix 554-2.5 the reply code should be 421; 521 will not cause it to disconnect.", ["554"]),
        ("Postfix 554 disconnects.", ["554"]),
        ("With Postfix 2.3-2.5, which includes Postfix 2.4, the reply code should be 421.", []),
        ("The reply code is not 554 but 421.", []),
    ],
)
def test_a_number_of_the_question_is_carried_at_its_own_place(sentence: str, missing: list[str]) -> None:
    cited = "With Postfix 2.3-2.5, use reply code 421 (521 will not cause Postfix to disconnect)."
    cited = cited if "421" in sentence else "Postfix disconnects."
    question = "To make Postfix 2.4 hang up, should the reply code be 421, 521 or 554?"
    assert unsupported(sentence, Ground((cited,), question=question)) == missing


def test_a_heading_names_what_the_cited_sentence_is_about() -> None:
    assert unsupported("Kufri potatoes take 65 kg per hectare.", Ground((SOWN,), ("Kufri potatoes",))) == []


def test_a_capital_in_a_language_that_gives_one_to_every_noun_is_no_name() -> None:
    assert unsupported("Die Aussaat der Sojabohne ist im Sommer mit 65 kg.", Ground((SOWN,))) == []


def test_a_word_that_begins_a_sentence_is_a_name_only_where_the_evidence_has_it_as_one() -> None:
    ground = Ground((SOWN,), shown="Treat it with Quinalphos.")
    assert unsupported("Growers sow in June.", ground) == []
    assert unsupported("Quinalphos is sown in June.", ground) == ["Quinalphos"]


def test_a_bare_number_of_the_question_has_the_unit_that_a_citation_gives_it() -> None:
    taken = "If this value is specified without units, it is taken as milliseconds."
    ground = Ground((taken,), question="We set the time-out to 500. Is that half a minute?")
    assert unsupported("No, it is 500 milliseconds.", ground) == []
    assert unsupported("It is 600 milliseconds.", ground) == ["600 milliseconds"]
    assert unsupported("It is 500 seconds.", ground) == ["500 seconds"]


def test_a_number_is_not_given_to_a_name_that_the_citation_gives_another() -> None:
    ground = Ground(("At $soft_limit (default: 10) it waits; soft_limit (most: 30). The hard limit is not 20.",))
    assert unsupported("It waits at soft_limit (default: 20).", ground) == ["20"]  # found by planting
    assert unsupported("It waits at soft_limit (default: 10), and at soft_limit (most: 30).", ground) == []
    assert unsupported("The hard_limit (default: 20) is another.", ground) == []


@pytest.mark.parametrize(
    ("sentence", "missing"),
    [
        ("In Tilth version 20 and earlier the pump waits.", ["20"]),  # found by planting: 20 is a default here
        ("With Tilth 100 and later 20 errors are allowed.", ["100"]),
        ("In version 2.0 and earlier the pump waits.", []),
        ("Since release 3 it waits for versions 7 and older.", []),
    ],
)
def test_a_number_that_is_cited_as_something_else_is_no_release(sentence: str, missing: list[str]) -> None:
    cited = (
        "Tilth version 2.0 and earlier: the pump waits. Since 3, not before 7. 20 errors (limit: {100}) are allowed."
    )
    ground = Ground((cited,), question="What does Tilth do?")
    assert unsupported(sentence, ground) == missing
