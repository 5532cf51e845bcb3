"""Literals as they were written, against pyshacl: every component, alone and within other shapes, along every path."""

import random
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pyoxigraph as ox
import pytest

from kgrag import shacl
from kgrag.shacl import constraint_queries
from kgrag.shacl.shapes_graph import ShapesGraph
from kgrag.store.scratch import OxigraphScratch
from tests.quad_store import QuadStore
from tests.shacl.test_shacl_generated import DEPTH, GRAPHS, PREFIXES, WAYS

FORMS = [
    *(f'"{text}"^^xsd:{kind}' for kind in ("integer", "byte", "nonNegativeInteger", "int") for text in ("5", "05")),
    *('"300"^^xsd:byte', '"-5"^^xsd:nonNegativeInteger', '"7"^^xsd:negativeInteger', '"-129"^^xsd:byte'),
    *('"+5"^^xsd:integer', '"-0"^^xsd:integer', '"300"^^xsd:integer', '"-5"^^xsd:negativeInteger', '"2"^^xsd:integer'),
    *('"5"^^xsd:decimal', '"5.0"^^xsd:decimal', '"1.50"^^xsd:decimal', '"1.5"^^xsd:decimal', '"1.5"^^xsd:double'),
    *('"1.5E0"^^xsd:double', '"05"', '"05"@en', '"text"', '"1"^^xsd:boolean', '"true"^^xsd:boolean', "ex:node"),
    *('"2020-01-01T00:00:00.0Z"^^xsd:dateTime', '"2020-01-01T00:00:00Z"^^xsd:dateTime', '"05"^^ex:own'),
    *('"2020-01-01+00:00"^^xsd:date', '"2020-01-01Z"^^xsd:date', '"P12M"^^xsd:duration', '"P1Y"^^xsd:duration'),
]
KINDS = ["integer", "byte", "nonNegativeInteger", "int", "negativeInteger", "decimal", "double", "string", "boolean"]
COMPONENTS = [
    *(f"sh:datatype xsd:{kind}" for kind in [*KINDS, "dateTime", "date", "duration"]),
    *("sh:datatype rdf:langString", "sh:datatype ex:own", "sh:nodeKind sh:Literal", "sh:class ex:A"),
    *('sh:pattern "^0"', r'sh:pattern "^\\d$"', "sh:minLength 2", "sh:maxLength 1", "sh:maxLength 3"),
    *(
        'sh:in ( "05"^^xsd:integer 5 "1.50"^^xsd:decimal true ex:node )',
        'sh:in ( "5"^^xsd:byte "05" "P12M"^^xsd:duration )',
    ),
    *('sh:hasValue "05"^^xsd:integer', "sh:hasValue 5", 'sh:hasValue "05"^^xsd:byte', 'sh:hasValue "1"^^xsd:boolean'),
    *('sh:languageIn ( "en" )', 'sh:languageIn ( "" "en" )'),
    *("sh:equals ex:q", "sh:disjoint ex:q"),
]
NUMBERS = [
    "5",
    '"05"^^xsd:byte',
    '"+2"^^xsd:int',
    '"-0"^^xsd:integer',
    '"5.0"^^xsd:decimal',
    "1.5",
    '"1.50"^^xsd:double',
]
ON_NUMBERS = [
    *("sh:minInclusive 3", "sh:maxExclusive 5.0", "sh:maxInclusive 1.5", 'sh:minExclusive "01.5"^^xsd:decimal'),
    *("sh:lessThan ex:q", "sh:lessThanOrEquals ex:q", "sh:minCount 3", "sh:maxCount 2", "sh:datatype xsd:byte"),
]
"""Between other terms there is no order, of which pyshacl takes another view."""
PATHS = [
    "ex:p",
    "( ex:r ex:p )",
    "[ sh:alternativePath ( ex:p ex:q ) ]",
    "[ sh:inversePath [ sh:inversePath ex:p ] ]",
    "( [ sh:inversePath ex:s ] ex:p )",
    "( [ sh:zeroOrMorePath ex:r ] ex:p )",
    "( ex:r [ sh:zeroOrOnePath ex:p ] )",
    "[ sh:oneOrMorePath [ sh:alternativePath ( ex:r ex:p ) ] ]",
]
NESTED = [
    "{}",
    "sh:or ( [ {} ] [ sh:nodeKind sh:IRI ] )",
    "sh:or ( [ {} ] [ sh:datatype xsd:string ] )",
    "sh:and ( [ {} ] [ sh:minLength 1 ] )",
    "sh:not [ {} ]",
    "sh:not [ sh:not [ {} ] ]",
    "sh:xone ( [ {} ] [ sh:datatype xsd:integer ] )",
    'sh:xone ( [ {} ] [ sh:pattern "^0" ] [ sh:in ( 5 "05"^^xsd:int ) ] )',
    "sh:node [ {} ]",
    "sh:qualifiedValueShape [ {} ] ; sh:qualifiedMinCount 2",
    "sh:qualifiedValueShape [ {} ] ; sh:qualifiedMaxCount 1",
]
"""What stands in a shape, with or without a path; the last two with one only."""
AROUND = [
    "sh:property [ sh:path {path} ; {body} ]",
    "sh:or ( [ sh:property [ sh:path {path} ; {body} ] ] [ sh:property [ sh:path ex:q ; sh:minCount 3 ] ] )",
    "sh:not [ sh:property [ sh:path {path} ; {body} ] ]",
    "sh:property [ sh:path ex:r ; sh:property [ sh:path {path} ; {body} ] ]",
    "sh:property [ sh:path ex:r ; sh:node [ sh:property [ sh:path {path} ; {body} ] ] ]",
]
TARGETS = ["sh:targetSubjectsOf ex:q", "sh:targetClass ex:A", "sh:targetNode ex:n1 , ex:n2 , ex:n3"]
NEED_A_PATH = ("sh:lessThan", "sh:minCount", "sh:maxCount")
LITERALS = ["sh:targetObjectsOf ex:p", 'sh:targetNode "05"^^xsd:integer , 5 , "05"^^xsd:byte , "5.0"^^xsd:decimal']


