"""Differences: between two audits, and between two versions of an ontology.

Findings are compared by fingerprint. Ontologies are compared by triples, blank nodes by their
content, so that a restriction that a parser named anew is the same restriction.
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
    """Findings that are new or gone, as in the audit's JSON, and how many stayed the same."""

    new: tuple[Mapping[str, Any], ...]
    gone: tuple[Mapping[str, Any], ...]
    same: int

    def to_json(self) -> dict[str, Any]:
        """Return its JSON form."""
        return {"new": list(self.new), "gone": list(self.gone), "same": self.same}

    def text(self) -> str:
        """Return one line per finding: ``+`` is new, ``-`` is gone."""
        lines = [
            f"{sign} {finding['severity']:<9} {finding['check']}  {finding['focus']}: {finding['message']}"
            for sign, finding in self
        ]
        return "\n".join([*lines, f"{len(self.new)} new, {len(self.gone)} gone, {self.same} as before"])

    def __iter__(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield (sign, finding), the new ones first."""
        yield from (("+", finding) for finding in self.new)
        yield from (("-", finding) for finding in self.gone)


def compare_audits(audit: Audit, old: Path) -> AuditDifference:
    """Compare an audit with an older one, kept as JSON.

    Raises:
        InputError: the file is no audit's JSON.
    """
    try:
        read = json.loads(old.read_text(encoding="utf-8"))
        before = {finding["fingerprint"]: finding for finding in read["findings"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{old}: this is no audit in JSON ({type(error).__name__}: {error}). Write one: kgrag audit --format json."
        ) from error
    now = {finding.fingerprint: finding.to_json() for finding in audit.findings}
    new = tuple(finding for mark, finding in now.items() if mark not in before)
    gone = tuple(finding for mark, finding in before.items() if mark not in now)
    return AuditDifference(new, gone, len(now) - len(new))


@dataclass(frozen=True, slots=True)
class VersionDifference:
    """Terms that were added, removed and changed; axioms as text, with the content of a blank node in brackets."""

    added: Mapping[str, Sequence[str]]
    removed: Mapping[str, Sequence[str]]
    changed: Mapping[str, tuple[Sequence[str], Sequence[str]]]

    @property
    def changes(self) -> bool:
        """Whether anything differs."""
        return bool(self.added or self.removed or self.changed)

    def to_json(self) -> dict[str, Any]:
        """Return its JSON form: term -> axioms; of changed terms those removed and added."""
        changed = {term: {"removed": list(old), "added": list(new)} for term, (old, new) in self.changed.items()}
        return {
            "added": {term: list(axioms) for term, axioms in self.added.items()},
            "removed": {term: list(axioms) for term, axioms in self.removed.items()},
            "changed": changed,
        }

    def text(self) -> str:
        """Return one line per term and axiom: ``+`` was added, ``-`` removed."""
        lines: list[str] = []
        for sign, terms in (("+", self.added), ("-", self.removed)):
            for term, axioms in terms.items():
                lines += [f"{sign} {term}", *(f"  {sign} {axiom}" for axiom in axioms)]
        for term, (old, new) in self.changed.items():
            lines += [f"~ {term}", *(f"  - {axiom}" for axiom in old), *(f"  + {axiom}" for axiom in new)]
        counts = f"{len(self.added)} added, {len(self.removed)} removed, {len(self.changed)} changed"
        return "\n".join([*lines, counts])


def compare_versions(old: Iterable[ox.Triple], new: Iterable[ox.Triple]) -> VersionDifference:
    """Compare two versions of an ontology, given as triples; a term is an IRI that is a subject.

    Statements about a blank node belong to the term that leads to it; those of one that no term leads to (a general
    class axiom, owl:AllDisjointClasses) are listed under the blank node's content.
    """
    before, after = _axioms(old), _axioms(new)
    changed = {}
    for term in sorted(before.keys() & after.keys()):
        removed_here = sorted(text for key, text in before[term].items() if key not in after[term])
        added_here = sorted(text for key, text in after[term].items() if key not in before[term])
        if removed_here or added_here:
            changed[term] = (removed_here, added_here)
    added = {term: sorted(after[term].values()) for term in sorted(after.keys() - before.keys())}
    removed = {term: sorted(before[term].values()) for term in sorted(before.keys() - after.keys())}
    return VersionDifference(added, removed, changed)


def _axioms(triples: Iterable[ox.Triple]) -> dict[str, dict[tuple[str, str], str]]:
    """Return subject -> (predicate, canonical object) -> the axiom as text."""
    distinct = list(dict.fromkeys(triples))
    nodes = BlankNodes.of(distinct)
    axioms: dict[str, dict[tuple[str, str], str]] = defaultdict(dict)
    for triple in distinct:
        subject = triple.subject
        if isinstance(subject, ox.BlankNode):
            if nodes.above.get(subject.value):  # its statements are part of the axiom that leads to it
                continue
            term = nodes.written(subject)
        else:
            term = str(subject)
        key = (triple.predicate.value, nodes.key(triple.object))
        axioms[term][key] = f"{triple.predicate} {nodes.written(triple.object)}"
    return axioms
