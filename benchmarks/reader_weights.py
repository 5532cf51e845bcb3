"""Fits weights of the reader without a model, and prints them as those of ``sentence_ranking`` are written.

Sentences: a softmax over the sentences of a question's evidence, so that right ones come before others, drawn towards
the weights that are there. Probability: a logistic regression on what speaks for the first one, in units of its spread,
by whether the answer that the reader makes of it is right; those that a rule refuses are left out. Questions: the
development halves of ``reader_questions.jsonl`` with their packages (see ``reader_debian``), and sixty each of the
development sets popqa and hotpot_train100 at half weight, whose evidence is found by BM25.

What it printed on 2026-11-28, with one more thing that spoke for a sentence, was better on these questions and worse on
held-back ones, so that the weights there are still earlier ones.

``python -m benchmarks.reader_weights PACKAGES [FILE]`` with KGRAG_DATA set; FILE has questions of a third set, whose
development half is then used too. Printed before the weights: what comes of the questions of each world (package) with
weights fitted on all others, which is what generalises; without its package, a question is left out with all such ones.
"""

from __future__ import annotations

import gzip
import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks import data_folder
from benchmarks.reader_debian import OWN_QUESTIONS, Given, is_right, knowledge_base, questions, share
from kgrag.answering.evidence_pieces import evidence_of
from kgrag.answering.source_sentences import Quote, cited
from kgrag.evaluation.metrics import contains_answer
from kgrag.index.bm25 import LexicalIndex
from kgrag.llm.embedders import CachedEmbedder, SentenceTransformerEmbedder
from kgrag.llm.extractive import sentence_ranking
from kgrag.llm.extractive.evidence_answers import with_value_first
from kgrag.llm.extractive.evidence_sentences import EvidenceText, ProseSentence, read_sentences
from kgrag.llm.extractive.meaning import Closeness
from kgrag.llm.extractive.question_words import WeighedQuestion, read_question
from kgrag.llm.extractive.sentence_windows import sentence_window
from kgrag.llm.extractive.value_vetoes import value_lacking
from kgrag.text import documents

__all__ = ["Ranking", "fitted", "left_out", "main"]

Floats = npt.NDArray[np.float64]
_PULL = 1.0  # towards the weights that are there
_STEPS = 400
_LEAST_SPREAD = 1e-6
_STEP = 0.05
_PASSAGES = 5
_QUESTIONS_PER_SET = 60
_THRESHOLDS = (0.3, 0.35, 0.4, 0.45, 0.5)
_SETS = {"popqa": "popqa", "hotpot_train100": "multihop/hotpot_train100"}


@dataclass(frozen=True, slots=True)
class Ranking:
    """A question, the sentences of its evidence, which of them are right, and how much the question counts.

    ``judge`` returns whether some sentences are a right answer. ``world`` is the package that the question is about, ""
    where it is not known, None for other sets.
    """

    asked: str
    question: WeighedQuestion
    rows: Sequence[sentence_ranking.RankedSentence]
    right: Floats
    weight: float
    judge: Callable[[Sequence[ProseSentence]], bool]
    world: str | None = None
    answerable: bool = True

    def scored(self, weights: Floats) -> tuple[list[sentence_ranking.RankedSentence], bool | None]:
        """Return the sentences in the order of other weights, and whether the answer is right; None where refused."""
        scores = [float(np.dot(row.features, weights)) for row in self.rows]
        order = sorted(range(len(scores)), key=lambda at: (-scores[at], self.rows[at].sentence.number))
        rows = [
            sentence_ranking.RankedSentence(self.rows[at].sentence, self.rows[at].features, scores[at]) for at in order
        ]
        rows = with_value_first(self.asked, rows)
        answer = [row.sentence for row in sentence_window(self.asked, rows[0], rows)]
        if value_lacking(self.asked, " ".join(f"{one.label} {one.text}" for one in answer)):
            return rows, None
        return rows, self.judge(answer)


