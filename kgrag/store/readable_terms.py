"""Terms that the engine stores, and whose N-Quads and Turtle no reader takes back.

Text in a language has the datatype ``rdf:langString``, and with a direction ``rdf:dirLangString``. A literal with that
datatype and no language is none; the engine keeps it when an update, RDF/XML, JSON-LD, N3 or a program brings it. A
blank node may come with a colon in its label from a program, or by ``BNODE``. Both are refused, or made readable,
wherever something enters a store (see also ``kgrag.sparql.computed_terms``), and a dump is not written with one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import IO

import pyoxigraph as ox

from kgrag.errors import InvalidRDF, StateError
from kgrag.vocab import RDF

__all__ = ["DATATYPES", "CheckedDump", "fault_of", "refuse_unreadable"]

DATATYPES = frozenset({RDF.langString, RDF.dirLangString})
"""Those of text in a language."""

_SUSPECT = re.compile(rb'"\^\^<http://www\.w3\.org/1999/02/22-rdf-syntax-ns#(?:langString|dirLangString)>|_:[^\s:]*:')
_NOT_READABLE = {
    ox.Literal: "is text in a language without the language, which nothing reads back. Add the language, or make it a "
    "plain string.",
    ox.BlankNode: "is a blank node with a colon in its label, which nothing reads back. Leave out the colon.",
}


def fault_of(term: object) -> str:
    """Return why a term, or what is in a triple term, cannot be read again; "" if it can."""
    if isinstance(term, ox.Literal):
        is_readable = term.language is not None or term.datatype not in DATATYPES
    elif isinstance(term, ox.BlankNode):
        is_readable = ":" not in term.value
    elif isinstance(term, ox.Triple):
        return fault_of(term.subject) or fault_of(term.object)
    else:
        return ""
    return "" if is_readable else f"{str(term)[:200]} {_NOT_READABLE[type(term)]}"


def refuse_unreadable(terms: Iterable[object], place: str = "") -> None:
    """Accept terms that can be read again.

    Args:
        terms: what is to enter.
        place: what the message begins with.

    Raises:
        InvalidRDF: one cannot.
    """
    for term in terms:
        if fault := fault_of(term):
            raise InvalidRDF(place + fault)


class CheckedDump:
    """A file that the engine writes N-Quads to, which passes them on and refuses what could not be read again.

    Args:
        output: takes what is written.
    """

    def __init__(self, output: IO[bytes]) -> None:
        self._output = output
        self._line = b""

    def write(self, data: bytes) -> int:
        """Take some bytes.

        Raises:
            StateError: there is such a term in them.
        """
        whole, line_break, self._line = (self._line + data).rpartition(b"\n")
        if _SUSPECT.search(whole):
            self._check(whole)
        self._output.write(whole + line_break)
        return len(data)

    def _check(self, lines: bytes) -> None:
        try:
            for _ in ox.parse(lines, ox.RdfFormat.N_QUADS):
                pass
        except SyntaxError as error:
            line = lines.splitlines()[(error.lineno or 1) - 1][:300].decode(errors="replace")
            raise StateError(
                "the store has a term that no reader of N-Quads takes, so that nothing could be restored from the "
                f"file: {line} The file was not written. `kgrag doctor` names all such terms, and what to do."
            ) from error

    def flush(self) -> None:
        """Pass on what does not end with a line break, as nothing does that the engine writes."""
        self._output.write(self._line)
        self._line = b""
        self._output.flush()
