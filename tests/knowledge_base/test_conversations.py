"""Conversations: follow-ups are asked as full questions, turns are kept as graphs, and go with their documents."""

import asyncio
import re
from collections.abc import Sequence
from typing import Literal

import pytest

from kgrag import AsyncKnowledgeBase, KnowledgeBase, shacl
from kgrag.answering.conversation import Turn
from kgrag.errors import InputError
from kgrag.model import Document, Usage
from kgrag.ports import Vectors
from kgrag.testing import HashEmbedder, ScriptedModel

TEN_TURNS = [
    ("When is chickpea sown in the Hill Zone?", ""),
    ("And lentil?", "When is lentil sown in the Hill Zone?"),
    ("What about the Coastal Zone?", "When is lentil sown in the Coastal Zone?"),
    ("How much water does it need?", "How much water does lentil need?"),
    ("Who bred the variety Vera?", ""),
    ("Where did she study?", "Where did Ines Harder study?"),
    ("Which crops are grown there?", "Which crops are grown in Kiel?"),
    ("How long is the Amra?", ""),
    ("And how deep?", "How deep is the Amra?"),
    ("Which towns does it flow through?", "Which towns does the Amra flow through?"),
]
TEXTS = {
    "sowing": "In the Hill Zone, chickpea is sown in March. In the Hill Zone, lentil is sown in April. "
    "In the Coastal Zone, lentil is sown in October.",
    "water": "Lentil needs 300 mm of water.",
    "vera": "The variety Vera was bred by Ines Harder. Ines Harder studied in Kiel.",
    "kiel": "The crops rye and barley are grown in Kiel.",
    "amra": "The Amra is 120 km long. The Amra is 4 m deep. The Amra flows through the towns Holm and Rade.",
}


class Legumes(HashEmbedder):
    """Knows that lentil and chickpea are of one kind, as an embedder with weights does."""

    def embed(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> Vectors:
        return super().embed([re.sub(r"lentil|chickpea", r"\g<0> legume", text) for text in texts], kind)


@pytest.fixture
def kb() -> KnowledgeBase:
    made = KnowledgeBase(embedder=Legumes())
    for name, text in TEXTS.items():
        made.add(Document(text, name, id=name))
    return made


def test_ten_turns_are_resolved_without_a_model_and_kept(kb: KnowledgeBase) -> None:
    talk = kb.conversation("visit")
    answers = [talk.ask(message) for message, _ in TEN_TURNS]
    assert [(one.asked or one.question, one.question if one.asked else "") for one in answers] == TEN_TURNS
    assert [one.unresolved for one in answers] == [""] * 10
    assert "April" in answers[1].text
    assert "October" in answers[2].text
    assert "4 m" in answers[8].text
    again = kb.conversation("visit").answers
    shown = [(one.turn, one.asked, one.question, one.text, len(one.citations)) for one in answers]
    assert [(one.turn, one.asked, one.question, one.text, len(one.citations)) for one in again] == shown
    assert [(one.name, one.turns, one.first) for one in kb.conversations()] == [("visit", 10, TEN_TURNS[0][0])]
    assert shacl.validate(kb.store, shacl.graph_shapes()) == []
    assert kb.audit(profile="kg").findings == ()


def test_ten_turns_are_resolved_by_one_small_request_each() -> None:
    model = ScriptedModel(
        {
            "answering/standalone": [full or message for message, full in TEN_TURNS[1:]],
            "answering/answer": '{"unknown": true, "sentences": []}',
        }
    )
    with KnowledgeBase(model=model, embedder=HashEmbedder()) as kb:
        kb.add(Document(TEXTS["sowing"], id="sowing"))
        talk = kb.conversation()
        answers = [talk.ask(message, method="passages") for message, _ in TEN_TURNS]
    assert [(one.asked or one.question, one.question if one.asked else "") for one in answers] == TEN_TURNS
    asked = [prompt for prompt in model.prompts if prompt.name == "answering/standalone"]
    assert len(asked) == 9
    assert max(len(prompt.text) for prompt in asked) < 3000
    assert answers[1].usage.completions == 2


def test_a_history_may_be_answers_turns_or_messages_in_the_form_of_openai(kb: KnowledgeBase) -> None:
    first = kb.ask(TEN_TURNS[0][0])
    turns = [Turn("user", first.question), Turn("assistant", first.text)]
    messages = [{"role": turn.role, "content": turn.text} for turn in turns]
    for history in ([first], turns, messages):
        assert kb.ask("And lentil?", history=history).question == TEN_TURNS[1][1]
    with pytest.raises(InputError, match="role 'system'"):
        kb.ask("And lentil?", history=[{"role": "system", "content": "Be brief."}])


def test_follow_ups_can_be_awaited(kb: KnowledgeBase) -> None:
    async def ask() -> str:
        asking = AsyncKnowledgeBase(kb)
        first = await asking.ask(TEN_TURNS[0][0])
        return (await asking.ask("And lentil?", history=[first])).question

    assert asyncio.run(ask()) == TEN_TURNS[1][1]


def test_a_follow_up_that_cannot_be_resolved_says_so(kb: KnowledgeBase) -> None:
    answer = kb.ask("What did she say?", history=[kb.ask("How long is the Amra?")])
    assert (answer.question, answer.asked) == ("What did she say?", "")
    assert "“she”" in answer.unresolved
    assert answer.unresolved in answer.explain


def test_a_turn_goes_with_the_document_whose_words_its_question_has(kb: KnowledgeBase) -> None:
    talk = kb.conversation("visit")
    for message in ("Who bred the variety Vera?", "Where did she study?", "How long is the Amra?"):
        talk.ask(message, k=1)
    kb.forget("vera")
    left = kb.conversation("visit")
    assert [one.question for one in left.answers] == ["How long is the Amra?"]
    assert left.ask("And how deep?").turn == 4


def test_a_plan_counts_the_request_that_makes_a_question_full() -> None:
    model = ScriptedModel({})
    with KnowledgeBase(model=model, embedder=HashEmbedder()) as kb:
        kb.add(Document(TEXTS["sowing"], id="sowing"))
        history = [Turn("user", TEN_TURNS[0][0]), Turn("assistant", "In March.")]
        alone, planned = kb.planned_cost("And lentil?"), kb.planned_cost("And lentil?", history=history)
    assert planned.completions == alone.completions + 1
    assert planned.output_tokens == alone.output_tokens + 25
    assert model.prompts == []
    assert alone != Usage()
