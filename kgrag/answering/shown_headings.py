"""Quotes that only repeat a heading which a reader sees with the other citations of the same sentence.

A model asked to name what a sentence is about quotes "distance option", and each citation is shown with title and
heading, "Interpolate > distance option". Cited apart, the heading says nothing more; as one with what stands below it,
it says what "this option" is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kgrag.answering.evidence_pieces import SourceChunk
from kgrag.answering.source_sentences import Carried, Quote
from kgrag.model import Citation
from kgrag.text.sentences import words

__all__ = ["repeating_headings"]


def repeating_headings(
    quotes: Sequence[Quote], carried: Sequence[Sequence[Carried]], sources: Mapping[str, SourceChunk]
) -> set[Citation]:
    """Return the citations of quotes whose words all stand in the heading above a citation of another quote.

    Args:
        quotes: of one sentence of an answer.
        carried: the citations of each.
        sources: the chunks cited, by IRI.
    """
    kept = list(range(len(quotes)))
    for at in sorted(kept, key=lambda at: len(quotes[at].text)):
        others = (one for other in kept if other != at for one in carried[other])
        if words(_said(quotes[at])) and any(_stand_in(quotes[at], heading) for heading in _headings(others, sources)):
            kept.remove(at)
    telling = {one.citation for at in kept for one in carried[at]}  # two quotes may be carried by one sentence
    return {one.citation for at in range(len(quotes)) if at not in kept for one in carried[at]} - telling


def _headings(carried: Iterator[Carried], sources: Mapping[str, SourceChunk]) -> Iterator[str]:
    for one in carried:
        source = sources.get(one.citation.chunk)
        if source is not None and not one.citation.derived:
            yield source.heading_at(one.citation.start - source.span.start)


def _said(quote: Quote) -> str:
    """Return a quote, of a pair of a fact ("option name: -q") the value."""
    return quote.text.rpartition(": ")[2]


def _stand_in(quote: Quote, heading: str) -> bool:
    """Return whether the words of a quote follow each other in one level of a heading; of letters, as written."""
    said = _said(quote).strip()
    wanted = [word.casefold() for word in words(said)]
    for level in heading.split(" > "):
        there = [word.casefold() for word in words(level)]
        found = any(there[at : at + len(wanted)] == wanted for at in range(len(there)))
        if found and (said in level or any(len(word) > 1 for word in wanted)):
            return True
    return False
