"""Steps over what an ontology imports: which imports are at hand, and what these describe.

Nothing is fetched. An import is at hand in the target, in the store, or as a file that a catalogue names; so is what it
imports in turn.

Queries: ``audit/imports``, ``audit/str_02x``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

import pyoxigraph as ox

from kgrag import queries
from kgrag.audit.step_input import Row, StepInput
from kgrag.errors import InvalidRDF
from kgrag.model import plain
from kgrag.store import rdf_files
from kgrag.vocab import AUDIT, OWL, Names

__all__ = ["external_classes", "imports"]


def imports(given: StepInput) -> Iterator[Row]:
    """Yield the imports that are neither in the target, the store nor a catalogue (MET-10)."""
    why = "which is not at hand. It was not fetched: checks see a part of the ontology only."
    for ontology, name in _imported(given):
        if name not in given.catalogued and (given.store is None or not given.store.described(ox.NamedNode(name))):
            message = f"The ontology imports {name}, {why}"
            yield {"focus": ontology, "path": OWL.imports.value, "value": name, "message": message}


def external_classes(given: StepInput) -> Iterator[Row]:
    """Yield the classes of other namespaces that neither the target nor an import at hand describes (STR-02x)."""
    classes = given.target.bench.select(queries.bind("audit/str_02x", target=AUDIT.target, context=AUDIT.context))
    described, unread = _closure(given) if len(classes) else (frozenset(), ())
    left_out = f" The import {unread[0]} was not read." if len(unread) == 1 else ""
    left_out = f" {len(unread)} imports, such as {unread[0]}, were not read." if len(unread) > 1 else left_out
    for focus, path, _ in classes.values():
        if focus not in described:
            why = "and nothing that was read describes it."
            message = f"{focus} of another namespace is used as a class ({path}), {why}{left_out}"
            yield {"focus": focus, "path": path, "message": message}


def _imported(given: StepInput) -> Sequence[tuple[str, str]]:
    rows = given.target.bench.select(queries.bind("audit/imports", target=AUDIT.target)).values()
    return [(ontology, name) for ontology, name in rows]


def _closure(given: StepInput) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return what the imports at hand describe, and the imports that are not at hand; read once per audit."""
    memory = given.target.memory
    if "imports" not in memory:
        waiting = [name for _, name in _imported(given)]
        seen, unread, described = set(waiting), [], set[str]()
        while waiting:
            name = waiting.pop()
            triples = _triples(given, name)
            if triples is None:
                unread.append(name)
                continue
            described.update(t.subject.value for t in triples if isinstance(t.subject, ox.NamedNode))
            further = {plain(triple.object) for triple in triples if triple.predicate == OWL.imports} - seen
            seen |= further
            waiting += sorted(further)
        memory["imports"] = frozenset(described), tuple(sorted(unread))
    return cast("tuple[frozenset[str], tuple[str, ...]]", memory["imports"])


def _triples(given: StepInput, name: str) -> list[ox.Triple] | None:
    """Return what an import states; None where it is not at hand, or cannot be read."""
    if name in given.catalogued:
        try:
            drafts = rdf_files.read_rdf(given.catalogued[name], names=Names())
        except InvalidRDF:
            return None
        return [triple for draft in drafts for triple in draft.triples]
    node = ox.NamedNode(name)
    return list(given.store.triples(node)) if given.store is not None and given.store.described(node) else None
