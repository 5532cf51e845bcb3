"""What kgrag makes itself is changed by an update that names it, and by others only where that is asked for."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kgrag import KnowledgeBase
from kgrag.errors import InputError
from kgrag.model import Document
from kgrag.store import own_graphs
from kgrag.testing import HashEmbedder

KG = "PREFIX kg: <https://w3id.org/kgrag/ns#> "
REFUSED = [
    "DELETE WHERE { GRAPH ?g { ?s kg:text ?t } }",
    'DELETE { GRAPH ?g { ?s kg:text ?t } } INSERT { GRAPH ?g { ?s kg:text "x" } } WHERE { GRAPH ?g { ?s kg:text ?t } }',
    "INSERT { GRAPH ?g { <urn:x:a> <urn:x:p> 1 } } WHERE { GRAPH ?g { ?s a kg:Document } }",
    "INSERT DATA { <urn:x:a> <urn:x:p> 1 } ; DELETE WHERE { GRAPH ?g { ?s kg:text ?t } }",
    "CLEAR NAMED",
    "DROP ALL",
    "WITH <urn:x:data> DELETE { GRAPH ?g { ?s kg:text ?t } } WHERE { GRAPH ?g { ?s kg:text ?t } }",
]
OF_CATALOGUE = [
    "DELETE WHERE { GRAPH ?g { ?s a kg:DocumentGraph } }",
    "INSERT { GRAPH ?g { <urn:x:a> a kg:DataGraph } } WHERE { GRAPH ?g { ?s a kg:KnowledgeBase } }",
]
FINE = [
    "DELETE WHERE { GRAPH ?g { ?s <urn:x:own> ?t } }",
    "INSERT { GRAPH ?g { ?s <urn:x:p> 2 } } WHERE { GRAPH ?g { ?s <urn:x:own> ?t } }",
    "INSERT DATA { GRAPH <urn:x:new> { <urn:x:n> <urn:x:own> 3 } } ; DELETE WHERE { GRAPH ?g { <urn:x:n> <urn:x:own> ?t } }",
    "INSERT { GRAPH ?g { ?s <urn:x:p> ?t } } WHERE { VALUES ?g { <urn:x:fresh> } GRAPH <urn:x:data> { ?s <urn:x:own> ?t } }",
]


@pytest.fixture(params=["memory", "folder"])
def kb(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[KnowledgeBase]:
    where = tmp_path / "kb" if request.param == "folder" else None
    with KnowledgeBase(where, embedder=HashEmbedder()) as opened:
        opened.add_many([Document("The otter swims.", id="otter")])
        opened.update("INSERT DATA { GRAPH <urn:x:data> { <urn:x:s> <urn:x:own> 1 } }")
        yield opened


def content(kb: KnowledgeBase) -> list[str]:
    return sorted(map(str, kb.store.select("SELECT ?g ?s ?p ?o { GRAPH ?g { ?s ?p ?o } }")))


@pytest.mark.parametrize("update", REFUSED)
def test_an_update_that_names_no_graph_of_kgrags_changes_none(kb: KnowledgeBase, update: str) -> None:
    before = content(kb)
    with pytest.raises(InputError, match="kgrag makes itself|keeps itself"):
        kb.update(KG + update)
    assert content(kb) == before


@pytest.mark.parametrize("update", FINE)
def test_other_graphs_need_no_names(kb: KnowledgeBase, update: str) -> None:
    revision = kb.store.revision
    assert kb.update(KG + update) == revision + 1


def test_it_is_done_where_that_is_asked_for_or_the_graph_is_named(kb: KnowledgeBase) -> None:
    kb.update(f"{KG} {REFUSED[1]}", own_graphs=True)
    for (graph,) in kb.store.select(f'{KG} SELECT DISTINCT ?g {{ GRAPH ?g {{ ?s kg:text "x" }} }}').rows:
        kb.update(f'{KG} DELETE WHERE {{ GRAPH {graph} {{ ?s kg:text "x" }} }}')
    assert not kb.store.ask(f"{KG} ASK {{ GRAPH ?g {{ ?s kg:text ?t }} }}")


@pytest.mark.parametrize("update", OF_CATALOGUE)
def test_the_catalogue_is_never_changed(kb: KnowledgeBase, update: str) -> None:
    with pytest.raises(InputError, match="graph/catalogue"):
        kb.update(KG + update, own_graphs=True)


def test_what_chance_may_choose_is_refused(kb: KnowledgeBase) -> None:
    with pytest.raises(InputError, match="LIMIT"):
        kb.update("DELETE { GRAPH ?g { ?s ?p ?o } } WHERE { SELECT * { GRAPH ?g { ?s ?p ?o } } LIMIT 1 }")


def test_graphs_that_an_update_does_not_touch_are_not_compared(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[str] = []
    differ = own_graphs._differ
    monkeypatch.setattr(own_graphs, "_differ", lambda *args: compared.append(args[2].value) or differ(*args))
    kb.update(KG + FINE[2])  # a later operation searches, so it is run on a copy
    assert compared == []
