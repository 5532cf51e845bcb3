"""kill -9 in the middle of work: whole units only, nothing doubled, nothing acknowledged lost, nothing paid twice."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pyoxigraph as ox
import pytest

from kgrag import KnowledgeBase
from kgrag.model import Term
from kgrag.resources import folder
from kgrag.settings import Settings
from kgrag.store.checksums import read_account
from kgrag.testing import HashEmbedder
from kgrag.vocab import DCTERMS, KG
from tests.fake_openai import FakeOpenAI

ROOT = Path(__file__).parents[1]
MOMENTS = int(os.environ.get("KGRAG_CRASH_MOMENTS", "1"))
WORDS = "barley canal chickpea grain harvest irrigation lentil moisture nitrogen seed soil sowing storage valley weed zone".split()


def _run(task: str, path: Path, source: str, *, kill_after: float | None = None) -> list[str]:
    """Run the worker; SIGKILL it after so many seconds from its first line; gives the lines it printed."""
    command = [sys.executable, str(ROOT / "tests" / "crash_worker.py"), task, str(path), source]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as worker:
        assert worker.stdout is not None
        lines = [worker.stdout.readline()]
        timer = threading.Timer(kill_after, worker.send_signal, [signal.SIGKILL]) if kill_after is not None else None
        if timer:
            timer.start()
        lines += worker.stdout.readlines()
        worker.wait()
        if timer:
            timer.cancel()
    if kill_after is None:
        assert worker.returncode == 0
    return [line.strip() for line in lines]


def _content(path: Path) -> Counter[ox.Quad]:
    """Give every quad but those that say when something was published; of an account the checksum without the change."""
    when = {DCTERMS.created, KG.lineage, KG.publication, KG.revision}
    kinds = {KG.Publication, KG.Rewrite}
    with KnowledgeBase(path, settings=Settings(), embedder=HashEmbedder(), read_only=True) as kb:
        return Counter(
            ox.Quad(triple.subject, triple.predicate, _without_change(triple), ox.NamedNode(graph))
            for graph in kb._store.graphs()
            if graph != kb.store.names.provenance.value
            for triple in kb.store.triples(ox.NamedNode(graph))
            if triple.predicate not in when and triple.object not in kinds
        )


def _without_change(triple: ox.Triple) -> Term:
    value = triple.object
    if triple.predicate == KG.checksum and isinstance(value, ox.Literal):
        return ox.Literal(read_account(value.value)[1])
    return value


def _healthy(path: Path) -> bool:
    with KnowledgeBase(path, settings=Settings(), embedder=HashEmbedder()) as kb:
        return not any(finding.fault for finding in kb.doctor())


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    chance = random.Random(7)
    path = tmp_path_factory.mktemp("corpus") / "texts.jsonl"
    rows = (
        {
            "id": str(i),
            "title": f"Note {i}",
            "text": ". ".join(" ".join(chance.choices(WORDS, k=9)) for _ in range(6)) + ".",
        }
        for i in range(240)
    )
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return path


def test_a_killed_ingest_goes_on_where_it_stopped(corpus: Path, tmp_path: Path) -> None:
    whole = tmp_path / "whole.kb"
    import time

    start = time.monotonic()
    _run("ingest", whole, str(corpus))
    seconds = time.monotonic() - start
    expected = _content(whole)
    chance = random.Random(11)
    for moment in range(MOMENTS):
        path = tmp_path / f"killed-{moment}.kb"
        lines = _run("ingest", path, str(corpus), kill_after=chance.uniform(0, seconds * 0.7))
        acknowledged = max((int(line.split()[1]) for line in lines if line.startswith("documents")), default=0)
        with KnowledgeBase(path, settings=Settings(), embedder=HashEmbedder()) as kb:
            assert kb.stats()["documents"] >= acknowledged
        _run("ingest", path, str(corpus))
        assert _content(path) == expected
        assert _healthy(path)


def _map(prompt: str) -> str:
    """Reply with a block whose value is the first words of the text that was to be mapped."""
    text = prompt.rsplit("Note ", 1)[-1]
    return json.dumps({"@graph": [{"@type": "Crop", "name": f"Note {text.split()[0]}", "storage guideline": "dry"}]})


def test_a_killed_build_pays_for_no_received_completion_twice(tmp_path: Path) -> None:
    texts = tmp_path / "texts"
    texts.mkdir()
    for number in range(24):
        (texts / f"{number:03}.txt").write_text(f"Note {number} is about barley, which is stored dry in the valley.\n")
    chance = random.Random(5)
    with FakeOpenAI(reply=_map, delay=0.02) as server:
        for moment in range(MOMENTS):
            path = tmp_path / f"killed-{moment}.kb"
            with KnowledgeBase(path, settings=Settings(), embedder=HashEmbedder()) as kb:
                kb.load(folder("ontologies") / "crops.ttl")
                kb.ingest(texts)
            server.clear()
            _run("build", path, server.url, kill_after=chance.uniform(0.1, 0.9))
            lines = _run("build", path, server.url)
            assert lines[-1] == "finished"
            # what was under way when the process died (two requests at most) is asked again; nothing else is
            asked_twice = [prompt for prompt, times in Counter(server.prompts()).items() if times > 1]
            assert len(asked_twice) <= 2
            assert len(server.prompts()) <= 26
            assert len(set(server.prompts())) == 24
            assert _healthy(path)
            paid = len(server.prompts())
            _run("build", path, server.url)
            assert len(server.prompts()) == paid
