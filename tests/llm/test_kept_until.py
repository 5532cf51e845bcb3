"""How long something is kept is answered by when it is deleted, and by no other word with a time."""

import pytest

from kgrag import KnowledgeBase
from kgrag.answering.short_answers import short_answers
from kgrag.llm.extractive.kept_until import asks_kept
from kgrag.model import Citation, Document


def texts(question: str, sentence: str) -> list[str]:
    citation = Citation(sentence, "urn:d", "urn:c", 0, len(sentence))
    return [one.text for one in short_answers(question, [sentence], [citation])]


@pytest.mark.parametrize(
    ("question", "sentence", "value"),
    [
        ("How long is it stored?", "It is deleted after 30 days.", "30 days"),
        ("How long are logs retained?", "Logs are erased after 14 days.", "14 days"),
        ("How long are applications stored?", "Applications are kept for six months.", "six months"),
        ("Wie lange werden die Daten gespeichert?", "Die Daten werden nach 30 Tagen gelöscht.", "30 Tagen"),
        ("Wie lange werden Akten aufbewahrt?", "Akten werden nach zehn Jahren vernichtet.", "zehn Jahren"),
        ("Wie lange werden Akten aufbewahrt?", "Akten werden nach 6 Jahren geprüft.", ""),
        ("Combien de temps sont-elles conservées ?", "Elles sont supprimées après 30 jours.", "30 jours"),
        ("Combien de temps sont-elles conservées ?", "Elles sont effacées au bout de 30 jours.", "30 jours"),
        ("Combien de temps sont-elles conservées ?", "Elles sont contrôlées après 30 jours.", ""),
    ],
)
def test_what_is_deleted_after_a_time_is_kept_so_long(question: str, sentence: str, value: str) -> None:
    assert texts(question, sentence) == ([value] if value else [])


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("How long is the data kept?", "The data is deleted after 30 days."),
        ("How long are applications stored?", "Applications are kept for six months."),
        ("Wie lange werden die Daten gespeichert?", "Die Daten werden nach 30 Tagen gelöscht."),
        ("Combien de temps les données sont-elles conservées ?", "Les données sont supprimées après 30 jours."),
    ],
)
def test_such_a_sentence_is_an_answer_where_the_words_of_the_question_find_none(question: str, sentence: str) -> None:
    around = "Der Verein hat einen Garten." if "Wie" in question else "Le club a un jardin."
    around = "The club has a garden." if question.startswith("How") else around
    with KnowledgeBase() as kb:
        kb.add(Document(f"{around} {sentence} {around}", "Text"))
        assert kb.ask(question).sentences == (sentence,)


def test_a_question_for_a_number_of_things_is_no_question_for_a_time() -> None:
    assert not asks_kept("How many books are stored?", "en")
    assert not asks_kept("Wie viele Akten werden aufbewahrt?", "de")
