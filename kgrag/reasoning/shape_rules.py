"""What follows from data by the rules of SHACL shapes: triple rules and SPARQL rules, carried out by pyshacl.

Source: SHACL Advanced Features (W3C Working Group Note 8 June 2017), section 8.

Deviations: the rules are run again until nothing new follows, and not once in their order, so that the result does not
depend on the order. Triples about blank nodes take part and are left out of the result, as with the other rules; where
only such triples still come after ``MAX_ROUNDS``, the result is whole without them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyoxigraph as ox

from kgrag.errors import InvalidRDF, NotDecided
from kgrag.reasoning.inference import Inferences
from kgrag.shacl.pyshacl_validation import refuse_network
from kgrag.shacl.shapes_graph import SH, parse
from kgrag.store.rdflib_copies import rdflib_copy
from kgrag.vocab import digest

if TYPE_CHECKING:
    import rdflib

__all__ = ["MAX_ROUNDS", "infer_by_shapes", "read_rules", "rules_profile"]

MAX_ROUNDS = 25
"""After how many rounds rules that still add triples reach no verdict."""
_RULE = ox.NamedNode(SH + "rule")


def read_rules(paths: Sequence[Path]) -> bytes:
    """Return the shapes of some files as N-Triples, in which blank nodes are named by their content.

    Raises:
        InvalidRDF: a file does not parse, has no rule, or has SPARQL that would ask another server.
    """
    triples = [quad.triple for path in paths for quad in parse(path)]
    if not any(triple.predicate == _RULE for triple in triples):
        raise InvalidRDF(f"{' '.join(map(str, paths))}: there is no sh:rule. Name files of SHACL shapes with rules.")
    refuse_network(triples)
    dataset = ox.Dataset(ox.Quad(*triple) for triple in triples)
    dataset.canonicalize(ox.CanonicalizationAlgorithm.RDFC_1_0)
    return ox.serialize(sorted(dataset, key=str), format=ox.RdfFormat.N_TRIPLES) or b""


def rules_profile(rules: bytes) -> str:
    """Return the name that what follows by some rules is kept under."""
    return f"shacl-{digest(rules.decode())}"


def infer_by_shapes(triples: Sequence[ox.Triple], *, rules: bytes) -> Inferences:
    """Return what follows from triples by the rules of shapes.

    Args:
        triples: the data, with the ontologies whose subclasses count for the targets of shapes.
        rules: the shapes, as N-Triples.

    Raises:
        InvalidRDF: pyshacl cannot read a rule.
        NotDecided: after ``MAX_ROUNDS`` rounds, there are still new triples without blank nodes.
    """
    data = rdflib_copy(triples)
    shapes = rdflib_copy(quad.triple for quad in ox.parse(rules, format=ox.RdfFormat.N_TRIPLES))
    stated = set(data)
    rounds, before, named = 0, -1, -1
    while len(data) > before:
        if rounds >= MAX_ROUNDS:
            if named == _without_blank_nodes(data):
                break
            raise NotDecided(f"after {rounds} rounds there are still new triples: these rules may never end")
        before, named = len(data), _without_blank_nodes(data)
        data = _applied(data, shapes)
        rounds += 1
    return Inferences(tuple(sorted(_conclusions(data, stated), key=str)), (), rounds)


def _applied(data: rdflib.Graph, shapes: rdflib.Graph) -> rdflib.Graph:
    """Return the data with what each rule adds, run once."""
    import pyshacl
    import rdflib

    try:
        expanded = pyshacl.shacl_rules(data, shacl_graph=shapes, advanced=True)
    except Exception as error:  # pyshacl and rdflib raise many kinds
        raise InvalidRDF(f"the rules cannot be carried out: {error}") from error
    if not isinstance(expanded, rdflib.Graph):
        raise InvalidRDF(f"the rules cannot be carried out: {expanded}")
    whole = rdflib.Graph()
    for triple in expanded.triples((None, None, None)):
        whole.add(triple)
    return whole


def _without_blank_nodes(data: rdflib.Graph) -> int:
    import rdflib

    return sum(not any(isinstance(term, rdflib.BNode) for term in triple) for triple in data)


def _conclusions(data: rdflib.Graph, stated: Collection[object]) -> list[ox.Triple]:
    import rdflib

    new = rdflib.Graph()
    for triple in data:
        if triple not in stated and not any(isinstance(term, rdflib.BNode) for term in triple):
            new.add(triple)
    return [quad.triple for quad in ox.parse(new.serialize(format="nt").encode(), format=ox.RdfFormat.N_TRIPLES)]
