"""The page of a vocabulary of kgrag's own, with all of its terms; and which of them the editor has an example of."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from kgrag.server.pages.iri_links import Naming, Shown, naming_for, vocabulary
from kgrag.server.pages.page_rendering import page
from kgrag.vocab import AUDIT, KG, KGV, local_name

__all__ = ["example_of", "is_vocabulary", "vocabulary_page"]

_TITLES = {
    KG.prefix: ("The vocabulary of kgrag", "Classes and properties of the graphs that kgrag makes."),
    KGV.prefix: ("Searches in SPARQL", "Properties that are searches, and a function that compares."),
    AUDIT.prefix: ("The vocabulary of audits", "What reports of audits are written with."),
}


@dataclass(frozen=True)
class _Term:
    shown: Shown
    comment: str


def is_vocabulary(iri: str) -> bool:
    """Return whether an IRI is that of one of kgrag's vocabularies, with or without ``#`` at its end."""
    return f"{iri.rstrip('#')}#" in _TITLES


async def vocabulary_page(request: Request, iri: str) -> Response:
    """Show the terms of a vocabulary: classes, then properties."""
    prefix = f"{iri.rstrip('#')}#"
    title, comment = _TITLES[prefix]
    naming = await naming_for(request)
    terms = [_term(term, naming) for term in sorted(vocabulary()) if term.startswith(prefix)]
    classes, properties = ([term for term in terms if _is_class(term) is wanted] for wanted in (True, False))
    parts = [("Classes", classes), ("Properties", properties)]
    return page(request, "vocabulary.html", title=title, comment=comment, iri=prefix, parts=parts)


def _term(iri: str, naming: Naming) -> _Term:
    return _Term(naming.link(iri), vocabulary()[iri][1])


def _is_class(term: _Term) -> bool:
    return local_name(term.shown.iri)[:1].isupper()


def example_of(iri: str) -> str:
    """Return the name of the editor's example of a search, "" for any other term."""
    return f"search/{local_name(iri)}" if iri.startswith(KGV.prefix) else ""
