"""The prefixes of the loaded ontologies: every query and update may use them without declaring them.

An ontology can say which prefix it prefers (``vann:preferredNamespacePrefix``). Of the others, the name of the ontology
is taken: ``http://www.w3.org/ns/dcat`` is ``dcat:``, ``http://xmlns.com/foaf/0.1/`` is ``foaf:``. Where its terms are
in namespaces below that name (``…/pizza/pizza.owl#`` of ``…/pizza``), the one with most of them is taken. A prefix of
kgrag's own means the same in every knowledge base, and of two ontologies that want the same one, the first by IRI has
it.

Queries read: ``schema/ontologies``, ``schema/namespaces``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from kgrag import queries
from kgrag.index.revision_cache import RevisionCache
from kgrag.late_patterns import late_re
from kgrag.ports import TripleStore
from kgrag.vocab import KG, PREFIXES

__all__ = ["COMMON_PREFIXES", "known_prefixes", "ontologies", "ontology_prefixes"]

COMMON_PREFIXES: Mapping[str, str] = {
    "dc": "http://purl.org/dc/elements/1.1/",
    "dcat": "http://www.w3.org/ns/dcat#",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "geo": "http://www.opengis.net/ont/geosparql#",
    "org": "http://www.w3.org/ns/org#",
    "qb": "http://purl.org/linked-data/cube#",
    "qudt": "http://qudt.org/schema/qudt/",
    "schema": "https://schema.org/",
    "sd": "http://www.w3.org/ns/sparql-service-description#",
    "sh": "http://www.w3.org/ns/shacl#",
    "sosa": "http://www.w3.org/ns/sosa/",
    "ssn": "http://www.w3.org/ns/ssn/",
    "time": "http://www.w3.org/2006/time#",
    "unit": "http://qudt.org/vocab/unit/",
    "vann": "http://purl.org/vocab/vann/",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
    "wd": "http://www.wikidata.org/entity/",
    "wdt": "http://www.wikidata.org/prop/direct/",
}
"""Prefixes that are proposed to whoever uses them without declaring them."""
_NAME = late_re(r"[A-Za-z][A-Za-z0-9_-]{1,30}")
_NO_NAMES = frozenset({"core", "ns", "ont", "onto", "ontology", "owl", "rdf", "schema", "terms", "ttl", "vocab", "voc"})
"""Last parts of IRIs that name no ontology; of ``http://x.org/zoo/ontology#`` it is the part before."""

_Stated = tuple[tuple[str, str, str], ...]
_ONTOLOGIES = RevisionCache[_Stated](kinds=(KG.OntologyGraph,))
_PREFIXES = RevisionCache[Mapping[str, str]](kinds=(KG.OntologyGraph,))


def ontologies(store: TripleStore) -> _Stated:
    """Return (graph, prefix, namespace) of the loaded ontologies, with "" for no preferred prefix; sorted.

    Read from the store when an ontology graph has changed since the last call.
    """
    query = queries.bind("schema/ontologies", catalogue=store.names.catalogue)

    def read() -> _Stated:
        return tuple((graph, prefix, space) for graph, prefix, space in store.select(query).values())

    return _ONTOLOGIES.get(store, "", read)


def ontology_prefixes(store: TripleStore) -> Mapping[str, str]:
    """Return the prefixes that a query or update may use: kgrag's own, and those of the loaded ontologies.

    Read from the store when an ontology graph has changed since the last call.
    """
    return _PREFIXES.get(store, "", lambda: _read(store))


def known_prefixes(store: TripleStore) -> Mapping[str, str]:
    """Return what can be proposed for a prefix that is not declared: common ones, and those of the ontologies."""
    return {**COMMON_PREFIXES, **ontology_prefixes(store)}


def _read(store: TripleStore) -> Mapping[str, str]:
    catalogue = store.names.catalogue
    counted = store.select(queries.bind("schema/namespaces", catalogue=catalogue)).values()
    found: dict[str, str] = {}
    pairs = [*((prefix, space) for _, prefix, space in ontologies(store) if prefix and space), *_derived(counted)]
    named: set[str] = set(PREFIXES.values())
    for prefix, space in pairs:
        if _NAME.fullmatch(prefix) and prefix not in PREFIXES and prefix not in found and space not in named:
            found[prefix] = space
            named.add(space)
    return {**found, **PREFIXES}


def _derived(counted: Iterable[tuple[str, ...]]) -> Iterator[tuple[str, str]]:
    """Yield a prefix for the namespace of each graph that is its ontology's name, else for the largest below it."""
    rows = [((ontology or graph).rstrip("#/"), graph, space) for graph, ontology, space, _ in counted]
    own = [(graph, space) for name, graph, space in rows if space.rstrip("#/") == name]
    below = [(graph, space) for name, graph, space in rows if space.startswith(f"{name}/")]
    done = set()
    for graph, space in own + below:
        if graph not in done and (name := _name_of(space.rstrip("#/"))):
            done.add(graph)
            yield name, space


def _name_of(iri: str) -> str:
    """Return the last part of an IRI that can be a prefix and names something, in small letters; "" where none does.

    >>> [_name_of(iri) for iri in ("http://www.w3.org/ns/dcat", "http://xmlns.com/foaf/0.1", "http://x.org/zoo/ontology")]
    ['dcat', 'foaf', 'zoo']
    """
    parts = iri.partition("://")[2].split("/")[1:] or re.split("[:/]", iri)
    for part in reversed(parts):
        name = part.removesuffix(".owl").removesuffix(".ttl").removesuffix(".rdf").lower()
        if _NAME.fullmatch(name) and name not in _NO_NAMES:
            return name
    return ""
