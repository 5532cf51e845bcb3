"""Hyperlinks between documents: targets as pages write them, matched with where the documents were read from.

Not in the paper, whose documents are articles. A target is seen from each place of its page: the file that it was read
from, and its URL. Files are found by their names, also compressed ones and the ``index.html`` of a folder; URLs with or
without ``https`` and a slash at the end. What leads to the page itself is no link, and a place that several documents
have leads to none. Queries read: ``citations/links``, ``citations/addresses``, ``citations/anchors``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import quote, unquote, urljoin, urlsplit

import pyoxigraph as ox

from kgrag import queries
from kgrag.ports import TripleStore

__all__ = ["Hyperlink", "LinkResolver", "read_hyperlinks"]

_DOCUMENTS_PER_QUERY = 1000
_INDEX_PAGES = ("/index.html", "/index.htm", "/index.xhtml")


@dataclass(frozen=True, slots=True, order=True)
class Hyperlink:
    """A link from a chunk to a document, and to a chunk of it where the place is known, else "" (IRIs)."""

    origin: str
    document: str
    target: str = ""


class LinkResolver:
    """Finds the document that a hyperlink leads to.

    Args:
        addresses: pairs of a document (IRI) and a place of it, a path or a URL; a document may have several.
    """

    def __init__(self, addresses: Iterable[tuple[str, str]]) -> None:
        self._places: dict[str, list[str]] = defaultdict(list)
        self._document_at: dict[str, str] = {}
        for document, address in addresses:
            try:
                place = _place(address)
                key = _key(place)
            except ValueError:
                continue
            self._places[document].append(place)
            if self._document_at.setdefault(key, document) != document:
                self._document_at[key] = ""

    def resolve(self, document: str, target: str) -> tuple[str, str]:
        """Return the document that a target in a document leads to, and the fragment behind it; "" for none.

        >>> find = LinkResolver([("urn:a", "/docs/a b.html"), ("urn:b", "/docs/sub/index.html.gz")]).resolve
        >>> find("urn:a", "sub/#use%20it"), find("urn:b", "../a%20b.html"), find("urn:a", "c")
        (('urn:b', 'use it'), ('urn:a', ''), ('', ''))
        >>> LinkResolver([("urn:a", "api#a.html"), ("urn:b", "api#b c.html")]).resolve("urn:a", "b%20c.html")
        ('urn:b', '')
        """
        for place in self._places.get(document, ()):
            try:
                address, _, fragment = urljoin(place, target).partition("#")
                key = _key(address)
            except ValueError:  # brackets or a port that are none
                continue
            folder = next((key.removesuffix(name) for name in _INDEX_PAGES if key.endswith(name)), "")
            for name in (key, *(key + page for page in _INDEX_PAGES), folder):
                if found := self._document_at.get(name, ""):
                    return found, unquote(fragment)
        return "", ""


def read_hyperlinks(store: TripleStore) -> tuple[dict[str, tuple[Hyperlink, ...]], int]:
    """Return the hyperlinks between documents of the store, by the one that has them, and how many lead elsewhere."""
    catalogue = store.names.catalogue
    rows = store.select(queries.bind("citations/links", catalogue=catalogue)).values()
    if not rows:
        return {}, 0
    addresses = store.select(queries.bind("citations/addresses", catalogue=catalogue)).values()
    resolver = LinkResolver((document, address) for document, address in addresses)
    found, elsewhere = [], 0
    for document, chunk, link in rows:
        linked, fragment = resolver.resolve(document, link.split(" ", 2)[2])
        elsewhere += not linked
        if linked and linked != document:
            found.append((document, chunk, linked, fragment))
    chunk_at = _chunks_at(store, sorted({linked for _, _, linked, fragment in found if fragment}))
    links: dict[str, set[Hyperlink]] = defaultdict(set)
    for document, chunk, linked, fragment in found:
        links[document].add(Hyperlink(chunk, linked, chunk_at.get((linked, fragment), "")))
    return {document: tuple(sorted(each)) for document, each in sorted(links.items())}, elsewhere


def _chunks_at(store: TripleStore, documents: Sequence[str]) -> dict[tuple[str, str], str]:
    """Return the chunk of each document and name of a place in it, the first where a name is used twice."""
    chunk_at: dict[tuple[str, str], str] = {}
    for first in range(0, len(documents), _DOCUMENTS_PER_QUERY):
        wanted = [ox.NamedNode(document) for document in documents[first : first + _DOCUMENTS_PER_QUERY]]
        for document, chunk, names in store.select(queries.bind("citations/anchors", documents=wanted)).values():
            for name in names.split(" "):
                chunk_at.setdefault((document, name), chunk)
    return chunk_at


def _place(location: str) -> str:
    """Return where a document is as a URL: ids within a feed, as of uploaded files, are names in one folder.

    >>> _place("/docs/a b.html"), _place("api#a.html"), _place("https://e.org/a")
    ('file:///docs/a%20b.html', 'file:///api%23/a.html', 'https://e.org/a')
    """
    if location.startswith(("http://", "https://")):
        return location
    feed, hash_, name = location.partition("#")
    if hash_ and not location.startswith("/"):
        return f"file:///{quote(feed + hash_)}/{quote(name)}"
    return f"file:///{quote(location.removeprefix('/'))}"


def _key(address: str) -> str:
    """Return an address as it compares. Raises ValueError for one that is none.

    >>> _key("https://Example.org/a/#b"), _key("file:///docs/a%7Eb.html.gz?c")
    ('//example.org/a', '///docs/a~b.html')
    """
    parts = urlsplit(address)
    path = unquote(parts.path)
    if parts.scheme == "file":
        path = path.removesuffix(".gz")
    query = f"?{parts.query}" if parts.query and parts.scheme != "file" else ""
    return f"//{parts.netloc.lower()}{path.rstrip('/')}{query}"
