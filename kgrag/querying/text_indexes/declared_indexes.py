"""An index that a user declared, as RDF: its name, and the query that returns what is indexed.

Graphs written: one index graph per index. Query read: ``saved/indexes``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import pyoxigraph as ox

from kgrag import queries
from kgrag.errors import InputError, UnknownName
from kgrag.index import vector_spaces
from kgrag.late_patterns import late_re
from kgrag.model import GraphDraft
from kgrag.ports import TripleStore
from kgrag.resources import closest
from kgrag.vocab import DCTERMS, KG, RDF, Names

__all__ = ["MAX_INDEXES", "TextIndex", "check_name", "find", "listed", "remove", "save"]

MAX_INDEXES = 16
_NAME = late_re(r"[a-z][a-z0-9-]{0,39}")


@dataclass(frozen=True, slots=True)
class TextIndex:
    """An index that a user declared.

    Attributes:
        name: small letters, digits and hyphens, a letter first; 40 at most. Searches name it as their space.
        sparql: a SELECT of ``?iri`` and ``?text``.
        title: a line for a person.
        iri: its own; "" before it is saved.
        created: when it was first saved; "" before.
    """

    name: str
    sparql: str
    title: str = ""
    iri: str = ""
    created: str = ""


def listed(store: TripleStore) -> list[TextIndex]:
    """Return the indexes that users declared, by name."""
    rows = store.select(queries.bind("saved/indexes", catalogue=store.names.catalogue)).values()
    return [TextIndex(name, text, title, iri, created) for iri, name, text, title, created in rows]


def find(store: TripleStore, name: str) -> TextIndex:
    """Return an index.

    Raises:
        UnknownName: there is none of this name.
    """
    every = {index.name: index for index in listed(store)}
    if name not in every:
        raise UnknownName(f"there is no index {name[:100]!r}. {closest(name, every)}".strip())
    return every[name]


def check_name(name: str, known: Collection[str]) -> None:
    """Refuse a name that no further index can have; ``known`` are those that there are.

    Raises:
        InputError: it is none, a space has it, or there are as many indexes as there may be.
    """
    if not _NAME.fullmatch(name):
        raise InputError(
            f"{name[:100]!r} is no name of an index. Use small letters, digits and hyphens, a letter first; 40 at most."
        )
    if name in vector_spaces.spaces():
        raise InputError(f"'{name}' is the name of a space that kgrag has itself. Choose another.")
    if name not in known and len(known) >= MAX_INDEXES:
        raise InputError(f"there are {len(known)} indexes already, and {MAX_INDEXES} may be. Remove one.")


def save(store: TripleStore, index: TextIndex) -> TextIndex:
    """Save an index whose query was checked, in the place of that of the same name, and return it.

    Raises:
        InputError: as of ``check_name``.
    """
    check_name(index.name, [each.name for each in listed(store)])
    graph = store.names.index_graph(index.name)
    store.publish([GraphDraft(graph, KG.IndexGraph, list(_triples(index, store.names)), "replace")])
    return find(store, index.name)


def remove(store: TripleStore, name: str) -> None:
    """Remove an index.

    Raises:
        UnknownName: there is none of this name.
    """
    find(store, name)
    store.remove([store.names.index_graph(name)])


def _triples(index: TextIndex, names: Names) -> Iterator[ox.Triple]:
    iri = names.text_index(index.name)
    yield ox.Triple(iri, RDF.type, KG.TextIndex)
    for predicate, text in (
        (DCTERMS.identifier, index.name),
        (KG.queryText, index.sparql),
        (DCTERMS.title, index.title),
    ):
        if text:
            yield ox.Triple(iri, predicate, ox.Literal(text))
