"""A knowledge base that is corrupted in one place is found out; the whole run is ``benchmarks.audit_mutations``."""

from collections.abc import Iterator
from typing import Any, cast

import pyoxigraph as ox
import pytest

from benchmarks.audit_mutations import Corruption, corruptions, everything, found_by, sample
from kgrag import KnowledgeBase
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder
from kgrag.vocab import DCTERMS, KG, PROV, RDF, RDFS, XSD, number

SAMPLE = 30


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    with KnowledgeBase(settings=Settings(), embedder=HashEmbedder()) as kb:
        everything(kb, tmp_path_factory.mktemp("work"))
        yield kb


def quads(kb: KnowledgeBase) -> ox.Store:
    return cast("Any", kb.store)._store


def test_a_knowledge_base_that_nobody_corrupted_has_no_finding(whole: KnowledgeBase) -> None:
    assert cast("Any", whole.audit(profile="kg")).findings == ()
    assert [finding for finding in whole.doctor() if finding.fault] == []


def test_of_a_sample_of_corruptions_nineteen_of_twenty_are_found(whole: KnowledgeBase) -> None:
    made = sample(corruptions(quads(whole), whole.store.names.catalogue), SAMPLE)
    escaped = [corruption.name for corruption in made if not found_by(whole, corruption)]
    assert len(made) == SAMPLE
    assert len(escaped) <= SAMPLE / 20, escaped


def of_chunk(store: ox.Store) -> Iterator[Corruption]:
    """The text of a chunk differs from its document's at the same length."""
    chunk = min((q for q in store.quads_for_pattern(None, KG.start, None)), key=str)
    text = next(store.quads_for_pattern(chunk.subject, KG.text, None, chunk.graph_name))
    other = ox.Literal(cast("ox.Literal", text.object).value[::-1])
    yield Corruption("retext", ("", "", ""), (text,), (ox.Quad(text.subject, KG.text, other, text.graph_name),))


def of_tree(store: ox.Store) -> Iterator[Corruption]:
    """A node of a tree is part of itself."""
    node = next(store.quads_for_pattern(None, KG.hasChild, None))
    yield Corruption("cycle", ("", "", ""), (), (ox.Quad(node.subject, KG.hasChild, node.subject, node.graph_name),))


def of_proposition(store: ox.Store) -> Iterator[Corruption]:
    """A proposition states something else than was extracted."""
    node = min((q for q in store.quads_for_pattern(None, RDF.type, KG.Proposition)), key=str)
    text = next(store.quads_for_pattern(node.subject, KG.text, None, node.graph_name))
    other = ox.Quad(text.subject, KG.text, ox.Literal("Lentils are poisonous."), text.graph_name)
    yield Corruption("retext", ("", "", ""), (text,), (other,))


def of_hyperedge(store: ox.Store) -> Iterator[Corruption]:
    """A hyperedge is empty, and the catalogue has forgotten it; its hypernodes are listed still."""
    edge = max((q for q in store.quads_for_pattern(None, RDF.type, KG.HyperedgeGraph)), key=str).subject
    held = store.quads_for_pattern(None, None, None, cast("ox.NamedNode", edge))
    yield Corruption("empty", ("", "", ""), (*held, *store.quads_for_pattern(edge, None, None)))


def of_hypernode(store: ox.Store) -> Iterator[Corruption]:
    """A hypernode is there twice, under two names."""
    node = min((q for q in store.quads_for_pattern(None, RDF.type, KG.Hypernode)), key=str)
    twin = ox.NamedNode(f"{cast('ox.NamedNode', node.subject).value[:-1]}0")
    stated = store.quads_for_pattern(node.subject, None, None, node.graph_name)
    yield Corruption(
        "twin", ("", "", ""), (), tuple(ox.Quad(twin, q.predicate, q.object, q.graph_name) for q in stated)
    )


def of_childless_node(store: ox.Store) -> Iterator[Corruption]:
    """A summary has lost its children."""
    node = next(store.quads_for_pattern(None, KG.hasChild, None)).subject
    yield Corruption("remove", ("", "", ""), tuple(store.quads_for_pattern(node, KG.hasChild, None)))


def of_evidence(store: ox.Store) -> Iterator[Corruption]:
    """A fact cites a chunk that is not there."""
    fact = next(q for q in store.quads_for_pattern(None, PROV.wasDerivedFrom, None) if "hyperedge/" in str(q.subject))
    nowhere = ox.NamedNode("urn:kgrag:chunk/00000000000000000000-0-9")
    yield Corruption(
        "dangle", ("", "", ""), (fact,), (ox.Quad(fact.subject, fact.predicate, nowhere, fact.graph_name),)
    )


