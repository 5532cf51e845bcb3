"""A proof as text for a person, as JSON, and as RDF."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyoxigraph as ox

from kgrag.model import Term
from kgrag.reasoning.inference import Contradiction
from kgrag.reasoning.proofs import Proof, Statement
from kgrag.vocab import DCTERMS, PREFIXES, PROV, RDF, RDFS

__all__ = ["as_json", "as_text", "as_triples", "statement_node", "written"]

_STATEMENT = ox.NamedNode(RDF.prefix + "Statement")


def as_text(proof: Proof) -> str:
    """Return a proof as numbered lines: what is stated and where, then each step with its rule and its premises."""
    return "\n".join(_lines(proof))


def _lines(proof: Proof) -> Iterator[str]:
    numbers: dict[ox.Triple, int] = {}
    for statement in proof.stated:
        numbers[statement[0]] = len(numbers) + 1
        where = ", ".join(proof.sources.get(statement[0], ()))
        yield f"{len(numbers)}. {written(*statement)}  stated{f' in {where}' if where else ''}"
    for step in proof.steps:
        premises = ", ".join(str(numbers[premise[0]]) for premise in step.premises)
        number = len(numbers) + 1
        if isinstance(step.conclusion, ox.Triple):
            numbers[step.conclusion] = number
        yield f"{number}. {_conclusion(step.conclusion)}  by {step.rule} from {premises}"


def _conclusion(conclusion: ox.Triple | Contradiction) -> str:
    if isinstance(conclusion, ox.Triple):
        return written(conclusion)
    what = " ".join(part for part in (conclusion.focus, conclusion.value, conclusion.other) if part)
    return f"contradiction: {what}"


def written(triple: ox.Triple, *cells: ox.Triple) -> str:
    """Return a triple in Turtle, with the prefixes that kgrag knows; the cells of a list are written as its members.

    >>> written(ox.Triple(ox.NamedNode("urn:a"), RDFS.label, ox.Literal("b")))
    '<urn:a> rdfs:label "b" .'
    """
    value = _term(triple.object)
    if members := [_term(cell.object) for cell in cells if cell.predicate == RDF.first]:
        value = f"( {' '.join(members)} )"
    return f"{_term(triple.subject)} {_term(triple.predicate)} {value} ."


def _term(term: Term) -> str:
    if term == RDF.type:
        return "a"
    if isinstance(term, ox.NamedNode):
        for prefix, namespace in PREFIXES.items():
            name = term.value.removeprefix(namespace)
            if name != term.value and name.replace("_", "").replace("-", "").isalnum():
                return f"{prefix}:{name}"
    return str(term)


def as_json(proof: Proof) -> dict[str, Any]:
    """Return a proof's JSON form: statements as N-Triples, several where one leads to a list."""
    stated = [{"triples": _plain(each), "in": list(proof.sources.get(each[0], ()))} for each in proof.stated]
    steps = [
        {
            "rule": step.rule,
            "premises": [_plain(premise) for premise in step.premises],
            "conclusion": _of_conclusion(step.conclusion),
        }
        for step in proof.steps
    ]
    return {
        "conclusion": _of_conclusion(proof.conclusion),
        "profile": proof.profile,
        "stated": stated,
        "steps": steps,
    }


def _plain(statement: Statement) -> list[str]:
    return [f"{triple} ." for triple in statement]


def _of_conclusion(conclusion: ox.Triple | Contradiction) -> str:
    return f"{conclusion} ." if isinstance(conclusion, ox.Triple) else _conclusion(conclusion)


def statement_node(triple: ox.Triple, sources: Iterable[str] = ()) -> tuple[ox.BlankNode, list[ox.Triple]]:
    """Return a node for a triple, and what describes it: an ``rdf:Statement`` with its sources (``dcterms:source``)."""
    node = ox.BlankNode()
    ends = ((RDF.subject, triple.subject), (RDF.predicate, triple.predicate), (RDF.object, triple.object))
    described = [ox.Triple(node, RDF.type, _STATEMENT)]
    described += [ox.Triple(node, predicate, value) for predicate, value in ends]
    return node, [*described, *(ox.Triple(node, DCTERMS.source, ox.Literal(name)) for name in sources)]


def as_triples(proof: Proof) -> list[ox.Triple]:
    """Return a proof as RDF: an ``rdf:Statement`` per triple, a ``prov:Activity`` per step.

    A step has its rule as ``dcterms:identifier``, used its premises, and generated what it concludes; a stated triple
    has what states it as ``dcterms:source``.
    """
    nodes: dict[ox.Triple, ox.BlankNode] = {}
    triples: list[ox.Triple] = []

    def statement(triple: ox.Triple) -> ox.BlankNode:
        if triple not in nodes:
            nodes[triple], described = statement_node(triple, proof.sources.get(triple, ()))
            triples.extend(described)
        return nodes[triple]

    for whole in proof.stated:
        statement(whole[0])
        triples.extend(whole[1:])
    for step in proof.steps:
        activity = ox.BlankNode()
        triples.append(ox.Triple(activity, RDF.type, PROV.Activity))
        triples.append(ox.Triple(activity, DCTERMS.identifier, ox.Literal(step.rule)))
        triples.extend(ox.Triple(activity, PROV.used, statement(premise[0])) for premise in step.premises)
        if isinstance(step.conclusion, ox.Triple):
            triples.append(ox.Triple(statement(step.conclusion), PROV.wasGeneratedBy, activity))
        else:
            triples.append(ox.Triple(activity, RDFS.label, ox.Literal(_conclusion(step.conclusion))))
    return triples
