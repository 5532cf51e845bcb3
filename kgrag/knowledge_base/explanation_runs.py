"""Why a triple follows, or something was found: over graphs of a store, or over files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox

from kgrag.audit.reports.line_numbers import declared_prefixes
from kgrag.errors import InputError
from kgrag.index.ontology_prefixes import ontology_prefixes
from kgrag.knowledge_base import audit_runs, reasoning_runs
from kgrag.ports import TripleStore
from kgrag.vocab import PREFIXES

if TYPE_CHECKING:
    from kgrag.audit import AuditOptions
    from kgrag.reasoning.grounds import Grounds
    from kgrag.reasoning.inference import Contradiction
    from kgrag.reasoning.proofs import Proof

__all__ = [
    "Premises",
    "as_json",
    "as_text",
    "as_turtle",
    "premises",
    "read_triple",
    "why",
    "why_contradiction",
    "why_found",
    "why_refused",
]

_SCHEMES = frozenset({"did", "doi", "info", "mailto", "tag", "urn"})
"""Schemes of IRIs that are not followed by two slashes, and that hardly anybody has for a prefix."""


@dataclass(frozen=True, slots=True)
class Premises:
    """Triples, with the graphs or files that state each of them; ``name`` is what they are called together.

    ``prefixes`` are those that a triple may be asked for by: of the ontologies, and what the files declare.
    """

    stated: dict[ox.Triple, tuple[str, ...]]
    name: str
    prefixes: Mapping[str, str] = field(default_factory=lambda: PREFIXES)

    @property
    def triples(self) -> list[ox.Triple]:
        """The triples, each once."""
        return list(self.stated)


def premises(store: TripleStore | None, targets: Sequence[str | Path], *, graphs_only: bool = False) -> Premises:
    """Read what is to be explained from.

    Args:
        store: where graphs are; None = there are only files.
        targets: RDF files, or IRIs of graphs; none = all ontologies and data of the store.
        graphs_only: targets are graphs, as for somebody who may not name files of this machine.

    Raises:
        InputError: there is no such graph, or nothing is named.
        InvalidRDF: a file does not parse.
    """
    stated: dict[ox.Triple, tuple[str, ...]] = {}
    names = []
    for name, triples in _read(store, targets, graphs_only=graphs_only):
        names.append(name)
        for triple in dict.fromkeys(triples):
            stated[triple] = (*stated.get(triple, ()), name)
    declared = declared_prefixes(path for path in map(Path, names) if not graphs_only and path.is_file())
    return Premises(stated, " ".join(names), {**declared, **(ontology_prefixes(store) if store else PREFIXES)})


def _read(
    store: TripleStore | None, targets: Sequence[str | Path], *, graphs_only: bool
) -> Iterator[tuple[str, list[ox.Triple]]]:
    named = () if graphs_only else targets
    files = [Path(each) for each in named if isinstance(each, Path) or ":" not in each or Path(each).exists()]
    graphs = [each for each in targets if isinstance(each, str) and Path(each) not in files]
    for path in files:
        yield str(path), audit_runs.triples_of(path)
    if graphs and store is None:
        raise InputError(f"<{graphs[0]}> is a graph of a knowledge base, and none was named. Name it with --kb.")
    if store is not None and (graphs or not files):
        for graph in reasoning_runs.sources(store, graphs):
            yield graph.value, list(store.triples(graph))


def read_triple(terms: Sequence[str], prefixes: Mapping[str, str]) -> ox.Triple:
    """Return a triple from its three terms in Turtle; an IRI of a common scheme may be without brackets.

    Args:
        terms: subject, predicate and object.
        prefixes: those that need no declaration.

    Raises:
        InputError: it is no triple, or has a prefix that is not known.
    """
    text = " ".join(map(_bracketed, terms))
    prologue = "".join(f"PREFIX {name}: <{space}>\n" for name, space in prefixes.items() if f"{name}:" in text)
    try:
        triples: list[ox.Triple] = [
            quad.triple for quad in ox.parse(f"{prologue}{text} .".encode(), format=ox.RdfFormat.TURTLE)
        ]
    except (SyntaxError, ValueError) as error:
        raise InputError(f"'{' '.join(terms)}' is no triple: {error}. Write IRIs in < >.") from None
    if len(triples) != 1:
        raise InputError(f"'{' '.join(terms)}' is not one triple. Name a subject, a predicate, an object.")
    return triples[0]


def _bracketed(term: str) -> str:
    """Return a term as Turtle has it: what can be nothing but an IRI gets its brackets.

    >>> [_bracketed(term) for term in ("https://x.org/a", "urn:x:a", "dcat:Resource", '"1"')]
    ['<https://x.org/a>', '<urn:x:a>', 'dcat:Resource', '"1"']
    """
    scheme, _, rest = term.partition(":")
    is_bare = rest.startswith("//") if scheme not in _SCHEMES else bool(rest)
    return f"<{term}>" if is_bare and scheme.replace("+", "").replace("-", "").isalnum() else term


def why(given: Premises, triple: ox.Triple, *, profile: str | None = None, seconds: float | None = None) -> Proof:
    """Return a smallest proof of a triple.

    Args:
        given: what it is to follow from.
        triple: what follows.
        profile: "rdfs" or "owl-rl"; None = the first by which it follows.
        seconds: the time that each profile may take, by the clock; None = no limit.

    Raises:
        InputError: it neither is stated nor follows, or there is no such profile.
        NotDecided: the time is up.
    """
    from kgrag.reasoning.inference import PROFILES
    from kgrag.reasoning.proof_forms import written
    from kgrag.reasoning.proofs import prove
    from kgrag.store.scratch import OxigraphScratch

    for each in [profile] if profile else PROFILES:
        proof = prove(OxigraphScratch(), given.triples, triple, profile=each, seconds=seconds)
        if proof is not None:
            return _with_sources(proof, given)
    by = profile or " or ".join(PROFILES)
    raise InputError(f"{written(triple)} is not stated in {given.name}, and does not follow from it by {by}.")


def why_contradiction(given: Premises, found: Contradiction, *, seconds: float | None = None) -> Proof:
    """Return a smallest proof of a contradiction that OWL RL finds. Raises InputError, NotDecided."""
    from kgrag.reasoning.proofs import prove
    from kgrag.store.scratch import OxigraphScratch

    proof = prove(OxigraphScratch(), given.triples, found, profile="owl-rl", seconds=seconds)
    if proof is None:
        raise InputError(f"{given.name} does not contradict itself so: {found.rule} {found.focus}.")
    return _with_sources(proof, given)


def _with_sources(proof: Proof, given: Premises) -> Proof:
    return replace(proof, sources={each[0]: given.stated[each[0]] for each in proof.stated})


def why_found(given: Premises, fingerprint: str, options: AuditOptions) -> Grounds:
    """Return what a finding of an audit rests on. Raises InputError, NotDecided."""
    from kgrag.audit.finding_grounds import grounds_of_finding
    from kgrag.store.scratch import OxigraphScratch

    bench = OxigraphScratch()
    found = grounds_of_finding(given.triples, fingerprint, name=given.name, bench=bench, options=options)
    return replace(found, sources={each[0]: given.stated[each[0]] for each in found.stated})


def why_refused(given: Premises, query: str, *, seconds: float = 60.0) -> list[Grounds]:
    """Return what each finding about a query rests on in an ontology. Raises NotDecided."""
    from kgrag.reasoning.query_grounds import grounds_of_query
    from kgrag.store.scratch import OxigraphScratch

    found = grounds_of_query(query, given.triples, open_scratch=OxigraphScratch, seconds=seconds)
    return [replace(each, sources={one[0]: given.stated[one[0]] for one in each.stated}) for each in found]


def as_json(found: Proof | list[Grounds]) -> dict[str, Any] | list[dict[str, Any]]:
    """Return a proof, or the grounds of findings, in JSON form."""
    from kgrag.reasoning import proof_forms

    return [each.to_json() for each in found] if isinstance(found, list) else proof_forms.as_json(found)


def as_text(found: Proof | list[Grounds]) -> str:
    """Return a proof, or the grounds of findings, as lines for a person."""
    from kgrag.reasoning import proof_forms

    if not isinstance(found, list):
        return proof_forms.as_text(found)
    texts = "\n\n".join(each.to_text() for each in found)
    return texts or "nothing to explain: the check finds no fault with the query"


def as_turtle(found: Proof | list[Grounds]) -> str:
    """Return a proof, or the grounds of findings, as RDF in Turtle."""
    from kgrag.reasoning import proof_forms

    lists = [each.to_triples() for each in found] if isinstance(found, list) else [proof_forms.as_triples(found)]
    triples = [each for triples in lists for each in triples]
    return (ox.serialize(triples, format=ox.RdfFormat.TURTLE, prefixes=PREFIXES) or b"").decode()
