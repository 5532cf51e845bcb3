"""Jobs: cancelled where they wait and where they work, listed, and erasures as jobs."""

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kgrag import KnowledgeBase
from kgrag.server.jobs import Job, JobQueue
from kgrag.settings import Settings
from kgrag.store import rewriting
from kgrag.testing import HashEmbedder
from tests.server.inside import KEY, Inside, served

WRITER = {"Authorization": f"Bearer {KEY}"}
SECRET = "The lighthouse keeper Ottokar Vandermeer hid seventeen silver lanterns under the old chapel of Ostrel."


async def _cancelled_at_work() -> tuple[str, int]:
    queue, steps = JobQueue(), 0

    async def work(job: Job) -> dict[str, Any]:
        nonlocal steps
        for number in range(1000):
            job.progress("steps", number, 1000)
            steps += 1
            await asyncio.sleep(0)
        return {}

    job = queue.submit("build", work)
    await asyncio.sleep(0.001)
    job.cancel()
    while not job.is_over:
        await asyncio.sleep(0)
    await queue.close()
    return job.state, steps


def test_a_job_ends_with_the_step_in_which_it_is_cancelled() -> None:
    state, steps = asyncio.run(_cancelled_at_work())
    assert (state, steps < 1000) == ("cancelled", True)


async def _cancelled_while_waiting() -> tuple[str, str, list[str]]:
    queue, cleared = JobQueue(), list[str]()
    gate = asyncio.Event()

    async def first(_: Job) -> dict[str, Any]:
        await gate.wait()
        return {"done": 1}

    async def second(job: Job) -> dict[str, Any]:
        try:
            job.progress("", 0, 0)
            return {"done": 2}
        finally:
            cleared.append("cleared")

    one, other = queue.submit("build", first), queue.submit("documents", second)
    await asyncio.sleep(0)
    other.cancel()
    at_once = other.state
    gate.set()
    await queue.close()
    return at_once, f"{one.state} {other.state}", cleared


def test_a_job_that_waits_is_cancelled_at_once_and_clears_away_what_it_was_given() -> None:
    assert asyncio.run(_cancelled_while_waiting()) == ("cancelled", "done cancelled", ["cleared"])


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Inside]:
    settings = Settings(model="extractive", completions="off")
    with KnowledgeBase(tmp_path / "kb", settings=settings, embedder=HashEmbedder()) as kb, served(kb) as inside:
        yield inside


def _end(live: Inside, job: dict[str, Any]) -> dict[str, Any]:
    with live.client.stream("GET", f"/jobs/{job['id']}", headers={"Accept": "text/event-stream"}) as events:
        list(events.iter_lines())
    found: dict[str, Any] = live.client.get(f"/jobs/{job['id']}").json()
    return found


def test_jobs_are_listed_and_cancelled_with_a_key(live: Inside) -> None:
    files = {"a": ("a.md", b"# A\n\nBarley is sown in March.")}
    job = live.client.post("/documents", files=files, headers=WRITER).json()
    assert (job["kind"], job["about"]) == ("documents", "a.md")
    assert live.client.get("/jobs").status_code == 401
    assert live.client.delete(f"/jobs/{job['id']}").status_code == 401
    _end(live, job)
    (listed,) = live.client.get("/jobs", headers=WRITER).json()
    assert (listed["id"], listed["state"]) == (job["id"], "done")
    assert live.client.delete(f"/jobs/{job['id']}", headers=WRITER).json()["state"] == "done"
    assert live.client.delete("/jobs/none", headers=WRITER).status_code == 404


def test_files_get_the_title_and_metadata_of_their_form(live: Inside) -> None:
    form = {"title": "Sowing", "metadata": '{"tenant": "a", "year": 2024}'}
    sent = live.client.post("/documents", files={"a": ("a.txt", b"Barley is sown.")}, data=form, headers=WRITER)
    assert _end(live, sent.json())["state"] == "done"
    stored = live.client.get("/documents/a.txt", params={"feed": "api"}).json()
    assert (stored["title"], stored["metadata"]["tenant"], stored["metadata"]["year"]) == ("Sowing", "a", 2024)
    two = {"a": ("a.txt", b"x y z"), "b": ("b.txt", b"x y z")}
    assert live.client.post("/documents", files=two, data={"title": "T"}, headers=WRITER).status_code == 400
    wrong = live.client.post("/documents", files={"a": ("a.txt", b"x")}, data={"metadata": "[1]"}, headers=WRITER)
    assert wrong.status_code == 422


def test_a_budget_in_money_needs_a_price(live: Inside) -> None:
    reply = live.client.post("/build/passages", json={"max_cost": 1.0}, headers=WRITER)
    assert (reply.status_code, "price" in reply.json()["detail"]) == (400, True)


def test_a_served_document_is_erased_from_every_file_and_leaves_a_receipt(live: Inside) -> None:
    for name, text in (("secret", SECRET), ("other", "Barley is sown in March in the plain of Ostrel.")):
        assert live.client.put(f"/documents/{name}", json={"text": text}, headers=WRITER).status_code == 201
    ask = "ASK { ?d ?p ?t FILTER(CONTAINS(STR(?t), 'Vandermeer')) }"
    assert live.client.get("/sparql", params={"query": ask}).json()["boolean"] is True  # a reader holds a copy
    job = live.client.delete("/documents/secret", params={"erase": "true"}, headers=WRITER)
    assert job.status_code == 202
    done = _end(live, job.json())
    assert done["state"] == "done", done
    result = done["result"]
    assert (len(result["documents"]), result["found"], result["sought"] > 0) == (1, [], True)
    files = [path for path in live.kb.path.rglob("*") if path.is_file()]
    assert [path for path in files if b"Vandermeer" in path.read_bytes()] == []
    assert live.client.get("/sparql", params={"query": ask}).json()["boolean"] is False
    receipt = f"ASK {{ <{result['receipt']}> a <http://www.w3.org/ns/prov#Activity> }}"
    assert live.client.get("/sparql", params={"query": receipt}).json()["boolean"] is True
    assert live.client.get("/documents/other").status_code == 200
    assert live.client.put("/documents/new", json={"text": "Oats."}, headers=WRITER).status_code == 201


def test_who_reads_while_every_file_is_written_anew_waits_for_it(live: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    closed, sweep = threading.Event(), rewriting.sweep

    def sweep_slowly(folder: Path) -> None:
        closed.set()  # the store is, until the fresh files are in their place
        time.sleep(0.2)
        sweep(folder)

    monkeypatch.setattr(rewriting, "sweep", sweep_slowly)
    job = live.client.post("/vacuum", headers=WRITER)
    assert closed.wait(20)
    unknown = live.client.post("/reason", json={"graphs": ["urn:x:none"]}, headers=WRITER)
    assert unknown.status_code == 400, unknown.text
    replies = [live.client.get(path) for path in ("/saved-queries", "/stats")]
    assert [reply.status_code for reply in replies] == [200, 200]
    assert _end(live, job.json())["state"] == "done"
