"""What of a question the evidence leaves open: read from a reply, kept, and shown wherever an answer is."""

import json
from collections.abc import Iterator

import pytest

from kgrag import KnowledgeBase, prompting
from kgrag.answering.json_forms import answer_json
from kgrag.cli.printing import answer_text
from kgrag.llm.openai_chat import _as_sent, _is_closed
from kgrag.model import Document
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder, ScriptedModel

TEXT = "In the Southern zone sow 65 kg of soybean per hectare."
QUESTION = "How much soybean is sown in the Southern zone, and at what price?"
SENTENCE = {
    "text": "The Southern zone sows 65 kg of soybean per hectare.",
    "citations": [{"evidence": 1, "quote": "In the Southern zone sow 65 kg of soybean per hectare."}],
}
Asked = Iterator[tuple[KnowledgeBase, dict[str, object]]]


@pytest.fixture
def asked() -> Asked:
    """A knowledge base whose model gives the reply that a test writes."""
    reply: dict[str, object] = {"unknown": False, "sentences": [SENTENCE]}
    model = ScriptedModel({"answering/answer": lambda _: json.dumps(reply)})
    with KnowledgeBase(settings=Settings(completions="off"), embedder=HashEmbedder(), model=model) as kb:
        kb.add(Document(TEXT, title="Sowing"))
        yield kb, reply


def test_what_a_reply_leaves_open_is_shown_and_kept_beside_the_answer(asked: tuple[KnowledgeBase, dict]) -> None:  # type: ignore[type-arg]
    kb, reply = asked
    reply["not_stated"] = "the price\nof soybean"
    answer = kb.ask(QUESTION, method="passages", keep=True)
    assert (answer.unknown, answer.not_stated) == (False, "the price of soybean")
    assert "Not in the evidence: the price of soybean" in answer_text(answer)
    assert answer_json(answer)["not_stated"] == "the price of soybean"
    assert kb.query("SELECT ?said { ?answer kg:notStated ?said }").values() == [("the price of soybean",)]  # type: ignore[union-attr]
    assert [finding for finding in kb.doctor() if finding.fault] == []


def test_a_kept_conversation_has_it_again(asked: tuple[KnowledgeBase, dict]) -> None:  # type: ignore[type-arg]
    kb, reply = asked
    reply["not_stated"] = "the price"
    kb.conversation("spring").ask(QUESTION, method="passages")
    assert [one.not_stated for one in kb.conversation("spring").answers] == ["the price"]


@pytest.mark.parametrize("stated", [None, "", 7, ["the price"]])
def test_a_reply_that_states_none_is_a_whole_answer(asked: tuple[KnowledgeBase, dict], stated: object) -> None:  # type: ignore[type-arg]
    kb, reply = asked
    if stated is not None:
        reply["not_stated"] = stated
    answer = kb.ask(QUESTION, method="passages")
    assert (answer.text, answer.not_stated) == (f"{SENTENCE['text']} [1]", "")
    assert "not_stated" not in answer_json(answer)


def test_it_brings_in_no_figure_or_name_that_nobody_stated(asked: tuple[KnowledgeBase, dict]) -> None:  # type: ignore[type-arg]
    kb, reply = asked
    reply["not_stated"] = "the price, which was 400 dollars in 2023"
    assert kb.ask(QUESTION, method="passages").not_stated == ""


def test_without_an_answer_it_says_what_is_lacking(asked: tuple[KnowledgeBase, dict]) -> None:  # type: ignore[type-arg]
    kb, reply = asked
    reply |= {"unknown": True, "sentences": [], "not_stated": "the price"}
    answer = kb.ask(QUESTION, method="passages")
    assert (answer.unknown, answer.not_stated) == (True, "the price")


def test_it_is_asked_for_in_strict_mode_and_not_required_of_a_reply() -> None:
    prompt = prompting.render("answering/answer", question="?", evidence=[], boundary="===")
    assert prompt.schema is not None
    assert "not_stated" not in prompt.schema["required"]
    sent = _as_sent(prompt.schema)
    assert isinstance(sent, dict)
    assert (sent["required"], _is_closed(sent)) == (["unknown", "sentences", "not_stated"], True)
    assert '"default"' not in json.dumps(sent)


def test_a_property_that_is_called_default_is_kept() -> None:
    schema = {"type": "object", "properties": {"default": {"type": "string"}}, "required": ["default"]}
    assert _as_sent(schema) == schema
