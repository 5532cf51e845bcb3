"""Who cites whom: citations as documents print them, matched with the documents of the collection.

A citation is an identifier, a DOI, a title, or an entry of a reference list; also a triple ``cito:cites`` or
``dcterms:references`` of loaded RDF. A citation that names no document of the collection is kept and counted. So are
hyperlinks between documents (``hyperlinks``). Queries read: ``citations/*``. Nothing is written.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from rapidfuzz import fuzz

from kgrag import queries
from kgrag.late_patterns import late_re
from kgrag.methods.cg_rag.hyperlinks import Hyperlink, read_hyperlinks
from kgrag.methods.cg_rag.markers import CitedWorks, byline
from kgrag.ports import TripleStore

__all__ = ["CitationResolver", "Citations", "KnownDocument", "bylines_of", "read_citations"]

_DOI = late_re(r"10\.\d{4,9}/[^\s\"<>{}]+")
_DOI_PREFIXES = ("", "doi:", "doi ", "https://doi.org/", "http://dx.doi.org/", "http://doi.org/")
_NOT_AT_END_OF_DOI = ".,;:)]}'\""
_WORD = late_re(r"\w+")
_CLOSES_A_TITLE = ".,;:?!\"')]}”’»"
_OPENS_A_TITLE = ".,;:?!\"'([{“‘«*_"
_MIN_TITLE_WORDS = 3  # entries of other works contain "Introduction" and "Soil science" too
_MAX_TITLES_COMPARED = 8
_MIN_SIMILARITY_PERCENT = 92.0
_MAX_CITATION_LETTERS = 2000  # fuzzy matching is slow on a whole page that was taken for one entry


@dataclass(frozen=True, slots=True)
class KnownDocument:
    """A document of the collection: its IRI, its title, and every identifier that it has."""

    document: str
    title: str = ""
    identifiers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Citations:
    """What documents cite: ``cited`` by document, in order, and ``unresolved`` texts by document, in order.

    ``entries`` are what each document prints of its citations, each with the document that it names, "" for none, and
    ``bylines`` the author-year markers by which each document would be cited. ``links`` are the hyperlinks of each
    document to others, and ``elsewhere`` is the number of those that lead to no document of the collection.
    """

    cited: dict[str, tuple[str, ...]] = field(default_factory=dict)
    unresolved: dict[str, tuple[str, ...]] = field(default_factory=dict)
    entries: dict[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    bylines: dict[str, tuple[str, ...]] = field(default_factory=dict)
    links: dict[str, tuple[Hyperlink, ...]] = field(default_factory=dict)
    elsewhere: int = 0

    @property
    def counts(self) -> dict[str, int]:
        """The number of citations that name a document, and of those that name none; the same of hyperlinks."""
        return {
            "citations": sum(map(len, self.cited.values())),
            "unresolved": sum(map(len, self.unresolved.values())),
            "links": sum(map(len, self.links.values())),
            "links_elsewhere": self.elsewhere,
        }

    def works_of(self, document: str) -> CitedWorks:
        """Return what a document cites, to look its markers up in."""
        cited = self.cited.get(document, ())
        bylines = tuple((marker, other) for other in cited for marker in self.bylines.get(other, ()))
        return CitedWorks(self.entries.get(document, ()), bylines)


class CitationResolver:
    """Finds the document that a citation names.

    Tried in turn: an identifier or IRI, a DOI, a whole title, a title inside a reference entry. A title inside an entry
    has at least three words, has punctuation marks on both sides, and agrees to 92 % (``rapidfuzz``), so that damage of
    a scan is forgiven and the title of another work that begins with the same words is not taken for it.
    """

    def __init__(self, documents: Iterable[KnownDocument]) -> None:
        self._by_name: dict[str, str] = {}
        self._by_title: dict[str, str] = {}
        self._titles_with: dict[str, list[str]] = defaultdict(list)
        for known in documents:
            for name in (known.document, *known.identifiers):
                for form in _forms(name):
                    self._by_name.setdefault(form, known.document)
            title = _normal(known.title)
            if not title or title in self._by_title:
                continue
            self._by_title[title] = known.document
            words = set(_WORD.findall(title))
            if len(words) >= _MIN_TITLE_WORDS:
                for word in words:
                    self._titles_with[word].append(title)

    def resolve(self, citation: str) -> str:
        """Return the IRI of the document that a citation names, "" for none.

        >>> known = KnownDocument("urn:d", "Growing beans on poor soil", ("doi:10.1000/Beans",))
        >>> CitationResolver([known]).resolve("[3] A. Sower. 1999. Growing beans on poor soil. In Proc. of Fields.")
        'urn:d'
        >>> CitationResolver([known]).resolve("https://doi.org/10.1000/beans.")
        'urn:d'
        """
        text = citation[:_MAX_CITATION_LETTERS]
        for form in _forms(text):
            if form in self._by_name:
                return self._by_name[form]
        doi = _DOI.search(text)
        if doi and (document := self._by_name.get(_normal_doi(doi[0]))):
            return document
        entry = _normal(text)
        if entry in self._by_title:
            return self._by_title[entry]
        titles = [title for title in self._likely_titles(entry) if _contains(entry, title)]
        return self._by_title[max(titles, key=lambda title: (len(title), title))] if titles else ""

    def _likely_titles(self, entry: str) -> list[str]:
        """Return the few titles that share most with an entry, a word counting more the fewer titles have it."""
        shared: dict[str, float] = defaultdict(float)
        for word in set(_WORD.findall(entry)):
            titles = self._titles_with.get(word, ())
            # words that many titles share ("of", "using") decide nothing and cost the most comparisons
            if len(titles) <= max(50, len(self._by_title) // 20):
                for title in titles:
                    shared[title] += 1 / len(titles)
        return sorted(shared, key=lambda title: (-shared[title], title))[:_MAX_TITLES_COMPARED]


def read_citations(store: TripleStore) -> Citations:
    """Resolve every citation of every document of the store."""
    catalogue = store.names.catalogue
    titles: dict[str, str] = {}
    identifiers: dict[str, dict[str, None]] = defaultdict(dict)
    for document, title, identifier in store.select(queries.bind("citations/documents", catalogue=catalogue)).values():
        titles.setdefault(document, title)
        if identifier:
            identifiers[document].setdefault(identifier)
    resolver = CitationResolver(
        KnownDocument(document, title, tuple(identifiers[document])) for document, title in titles.items()
    )
    printed = store.select(queries.bind("citations/given", catalogue=catalogue)).values()
    triples = store.select(queries.bind("citations/stated", catalogue=catalogue)).values()
    loaded = ((resolver.resolve(subject), citation) for subject, citation in triples)
    cited: dict[str, dict[str, None]] = defaultdict(dict)
    unresolved: dict[str, dict[str, None]] = defaultdict(dict)
    entries: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for citing, citation in (*printed, *((citing, citation) for citing, citation in loaded if citing in titles)):
        target = resolver.resolve(citation)
        entries[citing].append((citation, "" if target == citing else target))
        if not target:
            unresolved[citing].setdefault(citation)
        elif target != citing:
            cited[citing].setdefault(target)
    return Citations(
        _sorted_by_document(cited),
        _sorted_by_document(unresolved),
        {citing: tuple(pairs) for citing, pairs in sorted(entries.items())},
        bylines_of(store),
        *read_hyperlinks(store),
    )


def bylines_of(store: TripleStore) -> dict[str, tuple[str, ...]]:
    """Return the markers by which documents would be cited, from their metadata; any of several authors may be it."""
    rows = store.select(queries.bind("citations/bylines", catalogue=store.names.catalogue)).values()
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for document, author, year in rows:
        if marker := byline(author, year):
            found[document].setdefault(marker)
    return _sorted_by_document(found)


def _sorted_by_document(citations: dict[str, dict[str, None]]) -> dict[str, tuple[str, ...]]:
    return {document: tuple(names) for document, names in sorted(citations.items())}


def _forms(name: str) -> Sequence[str]:
    """Return the ways in which an identifier may be written: as it is, and as a bare DOI."""
    normal = " ".join(name.split()).casefold()
    doi = _DOI.search(normal)
    if doi and normal[: doi.start()] in _DOI_PREFIXES:
        return normal, _normal_doi(doi[0])
    return (normal,) if normal else ()


def _normal_doi(doi: str) -> str:
    return doi.casefold().rstrip(_NOT_AT_END_OF_DOI)


def _normal(text: str) -> str:
    """Return a text in small letters on one line, without hyphens at line ends and without a full stop at its end."""
    joined = re.sub(r"(?<=\w)[-\xad]\s*\n\s*(?=\w)|\xad\s?", "", text)
    return " ".join(joined.casefold().split()).strip().removesuffix(".")


def _contains(entry: str, title: str) -> bool:
    """Return whether a title is in an entry, between punctuation marks or at the entry's ends."""
    if len(title) > len(entry):
        return False
    match = fuzz.partial_ratio_alignment(title, entry, score_cutoff=_MIN_SIMILARITY_PERCENT)
    if match is None:
        return False
    before, behind = entry[: match.dest_start].rstrip(), entry[match.dest_end :].lstrip()
    # a year without brackets ("1999 Growing beans") also opens a title
    opened = (
        not before or before[-1] in _OPENS_A_TITLE or before[-1].isdigit() or entry[match.dest_start] in _OPENS_A_TITLE
    )
    closed = not behind or behind[0] in _CLOSES_A_TITLE or entry[match.dest_end - 1] in _CLOSES_A_TITLE
    return opened and closed
