"""What a row of a constraint's query becomes: a violation, its message, and its terms for a report.

Read: the line ``message`` in the headers of the queries ``shacl/<component>``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import cast

import pyoxigraph as ox

from kgrag import queries
from kgrag.late_patterns import late_re
from kgrag.model import Term, Violation, ViolationTerms, plain
from kgrag.shacl.compiled_shapes import Constraint
from kgrag.shacl.shapes_graph import SH, path_text
from kgrag.shacl.written_literals import unmarked
from kgrag.vocab import local_name

__all__ = ["violations_of"]

MAX_MESSAGE_CHARACTERS = 500
"""How long a message may get that quotes values of the data."""
_PLACEHOLDER = late_re(r"\{[?$]?(\w+)\}")
_MESSAGES = {
    "and": "{path} has {value}, which departs from one of the shapes that it must conform to",
    "maxListLength": "{path} has {value}, which is no list of at most {wanted} members",
    "memberShape": "{path} has {value}, which is no list, or has a member that departs from the shape wanted",
    "minListLength": "{path} has {value}, which is no list of at least {wanted} members",
    "node": "{path} has {value}, which departs from the shape wanted",
    "not": "{path} has {value}, which conforms to a shape that it must not conform to",
    "or": "{path} has {value}, which conforms to none of the shapes wanted",
    "qualifiedMaxCount": "has more than {wanted} of {path} that conform to the shape wanted",
    "qualifiedMinCount": "has fewer than {wanted} of {path} that conform to the shape wanted",
    "reifierShape": "{path} has {value}, by a triple without the reifiers wanted",
    "someValue": "has no {path} that conforms to the shape wanted",
    "sparql": "departs from a SPARQL constraint",
    "uniqueMembers": "{path} has {value}, which is no list or has a member twice",
    "xone": "{path} has {value}, which does not conform to exactly one of the shapes wanted",
}


def violations_of(constraint: Constraint, rows: Iterable[Mapping[str, Term | None]]) -> Iterator[Violation]:
    """Yield the violation that each row of a constraint's query is, with the values of the row in its message."""
    path, source = path_text(constraint.path), constraint.source
    template = _template(constraint.message or _default_message(constraint))
    stated = () if source is None else tuple((_template(text.value), text.language) for text in source.messages)
    name = "SPARQL" if constraint.component == "sparql" else constraint.component[:1].upper() + constraint.component[1:]
    component = ox.NamedNode(f"{SH}{name}ConstraintComponent")
    for row in rows:
        texts = {name: plain(term) for name, term in row.items()}
        row_path = texts.get("path") or path
        known = texts | {"path": local_name(row_path) or "the node", "this": texts["focus"]}
        message = _filled(template, known)
        terms = None
        if source is not None:
            messages = tuple(ox.Literal(_filled(text, known), language=language) for text, language in stated)
            terms = ViolationTerms(
                focus=cast("Term", unmarked(row["focus"])),
                shape=source.shape,
                component=component,
                severity=source.severity,
                messages=messages or (ox.Literal(message),),
                value=unmarked(row.get("value")),
                path=source.path if row.get("path") is None else row["path"],
                described=source.described,
                constraint=source.constraint,
            )
        yield Violation(
            graph=texts["graph"],
            focus=texts["focus"],
            message=message,
            shape=constraint.shape,
            path=row_path,
            value=texts.get("value", ""),
            severity=constraint.severity,
            component=constraint.component,
            terms=terms,
        )


def _template(text: str) -> list[tuple[str, str]]:
    """Return a message in pieces: of each the name of the placeholder that it is, or "", and its text."""
    parts, at = [], 0
    for match in _PLACEHOLDER.finditer(text):
        parts += [("", text[at : match.start()]), (match[1], match[0])]
        at = match.end()
    return [*parts, ("", text[at:])]


def _filled(template: Iterable[tuple[str, str]], known: Mapping[str, str]) -> str:
    return "".join(known.get(name, text) if name else text for name, text in template)[:MAX_MESSAGE_CHARACTERS]


def _default_message(constraint: Constraint) -> str:
    """Return the ``message`` line of the component's query with the wanted values."""
    message = _MESSAGES.get(constraint.component, constraint.component)
    if constraint.component not in _MESSAGES:
        header = queries.describe(constraint.query).header
        line = re.search(r"^message\s+(.*)$", header, flags=re.MULTILINE)
        message = line[1] if line else message
    wanted = constraint.values.get("wanted", "")
    words = ", ".join(_word(item) for item in (wanted if isinstance(wanted, list) else [wanted]))
    return message.replace("{wanted}", words)


def _word(wanted: Term | int | str) -> str:
    if isinstance(wanted, int | str):
        return str(wanted)
    return local_name(wanted.value) if isinstance(wanted, ox.NamedNode) else plain(wanted)
