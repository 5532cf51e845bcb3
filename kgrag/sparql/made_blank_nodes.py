"""Whether an update may make blank nodes, which a store that names all of them has to look for."""

from __future__ import annotations

from kgrag.sparql.tokens import tokens

__all__ = ["makes_blank_nodes"]


def makes_blank_nodes(update: str) -> bool:
    """Return whether an update may make blank nodes: what it inserts has some, or it calls BNODE.

    >>> makes_blank_nodes("INSERT { ?s <urn:p> [] } WHERE { ?s ?p ?o }")
    True
    >>> makes_blank_nodes("INSERT { ?s <urn:p> ?o } WHERE { ?s ?p [] FILTER(isIRI(?o)) }")
    False
    """
    depth, awaited, inserted = 0, False, False
    for token in tokens(update):
        word = token.text.upper() if token.kind == "word" else ""
        if word == "BNODE" or (inserted and (token.kind in ("label", "anon") or token.text in ("[", "("))):
            return True
        awaited = awaited or word == "INSERT"
        depth += (token.text == "{") - (token.text == "}")
        if awaited and token.text == "{":
            awaited, inserted, depth = False, True, 1
        inserted = inserted and depth > 0
    return False
