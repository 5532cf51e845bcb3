"""Fits the weights by which yes, no or maybe is read from the abstract of a study, and prints them.

``python -m benchmarks.findings_weights`` with KGRAG_DATA set. Questions: the development part of pubmedqa (two of
three), each with its own abstract. Printed besides: the share that is right in ten-fold cross-validation, and the share
that *yes* alone has.
"""

from __future__ import annotations

import gzip
import json

import numpy as np
import numpy.typing as npt

from benchmarks import data_folder
from benchmarks.evidence_sets import part_of
from kgrag.llm.extractive.study_findings import FEATURES, OUTCOMES, findings_features

__all__ = ["fitted", "main"]

Floats = npt.NDArray[np.float64]
_PULL = 3.0  # towards no weight: of 1.5, 3, 5 and 10 the likeliest in cross-validation
_STEPS = 3000
_STEP = 0.003
_FOLDS = 10


def fitted(features: Floats, outcomes: npt.NDArray[np.int64]) -> Floats:
    """Return the weights of a multinomial logistic regression, by steps down its slope."""
    wanted = np.eye(len(OUTCOMES))[outcomes]
    weights = np.zeros((features.shape[1], len(OUTCOMES)))
    pull = np.full((features.shape[1], 1), _PULL)
    pull[0] = 0.1
    for _ in range(_STEPS):
        weights -= _STEP * (features.T @ (shares(features, weights) - wanted) + pull * weights)
    return weights


def shares(features: Floats, weights: Floats) -> Floats:
    """Return the probability of each outcome."""
    scores = features @ weights
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def main() -> None:
    """Print the weights and what they are worth."""
    folder = data_folder() / "pubmedqa"
    with gzip.open(folder / "corpus.jsonl.gz", "rt", encoding="utf-8") as file:
        abstracts = {row["pmid"]: "\n".join(part["text"] for part in row["chunks"]) for row in map(json.loads, file)}
    with (folder / "questions.jsonl").open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    rows = [row for place, row in enumerate(rows) if part_of(place) == "dev"]
    features = np.array([findings_features(row["question"], abstracts[row["pmid"]]) for row in rows])
    outcomes = np.array([OUTCOMES.index(row["answer"]) for row in rows])
    print("WEIGHTS = (")
    for name, row in zip(FEATURES, fitted(features, outcomes).round(2).tolist(), strict=True):
        print(f"    {tuple(row)},  # {name}")
    print(")")
    print(f"yes: {np.mean(outcomes == 0):.3f}; cross-validation: {_cross_validated(features, outcomes):.3f}")


def _cross_validated(features: Floats, outcomes: npt.NDArray[np.int64]) -> float:
    order = np.random.default_rng(0).permutation(len(outcomes))
    right = 0
    for fold in range(_FOLDS):
        held = order[fold::_FOLDS]
        others = np.setdiff1d(order, held)
        found = shares(features[held], fitted(features[others], outcomes[others])).argmax(axis=1)
        right += int(np.sum(found == outcomes[held]))
    return right / len(outcomes)


if __name__ == "__main__":
    main()
