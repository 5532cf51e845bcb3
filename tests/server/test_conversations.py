"""Conversations and streams over HTTP: histories, sessions, sentences while the model still writes."""

import json
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import openai
import pytest

from kgrag import KnowledgeBase
from kgrag.client import Client
from kgrag.http_api.json_schemas import Message
from kgrag.llm.openai_chat import OpenAIModel
from kgrag.model import Document
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder
from tests.answering.test_streamed_answers import QUESTION, REPLY, SHOWN, TEXT
from tests.fake_openai import FakeOpenAI, streamed
from tests.knowledge_base.test_conversations import TEN_TURNS, TEXTS, Legumes
from tests.server.inside import KEY, Inside, served

EVENTS = {"Accept": "text/event-stream"}


@pytest.fixture
def talked(tmp_path: Path) -> Iterator[Inside]:
    with KnowledgeBase(tmp_path / "kb", settings=Settings(completions="off"), embedder=Legumes()) as kb:
        for name, text in TEXTS.items():
            kb.add(Document(text, name, id=name))
        with served(kb) as running:
            yield running


def test_ten_turns_by_history_and_by_session(talked: Inside) -> None:
    history: list[dict[str, str]] = []
    for message, full in TEN_TURNS:
        reply = talked.client.post("/ask", json={"question": message, "history": history}).json()
        assert (reply.get("asked", ""), reply["question"]) == ((message, full) if full else ("", message))
        history += [{"role": "user", "content": message}, {"role": "assistant", "content": reply["text"]}]
    headers = {"Authorization": f"Bearer {KEY}"}
    for number, (message, full) in enumerate(TEN_TURNS, 1):
        body = {"question": message, "session": "visit"}
        reply = talked.client.post("/ask", json=body, headers=headers).json()
        assert (reply["question"], reply["turn"], reply["conversation"]) == (full or message, number, "visit")
    assert [one.turn for one in talked.kb.conversation("visit").answers] == list(range(1, 11))


def test_a_client_sends_a_history(talked: Inside) -> None:
    history = [Message(role="user", content=TEN_TURNS[0][0]), Message(role="assistant", content="In March.")]
    with Client(talked.url) as client:
        assert client.ask("And lentil?", history=history).question == TEN_TURNS[1][1]


def test_a_session_needs_a_key_and_has_a_history_of_its_own(talked: Inside) -> None:
    body: dict[str, object] = {"question": "When?", "session": "visit"}
    assert talked.client.post("/ask", json=body).status_code == 401
    body["history"] = [{"role": "user", "content": "When is lentil sown?"}]
    assert talked.client.post("/ask", json=body).status_code == 422


@pytest.fixture
def writing(tmp_path: Path) -> Iterator[tuple[Inside, Event]]:
    """A server whose model writes its second sentence only when it is let."""
    let = Event()

    def pause(number: int) -> None:
        assert number < 2 or let.wait(30)

    settings = Settings(completions="off")
    with FakeOpenAI([streamed(*REPLY, pause=pause)]) as fake:
        model = OpenAIModel("fake-1", base_url=fake.url, api_key="")
        with KnowledgeBase(tmp_path / "kb", settings=settings, embedder=HashEmbedder(), model=model) as kb:
            kb.add(Document(TEXT, "Sowing"))
            with served(kb) as running:
                yield running, let
                let.set()


def test_an_event_has_a_sentence_while_the_model_still_writes(writing: tuple[Inside, Event]) -> None:
    running, let = writing
    body = {"question": QUESTION, "method": "passages"}
    with running.client.stream("POST", "/ask", json=body, headers=EVENTS) as reply:
        lines = reply.iter_lines()
        assert next(line for line in lines if line.startswith("event: sentence"))
        assert json.loads(next(lines).removeprefix("data: "))["text"] == SHOWN[0]
        let.set()
        rest = list(lines)
    assert [line for line in rest if line.startswith("event")] == ["event: sentence", "event: done"]
    assert "Lentil is sown in May" not in "".join(rest).partition("event: done")[0]


def test_a_chat_completion_has_a_sentence_while_the_model_still_writes(writing: tuple[Inside, Event]) -> None:
    running, let = writing
    with openai.OpenAI(base_url=f"{running.url}/v1", api_key="none", max_retries=0) as client:
        stream = client.chat.completions.create(
            model="kgrag-passages", messages=[{"role": "user", "content": QUESTION}], stream=True
        )
        said = ""
        for chunk in stream:
            said += (chunk.choices[0].delta.content or "") if chunk.choices else ""
            if said == f"{SHOWN[0]} [1]":
                let.set()
    assert let.is_set()
    assert said == f"{SHOWN[0]} [1] {SHOWN[1]} [2]"
