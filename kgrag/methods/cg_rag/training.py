"""Training of the graph encoder (CG-RAG, section 5.1), and the trained encoder as it is kept with its knowledge base.

Cross-entropy of the chunks of the right documents against every other chunk that the question reaches, AdamW, a share
of the *documents* held out to know when to stop. The weights are one file behind its SHA-256; the provenance graph has
the same checksum with the recipe, the figures and the time.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import pyoxigraph as ox

from kgrag.answering.labelled_questions import wording
from kgrag.errors import InvalidSettings, StorageFailed
from kgrag.index.vector_spaces import Progress
from kgrag.methods.cg_rag.citation_arrays import QuestionView
from kgrag.methods.cg_rag.citation_graph import METHOD
from kgrag.methods.cg_rag.training_examples import TrainingExample, TrainingRecipe, split
from kgrag.model import BuildReport
from kgrag.ports import TripleStore
from kgrag.store.provenance import Deed, provenance_draft
from kgrag.vocab import KG, PROV, XSD, digest

if TYPE_CHECKING:
    from kgrag.methods.cg_rag.encoder import GraphEncoder

__all__ = ["EncoderFile", "TrainedEncoder", "train"]

_FILE_NAME = "cg_rag.pt"
_CHECKSUM_BYTES = 32
_MIN_QUESTIONS = 8


@dataclass(frozen=True, slots=True)
class TrainedEncoder:
    """A trained encoder with its record: embedder, recipe, figures, and digests of the questions it learned from."""

    encoder: GraphEncoder
    record: dict[str, Any]

    def scores(self, view: QuestionView) -> npt.NDArray[np.float64]:
        """Return R(q, c) of every node, shape (n,)."""
        from kgrag.methods.cg_rag import encoder

        return encoder.scores(self.encoder, view)

    def learned_from(self, questions: Sequence[str]) -> list[str]:
        """Return those of the questions that the encoder has learned from, under any spelling of case and spaces."""
        known = set(self.record.get("questions", ()))
        return [question for question in questions if _question_digest(question) in known]


def _question_digest(question: str) -> str:
    return digest("question", wording(question))


_Opened = dict[str, tuple[tuple[int, int] | None, TrainedEncoder | None]]
_OPEN: WeakKeyDictionary[TripleStore, _Opened] = WeakKeyDictionary()
"""By store and path: the time and size of the file that was read, and what it contained."""


@dataclass(frozen=True, slots=True)
class EncoderFile:
    """Where the trained encoder of a knowledge base is kept.

    ``folder`` None keeps it in memory, for as long as the store is open; ``embedder`` is the identity of what makes the
    vectors: an encoder that was trained on those of another embedder is not used.
    """

    store: TripleStore
    folder: Path | None
    embedder: str

    def load(self) -> TrainedEncoder | None:
        """Return the trained encoder; None without one, with a damaged one, or with one for another embedder."""
        opened = _OPEN.setdefault(self.store, {})
        key = "" if self.folder is None else str(self.folder / _FILE_NAME)
        if self.folder is not None:
            try:
                status = Path(key).stat()
                state = (status.st_mtime_ns, status.st_size)
            except OSError:  # there is none
                state = None
            if key not in opened or opened[key][0] != state:
                opened[key] = (state, _read(Path(key)) if state else None)
        trained = opened.get(key, (None, None))[1]
        return trained if trained is not None and trained.record.get("embedder") == self.embedder else None

    def save(self, data: bytes, record: dict[str, Any], started: datetime) -> None:
        """Keep an encoder (``encoder.dumped``) in place of the one before, and publish its record.

        Raises:
            StorageFailed: the disk refused the file.
        """
        checksum = hashlib.sha256(data)
        _publish_record(self.store, record, checksum.hexdigest(), started)
        if self.folder is None:
            _OPEN.setdefault(self.store, {})[""] = (None, _restored(data))
            return
        path = self.folder / _FILE_NAME
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            unfinished = path.with_suffix(".part")
            unfinished.write_bytes(checksum.digest() + data)
            unfinished.replace(path)  # readers find the old file or the new one, never half of one
        except OSError as error:
            message = (
                f"the trained encoder {path} could not be written: {error}. Free space or make the folder writable."
            )
            raise StorageFailed(message) from error


def _read(path: Path) -> TrainedEncoder | None:
    try:
        data = path.read_bytes()
    except OSError:
        return None
    checksum, body = data[:_CHECKSUM_BYTES], data[_CHECKSUM_BYTES:]
    return _restored(body) if hashlib.sha256(body).digest() == checksum else None


def _restored(data: bytes) -> TrainedEncoder | None:
    from kgrag.methods.cg_rag import encoder

    restored = encoder.restored(data)
    return None if restored is None else TrainedEncoder(*restored)


def _publish_record(store: TripleStore, record: dict[str, Any], checksum: str, started: datetime) -> None:
    """Publish what was trained, how, and how well it ranks; of the questions only their number."""
    parameters = record | {"questions": len(record["questions"]), "sha256": checksum}
    activity = Deed(
        store.names.activity("train", METHOD, checksum, started.isoformat()),
        "Train a graph encoder",
        (),
        [
            (KG.parameters, ox.Literal(json.dumps(parameters, sort_keys=True))),
            (KG.model, ox.Literal(f"cg_rag encoder {checksum[:12]}")),
            (PROV.startedAtTime, _timestamp(started)),
            (PROV.endedAtTime, _timestamp(datetime.now(UTC))),
        ],
    )
    store.publish([provenance_draft([activity], method=METHOD, names=store.names)])


def _timestamp(time: datetime) -> ox.Literal:
    return ox.Literal(time.isoformat(timespec="seconds").replace("+00:00", "Z"), datatype=XSD.dateTime)


def train(
    examples: Sequence[TrainingExample],
    recipe: TrainingRecipe,
    file: EncoderFile,
    *,
    asked: int,
    started: datetime,
    progress: Progress = None,
) -> BuildReport:
    """Train an encoder; keep it, with a record, when it ranks better than what needs no training.

    Args:
        examples: to learn from; a share of their documents is held out to know when to stop.
        recipe: how it is trained.
        file: where it is kept.
        asked: the number of questions that ``examples`` were read from, for the report.
        started: when reading them began, for the record.
        progress: called after each epoch.

    Raises:
        InvalidSettings: there are fewer than 8 examples, or all of them are about one document.
        StorageFailed: the disk refused the file.
    """
    from kgrag.methods.cg_rag import encoder

    documents = len({example.group for example in examples})
    if len(examples) < _MIN_QUESTIONS or documents < 2:
        raise InvalidSettings(
            f"training: {len(examples)} of {asked} questions reach a document that they name, of "
            f"{documents} documents; at least {_MIN_QUESTIONS} questions about 2 documents are needed."
        )
    learned, held_out = split(examples, recipe)
    fitted = encoder.fit(learned, held_out, recipe, progress=progress)
    untrained, best = fitted.figures[0], max(fitted.figures)
    counts = {"questions": asked, "reached": len(examples), "learned": len(learned), "held_out": len(held_out)}
    counts["epochs"] = len(fitted.figures) - 2  # the first two figures are of the encoder before any epoch
    note = f"MRR on the held-out part: {untrained:.3f} before training, {best:.3f} after"
    if untrained >= best:
        return BuildReport(METHOD, counts, notes=(f"{note}: not kept, since it ranks no better than untrained",))
    record: dict[str, Any] = {
        "embedder": file.embedder,
        "recipe": asdict(recipe),
        "figures": fitted.figures,
        "questions": sorted(_question_digest(example.question) for example in examples),
    }
    file.save(encoder.dumped(fitted.encoder, record), record, started)
    return BuildReport(METHOD, counts, notes=(note,))
