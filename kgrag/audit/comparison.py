"""Differences: between two audits, and between two versions of an ontology.

Findings are compared by fingerprint. Ontologies are compared by triples, blank nodes by what they say
(``stages/blank_nodes``), so that a restriction that a parser named anew is the same restriction.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from kgrag.audit.blank_node_names import BlankNodes
from kgrag.audit.findings import Audit
from kgrag.errors import InputError

__all__ = ["AuditDifference", "VersionDifference", "compare_audits", "compare_versions"]


@dataclass(frozen=True, slots=True)
class AuditDifference:
    """Findings that are new, gone, and as many as stayed; a finding as in the audit's JSON."""

    new: tuple[Mapping[str, Any], ...]
    gone: tuple[Mapping[str, Any], ...]
    same: int

    def to_json(self) -> dict[str, Any]:
        """Give it as JSON."""
        return {"new": list(self.new), "gone": list(self.gone), "same": self.same}

    def text(self) -> str:
        """Give it for a person: ``+`` is new, ``-`` is gone."""
        lines = [
            f"{sign} {each['severity']:<9} {each['check']}  {each['focus']}: {each['message']}" for sign, each in self
        ]
        return "\n".join([*lines, f"{len(self.new)} new, {len(self.gone)} gone, {self.same} as before"])

    def __iter__(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield (sign, finding), the new ones first."""
        yield from (("+", each) for each in self.new)
        yield from (("-", each) for each in self.gone)


def compare_audits(found: Audit, old: Path) -> AuditDifference:
    """Compare an audit with an older one, kept as JSON.

    Raises:
        InputError: the file is no audit's JSON.
    """
    try:
        read = json.loads(old.read_text(encoding="utf-8"))
        before = {each["fingerprint"]: each for each in read["findings"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{old}: this is no audit in JSON ({type(error).__name__}: {error}). Write one: kgrag audit --format json."
        ) from error
    now = {each.fingerprint: each.to_json() for each in found.findings}
    new = tuple(each for mark, each in now.items() if mark not in before)
    gone = tuple(each for mark, each in before.items() if mark not in now)
    return AuditDifference(new, gone, len(now) - len(new))


@dataclass(frozen=True, slots=True)
class VersionDifference:
    """Terms that came, went and changed; axioms as text, with what a blank node says in brackets."""

    added: Mapping[str, Sequence[str]]
    removed: Mapping[str, Sequence[str]]
    changed: Mapping[str, tuple[Sequence[str], Sequence[str]]]

    @property
    def changes(self) -> bool:
        """Say whether anything differs."""
        return bool(self.added or self.removed or self.changed)

    def to_json(self) -> dict[str, Any]:
        """Give it as JSON: term -> axioms; of changed terms those removed and added."""
        changed = {term: {"removed": list(old), "added": list(new)} for term, (old, new) in self.changed.items()}
        return {
            "added": {term: list(axioms) for term, axioms in self.added.items()},
            "removed": {term: list(axioms) for term, axioms in self.removed.items()},
            "changed": changed,
        }

    def text(self) -> str:
        """Give it for a person: ``+`` was added, ``-`` removed."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        for sign, terms in (("+", self.added), ("-", self.removed)):
            for term, axioms in terms.items():
                yield f"{sign} {term}"
                yield from (f"  {sign} {axiom}" for axiom in axioms)
        for term, (old, new) in self.changed.items():
            yield f"~ {term}"
            yield from (f"  - {axiom}" for axiom in old)
            yield from (f"  + {axiom}" for axiom in new)
        yield f"{len(self.added)} added, {len(self.removed)} removed, {len(self.changed)} changed"


def compare_versions(old: Iterable[ox.Triple], new: Iterable[ox.Triple]) -> VersionDifference:
    """Compare two versions of an ontology, given as triples; a term is an IRI that is a subject.

    Statements about a blank node belong to the term that leads to it; those of one that no term leads to (a general
    class axiom, owl:AllDisjointClasses) stand under the blank node's content.
    """
    before, after = _axioms(old), _axioms(new)
    changed = {}
    for term in sorted(before.keys() & after.keys()):
        gone = sorted(text for key, text in before[term].items() if key not in after[term])
        come = sorted(text for key, text in after[term].items() if key not in before[term])
        if gone or come:
            changed[term] = (gone, come)
    added = {term: sorted(after[term].values()) for term in sorted(after.keys() - before.keys())}
    removed = {term: sorted(before[term].values()) for term in sorted(before.keys() - after.keys())}
    return VersionDifference(added, removed, changed)


def _axioms(triples: Iterable[ox.Triple]) -> dict[str, dict[tuple[str, str], str]]:
    """Give subject -> (predicate, canonical object) -> the axiom as text."""
    held = list(dict.fromkeys(triples))
    nodes = BlankNodes.of(held)
    found: dict[str, dict[tuple[str, str], str]] = defaultdict(dict)
    for triple in held:
        subject = triple.subject
        if isinstance(subject, ox.BlankNode):
            if nodes.above.get(subject.value):
                continue
            term = nodes.written(subject)
        else:
            term = str(subject)
        key = (triple.predicate.value, nodes.key(triple.object))
        found[term][key] = f"{triple.predicate} {nodes.written(triple.object)}"
    return found
