"""Findings of an audit as pages show them: the term in its place in the message, other IRIs in short."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import pyoxigraph as ox

from kgrag.audit.gathering import LISTS_THEM
from kgrag.audit.reports.term_names import name_writer
from kgrag.late_patterns import late_re
from kgrag.server.pages.iri_links import Naming, Shown

__all__ = ["FindingShown", "FindingWriter", "terms_of", "triple_in_short"]

_TEXT_OR_IRI = late_re(r'"(?:[^"\\]|\\.)*"|<([^<>\s]*)>')


@dataclass(frozen=True)
class FindingShown:
    """A finding: the message without its first mention of the terms that it is about, which ``terms`` are shown for."""

    before: str
    terms: tuple[Shown, ...]
    after: str
    check: str = ""
    path: Shown | None = None


@dataclass(frozen=True)
class FindingWriter:
    """Shows findings.

    >>> naming = Naming({"e": "https://example.org/"}, "urn:kgrag:", labels={"https://example.org/A": "an A"})
    >>> of_all = FindingWriter(naming, {}).shown("https://example.org/A https://example.org/B", "Of x: none.")
    >>> [term.name for term in of_all.terms], of_all.after
    (['an A', 'e:B'], ': Of x: none.')
    >>> longer = "https://example.org/AB is above https://example.org/A."
    >>> found = FindingWriter(naming, {}, linked=False).shown("https://example.org/A", longer)
    >>> found.before, [(term.name, term.href) for term in found.terms], found.after
    ('e:AB is above ', [('e:A', '')], '.')
    >>> FindingWriter(naming, {}).shown("https://example.org/A", f"2 of 9 terms have none. {LISTS_THEM}").after
    ': 2 of 9 terms have none.'

    Attributes:
        naming: writes IRIs, and links to those that have a page.
        labels: labels of terms in messages.
        own: namespaces of the ontology; names in one that no prefix stands for are written ``:name``.
        linked: whether terms have pages; those of a write that was refused have none.
    """

    naming: Naming
    labels: Mapping[str, str]
    own: Collection[str] = ()
    linked: bool = True

    def shown(self, focus: str, message: str, *, check: str = "", path: str = "") -> FindingShown:
        """Return a finding as a page shows it."""
        message = message.removesuffix(LISTS_THEM).rstrip()
        unnamed = [namespace for namespace in self.own if namespace not in self.naming.prefixes.values()]
        short, _ = name_writer(unnamed, self.naming.prefixes, self.labels)
        mention = re.search(rf"{re.escape(focus)}(?![\w/#-])", message)
        before, after = (message[: mention.start()], message[mention.end() :]) if mention else ("", f": {message}")
        terms = tuple(map(self._term, terms_of([focus]))) or (Shown(short(focus)),)
        return FindingShown(
            short(before), terms, short(after), check, self.naming.property(path) if terms_of([path]) else None
        )

    def _term(self, iri: str) -> Shown:
        return self.naming.link(iri) if self.linked else Shown(self.naming.short(iri))


def terms_of(subjects: Iterable[str]) -> list[str]:
    """Return the IRIs that findings are about: of an audit of several ontologies one may be about all of them.

    >>> terms_of(["https://example.org/a https://example.org/b", "_:b0", "line 3"])
    ['https://example.org/a', 'https://example.org/b']
    """
    return [iri for subject in subjects if all(map(_is_iri, subject.split())) for iri in subject.split()]


def _is_iri(text: str) -> bool:
    try:
        ox.NamedNode(text)
    except ValueError:
        return False
    return not text.startswith("_:")


def triple_in_short(line: str, naming: Naming) -> str:
    """Return a line of N-Triples with prefixed names in place of IRIs, but for those within texts.

    >>> naming = Naming({"e": "https://example.org/"}, "urn:kgrag:")
    >>> triple_in_short('<https://example.org/a> <urn:b> "<https://example.org/c>"', naming)
    'e:a <urn:b> "<https://example.org/c>"'
    """

    def written(match: re.Match[str]) -> str:
        iri = match[1] or ""
        short = naming.short(iri)
        return match[0] if not iri or iri.endswith(short) else short

    return _TEXT_OR_IRI.sub(written, line)
