"""``FILTER(?v IN (iri, …))`` written as ``VALUES``, where that is equal: the engine looks each IRI up then.

The engine tries the list of a filter for every solution, and joins with ``VALUES``. The rewritten query has the same
solutions if, in the same group, a triple pattern or ``GRAPH`` binds the variable in every solution, the list has
nothing but whole IRIs (numbers and texts are equal to others too), and each stands in it once. ``VALUES`` is put at the
end of the group: there the variable is bound already, as it is for a filter. A group behind ``EXISTS`` is left as it
is, since variables from outside are put into it.

>>> short = with_values_for_lists("SELECT * { ?s ?p ?o FILTER(?s IN (<urn:a>, <urn:b>)) }", least=2)
>>> short.replace(" ", "")
'SELECT*{?s?p?oFILTER(true)VALUES?s{<urn:a><urn:b>}}'
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kgrag.late_patterns import late_re
from kgrag.sparql.text_edits import TextEdit, edited
from kgrag.sparql.tokens import Token, tokens

__all__ = ["with_values_for_lists"]

MIN_LISTED = 8
"""Shorter lists are as quick as filters."""
_MAYBE = late_re(r"\bIN\s*+\(", flags=re.IGNORECASE)
_WHOLE = late_re(r"<[A-Za-z][A-Za-z0-9+.-]*:[^\\%]*>")
_KEPT = "FILTER(true)"


@dataclass
class _Group:
    """A group under way: what it binds in every solution, and the filters that list constants.

    ``is_graph``: it stands behind GRAPH, so that the group around it binds what it binds.
    """

    is_pattern: bool
    is_graph: bool
    bound: set[str] = field(default_factory=set)
    filters: list[tuple[int, int, str, list[str]]] = field(default_factory=list)


def with_values_for_lists(text: str, prefixes: Mapping[str, str] | None = None, *, least: int = MIN_LISTED) -> str:
    """Return a query whose filters by long lists of IRIs are joins; the same text where there is none.

    Args:
        text: a query.
        prefixes: those that it may use without declaring them.
        least: how many IRIs a list has to have.
    """
    if not _MAYBE.search(text):
        return text
    found = list(tokens(text))
    names = {**(prefixes or {}), **_declared(found)}
    return edited(text, _edits(found, names, least))


def _declared(found: Sequence[Token]) -> dict[str, str]:
    """Return the prefixes of a query; one that is declared twice, or by a relative IRI, stands for nothing."""
    names: dict[str, str] = {}
    for word, name, iri in zip(found, found[1:], found[2:], strict=False):
        if word.text.upper() == "PREFIX" and name.kind == "name" and iri.kind == "iri":
            known = name.text[:-1]
            names[known] = iri.text[1:-1] if known not in names and _WHOLE.fullmatch(iri.text) else ""
    return names


def _edits(found: Sequence[Token], names: Mapping[str, str], least: int) -> list[TextEdit]:
    edits: list[TextEdit] = []
    groups: list[_Group] = []
    depth = 0  # of round and square brackets within the innermost group
    depths: list[int] = []
    for place, token in enumerate(found):
        if token.kind in ("{", "}"):
            if token.kind == "{":
                is_graph = place > 1 and found[place - 2].text.upper() == "GRAPH"
                groups.append(_Group(_opens_pattern(found, place), is_graph))
                depths.append(depth)
                depth = 0
            elif groups:
                closed = groups.pop()
                edits += _closed(closed, token.start)
                depth = depths.pop()
                if closed.is_graph and groups:
                    groups[-1].bound |= closed.bound
            continue
        depth += (token.kind in ("(", "[")) - (token.kind in (")", "]"))
        if not groups or depth or not groups[-1].is_pattern:
            continue
        if token.kind == "variable" and found[place - 1].text.upper() != "VALUES":
            groups[-1].bound.add(token.text[1:])
        elif token.text.upper() == "FILTER":
            listed = _constants(found, place, names)
            if listed is not None and len(listed[2]) >= least:
                end, variable, terms = listed
                groups[-1].filters.append((token.start, end, variable, terms))
    return edits


def _opens_pattern(found: Sequence[Token], place: int) -> bool:
    """Return whether a brace opens a group whose triples are patterns: no template, data, subquery or EXISTS."""
    before = found[place - 1].text.upper() if place else ""
    second = found[place - 2].text.upper() if place > 1 else ""
    after = found[place + 1].text.upper() if place + 1 < len(found) else ""
    if after == "SELECT" or before in ("CONSTRUCT", "EXISTS", "DATA", "DELETE", "INSERT"):
        return False
    if before == ")" or second == "VALUES":  # VALUES (?a ?b) { … }, VALUES ?a { … }; FILTER(…) { … } is left alone too
        return False
    return found[place - 1].kind != "variable" or second not in ("SERVICE", "SILENT")


def _constants(found: Sequence[Token], place: int, names: Mapping[str, str]) -> tuple[int, str, list[str]] | None:
    """Return where ``FILTER(?v IN (…))`` ends, its variable and its IRIs; None of a filter that is another one."""
    head = found[place + 1 : place + 5]
    if [token.text.upper() for token in head if token.kind != "variable"] != ["(", "IN", "("]:
        return None
    if len(head) < 4 or head[1].kind != "variable":
        return None
    terms: dict[str, str] = {}
    at = place + 5
    while at + 1 < len(found):
        iri = _iri(found[at], names)
        if iri is None:
            return None
        terms.setdefault(iri, f"<{iri}>")
        at += 1
        if found[at].kind == ")":
            closes = at + 1 < len(found) and found[at + 1].kind == ")"
            return (found[at + 1].end, head[1].text, list(terms.values())) if closes else None
        if found[at].text != ",":
            return None
        at += 1
    return None


def _iri(token: Token, names: Mapping[str, str]) -> str | None:
    """Return the IRI that a token stands for; None where that needs more than to put two texts together."""
    if token.kind == "iri":
        return token.text[1:-1] if _WHOLE.fullmatch(token.text) else None
    if token.kind != "name" or "\\" in token.text or "%" in token.text:
        return None
    prefix, _, local = token.text.partition(":")
    return names[prefix] + local if names.get(prefix) else None


def _closed(group: _Group, end: int) -> list[TextEdit]:
    """Return the changes of a group that is at its end."""
    edits: list[TextEdit] = []
    joined = []
    for start, stop, variable, terms in group.filters:
        if variable[1:] in group.bound:
            edits.append((start, stop, _KEPT))
            joined.append(f" VALUES {variable} {{ {' '.join(terms)} }} ")
    return [*edits, (end, end, "".join(joined))] if joined else []
