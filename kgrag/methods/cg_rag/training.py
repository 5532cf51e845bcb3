"""Training of the graph encoder (CG-RAG, section 5.1), and the trained encoder as it is kept with its knowledge base.

Cross-entropy of the chunks of the right documents against every other chunk that the question reaches, AdamW, a share
of the *documents* held out to know when to stop. The weights are one file behind its SHA-256; the provenance graph has
the same checksum with the recipe, the figures and the time.

Queries read: ``cg_rag/trainings``.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import pyoxigraph as ox

from kgrag import queries
from kgrag.answering.labelled_questions import wording
from kgrag.errors import InvalidSettings, StorageFailed
from kgrag.index.array_files import FileFault
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

_LOG = logging.getLogger(__name__)

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

    @property
    def beats_votes(self) -> bool:
        """Return whether it ranked better on held-out documents than votes; False where these were not compared."""
        return bool(max(self.record["figures"]) > self.record.get("votes", np.inf))

    def learned_from(self, questions: Sequence[str]) -> list[str]:
        """Return those of the questions that the encoder has learned from, under any spelling of case and spaces."""
        known = set(self.record.get("questions", ()))
        return [question for question in questions if _question_digest(question) in known]


def _question_digest(question: str) -> str:
    return digest("question", wording(question))


@dataclass(frozen=True, slots=True)
class _Kept:
    """What was found of a trained encoder, in which state of store and folder, and why the recorded one is missing."""

    state: Any
    encoder: TrainedEncoder | None
    fault: FileFault | None = None


_OPEN: WeakKeyDictionary[TripleStore, dict[str, _Kept]] = WeakKeyDictionary()
"""By store and folder ("" in memory)."""


@dataclass(frozen=True, slots=True)
class EncoderFile:
    """Where the trained encoder of a knowledge base is kept: a file that is named by the SHA-256 of its weights.

    The record of the last training in the provenance graph decides which file counts. ``folder`` None keeps the encoder
    in memory, for as long as the store is open; ``embedder`` is the identity of what makes the vectors: an encoder that
    was trained on those of another embedder is not used.
    """

    store: TripleStore
    folder: Path | None
    embedder: str

    def load(self) -> TrainedEncoder | None:
        """Return the trained encoder; None without one, and without one for this embedder.

        None as well, with a warning, where the file of the recorded one is lost or damaged.
        """
        trained = self._kept().encoder
        return trained if trained is not None and trained.record.get("embedder") == self.embedder else None

    def faults(self) -> list[FileFault]:
        """Return why the encoder of the last training cannot be used; [] where it can, and without a training."""
        fault = self._kept().fault
        return [] if fault is None else [fault]

    def _kept(self) -> _Kept:
        opened = _OPEN.setdefault(self.store, {})
        if self.folder is None:
            return opened.get("", _Kept(None, None))
        files = sorted(self.folder.glob(f"{METHOD}*.pt"))
        state = self.store.revision, [(path.name, path.stat().st_mtime_ns, path.stat().st_size) for path in files]
        kept = opened.get(str(self.folder))
        if kept is None or kept.state != state:
            encoder, fault = _recorded_encoder(self.store, self.folder)
            if fault is not None and (kept is None or kept.fault != fault):
                _LOG.warning("%s Until then it answers without.", fault.message)
            kept = opened[str(self.folder)] = _Kept(state, encoder, fault)
        return kept

    def save(self, data: bytes, record: dict[str, Any], started: datetime) -> None:
        """Keep an encoder (``encoder.dumped``) in place of the one before, and publish its record.

        The record comes after the file, and the older file goes last: a process that dies in between leaves the encoder
        of before in use, or the new one.

        Raises:
            StorageFailed: the disk refused the file.
        """
        checksum = hashlib.sha256(data).hexdigest()
        if self.folder is None:
            _publish_record(self.store, record, checksum, started)
            _OPEN.setdefault(self.store, {})[""] = _Kept(None, _restored(data))
            return
        path = self.folder / _file_name(checksum)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            unfinished = path.with_suffix(".part")
            with unfinished.open("wb") as file:
                file.write(bytes.fromhex(checksum) + data)
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(path)  # readers find the old file or the new one, never half of one
            _publish_record(self.store, record, checksum, started)
            self.store.flush()
            for older in self.folder.glob(f"{METHOD}*.pt"):
                if older != path:
                    older.unlink()
        except OSError as error:
            message = (
                f"the trained encoder {path} could not be written: {error}. Free space or make the folder writable."
            )
            raise StorageFailed(message) from error


def _file_name(checksum: str) -> str:
    return f"{METHOD}-{checksum[:16]}.pt"


def _recorded_encoder(store: TripleStore, folder: Path) -> tuple[TrainedEncoder | None, FileFault | None]:
    """Return the encoder of the last training, or why it is not there; neither where none is recorded."""
    rows = store.select(queries.bind("cg_rag/trainings", provenance=store.names.provenance)).values()
    # times are recorded to the second: of trainings that ended in the same one, the file that is there is the last
    checksums = [json.loads(parameters)["sha256"] for ended, parameters in rows if ended == rows[0][0]]
    # versions of before named the file of every encoder alike
    paths = [folder / name for checksum in checksums for name in (_file_name(checksum), f"{METHOD}.pt")]
    existing = [path for path in paths if path.is_file()]
    for path in existing:
        if (trained := _read(path, checksums)) is not None:
            return trained, None
    if not paths:
        return None, None
    path, state = (existing[0], "damaged") if existing else (paths[0], "lost")
    message = (
        f"the trained encoder {path} is {state}. Put the file back from a backup, or run `kgrag train cg_rag` again."
    )
    return None, FileFault(path, message, remade=False)


def _read(path: Path, checksums: Sequence[str]) -> TrainedEncoder | None:
    try:
        body = path.read_bytes()[_CHECKSUM_BYTES:]
    except OSError:
        return None
    return _restored(body) if hashlib.sha256(body).hexdigest() in checksums else None


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


def train(  # noqa: PLR0913 - what a training needs of its caller
    examples: Sequence[TrainingExample],
    recipe: TrainingRecipe,
    file: EncoderFile,
    *,
    asked: int,
    started: datetime,
    by_votes: Callable[[TrainingExample], float],
    progress: Progress = None,
) -> BuildReport:
    """Train an encoder; keep it, with a record, when it ranks better than before training.

    It is asked where it also ranks better than votes of documents; else only ``encoder=trained`` asks it, and the
    report says so.

    Args:
        examples: to learn from; a share of their documents is held out to know when to stop.
        recipe: how it is trained.
        file: where it is kept.
        asked: the number of questions that ``examples`` were read from, for the report.
        started: when reading them began, for the record.
        by_votes: returns the reciprocal rank of an example's right document by votes, among the documents it reaches.
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
    votes = float(np.mean([by_votes(example) for example in held_out]))
    note = f"MRR on the held-out part: {untrained:.3f} before training, {best:.3f} after, {votes:.3f} by votes"
    if untrained >= best:
        return BuildReport(METHOD, counts, notes=(f"{note}: not kept, since it ranks no better than untrained",))
    record: dict[str, Any] = {
        "embedder": file.embedder,
        "recipe": asdict(recipe),
        "figures": fitted.figures,
        "votes": votes,
        "questions": sorted(_question_digest(example.question) for example in examples),
    }
    file.save(encoder.dumped(fitted.encoder, record), record, started)
    unused = "; votes rank no worse without training, so questions go to these unless they say encoder=trained"
    return BuildReport(METHOD, counts, notes=(note if best > votes else note + unused,))
