"""Fits ``kgrag/llm/extractive/fitted_weights.json``: spans, the routes to an answer, and the verdicts of studies.

Spans: a softmax over the spans of a question's evidence. Routes: a logistic regression each, on whether its answer is
right, so that the probabilities of routes can be compared. Verdicts: a multinomial one. Questions: the two development
thirds of the sets of ``benchmarks.reader_values`` with their gold passages and with the five best by BM25, and the
development half of ``benchmarks.reader_debian``, which counts three times.

``python -m benchmarks.reader_routes PACKAGES`` with KGRAG_DATA set; about 25 minutes of CPU, nearly all for embeddings.
Cross-validated figures are printed; the file is written.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression

from benchmarks.reader_debian import Given, is_right, knowledge_base
from benchmarks.reader_debian import questions as package_questions
from benchmarks.reader_values import SETS, Asked, passages, questions
from benchmarks.reader_weights import fitted as descended
from kgrag.answering.short_answers import short_answers
from kgrag.answering.source_sentences import Quote, cited, evidence_of
from kgrag.evaluation.metrics import contains_answer, exact_match
from kgrag.index.bm25 import LexicalIndex
from kgrag.llm.embedders import CachedEmbedder, SentenceTransformerEmbedder
from kgrag.llm.extractive import evidence_answers, sentence_ranking
from kgrag.llm.extractive.answer_routes import ROUTE_FEATURES, RoutedAnswer, routed
from kgrag.llm.extractive.evidence_sentences import Candidate, EvidenceText, read_sentences
from kgrag.llm.extractive.fitted_weights import FILE
from kgrag.llm.extractive.linked_facts import passages_of
from kgrag.llm.extractive.meaning import Closeness
from kgrag.llm.extractive.question_types import asked_for
from kgrag.llm.extractive.question_words import read_question, terms
from kgrag.llm.extractive.short_spans import SPAN_FEATURES, spans_of
from kgrag.llm.extractive.study_verdicts import VERDICT_FEATURES, VERDICTS, verdict_features
from kgrag.model import Citation
from kgrag.text import documents
from kgrag.text.sentences import split

__all__ = ["main"]

Floats = npt.NDArray[np.float64]
_PASSAGES = 5
_PULL = 0.5
_OF_PACKAGES = 3.0
_STRENGTH: Final = {"routes": 0.5, "verdicts": 0.1}  # of the regression: smaller is nearer to 0
_STUDIES = "pubmedqa"


@dataclass(frozen=True, slots=True)
class _Example:
    """What one route says to a question: its features, whether it is right, how much it counts."""

    route: str
    features: tuple[float, ...]
    right: bool
    weight: float


def main(arguments: Sequence[str]) -> None:
    """Fit everything and write the file."""
    embedder = CachedEmbedder(SentenceTransformerEmbedder(), None)
    nearness = Closeness(lambda: embedder)
    sets = {name: (questions(name, "dev"), passages(name)) for name in SETS if name != _STUDIES}
    shown = [(one, texts) for name in sets for one, texts in _evidence(*sets[name])]
    written = {"spans": _span_weights(shown)}
    _write(written)
    examples = [row for one, texts in shown for row in _examples(one, texts, nearness)]
    examples += _of_packages(Path(arguments[0]), nearness)
    for route in ("linked", "sentence", "span"):
        rows = [row for row in examples if row.route == route]
        model = LogisticRegression(C=_STRENGTH["routes"], fit_intercept=False, max_iter=3000)
        model.fit(
            np.array([row.features for row in rows]),
            np.array([row.right for row in rows]),
            sample_weight=[row.weight for row in rows],
        )
        written[route] = _named(ROUTE_FEATURES[route], model.coef_[0])
        print(route, len(rows), "examples, right", f"{np.mean([row.right for row in rows]):.3f}")
    _write(written | _verdict_weights())


def _write(weights: Mapping[str, Mapping[str, float]]) -> None:
    """Write weights over those that are there; further processes read them, this one has read the former."""
    known = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    FILE.write_text(json.dumps({**known, **weights}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _named(features: Sequence[str], weights: Floats) -> dict[str, float]:
    return dict(zip(features, np.round(weights, 3).tolist(), strict=True))


def _evidence(
    asked: Sequence[Asked], corpus: Mapping[str, tuple[str, str]]
) -> Iterator[tuple[Asked, list[EvidenceText]]]:
    """Yield each question with its gold passages, and with the best by words."""
    keys = list(corpus)
    index = LexicalIndex.build([f"{at:06}" for at in range(len(keys))], ["\n".join(corpus[key]) for key in keys])
    for one in asked:
        best = [keys[int(at)] for at, _ in index.search(one.text, _PASSAGES)]
        for chosen in (one.supporting, best):
            yield one, [EvidenceText(at, "passage", *corpus[key]) for at, key in enumerate(chosen, 1)]


def _span_weights(shown: Sequence[tuple[Asked, list[EvidenceText]]]) -> dict[str, float]:
    groups: list[tuple[Floats, Floats]] = []
    for one, texts in shown:
        if asked_for(one.text).kind in ("boolean", "choice"):
            continue
        spans = spans_of(one.text, passages_of(texts))
        right = np.array([exact_match(span.text, one.answers) for span in spans])
        if right.any():
            groups.append((np.array([span.features for span in spans]), right))

    def gradient(weights: Floats) -> Floats:
        total = np.zeros_like(weights)
        for features, right in groups:
            scores = features @ weights
            shares = np.exp(scores - scores.max())
            shares /= shares.sum()
            wanted = shares * right
            total += features.T @ (shares - wanted / wanted.sum())
        return total

    return _named(SPAN_FEATURES, descended(gradient, np.zeros(len(SPAN_FEATURES)), _PULL))


def _routes(
    question: str, texts: Sequence[EvidenceText], nearness: Closeness
) -> Iterator[tuple[RoutedAnswer, list[Candidate]]]:
    """Yield the answer of each route, with the sentences of the route "sentence"."""
    sentences = [one for text in texts for one in read_sentences(text)]
    weighed = read_question(question, [one.own | one.about | one.around for one in sentences])
    rows = sentence_ranking.ranked(question, weighed, texts, sentences, nearness)
    lacking = {text.number for text in texts if sentence_ranking.veto_of(question).lacking(text)}
    for answer in routed(question, weighed, texts, rows, lacking):
        chosen = evidence_answers.chosen_of(weighed, rows) if answer.route == "sentence" else []
        yield answer, chosen


def _examples(one: Asked, texts: Sequence[EvidenceText], nearness: Closeness) -> Iterator[_Example]:
    for answer, chosen in _routes(one.text, texts, nearness):
        if answer.route == "verdict":
            continue
        if answer.route == "sentence":
            said = [candidate.text for candidate in chosen]
            quotes = [
                Citation(quote, "", "", 0, len(quote), sentence=at)
                for at, candidate in enumerate(chosen)
                for _, quote in candidate.quotes
            ]
            values = [value.text for value in short_answers(one.text, said, quotes)]
        else:
            said, values = [], [str(value["text"]) for value in answer.values]
        right = exact_match(values[0], one.answers) if values else contains_answer(" ".join(said), one.answers)
        yield _Example(answer.route, answer.features, bool(right), 1.0)


def _of_packages(packages: Path, nearness: Closeness) -> Iterator[_Example]:
    with TemporaryDirectory() as folder, knowledge_base(packages, Path(folder)) as opened:
        stored = opened.documents()
        files = {document.iri: document.id for document in stored}
        texts = {document.iri: documents.document_text(opened.store, document.iri) for document in stored}
        for row in package_questions("development"):
            pieces = evidence_of(opened.retrieve(row["question"], k=_PASSAGES), opened.store)
            shown = [
                EvidenceText(
                    piece.number, "chunk", " / ".join(piece.headings), piece.text, "", piece.before, piece.following
                )
                for piece in pieces
            ]
            for answer, chosen in _routes(row["question"], shown, nearness):
                quoted: list[tuple[int, str]] = [quote for one in chosen for quote in one.quotes]
                given = " ".join(one.text for one in chosen) or " ".join(text for _, text in answer.sentences)
                citations = tuple(
                    carried.citation
                    for number, quote in quoted or answer.sentences
                    for carried in cited(Quote(quote, number), given, pieces, opened.store, sentence=0)
                )
                right = row["kind"] != "unanswerable" and is_right(row, Given(given, citations), files, texts)
                if answer.route != "verdict":
                    yield _Example(answer.route, answer.features, right, _OF_PACKAGES)


def _verdict_weights() -> dict[str, dict[str, float]]:
    rows: list[tuple[float, ...]] = []
    corpus, asked = passages(_STUDIES), questions(_STUDIES, "dev")
    for one in asked:
        text = corpus[one.supporting[0]][1]
        sentences = [text[start:end] for start, end in split(text)]
        stems = [frozenset(terms(sentence)) for sentence in sentences]
        rows.append(verdict_features(one.text, sentences, frozenset(terms(one.text)), stems))
    model = LogisticRegression(C=_STRENGTH["verdicts"], max_iter=3000)
    model.fit(np.array(rows), [one.answers[0] for one in asked])
    weights: dict[str, Any] = {}
    for name in VERDICTS:
        at = list(model.classes_).index(name)
        row = model.coef_[at].copy()
        row[0] += model.intercept_[at]
        weights[f"verdict {name}"] = _named(VERDICT_FEATURES, row)
    return weights


if __name__ == "__main__":
    main(sys.argv[1:])
