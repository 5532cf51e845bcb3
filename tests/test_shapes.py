"""The shapes of our own graphs: a small knowledge base conforms, and every constraint of every shape can be broken.

``shapes/conforming.trig`` is the conforming example of every shape. Each violating example is that knowledge base with
one thing changed: by hand for what a person would get wrong, and for every constraint by a rule of its component.
"""

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pyoxigraph as ox
import pytest

from kgrag import queries, shacl
from kgrag.model import Violation
from kgrag.resources import folder
from kgrag.shacl import Constraint
from kgrag.vocab import DCTERMS, KG, PROV, RDF, Names, number
from tests.quad_store import QuadStore

CONFORMING = Path(__file__).parent / "shapes" / "conforming.trig"
SH = "http://www.w3.org/ns/shacl#"
SHAPES = "https://w3id.org/kgrag/shapes/graphs#"
FILES = sorted((folder("shapes") / "graphs").glob("*.ttl"))
CONSTRAINTS = [c for c in shacl.graph_shapes().constraints if c.component != "sparql"]
NAMES = Names()

ELSE = ox.NamedNode("urn:something-else")
TEXT = ox.Literal("Something else!")
BLANK = ox.BlankNode("something")
DOCUMENT = ox.NamedNode("urn:kgrag:graph/document/d1")
CHUNK = ox.NamedNode("urn:kgrag:chunk/d1-0-11")
EDGE = ox.NamedNode("urn:kgrag:hyperedge/e1")


@cache
def conforming() -> tuple[ox.Quad, ...]:
    return tuple(ox.parse(path=CONFORMING))


@cache
def conforming_store() -> QuadStore:
    return QuadStore(conforming())


def check(quads: Iterable[ox.Quad]) -> list[Violation]:
    """Validate as ``publish`` and ``doctor`` do: by queries those constraints only that a look leaves open."""
    return shacl.graph_violations(QuadStore(quads))


def replaced(
    graph: ox.NamedNode,
    subject: ox.NamedNode,
    predicate: ox.NamedNode,
    *values: ox.NamedNode | ox.Literal | ox.BlankNode,
) -> list[ox.Quad]:
    """Give the conforming quads with other values of one property of one subject."""
    rest = [q for q in conforming() if (q.graph_name, q.subject, q.predicate) != (graph, subject, predicate)]
    return rest + [ox.Quad(subject, predicate, value, graph) for value in values]


def test_a_conforming_knowledge_base_has_no_violation() -> None:
    assert check(conforming()) == []


def test_every_kind_of_graph_but_answers_stands_in_the_conforming_knowledge_base() -> None:
    kinds = {KG.all()[name] for name in KG.all() if name.endswith("Graph") and name[0].isupper()}
    assert {q.object for q in conforming() if q.predicate == RDF.type} >= kinds - {KG.Graph, KG.AnswerGraph}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_shape_has_a_comment_and_every_constraint_a_message(path: Path) -> None:
    graph = ox.Dataset(ox.parse(path=path))
    shapes = [q.subject for q in graph if q.object == ox.NamedNode(SH + "NodeShape")]
    comment = ox.NamedNode("http://www.w3.org/2000/01/rdf-schema#comment")
    assert [s for s in shapes if not list(graph.quads_for_subject(s)) or not _has(graph, s, comment)] == []
    assert [c for c in shacl.load_shapes([path]).constraints if not c.message.endswith(".")] == []


def _has(graph: ox.Dataset, subject: ox.NamedNode, predicate: ox.NamedNode) -> bool:
    return any(q.predicate == predicate for q in graph.quads_for_subject(subject))


def focus_nodes(constraint: Constraint) -> list[tuple[ox.NamedNode, ox.NamedNode]]:
    """Give (graph, focus node) of a shape in the conforming knowledge base."""
    target = constraint.target
    store = conforming_store()
    bound = {name: getattr(target, name) for name in ("classes", "subjects_of", "objects_of", "nodes", "kinds")}
    query = queries.bind("shacl/focus", **bound, via=[], path=[], merged=[], graphs=[], catalogue=NAMES.catalogue)
    return list(store.select(query))


def broken(constraint: Constraint) -> list[ox.Quad]:
    """Change the conforming knowledge base so that it breaks this constraint, as its component wants."""
    graph, focus = focus_nodes(constraint)[0]
    if not constraint.path:
        if constraint.component == "closed":
            return [*conforming(), ox.Quad(focus, ELSE, TEXT, graph)]
        if constraint.component == "or":  # neither of the alternatives: only the type is left
            return [q for q in conforming() if q.subject != focus or q.predicate == RDF.type]
        quads = [q for q in conforming() if q.subject == focus and q.graph_name == graph]
        return [*conforming(), *(ox.Quad(BLANK, q.predicate, q.object, graph) for q in quads)]
    before = [
        q.object for q in conforming() if (q.graph_name, q.subject, q.predicate) == (graph, focus, constraint.path[0])
    ]
    after = ox.Literal("2099-01-01T00:00:00Z", datatype=ox.NamedNode("http://www.w3.org/2001/XMLSchema#dateTime"))
    values = {
        "minCount": [],
        "maxCount": [*before, ELSE, TEXT],
        "datatype": [ELSE],
        "nodeKind": [TEXT if constraint.values.get("wanted") != ox.NamedNode(SH + "Literal") else ELSE],
        "in": [ELSE],
        "class": [ELSE],
        "pattern": [TEXT],
        "minLength": [ox.Literal("")],
        "maxInclusive": [number(10**9)],
        "minInclusive": [number(-1)],
        "lessThan": [number(99)],
        "lessThanOrEquals": [after],
        "uniqueLang": [ox.Literal("one", language="en"), ox.Literal("two", language="en")],
    }
    return replaced(graph, focus, constraint.path[0], *values[constraint.component])


