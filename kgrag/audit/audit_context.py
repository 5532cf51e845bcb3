"""The target of an audit in a scratch store, with its context: what stored queries derive from it for the checks.

The context says which terms the target declares, of which kind, which are its own, deprecated, in force; it has their
labels, definitions, synonyms and local names under one property each, and the domains and ranges of properties with
those that they inherit. Asserted triples only; nothing but these domains and ranges is inferred. Of an ontology that
imports another part of its own project (``aud:Module``), terms of which it states the type only are that part's.

Queries: ``audit/context_*``, ``audit/imports``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pyoxigraph as ox

from kgrag import queries
from kgrag.audit.reserved_terms import reserved_among
from kgrag.late_patterns import late_re
from kgrag.model import plain
from kgrag.ports import Workbench
from kgrag.shacl import Written, as_written
from kgrag.vocab import AUDIT, RDF

__all__ = ["FILE_SUFFIX", "AuditTarget", "prepare"]

FILE_SUFFIX = late_re(r"\.(owl|rdf|ttl|rdfs|xml|nt|jsonld|obo|n3)$", flags=re.IGNORECASE)
"""The end of an ontology's IRI that is only that of its file."""
_OBO_FILE = late_re(r"http://purl\.obolibrary\.org/obo/([A-Za-z]+)(?:/.*|(?:[-_].*)?\.\w+)$")
_WELL_KNOWN_NAMESPACES = (
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "http://www.w3.org/2000/01/rdf-schema#",
    "http://www.w3.org/2001/XMLSchema#",
    "http://www.w3.org/2002/07/owl#",
    "http://purl.org/dc/",
)


@dataclass(frozen=True, slots=True)
class AuditTarget:
    """A target in a scratch store, ready to be checked: graphs ``target`` and ``context``; shapes see both as one.

    ``blanks`` are the names of its blank nodes, ``written`` its literals that the store changes, and ``memory`` is a
    cache of what several checks derive from it.
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
        """The focus of a finding about the whole target: its only ontology, else the target's name."""
        return self.ontologies[0] if len(self.ontologies) == 1 else self.name


def prepare(
    bench: Workbench,
    triples: Sequence[ox.Triple],
    *,
    name: str,
    namespace: str | None = None,
    parsed: bool = True,
    apart: Collection[object] = (),
) -> AuditTarget:
    """Write a target into a scratch store and compute its context.

    Args:
        bench: the scratch store; its former content is deleted.
        triples: the target.
        name: what the target is called in reports.
        namespace: its own namespace, where the user names it.
        parsed: whether its literals are as they were written, and not as a store keeps them.
        apart: its ontologies that have a graph to themselves, where it is the union of several graphs.
    """
    written = as_written(triples, bench, whole=parsed)
    bench.fill([])
    _add(bench, triples, AUDIT.target)
    terms: set[object] = set()
    for triple in triples:
        terms.update((triple.subject, triple.predicate, triple.object))
        if isinstance(triple.object, ox.Literal):
            terms.add(triple.object.datatype)
    _add(bench, reserved_among(terms))
    for query in ("context_terms", "context_texts", "context_ends", "context_ontologies"):
        _add(bench, bench.construct(queries.bind(f"audit/{query}", target=AUDIT.target)))
    # from here on each query reads what the ones before it wrote
    namespaces = (namespace,) if namespace else tuple(_own_namespaces(bench))
    literals = [ox.Literal(own) for own in namespaces]
    _add(bench, (ox.Triple(ox.NamedNode(each), RDF.type, AUDIT.Module) for each in _modules(bench, namespaces)))
    own = queries.bind("audit/context_own", target=AUDIT.target, context=AUDIT.context, namespaces=literals)
    _add(bench, bench.construct(own))
    _add(bench, bench.construct(queries.bind("audit/context_foreign", context=AUDIT.context)))
    deprecated = queries.bind("audit/context_deprecated", target=AUDIT.target, context=AUDIT.context)
    _add(bench, bench.construct(deprecated))
    for query in ("context_live", "context_names", "context_normal"):
        _add(bench, bench.construct(queries.bind(f"audit/{query}", context=AUDIT.context)))
    typed = (triple for triple in bench.triples(AUDIT.context) if triple.object == AUDIT.AuditedOntology)
    ontologies = tuple(sorted({plain(triple.subject) for triple in typed}))
    alone = [ontology for ontology in map(ox.NamedNode, ontologies) if ontology in apart]
    _add(bench, (ox.Triple(ontology, RDF.type, AUDIT.SeparateOntology) for ontology in alone))
    subjects = [AUDIT.target, *(ox.NamedNode(ontology) for ontology in ontologies)]
    _add(bench, [ox.Triple(subject, AUDIT.namespace, literal) for subject in subjects for literal in literals])
    blanks = frozenset(term.value for term in terms if isinstance(term, ox.BlankNode))
    return AuditTarget(bench, namespaces, ontologies, name, blanks, written)


