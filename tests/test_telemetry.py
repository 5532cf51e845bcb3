"""Spans of OpenTelemetry: which there are, one below the other, and that no text is in them."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from kgrag import KnowledgeBase
from kgrag.errors import InputError
from kgrag.model import Document
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder
from tests.fake_openai import FakeOpenAI

trace = pytest.importorskip("opentelemetry.trace")
ROOT = Path(__file__).parents[1]
TEXT = "The lighthouse of Ostrel is 41 metres tall."
QUESTION = "How tall is the lighthouse of Ostrel?"


@dataclass
class Recorded:
    """What a span had when it ended."""

    name: str
    kind: Any
    parent: str
    attributes: dict[str, Any] = field(default_factory=dict)
    status: Any = None


class _Span(trace.NonRecordingSpan):
    def __init__(self, recorded: Recorded) -> None:
        super().__init__(trace.INVALID_SPAN_CONTEXT)
        self.recorded = recorded

    def set_attribute(self, key: str, value: Any) -> None:
        self.recorded.attributes[key] = value

    def set_status(self, status: Any, description: str | None = None) -> None:
        self.recorded.status = status


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> list[Recorded]:
    """The spans that are recorded, in the order in which they began."""
    found: list[Recorded] = []

    class Tracer:
        @contextmanager
        def start_as_current_span(self, name: str, kind: Any, attributes: Any, **_: Any) -> Iterator[_Span]:
            above = trace.get_current_span()
            found.append(
                Recorded(name, kind, above.recorded.name if isinstance(above, _Span) else "", dict(attributes))
            )
            with trace.use_span(_Span(found[-1]), record_exception=False, set_status_on_exception=False) as span:
                yield span

    monkeypatch.setattr(trace, "get_tracer", lambda *_, **__: Tracer())
    return found


def _kb(**settings: Any) -> KnowledgeBase:
    kb = KnowledgeBase(settings=Settings(completions="off", **settings), embedder=HashEmbedder())
    kb.add(Document(TEXT, id="T-1"))
    return kb


def test_a_question_is_a_span_with_its_retrieval_and_its_completions_below(spans: list[Recorded]) -> None:
    with FakeOpenAI() as server, _kb(model="tiny", base_url=server.url, api_key="secret") as kb:
        spans.clear()
        answer = kb.ask(QUESTION, method="passages")
    names = [(each.name, each.parent) for each in spans]
    asked = "invoke_agent kgrag passages"
    assert names[:2] == [(asked, ""), ("retrieval passages", asked)]
    assert set(names[2:]) == {("chat tiny", asked)}
    assert spans[0].attributes["gen_ai.operation.name"] == "invoke_agent"
    assert spans[0].attributes["kgrag.answer.unknown"] is answer.unknown
    assert spans[1].attributes["kgrag.hits"] == 1
    chat = spans[2]
    assert chat.kind is trace.SpanKind.CLIENT
    assert chat.attributes["gen_ai.request.model"] == "tiny"
    assert chat.attributes["server.address"] == "127.0.0.1"
    assert chat.attributes["gen_ai.usage.input_tokens"] > 0


def test_no_span_has_a_text_or_a_key(spans: list[Recorded]) -> None:
    with FakeOpenAI() as server, _kb(model="tiny", base_url=server.url, api_key="secret-key") as kb:
        kb.ask(QUESTION)
        kb.query("SELECT ?s { ?s ?p 'secret words' }")
    shown = str(spans)
    assert "sparql query" in shown
    assert [word for word in ("lighthouse", "41 metres", "secret", "SELECT") if word in shown] == []


def test_the_answer_that_is_streamed_in_a_thread_stays_below_what_asked(spans: list[Recorded]) -> None:
    with _kb(model="extractive") as kb, trace.use_span(_Span(Recorded("request", None, ""))):
        assert list(kb.stream(QUESTION, method="passages"))
    assert [each.parent for each in spans if each.name.startswith("invoke_agent")] == ["request"]


def test_an_error_is_noted_by_its_type(spans: list[Recorded]) -> None:
    with _kb(model="extractive") as kb, pytest.raises(InputError):
        kb.ask("  ", method="passages")
    (failed,) = (each for each in spans if each.name.startswith("invoke_agent"))
    assert (failed.attributes["error.type"], failed.status) == ("InputError", trace.StatusCode.ERROR)


def test_nothing_is_loaded_where_nothing_traces() -> None:
    code = "import sys, kgrag.telemetry, kgrag.knowledge_base; print('opentelemetry' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


_EXPORTED = """
import json
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)

from tests.fake_openai import FakeOpenAI
from tests.test_telemetry import QUESTION, _kb

with FakeOpenAI() as server, _kb(model="tiny", base_url=server.url, api_key="secret") as kb:
    exporter.clear()
    kb.ask(QUESTION, method="passages")
spans = {span.context.span_id: span for span in exporter.get_finished_spans()}
above = {one.name: spans[one.parent.span_id].name if one.parent else "" for one in spans.values()}
texts = json.dumps([dict(one.attributes) for one in spans.values()])
print(json.dumps({"above": above, "traces": len({one.context.trace_id for one in spans.values()}), "texts": texts}))
"""


def test_the_exporter_of_the_sdk_gets_one_trace_of_a_question() -> None:
    pytest.importorskip("opentelemetry.sdk.trace", reason="opentelemetry-sdk is not installed")
    done = subprocess.run([sys.executable, "-c", _EXPORTED], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["traces"] == 1
    assert found["above"]["invoke_agent kgrag passages"] == ""
    assert found["above"]["retrieval passages"] == "invoke_agent kgrag passages"
    assert found["above"]["chat tiny"] == "invoke_agent kgrag passages"
    assert "Ostrel" not in found["texts"]
    assert "secret" not in found["texts"]
