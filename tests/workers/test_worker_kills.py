"""The benchmarks that kill workers count what is wrong, and do not take half a line of a trace for one."""

from collections import Counter
from pathlib import Path

import pytest

from benchmarks.build_kills import count_paid
from benchmarks.killed_build import built
from benchmarks.killed_intake import HashedWords
from benchmarks.killed_run import Found, Trace, compare
from benchmarks.scripted_service import serving
from kgrag import KnowledgeBase
from kgrag.model import Document
from kgrag.resources import folder
from kgrag.settings import Settings


def test_what_is_missing_what_differs_and_what_is_too_much_are_counted() -> None:
    found = Found()
    compare({"a": 1, "b": 2, "c": 3}, {"b": 2, "c": 4, "d": 5}, found)
    assert (found.lost, found.torn, found.doubled, found.faults()) == (1, 1, 1, 3)
    compare({"a": 1}, {"a": 1}, found)
    assert found.faults() == 3


def test_a_trace_is_read_line_by_line(tmp_path: Path) -> None:
    trace = Trace(tmp_path / "trace")
    assert trace.new() == []
    trace.path.write_bytes(b"7 Read\n8 embedded a b\n7 Cut")
    assert trace.new() == [(7, "Read"), (8, "embedded a b")]
    with trace.path.open("ab") as file:
        file.write(b" off\n")
    assert trace.new() == [(7, "Cut off")]
    assert trace.new() == []


def test_counts_are_there_for_the_next_piece(tmp_path: Path) -> None:
    found = Found(kills=2, torn=1)
    found.places["idle"] += 2
    found.keep(tmp_path / "worker.json")
    assert Found.read(tmp_path / "worker.json") == found
    assert Found.read(tmp_path / "none.json") == Found()


@pytest.mark.parametrize(("deaths", "twice", "again"), [(0, 6, 0), (1, 2, 4), (2, 0, 6)])
def test_what_a_dead_process_had_under_way_may_be_asked_again(deaths: int, twice: int, again: int) -> None:
    found = Found()
    count_paid(Counter({"a": 7, "b": 1}), found, deaths=deaths)
    assert (found.paid, found.paid_twice, found.paid_again) == (8, twice, again)


@pytest.mark.parametrize(
    ("method", "kind"), [("og_rag", "HyperedgeGraph"), ("poly_rag", "TripleGraph"), ("sire_rag", "PropositionGraph")]
)
def test_the_scripted_service_says_what_a_build_can_use(method: str, kind: str, tmp_path: Path) -> None:
    with KnowledgeBase(tmp_path / "kb", settings=Settings(), embedder=HashedWords()) as kb:
        kb.load(folder("ontologies") / "crops.ttl")
        kb.add(Document("Barley 7 is sown in May. Barley 7 is stored in hall2.", title="Note", id="7"))
    with serving() as service:
        built(str(tmp_path / "kb"), method, service.url)
    assert set(service.asked.values()) == {1}
    with KnowledgeBase(tmp_path / "kb", settings=Settings(), embedder=HashedWords(), read_only=True) as kb:
        assert kb.stats()["graphs"][kind] >= 1
        assert [finding.message for finding in kb.doctor() if finding.fault] == []
