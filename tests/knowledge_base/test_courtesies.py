"""Thanks are not searched, "Why?" behind an unknown answer has its reason, and both are no turn to follow up on."""

import pytest

from kgrag import KnowledgeBase
from kgrag.model import Document
from kgrag.testing import HashEmbedder


@pytest.fixture
def kb() -> KnowledgeBase:
    made = KnowledgeBase(embedder=HashEmbedder())
    made.add(Document("In the Hill Zone, chickpea is sown in March. In the Coastal Zone, chickpea is sown in May."))
    return made


@pytest.mark.parametrize("message", ["Thanks!", "OK, thank you very much.", "Danke schön", "Merci beaucoup !", "👍"])
def test_a_message_that_asks_nothing_is_not_searched(kb: KnowledgeBase, message: str) -> None:
    talk = kb.conversation()
    talk.ask("When is chickpea sown in the Hill Zone?")
    answer = talk.ask(message)
    assert (answer.unknown, answer.hits, answer.nearest, answer.unresolved) == (True, (), (), "")
    assert answer.text
    assert talk.ask("And in the Coastal Zone?").question == "When is chickpea sown in the Coastal Zone?"


def test_why_behind_an_unknown_answer_is_answered_with_its_reason(kb: KnowledgeBase) -> None:
    talk = kb.conversation("visit")
    before = talk.ask("Who is the mayor of Springfield?")
    assert before.unknown
    why = talk.ask("Why?")
    assert why.text == before.explain[-1]
    assert why.hits == ()
    assert kb.conversation("visit").ask("But why not?").text == why.text


def test_a_kept_answer_has_no_reason_and_that_is_said(kb: KnowledgeBase) -> None:
    kb.conversation("visit").ask("Who is the mayor of Springfield?")
    why = kb.conversation("visit").ask("Why?")
    assert "no other reason is kept" in why.text
    assert why.hits == ()


def test_why_behind_an_answer_is_still_a_question(kb: KnowledgeBase) -> None:
    talk = kb.conversation()
    talk.ask("When is chickpea sown in the Hill Zone?")
    assert talk.ask("Why?").question.startswith("Why is it that in the Hill Zone, chickpea is sown")


def test_messages_of_a_program_have_the_same_turns(kb: KnowledgeBase) -> None:
    unknown = kb.ask("Who is the mayor of Springfield?")
    history = [{"role": "user", "content": unknown.question}, {"role": "assistant", "content": unknown.text}]
    answer = kb.ask("Pourquoi ?", history=history)
    assert answer.unknown
    assert answer.hits == ()
