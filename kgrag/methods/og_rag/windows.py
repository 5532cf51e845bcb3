"""Windows of text that are mapped at once: planned, resumed where a build stopped, and halved when a reply is cut.

OG-RAG, section 3 and appendix C.2. Queries read: ``og_rag/passages``, ``og_rag/mapped``. Nothing is written.

Deviations:
    The paper's windows are 8,192 tokens. A mapped text is several times as long as the text, and a reply that ends at
    a limit of the service loses the rest, so windows are as long as the reply allows (8,192 from a limit of 32,768 on).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import pyoxigraph as ox

from kgrag import queries
from kgrag.ports import TripleStore
from kgrag.text.sentences import split

__all__ = [
    "REPLY_GROWTH",
    "Passage",
    "Window",
    "fitting",
    "halves",
    "mapped_passages",
    "mapped_stretches",
    "passages",
    "unmapped",
    "windows",
]

REPLY_GROWTH = 4
"""Tokens of a reply for each word or mark of its text: 3.0 to 3.9 in recorded replies over a crops ontology."""
_DEFAULT_REPLY_TOKENS = 4096  # a reply that every service allows, where no limit is set
_MAX_HALVINGS = 3  # below an eighth of a window, a cut reply is a fault of the service's limit and not of the window

Stretch = tuple[int, int]
"""The offsets of the first character of a part of a document, and of the one behind its last."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk, or a part of it: its place in its document in characters, and the tokens of the whole chunk."""

    document: str
    title: str
    iri: str
    start: int
    end: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Window:
    """Consecutive passages of one document; ``halvings`` counts how often it was halved to become this short."""

    passages: tuple[Passage, ...]
    halvings: int = 0

    @property
    def document(self) -> str:
        """The IRI of its document."""
        return self.passages[0].document

    @property
    def start(self) -> int:
        """The offset of its first character."""
        return self.passages[0].start

    @property
    def end(self) -> int:
        """The offset behind its last character."""
        return self.passages[-1].end

    @property
    def chunks(self) -> list[ox.NamedNode]:
        """The chunks of its text."""
        return [ox.NamedNode(passage.iri) for passage in self.passages]

    @property
    def label(self) -> str:
        """Its document and place, for a person."""
        return f"{self.passages[0].title or self.document}, characters {self.start} to {self.end}"


def fitting(most: int, reply: int | None) -> int:
    """Return the size of windows, in words and marks: at most ``most``, and with replies that fit ``reply`` tokens.

    >>> fitting(8192, 2000), fitting(8192, None), fitting(8192, 50_000)
    (500, 1024, 8192)
    """
    return min(most, max(1, (reply or _DEFAULT_REPLY_TOKENS) // REPLY_GROWTH))


def passages(store: TripleStore) -> list[Passage]:
    """Return the chunks that may be mapped, in reading order."""
    rows = store.select(queries.bind("og_rag/passages", catalogue=store.names.catalogue)).values()
    return [Passage(row[0], row[1], row[2], int(row[3]), int(row[4]), int(row[5])) for row in rows]


def windows(read: Iterable[Passage], size: int, chosen: Collection[str] | None = None) -> Iterator[Window]:
    """Yield windows of consecutive chunks in reading order; a chunk of more than ``size`` tokens is one by itself.

    With ``chosen``, IRIs of chunks, windows have these only, and none goes on over a chunk that is left out.
    """
    for _, group in groupby(read, key=lambda passage: passage.document):
        gathered: list[Passage] = []
        for passage in group:
            left_out = chosen is not None and passage.iri not in chosen
            if gathered and (left_out or sum(earlier.tokens for earlier in gathered) + passage.tokens > size):
                yield Window(tuple(gathered))
                gathered = []
            if not left_out:
                gathered.append(passage)
        if gathered:
            yield Window(tuple(gathered))


def mapped_passages(read: Iterable[Passage], mapped: Mapping[str, Sequence[Stretch]]) -> set[str]:
    """Return the IRIs of chunks of which every character was mapped; ``mapped`` as of ``mapped_stretches``."""
    within = ((passage, mapped.get(passage.document, ())) for passage in read)
    return {passage.iri for passage, stretches in within if stretches and not any(_outside(passage, stretches))}


def mapped_stretches(store: TripleStore, parameters: str) -> dict[str, list[Stretch]]:
    """Return document -> the stretches that were mapped with these parameters, in order."""
    query = queries.bind("og_rag/mapped", provenance=store.names.provenance, parameters=ox.Literal(parameters))
    stretches: dict[str, list[Stretch]] = defaultdict(list)
    for document, start, end in store.select(query).values():
        stretches[document].append((int(start), int(end)))
    return stretches


def unmapped(window: Window, mapped: Sequence[Stretch]) -> list[Window]:
    """Return the parts of a window outside the stretches that are mapped, each as a window; [] when all of it is.

    >>> chunks = tuple(Passage("d", "", f"c{start}", start, start + 10, 2) for start in (0, 10, 20))
    >>> [(part.start, part.end) for part in unmapped(Window(chunks), [(10, 14)])]
    [(0, 10), (14, 30)]
    """
    runs: list[list[Passage]] = []
    for piece in (piece for passage in window.passages for piece in _outside(passage, mapped)):
        # Pieces join one window, unless a mapped stretch lies between them.
        if runs and not any(end > runs[-1][-1].end and start < piece.start for start, end in mapped):
            runs[-1].append(piece)
        else:
            runs.append([piece])
    return [Window(tuple(run)) for run in runs]


def _outside(passage: Passage, mapped: Sequence[Stretch]) -> Iterator[Passage]:
    """Yield the parts of a passage outside the stretches."""
    start = passage.start
    for low, high in mapped:
        if low >= passage.end or high <= start:
            continue
        if low > start:
            yield replace(passage, start=start, end=low)
        start = high
    if start < passage.end:
        yield replace(passage, start=start)


def halves(window: Window, text: str) -> tuple[Window, ...]:
    """Return both halves of a window, split before the sentence that begins nearest its middle.

    Args:
        window: the window to halve.
        text: its text.

    Returns:
        Two windows that together are the whole; () when it is a single sentence, or was halved often enough.
    """
    starts = [start for start, _ in split(text)][1:]
    if not starts or window.halvings == _MAX_HALVINGS:
        return ()
    middle = window.start + min(starts, key=lambda start: abs(start - len(text) // 2))
    before = [replace(passage, end=min(passage.end, middle)) for passage in window.passages if passage.start < middle]
    after = [replace(passage, start=max(passage.start, middle)) for passage in window.passages if passage.end > middle]
    return tuple(Window(tuple(half), window.halvings + 1) for half in (before, after))
