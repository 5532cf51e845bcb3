"""Publishing: atomic, idempotent, validated, catalogued."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import pyoxigraph as ox
import pytest

from kgrag import KnowledgeBase, queries
from kgrag.errors import InvalidRDF, ShapeViolation, StateError, StorageFailed
from kgrag.model import GraphDraft, Violation
from kgrag.ports import TripleStore
from kgrag.store import embedded_quads, publishing
from kgrag.store.oxigraph import OxigraphStore
from kgrag.vocab import KG, RDF, XSD, number
from tests.store.oxigraph_drafts import EDGE, N, content, edge, entry, listed, ontology


@pytest.fixture
def store() -> OxigraphStore:
    return OxigraphStore.open(None)


def test_a_new_store_knows_itself_and_nothing_else(store: OxigraphStore) -> None:
    assert (store.revision, store.graphs()) == (0, [store.names.catalogue.value])
    assert entry(store, store.names.catalogue)["type"] == [KG.CatalogueGraph.value]
    assert entry(store, store.names.knowledge_base)["baseIRI"] == ["urn:kgrag:"]


def test_a_published_graph_is_there_and_catalogued(store: OxigraphStore) -> None:
    publication = store.publish([edge(method="og_rag", activity=N("urn:t:act"))])
    assert (publication.revision, publication.published) == (1, (EDGE.value,))
    said = entry(store, EDGE)
    assert set(store.triples(EDGE)) == set(edge().triples)
    assert said.pop("created")[0].endswith("Z")
    number, checksum = said.pop("checksum")[0].split(":")
    assert (number, len(checksum)) == ("1", 32)
    assert said == {
        "type": [KG.HyperedgeGraph.value],
        "publication": [store.names.publication(1).value],
        "method": ["og_rag"],
        "wasDerivedFrom": ["urn:t:chunk"],
        "wasGeneratedBy": ["urn:t:act"],
        "triples": ["2"],
        "size": ["1"],
    }


def test_publishing_the_same_again_changes_nothing(store: OxigraphStore) -> None:
    drafts = [edge(), listed("a", 3), ontology(ox.Literal("01", datatype=XSD.integer), ox.BlankNode("b"))]
    store.publish(drafts)
    before = content(store)
    publication = store.publish(drafts)
    assert content(store) == before
    assert publication.revision == store.revision == 1
    assert publication.published == ()
    assert EDGE.value in publication.unchanged


def test_an_empty_publication_changes_nothing(store: OxigraphStore) -> None:
    assert store.publish([]).revision == 0
    assert len(store) == 9


def test_a_graph_published_again_gains_its_new_sources_only(store: OxigraphStore) -> None:
    store.publish([edge()])
    again = store.publish([edge(sources=[N("urn:t:other")], method="later")])
    said = entry(store, EDGE)
    assert again.unchanged == (EDGE.value,)
    assert said["wasDerivedFrom"] == ["urn:t:chunk", "urn:t:other"]
    assert "method" not in said
    assert said["publication"] == [store.names.publication(1).value]
    assert store.revision == 2


def test_drafts_of_one_graph_are_joined(store: OxigraphStore) -> None:
    store.publish([edge(), edge(sources=[N("urn:t:other")]), listed("a", 2), listed("b", 1)])
    assert entry(store, EDGE)["wasDerivedFrom"] == ["urn:t:chunk", "urn:t:other"]
    assert len(list(store.triples(N("urn:t:list")))) == 3


def test_a_graph_that_two_activities_generate_at_once_names_both(store: OxigraphStore) -> None:
    store.publish([edge(activity=N("urn:t:first")), edge(activity=N("urn:t:second"))])
    assert entry(store, EDGE)["wasGeneratedBy"] == ["urn:t:first", "urn:t:second"]


def test_drafts_of_one_graph_that_contradict_each_other_are_refused(store: OxigraphStore) -> None:
    with pytest.raises(InvalidRDF, match="drafted twice"):
        store.publish([edge(), edge(kind=KG.DataGraph)])
    assert store.revision == 0


def test_an_appended_graph_gains_triples_and_a_publication_each_time(store: OxigraphStore) -> None:
    store.publish([listed("a", 3)])
    store.publish([listed("ab", 3)])
    assert len(list(store.triples(N("urn:t:list")))) == 6
    said = entry(store, N("urn:t:list"))
    assert len(said["publication"]) == 2
    assert len(said["created"]) == 1
    assert "triples" not in said


def test_the_count_of_a_counted_graph_follows_what_is_appended(store: OxigraphStore) -> None:
    data = {"iri": N("urn:t:data"), "kind": KG.DataGraph, "mode": "append", "sources": []}
    store.publish([edge(**data)])
    store.publish([edge(value="Rice", **data)])
    assert entry(store, N("urn:t:data"))["triples"] == ["3"]


def test_triples_of_another_kind_are_not_appended(store: OxigraphStore) -> None:
    store.publish([edge()])
    with pytest.raises(InvalidRDF, match="HyperedgeGraph"):
        store.publish([edge(kind=KG.DataGraph, mode="append")])


def test_a_graph_without_triples_is_catalogued(store: OxigraphStore) -> None:
    store.publish([edge(triples=[])])
    assert store.described(EDGE)
    assert entry(store, EDGE)["triples"] == ["0"]
    assert store.publish([edge(triples=[])]).unchanged == (EDGE.value,)


def test_a_replaced_graph_holds_the_new_triples_only(store: OxigraphStore) -> None:
    store.publish([ontology(ox.Literal("a"), ox.BlankNode("kept")), edge()])
    publication = store.publish([ontology(ox.BlankNode("kept"), ox.Literal("b"), ox.Literal("c"))])
    graph = N("urn:t:ontology")
    assert {triple.object for triple in store.triples(graph)} == {
        ox.BlankNode("kept"),
        ox.Literal("b"),
        ox.Literal("c"),
    }
    said = entry(store, graph)
    assert said["triples"] == ["3"]
    assert len(said["publication"]) == 2
    assert len(said["created"]) == 1
    assert (publication.published, publication.revision) == ((graph.value,), 2)
    assert entry(store, store.names.publication(2))["type"] == [KG.Publication.value]


def test_a_graph_replaced_by_nothing_is_empty_and_still_catalogued(store: OxigraphStore) -> None:
    store.publish([ontology(ox.Literal("a"))])
    store.publish([ontology()])
    assert "urn:t:ontology" not in store.graphs()
    assert entry(store, N("urn:t:ontology"))["triples"] == ["0"]


def test_new_graphs_and_replaced_ones_of_one_call_each_enter_whole(store: OxigraphStore) -> None:
    store.publish([ontology(ox.Literal("a"))])
    publication = store.publish([edge(), ontology(ox.Literal("b"))])
    assert publication.revision == 3
    assert set(publication.published) == {EDGE.value, "urn:t:ontology"}


def test_literals_that_the_engine_rewrites_are_kept_as_they_were_written(store: OxigraphStore) -> None:
    written = ox.Literal("01.50", datatype=XSD.decimal)
    store.publish([ontology(written, ox.Literal("plain"), ox.Literal("7", datatype=XSD.integer))])
    companion = list(store.triples(store.names.lexical_graph("urn:t:ontology")))
    assert {(triple.predicate, triple.object) for triple in companion} == {
        (RDF.subject, N("urn:t:s")),
        (RDF.predicate, N("urn:t:p")),
        (RDF.object, ox.Literal("1.5", datatype=XSD.decimal)),
        (KG.lexicalForm, ox.Literal("01.50")),
        (KG.lexicalDatatype, XSD.decimal),
    }
    assert entry(store, store.names.lexical_graph("urn:t:ontology"))["wasDerivedFrom"] == ["urn:t:ontology"]


def test_a_lexical_graph_goes_when_nothing_is_rewritten_any_more(store: OxigraphStore) -> None:
    store.publish([ontology(ox.Literal("01", datatype=XSD.integer))])
    store.publish([ontology(ox.Literal("1", datatype=XSD.integer))])
    lexical = store.names.lexical_graph("urn:t:ontology")
    assert not store.described(lexical)
    assert lexical.value not in store.graphs()


REWRITTEN = [
    "int:1",
    "integer:01",
    "decimal:1.0",
    "double:1E3",
    "boolean:1",
    "dateTime:2020-01-01T00:00:00.0Z",
    "duration:P12M",
]


@pytest.mark.parametrize("written", REWRITTEN)
def test_a_literal_of_ours_that_the_engine_would_rewrite_is_refused(store: OxigraphStore, written: str) -> None:
    kind, value = written.split(":", 1)
    literal = ox.Literal(value, datatype=N(f"http://www.w3.org/2001/XMLSchema#{kind}"))
    with pytest.raises(InvalidRDF, match="would rewrite"):
        store.publish([edge(triples=[ox.Triple(N("urn:t:s"), KG.value, literal)])])
    assert store.revision == 0


def blames(*graphs: str, severity: str = "Violation"):
    """A validator that finds fault with the given graphs."""

    def validator(scratch: TripleStore, drafts: Sequence[GraphDraft]) -> list[Violation]:
        known = {draft.iri.value for draft in drafts if scratch.described(draft.iri)}
        return [Violation(graph, "urn:t:node", "It is wrong.", severity=severity) for graph in graphs if graph in known]

    return validator


def test_a_failing_graph_goes_to_quarantine_and_the_others_enter() -> None:
    store = OxigraphStore.open(None, validator=blames("urn:t:bad"))
    publication = store.publish([edge(), edge("bad", "Rice", method="og_rag")])
    assert publication.published == (EDGE.value,)
    assert publication.quarantined == ("urn:t:bad",)
    assert [violation.message for violation in publication.violations] == ["It is wrong."]
    assert not store.described(N("urn:t:bad"))
    (row,) = store.select(queries.bind("catalogue/quarantined")).values()
    assert row[1:] == ("urn:t:bad", KG.HyperedgeGraph.value, "It is wrong.")
    kept = {triple.predicate: triple.object.value for triple in store.triples(N(row[0]))}
    assert '"Rice"' in kept[KG.content]
    assert entry(store, N(row[0]))["wasDerivedFrom"] == ["urn:t:chunk"]


def test_a_new_graph_that_was_validated_elsewhere_is_not_validated_again() -> None:
    seen: list[str] = []

    def validator(scratch: TripleStore, drafts: Sequence[GraphDraft]) -> list[Violation]:
        assert {draft.iri.value for draft in drafts} == {
            draft.iri.value for draft in drafts if scratch.described(draft.iri)
        }
        seen.extend(draft.iri.value for draft in drafts)
        return []

    store = OxigraphStore.open(None, validator=validator)
    store.publish([edge("sown"), edge("cut")], conforming={N("urn:t:sown"), N("urn:t:other")})
    assert seen == ["urn:t:cut"]
    store.publish([edge("kept")], conforming={N("urn:t:kept")})
    assert seen == ["urn:t:cut"]


def test_what_changes_a_graph_is_validated_whatever_was_said_of_it() -> None:
    store = OxigraphStore.open(None, validator=blames("urn:t:ontology"))
    store._validator = blames()
    store.publish([ontology(ox.Literal("before"))])
    store._validator = blames("urn:t:ontology")
    assert store.publish([ontology(ox.Literal("after"))], conforming={N("urn:t:ontology")}).quarantined


def test_publishing_a_failing_graph_again_changes_nothing() -> None:
    store = OxigraphStore.open(None, validator=blames(EDGE.value))
    store.publish([edge()])
    before = content(store)
    assert store.publish([edge()]).quarantined == (EDGE.value,)
    assert content(store) == before


def test_a_graph_that_was_mended_enters() -> None:
    store = OxigraphStore.open(None, validator=blames("urn:t:bad"))
    store.publish([edge("bad")])
    store._validator = blames()
    assert store.publish([edge("bad")]).published == ("urn:t:bad",)


def test_a_warning_keeps_nothing_out() -> None:
    store = OxigraphStore.open(None, validator=blames(EDGE.value, severity="Warning"))
    assert store.publish([edge()]).published == (EDGE.value,)


def test_a_quarantined_ontology_takes_its_lexical_graph_along() -> None:
    store = OxigraphStore.open(None, validator=blames("urn:t:ontology"))
    store.publish([ontology(ox.Literal("01", datatype=XSD.integer))])
    assert not store.described(store.names.lexical_graph("urn:t:ontology"))


def test_a_violation_of_no_draft_stops_the_publication() -> None:
    def validator(_scratch: TripleStore, _drafts: Sequence[GraphDraft]) -> list[Violation]:
        return [Violation("urn:t:elsewhere", "urn:t:node", "It is wrong.")]

    store = OxigraphStore.open(None, validator=validator)
    with pytest.raises(ShapeViolation, match="none of the graphs"):
        store.publish([edge()])
    assert store.revision == 0


def test_the_validator_sees_drafts_with_entries_and_only_those_that_change() -> None:
    seen: list[tuple[list[str], dict[str, list[str]]]] = []

    def validator(scratch: TripleStore, drafts: Sequence[GraphDraft]) -> list[Violation]:
        seen.append(([draft.iri.value for draft in drafts], entry(scratch, drafts[0].iri)))  # type: ignore[arg-type]
        return []

    store = OxigraphStore.open(None, validator=validator)
    store.publish([edge()])
    store.publish([edge(), listed("a", 2)])
    store.publish([edge(sources=[N("urn:t:more")])])
    assert [graphs for graphs, _ in seen] == [[EDGE.value], ["urn:t:list"]]
    assert seen[0][1]["triples"] == ["2"]
    assert len(seen[1][1]["created"]) == 1


def test_an_error_of_the_validator_comes_through_as_it_is() -> None:
    def validator(_scratch: TripleStore, _drafts: Sequence[GraphDraft]) -> list[Violation]:
        raise ValueError("a fault of the validator")

    store = OxigraphStore.open(None, validator=validator)
    with pytest.raises(ValueError, match="a fault of the validator"):
        store.publish([edge()])


@pytest.mark.parametrize("bulk", [1, 10_000])
def test_a_failure_while_writing_leaves_nothing(bulk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded_quads, "_MIN_QUADS_FOR_BULK", bulk)

    def failing(change: object):
        yield ox.Quad(N("urn:t:s"), KG.value, number(1), EDGE)
        raise OSError("No space left on device")

    store = OxigraphStore.open(None)
    monkeypatch.setattr(publishing.publication_plan, "quads", failing)
    with pytest.raises(StorageFailed, match="No space left"):
        store.publish([edge()])
    assert (store.revision, len(store)) == (0, 9)


@pytest.mark.parametrize("bulk", [1, 10_000])
def test_both_ways_of_writing_give_the_same(bulk: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(embedded_quads, "_MIN_QUADS_FOR_BULK", bulk)
    with OxigraphStore.open(tmp_path / "store") as store:
        store.publish([edge(str(row)) for row in range(20)])
        assert len(store.graphs()) == 21
        assert all(len(list(store.triples(N(f"urn:t:{row}")))) == 2 for row in range(20))


def test_threads_publish_without_losing_a_revision(tmp_path: Path) -> None:
    with OxigraphStore.open(tmp_path / "store") as store:
        threads = [
            threading.Thread(
                target=lambda part=part: [
                    store.publish([edge(f"{part}-{row}"), listed(str(part), row)]) for row in range(8)
                ]
            )
            for part in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert store.revision == 32
        assert sum(graph.startswith("urn:t:") for graph in store.graphs()) == 33


def test_removed_graphs_are_gone_with_their_entries(store: OxigraphStore) -> None:
    store.publish([edge(), edge("other"), ontology(ox.Literal("01", datatype=XSD.integer))])
    assert store.remove([EDGE, N("urn:t:ontology"), N("urn:t:none")]) == 2
    assert store.graphs() == [store.names.catalogue.value, "urn:t:other"]
    assert not store.described(EDGE)
    assert store.revision == 2
    assert store.publish([edge()]).published == (EDGE.value,)


def test_removing_what_is_not_there_changes_nothing(store: OxigraphStore) -> None:
    assert store.remove([N("urn:t:none")]) == 0
    assert store.revision == 0


def test_the_catalogue_cannot_be_removed(store: OxigraphStore) -> None:
    with pytest.raises(Exception, match="cannot be removed"):
        store.remove([store.names.catalogue])


def test_a_closed_store_says_so(store: OxigraphStore) -> None:
    store.close()
    store.close()
    with pytest.raises(StateError, match="closed"):
        store.publish([edge()])
    with pytest.raises(StateError, match="closed"):
        store.graphs()


def test_a_file_whose_triple_term_has_a_literal_that_the_engine_rewrites_is_loaded_once(
    kb: KnowledgeBase, tmp_path: Path
) -> None:
    file = tmp_path / "terms.ttl"
    file.write_text(
        "<urn:e:o> a <http://www.w3.org/2002/07/owl#Ontology> . "
        '<urn:e:a> <urn:e:b> <<( <urn:e:x> <urn:e:y> "01"^^<http://www.w3.org/2001/XMLSchema#int> )>> .'
    )
    kb.load(file)
    before = len(kb.store), kb.store.revision
    assert kb.load(file).published == ()
    assert (len(kb.store), kb.store.revision) == before
