"""Dumps that are larger than the memory: N-Triples and N-Quads line by line, and only what a filter lets through.

A line is first judged by its bytes, and parsed only if its subject and property are wanted, so that a dump of Wikidata
or DBpedia costs little more than unpacking it. A filter is texts ``part=value,value``:

=============  =====================================================================================================
part           values
=============  =====================================================================================================
``subject``    IRIs, of which ``*`` at the end leaves the rest open; prefixes that every query knows (``dbo:``, ``wd:``)
               may be used
``predicate``  the same
``object``     the same; literals pass
``language``   of texts: ``en``, which has ``en-GB`` too; literals without a language pass
=============  =====================================================================================================
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import pyoxigraph as ox

from kgrag.errors import InputError, InvalidRDF
from kgrag.resources import closest
from kgrag.vocab import PREFIXES

__all__ = ["TripleFilter", "TripleStream", "is_stream", "read_filter"]

_OPENED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_LINES = {".nt": ox.RdfFormat.N_TRIPLES, ".nq": ox.RdfFormat.N_QUADS}
_THINGS = ("subject", "predicate", "object")
_DUMP_PREFIXES = {
    "dbo": "http://dbpedia.org/ontology/",
    "dbr": "http://dbpedia.org/resource/",
    "schema": "http://schema.org/",
    "wd": "http://www.wikidata.org/entity/",
    "wdt": "http://www.wikidata.org/prop/direct/",
}
_LINES_PARSED_AT_ONCE = 2_000


@dataclass(frozen=True, slots=True)
class TripleFilter:
    """Which triples are wanted: values by part; a part without values lets everything through."""

    whole: dict[str, frozenset[str]] = field(default_factory=dict)
    beginnings: dict[str, tuple[str, ...]] = field(default_factory=dict)
    languages: tuple[str, ...] = ()

    def lets_through(self, part: str, iri: str) -> bool:
        """Return whether an IRI is wanted as a part of a triple; "" stands for a blank node."""
        if part not in self.whole and part not in self.beginnings:
            return True
        return iri in self.whole.get(part, ()) or iri.startswith(self.beginnings.get(part, ()) or ("\0",))

    def lets_object_through(self, value: Any) -> bool:
        """Return whether an object is wanted."""
        if not isinstance(value, ox.Literal):
            return self.lets_through("object", value.value if isinstance(value, ox.NamedNode) else "")
        if not value.language or not self.languages:
            return True
        language = value.language.lower()
        return any(language == each or language.startswith(f"{each}-") for each in self.languages)


def read_filter(texts: Iterable[str]) -> TripleFilter:
    """Return the filter that texts ``part=value,value`` describe; a part that comes twice has the values of both.

    >>> read_filter(["language=en,de", "subject=wd:*"]).beginnings
    {'subject': ('http://www.wikidata.org/entity/',)}

    Raises:
        InputError: a text is of another form, or names a prefix that is not known.
    """
    values: dict[str, list[str]] = {}
    for text in texts:
        part, equals, listed = text.partition("=")
        part, found = part.strip(), [value.strip() for value in listed.split(",") if value.strip()]
        if part not in (*_THINGS, "language") or not equals or not found:
            raise InputError(
                f"{text!r} is no filter of triples. Write part=value,value with subject, predicate, object or "
                f"language. {closest(part, (*_THINGS, 'language'))}"
            )
        values.setdefault(part, []).extend(found)
    languages = tuple(value.lower() for value in values.pop("language", ()))
    written = {part: [_iri(value) for value in found] for part, found in values.items()}
    whole = {part: frozenset(each for each in found if not each.endswith("*")) for part, found in written.items()}
    beginnings = {part: tuple(each[:-1] for each in found if each.endswith("*")) for part, found in written.items()}
    return TripleFilter(whole, beginnings, languages)


def _iri(value: str) -> str:
    value = value.removeprefix("<").removesuffix(">")
    prefix, colon, local = value.partition(":")
    namespace = _DUMP_PREFIXES.get(prefix) or PREFIXES.get(prefix)
    if colon and not local.startswith("//") and namespace:
        return namespace + local
    if "://" not in value and not value.startswith("urn:"):
        raise InputError(f"{value!r} is no IRI. Write it whole, or with one of {', '.join(sorted(_DUMP_PREFIXES))}.")
    return value


def is_stream(path: Path) -> bool:
    """Return whether a file is N-Triples or N-Quads by its name, plain or compressed (``gz``, ``bz2``, ``xz``)."""
    return _form(path) is not None


def _form(path: Path) -> ox.RdfFormat | None:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in _OPENED:
        suffixes.pop()
    return _LINES.get(suffixes[-1]) if suffixes else None


@dataclass
class TripleStream:
    """The wanted triples of a file; graphs of N-Quads are not kept apart.

    Args:
        path: N-Triples or N-Quads.
        wanted: the filter.
        scope: what names of blank nodes begin with, so that those of two files stay apart.

    Attributes:
        lines: how many lines were read so far.
        kept: how many triples passed.
        broken: how many lines are no triple, of those that might have passed; the others are read.
    """

    path: Path
    wanted: TripleFilter
    scope: str = ""
    lines: int = 0
    kept: int = 0
    broken: int = 0

    def batches(self, size: int) -> Iterator[list[ox.Triple]]:
        """Yield the wanted triples, at most so many at a time, each once within its batch.

        Raises:
            InvalidRDF: it is neither form by its name, cannot be read, or is broken as compressed data.
        """
        form = _form(self.path)
        if form is None:
            raise InvalidRDF(f"{self.path}: a filter needs N-Triples or N-Quads (nt, nq, also gz, bz2 or xz behind).")
        batch: dict[ox.Triple, None] = {}
        for lines in self._pieces():
            for triple in self._parsed(lines, form):
                if self._wants(triple):
                    self.kept += 1
                    batch[self._scoped(triple)] = None
            if len(batch) >= size:
                yield list(batch)
                batch = {}
        if batch:
            yield list(batch)

    def _pieces(self) -> Iterator[list[bytes]]:
        opened = _OPENED.get(self.path.suffix.lower(), open)
        piece: list[bytes] = []
        try:
            stream: IO[bytes]
            with opened(self.path, "rb") as stream:
                for line in stream:
                    self.lines += 1
                    if self._may_pass(line):
                        piece.append(line)
                        if len(piece) == _LINES_PARSED_AT_ONCE:
                            yield piece
                            piece = []
        except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
            raise InvalidRDF(f"{self.path} cannot be read: {error}. Give the path of a whole file.") from error
        yield piece

    def _may_pass(self, line: bytes) -> bool:
        """Return whether subject and property of a line are wanted; one that has to be parsed to know passes."""
        parts = line.split(None, 2)
        if len(parts) < 3 or parts[0].startswith(b"#"):
            return bool(line.strip()) and not line.lstrip().startswith(b"#")
        if b"\\" in parts[0] or b"\\" in parts[1]:
            return True
        subject, predicate = parts[0].decode("utf-8", "replace"), parts[1].decode("utf-8", "replace")
        named = "" if subject.startswith("_:") else subject[1:-1]
        return self.wanted.lets_through("predicate", predicate[1:-1]) and self.wanted.lets_through("subject", named)

    def _parsed(self, lines: Sequence[bytes], form: ox.RdfFormat) -> Iterator[ox.Triple]:
        try:
            yield from [quad.triple for quad in ox.parse(input=b"".join(lines), format=form)]
        except (SyntaxError, ValueError):
            if len(lines) == 1:
                self.broken += 1
                return
            half = len(lines) // 2
            yield from self._parsed(lines[:half], form)
            yield from self._parsed(lines[half:], form)

    def _wants(self, triple: ox.Triple) -> bool:
        subject = triple.subject.value if isinstance(triple.subject, ox.NamedNode) else ""
        is_wanted = self.wanted.lets_through("subject", subject)
        is_wanted = is_wanted and self.wanted.lets_through("predicate", triple.predicate.value)
        return is_wanted and self.wanted.lets_object_through(triple.object)

    def _scoped(self, triple: ox.Triple) -> ox.Triple:
        subject, value = (self._named(term) for term in (triple.subject, triple.object))
        if subject is triple.subject and value is triple.object:
            return triple
        return ox.Triple(subject, triple.predicate, value)

    def _named(self, term: Any) -> Any:
        return ox.BlankNode(f"{self.scope}{term.value}") if isinstance(term, ox.BlankNode) else term
