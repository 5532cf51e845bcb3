"""The context graph of an audit: what the checks need to know of a target, worked out once by stored queries.

Which terms it declares, of which kind, which are its own, deprecated, in force; their labels, definitions, synonyms
and local names in one place; the ends of properties with what they inherit. Asserted triples only, nothing is inferred
but the ends of properties.

Queries: ``audit/context_*``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pyoxigraph as ox

from kgrag import queries
from kgrag.audit.reserved import reserved_among
from kgrag.model import plain
from kgrag.ports import Workbench
from kgrag.shacl import Written, as_written
from kgrag.vocab import AUDIT

__all__ = ["Scope", "prepare"]

_EXTENSION = re.compile(r"\.(owl|rdf|ttl|rdfs|xml|nt|jsonld|obo|n3)$", flags=re.IGNORECASE)
_OBO = re.compile(r"http://purl\.obolibrary\.org/obo/([A-Za-z]+)(?:/.*|(?:[-_].*)?\.\w+)$")
_FOREIGN = (
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "http://www.w3.org/2000/01/rdf-schema#",
    "http://www.w3.org/2001/XMLSchema#",
    "http://www.w3.org/2002/07/owl#",
    "http://purl.org/dc/",
)


@dataclass(frozen=True, slots=True)
class Scope:
    """A target in a scratch store, ready to be checked: graphs ``target`` and ``context``; shapes see both as one.

    ``blanks`` are the names of its blank nodes, ``written`` its literals that the store changes, and ``memory`` is for
    what several checks work out of it.
    """

    bench: Workbench
    namespaces: tuple[str, ...]
    ontologies: tuple[str, ...]
    name: str
    blanks: frozenset[str] = field(repr=False)
    written: Written = field(repr=False)
    memory: dict[str, object] = field(default_factory=dict, repr=False, compare=False)

    @property
    def subject(self) -> str:
        """What a finding about the whole target is about: its only ontology, else the target's name."""
        return self.ontologies[0] if len(self.ontologies) == 1 else self.name


def prepare(
    bench: Workbench, triples: Sequence[ox.Triple], *, name: str, namespace: str | None = None, parsed: bool = True
) -> Scope:
    """Put a target into a scratch store and work out its context.

    Args:
        bench: the scratch store; what was in it goes.
        triples: the target.
        name: what the target is called in reports.
        namespace: its own namespace, where the user says so.
        parsed: whether its literals are as they were written, and not as a store keeps them.
    """
    written = as_written(triples, bench, whole=parsed)
    bench.fill([])
    _put(bench, triples, AUDIT.target)
    blanks, mentioned = _mentioned(triples)
    _know(bench, reserved_among(mentioned))
    for query in ("context_terms", "context_texts", "context_ends", "context_ontologies"):
        _know(bench, bench.construct(queries.bind(f"audit/{query}", target=AUDIT.target)))
    namespaces = (namespace,) if namespace else _own_namespaces(bench)
    _know(bench, bench.construct(_own(namespaces)))
    _know(bench, bench.construct(queries.bind("audit/context_foreign", context=AUDIT.context)))
    deprecated = queries.bind("audit/context_deprecated", target=AUDIT.target, context=AUDIT.context)
    _know(bench, bench.construct(deprecated))
    for query in ("context_live", "context_names", "context_normal"):
        _know(bench, bench.construct(queries.bind(f"audit/{query}", context=AUDIT.context)))
    ontologies = _ontologies(bench)
    _know(bench, _said_of(ontologies, namespaces))
    return Scope(bench, tuple(namespaces), tuple(ontologies), name, blanks, written)


def _mentioned(triples: Sequence[ox.Triple]) -> tuple[frozenset[str], set[object]]:
    """Give the names of the blank nodes of a target, and every term that it mentions."""
    terms: set[object] = set()
    for triple in triples:
        terms.update((triple.subject, triple.predicate, triple.object))
        if isinstance(triple.object, ox.Literal):
            terms.add(triple.object.datatype)
    return frozenset(term.value for term in terms if isinstance(term, ox.BlankNode)), terms


def _put(bench: Workbench, triples: Iterable[ox.Triple], graph: ox.NamedNode) -> None:
    bench.add(ox.Quad(each.subject, each.predicate, each.object, graph) for each in triples)


def _know(bench: Workbench, triples: Iterable[ox.Triple]) -> None:
    _put(bench, triples, AUDIT.context)


def _own(namespaces: Sequence[str]) -> str:
    literals = [ox.Literal(each) for each in namespaces]
    return queries.bind("audit/context_own", context=AUDIT.context, namespaces=literals)


def _own_namespaces(bench: Workbench) -> list[str]:
    """Choose the target's own namespaces: what it states, what its IRI says, else where most of its terms stand."""
    clues: dict[str, dict[str, int]] = {"stated": {}, "ontology": {}, "terms": {}}
    asked = queries.bind("audit/context_namespaces", target=AUDIT.target, context=AUDIT.context)
    for clue, text, count in bench.select(asked).values():
        clues[clue][text] = int(count)
    counted = clues["terms"]
    if stated := _held(clues["stated"], counted):
        return stated
    candidates = [each for iri in clues["ontology"] for each in _of_ontology(iri)]
    if named := _held(candidates, counted):
        return named
    ranked = sorted(counted, key=lambda each: (each.startswith(_FOREIGN), -counted[each], each))
    return ranked[:1] or candidates[:1]


def _held(candidates: Iterable[str], counted: Mapping[str, int]) -> list[str]:
    """Give the candidates that hold terms; in place of one that only begins namespaces of terms, these namespaces."""
    found: dict[str, None] = {}
    for candidate in candidates:
        longer = [each for each in counted if each.startswith(candidate)]
        found.update(dict.fromkeys([candidate] if candidate in longer else longer))
    return list(found)


def _of_ontology(iri: str) -> list[str]:
    """Give the namespaces that an ontology of this IRI would have.

    >>> _of_ontology("https://example.org/o.owl")[:2]
    ['https://example.org/o.owl#', 'https://example.org/o.owl/']
    >>> _of_ontology("http://purl.obolibrary.org/obo/pso/pso-base.owl")[0]
    'http://purl.obolibrary.org/obo/PSO_'
    """
    if found := _OBO.match(iri):
        prefix = "http://purl.obolibrary.org/obo/"
        return [f"{prefix}{found[1].upper()}_", f"{prefix}{found[1].lower()}#", f"{prefix}{found[1]}/"]
    stems = dict.fromkeys((iri, _EXTENSION.sub("", iri)))
    return [each for stem in stems for each in ([stem] if stem[-1] in "#/" else [f"{stem}#", f"{stem}/"])]


def _ontologies(bench: Workbench) -> list[str]:
    found = {plain(triple.subject) for triple in bench.triples(AUDIT.context) if triple.object == AUDIT.AuditedOntology}
    return sorted(found)


def _said_of(ontologies: Sequence[str], namespaces: Sequence[str]) -> list[ox.Triple]:
    subjects = [AUDIT.target, *(ox.NamedNode(each) for each in ontologies)]
    return [ox.Triple(each, AUDIT.namespace, ox.Literal(text)) for each in subjects for text in namespaces]
