"""The SHACL engine against pyshacl on generated shapes and data: nested shapes, logic, qualified values, long paths.

Each example is one shape and one small graph; focus node, component, path and value of every result must be the same.
``test_shacl_oracle.py`` says what is left out of the comparison, and why.
"""

import tempfile
import warnings
from pathlib import Path
from unittest import mock

import pyoxigraph as ox
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from kgrag import shacl
from kgrag.shacl import constraint_queries
from kgrag.shacl.shapes_graph import ShapesGraph
from tests.quad_store import QuadStore

SH = "http://www.w3.org/ns/shacl#"
DEPTH = 200  # pyshacl refuses a shape within fifteen others, unless told how deep they go
GRAPHS = [ox.NamedNode("urn:one"), ox.NamedNode("urn:two")]
PREFIXES = """
@prefix ex: <http://example.org/> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
NODES = ["ex:a", "ex:b", "ex:c", "ex:d"]
PROPERTIES = ["ex:p", "ex:q", "ex:r"]
# Every node is the subject of a triple, since a target node that no triple mentions is a departure of ours.
ALWAYS = "ex:B rdfs:subClassOf ex:A . " + " ".join(f"{node} ex:k {node} ." for node in NODES)

terms = st.sampled_from([*NODES, "1", "2", '"t"', '"text"@en', '"Text"@de', "true"])
triples = st.one_of(
    st.builds("{} {} {} .".format, st.sampled_from(NODES), st.sampled_from(PROPERTIES), terms),
    st.builds("{} a {} .".format, st.sampled_from(NODES), st.sampled_from(["ex:A", "ex:B"])),
)
data = st.lists(triples, min_size=2, max_size=16, unique=True).map(lambda lines: [ALWAYS, *lines])

paths = st.recursive(
    st.sampled_from(PROPERTIES),
    lambda inner: st.one_of(
        st.builds("( {} {} )".format, inner, inner),
        st.builds("[ sh:alternativePath ( {} {} ) ]".format, inner, inner),
        *(
            st.builds(f"[ sh:{name} {{}} ]".format, inner)
            for name in ("inversePath", "zeroOrMorePath", "oneOrMorePath", "zeroOrOnePath")
        ),
    ),
    max_leaves=2,
)
anywhere = st.sampled_from(
    [
        "sh:class ex:A",
        "sh:class ex:B",
        "sh:datatype xsd:integer",
        "sh:datatype rdf:langString",
        "sh:nodeKind sh:IRI",
        "sh:nodeKind sh:Literal",
        'sh:in ( ex:a ex:b 1 "t" )',
        "sh:hasValue ex:b",
        'sh:pattern "^[Tt]"',
        "sh:maxLength 2",
        'sh:languageIn ( "en" )',
        'sh:languageIn ( "" "en" )',
        "sh:disjoint ex:q",
        "sh:equals ex:q",
        "sh:closed true ; sh:ignoredProperties ( rdf:type ex:k ex:p )",
    ]
)
counts = st.sampled_from(["sh:minCount 1", "sh:minCount 2", "sh:maxCount 0", "sh:maxCount 1", "sh:uniqueLang true"])


def node_shapes(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Give what stands in a shape with or without a path, with shapes inside."""
    several = st.lists(inner, min_size=1, max_size=3).map(" ".join)
    return st.one_of(
        st.builds("sh:property [ sh:path {} ; {} ]".format, paths, inner_body),
        st.builds("sh:not {}".format, inner),
        st.builds("sh:node {}".format, inner.filter(lambda shape: not shape.startswith("[ sh:path"))),
        st.builds("sh:{} ( {} )".format, st.sampled_from(["and", "or", "xone"]), several),
    )


inner_body = st.deferred(lambda: st.one_of(anywhere, counts, qualified, bodies))
simple = st.builds("[ {} ]".format, anywhere)
within_path = st.builds("[ sh:path {} ; {} ]".format, paths, st.one_of(anywhere, counts))
qualified = st.builds(
    "sh:qualifiedValueShape {} ; sh:{} {}".format,
    simple,
    st.sampled_from(["qualifiedMinCount", "qualifiedMaxCount"]),
    st.integers(0, 2),
)
shapes_inside = st.recursive(
    st.one_of(simple, within_path), lambda inner: node_shapes(inner).map("[ {} ]".format), max_leaves=4
)
bodies = st.one_of(anywhere, node_shapes(shapes_inside))
targets = st.sampled_from(
    ["sh:targetClass ex:A", "sh:targetSubjectsOf ex:q", "sh:targetObjectsOf ex:p", "sh:targetNode ex:a , ex:b"]
)


