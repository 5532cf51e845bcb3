"""Evidence as it is numbered in a prompt: each hit with the stored chunks behind it, and the sections of these.

Queries read: ``documents/preceding``, and those of ``kgrag.text.stored_passages``. Writes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyoxigraph as ox

from kgrag import queries
from kgrag.model import Hit, Span
from kgrag.ports import TripleStore
from kgrag.text import stored_passages
from kgrag.text.quotes import places

__all__ = ["EvidencePiece", "SourceChunk", "chunk_before", "evidence_of", "stored_chunks"]

_MAX_EVIDENCE_CHARACTERS = 8000
_CHARACTERS_BEFORE = 1200
"""How much text before a chunk is read for the term or header that the chunk begins behind."""
_BETWEEN_LEVELS = " > "


@dataclass(frozen=True, slots=True)
class SourceChunk:
    """A stored chunk: its text, its span, its heading, and where in the document later headings begin in it."""

    text: str
    span: Span
    heading: str = ""
    later_headings: tuple[tuple[int, str], ...] = ()

    def heading_at(self, place: int) -> str:
        """Return the heading of the section that a place of the text is in; "" for none."""
        begun = [one for one in self.later_headings if one[0] <= self.span.start + place]
        return max(begun, default=(0, self.heading))[1]


@dataclass(frozen=True, slots=True)
class EvidencePiece:
    """A hit with its number in the prompt and the stored chunks behind it.

    Of a chunk ``before`` is the text just before it, and ``following`` the chunk behind it, which is the last source.
    """

    number: int
    hit: Hit
    sources: tuple[SourceChunk, ...]
    before: str = ""
    following: str = ""

    @property
    def text(self) -> str:
        """The part of the hit that the model is shown."""
        return self.hit.text[:_MAX_EVIDENCE_CHARACTERS]

    @property
    def headings(self) -> tuple[str, ...]:
        """Title and heading of what the hit is from, as far as it has them."""
        return tuple(filter(None, (str(self.hit.attributes.get(name) or "") for name in ("title", "heading"))))

    @property
    def sections(self) -> str:
        """Title and heading as they are shown, with the later headings of a chunk that has several sections.

        Of a later one only what differs from the one before is shown: "Manual / Gates > Upper; then: Lower".
        """
        own = next((source for source in self.sources if source.span.chunk == self.hit.iri), None)
        shown = " / ".join(self.headings)
        before = str(self.hit.attributes.get("heading") or "").split(_BETWEEN_LEVELS)
        for _, heading in own.later_headings if own else ():
            levels = heading.split(_BETWEEN_LEVELS)
            same = next((at for at, pair in enumerate(zip(before, levels, strict=False)) if pair[0] != pair[1]), None)
            shown += f"; then: {_BETWEEN_LEVELS.join(levels[same:] if same is not None else levels[-1:])}"
            before = levels
        return shown

    @property
    def is_fact(self) -> bool:
        """Whether the text reads ``key: value; key: value``."""
        return self.hit.kind == "hyperedge"

    @property
    def derived(self) -> bool:
        """Whether a model wrote the text: no source contains all of it in a row."""
        return not any(places(self.text, source.text) for source in self.sources)


def evidence_of(hits: Sequence[Hit], store: TripleStore) -> list[EvidencePiece]:
    """Return the hits numbered from 1, with the chunks behind them; a hit without sources is taken for a chunk.

    A hit that is a chunk has the one that follows it as a further source: a definition may go on there.
    """
    chunks = [[span.chunk for span in hit.sources] or [hit.iri] for hit in hits]
    # all of them at once, before those that are hits are looked up with what stands around them
    stored_passages.passages(store, [*(hit.iri for hit in hits), *(chunk for behind in chunks for chunk in behind)])
    around = stored_passages.surroundings(store, [hit.iri for hit in hits], characters=_CHARACTERS_BEFORE)
    next_chunks = [following for _, following in around.values() if following]
    stored = stored_chunks([*(chunk for behind in chunks for chunk in behind), *next_chunks], store)
    pieces = []
    for number, (hit, behind) in enumerate(zip(hits, chunks, strict=True), start=1):
        before, following = around.get(hit.iri, ("", ""))
        sources = tuple(stored[chunk] for chunk in dict.fromkeys([*behind, following]) if chunk in stored)
        text = stored[following].text if following in stored else ""
        pieces.append(EvidencePiece(number, hit, sources, before, text))
    return pieces


def chunk_before(chunk: str, store: TripleStore) -> SourceChunk | None:
    """Return the chunk that stands before a stored chunk in its document; None for the first."""
    rows = store.select(queries.bind("documents/preceding", chunk=ox.NamedNode(chunk))).values()
    stored = stored_chunks([iri for (iri,) in rows], store)
    return next(iter(stored.values()), None)


def stored_chunks(chunks: Sequence[str], store: TripleStore) -> dict[str, SourceChunk]:
    """Return chunk -> its text and where it stands; those that are not stored are left out."""
    stored = stored_passages.passages(store, chunks)
    return {
        chunk: SourceChunk(passage.text, passage.span, passage.place.heading, passage.heading_breaks)
        for chunk, passage in stored.items()
    }
