"""Who cites whom: citations as documents give them, matched with the documents of the collection.

A citation is an identifier, a DOI, a title, or an entry of a reference list; also a triple ``cito:cites`` or
``dcterms:references`` of loaded RDF. What names no document of the collection is kept and counted. Queries read:
``citations/*``. Nothing is written.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from rapidfuzz import fuzz

from kgrag import queries
from kgrag.ports import TripleStore

__all__ = ["Citations", "Known", "Resolver", "read_citations"]

_DOI = re.compile(r"10\.\d{4,9}/[^\s\"<>{}]+")
_WORD = re.compile(r"\w+")
_NOT_DOI = ".,;:)]}'\""
_CLOSES = ".,;:?!\"')]}”’»"
_OPENS = ".,;:?!\"'([{“‘«*_"
_LEAST_WORDS = 3
_TRIED = 8  # titles that share the rarest words with an entry
_SAME = 92.0
_LONGEST = 2000


@dataclass(frozen=True, slots=True)
class Known:
    """A document of the collection: its IRI, its title, and every identifier that it has."""

    document: str
    title: str = ""
    identifiers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Citations:
    """What documents cite: ``cited`` by document, in order, and ``unresolved`` texts by document, in order."""

    cited: dict[str, tuple[str, ...]] = field(default_factory=dict)
    unresolved: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, int]:
        """Count the citations that name a document, and those that name none."""
        return {
            "citations": sum(map(len, self.cited.values())),
            "unresolved": sum(map(len, self.unresolved.values())),
        }


class Resolver:
    """Finds the document that a citation names.

    Tried in turn: an identifier or IRI, a DOI, a whole title, a title inside a reference entry. A title inside an entry
    has at least three words, stands between punctuation marks, and agrees to 92 % (``rapidfuzz``), so that damage of a
    scan is forgiven and the title of another work that begins with the same words is not taken for it.
    """

    def __init__(self, known: Iterable[Known]) -> None:
        self._names: dict[str, str] = {}
        self._titles: dict[str, str] = {}
        self._by_word: dict[str, list[str]] = defaultdict(list)
        for document in known:
            for name in (document.document, *document.identifiers):
                for form in _forms(name):
                    self._names.setdefault(form, document.document)
            self._add_title(document)

    def _add_title(self, document: Known) -> None:
        title = _plain(document.title)
        words = set(_WORD.findall(title))
        if not title or title in self._titles:
            return
        self._titles[title] = document.document
        if len(words) >= _LEAST_WORDS:
            for word in words:
                self._by_word[word].append(title)

    def resolve(self, citation: str) -> str:
        """Give the IRI of the document that a citation names, "" for none.

        >>> known = Known("urn:d", "Growing beans on poor soil", ("doi:10.1000/Beans",))
        >>> Resolver([known]).resolve("[3] A. Sower. 1999. Growing beans on poor soil. In Proc. of Fields.")
        'urn:d'
        >>> Resolver([known]).resolve("https://doi.org/10.1000/beans.")
        'urn:d'
        """
        text = citation[:_LONGEST]
        for form in _forms(text):
            if form in self._names:
                return self._names[form]
        doi = _DOI.search(text)
        if doi and (found := self._names.get(_doi(doi[0]))):
            return found
        plain = _plain(text)
        return self._titles.get(plain) or self._inside(plain)

    def _inside(self, entry: str) -> str:
        """Find the longest title that stands in an entry."""
        found = [title for title in self._likely(entry) if _stands(title, entry)]
        return self._titles[max(found, key=lambda title: (len(title), title))] if found else ""

    def _likely(self, entry: str) -> list[str]:
        """Give the titles that share most with an entry, a word counting more the fewer titles have it."""
        worth: dict[str, float] = defaultdict(float)
        for word in set(_WORD.findall(entry)):
            titles = self._by_word.get(word, ())
            if len(titles) <= max(50, len(self._titles) // 20):
                for title in titles:
                    worth[title] += 1 / len(titles)
        return sorted(worth, key=lambda title: (-worth[title], title))[:_TRIED]


def read_citations(store: TripleStore) -> Citations:
    """Resolve every citation of every document of the store."""
    known = _known(store)
    resolver = Resolver(known)
    here = {document.document for document in known}
    stated = store.select(queries.bind("citations/stated", catalogue=store.names.catalogue)).values()
    pairs = [(resolver.resolve(citing), cited) for citing, cited in stated]
    given = store.select(queries.bind("citations/given", catalogue=store.names.catalogue)).values()
    cited: dict[str, dict[str, None]] = defaultdict(dict)
    unresolved: dict[str, dict[str, None]] = defaultdict(dict)
    for citing, citation in (*given, *((citing, cited) for citing, cited in pairs if citing in here)):
        target = resolver.resolve(citation)
        if not target:
            unresolved[citing].setdefault(citation)
        elif target != citing:
            cited[citing].setdefault(target)
    return Citations(_frozen(cited), _frozen(unresolved))


def _frozen(found: dict[str, dict[str, None]]) -> dict[str, tuple[str, ...]]:
    return {document: tuple(names) for document, names in sorted(found.items())}


def _known(store: TripleStore) -> list[Known]:
    rows = store.select(queries.bind("citations/documents", catalogue=store.names.catalogue)).values()
    titles: dict[str, str] = {}
    names: dict[str, dict[str, None]] = defaultdict(dict)
    for document, title, identifier in rows:
        titles.setdefault(document, title)
        if identifier:
            names[document].setdefault(identifier)
    return [Known(document, title, tuple(names[document])) for document, title in titles.items()]


def _forms(name: str) -> Sequence[str]:
    """Give the ways in which an identifier may be written: as it is, and as a bare DOI."""
    plain = " ".join(name.split()).casefold()
    doi = _DOI.search(plain)
    whole = doi and plain[: doi.start()] in (
        "",
        "doi:",
        "doi ",
        "https://doi.org/",
        "http://dx.doi.org/",
        "http://doi.org/",
    )
    return (plain, _doi(doi[0])) if doi and whole else (plain,) if plain else ()


def _doi(text: str) -> str:
    return text.casefold().rstrip(_NOT_DOI)


def _plain(text: str) -> str:
    """Give a text in small letters on one line, without hyphens at line ends and without a full stop at its end."""
    joined = re.sub(r"(?<=\w)[-\xad]\s*\n\s*(?=\w)|\xad\s?", "", text)
    return " ".join(joined.casefold().split()).strip().removesuffix(".")


def _stands(title: str, entry: str) -> bool:
    """Say whether a title stands in an entry, between punctuation marks or at its ends."""
    if len(title) > len(entry):
        return False
    found = fuzz.partial_ratio_alignment(title, entry, score_cutoff=_SAME)
    if found is None:
        return False
    before, behind = entry[: found.dest_start].rstrip(), entry[found.dest_end :].lstrip()
    opened = not before or before[-1] in _OPENS or before[-1].isdigit() or entry[found.dest_start] in _OPENS
    closed = not behind or behind[0] in _CLOSES or entry[found.dest_end - 1] in _CLOSES
    return opened and closed
