"""Every way in by which somebody's SPARQL is run: a sort of mixed values must not end the process.

The values are in the text, so that any store will do. Where this fails, the process of the tests ends with it; the ways
by HTTP are in ``tests/server/test_sparql_endpoints.py``, those to a SPARQL server in ``tests/store/test_sparql_server.py``.
"""

import random
from collections.abc import Callable
from pathlib import Path

import pyoxigraph as ox
import pytest

from kgrag import KnowledgeBase
from kgrag.querying import saved_queries
from kgrag.querying.query_process import QueryProcess
from kgrag.querying.saved_queries import SavedQuery
from kgrag.store.plain_dataset import PlainStore
from kgrag.store.scratch import OxigraphScratch
from tests.sparql.test_total_orders import mixed

COUNT = 400


def _values(seed: int) -> str:
    drawn = random.Random(seed)
    terms = (mixed(drawn) for _ in range(COUNT))
    return " ".join(str(term) for term in terms if isinstance(term, ox.Literal | ox.NamedNode))


VALUES = f"VALUES ?v {{ {_values(2)} }}"
SORTED = f"{{ SELECT ?v {{ {VALUES} }} ORDER BY ?v }}"
SELECT = f"SELECT ?v {{ {VALUES} }} ORDER BY DESC(COALESCE(?v, ?w))"
INSERT = f"INSERT {{ GRAPH <urn:g> {{ <urn:s> <urn:p> ?v }} }} WHERE {SORTED}"
SHAPES = """@prefix sh: <http://www.w3.org/ns/shacl#> .
<urn:shape> a sh:NodeShape ; sh:targetSubjectsOf <urn:p> ; sh:sparql [
  sh:select "SELECT $this ?value { $this <urn:p> ?value } ORDER BY ?value" ] ."""

Way = Callable[[KnowledgeBase, Path], object]


def _query(kb: KnowledgeBase, _folder: Path) -> int:
    return len(kb.query(SELECT))  # type: ignore[arg-type]


def _construct(kb: KnowledgeBase, _folder: Path) -> int:
    return len(kb.query(f"CONSTRUCT {{ <urn:s> <urn:p> ?v }} WHERE {SORTED}"))  # type: ignore[arg-type]


def _update(kb: KnowledgeBase, _folder: Path) -> int:
    return kb.update(INSERT)


def _effect(kb: KnowledgeBase, _folder: Path) -> int:
    return kb.effect(INSERT).added


def _of_our_own_kind(kb: KnowledgeBase, _folder: Path) -> int:
    return len(kb.store.select(SELECT).rows)


def _shape(kb: KnowledgeBase, folder: Path) -> bool:
    (folder / "shapes.ttl").write_text(SHAPES, encoding="utf-8")
    kb.update(INSERT)
    return not kb.validate(shapes=[folder / "shapes.ttl"]).conforms


def _saved(kb: KnowledgeBase, _folder: Path) -> int:
    saved_queries.save(kb.store, SavedQuery("mixed", SELECT))
    return len(kb.query(saved_queries.bound(saved_queries.find(kb.store, "mixed"), {})))  # type: ignore[arg-type]


def _process(kb: KnowledgeBase, folder: Path) -> int:
    return len(QueryProcess(kb.store, folder)(SELECT).rows)


def _scratch(_kb: KnowledgeBase, _folder: Path) -> int:
    bench = OxigraphScratch()
    bench.change(INSERT)
    return len(bench.select(SELECT).rows) + len(bench.construct(f"CONSTRUCT {{ <urn:s> <urn:p> ?v }} {SORTED}"))


def _plain(_kb: KnowledgeBase, folder: Path) -> bool:
    PlainStore(folder / "plain").update(INSERT)
    return True


WAYS: list[Way] = [
    *(_query, _construct, _update, _effect, _of_our_own_kind, _shape),
    *(_saved, _process, _scratch, _plain),
]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__.strip("_"))
def test_no_way_in_lets_a_sort_of_mixed_values_end_the_process(way: Way, kb: KnowledgeBase, tmp_path: Path) -> None:
    assert way(kb, tmp_path)
