"""A reply that was cut at the limit of its tokens is taken as whole nowhere, whoever reads it; over real HTTP."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from kgrag import KnowledgeBase
from kgrag.answering import cited_answers
from kgrag.answering.json_forms import answer_json
from kgrag.answering.reply_words import NO_REPLY
from kgrag.evaluation import Question
from kgrag.evaluation.experiment_report import Experiment, Row
from kgrag.evaluation.model_judge import with_judgements
from kgrag.llm.openai_chat import OpenAIModel
from kgrag.methods.cg_rag import neighbourhoods
from kgrag.model import Completion, Hit, Prompt
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder
from tests.fake_openai import FakeOpenAI, prompt_of, say
from tests.methods.test_cg_rag import small
from tests.methods.test_obqc import DATA, ONTOLOGY, QUESTION, RIGHT
from tests.methods.test_poly_rag import SCHEMA
from tests.methods.test_sire_rag import fill, nodes, singers

SOURCES = Path(__file__).parents[1] / "kgrag"
TEXT = "Ann Lee was born in Bath. Ann Lee painted Auron in York."
REPLIES: dict[str, Any] = {
    "poly_rag/facts": {
        "things": [
            {
                "paragraph": 1,
                "name": "Ann Lee",
                "class": "Person",
                "attributes": [{"attribute": "birth place", "value": "Bath"}],
            }
        ],
        "triples": [{"paragraph": 1, "subject": "Ann Lee", "relation": "painted", "object": "Auron"}],
    },
    "sire_rag/rewrite": TEXT,
    "sire_rag/facts": {"facts": [{"paragraph": 1, "fact": "Ann Lee painted Auron.", "entities": ["Ann Lee", "Auron"]}]},
    "sire_rag/summary": "Ann Lee sang in many towns.",
}


class Service:
    """A model at a fake service: replies by the name of a prompt, those of ``cut`` end in the middle."""

    def __init__(self, server: FakeOpenAI, cut: set[str], replies: Mapping[str, Any]) -> None:
        self.inner = OpenAIModel("fake", base_url=server.url, api_key="none", concurrency=1)
        self.cut, self.replies, self.ending = cut, replies, "length"
        self.is_long: Callable[[str], bool] = lambda _: True
        self.names: dict[str, str] = {}
        self.identity = self.inner.identity
        server.always = self.act

    def act(self, handler: Any, body: Mapping[str, Any]) -> None:
        name = self.names[prompt_of(body)]
        reply = self.replies[name]
        reply = reply(prompt_of(body)) if callable(reply) else reply
        text = reply if isinstance(reply, str) else json.dumps(reply)
        if name in self.cut and self.is_long(prompt_of(body)):
            say(text[:-2], finish=self.ending)(handler, body)
        else:
            say(text)(handler, body)

    def complete(self, prompts: Sequence[Prompt]) -> list[Completion]:
        self.names |= {prompt.text: prompt.name for prompt in prompts}
        return self.inner.complete(prompts)

    def as_completed(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        self.names |= {prompt.text: prompt.name for prompt in prompts}
        return self.inner.as_completed(prompts)


Opened = tuple[KnowledgeBase, Service]


@pytest.fixture
def opened() -> Iterator[Callable[..., Opened]]:
    """Open knowledge bases whose model cuts the replies to some prompts."""
    closing: list[Any] = []

    def make(*cut: str, **replies: Any) -> Opened:
        server = FakeOpenAI().start()
        service = Service(server, set(cut), REPLIES | {name.replace("__", "/"): said for name, said in replies.items()})
        kb = KnowledgeBase(settings=Settings(), embedder=HashEmbedder(), model=service)
        closing.extend((kb.close, service.inner.close, server.stop))
        return kb, service

    yield make
    for close in closing:
        close()


def about_both(prompt: str) -> bool:
    """Return whether a prompt asks about both paragraphs at once."""
    return "paragraph 2\n" in prompt or all(town in prompt.partition("\nData:\n")[2] for town in ("Bath", "York"))


def mapped(prompt: str) -> dict[str, Any]:
    towns = [town for town in ("Bath", "York") if town in prompt.partition("\nData:\n")[2]]
    return {"@graph": [{"@type": "Person", "name": "Ann Lee", "birth place": town} for town in towns]}


@pytest.mark.parametrize("ending", ["length", "stop"])
@pytest.mark.parametrize("name", ["og_rag/map", "poly_rag/facts", "sire_rag/facts"])
def test_a_reply_without_its_end_is_asked_for_in_parts_at_once_whatever_its_service_says(
    opened: Callable[..., Opened], tmp_path: Path, name: str, ending: str
) -> None:
    (tmp_path / "staff.ttl").write_text(SCHEMA)
    kb, service = opened(name, og_rag__map=mapped)
    service.ending, service.is_long = ending, about_both
    kb.load(tmp_path / "staff.ttl")
    fill(kb, ("Ann Lee", "Ann Lee was born in Bath.\n\nAnn Lee painted Auron in York."), chunk_tokens=9)
    report = kb.build(name.partition("/")[0])
    assert (report.pending, report.usage.completions) == ((), 3)


def test_poly_rag_asks_again_for_the_facts_of_a_chunk_whose_reply_was_cut(
    opened: Callable[..., Opened], tmp_path: Path
) -> None:
    (tmp_path / "staff.ttl").write_text(SCHEMA)
    kb, service = opened("poly_rag/facts")
    kb.load(tmp_path / "staff.ttl")
    fill(kb, ("Ann Lee", TEXT))
    report = kb.build("poly_rag")
    assert [line.startswith("Ann Lee, chunk <urn:") and "was cut" in line for line in report.pending] == [True, True]
    assert kb.build("poly_rag").counts["triples_asked"] == 1
    service.cut.clear()
    report = kb.build("poly_rag")
    assert (report.counts["statements"], report.counts["instances_extracted"], report.pending) == (1, 1, ())
    assert kb.build("poly_rag").counts["triples_asked"] == 0


def test_poly_rag_takes_no_judgement_from_a_cut_reply(opened: Callable[..., Opened]) -> None:
    judged = {"sufficient": True, "answers": [{"triple": 1, "text": "Auron"}]}
    kb, _ = opened("poly_rag/sufficient", poly_rag__sufficient=judged)
    fill(kb, ("Ann Lee", TEXT))
    kb.build("poly_rag")
    answer = kb.ask("What did Ann Lee paint?", method="poly_rag:layers=graph")
    assert answer.unknown
    assert any("was cut" in line for line in answer.explain)


@pytest.mark.parametrize("step", ["rewrite", "facts"])
def test_sire_rag_asks_again_for_a_chunk_whose_reply_was_cut(opened: Callable[..., Opened], step: str) -> None:
    kb, service = opened(f"sire_rag/{step}")
    fill(kb, ("Ann Lee", TEXT))
    report = kb.build("sire_rag:rewrite=true")
    assert report.counts["extracted"] == 0
    assert [line.startswith("Ann Lee, chunk <urn:") and "was cut" in line for line in report.pending] == [True]
    service.cut.clear()
    report = kb.build("sire_rag:rewrite=true")
    assert (report.counts["extracted"], report.pending) == (1, ())


def test_sire_rag_writes_no_cut_summary_and_writes_it_at_the_next_build(opened: Callable[..., Opened]) -> None:
    kb, service = opened("sire_rag/summary", sire_rag__rewrite=lambda prompt: prompt.split("-----")[-2].strip())
    fill(kb, *singers(20))
    report = kb.build("sire_rag:cluster_tokens=120")
    assert len(nodes(kb, "similarity")) == 20
    assert all("tree, summary of" in line and "was cut" in line for line in report.pending)
    assert report.pending
    service.cut.clear()
    assert kb.build("sire_rag:cluster_tokens=120").pending == ()
    assert len(nodes(kb, "similarity")) > 20


def test_cg_rag_puts_no_cut_summary_beside_a_hit(opened: Callable[..., Opened], tmp_path: Path) -> None:
    kb, service = opened("cg_rag/neighbourhood", cg_rag__neighbourhood="The core paper measured soils.")
    kb.ingest(small(tmp_path))
    kb.build("cg_rag")
    hits = kb.retrieve("soil", method="cg_rag", k=3)
    read, _ = neighbourhoods.with_context("soil", hits, neighbourhoods.Neighbourhood(kb.store, 4), model=service)
    assert read[:3] == hits
    assert "cg_rag/neighbourhood" in service.names.values()


def test_an_answer_that_was_cut_is_unknown(opened: Callable[..., Opened]) -> None:
    quoted = {"text": "Ann Lee was born in Bath.", "citations": [{"evidence": 1, "quote": "Ann Lee was born in Bath"}]}
    said = {"unknown": False, "sentences": [quoted, quoted]}
    kb, service = opened("answering/answer", answering__answer=said)
    fill(kb, ("Ann Lee", TEXT))
    hits = kb.retrieve("Where was Ann Lee born?")
    given = {"model": service, "store": kb.store, "method": "passages"}
    answer = cited_answers.answer("Where was Ann Lee born?", hits, **given)  # type: ignore[arg-type]
    assert answer.unknown
    assert "was cut" in answer.explain[0]
    assert "was cut" in answer.failure
    assert answer.text == NO_REPLY  # not that the evidence carries none, which nobody knows
    assert answer_json(answer)["failure"] == answer.failure
    service.cut.clear()
    answer = cited_answers.answer("Where was Ann Lee born?", hits, **given)  # type: ignore[arg-type]
    assert (answer.unknown, answer.failure) == (False, "")


def insurance(kb: KnowledgeBase, folder: Path) -> KnowledgeBase:
    for name, text in (("ontology.ttl", ONTOLOGY), ("data.ttl", DATA)):
        (folder / name).write_text(text, encoding="utf-8")
        kb.load(folder / name)
    kb.build("obqc")
    return kb


def test_a_query_that_was_cut_is_not_run(opened: Callable[..., Opened], tmp_path: Path) -> None:
    kb, _ = opened("obqc/ask", obqc__ask=f"{RIGHT}\n#!")
    answer = insurance(kb, tmp_path).ask(QUESTION, method="obqc")
    assert (answer.unknown, answer.sparql) == (True, "")
    assert answer.explain[0] == answer.failure
    assert "was cut" in answer.failure


def test_a_repair_that_was_cut_is_not_run(opened: Callable[..., Opened], tmp_path: Path) -> None:
    wrong = RIGHT.replace("soldByAgent", "vendor")
    kb, _ = opened("obqc/repair", obqc__ask=wrong, obqc__repair=f"{RIGHT}\n#!")
    answer = insurance(kb, tmp_path).ask(QUESTION, method="obqc")
    assert (answer.unknown, answer.sparql) == (True, "")
    assert answer.explain[-1] == answer.failure
    assert "was cut" in answer.failure


def test_a_judgement_that_was_cut_leaves_its_question_out(opened: Callable[..., Opened]) -> None:
    said = {"sentences": [{"sentence": "Rye is sown.", "reason": "said", "attributed": True}]}
    _, service = opened("evaluation/attribution", evaluation__attribution=said, evaluation__entities={"entities": []})
    hit = Hit("urn:1", "chunk", "Rye is sown.", 1.0)
    row = Row("m", Question("q", "What is sown?", answers=("Rye is sown.",)), {}, (hit,))
    scored = with_judgements(Experiment(5, ("m",), (row,)), model=service, embedder=HashEmbedder())
    assert "judged context recall@5" not in scored.rows[0].scores
    assert scored.judging is not None
    assert scored.judging.unreadable == 1


def test_whoever_asks_a_model_reads_its_replies_in_the_one_place_that_refuses_cut_ones() -> None:
    readers = [
        path
        for path in SOURCES.rglob("*.py")
        if re.search(r"^[^>]*model\.(?:complete|as_completed)\(", path.read_text(encoding="utf-8"), re.MULTILINE)
        and path.relative_to(SOURCES).parts[0] not in ("llm", "testing")
    ]
    assert len(readers) > 8
    reading = re.compile(r"structured_output\.(?:text_of|json_of)\(")
    elsewhere = {"text_mapping.py": "window_facts.py"}  # workers may read what the loader was replied
    reads = [path.with_name(elsewhere.get(path.name, path.name)).read_text(encoding="utf-8") for path in readers]
    assert [path.name for path, text in zip(readers, reads, strict=True) if not reading.search(text)] == []
