"""Queries that people saved for each other: as RDF, by topic and method, with parameters.

A parameter is a variable of the query that gets a value when it is run (``kgrag.sparql.query_parameters``). Graphs
written: one query graph per query. Query read: ``saved/listing``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import pyoxigraph as ox

from kgrag import queries
from kgrag.errors import InputError, UnknownName
from kgrag.late_patterns import late_re
from kgrag.model import GraphDraft
from kgrag.ports import TripleStore
from kgrag.resources import closest
from kgrag.sparql.query_parameters import KINDS, ValueKind, term_of, with_values
from kgrag.vocab import DCTERMS, KG, RDF, RDFS, Names, number

__all__ = ["QueryParameter", "SavedQuery", "bound", "find", "listed", "remove", "save"]

_NAME = late_re(r"[a-z0-9][a-z0-9-]{0,79}")
_TRIAL_VALUES: Mapping[str, str] = {
    "IRI": "urn:x:x",
    "text": "x",
    "number": "1",
    "date": "2026-01-01",
    "boolean": "true",
}


@dataclass(frozen=True, slots=True)
class QueryParameter:
    """A variable that gets its value when the query is run.

    Attributes:
        name: of the variable, without its mark.
        kind: "IRI", "text", "number", "date" or "boolean".
        about: what it is, for a person.
        default: its value where no other is given, as a person would write it; "" for none.
    """

    name: str
    kind: ValueKind = "text"
    about: str = ""
    default: str = ""


@dataclass(frozen=True, slots=True)
class SavedQuery:
    """A query or an update that somebody saved.

    Attributes:
        name: small letters, digits and hyphens; 80 at most.
        sparql: its text.
        title: a line for a person.
        about: more of it.
        topic: what it is about, in a word or two.
        method: the method whose graphs it reads; "" for none in particular.
        parameters: those that it takes.
        iri: its own; "" before it is saved.
        created: when it was first saved; "" before.
    """

    name: str
    sparql: str
    title: str = ""
    about: str = ""
    topic: str = ""
    method: str = ""
    parameters: tuple[QueryParameter, ...] = ()
    iri: str = ""
    created: str = ""


def listed(store: TripleStore) -> list[SavedQuery]:
    """Return the saved queries, by topic and name."""
    found: dict[str, SavedQuery] = {}
    taken: dict[str, list[QueryParameter]] = {}
    rows = store.select(queries.bind("saved/listing", catalogue=store.names.catalogue)).values()
    for iri, name, text, title, about, topic, method, created, parameter, kind, explained, default in rows:
        found[name] = SavedQuery(name, text, title, about, topic, method, (), iri, created)
        if parameter:
            known = next(each for each in KINDS if each == kind)
            taken.setdefault(name, []).append(QueryParameter(parameter, known, explained, default))
    return [replace(query, parameters=tuple(taken.get(name, ()))) for name, query in found.items()]


def find(store: TripleStore, name: str) -> SavedQuery:
    """Return a saved query.

    Raises:
        UnknownName: there is none of this name.
    """
    every = {query.name: query for query in listed(store)}
    if name not in every:
        raise UnknownName(f"there is no saved query {name[:100]!r}. {closest(name, every)}".strip())
    return every[name]


def save(store: TripleStore, query: SavedQuery) -> SavedQuery:
    """Save a query, in the place of that of the same name, and return it.

    Raises:
        InputError: its name is none, its text is empty, two parameters have one name, or a default is not of its kind.
        InvalidSPARQL: a parameter is no variable of it, or gets a value in it.
    """
    if not _NAME.fullmatch(query.name):
        raise InputError(
            f"{query.name[:100]!r} is no name of a query. Use small letters, digits and hyphens, 80 at most."
        )
    if not query.sparql.strip():
        raise InputError("the query is empty. Write one.")
    names = [each.name for each in query.parameters]
    if len(set(names)) < len(names):
        raise InputError("two parameters have the same name. Name each variable once.")
    given = {each.name: each.default or _TRIAL_VALUES[each.kind] for each in query.parameters}
    bound(query, given)
    graph = store.names.query_graph(query.name)
    store.publish([GraphDraft(graph, KG.QueryGraph, list(_triples(query, store.names)), "replace")])
    return find(store, query.name)


def remove(store: TripleStore, name: str) -> None:
    """Remove a saved query.

    Raises:
        UnknownName: there is none of this name.
    """
    find(store, name)
    store.remove([store.names.query_graph(name)])


def bound(query: SavedQuery, values: Mapping[str, str], prefixes: Mapping[str, str] | None = None) -> str:
    """Return the text of a query with values for its parameters.

    Args:
        query: the query.
        values: name of a parameter -> its value, as a person writes it; "" and what is left out take the default.
        prefixes: those that an IRI may be shortened by.

    Raises:
        InputError: a parameter has no value, or one of another kind; a value is for none of the parameters.
        InvalidSPARQL: as of ``save``.
    """
    known = {each.name: each for each in query.parameters}
    if unknown := sorted(values.keys() - known.keys()):
        raise InputError(
            f"the query '{query.name}' takes no {unknown[0][:100]!r}. {closest(unknown[0], known)}".strip()
        )
    terms = {}
    for name, parameter in known.items():
        text = values.get(name) or parameter.default
        if not text:
            raise InputError(f"the parameter '{name}' of the query '{query.name}' has no value. Give it one.")
        terms[name] = term_of(parameter.kind, text, prefixes)
    return with_values(query.sparql, terms)


def _triples(query: SavedQuery, names: Names) -> Iterator[ox.Triple]:
    iri = names.saved_query(query.name)
    yield ox.Triple(iri, RDF.type, KG.SavedQuery)
    stated = {
        DCTERMS.identifier: query.name,
        KG.queryText: query.sparql,
        DCTERMS.title: query.title,
        RDFS.comment: query.about,
        KG.topic: query.topic,
        KG.method: query.method,
    }
    for predicate, text in stated.items():
        if text:
            yield ox.Triple(iri, predicate, ox.Literal(text))
    for place, parameter in enumerate(query.parameters):
        own = ox.NamedNode(f"{iri.value}/{parameter.name}")
        yield ox.Triple(iri, KG.takes, own)
        yield ox.Triple(own, RDF.type, KG.QueryParameter)
        yield ox.Triple(own, DCTERMS.identifier, ox.Literal(parameter.name))
        yield ox.Triple(own, KG.valueKind, ox.Literal(parameter.kind))
        yield ox.Triple(own, KG.order, number(place))
        for predicate, text in ((RDFS.comment, parameter.about), (KG.default, parameter.default)):
            if text:
                yield ox.Triple(own, predicate, ox.Literal(text))
