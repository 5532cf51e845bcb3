"""Validation of what changed equals full validation: generated shapes, data and changes.

In depth: ``KGRAG_CHANGES=2000``. Shapes and data are those of ``test_shacl_generated.py``, and shapes with targets of
several kinds, classes that change, lists and counts that it has no need of.
"""

import os
from collections import Counter

import pyoxigraph as ox
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgrag import shacl
from kgrag.shacl.changed_results import ChangedResults, GraphState, changed_results, result_key
from kgrag.shacl.path_walks import Changes
from tests.quad_store import QuadStore
from tests.shacl.test_shacl_generated import (
    GRAPHS,
    PREFIXES,
    bodies,
    data,
    paths,
    printable,
    qualified,
    targets,
    triples,
)

CASES = int(os.environ.get("KGRAG_CHANGES", "40"))
Triples = list[ox.Triple]

lists = st.sampled_from(
    [
        "sh:minListLength 1",
        "sh:maxListLength 1",
        "sh:uniqueMembers true",
        "sh:memberShape [ sh:nodeKind sh:IRI ; sh:not [ sh:path ex:q ; sh:minCount 1 ] ]",
        "sh:lessThan ex:q",
        "sh:someValue [ sh:class ex:A ]",
    ]
)
further = st.one_of(
    st.builds(
        "sh:property [ sh:path {} ; sh:property [ sh:path {} ; {} ] ]".format, paths, paths, st.one_of(qualified, lists)
    ),
    st.builds("sh:property [ sh:path {} ; {} ]".format, paths, lists),
    st.builds("sh:property [ sh:path ex:p ; {} ] ; sh:property [ sh:path ex:q ; {} ]".format, qualified, lists),
)
two_targets = st.builds("{} ; {}".format, targets, targets)
shapes = printable(
    st.builds("ex:S a sh:NodeShape ; {} ; {} .".format, st.one_of(targets, two_targets), st.one_of(bodies, further))
)
cells = st.sampled_from(
    [
        "ex:a ex:p ( 1 1 ) .",
        "ex:b ex:p ( ex:a ) .",
        "ex:c rdf:rest rdf:nil .",
        "ex:c rdf:first 1 .",
        "ex:A rdfs:subClassOf ex:B .",
    ]
)
changes = st.lists(st.one_of(triples, triples, cells), min_size=0, max_size=4)


def parsed(lines: list[str], number: int = 0) -> Triples:
    """Read lines; a blank node of one parsing is none of another's."""
    text = (PREFIXES + "\n".join(lines)).encode()
    read = ox.parse(text, format=ox.RdfFormat.TURTLE, rename_blank_nodes=bool(number))
    return [quad.triple for quad in read]


def state(now: Triples) -> GraphState:
    """Put triples into two graphs by turns."""
    store = QuadStore(
        ox.Quad(triple.subject, triple.predicate, triple.object, GRAPHS[number % 2])
        for number, triple in enumerate(now)
    )

    def look(subject: object, name: ox.NamedNode, value: object) -> list[ox.Triple]:
        found = (store.store.quads_for_pattern(subject, name, value, graph) for graph in GRAPHS)
        return [quad.triple for quads in found for quad in quads]

    return GraphState(store, tuple(GRAPHS), look)


def counted(results: object) -> Counter[tuple[str, ...]]:
    return Counter(map(result_key, results))


def compared(shape: str, before: Triples, after: Triples) -> ChangedResults:
    compiled = shacl.load_shapes((), also=PREFIXES + shape)
    past, present = state(before), state(after)
    came, went = set(after) - set(before), set(before) - set(after)
    found = changed_results(past, present, compiled, Changes.of(came, went))
    full = [counted(shacl.validate(each.store, compiled, graphs=GRAPHS, merged=True)) for each in (past, present)]
    gone, come = counted(found.gone), counted(found.come)
    assert not gone - full[0], "a result that was not there is said to be gone"
    assert full[0] - gone + come == full[1]
    return found


@settings(max_examples=CASES, derandomize=CASES <= 40, deadline=None, suppress_health_check=list(HealthCheck))
@given(shape=shapes, lines=data, added=changes, taken=st.sets(st.integers(0, 20), max_size=3))
def test_results_after_a_change_are_those_of_a_full_validation(
    shape: str, lines: list[str], added: list[str], taken: set[int]
) -> None:
    before = list(dict.fromkeys(parsed(lines)))
    after = [triple for number, triple in enumerate(before) if number not in taken]
    compared(shape, before, list(dict.fromkeys([*after, *parsed(added, 1)])))


