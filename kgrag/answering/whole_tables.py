"""Whole documents of tables as evidence: what is asked about all rows is not decided by those that a search found.

The model that is always there names pieces of tables that it needs whole, for a count, a sum, an extreme, or a row that
no piece at hand has. All chunks of their documents are read from the store, in order, and it is asked again with them.
Documents of more than ``MOST_CHUNKS`` chunks are not read, and the answer says so.

Queries read: ``documents/in_order``, and those of ``kgrag.text.stored_passages``. Nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pyoxigraph as ox

from kgrag import queries
from kgrag.answering.evidence_pieces import EvidencePiece, SourceChunk
from kgrag.llm.reading_by_rules import is_by_rules
from kgrag.model import Completion
from kgrag.ports import TripleStore

__all__ = ["MOST_CHUNKS", "with_tables"]

MOST_CHUNKS = 1000
"""Chunks of a document that are read for its tables, at most: some 5,000 rows of eight cells, which take seconds."""
_MAX_DOCUMENTS = 3
_NOT_READ = "tables of further documents, which were not read"
_MAX_ROWS_APART = 1
"""Characters between two chunks of one table: the end of a line."""


def with_tables(
    evidence: Sequence[EvidencePiece],
    first: Completion,
    store: TripleStore,
    ask: Callable[[Sequence[EvidencePiece]], Completion],
) -> tuple[list[EvidencePiece], Completion] | None:
    """Return the evidence with the tables that a model wants whole, and its reply to them; None where it wants none.

    Where that is no reply, the first one is returned, with why a table was not read. An answer beside which a table was
    left out says so, as what is not stated.

    Args:
        evidence: what the model had.
        first: its reply to that.
        store: contains the chunks.
        ask: asks the model with whole documents.
    """
    wanted = _tables_wanted(first)
    pieces, problem = _whole_documents(wanted, evidence, store) if wanted else ([], "")
    if pieces:
        completion = ask(pieces)
        data = completion.data if isinstance(completion.data, Mapping) else {}
        if problem and data.get("sentences"):
            completion = replace(completion, data={**data, "not_stated": _NOT_READ})
        if data.get("sentences") or data.get("reason"):
            return [*evidence, *pieces], completion
    if problem and isinstance(first.data, Mapping) and first.data.get("unknown"):
        return [*evidence], replace(first, data={**first.data, "reason": problem})
    return None


def _tables_wanted(completion: Completion) -> list[int]:
    """Return the numbers of the pieces that a model of rules needs whole; [] for none, as with every other model."""
    data = completion.data if isinstance(completion.data, Mapping) else {}
    wanted = data.get("whole_tables")
    if not is_by_rules(completion.model) or not isinstance(wanted, list):
        return []
    return [number for number in wanted if isinstance(number, int)]


def _whole_documents(
    numbers: Sequence[int], evidence: Sequence[EvidencePiece], store: TripleStore
) -> tuple[list[EvidencePiece], str]:
    """Return the chunks of the documents behind some pieces, in order, and why one was not read ("" where all were).

    Args:
        numbers: of the pieces.
        evidence: all pieces; those that are returned are numbered behind them.
        store: contains the chunks.
    """
    pieces: list[EvidencePiece] = []
    known: set[str] = set()
    documents, problem = 0, ""
    for piece in (piece for piece in evidence if piece.number in set(numbers)):
        chunk = piece.sources[0].span.chunk if piece.sources else piece.hit.iri
        if chunk in known:
            continue
        if documents == _MAX_DOCUMENTS:
            problem = problem or f"Tables of more than {_MAX_DOCUMENTS} documents were found, and not all were read."
            continue
        rows = store.select(queries.bind("documents/in_order", chunk=ox.NamedNode(chunk), limit=MOST_CHUNKS + 1))
        chunks = [str(iri) for (iri,) in rows.values()]
        known.update(chunks)
        documents += 1
        if len(chunks) > MOST_CHUNKS:
            title = piece.hit.attributes.get("title") or "a document"
            problem = f"The tables of {title} have more than {MOST_CHUNKS:,} chunks, so their rows were not compared."
            continue
        pieces += _in_order(chunks, len(evidence) + len(pieces) + 1, store)
    return pieces, problem


def _in_order(chunks: Sequence[str], first: int, store: TripleStore) -> list[EvidencePiece]:
    """Return chunks that follow each other as pieces; a blank line before one ends a table."""
    from kgrag.answering.passage_hits import passage_hits  # only questions about whole tables need it

    hits = passage_hits(store, [(chunk, 0.0) for chunk in chunks])
    pieces = []
    for at, hit in enumerate(hits):
        before, following = (hits[at - 1] if at else None), (hits[at + 1] if at + 1 < len(hits) else None)
        pieces.append(
            EvidencePiece(
                first + at,
                hit,
                (SourceChunk(hit.text, hit.sources[0]),),
                before.text + _gap(before.sources[0].end, hit.sources[0].start) if before else "",
                _gap(hit.sources[0].end, following.sources[0].start) + following.text if following else "",
            )
        )
    return pieces


def _gap(end: int, start: int) -> str:
    return "\n" if start - end <= _MAX_ROWS_APART else "\n\n"
