"""Whoever computes, a build makes the same."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kgrag import Document, KnowledgeBase
from kgrag.cli import app
from kgrag.errors import BudgetSpent, InputError, InvalidSettings
from kgrag.llm.budget import Budget
from kgrag.methods.og_rag import facts_stage
from kgrag.methods.og_rag.facts_stage import ReadReplies
from kgrag.methods.og_rag.window_facts import WindowReader
from kgrag.model import Prompt
from kgrag.resources import folder
from kgrag.settings import Settings
from kgrag.store.oxigraph import OxigraphStore
from kgrag.testing import HashEmbedder, ScriptedModel
from kgrag.vocab import PROV
from kgrag.workers import port_stages
from kgrag.workers.port_stages import Complete
from kgrag.workers.shards import Task
from kgrag.workers.slot_pool import LocalRunner, Outcome
from tests.final_states import _canonical_hash, _triples

CROPS = ("Rye", "Oats", "Barley", "Lentil", "Vetch", "Spelt")
"""A document and a window each: two tables of replies."""


@pytest.fixture(autouse=True)
def _small_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(port_stages, "_FEW_TEXTS", 2)
    monkeypatch.setattr(port_stages, "_TEXTS_PER_TABLE", 3)


def said_of(prompt: Prompt) -> str:
    named = [crop for crop in CROPS if prompt.variables["text"].startswith(crop)]
    return json.dumps({"@graph": [{"@type": "crop", "name": crop, "has sowing time": "May"} for crop in named]})


def opened(path: Path | None = None, *, embedder: HashEmbedder | None = None, **given: Any) -> KnowledgeBase:
    """Open a knowledge base with an ontology and a document per crop, for a model, or for rules where there is none."""
    kb = KnowledgeBase(path, settings=Settings(), embedder=embedder or HashEmbedder(), **given)
    if not kb.documents():
        kb.load(folder("ontologies") / "crops.ttl")
        texts = {crop: f"{crop} is a crop. It is sown in May.\n\nSeeding rate: 9{n} kg" for n, crop in enumerate(CROPS)}
        kb.add_many([Document(text, title=crop, id=crop) for crop, text in texts.items()])
    return kb


def scripted() -> ScriptedModel:
    return ScriptedModel({"og_rag/map": said_of})


def state(kb: KnowledgeBase) -> dict[str, Any]:
    """Return a hash of each graph, without times, and the vectors of each space."""
    times = {PROV.startedAtTime, PROV.endedAtTime}
    graphs = {
        graph: _canonical_hash({triple for triple in _triples(kb, graph) if triple.predicate not in times})
        for graph in sorted(kb._store.graphs())
    }
    spaces = {name: kb.spaces.space(name) for name in sorted(kb.spaces.names())}
    vectors = {name: (sorted(one.keys()), one.vectors(sorted(one.keys())).tolist()) for name, one in spaces.items()}
    return graphs | vectors


@pytest.fixture(scope="module")
def plain() -> dict[str, Any]:
    """The state of a knowledge base of which a model was asked without workers."""
    with opened(model=scripted()) as kb:
        kb.build("og_rag")
        return state(kb)


def hypergraph(every: dict[str, Any]) -> dict[str, Any]:
    """Return what of a state does not depend on how many times a build was begun."""
    return {name: each for name, each in every.items() if "hyper" in name}


def left(path: Path) -> list[Path]:
    return sorted((path / "cache" / "build_shards").rglob("*.parquet"))


@pytest.mark.parametrize("method", ["og_rag", "poly_rag", "sire_rag"])
def test_in_this_process_workers_make_what_a_build_makes(method: str) -> None:
    with opened() as plain, opened() as kb:
        assert kb.build(method, runner="local") == plain.build(method)
        assert state(kb) == state(plain)


def test_replies_are_read_and_validated_by_workers(plain: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    tables, here = [], []
    read, publish = ReadReplies.__call__, OxigraphStore.publish
    monkeypatch.setattr(ReadReplies, "__call__", lambda self, table: tables.append(table) or read(self, table))

    def published(self: OxigraphStore, drafts: Any, *, conforming: Any = ()) -> Any:
        here.extend(draft.iri for draft in drafts if draft.iri in conforming)
        return publish(self, drafts, conforming=conforming)

    monkeypatch.setattr(OxigraphStore, "publish", published)
    with opened(model=scripted()) as kb:
        report = kb.build("og_rag", runner="local")
        assert (report.counts["hyperedges"], report.pending) == (len(CROPS), ())
        assert state(kb) == plain
    assert [table.num_rows for table in tables] == [4, 2]
    assert len(here) == 2 * len(CROPS)  # assertions and a hyperedge each


def test_processes_make_what_a_build_makes(tmp_path: Path) -> None:
    with opened() as plain, opened(tmp_path / "kb") as kb:
        plain.build("og_rag")
        kb.build("og_rag", runner="process://1")
        assert state(kb) == state(plain)
        assert left(tmp_path / "kb") == []


def die(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_a_build_whose_loader_died_pays_for_nothing_twice(
    plain: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, texts, read = scripted(), [], WindowReader.read
    monkeypatch.setattr(WindowReader, "read", lambda self, reply: texts.append(reply.asked.text) or read(self, reply))
    with opened(tmp_path / "kb", model=model) as kb, monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("kgrag.methods.og_rag.text_mapping._Extraction._publish", die)
        kb.build("og_rag", runner="local")
    assert left(tmp_path / "kb")
    with opened(tmp_path / "kb", model=model) as kb:
        kb.build("og_rag", runner="local")
        assert hypergraph(state(kb)) == hypergraph(plain)
    assert len(model.prompts) == len(set(texts)) == len(texts) == len(CROPS)
    assert left(tmp_path / "kb") == []


def test_a_budget_holds_for_all_workers_together(plain: dict[str, Any]) -> None:
    model = scripted()
    with opened(model=model) as kb:
        with pytest.raises(BudgetSpent):
            kb.build("og_rag", runner="local", budget=Budget(completions=4))
        assert len(model.prompts) == 4
        kb.build("og_rag", runner="local")
        assert len(model.prompts) == len(CROPS)
        assert hypergraph(state(kb)) == hypergraph(plain)


class Ahead(LocalRunner):
    """A runner that has all its tasks before it does one."""

    def outcomes(self, tasks: Iterable[Task]) -> Iterator[Outcome]:
        yield from super().outcomes(list(tasks))


def test_replies_before_a_failure_are_published_though_tasks_are_read_ahead() -> None:
    with opened(model=scripted()) as kb:
        with pytest.raises(BudgetSpent):
            kb.build("og_rag", runner=Ahead, budget=Budget(completions=5))
        assert sum("hyperedge/" in str(graph) for graph in kb._store.graphs()) == 4  # of a publication


class Deadly(LocalRunner):
    """A runner whose workers end at any reply about barley."""

    def outcomes(self, tasks: Iterable[Task]) -> Iterator[Outcome]:
        for task in tasks:
            (table,) = self.job.tables(task)  # what a worker would have made
            ended = getattr(task, "stages", "") == facts_stage.STAGE and "Barley" in str(table.to_pylist())
            yield Outcome(task, died="the worker ended") if ended else Outcome(task, self.job(task), done=True)


def test_a_reply_that_ends_workers_is_pending_and_stops_no_other(plain: dict[str, Any]) -> None:
    with opened(model=scripted()) as kb:
        report = kb.build("og_rag", runner=Deadly)
        (pending,) = report.pending
        assert pending.endswith(": the worker ended")
        assert report.counts["hyperedges"] == len(CROPS) - 1
        assert kb.build("og_rag").pending == ()
        assert hypergraph(state(kb)) == hypergraph(plain)


def test_a_reply_that_breaks_the_contract_is_in_quarantine_whoever_reads_it() -> None:
    replies = {"og_rag/map": lambda prompt: '{"@graph": "\\ud800"}'}
    with opened(model=ScriptedModel(replies)) as plain, opened(model=ScriptedModel(replies)) as kb:
        assert kb.build("og_rag", runner="local") == plain.build("og_rag")
        assert len(plain.build("og_rag").pending) == len(CROPS)
        assert state(kb) == state(plain)


def test_what_workers_cannot_do_is_refused() -> None:
    services = Settings(model="gpt-none", embedder="text-none", api_key="k", base_url="http://127.0.0.1:9/v1")
    with KnowledgeBase(settings=services) as kb, pytest.raises(InvalidSettings, match="its embedder are services"):
        kb.build("passages", runner="local")
    with opened() as kb:
        with pytest.raises(InputError, match="is no runner"):
            kb.build("og_rag", runner="threads", dry_run=True)
        with pytest.raises(InputError, match="Name a runner"):
            kb.build("og_rag", shards="shards")


def test_the_command_has_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgrag.knowledge_base.services.configured_embedder", lambda settings: HashEmbedder())
    opened(tmp_path / "kb").close()
    tables = []
    complete = Complete.__call__
    monkeypatch.setattr(Complete, "__call__", lambda self, table: tables.append(table) or complete(self, table))
    command = ["build", "og_rag", "--kb", str(tmp_path / "kb"), "--runner", "local", "--shards"]
    done = CliRunner().invoke(app, [*command, str(tmp_path / "shards")])
    assert "og_rag: windows 6" in done.output
    assert done.exit_code == 0
    assert sum(table.num_rows for table in tables) == len(CROPS)
    assert list((tmp_path / "shards").iterdir()) == []
    refused = CliRunner().invoke(app, ["build", "og_rag", "--server", "http://127.0.0.1:9", "--runner", "local"])
    assert "works where the knowledge base is" in str(refused.exception)
