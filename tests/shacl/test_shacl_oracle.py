"""The SHACL engine against pyshacl, an independent implementation, on generated data.

Left out is where pyshacl departs from the recommendation (terms that cannot be compared, ``sh:minLength 0`` on a blank
node) and where the store normalises a literal (``1.0`` is kept as ``1``); ``test_shacl.py`` says what we do there.
"""

import random
import warnings
from pathlib import Path

import pyoxigraph as ox
import pytest

from kgrag import shacl
from tests.quad_store import QuadStore

EX = "http://example.org/"
GRAPH = ox.NamedNode(EX + "graph")
PREFIXES = """
@prefix ex: <http://example.org/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
ON_A_PROPERTY = [
    "sh:minCount 0",
    "sh:minCount 1",
    "sh:minCount 2",
    "sh:maxCount 0",
    "sh:maxCount 1",
    "sh:maxCount 2",
    "sh:uniqueLang true",
    "sh:uniqueLang false",
]
ORDERED = [
    "sh:lessThan ex:s",
    "sh:lessThanOrEquals ex:s",
    "sh:minInclusive 2",
    "sh:minExclusive 2",
    "sh:maxInclusive 2.5",
    "sh:maxExclusive 3",
]
ANYWHERE = [
    "sh:datatype xsd:integer",
    "sh:datatype xsd:string",
    "sh:datatype xsd:date",
    "sh:datatype xsd:boolean",
    "sh:datatype rdf:langString",
    "sh:datatype ex:own",
    *(
        f"sh:nodeKind sh:{kind}"
        for kind in ("IRI", "BlankNode", "Literal", "BlankNodeOrIRI", "BlankNodeOrLiteral", "IRIOrLiteral")
    ),
    "sh:class ex:A",
    "sh:class ex:A , ex:B",
    'sh:in ( ex:a 1 "text" "text"@en )',
    "sh:in ()",
    "sh:hasValue ex:b",
    "sh:hasValue 2 , ex:a",
    'sh:pattern "^t"',
    'sh:pattern "^T" ; sh:flags "i"',
    r'sh:pattern "[a-z]\\d?$" , "t"',
    "sh:minLength 3",
    "sh:maxLength 2",
    "sh:maxLength 4",
    'sh:languageIn ( "en" "de" )',
    'sh:languageIn ( "" "en" )',
    "sh:equals ex:q",
    "sh:disjoint ex:q",
]
TARGETS = [
    "sh:targetClass ex:A",
    "sh:targetSubjectsOf ex:q",
    "sh:targetObjectsOf ex:p",
    "sh:targetNode ex:a , ex:nowhere , 1",
    "sh:targetClass ex:B ; sh:targetSubjectsOf ex:p , ex:q",
]
VALUES = [
    *("ex:a", "ex:b", "ex:c", "ex:d", "_:blank", "1", "2", "3", "2.5", '"text"', '"t"', '"Tex"', '""', '"\U0001f33e"'),
    *(
        '"text"@en',
        '"other"@en',
        '"text"@en-GB',
        '"text"@fr',
        "true",
        '"2024-02-01"^^xsd:date',
        '"2025-01-01"^^xsd:date',
    ),
    *('"no number"^^xsd:integer', '"no date"^^xsd:date', '"x"^^ex:own'),
]

NUMBERS = ["1", "2", "3", "2.5"]


def shapes_text() -> str:
    """Give one shape for every pair of a constraint and a way to stand, each with targets in turn."""
    bodies = [f"sh:property [ sh:path ex:p ; {body} ]" for body in ON_A_PROPERTY + ANYWHERE]
    bodies += [f"sh:property [ sh:path [ sh:inversePath ex:p ] ; {body} ]" for body in ON_A_PROPERTY + ANYWHERE]
    bodies += [f"sh:property [ sh:path ex:r ; {body} ]" for body in ORDERED]
    bodies += ANYWHERE
    bodies += [
        "sh:closed true ; sh:property [ sh:path ex:p ]",
        "sh:closed true ; sh:ignoredProperties ( rdf:type ex:q )",
    ]
    bodies += [
        "sh:deactivated true ; sh:nodeKind sh:Literal",
        "sh:property [ sh:path ex:p ; sh:deactivated true ; sh:maxCount 0 ]",
    ]
    shapes = [f"ex:S{n} a sh:NodeShape ; {TARGETS[n % len(TARGETS)]} ; {body} ." for n, body in enumerate(bodies)]
    shapes.append(
        "ex:Alone a sh:PropertyShape ; sh:targetClass ex:A ; sh:path ex:q ; sh:minCount 1 ; sh:nodeKind sh:IRI ."
    )
    shapes.append("ex:B a sh:NodeShape , rdfs:Class ; sh:property [ sh:path ex:q ; sh:maxCount 1 ] .")
    return PREFIXES + "\n".join(shapes)


def data_text(seed: int) -> str:
    """Give a small random graph: four nodes, two properties, values of every sort."""
    chance = random.Random(seed)
    lines = ["ex:B rdfs:subClassOf ex:A ."]
    for node in ("ex:a", "ex:b", "ex:c", "ex:d"):
        lines += [f"{node} a {name} ." for name in ("ex:A", "ex:B") if chance.random() < 0.4]
        for name in ("ex:p", "ex:q"):
            lines += [f"{node} {name} {chance.choice(VALUES)} ." for _ in range(chance.randrange(4))]
        for name in ("ex:r", "ex:s"):
            lines += [f"{node} {name} {chance.choice(NUMBERS)} ." for _ in range(chance.randrange(3))]
    return PREFIXES + "\n".join(lines)


@pytest.fixture(scope="module")
def shapes_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("shapes") / "all.ttl"
    path.write_text(shapes_text(), encoding="utf-8")
    return path


def ours(shapes_file: Path, data: str) -> set[tuple[str, str, str, str]]:
    triples = ox.parse(data.encode(), format=ox.RdfFormat.TURTLE)
    store = QuadStore(ox.Quad(t.subject, t.predicate, t.object, GRAPH) for t in triples)
    blanks = {q.object.value for q in store.store if isinstance(q.object, ox.BlankNode)}
    found = shacl.validate(store, shacl.load_shapes([shapes_file]), graphs=[GRAPH])
    named = ([v.focus, v.component, v.path, v.value] for v in found)
    return {tuple("_:" if part in blanks else part for part in row) for row in named}


def theirs(shapes_file: Path, data: str) -> set[tuple[str, str, str, str]]:
    import pyshacl
    import rdflib
    from rdflib.namespace import SH

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        graph = rdflib.Graph().parse(data=data, format="turtle")
        shapes = rdflib.Graph().parse(shapes_file)
        _, report, _ = pyshacl.validate(graph, shacl_graph=shapes, advanced=False, inplace=True)
    rows = set()
    for result in report.subjects(rdflib.RDF.type, SH.ValidationResult):
        component = str(report.value(result, SH.sourceConstraintComponent)).removeprefix(str(SH))
        component = component.removesuffix("ConstraintComponent")
        path = report.value(result, SH.resultPath)
        inverse = report.value(path, SH.inversePath) if isinstance(path, rdflib.BNode) else None
        name = f"^{inverse}" if inverse is not None else str(path or "")
        focus, value = (report.value(result, part) for part in (SH.focusNode, SH.value))
        texts = ["_:" if isinstance(term, rdflib.BNode) else str(term or "") for term in (focus, value)]
        rows.add((texts[0], component[0].lower() + component[1:], name, texts[1]))
    return rows


@pytest.mark.parametrize("seed", range(12))
def test_results_equal_those_of_pyshacl(seed: int, shapes_file: Path) -> None:
    data = data_text(seed)
    mine, oracle = ours(shapes_file, data), theirs(shapes_file, data)
    assert sorted(mine - oracle) == []
    assert sorted(oracle - mine) == []