@st.composite
def printable(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> str:
    """Give a text that Hypothesis reports as it is; how nested calls made it, it would take for ever to print."""
    return draw(texts).encode().decode()


shapes = printable(st.builds("ex:S a sh:NodeShape ; {} ; {} .".format, targets, bodies))

Rows = set[tuple[str, str, str, str]]


def ours(shape: str, lines: list[str]) -> Rows:
    store = QuadStore()
    for number, line in enumerate(lines):
        for triple in ox.parse((PREFIXES + line).encode(), format=ox.RdfFormat.TURTLE):
            store.store.add(ox.Quad(triple.subject, triple.predicate, triple.object, GRAPHS[number % 2]))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "shapes.ttl"
        path.write_text(PREFIXES + shape, encoding="utf-8")
        compiled = shacl.load_shapes([path])
    found = shacl.validate(store, compiled, graphs=GRAPHS, merged=True)
    return {(v.focus, v.component, v.path, v.value) for v in found}


def theirs(shape: str, lines: list[str]) -> Rows:
    import pyshacl
    import rdflib
    from rdflib.namespace import SH

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        graph = rdflib.Graph().parse(data=PREFIXES + "\n".join(lines), format="turtle")
        given_shapes = rdflib.Graph().parse(data=PREFIXES + shape, format="turtle")
        _, report, _ = pyshacl.validate(graph, shacl_graph=given_shapes, inplace=True, max_validation_depth=DEPTH)
    paths_of = ShapesGraph(ox.parse(report.serialize(format="nt").encode(), format=ox.RdfFormat.N_TRIPLES))
    rows = set()
    for result in report.objects(None, SH.result):
        component = str(report.value(result, SH.sourceConstraintComponent)).removeprefix(str(SH))
        component = component.removesuffix("ConstraintComponent")
        (node,) = paths_of.objects(ox.BlankNode(str(result)), str(SH.resultPath)) or (None,)
        path = shacl.path_text(paths_of.read_path(node)) if node else ""
        focus, value = (str(report.value(result, part) or "") for part in (SH.focusNode, SH.value))
        rows.add((focus, component[0].lower() + component[1:], path, value))
    return rows


# What is small is looked at all at once, and what is large is looked up node by node: these are small.
WAYS = {
    "all at once": {"MAX_NODES_NAMED": 2_000, "FEW_NODES": 0},
    "node by node": {"MAX_NODES_NAMED": 0, "VALUES_READ_PER_JOIN": 0, "VALUES_READ_PER_LOOK_UP": 0},
}


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=50, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(shape=shapes, lines=data)
@example(  # the focus node of ex:S departs, not what it leads to
    shape="ex:S sh:targetNode ex:a , ex:b ; sh:not "
    "[ sh:property [ sh:path ex:p ; sh:property [ sh:path ex:p ; sh:class ex:A ] ] ] .",
    lines=[ALWAYS, "ex:a ex:p ex:a .", "ex:b ex:p ex:a ."],
)
@example(  # a violation deep within sh:node ended the whole validation
    shape="ex:S sh:targetNode ex:a ; sh:property [ sh:path ex:p ; sh:node "
    "[ sh:property [ sh:path ex:p ; sh:property [ sh:path ex:p ; sh:class ex:A ] ] ] ] .",
    lines=[ALWAYS, "ex:a ex:p ex:a ."],
)
def test_generated_shapes_give_what_pyshacl_gives(shape: str, lines: list[str], way: str) -> None:
    with mock.patch.multiple(constraint_queries, **WAYS[way]):
        mine = ours(shape, lines)
    oracle = theirs(shape, lines)
    assert (sorted(mine - oracle), sorted(oracle - mine)) == ([], [])