def of_title(store: ox.Store) -> Iterator[Corruption]:
    """A document has another title than it was read with."""
    title = next(
        q for q in store.quads_for_pattern(None, DCTERMS.title, None) if "graph/document/" in str(q.graph_name)
    )
    yield Corruption(
        "retext", ("", "", ""), (title,), (ox.Quad(title.subject, DCTERMS.title, ox.Literal("x"), title.graph_name),)
    )


def of_tokens(store: ox.Store) -> Iterator[Corruption]:
    """An activity is said to have cost more tokens than it did."""
    cost = min((q for q in store.quads_for_pattern(None, KG.inputTokens, None)), key=str)
    more = ox.Quad(cost.subject, KG.inputTokens, number(99), cost.graph_name)
    yield Corruption("recount", ("", "", ""), (cost,), (more,))


def of_key(store: ox.Store) -> Iterator[Corruption]:
    """A key of hypernodes stands for no property any more."""
    yield Corruption("remove", ("", "", ""), (min(store.quads_for_pattern(None, KG.onProperty, None), key=str),))


def of_checksum(store: ox.Store) -> Iterator[Corruption]:
    """A graph has lost its checksum."""
    quads = [q for q in store.quads_for_pattern(None, KG.checksum, None) if "graph/document/" in str(q.subject)]
    yield Corruption("remove", ("", "", ""), (min(quads, key=str),))


def of_publication(store: ox.Store) -> Iterator[Corruption]:
    """A graph is listed with a change that did not write it."""
    quads = [q for q in store.quads_for_pattern(None, KG.publication, None) if "graph/document/" in str(q.subject)]
    other = ox.Quad(quads[0].subject, KG.publication, ox.NamedNode("urn:kgrag:publication/11"), quads[0].graph_name)
    yield Corruption("duplicate", ("", "", ""), (), (other,))


def of_source(store: ox.Store) -> Iterator[Corruption]:
    """A source of documents is no source, has another name than its IRI, or is older than the knowledge base."""
    (kind,) = store.quads_for_pattern(None, RDF.type, KG.Source)
    (name,) = store.quads_for_pattern(kind.subject, DCTERMS.identifier, None)
    (created,) = store.quads_for_pattern(kind.subject, DCTERMS.created, None)
    earlier = ox.Literal("2001-01-01T00:00:00Z", datatype=XSD.dateTime)
    for quad, other in ((kind, KG.Build), (name, ox.Literal("other")), (created, earlier)):
        changed = ox.Quad(quad.subject, quad.predicate, other, quad.graph_name)
        yield Corruption("retext", ("", "", ""), (quad,), (changed,))


@pytest.mark.parametrize("corrupted", [of_source, of_tokens, of_key, of_checksum, of_publication])
def test_what_a_graph_that_grows_and_the_catalogue_state_is_found_by_their_accounts(
    whole: KnowledgeBase, corrupted: Any
) -> None:
    for corruption in corrupted(quads(whole)):
        assert found_by(whole, corruption) == "recomputed", corrupted.__doc__


@pytest.mark.parametrize(
    "corrupted",
    [of_chunk, of_tree, of_proposition, of_hyperedge, of_hypernode, of_childless_node, of_evidence, of_title],
)
def test_a_corruption_that_keeps_counts_and_checksums_right_is_found(whole: KnowledgeBase, corrupted: Any) -> None:
    for corruption in corrupted(quads(whole)):
        # of vectors the doctor compares some only: the content itself has to say it
        assert found_by(whole, corruption, accounts=False) not in ("", "vectors"), corrupted.__doc__


def test_a_label_of_an_ontology_that_is_changed_past_kgrag_is_found_by_the_checksum_and_by_its_vector(
    whole: KnowledgeBase,
) -> None:
    store = quads(whole)
    label = min((q for q in store.quads_for_pattern(None, RDFS.label, None) if "crops" in str(q.graph_name)), key=str)
    changed = ox.Quad(label.subject, label.predicate, ox.Literal("other"), label.graph_name)
    assert found_by(whole, Corruption("retext", ("", "", ""), (label,), (changed,))) == "recomputed"
    assert found_by(whole, Corruption("retext", ("", "", ""), (label,), (changed,)), accounts=False) == "vectors"