def _id(constraint: Constraint) -> str:
    path = "".join(p.value.replace("#", "/").rsplit("/", 1)[-1] for p in constraint.path)
    return f"{constraint.shape.removeprefix(SHAPES)}-{path}-{constraint.component}"


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=_id)
def test_every_constraint_can_be_broken(constraint: Constraint) -> None:
    found = check(broken(constraint))
    path = "".join(p.value for p in constraint.path)
    wanted = (constraint.shape, constraint.component, path if constraint.component != "closed" else ELSE.value)
    assert wanted in {(v.shape, v.component, v.path) for v in found}


def messages(quads: Iterable[ox.Quad]) -> set[str]:
    return {violation.message for violation in check(quads)}


def test_a_chunk_whose_text_is_longer_than_its_span_is_found() -> None:
    found = check(replaced(DOCUMENT, CHUNK, KG.text, ox.Literal("Barley 🌾 éxx")))
    assert [(v.graph, v.focus, v.value) for v in found] == [(DOCUMENT.value, CHUNK.value, "12")]


def test_a_chunk_that_ends_behind_its_document_is_found() -> None:
    quads = replaced(DOCUMENT, CHUNK, KG.end, number(12))
    assert "This chunk ends at character 12, which is behind the end of its document's text." in messages(quads)


def test_a_chunk_of_a_document_in_another_graph_is_found() -> None:
    found = check(replaced(DOCUMENT, CHUNK, DCTERMS.isPartOf, ox.NamedNode("urn:kgrag:document/d2")))
    assert [v.message for v in found] == [
        "This chunk is part of urn:kgrag:document/d2, which is no document of the same graph."
    ]


def test_two_documents_in_one_graph_are_found() -> None:
    second = ox.NamedNode("urn:kgrag:document/d9")
    first = [q for q in conforming() if q.subject.value == "urn:kgrag:document/d1"]
    found = check([*conforming(), *(ox.Quad(second, q.predicate, q.object, DOCUMENT) for q in first)])
    assert {(v.shape, v.focus, v.value) for v in found} == {
        (SHAPES + "OneDocument", "urn:kgrag:document/d1", second.value),
        (SHAPES + "OneDocument", second.value, "urn:kgrag:document/d1"),
    }


def test_a_document_graph_without_its_document_is_found() -> None:
    found = check([q for q in conforming() if q.graph_name.value != "urn:kgrag:graph/document/d2"])
    assert [(v.graph, v.focus, v.message) for v in found] == [
        (NAMES.catalogue.value, "urn:kgrag:graph/document/d2", "This document graph holds no document.")
    ]


def test_a_blank_node_as_a_value_in_an_assertion_graph_is_found() -> None:
    graph, instance = ox.NamedNode("urn:kgrag:graph/assertion/a1"), ox.NamedNode("urn:kgrag:instance/i1")
    found = check([*conforming(), ox.Quad(instance, ELSE, BLANK, graph)])
    assert [v.message for v in found] == [
        "An assertion graph speaks of things by IRI, and something-else has a blank node."
    ]


def test_a_quarantine_graph_that_describes_something_else_is_found() -> None:
    graph = ox.NamedNode("urn:kgrag:graph/quarantine/q1")
    other = [ox.Quad(ELSE, q.predicate, q.object, graph) for q in conforming() if q.graph_name == graph]
    assert messages([*conforming(), *other]) == {"A quarantine graph describes itself only, not other things."}


def test_a_hypernode_with_two_values_in_one_hyperedge_is_found_but_not_in_two_hyperedges() -> None:
    node = ox.NamedNode("urn:kgrag:hypernode/h1")
    quads = [*conforming(), ox.Quad(node, KG.value, ox.Literal("Rye"), EDGE)]
    assert {(v.graph, v.component) for v in check(quads)} == {(EDGE.value, "maxCount")}
    other = ox.NamedNode("urn:kgrag:hyperedge/empty")
    pair = [ox.Quad(node, KG.key, ox.Literal("Crop name"), other), ox.Quad(node, KG.value, ox.Literal("Rye"), other)]
    assert check([*conforming(), *pair]) == []


def test_a_hyperedge_without_a_source_is_found() -> None:
    found = check(replaced(NAMES.catalogue, EDGE, PROV.wasDerivedFrom))
    assert [(v.focus, v.message) for v in found] == [
        (EDGE.value, "A hyperedge is derived from at least one chunk, document or graph.")
    ]


def test_a_graph_of_two_kinds_is_found() -> None:
    quads = [*conforming(), ox.Quad(EDGE, RDF.type, KG.OntologyGraph, NAMES.catalogue)]
    assert "A named graph is of exactly one kind, and kgrag knows that kind." in messages(quads)


def test_a_graph_without_a_kind_is_found() -> None:
    quads = replaced(NAMES.catalogue, EDGE, RDF.type)
    assert "A named graph is of exactly one kind, and kgrag knows that kind." in messages(quads)


def test_a_data_graph_may_use_our_terms_as_it_likes() -> None:
    graph = ox.NamedNode("urn:kgrag:graph/data/g1")
    assert check([*conforming(), ox.Quad(BLANK, RDF.type, KG.Chunk, graph)]) == []