def fitted(gradient: Callable[[Floats], Floats], prior: Floats, pull: float) -> Floats:
    """Return the weights at which a gradient and the pull towards a prior cancel out, by Adam."""
    weights, mean, square = prior.copy(), np.zeros_like(prior), np.zeros_like(prior)
    for step in range(1, _STEPS + 1):
        slope = gradient(weights) + pull * (weights - prior)
        mean, square = 0.9 * mean + 0.1 * slope, 0.999 * square + 0.001 * slope**2
        weights = weights - _STEP * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
    return weights


def _of_ranking(rankings: Sequence[Ranking]) -> Callable[[Floats], Floats]:
    groups = [(np.array([row.features for row in one.rows]), one) for one in rankings if one.right.any()]

    def gradient(weights: Floats) -> Floats:
        total = np.zeros_like(weights)
        for features, one in groups:
            scores = features @ weights
            shares = np.exp(scores - scores.max())
            shares /= shares.sum()
            wanted = shares * one.right
            total += one.weight * (features.T @ (shares - wanted / wanted.sum()))
        return total

    return gradient


def _certainty(rankings: Sequence[Ranking], weights: Floats) -> Floats:
    """Return the weights of the probability that the answer which begins with the best sentence is right."""
    judged = [(one, *one.scored(weights)) for one in rankings if one.rows]
    kept = [(one, rows, right) for one, rows, right in judged if right is not None]
    evidence = np.array([sentence_ranking.certainty(one.question, rows) for one, rows, _ in kept])
    right = np.array([float(is_so) for *_, is_so in kept])
    counts = np.array([one.weight for one, *_ in kept])
    mean, spread = evidence.mean(axis=0), evidence.std(axis=0) + _LEAST_SPREAD
    mean[0], spread[0] = 0.0, 1.0  # the constant
    scaled = (evidence - mean) / spread
    found = fitted(
        lambda certainty: scaled.T @ (counts * (1 / (1 + np.exp(-scaled @ certainty)) - right)),
        np.zeros(scaled.shape[1]),
        _PULL / 2,
    )
    unscaled: Floats = found / spread
    unscaled[0] -= float(unscaled[1:] @ mean[1:])
    return unscaled


def left_out(rankings: Sequence[Ranking]) -> list[tuple[Ranking, float, bool]]:
    """Return each question about documentation with the probability of its answer, and whether that is right.

    Weights are fitted on the questions of all other worlds; an answer that a rule refuses has the probability 0.
    """
    judged: list[tuple[Ranking, float, bool]] = []
    for world in sorted({one.world for one in rankings if one.world is not None}):
        others = [one for one in rankings if one.world != world]
        weights = fitted(_of_ranking(others), np.array(sentence_ranking.WEIGHTS), _PULL)
        certainty = _certainty(others, weights)
        for one in rankings:
            if one.world != world:
                continue
            rows, right = one.scored(weights) if one.rows else ([], None)
            evidence = sentence_ranking.certainty(one.question, rows) if rows else ()
            probability = 1 / (1 + math.exp(-float(np.dot(evidence, certainty)))) if right is not None else 0.0
            judged.append((one, probability, bool(right)))
    return judged


def _print_left_out(rankings: Sequence[Ranking]) -> None:
    judged = left_out(rankings)
    answerable = [one for one, *_ in judged if one.answerable]
    for threshold in _THRESHOLDS:
        given = [(one, right) for one, probability, right in judged if probability >= threshold]
        right = sum(is_right for _, is_right in given)
        refused = len(judged) - len(answerable) - sum(not one.answerable for one, _ in given)
        print(
            f"left out, from {threshold}: right {share(right, len(answerable))},",
            f"wrong {share(len(given) - right, len(judged))},",
            f"abstained on {share(refused, len(judged) - len(answerable))} unanswerable",
        )