def _add(bench: Workbench, triples: Iterable[ox.Triple], graph: ox.NamedNode = AUDIT.context) -> None:
    bench.add(ox.Quad(triple.subject, triple.predicate, triple.object, graph) for triple in triples)


def _modules(bench: Workbench, namespaces: Sequence[str]) -> set[str]:
    """Return the ontologies that import a part of their own project, by its IRI, that the target does not have."""
    stems = tuple(namespace.rstrip("#/_") for namespace in namespaces)
    imports = bench.select(queries.bind("audit/imports", target=AUDIT.target)).values()
    return {importing for importing, imported in imports if imported.startswith(stems)} if stems else set()


def _own_namespaces(bench: Workbench) -> list[str]:
    """Return the target's own namespaces: those it states, else those of its IRI, else that of most of its terms."""
    counts: dict[str, dict[str, int]] = {"stated": {}, "ontology": {}, "terms": {}}
    rows = bench.select(queries.bind("audit/context_namespaces", target=AUDIT.target, context=AUDIT.context)).values()
    for source, text, count in rows:
        counts[source][text] = int(count)
    terms_in = counts["terms"]
    if stated := _with_terms(counts["stated"], terms_in):
        return stated
    candidates = [namespace for iri in counts["ontology"] for namespace in _of_ontology(iri)]
    if of_iri := _with_terms(candidates, terms_in):
        return of_iri
    ranked = sorted(terms_in, key=lambda name: (name.startswith(_WELL_KNOWN_NAMESPACES), -terms_in[name], name))
    return ranked[:1] or candidates[:1]


def _with_terms(candidates: Iterable[str], terms_in: Mapping[str, int]) -> list[str]:
    """Return the candidates that contain terms; for one that is only a prefix of namespaces of terms, these."""
    chosen: dict[str, None] = {}
    for candidate in candidates:
        longer = [namespace for namespace in terms_in if namespace.startswith(candidate)]
        chosen.update(dict.fromkeys([candidate] if candidate in longer else longer))
    return list(chosen)


def _of_ontology(iri: str) -> list[str]:
    """Return the namespaces that an ontology of this IRI would have.

    >>> _of_ontology("https://example.org/o.owl")[:2]
    ['https://example.org/o.owl#', 'https://example.org/o.owl/']
    >>> _of_ontology("http://purl.obolibrary.org/obo/pso/pso-base.owl")[0]
    'http://purl.obolibrary.org/obo/PSO_'
    """
    if obo := _OBO_FILE.match(iri):
        prefix = "http://purl.obolibrary.org/obo/"
        return [f"{prefix}{obo[1].upper()}_", f"{prefix}{obo[1].lower()}#", f"{prefix}{obo[1]}/"]
    stems = dict.fromkeys((iri, FILE_SUFFIX.sub("", iri)))
    return [name for stem in stems for name in ([stem] if stem[-1] in "#/" else [f"{stem}#", f"{stem}/"])]
