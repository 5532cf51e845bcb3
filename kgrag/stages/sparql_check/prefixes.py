"""Finds the namespace that an undeclared prefix was meant for."""

from __future__ import annotations

import re

from kgrag.stages.sparql_check.ontology import OntologyIndex
from kgrag.stages.sparql_reader import Edit, Query
from kgrag.vocab import PREFIXES

__all__ = ["declaration"]


def declaration(query: Query, prefix: str, index: OntologyIndex) -> Edit | None:
    """Give the change that declares a prefix, or None where it cannot be told what it stands for.

    It can when the ontology recommends a namespace for it, when it is one of the well-known prefixes, or when one
    namespace alone of the ontology has every local name that the query uses with it.
    """
    space = index.prefixes.get(prefix) or _by_names(query, prefix, index) or PREFIXES.get(prefix)
    return Edit(0, 0, f"PREFIX {prefix}: <{space}>\n") if space else None


def _by_names(query: Query, prefix: str, index: OntologyIndex) -> str:
    used = set(re.findall(rf"(?<![\w<:?$.-]){re.escape(prefix)}:([\w-]+)", query.text))
    if not used:
        return ""
    spaces: dict[str, set[str]] = {}
    for term in (*index.kinds, *index.classes):
        cut = max(term.rfind("#"), term.rfind("/"), term.rfind(":")) + 1
        spaces.setdefault(term[:cut], set()).add(term[cut:])
    fitting = [space for space, names in spaces.items() if used <= names]
    return fitting[0] if len(fitting) == 1 else ""
