"""What makes an update that is run twice write to other graphs the second time.

Where its text does not name the graphs that an update writes to, they are found by running it on a copy, and what it
is allowed goes by that. The run that counts has to do the same then. It need not, where the update calls a function
that returns another value each time, or takes some of its solutions, in whatever order they come.

>>> chance_in_graphs("INSERT { GRAPH ?g { ?s ?p ?o } } " "WHERE { GRAPH ?g { ?s ?p ?o } }")
''
>>> chance_in_graphs("INSERT { GRAPH ?g { ?s ?p 1 } } " "WHERE { SELECT * { GRAPH ?g { ?s ?p ?o } } LIMIT 1 }")
'LIMIT'
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from kgrag.sparql.tokens import Token, tokens

__all__ = ["chance_in_graphs"]

_FUNCTIONS = ("BNODE", "NOW", "RAND", "STRUUID", "UUID")
_CHANCES = ("BNODE", "GROUP_CONCAT", "LIMIT", "NOW", "OFFSET", "RAND", "SAMPLE", "STRUUID", "UUID")
"""STRUUID before UUID, which it contains."""


def chance_in_graphs(update: str) -> str:
    """Return the function or clause because of which another run of an update may write to other graphs, "" for none.

    A function without arguments whose value only the triples to be inserted have (``BIND(NOW() AS ?t)``) changes no
    graph's name: it is a term of the same kind each time.
    """
    found = [token for token in tokens(update) if token.kind != "end"]
    elsewhere = _read_variables(found)
    for place, token in enumerate(found):
        # words need no blank between them
        if token.kind == "word" and (chance := next((each for each in _CHANCES if each in token.text.upper()), "")):
            result = _result(found[place - 1 : place + 5]) if place else ""
            if not result or elsewhere.get(result, 0) > 1:
                return chance
    return ""


def _result(call: Sequence[Token]) -> str:
    """Return the variable that takes the value of a function where it is called as ``(NOW() AS ?t)``, else ""."""
    kinds, words = [token.kind for token in call], [token.text.upper() for token in call]
    is_taken = kinds[:1] + kinds[2:3] + kinds[4:] == ["(", "nil", "variable", ")"] and words[3] == "AS"
    return call[4].text[1:] if is_taken and words[1] in _FUNCTIONS else ""


def _read_variables(found: Sequence[Token]) -> Counter[str]:
    """Return how often each variable stands in an update, other than in triples that its last operation inserts."""
    inserted = _last_insertion(found)
    return Counter(
        token.text[1:]
        for place, token in enumerate(found)
        if token.kind == "variable" and (place not in inserted or found[place - 1].text.upper().endswith("GRAPH"))
    )


def _last_insertion(found: Sequence[Token]) -> range:
    """Return the places of what the last operation inserts, which no operation reads any more; none if it does not."""
    begins, ends, depth = len(found), 0, 0
    for place, token in enumerate(found):
        depth += (token.kind == "{") - (token.kind == "}")
        if depth == 0 and token.kind == ";" and place + 1 < len(found):
            begins, ends = len(found), 0
        elif depth == 0 and token.kind == "word" and token.text.upper() == "INSERT":
            begins = place
        elif depth == 0 and token.kind == "}" and place > begins and not ends:
            ends = place
    return range(begins, ends)
