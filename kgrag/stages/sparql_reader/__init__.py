"""Reads a SPARQL query for checking: every triple pattern with its place in the text and the context it holds in.

OBQC, section 3.1. The store's engine has no parser to ask, and rdflib's flattens contexts, loses places and is slow.
This reader accepts what the store's engine accepts, and reads past what a check should name: prefixes that aren't
declared, prefixed names in angle brackets, variables left out of GROUP BY.
"""

from kgrag.stages.sparql_reader.model import (
    Blank,
    Comparison,
    Edit,
    Filter,
    Inline,
    Limits,
    Pattern,
    Place,
    Problem,
    Query,
    Scope,
    Selected,
    Term,
    Use,
    Variable,
)
from kgrag.stages.sparql_reader.queries import read
from kgrag.stages.sparql_reader.terms import DEFAULT_PREFIXES

__all__ = [
    "DEFAULT_PREFIXES",
    "Blank",
    "Comparison",
    "Edit",
    "Filter",
    "Inline",
    "Limits",
    "Pattern",
    "Place",
    "Problem",
    "Query",
    "Scope",
    "Selected",
    "Term",
    "Use",
    "Variable",
    "read",
]
