"""The words around an answer are in the language of its question."""

import pytest

from kgrag.answering.cited_answers import answer
from kgrag.answering.reply_words import in_language_of, reply_words
from kgrag.cli.printing import answer_text
from kgrag.llm.extractive import ExtractiveModel
from kgrag.model import Answer, Citation
from kgrag.server.pages.interface_language import catalogue
from kgrag.store.oxigraph import OxigraphStore

NEAREST = Citation("Der Vertrag ist lang.", "urn:d", "urn:c", 3, 9)


@pytest.mark.parametrize(
    ("question", "label"),
    [
        ("Wie hoch ist die Kaution?", "Nächste Stellen:"),
        ("Quelle est la durée de la garantie ?", "Passages les plus proches:"),
        ("How high is the deposit?", "Nearest passages:"),
    ],
)
def test_nearest_passages_are_named_in_the_language_of_the_question(question: str, label: str) -> None:
    assert label in answer_text(Answer(question, "-", "auto", unknown=True, nearest=(NEAREST,)))


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ("Wie hoch ist die Kaution?", "Die gefundenen Belege enthalten keine Antwort."),
        ("Quelle est la durée de la garantie ?", "Les passages trouvés ne contiennent pas de réponse."),
    ],
)
def test_that_there_is_no_answer_is_said_in_the_language_of_the_question_where_nothing_was_found(
    question: str, says: str
) -> None:
    assert answer(question, [], model=ExtractiveModel(), store=OxigraphStore.open(None), method="auto").text == says


def test_words_of_a_citation_follow_the_question() -> None:
    found = Answer("Wie hoch ist die Kaution?", "4 EUR.", "auto", citations=(NEAREST,), confidence=0.5)
    assert ", Zeichen 3-9" in answer_text(found)


def test_german_words_are_those_of_the_pages_and_french_has_the_same() -> None:
    pages, german = catalogue("de"), reply_words("de")
    shared = german.keys() & pages.keys()
    assert len(shared) >= 9
    assert {words: german[words] for words in shared} == {words: pages[words] for words in shared}
    assert reply_words("fr").keys() == german.keys()
    assert in_language_of("Wie hoch ist es?", "no such words") == "no such words"
