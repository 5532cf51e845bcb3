"""Whoever works, the knowledge base is the same."""

import json
import os
import signal
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from kgrag import KnowledgeBase
from kgrag.cli import app
from kgrag.errors import InputError, StorageFailed, UnreadableDocument
from kgrag.knowledge_base.intake import Settling
from kgrag.ports import Vectors
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder
from kgrag.text import ingestion
from kgrag.text.ingestion import _Drafting
from kgrag.workers import shard_source, stages
from kgrag.workers.shards import ShardTask, Task, read_shard
from kgrag.workers.slot_pool import LocalRunner, Outcome
from kgrag.workers.stages import Chunk
from tests.final_states import _canonical_hash, _triples


@pytest.fixture(autouse=True)
def _small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "_DOCUMENTS_PER_TABLE", 2)
    monkeypatch.setattr(shard_source, "_FILES_PER_TASK", 3)


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """A folder with files of records, a torn one, an empty one, the same text twice, links and metadata."""
    folder = tmp_path / "texts"
    folder.mkdir()
    records = "".join(
        f'{{"id": "r{n}", "text": "Record {n} of the Hill Zone.", "year": {2000 + n}}}\n' for n in range(7)
    )
    (folder / "records.jsonl").write_text(records, encoding="utf-8")
    (folder / "torn.jsonl").write_text('{"id": "s", "text": "Sown."}\n{"text": \n', encoding="utf-8")
    (folder / "empty.txt").write_bytes(b"")
    (folder / "page.html").write_text("<h1>Oats</h1><p>Sown as <a href='rye.md#cut'>rye</a> is.</p>", encoding="utf-8")
    (folder / "rye.md").write_text("---\nauthor: Ada\n---\n# Rye\n\nCut in June.\n", encoding="utf-8")
    for name in ("same-1.jsonl", "same-2.jsonl"):
        (folder / name).write_text('{"title": "Barley", "text": "Barley is sown in April."}\n', encoding="utf-8")
    (folder / "picture.png").write_bytes(b"\x89PNG")
    return folder


def opened(path: Path | None = None, embedder: HashEmbedder | None = None) -> KnowledgeBase:
    return KnowledgeBase(path, settings=Settings(), embedder=embedder or HashEmbedder())


def state(kb: KnowledgeBase) -> dict[str, object]:
    """Return what is stored: a hash of each graph, the vectors, and what searches by words find."""
    space = kb.spaces.space("chunk")
    keys = sorted(space.keys())
    return {
        **{graph: _canonical_hash(_triples(kb, graph)) for graph in kb._store.graphs()},
        "vectors": (keys, space.vectors(keys).tolist()),
        "words": [
            (hit.iri, hit.score) for hit in kb.retrieve("sown in the Hill Zone", method="passages:signal=bm25", k=9)
        ],
        "sources": [(source.name, source.root, source.documents) for source in kb.sources()],
        "revision": kb.store.revision,
    }


@pytest.fixture
def plain(texts: Path) -> Iterator[KnowledgeBase]:
    with opened() as kb:
        kb.ingest(texts)
        yield kb


def shards(path: Path) -> list[Path]:
    return sorted((path / "cache" / "shards").rglob("*.parquet"))


def test_in_this_process_workers_make_what_an_intake_makes(texts: Path) -> None:
    with opened() as plain, opened() as kb:
        assert kb.ingest(texts, runner="local") == plain.ingest(texts)
        assert state(kb) == state(plain)
        (texts / "rye.md").write_text("# Rye\n\nCut in July.\n", encoding="utf-8")
        (texts / "same-1.jsonl").write_text('{"title": "Barley", "text": "Cut in May."}\n', encoding="utf-8")
        assert kb.ingest(texts, runner="local") == plain.ingest(texts)
        assert state(kb) == state(plain)
        assert kb.ingest(texts, runner="local", chunk_tokens=8) == plain.ingest(texts, chunk_tokens=8)
        assert state(kb) == state(plain)


def test_a_runner_of_ones_own_makes_what_an_intake_makes(texts: Path, plain: KnowledgeBase) -> None:
    ended = []

    class Own(LocalRunner):
        def close(self) -> None:
            ended.append(self.job)

    with opened() as kb:
        kb.ingest(texts, runner=Own)
        assert state(kb) == state(plain)
    assert len(ended) == 1


