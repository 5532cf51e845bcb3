"""How terms are told: as the query itself would write them."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pyoxigraph as ox

from kgrag.model import Term
from kgrag.querying.ontology_check.class_expressions import Expression
from kgrag.vocab import PREFIXES

__all__ = ["Naming"]

_LOCAL = re.compile(r"[\w.·-]*[\w-]|")


class Naming:
    """Writes terms with the query's prefixes, variables with their question mark, alternatives as "A or B"."""

    def __init__(
        self, prefixes: Mapping[str, str], shown: Mapping[str, str], alternatives: Mapping[str, Expression]
    ) -> None:
        self._prefixes = sorted({**PREFIXES, **prefixes}.items(), key=lambda item: (-len(item[1]), len(item[0])))
        self._shown = shown
        self._alternatives = alternatives

    def term(self, term: Term | None) -> str:
        """Give a term of a row as text."""
        if isinstance(term, ox.NamedNode):
            return self.iri(term.value)
        return term.value if isinstance(term, ox.Literal) else "" if term is None else str(term)

    def constant(self, term: Term | None) -> str:
        """Give a term as it is written in SPARQL: literals in quotes."""
        if not isinstance(term, ox.Literal):
            return self.term(term)
        text = str(term)
        return text if "^^<" not in text else text.partition("^^<")[0] + f"^^{self.iri(term.datatype.value)}"

    def iri(self, iri: str) -> str:
        """Give an IRI as a prefixed name where a prefix fits, a variable by its name."""
        if iri in self._shown:
            return self._shown[iri]
        if iri in self._alternatives:
            return self.expression(self._alternatives[iri])
        for prefix, space in self._prefixes:
            if space and iri.startswith(space) and _LOCAL.fullmatch(iri[len(space) :]):
                return f"{prefix}:{iri[len(space) :]}"
        return f"<{iri}>"

    def expression(self, expression: Expression) -> str:
        """Give alternatives as text."""
        return " or ".join(" and ".join(self.iri(name) for name in each) for each in expression)
