"""What a row of a constraint's query becomes: a violation, its message, and its terms for a report.

Read: the line ``message`` in the headers of the queries ``shacl/<component>``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import cast

import pyoxigraph as ox

from kgrag import queries
from kgrag.model import Term, Violation, ViolationTerms, plain
from kgrag.shacl.compiled_shapes import Constraint, Source
from kgrag.shacl.shapes_graph import SH, path_text
from kgrag.shacl.written_literals import unmarked
from kgrag.vocab import local_name

__all__ = ["default_message", "violation_of"]

MAX_MESSAGE_CHARACTERS = 500
"""How long a message may get that quotes values of the data."""
_NESTED_MESSAGES = {
    "and": "{path} has {value}, which departs from one of the shapes that it must conform to",
    "node": "{path} has {value}, which departs from the shape wanted",
    "not": "{path} has {value}, which conforms to a shape that it must not conform to",
    "or": "{path} has {value}, which conforms to none of the shapes wanted",
    "qualifiedMaxCount": "has more than {wanted} of {path} that conform to the shape wanted",
    "qualifiedMinCount": "has fewer than {wanted} of {path} that conform to the shape wanted",
    "sparql": "departs from a SPARQL constraint",
    "xone": "{path} has {value}, which does not conform to exactly one of the shapes wanted",
}


def violation_of(constraint: Constraint, row: Mapping[str, Term | None], message: str) -> Violation:
    """Return the violation that a row of a constraint's query is, with the values of the row in its message."""
    path = path_text(constraint.path)
    texts = {name: plain(term) for name, term in row.items()}
    in_message = texts | {"path": local_name(texts.get("path") or path) or "the node", "this": texts["focus"]}

    def filled(template: str) -> str:
        return re.sub(r"\{[?$]?(\w+)\}", lambda m: in_message.get(m[1], m[0]), template)[:MAX_MESSAGE_CHARACTERS]

    return Violation(
        graph=texts["graph"],
        focus=texts["focus"],
        message=filled(message),
        shape=constraint.shape,
        path=texts.get("path") or path,
        value=texts.get("value", ""),
        severity=constraint.severity,
        component=constraint.component,
        terms=None if constraint.source is None else _terms(constraint, constraint.source, row, filled),
    )


def _terms(
    constraint: Constraint, source: Source, row: Mapping[str, Term | None], filled: Callable[[str], str]
) -> ViolationTerms:
    """Return what a report has of a violation; ``filled`` writes the values of the row into a message."""
    name = "SPARQL" if constraint.component == "sparql" else constraint.component[:1].upper() + constraint.component[1:]
    messages = [ox.Literal(filled(text.value), language=text.language) for text in source.messages]
    path = row.get("path")
    return ViolationTerms(
        focus=cast("Term", unmarked(row["focus"])),
        shape=source.shape,
        component=ox.NamedNode(f"{SH}{name}ConstraintComponent"),
        severity=source.severity,
        messages=tuple(messages) or (ox.Literal(filled(default_message(constraint))),),
        value=unmarked(row.get("value")),
        path=source.path if path is None else path,
        described=source.described,
        constraint=source.constraint,
    )


def default_message(constraint: Constraint) -> str:
    """Return the ``message`` line of the component's query with the wanted values."""
    message = _NESTED_MESSAGES.get(constraint.component, constraint.component)
    if constraint.component not in _NESTED_MESSAGES:
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