def main(arguments: Sequence[str]) -> None:
    """Print what comes of the questions of each world without it, and both tuples of weights."""
    embedder = CachedEmbedder(SentenceTransformerEmbedder(), None)
    nearness = Closeness(lambda: embedder)
    packages, *files = map(Path, arguments)
    halves = [("development", OWN_QUESTIONS), ("second development", OWN_QUESTIONS)]
    halves += [("third development", file) for file in files]
    with ExitStack() as stack:  # answers are judged by the stored texts once the weights are there
        rankings = [one for half in halves for one in _of_packages(packages, half, nearness, stack)]
        for name in _SETS:
            rankings += _of_set(name, nearness)
        _print_left_out(rankings)
        weights = fitted(_of_ranking(rankings), np.array(sentence_ranking.WEIGHTS), _PULL)
        certainty = _certainty(rankings, weights)
    print("WEIGHTS =", tuple(weights.round(2).tolist()))
    print("CERTAINTY_WEIGHTS =", tuple(certainty.round(2).tolist()))


def _ranking(
    asked: str,
    texts: Sequence[EvidenceText],
    nearness: Closeness,
    judge: Callable[[Sequence[ProseSentence]], bool],
    *,
    weight: float,
) -> Ranking:
    sentences = [one for text in texts for one in read_sentences(text)]
    question = read_question(asked, [one.own | one.about | one.around for one in sentences])
    rows = sentence_ranking.ranked(asked, question, texts, sentences, nearness)
    right = np.array([float(judge([row.sentence])) for row in rows])
    return Ranking(asked, question, rows, right, weight, judge)


def _of_packages(packages: Path, half: tuple[str, Path], nearness: Closeness, stack: ExitStack) -> Iterator[Ranking]:
    """Yield the questions of a half and a file as they are asked of the pages of their packages."""
    opened = stack.enter_context(knowledge_base(packages, Path(stack.enter_context(TemporaryDirectory())), *half))
    stored = opened.documents()
    files = {document.iri: document.id for document in stored}
    texts = {document.iri: documents.document_text(opened.store, document.iri) for document in stored}
    for row in questions(*half):
        pieces = evidence_of(opened.retrieve(row["question"], k=_PASSAGES), opened.store)
        shown = []
        for piece in pieces:
            names = [str(piece.hit.attributes.get(name) or "") for name in ("title", "heading")]
            heading = " / ".join(filter(None, names))
            shown.append(EvidenceText(piece.number, "chunk", heading, piece.text, "", piece.before, piece.following))

        def judge(ones: Sequence[ProseSentence], row: dict[str, Any] = row, pieces: Any = pieces) -> bool:
            quotes = [
                quote
                for one in ones
                for quote in cited(Quote(one.text, one.number), one.text, pieces, opened.store, sentence=0)
            ]
            text = " ".join(f"{one.label} {one.text}" for one in ones)
            return is_right(row, Given(text, tuple(quote.citation for quote in quotes)), files, texts)

        world = str(row.get("package") or row.get("world") or "")
        ranking = _ranking(row["question"], shown, nearness, judge, weight=1.0)
        yield replace(ranking, world=world, answerable=row["kind"] != "unanswerable")


def _of_set(name: str, nearness: Closeness) -> Iterator[Ranking]:
    folder = data_folder() / _SETS[name]
    with gzip.open(folder / "corpus.jsonl.gz", "rt", encoding="utf-8") as file:
        corpus = [json.loads(line) for line in file]
    bodies = [str(passage["text"]) for passage in corpus]
    titles = [str(passage["title"]) for passage in corpus]
    passages = [f"{title}\n{body}" for title, body in zip(titles, bodies, strict=True)]
    index = LexicalIndex.build([f"{at:06}" for at in range(len(corpus))], passages)
    lines = (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    for row in map(json.loads, lines[:_QUESTIONS_PER_SET]):
        places = [int(key) for key, _ in index.search(row["question"], _PASSAGES)]
        texts = [EvidenceText(number, "chunk", titles[at], bodies[at]) for number, at in enumerate(places, 1)]
        gold = {number for number, at in enumerate(places, 1) if at in row["supporting"]}
        answers = row.get("answers") or [row["answer"]]

        def judge(ones: Sequence[ProseSentence], gold: set[int] = gold, answers: list[str] = answers) -> bool:
            return any(one.number in gold and bool(contains_answer(one.text, answers)) for one in ones)

        yield _ranking(row["question"], texts, nearness, judge, weight=0.5)


if __name__ == "__main__":
    main(sys.argv[1:])
