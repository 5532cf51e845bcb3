"""What a finding rests on: a smallest part of the data in which it is still found, and its forms.

Unlike a proof, it has no steps: a check is one rule, and may also rest on something that is not there, as a label that
is missing. Then the grounds are what makes the thing need one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyoxigraph as ox

from kgrag.reasoning.proof_forms import statement_node, written
from kgrag.reasoning.proofs import Statement
from kgrag.vocab import DCTERMS, PROV, RDF, RDFS

__all__ = ["Grounds"]


@dataclass(frozen=True, slots=True)
class Grounds:
    """Why something was found: the rule or check, its message, and the statements that it rests on.

    Left without any one of ``stated``, it is not found any more. ``query`` is the query that was checked, where it is
    a finding about one. ``sources`` names the graphs or files that state the triple of each statement.
    """

    rule: str
    message: str
    stated: tuple[Statement, ...]
    query: str = ""
    sources: Mapping[ox.Triple, tuple[str, ...]] = field(default_factory=dict)

    def to_text(self) -> str:
        """Return it as lines: the finding, then what it rests on."""
        lines = [f"{self.message}  by {self.rule}"]
        for number, statement in enumerate(self.stated, 1):
            where = ", ".join(self.sources.get(statement[0], ()))
            lines.append(f"{number}. {written(*statement)}  stated{f' in {where}' if where else ''}")
        if not self.stated:
            lines.append("It rests on nothing that is stated: whatever the data are, it is found.")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Return its JSON form; statements as N-Triples, several where one leads to a list."""
        stated = [
            {"triples": [f"{triple} ." for triple in each], "in": list(self.sources.get(each[0], ()))}
            for each in self.stated
        ]
        found = {"rule": self.rule, "message": self.message, "stated": stated}
        return {**found, **({"query": self.query} if self.query else {})}

    def to_triples(self) -> list[ox.Triple]:
        """Return it as RDF: a ``prov:Activity`` with the rule and the message, which used what it rests on."""
        activity = ox.BlankNode()
        triples = [
            ox.Triple(activity, RDF.type, PROV.Activity),
            ox.Triple(activity, DCTERMS.identifier, ox.Literal(self.rule)),
            ox.Triple(activity, RDFS.label, ox.Literal(self.message)),
        ]
        for statement in self.stated:
            node, described = statement_node(statement[0], self.sources.get(statement[0], ()))
            triples += [*described, *statement[1:], ox.Triple(activity, PROV.used, node)]
        return triples
