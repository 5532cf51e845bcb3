"""Answers are read while they are written: each sentence comes once it is verified, and none is taken back."""

import asyncio
import json
from pathlib import Path
from threading import Event

import pytest

from kgrag import AsyncKnowledgeBase, KnowledgeBase
from kgrag.answering.reply_stream import ReplyStream
from kgrag.errors import ServiceUnavailable
from kgrag.llm.completion_cache import CachedModel
from kgrag.llm.openai_chat import OpenAIModel
from kgrag.llm.openai_connection import Retries
from kgrag.model import Answer, AnswerSentence, Document, Usage
from kgrag.testing import HashEmbedder, ScriptedModel
from tests.fake_openai import FakeOpenAI, say, status, streamed

TEXT = "Chickpea is sown in March. Lentil is sown in April. Rye is sown in October."


def _sentence(text: str, quote: str) -> str:
    return json.dumps({"text": text, "citations": [{"evidence": 1, "quote": quote}]})


REPLY = (
    '{"unknown": false, "sentences": [',
    _sentence("Chickpea is sown in March.", "Chickpea is sown in March"),
    ", " + _sentence("Lentil is sown in May.", "Lentil is sown in April"),
    ", " + _sentence("Rye is sown in October.", "Rye is sown in October"),
    "]}",
)
QUESTION = "When are chickpea, lentil and rye sown?"
SHOWN = ["Chickpea is sown in March.", "Rye is sown in October."]


def _model(server: FakeOpenAI) -> OpenAIModel:
    return OpenAIModel("fake-1", base_url=server.url, api_key="", retries=Retries(attempts=1))


def _base(model: object) -> KnowledgeBase:
    kb = KnowledgeBase(model=model, embedder=HashEmbedder())  # type: ignore[arg-type]
    kb.add(Document(TEXT, "Sowing"))
    return kb


def test_a_sentence_comes_while_the_model_still_writes_the_next() -> None:
    first_read = Event()

    def pause(number: int) -> None:
        assert number < 2 or first_read.wait(30), "the first sentence was not passed on before the second was sent"

    with FakeOpenAI([streamed(*REPLY, pause=pause)]) as server, _base(_model(server)) as kb:
        stream = kb.stream(QUESTION, method="passages")
        sentence = next(stream)
        assert isinstance(sentence, AnswerSentence)
        assert (sentence.text, sentence.marked) == (SHOWN[0], f"{SHOWN[0]} [1]")
        assert sentence.citations[0].quote in TEXT
        assert sentence.citations[0].place is not None
        first_read.set()
        *others, answer = stream
    assert [one.text for one in others if isinstance(one, AnswerSentence)] == SHOWN[1:]
    assert isinstance(answer, Answer)
    assert answer.sentences == tuple(SHOWN)
    assert answer.text == f"{SHOWN[0]} [1] {SHOWN[1]} [2]"
    assert [one.sentence for one in answer.unsupported] == ["Lentil is sown in May."]
    assert answer.usage == Usage(1, 11, 7)


def test_a_stream_has_what_a_whole_answer_has_and_is_asked_for_once() -> None:
    with FakeOpenAI([streamed(*REPLY)]) as server, _base(_model(server)) as kb:
        *sentences, answer = kb.stream(QUESTION, method="passages")
        again = kb.ask(QUESTION, method="passages")
        assert len(server.requests) == 1
    assert [one.text for one in sentences if isinstance(one, AnswerSentence)] == SHOWN
    assert isinstance(answer, Answer)
    assert (answer.text, answer.citations) == (again.text, again.citations)


@pytest.mark.parametrize("opening", ['{"sentences": [', '<think>{"unknown": false, "sentences": ['])
def test_a_reply_that_has_not_said_that_it_is_no_unknown_is_held_back(opening: str) -> None:
    stream = ReplyStream()
    assert list(stream.feed(opening + REPLY[1] + "]")) == []


def test_nothing_of_an_unknown_answer_is_shown() -> None:
    reply = '{"unknown": true, "sentences": [' + REPLY[1] + "]}"
    with FakeOpenAI([streamed(reply)]) as server, _base(_model(server)) as kb:
        (answer,) = kb.stream(QUESTION, method="passages")
    assert isinstance(answer, Answer)
    assert answer.unknown


def test_after_a_break_what_was_shown_is_not_asked_for_again() -> None:
    with FakeOpenAI([streamed(*REPLY[:3], ends=False), say("".join(REPLY))]) as server, _base(_model(server)) as kb:
        stream = kb.stream(QUESTION, method="passages")
        assert isinstance(next(stream), AnswerSentence)
        with pytest.raises(ServiceUnavailable, match="broke off within its reply"):
            list(stream)
        assert len(server.requests) == 1


def test_a_service_that_does_not_stream_is_asked_for_the_whole_reply() -> None:
    refusal = status(400, "Unsupported parameter: 'stream'", param="stream")
    with FakeOpenAI([refusal, say("".join(REPLY))]) as server, _base(_model(server)) as kb:
        *sentences, _ = kb.stream(QUESTION, method="passages")
        assert "stream" not in server.requests[-1].body
    assert len(sentences) == 2


def test_a_model_that_cannot_stream_gives_its_sentences_together() -> None:
    with _base(ScriptedModel({"answering/answer": "".join(REPLY)})) as kb:
        *sentences, answer = kb.stream(QUESTION, method="passages")
    assert [one.text for one in sentences if isinstance(one, AnswerSentence)] == SHOWN
    assert isinstance(answer, Answer)


def test_a_stream_can_be_awaited() -> None:
    async def read(kb: KnowledgeBase) -> list[str]:
        return [type(item).__name__ async for item in AsyncKnowledgeBase(kb).stream(QUESTION, method="passages")]

    with _base(ScriptedModel({"answering/answer": "".join(REPLY)})) as kb:
        assert asyncio.run(read(kb)) == ["AnswerSentence", "AnswerSentence", "Answer"]


def test_what_was_streamed_is_kept_and_counted(tmp_path: Path) -> None:
    with FakeOpenAI([streamed(*REPLY)]) as server:
        model = CachedModel(_model(server), tmp_path / "completions.sqlite")
        with _base(model) as kb:
            list(kb.stream(QUESTION, method="passages"))
            assert model.costs()[0][3] == Usage(1, 11, 7)
