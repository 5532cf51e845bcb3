"""Of two questions in one sentence both are answered from the same evidence, or the open one is named."""

from collections.abc import Iterator

import pytest

from kgrag import KnowledgeBase
from kgrag.answering.double_questions import halves_of
from kgrag.model import Document
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder, ScriptedModel

BOATS = "| Boat | Seats | Keeper | Next service |\n|---|---|---|---|\n| Heron | 4 | Ruth Dale | 4 March 2026 |\n"
BOATS += "| Mallard | 2 | Tom Farr | 30 May 2026 |\n"


@pytest.fixture(scope="module")
def kb() -> Iterator[KnowledgeBase]:
    with KnowledgeBase(settings=Settings(model="extractive", completions="off"), embedder=HashEmbedder()) as made:
        made.add(Document(BOATS, "Boats of the club"))
        yield made


@pytest.mark.parametrize(
    ("question", "halves"),
    [
        ("Wer ist Leiter und wann endet der Vertrag?", ("Wer ist Leiter?", "Wann endet der Vertrag?")),
        ("Qui est le médiateur et combien coûte la carte ?", ("Qui est le médiateur?", "Combien coûte la carte ?")),
        ("Who keeps the Heron, and when is its service?", ("Who keeps the Heron?", "When is the Heron’s service?")),
    ],
)
def test_each_of_two_questions_can_be_understood_alone(question: str, halves: tuple[str, str]) -> None:
    assert halves_of(question) == halves


@pytest.mark.parametrize(
    "question", ["Who keeps the Heron and the Mallard?", "Who rows and when?", "Is it old and loud?"]
)
def test_one_question_with_and_in_it_is_one(question: str) -> None:
    assert halves_of(question) is None


def test_both_are_answered_with_a_short_answer_each(kb: KnowledgeBase) -> None:
    answer = kb.ask("Who is the keeper of the Mallard and how many seats does it have?")
    assert [value.text for value in answer.values] == ["Tom Farr", "2"]
    assert {answer.citations[value.citation].sentence for value in answer.values} == {0, 1}
    assert answer.not_stated == ""


def test_the_one_that_is_open_is_named(kb: KnowledgeBase) -> None:
    answer = kb.ask("How many seats does the Mallard have and who built it?")
    assert [value.text for value in answer.values] == ["2"]
    assert answer.not_stated == "Who built the Mallard"


def test_a_language_model_is_asked_once() -> None:
    model = ScriptedModel({"answering/answer": '{"unknown": true, "sentences": []}'})
    with KnowledgeBase(settings=Settings(completions="off"), embedder=HashEmbedder(), model=model) as kb:
        kb.add(Document(BOATS, "Boats"))
        kb.ask("Who keeps the Heron and how many seats does it have?", method="passages")
    assert len(model.prompts) == 1
