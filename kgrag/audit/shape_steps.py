"""Steps over shapes that an ontology contains: whether SHACL says what they are (family SHP)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyoxigraph as ox

from kgrag import shacl
from kgrag.audit.step_input import Row, StepInput
from kgrag.model import Term, plain
from kgrag.vocab import AUDIT, OWL, RDF, RDFS

__all__ = ["unreadable"]

_SH = "http://www.w3.org/ns/shacl#"
_PATH, _PROPERTY = ox.NamedNode(f"{_SH}path"), ox.NamedNode(f"{_SH}property")
_PROPERTY_SHAPE = ox.NamedNode(f"{_SH}PropertyShape")
_SHAPES = (ox.NamedNode(f"{_SH}NodeShape"), _PROPERTY_SHAPE)
_CLASSES = (RDFS.Class, OWL.Class)
_REFERRING = {f"{_SH}{name}" for name in ("property", "node", "not", "qualifiedValueShape")} | {f"{RDF.prefix}first"}


def unreadable(given: StepInput) -> Iterator[Row]:
    """Yield the shapes of the target that are no SHACL: a malformed value, a term that does not exist, a missing path.

    SHP-01. Every shape is read as the engine would read it, with or without a target. What is valid and only not
    covered by the engine is no finding.
    """
    triples = list(given.target.bench.triples(AUDIT.target))
    if not any(term.startswith(_SH) for t in triples for term in (t.predicate.value, plain(t.object))):
        return
    with_path = {triple.subject for triple in triples if triple.predicate == _PATH}
    properties = {t.subject for t in triples if t.predicate == RDF.type and t.object == _PROPERTY_SHAPE}
    for node in sorted(properties - with_path, key=str):
        message = f"The property shape {plain(node)} has no sh:path, so that it says nothing of any property."
        yield {"focus": plain(node), "path": _PATH.value, "message": message}
    aimed = ox.NamedNode(f"{_SH}targetNode")
    shapes = [node for node in _without_target(triples) if node not in properties - with_path]
    aims = [ox.Triple(node, aimed, AUDIT.target) for node in shapes]
    read = shacl.load_shapes([], triples=[*triples, *aims], elsewhere=True)
    for name, reason in sorted(read.undecided.items()):
        yield {"focus": name, "path": RDF.type.value, "message": reason}


def _without_target(triples: Sequence[ox.Triple]) -> list[ox.NamedNode | ox.BlankNode]:
    """Return the shapes without a target that no other shape refers to: the reader would pass over these."""
    left_out: set[Term] = {triple.object for triple in triples if triple.predicate.value in _REFERRING}
    left_out |= {t.subject for t in triples if t.predicate.value.startswith(f"{_SH}target")}
    left_out |= {t.subject for t in triples if t.predicate == RDF.type and t.object in _CLASSES}
    shapes = {triple.subject for triple in triples if triple.predicate in (_PATH, _PROPERTY)}
    shapes |= {t.subject for t in triples if t.predicate == RDF.type and t.object in _SHAPES}
    return sorted((n for n in shapes - left_out if isinstance(n, ox.NamedNode | ox.BlankNode)), key=str)
