"""What workers do with documents: four stages, each a pure function from an Arrow table to an Arrow table.

==============  ==================  ============================================================================
``Read``        files → documents   yields tables of some documents each, so that a large file is never whole in memory
``Chunk``       documents → drafts  the graph of each document, and the texts that are embedded of it
``Validate``    drafts → drafts     whether each graph conforms to its shape
``Embed``       drafts → drafts     vectors instead of texts
==============  ==================  ============================================================================

A row that has an error passes a stage as it is, and what fails in a stage is a row with an error afterwards: one
document that cannot be cut stops no other. A stage is made of values that can be pickled and loads what it needs in the
process that calls it, so it goes into ``map_batches(…, batch_format="pyarrow")`` of Ray Data as it is.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyoxigraph as ox

from kgrag.errors import UnreadableDocument
from kgrag.model import GraphDraft
from kgrag.ports import Embedder, Stage
from kgrag.shacl.scratch_validation import conforming
from kgrag.store.draft_rows import lines_of, triples_of
from kgrag.text import documents
from kgrag.text.ingestion import Cutting
from kgrag.text.readers import read_paths
from kgrag.vocab import KG, Names
from kgrag.workers.arrow_rows import DOCUMENTS, DRAFTS, document_of, row_of, table_of

__all__ = ["Chunk", "Embed", "Read", "Stage", "Validate", "draft_of", "file_digest", "words_of"]

_DOCUMENTS_PER_TABLE = 200
_CHARACTERS_PER_TABLE = 500_000
_TEXTS_PER_PASS = 256
_BYTES_PER_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Read:
    """Files → documents, in their order; ``whole_pages`` keeps the navigation of HTML pages."""

    whole_pages: bool = False

    def __call__(self, files: pa.Table) -> Iterator[pa.Table]:
        """Yield the documents of files, some at a time; a file that cannot be read, or not whole, has an error row."""
        batch: list[dict[str, Any]] = []
        characters = 0
        for file in files.to_pylist():
            for row in self._rows(file["file"], file["sha256"]):
                batch.append(row)
                characters += len(row.get("text") or "")
                if len(batch) >= _DOCUMENTS_PER_TABLE or characters >= _CHARACTERS_PER_TABLE:
                    yield table_of(batch, DOCUMENTS)
                    batch, characters = [], 0
        if batch:
            yield table_of(batch, DOCUMENTS)

    def _rows(self, file: bytes, sha256: str) -> Iterator[dict[str, Any]]:
        path, damage = Path(os.fsdecode(file)), dict[Path, str]()
        try:
            if file_digest(path) != sha256:
                raise UnreadableDocument(f"{path}: changed while it was read; run again when it is complete.")
            for document in read_paths([path], broken=damage, whole_pages=self.whole_pages):
                yield row_of(document, file)
        except Exception as error:
            damage[path] = words_of(error)
        if damage:
            yield {"file": file, "error": damage[path]}


def file_digest(path: Path) -> str:
    """Return the hexadecimal SHA-256 of a file; "" for one that cannot be opened, of which ``Read`` says why."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as opened:
            while piece := opened.read(_BYTES_PER_PIECE):
                digest.update(piece)
    except OSError:
        return ""
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Chunk:
    """Documents → drafts: the graph of each document with its chunks; ``base`` is that of the IRIs that are minted."""

    base: str
    cutting: Cutting

    def __call__(self, read: pa.Table) -> pa.Table:
        """Return a draft per document."""
        names = Names(self.base)
        return table_of([self._row(row, names) for row in read.to_pylist()], DRAFTS)

    def _row(self, row: dict[str, Any], names: Names) -> dict[str, Any]:
        if row["error"]:
            return {"file": row["file"], "error": row["error"]}
        try:
            made = self.cutting.cut(document_of(row), names)
        except Exception as error:  # of a chunker, which another package may have
            return {"file": row["file"], "error": words_of(error)}
        draft = made.draft
        return {
            "file": row["file"],
            "error": "",
            "graph": draft.iri.value,
            "chunks": made.chunks,
            "described": lines_of(ox.Triple(draft.iri, name, value) for name, value in draft.described),
            "triples": lines_of(draft.triples),
            "texts": documents.embedded_texts(draft),
        }


@dataclass(frozen=True, slots=True)
class Validate:
    """Drafts → drafts: ``conforms`` says of each graph whether it keeps its shape, as ``publish`` would decide."""

    base: str

    def __call__(self, drafts: pa.Table) -> pa.Table:
        """Return the drafts with ``conforms``; it is null where there was an error."""
        rows = drafts.to_pylist()
        entered = conforming([draft_of(row) for row in rows if not row["error"]], self.base)
        return table_of([row | {"conforms": None if row["error"] else row["graph"] in entered} for row in rows], DRAFTS)


@dataclass(frozen=True)
class Embed:
    """Drafts → drafts: their texts become vectors; ``make`` returns the embedder, once in each process."""

    make: Callable[[], Embedder]

    def __call__(self, drafts: pa.Table) -> pa.Table:
        """Return the drafts with ``sha256`` and ``vectors`` of their texts, which are not kept.

        Where the embedder fails, the documents whose texts it has embedded all by then are whole, and the others have
        its error.
        """
        rows = drafts.to_pylist()
        texts = {text for row in rows if not row["error"] for text in row["texts"]}
        vectors, failure = self._embedded(sorted(texts, key=lambda text: (len(text), text)))
        return table_of([row if row["error"] else _with_vectors(row, vectors, failure) for row in rows], DRAFTS)

    def _embedded(self, texts: Sequence[str]) -> tuple[dict[str, bytes], str]:
        """Embed texts of similar length together, always the same ones, whoever does it; "" or why it is not all."""
        vectors: dict[str, bytes] = {}
        try:
            for first in range(0, len(texts), _TEXTS_PER_PASS):
                batch = texts[first : first + _TEXTS_PER_PASS]
                rows = self._embedder.embed(batch, "passage")
                vectors |= {text: np.asarray(row, "<f4").tobytes() for text, row in zip(batch, rows, strict=True)}
        except Exception as error:  # of a service: it is asked again in the next run
            return vectors, words_of(error)
        return vectors, ""

    @cached_property
    def _embedder(self) -> Embedder:
        return self.make()

    def __getstate__(self) -> dict[str, Any]:
        """Return what travels to another process: the recipe, not the model."""
        return {"make": self.make}


def _with_vectors(row: dict[str, Any], vectors: Mapping[str, bytes], failure: str) -> dict[str, Any]:
    texts = list(dict.fromkeys(row["texts"]))
    if not all(text in vectors for text in texts):
        return {"file": row["file"], "error": failure}
    sha256 = [hashlib.sha256(text.encode()).hexdigest() for text in texts]
    return row | {"texts": None, "sha256": sha256, "vectors": b"".join(vectors[text] for text in texts)}


def draft_of(row: Mapping[str, Any]) -> GraphDraft:
    """Return the graph of a row of ``DRAFTS``."""
    described = [(triple.predicate, triple.object) for triple in triples_of(row["described"])]
    return GraphDraft(
        iri=ox.NamedNode(row["graph"]), kind=KG.DocumentGraph, triples=triples_of(row["triples"]), described=described
    )


def words_of(error: Exception) -> str:
    """Return what went wrong, as a row has it: the words of a reader, or the kind of any other error and its words."""
    text = str(error) if isinstance(error, UnreadableDocument) else f"{type(error).__name__}: {error}"
    return text.encode("utf-8", "replace").decode()
