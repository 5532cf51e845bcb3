"""Training of the graph encoder (CG-RAG, section 5.1), and the trained encoder as it is kept beside the store.

Cross-entropy of the chunks of the right documents against every other chunk that the question reaches, AdamW, a share
of the *documents* held out to know when to stop. Weights stand in one file behind its SHA-256, and the same checksum
stands with the settings, the figures and the time in the provenance graph. Queries read: ``cg_rag/identifiers``.

Deviations:
    Negatives are the chunks of the question's own subgraph, which are hard ones. Those of other questions in the batch
    are none here: a representation depends on the question, so under this one they have none.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import pyoxigraph as ox

from kgrag import queries
from kgrag.answering.labelled_questions import Labelled, common, wording
from kgrag.errors import InvalidSettings, StorageFailed
from kgrag.index.vector_spaces import Progress
from kgrag.methods.cg_rag.graph_mirror import Numbers, Subgraph
from kgrag.model import BuildReport
from kgrag.ports import TripleStore, Vectors
from kgrag.store.provenance import Deed, provenance_draft
from kgrag.vocab import KG, PROV, XSD, digest

if TYPE_CHECKING:
    from kgrag.methods.cg_rag.method import CgRag

__all__ = ["Example", "Held", "Recipe", "Seen", "held", "refuse_leaks", "train"]

_FILE = "cg_rag.pt"
_CHECKSUM = 32
_LEAST = 8  # questions that can be learned from
_OPEN: WeakKeyDictionary[TripleStore, dict[str, tuple[Any, Held | None]]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Recipe:
    """How an encoder is made and trained.

    Args:
        hidden: width of its layers, a multiple of ``heads``; 128 trains in minutes on a processor, the paper has 1,024.
        layers: L.
        heads: of attention.
        kind: "transformer", "gat" or "gcn" (Table 5).
        seed: of the split, the order and the first weights.
        epochs: at most.
        patience: epochs without a better figure on the held-out part, after which training ends.
        batch: questions a step.
        rate: step size of AdamW for matrices; single numbers learn twenty times as fast.
        decay: weight decay of AdamW for matrices.
        share: of the documents that are held out, 0 to 0.9.
    """

    hidden: int = 128
    layers: int = 2
    heads: int = 4
    kind: Literal["gat", "gcn", "transformer"] = "transformer"
    seed: int = 0
    epochs: int = 12
    patience: int = 3
    batch: int = 8
    rate: float = 5e-5
    decay: float = 0.01
    share: float = 0.2

    def __post_init__(self) -> None:
        if self.hidden < 1 or self.heads < 1 or self.hidden % self.heads:
            raise InvalidSettings(f"training: hidden={self.hidden} is no multiple of heads={self.heads}.")
        if min(self.layers, self.epochs, self.batch, self.patience) < 1 or not 0 < self.share <= 0.9:
            raise InvalidSettings("training: use layers, epochs, batch and patience from 1, and a share of 0 to 0.9.")
        if self.kind not in ("gat", "gcn", "transformer"):
            raise InvalidSettings(f"training: kind {self.kind!r} is unknown. Use gat, gcn or transformer.")


@dataclass(frozen=True, slots=True)
class Seen:
    """What a question reaches: n nodes with f(q, c), shape (n,), and unit vectors, shape (n, d); d_q; their scores."""

    subgraph: Subgraph
    gates: Numbers
    dense: Vectors
    question: Vectors
    scores: npt.NDArray[Any] = field(default_factory=lambda: np.zeros(0))

    @property
    def nodes(self) -> npt.NDArray[np.int64]:
        """Places in the mirror."""
        return self.subgraph.nodes


@dataclass(frozen=True, slots=True)
class Example:
    """A question to learn from: which of its nodes are right, shape (n,); ``exact`` where the very chunk is known.

    ``documents`` are the numbers of the nodes' documents, and what is right is ranked among these.
    """

    seen: Seen
    right: npt.NDArray[np.bool_]
    documents: npt.NDArray[np.int32]
    exact: npt.NDArray[np.bool_] | None = None


@dataclass(frozen=True, slots=True)
class Held:
    """A trained encoder: the module, its record, and digests of the questions that it has learned from."""

    encoder: Any
    record: dict[str, Any]

    def scores(self, seen: Seen) -> npt.NDArray[Any]:
        """Give R(q, c) of every node, shape (n,)."""
        from kgrag.methods.cg_rag import encoder

        return encoder.scores(self.encoder, seen)

    def seen(self, questions: Sequence[str]) -> list[str]:
        """Give those of the questions that it has learned from."""
        known = set(self.record.get("questions", ()))
        return [question for question in questions if _mark(question) in known]


def refuse_leaks(questions: Sequence[Labelled], held_out: Sequence[Labelled]) -> None:
    """Raise InvalidSettings when a question that is to be measured on is among those to learn from."""
    leaked = common([each.text for each in questions], [each.text for each in held_out])
    if leaked:
        raise InvalidSettings(
            f"training: {len(leaked)} of the questions are also among those to be measured on, as {leaked[0][:80]!r}. "
            "Take them out of one of the two files."
        )


def train(method: CgRag, questions: Sequence[Labelled], recipe: Recipe, *, progress: Progress = None) -> BuildReport:
    """Train an encoder on labelled questions; keep it, with a record, when it ranks better than what needs no training.

    Raises:
        InvalidSettings: fewer than 8 questions name a document that is stored and within reach.
    """
    from kgrag.methods.cg_rag import encoder

    started = datetime.now(UTC)
    examples, groups, texts = _examples(method, questions, progress)
    if len(examples) < _LEAST or len(set(groups)) < 2:
        raise InvalidSettings(
            f"training: {len(examples)} of {len(questions)} questions reach a document that they name, of "
            f"{len(set(groups))} documents; at least {_LEAST} questions about 2 documents are needed."
        )
    learned, kept = _parted(groups, recipe)
    fitted = encoder.fit([examples[i] for i in learned], [examples[i] for i in kept], recipe, progress=progress)
    record: dict[str, Any] = {
        "embedder": method.embedder.identity,
        "recipe": asdict(recipe),
        "figures": fitted.figures,
        "questions": sorted(_mark(texts[i]) for i in range(len(examples))),
    }
    counts = {"questions": len(questions), "reached": len(examples), "learned": len(learned), "held_out": len(kept)}
    counts["epochs"] = len(fitted.figures) - 2
    note = f"MRR on the held-out part: {fitted.figures[0]:.3f} before training, {max(fitted.figures):.3f} after"
    if fitted.figures[0] >= max(fitted.figures):
        return BuildReport(method.name, counts, notes=(f"{note}: not kept, since it ranks no better than untrained",))
    _keep(method, encoder.dumped(fitted.encoder, record), record, started)
    return BuildReport(method.name, counts, notes=(note,))


def _examples(
    method: CgRag, questions: Sequence[Labelled], progress: Progress
) -> tuple[list[Example], list[str], list[str]]:
    """Give what can be learned from, the document that each is grouped by, and the texts."""
    from kgrag.methods.cg_rag import graph_mirror

    known: dict[str, list[str]] = defaultdict(list)
    rows = method.store.select(queries.bind("cg_rag/identifiers", catalogue=method.store.names.catalogue))
    for document, identifier in rows.values():
        known[identifier].append(document)
    mirror = graph_mirror.fresh(method.store, method.lexical, save=not method.read_only)
    examples, groups, texts = [], [], []
    method.embedder.embed([each.text for each in questions], "query")
    for number, each in enumerate(questions, start=1):
        right = sorted({document for name in each.documents for document in known.get(name, (name,))})
        without = sorted({document for name in each.excluded for document in known.get(name, (name,))})
        seen = method.view(each.text, without)
        numbers = graph_mirror.numbers_of(mirror, right)
        documents = mirror.documents[seen.nodes]
        here = np.isin(documents, numbers)
        if here.any():
            examples.append(Example(seen, here, documents))
            groups.append(right[0])
            texts.append(each.text)
        if progress and (number % 100 == 0 or number == len(questions)):
            progress("cg_rag questions", number, len(questions))
    return examples, groups, texts


def _parted(groups: Sequence[str], recipe: Recipe) -> tuple[list[int], list[int]]:
    """Split by document: what to learn from, and what says when to stop."""
    names = sorted(set(groups))
    order = np.random.default_rng(recipe.seed).permutation(len(names))
    held_out = {names[i] for i in order[: max(1, round(recipe.share * len(names)))]}
    learned = [number for number, group in enumerate(groups) if group not in held_out]
    return learned, [number for number, group in enumerate(groups) if group in held_out]


def _mark(question: str) -> str:
    return digest("question", wording(question))


def _keep(method: CgRag, data: bytes, record: dict[str, Any], started: datetime) -> None:
    checksum = hashlib.sha256(data)
    _record(method.store, record, checksum.hexdigest(), started)
    if method.weights is None:
        _OPEN.setdefault(method.store, {})[""] = (None, _loaded(data))
        return
    path = method.weights / _FILE
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_suffix(".part")
        beside.write_bytes(checksum.digest() + data)
        beside.replace(path)
    except OSError as error:
        message = f"the trained encoder {path} could not be written: {error}. Free space or make the folder writable."
        raise StorageFailed(message) from error


def _record(store: TripleStore, record: dict[str, Any], checksum: str, started: datetime) -> None:
    """Publish what was trained, how, and how well it ranks."""
    told = {key: value for key, value in record.items() if key != "questions"}
    told |= {"questions": len(record["questions"]), "sha256": checksum}
    said = [
        (KG.parameters, ox.Literal(json.dumps(told, sort_keys=True))),
        (KG.model, ox.Literal(f"cg_rag encoder {checksum[:12]}")),
        (PROV.startedAtTime, _moment(started)),
        (PROV.endedAtTime, _moment(datetime.now(UTC))),
    ]
    deed = Deed(
        store.names.activity("train", "cg_rag", checksum, started.isoformat()), "Train a graph encoder", (), said
    )
    store.publish([provenance_draft([deed], method="cg_rag", names=store.names)])


def _moment(time: datetime) -> ox.Literal:
    return ox.Literal(time.isoformat(timespec="seconds").replace("+00:00", "Z"), datatype=XSD.dateTime)


def held(store: TripleStore, folder: Path | None, embedder: str) -> Held | None:
    """Give the trained encoder of a knowledge base; None without one, with a damaged one, or for another embedder."""
    opened = _OPEN.setdefault(store, {})
    if folder is not None:
        path = folder / _FILE
        state = _state(path)
        if opened.get(str(path), (None, None))[0] != state or str(path) not in opened:
            opened[str(path)] = (state, _read(path) if state else None)
    found = opened.get("" if folder is None else str(folder / _FILE), (None, None))[1]
    return found if found is not None and found.record.get("embedder") == embedder else None


def _state(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _read(path: Path) -> Held | None:
    try:
        data = path.read_bytes()
    except OSError:
        return None
    body = data[_CHECKSUM:]
    return _loaded(body) if hashlib.sha256(body).digest() == data[:_CHECKSUM] else None


def _loaded(data: bytes) -> Held | None:
    from kgrag.methods.cg_rag import encoder

    restored = encoder.restored(data)
    return None if restored is None else Held(*restored)