class DyingEmbedder(HashEmbedder):
    """An embedder that ends its process when it is first asked, and leaves a file that says so."""

    def __init__(self, mark: Path) -> None:
        super().__init__()
        self.mark = mark

    def embed(self, texts: Sequence[str], kind: str) -> Vectors:  # type: ignore[override]
        if not self.mark.exists():
            self.mark.write_text(str(os.getpid()), encoding="utf-8")
            os.kill(os.getpid(), signal.SIGKILL)
        return super().embed(texts, kind)  # type: ignore[arg-type]


def test_processes_of_which_one_is_killed_make_what_an_intake_makes(
    texts: Path, plain: KnowledgeBase, tmp_path: Path
) -> None:
    mark = tmp_path / "killed"
    with opened(tmp_path / "kb", DyingEmbedder(mark)) as kb:
        kb.ingest(texts, runner="process://1")
        assert int(mark.read_text(encoding="utf-8")) != os.getpid()
        assert state(kb) == state(plain)
        assert shards(tmp_path / "kb") == []


def test_documents_that_are_stored_are_not_worked_on(texts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened() as kb:
        kb.ingest(texts, runner="local")
        monkeypatch.setattr(Chunk, "__call__", None)
        assert kb.ingest(texts, runner="local").unchanged == 11


def die(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("dies_in", [(_Drafting, "drafts"), (Settling, "take")])
def test_a_run_whose_loader_died_goes_on_with_what_workers_left(
    dies_in: tuple[type, str], texts: Path, plain: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "kb"
    with opened(path) as kb, monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(*dies_in, die)
        kb.ingest(texts, runner="local")
    assert shards(path)
    monkeypatch.setattr(Chunk, "__call__", None)  # nothing is cut again
    with opened(path) as kb:
        kb.ingest(texts, runner="local")
        assert {**state(kb), "revision": 0} == {**state(plain), "revision": 0}
    assert shards(path) == []


class Counting(HashEmbedder):
    """An embedder that keeps what it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str], kind: str) -> Vectors:  # type: ignore[override]
        self.texts += texts
        return super().embed(texts, kind)  # type: ignore[arg-type]


@pytest.mark.parametrize("unreadable", [False, True], ids=["some-stored-before", "one-unreadable"])
def test_a_loader_that_died_between_publications_pays_nothing_twice(
    unreadable: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stages, "_DOCUMENTS_PER_TABLE", 4)
    monkeypatch.setattr(ingestion, "_BATCH_DOCUMENTS", 1)
    (folder := tmp_path / "texts").mkdir()
    embedder = Counting()

    def records(*numbers: int) -> None:
        lines = [f'{{"id": "r{n}", "text": "Record {n} of the Hill Zone."}}\n' for n in numbers]
        (folder / "records.jsonl").write_text("".join(lines) + "{" * unreadable, encoding="utf-8")

    if not unreadable:
        records(0)
        with opened(tmp_path / "kb", embedder) as kb:
            kb.ingest(folder, runner="local")
        embedder.texts.clear()
    records(*range(unreadable, 4))
    with opened(tmp_path / "kb", embedder) as kb, monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        publications = iter((lambda: None, die))
        patch.setattr(Settling, "take", lambda *_: next(publications)())
        kb.ingest(folder, runner="local")
    with opened(tmp_path / "kb", embedder) as kb:
        kb.ingest(folder, runner="local")
        assert len(list(kb.documents())) == 4 - unreadable
    assert sorted(embedder.texts) == [f"Record {n} of the Hill Zone." for n in range(1, 4)]


@pytest.mark.parametrize("part", range(4))
def test_a_damaged_shard_is_named_and_made_again(
    part: int, texts: Path, plain: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "kb"
    with opened(path) as kb, monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(_Drafting, "drafts", die)
        kb.ingest(texts, runner="local")
    listing = next((path / "cache" / "shards").rglob("*.json"))
    damaged = listing.with_name(json.loads(listing.read_text(encoding="utf-8"))[0])
    content = bytearray(damaged.read_bytes())
    content[part * len(content) // 4] ^= 0x01
    damaged.write_bytes(content)
    with opened(path) as kb:
        with pytest.raises(StorageFailed, match=f"{damaged.name} is damaged.*makes it anew"):
            kb.ingest(texts, runner="local")
        kb.ingest(texts, runner="local")
        assert {**state(kb), "revision": 0} == {**state(plain), "revision": 0}


def test_a_shard_that_is_gone_is_made_again(texts: Path, plain: KnowledgeBase, tmp_path: Path) -> None:
    path = tmp_path / "kb"
    with opened(path) as kb, pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(_Drafting, "drafts", die)
        kb.ingest(texts, runner="local")
    for shard in shards(path):
        shard.unlink()
    with opened(path) as kb:
        kb.ingest(texts, runner="local")
        assert {**state(kb), "revision": 0} == {**state(plain), "revision": 0}


def test_what_workers_cannot_make_is_pending_until_it_is_made(
    texts: Path, plain: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Chunk._row

    def torn(self: Chunk, row: dict[str, object], names: object) -> dict[str, object]:
        return {"file": row["file"], "error": "no memory"} if "June" in str(row["text"]) else real(self, row, names)

    with opened() as kb:
        with monkeypatch.context() as patch:
            patch.setattr(Chunk, "_row", torn)
            report = kb.ingest(texts, runner="local")
        assert report.documents == 10
        assert [line for line in report.broken if "no memory" in line] == [f"{texts / 'rye.md'}: no memory"]
        assert kb.status()["pending"] == {"ingest": [f"{texts / 'rye.md'}: no memory"]}
        kb.ingest(texts, runner="local")
        assert kb.status()["pending"] == {}
        assert {document.iri for document in kb.documents()} == {document.iri for document in plain.documents()}


def test_a_file_that_is_named_itself_and_cannot_be_read_is_refused(texts: Path) -> None:
    with opened() as kb, pytest.raises(UnreadableDocument, match="is empty"):
        kb.ingest(texts / "rye.md", texts / "empty.txt", runner="local")


def test_an_embedder_that_cannot_travel_is_refused_by_name(texts: Path) -> None:
    with KnowledgeBase(None, settings=Settings(), embedder=lambda texts: np.ones((len(texts), 2))) as kb:
        with pytest.raises(InputError, match="cannot be sent to workers"):
            kb.ingest(texts, runner="process://1")
        assert kb.ingest(texts, runner="local").documents == 11


def test_the_command_prints_what_an_intake_prints(texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgrag.knowledge_base.services.configured_embedder", lambda settings: HashEmbedder())
    calls = [
        ["ingest", str(texts), "--kb", str(tmp_path / name), *more]
        for name, more in (("a", []), ("b", ["--runner", "local"]))
    ]
    plain, worked = (CliRunner().invoke(app, call) for call in calls)
    assert (worked.output, worked.exit_code) == (plain.output, plain.exit_code)
    assert plain.exit_code == 4
    refused = CliRunner().invoke(app, ["ingest", str(texts), "--kb", str(tmp_path / "c"), "--runner", "threads"])
    assert "is no runner" in str(refused.exception)


class Deadly(LocalRunner):
    """A runner whose workers end at a task with the seventh record, when they have embedded it."""

    def outcomes(self, tasks: Iterable[Task]) -> Iterator[Outcome]:
        for task in tasks:
            if isinstance(task, ShardTask) and "Record 7" in str(self._texts(task)):
                list(self.job.tables(task))
                yield Outcome(task, died="the worker ended")
            else:
                yield Outcome(task, self.job(task), done=True)

    def _texts(self, task: ShardTask) -> list[str]:
        texts = read_shard(self.job.folder, task.shard).column("text").to_pylist()
        return texts if task.rows is None else [texts[row] for row in task.rows]


def test_a_task_that_ended_workers_is_not_tried_whole_by_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stages, "_DOCUMENTS_PER_TABLE", 4)
    (folder := tmp_path / "texts").mkdir()
    lines = [f'{{"id": "r{n}", "text": "Record {n} of the Hill Zone."}}\n' for n in range(5, 9)]
    (folder / "records.jsonl").write_text("".join(lines), encoding="utf-8")
    embedder = Counting()
    with opened(tmp_path / "kb", embedder) as kb, monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(_Drafting, "drafts", die)
        kb.ingest(folder, runner=Deadly)
    embedder.texts.clear()
    with opened(tmp_path / "kb", embedder) as kb:
        assert kb.ingest(folder, runner=Deadly).documents == 3
    assert embedder.texts == ["Record 7 of the Hill Zone."]  # what ends its worker is tried again, by itself
