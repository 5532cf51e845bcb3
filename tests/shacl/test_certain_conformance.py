"""A look at triples leaves out no constraint that the queries find violated."""

import itertools

import pyoxigraph as ox
import pytest

from kgrag import shacl
from kgrag.shacl import Constraint
from kgrag.shacl.certain_conformance import uncertain
from kgrag.shacl.compiled_shapes import Shapes, Target
from kgrag.shacl.shapes_graph import SH
from kgrag.vocab import KG, RDF, RDFS, XSD, Names
from tests.quad_store import QuadStore

GRAPH, NODE, OTHER, CLASS = (ox.NamedNode(f"urn:{name}") for name in ("g", "node", "other", "Class"))
PATH = ox.NamedNode("urn:p")
FORMS = {
    "integer": ["7", "-7", "+7", "007", "", " 7", "7.0", "seven", "9" * 30, "1e3"],
    "decimal": ["7", "7.50", ".5", "5.", "1e3", "", "9" * 30],
    "boolean": ["true", "false", "1", "0", "TRUE", ""],
    "dateTime": [
        *("2026-02-28T12:00:00Z", "2026-02-30T12:00:00Z", "2026-13-01T12:00:00Z", "2026-02-28T24:00:00Z"),
        *("2026-02-28T12:00:00", "2026-02-28T12:00:00.5Z", "2026-02-28T12:00:00.123Z", "0000-02-28T12:00:00Z"),
        *("2026-02-28T12:00:60Z", "2026-02-28T12:00:00+25:00", "2026-2-28T12:00:00Z", "٢٠٢٦-02-28T12:00:00Z"),
    ],
    "double": ["7", "1e3", "INF", "x"],
    "string": ["", "a", "abc", "ab\n", "0f", "0f\n", "Ä", "é", "7"],
    "nonNegativeInteger": ["7", "-7"],
}
VALUES = [
    *(
        ox.Literal(form, datatype=ox.NamedNode(f"{XSD.prefix}{name}"))
        for name, forms in FORMS.items()
        for form in forms
    ),
    ox.Literal("abc", language="en"),
    ox.NamedNode("urn:abc"),
    ox.NamedNode("urn:kgrag:"),
    ox.BlankNode("abc"),
    ox.Triple(NODE, PATH, ox.Literal("abc")),
]
DATATYPES = ["string", "integer", "decimal", "boolean", "dateTime", "double", "nonNegativeInteger"]
PATTERNS = [
    "^[0-9a-f]{2}$",
    "^a",
    "b",
    "^a.c$",
    "(?i)ABC",
    "[a-z]++",
    r"^\w+$",
    "^[^a]$",
    "[a-z-[b]]",
    "",
    "^abc$|^7$",
    "^.$",
]


def literal(text: str, datatype: ox.NamedNode = XSD.string) -> ox.Literal:
    return ox.Literal(text, datatype=datatype)


def shapes_of(turtle: str, tmp_path_factory: pytest.TempPathFactory) -> Shapes:
    file = tmp_path_factory.mktemp("shapes") / "s.ttl"
    prefixes = f"@prefix sh: <{SH}> . @prefix kg: <{KG.prefix}> . @prefix xsd: <{XSD.prefix}> ."
    file.write_text(f"{prefixes} <urn:Shape> a sh:NodeShape ; kg:targetGraphKind kg:DataGraph ; {turtle} .", "utf-8")
    return shacl.load_shapes([file])


