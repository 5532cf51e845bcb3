"""What a check found: findings with place, message, severity, hint and root cause; as JSON, and as text for a person.

In the text each finding has the line of the query that it is about, with a caret under the place. Terms are written as
the query itself would write them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import pyoxigraph as ox

from kgrag.late_patterns import late_re
from kgrag.model import Term
from kgrag.querying.ontology_check.class_expressions import Expression
from kgrag.sparql.syntax import Edit, Query
from kgrag.vocab import PREFIXES

__all__ = ["Check", "Finding", "TermNames", "as_text"]

_MAX_LINE_CHARACTERS = 160
_PLURALS = {"refused": "", "error": "s", "warning": "s", "info": "s"}
_LOCAL = late_re(r"[\w.·-]*[\w-]|")


@dataclass(frozen=True, slots=True)
class Finding:
    """One way in which a query departs from the ontology, the data, or what may be run.

    ``severity`` is "info", "warning", "error" or "refused". ``line`` and ``column`` count from 1, ``start`` and ``end``
    are offsets into the query. Findings of one fault share ``root``. ``mend`` is set where one change of the text is
    certain to do away with the fault.
    """

    rule: str
    severity: str
    message: str
    subject: str = ""
    predicate: str = ""
    object: str = ""
    line: int = 1
    column: int = 1
    start: int = 0
    end: int = 0
    hint: str = ""
    root: int = 0
    mend: Edit | None = None

    @property
    def blocks(self) -> bool:
        """Whether the query must not be run as it is."""
        return self.severity in ("error", "refused")

    def to_json(self) -> dict[str, Any]:
        """Return the finding as ``kgrag check --json`` prints it; what is empty is left out."""
        data = asdict(self)
        data.pop("mend")
        optional = ("subject", "predicate", "object", "hint")
        return {name: value for name, value in data.items() if value != "" or name not in optional}


@dataclass(frozen=True, slots=True)
class Check:
    """The outcome of a check; ``read`` is None for a text that is no SPARQL. ``notes`` are for a person."""

    query: str
    findings: tuple[Finding, ...] = ()
    read: Query | None = None
    notes: tuple[str, ...] = ()

    @property
    def valid(self) -> bool:
        """Whether nothing found is an error or refused."""
        return not any(finding.blocks for finding in self.findings)

    def to_json(self) -> dict[str, Any]:
        """Return the check as ``kgrag check --json`` prints it."""
        document: dict[str, Any] = {"valid": self.valid, "findings": [finding.to_json() for finding in self.findings]}
        if self.notes:
            document["notes"] = list(self.notes)
        return document


def as_text(check: Check) -> str:
    """Return a check as text for a person.

    >>> finding = Finding("demo", "error", "Wrong.", column=8, start=7, end=9, hint="Mend it.")
    >>> print(as_text(Check("SELECT ?x {}", (finding,))))
    error demo, line 1, column 8: Wrong.
        SELECT ?x {}
               ^^
        hint: Mend it.
    1 error
    """
    lines = check.query.split("\n")
    parts = [_finding(finding, lines) for finding in check.findings]
    counts = {kind: sum(finding.severity == kind for finding in check.findings) for kind in _PLURALS}
    summary = [f"{count} {kind}{_PLURALS[kind] if count > 1 else ''}" for kind, count in counts.items() if count]
    notes = [f"note: {note}" for note in check.notes]
    return "\n".join([*parts, *notes, ", ".join(summary) or "nothing found"])


def _finding(finding: Finding, lines: list[str]) -> str:
    parts = [f"{finding.severity} {finding.rule}, line {finding.line}, column {finding.column}: {finding.message}"]
    if finding.line <= len(lines) and lines[finding.line - 1].strip():
        parts += _pointed(lines[finding.line - 1], finding)
    if finding.hint:
        parts.append(f"    hint: {finding.hint}")
    return "\n".join(parts)


def _pointed(line: str, finding: Finding) -> list[str]:
    """Cut a long line to what is near the place; tabs keep their width under the caret."""
    at = min(finding.column - 1, len(line))
    left = max(0, at - _MAX_LINE_CHARACTERS // 2) if len(line) > _MAX_LINE_CHARACTERS else 0
    shown = line[left : left + _MAX_LINE_CHARACTERS].rstrip()
    pad = "".join("\t" if character == "\t" else " " for character in line[left:at])
    width = max(1, min(finding.end - finding.start, len(shown) - (at - left)))
    return [f"    {shown}", f"    {pad}{'^' * width}"]


class TermNames:
    """Writes terms with the query's prefixes, variables with their question mark, alternatives as "A or B"."""

    def __init__(
        self, prefixes: Mapping[str, str], shown: Mapping[str, str], alternatives: Mapping[str, Expression]
    ) -> None:
        self._prefixes = sorted({**PREFIXES, **prefixes}.items(), key=lambda item: (-len(item[1]), len(item[0])))
        self._shown = shown
        self._alternatives = alternatives

    def term(self, term: Term | None) -> str:
        """Return a term of a row as text."""
        if isinstance(term, ox.NamedNode):
            return self.iri(term.value)
        return term.value if isinstance(term, ox.Literal) else "" if term is None else str(term)

    def constant(self, term: Term | None) -> str:
        """Return a term as it is written in SPARQL: literals in quotes."""
        if not isinstance(term, ox.Literal):
            return self.term(term)
        text = str(term)
        return text if "^^<" not in text else text.partition("^^<")[0] + f"^^{self.iri(term.datatype.value)}"

    def iri(self, iri: str) -> str:
        """Return an IRI as a prefixed name where a prefix fits, a variable by its name."""
        if iri in self._shown:
            return self._shown[iri]
        if iri in self._alternatives:
            return self.expression(self._alternatives[iri])
        for prefix, space in self._prefixes:
            if space and iri.startswith(space) and _LOCAL.fullmatch(iri[len(space) :]):
                return f"{prefix}:{iri[len(space) :]}"
        return f"<{iri}>"

    def expression(self, expression: Expression) -> str:
        """Return alternatives as text."""
        return " or ".join(" and ".join(self.iri(name) for name in each) for each in expression)