def shapes_text(chance: random.Random, number: int, components: list[str]) -> Iterator[str]:
    """Yield shapes: a component within another, along a path, in a shape; one in five about literals themselves."""
    for place in range(number):
        component, target = chance.choice(components), chance.choice(TARGETS)
        body = chance.choice(NESTED).format(component)
        if component.startswith(NEED_A_PATH):
            body = component
        elif place % 5 == 0:
            body, target = chance.choice(NESTED[:-2]).format(component), chance.choice(LITERALS)
        if place % 5 or component.startswith(NEED_A_PATH):
            body = chance.choice(AROUND).format(path=chance.choice(PATHS), body=body)
        yield f"ex:S{place} a sh:NodeShape ; {target} ; {body} ."


def data_text(chance: random.Random, forms: list[str]) -> Iterator[str]:
    """Yield triples: some values for each of ten nodes, and how these hang together."""
    for number in range(10):
        node = f"ex:n{number}"
        yield f"{node} a ex:{chance.choice('AB')} ; ex:k {node} ."
        for name in ("ex:p", "ex:q"):
            yield from (f"{node} {name} {form} ." for form in chance.sample(forms, chance.randint(1, 4)))
        for name in ("ex:r", "ex:s"):
            yield f"{node} {name} ex:n{chance.randrange(10)} ."


Rows = Counter[tuple[str, str, str, str]]


def ours(shapes: Path, data: str) -> Rows:
    triples = [quad.triple for quad in ox.parse(data.encode(), format=ox.RdfFormat.TURTLE)]
    quads = (ox.Quad(t.subject, t.predicate, t.object, GRAPHS[n % 2]) for n, t in enumerate(triples))
    written = shacl.as_written(triples, OxigraphScratch())
    compiled = shacl.load_shapes([shapes])
    found = shacl.validate(QuadStore(quads), compiled, graphs=GRAPHS, merged=True, written=written)
    return Counter((v.focus, v.component, v.path, v.value) for v in found)


def theirs(shapes: Path, data: str) -> Rows:
    import pyshacl
    import rdflib
    from rdflib.namespace import SH

    with warnings.catch_warnings(), mock.patch.object(rdflib, "NORMALIZE_LITERALS", new=False):
        warnings.simplefilter("ignore")
        graph = rdflib.Graph().parse(data=data, format="turtle")
        given = rdflib.Graph().parse(shapes)
        _, report, _ = pyshacl.validate(graph, shacl_graph=given, inplace=True, max_validation_depth=DEPTH)
    paths = ShapesGraph(ox.parse(report.serialize(format="nt").encode(), format=ox.RdfFormat.N_TRIPLES))
    rows: Rows = Counter()
    for result in report.objects(None, SH.result):
        component = str(report.value(result, SH.sourceConstraintComponent)).removeprefix(str(SH))
        component = component.removesuffix("ConstraintComponent")
        (node,) = paths.objects(ox.BlankNode(str(result)), str(SH.resultPath)) or (None,)
        path = shacl.path_text(paths.read_path(node)) if node else ""
        focus, value = (report.value(result, part) for part in (SH.focusNode, SH.value))
        rows[str(focus), component[0].lower() + component[1:], path, "" if value is None else str(value)] += 1
    return rows


@pytest.mark.parametrize("seed", range(4))
def test_shapes_see_literals_as_they_were_written(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    components, forms = (ON_NUMBERS, NUMBERS) if seed % 4 == 0 else (COMPONENTS, FORMS)
    shapes = tmp_path / "shapes.ttl"
    shapes.write_text(PREFIXES + "\n".join(shapes_text(chance, 100, components)), encoding="utf-8")
    data = PREFIXES + "\n".join(data_text(chance, forms))
    oracle = theirs(shapes, data)
    for way in WAYS.values():
        with mock.patch.multiple(constraint_queries, **way):
            mine = ours(shapes, data)
        assert (sorted(mine - oracle), sorted(oracle - mine)) == ([], [])


@pytest.mark.parametrize("seed", range(20))
def test_literals_that_come_in_batches_are_known_as_those_that_come_at_once(seed: int) -> None:
    chooser = random.Random(seed)
    text = " . ".join(
        f"ex:{chooser.choice('abc')} ex:{chooser.choice('pq')} {chooser.choice(FORMS)}" for _ in range(60)
    )
    triples = [quad.triple for quad in ox.parse(f"{PREFIXES} {text} .", format=ox.RdfFormat.TURTLE)]
    at_once = shacl.as_written(triples, OxigraphScratch())
    reader = shacl.WrittenReader(OxigraphScratch(), ox.NamedNode("urn:g"))
    while triples:
        size = chooser.randint(1, 20)
        reader.take(triples[:size])
        triples = triples[size:]
    in_batches = reader.written(whole=True)
    assert {key: set(forms) for key, forms in in_batches.literals.items()} == {
        key: set(forms) for key, forms in at_once.literals.items()
    }
    assert in_batches.stored == at_once.stored