@pytest.fixture(scope="module")
def constraints(tmp_path_factory: pytest.TempPathFactory) -> list[Constraint]:
    """Return one constraint per component and wanted value, on a path and, where there is such a one, on the node."""
    of_values = [
        *(f"sh:datatype xsd:{name}" for name in DATATYPES),
        *(f"sh:nodeKind sh:{kind}" for kind in ("IRI", "Literal", "BlankNode", "IRIOrLiteral", "BlankNodeOrIRI")),
        *(f"sh:minLength {number}" for number in (0, 1, 3)),
        *(f'sh:pattern "{pattern}"'.replace("\\", "\\\\") for pattern in PATTERNS),
        'sh:pattern "ABC" ; sh:flags "i"',
        *(f"sh:{bound}Inclusive {value}" for bound in ("min", "max") for value in (7, -8, '"7.5"^^xsd:decimal')),
        'sh:in ( "abc" 7 <urn:abc> "abc"@en )',
        "sh:class <urn:Class>",
    ]
    of_paths = [*of_values, *(f"sh:{bound}Count {number}" for bound in ("min", "max") for number in (0, 1, 2))]
    texts = [
        *(f"sh:property [ sh:path <urn:p> ; {text} ]" for text in of_paths),
        *of_values,
        f"sh:closed true ; sh:property [ sh:path <{RDF.type.value}> ]",
        f"sh:closed true ; sh:property [ sh:path <urn:p> ] ; sh:ignoredProperties ( <{RDF.type.value}> )",
    ]
    return [each for text in texts for each in shapes_of(text, tmp_path_factory).constraints]


def store_of(*triples: ox.Triple) -> QuadStore:
    stated = ((RDF.type, KG.DataGraph), (KG.publication, Names().publication(1)))
    entry = [ox.Quad(GRAPH, predicate, value, Names().catalogue) for predicate, value in stated]
    return QuadStore([*entry, *(ox.Quad(t.subject, t.predicate, t.object, GRAPH) for t in triples)])


def check(store: QuadStore, constraints: list[Constraint]) -> tuple[int, int]:
    """Compare with the queries what is left out; return how many constraints were, and how many are violated."""
    left = uncertain(constraints, store)  # type: ignore[arg-type]
    violated = [each for each in constraints if shacl.validate(store, Shapes((each,)))]  # type: ignore[arg-type]
    escaped = [each for each in violated if each not in left]
    assert escaped == []
    return len(constraints) - len(left), len(violated)


def test_no_constraint_that_a_value_violates_is_left_out(constraints: list[Constraint]) -> None:
    counts = [check(store_of(ox.Triple(NODE, PATH, value)), constraints) for value in VALUES[::3]]
    left_out, violated = (sum(each) for each in zip(*counts, strict=True))
    every = len(counts) * len(constraints)
    assert left_out > 0.8 * (every - violated)  # what is kept is mostly known to be


def test_nor_one_that_two_values_violate_or_a_class_elsewhere(constraints: list[Constraint]) -> None:
    pairs = list(itertools.combinations(VALUES, 2))[::211]
    for one, two in pairs:
        check(
            store_of(ox.Triple(NODE, PATH, one), ox.Triple(NODE, PATH, two), ox.Triple(NODE, RDF.type, CLASS)),
            constraints,
        )
    typed = ox.Triple(ox.NamedNode("urn:abc"), RDF.type, CLASS)
    check(store_of(ox.Triple(NODE, PATH, ox.NamedNode("urn:abc")), typed), constraints)


@pytest.mark.parametrize(
    "target",
    [
        Target(classes=(CLASS,), kinds=(KG.DataGraph,)),
        Target(subjects_of=(PATH,), kinds=(KG.DataGraph,)),
        Target(classes=(CLASS,), subjects_of=(PATH,), kinds=(KG.DataGraph,)),
        Target(objects_of=(PATH,), kinds=(KG.DataGraph,)),
        Target(nodes=(NODE,), kinds=(KG.DataGraph,)),
        Target(classes=(ox.NamedNode("urn:Upper"),), kinds=(KG.DataGraph,)),
    ],
)
def test_focus_nodes_are_those_of_the_target(target: Target, constraints: list[Constraint]) -> None:
    wanted = [constraint.aimed_at(target) for constraint in constraints]
    below = ox.Triple(CLASS, RDFS.subClassOf, ox.NamedNode("urn:Upper"))
    of_class = ox.Triple(OTHER, RDF.type, CLASS)
    for triples in (
        (of_class,),
        (of_class, below),
        (ox.Triple(NODE, PATH, literal("7", XSD.integer)), of_class, below),
    ):
        check(store_of(*triples), wanted)


def test_constraints_for_kinds_of_graphs_that_are_not_there_are_left_out() -> None:
    left = uncertain(shacl.graph_shapes().constraints, store_of())  # type: ignore[arg-type]
    assert all(
        KG.DataGraph in each.target.kinds or KG.CatalogueGraph in each.target.kinds for each in left if not each.select
    )
