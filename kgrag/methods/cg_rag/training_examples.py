"""Labelled questions as the graph encoder learns from them (CG-RAG, section 5.1), and the recipe that it is trained by.

Query read: ``cg_rag/identifiers``. Nothing is written.

Deviations:
    Negatives are the chunks of the question's own subgraph, which are hard ones. Those of other questions in the batch
    are none here: a representation depends on the question, so under this one they have none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from kgrag import queries
from kgrag.answering.labelled_questions import Labelled, common
from kgrag.errors import InvalidSettings
from kgrag.index.vector_spaces import Progress
from kgrag.methods.cg_rag.citation_arrays import CitationArrays, QuestionView, document_numbers
from kgrag.ports import TripleStore

__all__ = ["TrainingExample", "TrainingRecipe", "read_examples", "refuse_leaks", "split"]


@dataclass(frozen=True, slots=True)
class TrainingRecipe:
    """How an encoder is made and trained.

    Args:
        hidden: width of its layers, a multiple of ``heads``; 128 trains in minutes on a processor, the paper has 1,024.
        layers: L.
        heads: of attention.
        kind: "transformer", "gat" or "gcn" (Table 5).
        seed: of the split, the order and the first weights.
        epochs: at most.
        patience: epochs without a better figure on the held-out part, after which training ends.
        batch: questions per step.
        rate: step size of AdamW for matrices; single numbers learn twenty times as fast.
        decay: weight decay of AdamW for matrices.
        share: of the documents that are held out, 0 to 0.9.

    Raises:
        InvalidSettings: a value is outside its range.
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
class TrainingExample:
    """A question to learn from.

    Args:
        view: what the question reaches, n nodes.
        right: which nodes belong to a right document, shape (n,).
        documents: the number of each node's document, shape (n,); the right ones are ranked among these.
        exact: which nodes are the very chunk that answers, shape (n,); None where only the document is known.
        question: its text.
        group: IRI of the document that decides on which side of the split the question is.
        without: IRIs of the documents that are passed over.
    """

    view: QuestionView
    right: npt.NDArray[np.bool_]
    documents: npt.NDArray[np.int32]
    exact: npt.NDArray[np.bool_] | None = None
    question: str = ""
    group: str = ""
    without: tuple[str, ...] = ()


def refuse_leaks(questions: Sequence[Labelled], held_out: Sequence[Labelled]) -> None:
    """Raise InvalidSettings when a question that is to be measured on is among those to learn from."""
    leaked = common([question.text for question in questions], [question.text for question in held_out])
    if leaked:
        raise InvalidSettings(
            f"training: {len(leaked)} of the questions are also among those to be measured on, as {leaked[0][:80]!r}. "
            "Take them out of one of the two files."
        )


def read_examples(
    questions: Sequence[Labelled],
    *,
    store: TripleStore,
    arrays: CitationArrays,
    view: Callable[[str, Sequence[str]], QuestionView],
    progress: Progress = None,
) -> list[TrainingExample]:
    """Return an example for each question that reaches a document which it names.

    Args:
        questions: with the identifiers of the documents that answer them, and of those that are passed over.
        store: contains the documents.
        arrays: the citation graph that ``view`` reads.
        view: returns what a question reaches, as if some documents (IRIs) were not in the collection.
        progress: called after every 100 questions.
    """
    documents_of: dict[str, list[str]] = defaultdict(list)
    for document, identifier in store.select(
        queries.bind("cg_rag/identifiers", catalogue=store.names.catalogue)
    ).values():
        documents_of[identifier].append(document)

    def named(identifiers: frozenset[str]) -> list[str]:
        return sorted({document for name in identifiers for document in documents_of.get(name, (name,))})

    examples = []
    for count, question in enumerate(questions, start=1):
        answering = named(question.documents)
        without = named(question.excluded)
        reached = view(question.text, without)
        documents = arrays.documents[reached.nodes]
        right = np.isin(documents, document_numbers(arrays, answering))
        if right.any():
            text, group = question.text, answering[0]
            examples.append(
                TrainingExample(reached, right, documents, question=text, group=group, without=tuple(without))
            )
        if progress and (count % 100 == 0 or count == len(questions)):
            progress("cg_rag questions", count, len(questions))
    return examples


def split(
    examples: Sequence[TrainingExample], recipe: TrainingRecipe
) -> tuple[list[TrainingExample], list[TrainingExample]]:
    """Return the examples to learn from, and those that decide when to stop; no document has examples on both sides."""
    groups = sorted({example.group for example in examples})
    order = np.random.default_rng(recipe.seed).permutation(len(groups))
    held_out = {groups[number] for number in order[: max(1, round(recipe.share * len(groups)))]}
    learned = [example for example in examples if example.group not in held_out]
    return learned, [example for example in examples if example.group in held_out]
