"""What one answer, and what a tenant's answers together, may cost: refused before the language model is asked."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from kgrag import KnowledgeBase
from kgrag.llm.budget import Budget
from kgrag.model import Document
from kgrag.server.readers.reader_request import ServerLimits
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder
from tests.server.inside import Inside, served
from tests.server.test_mcp import met

QUESTION = "When is lentil sown?"
REFUSED = re.compile(r"(?i)this may cost 1 completions, and .* Nothing was asked of the model")


@dataclass
class Counted:
    """A language model that knows nothing, and counts what it is asked."""

    asked: list[str] = field(default_factory=list)
    identity = "counted"

    def __call__(self, prompt: str) -> str:
        self.asked.append(prompt)
        return '{"sentences": [], "unknown": true}'


@pytest.fixture
def model() -> Counted:
    return Counted()


@pytest.fixture
def kb(tmp_path: Path, model: Counted) -> Iterator[KnowledgeBase]:
    settings = Settings(completions="record")
    with KnowledgeBase(tmp_path / "kb", settings=settings, model=model, embedder=HashEmbedder()) as opened:
        opened.add(Document("Lentil is sown in March.", "Lentil"))
        yield opened


def _chat(running: Inside, **kgrag: object) -> dict[str, object]:
    messages = [{"role": "user", "content": QUESTION}]
    return {"model": "kgrag-passages", "messages": messages, "kgrag": kgrag}


def _refusals(running: Inside, **limits: object) -> Iterator[str]:
    """Yield what is said at every way in to a question; ``limits`` where a request may have some."""
    for path, body in (
        ("/ask", {"question": QUESTION, "method": "passages", **limits}),
        ("/v1/chat/completions", _chat(running, **limits)),
        ("/v1/responses", {"model": "kgrag-passages", "input": QUESTION, "kgrag": limits}),
    ):
        reply = running.post(path, **body)
        assert reply.status_code == 429, reply.text
        assert path == "/ask" or reply.headers["x-should-retry"] == "false"  # or OpenAI's client asks twice again
        yield reply.text
    yield met(running.url, lambda agent: agent.fail("ask", question=QUESTION, method="passages", **limits))["error"]


def test_a_request_that_may_cost_more_than_its_own_limit_is_not_asked(kb: KnowledgeBase, model: Counted) -> None:
    with served(kb) as running:
        for said in _refusals(running, max_completions=0):
            assert REFUSED.search(said), said
        assert model.asked == []
        assert running.post("/v1/chat/completions", **_chat(running, max_completions=1)).status_code == 200


def test_what_one_answer_may_cost_holds_at_every_way_in(kb: KnowledgeBase, model: Counted) -> None:
    with served(kb, limits=ServerLimits(readers=1, answer=Budget(0))) as running:
        said = [*_refusals(running)]
        said.append(running.page("/", question=QUESTION, method="passages").text)
        said.append(
            running.client.post("/chat", data={"question": QUESTION, "method": "passages"}, follow_redirects=True).text
        )
        assert [words for words in said if not REFUSED.search(words)] == []
        titled = {"role": "user", "content": "### Task:\nWrite a title.\n<chat_history>\nLentil\n</chat_history>"}
        assert running.post("/v1/chat/completions", model="kgrag-passages", messages=[titled]).status_code == 429
        assert model.asked == []


def test_what_is_left_of_a_period_does_not_begin_an_answer_that_it_cannot_pay(
    kb: KnowledgeBase, model: Counted
) -> None:
    kb.limit_spending(Budget(tokens=1), "month")
    with served(kb) as running:
        reply = running.post("/ask", question=QUESTION, method="passages")
        assert reply.status_code == 429
        assert re.search(r"may cost [\d,]+ tokens, and the budget is 1\. .* that of this month", reply.text), reply.text
        assert running.post("/ask", question=QUESTION, method="passages", max_completions=5).status_code == 429
    assert model.asked == []