# shape, what comes, whether a constraint is validated whole; else the one new result is the only one looked at
REACHED = {
    "a new target node": (
        "sh:targetClass ex:A ; sh:property [ sh:path ex:p ; sh:minCount 1 ]",
        "ex:n99 a ex:A .",
        False,
    ),
    "the far end of a path": (
        "sh:targetClass ex:A ; sh:property [ sh:path ( ex:p ex:q ) ; sh:nodeKind sh:IRI ]",
        "ex:n8 ex:q 1 .",
        False,
    ),
    "against an arrow": (
        "sh:targetClass ex:A ; sh:property [ sh:path [ sh:inversePath ex:p ] ; sh:maxCount 1 ]",
        "_:b ex:p ex:n8 .",
        False,
    ),
    "a way to a focus node": (
        "sh:targetClass ex:Z ; sh:property [ sh:path ex:p ; sh:property [ sh:path ex:q ; sh:maxCount 0 ] ]",
        "ex:n6 ex:p ex:n9 .",
        False,
    ),
    "a value of a value": (
        "sh:targetClass ex:A ; sh:property [ sh:path ex:p ; sh:not [ sh:path ex:k ; sh:minCount 1 ] ]",
        "ex:n9 ex:k 1 .",
        False,
    ),
    "the class of a value": (
        "sh:targetClass ex:A ; sh:property [ sh:path ex:p ; sh:not [ sh:class ex:K ] ]",
        "ex:n9 a ex:K .",
        False,
    ),
    "the other property": (
        "sh:targetClass ex:A ; sh:property [ sh:path ex:p ; sh:disjoint ex:k ]",
        "ex:n8 ex:k ex:n9 .",
        False,
    ),
    "a cell of a list": (
        "sh:targetClass ex:A ; sh:property [ sh:path ex:l ; sh:maxListLength 2 ]",
        "ex:c2 rdf:rest ex:c3 .",
        False,
    ),
    "a member of a list": (
        "sh:targetClass ex:A ; sh:property [ sh:path ex:l ; sh:memberShape [ sh:not [ sh:class ex:K ] ] ]",
        "ex:n9 a ex:K .",
        False,
    ),
    "a reifier": (
        "sh:targetClass ex:A ; sh:property [ sh:path ex:p ; sh:reifierShape [ sh:property [ sh:path ex:k ; sh:maxCount 0 ] ] ]",
        "ex:r ex:k 1 .",
        False,
    ),
    "a triple that is reified": (
        "sh:targetClass ex:A ; sh:property [ sh:path ex:p ; sh:reifierShape [ sh:nodeKind sh:BlankNode ] ]",
        "ex:r2 rdf:reifies <<( ex:n9 ex:p ex:n10 )>> .",
        False,
    ),
    "any property": (
        "sh:targetClass ex:A ; sh:closed true ; sh:ignoredProperties ( rdf:type ex:p ex:q ex:l )",
        "ex:n8 ex:k 1 .",
        False,
    ),
    "a hierarchy": (
        "sh:targetClass ex:A ; sh:property [ sh:path ex:q ; sh:class ex:C ]",
        "ex:C rdfs:subClassOf ex:D .",
        True,
    ),
    "a blank focus node": (
        "sh:targetSubjectsOf ex:p ; sh:property [ sh:path ex:p ; sh:nodeKind sh:IRI ]",
        "_:b ex:p 1 .",
        True,
    ),
}


@pytest.mark.parametrize(("shape", "added", "whole"), REACHED.values(), ids=REACHED)
def test_only_what_a_change_reaches_is_validated(shape: str, added: str, whole: bool) -> None:
    lines = [f"ex:n{n} a ex:A ; ex:p ex:n{n + 1} . ex:n{n} ex:q ex:n0 ." for n in range(6, 12)]
    lines.append(
        "ex:n6 a ex:Z . ex:n8 ex:l ex:c1 . ex:c1 rdf:first 1 ; rdf:rest ex:c2 . ex:c2 rdf:first ex:n9 ; rdf:rest rdf:nil ."
        "ex:r rdf:reifies <<( ex:n8 ex:p ex:n9 )>> ."
    )
    before = list(dict.fromkeys(parsed(lines)))
    found = compared(f"ex:S {shape} .", before, [*before, *parsed([added], 1)])
    assert bool(found.whole) is whole
    assert whole or len(found.come) == len(found.new) == 1
