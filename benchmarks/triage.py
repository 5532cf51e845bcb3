"""Which share of an ontology's facts is in the chunks that triage picks, beside chance.

    python -m benchmarks.triage --data DATA/text2kgbench
    python -m benchmarks.triage --data DATA/text2kgbench --sentences 50

The texts are sentences of Text2KGBench, some of each of its 22 ontologies. For each ontology all of them are ranked by
``kgrag.mapping.triage``; printed is which share of the ontology's gold triples is stated by the sentences picked, and
which share of its properties has any, over all ontologies together; then the same by words alone, by cosine alone, and
by chance.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from kgrag import KnowledgeBase
from kgrag.index.bm25 import LexicalIndex
from kgrag.index.vector_folder import FolderSpaces
from kgrag.mapping import triage
from kgrag.ports import Embedder, VectorIndex
from kgrag.settings import Settings

__all__ = ["main"]

_SHARES = (0.05, 0.10, 0.25, 0.50)
_SPACE = "chunk"
_PARTS = ("sub", "rel", "obj")

Triple = tuple[str, str, str]


@dataclass(frozen=True)
class _Corpus:
    """Sentences of all ontologies by IRI, ascending, and the gold triples of each ontology's own ones."""

    iris: Sequence[str]
    texts: Sequence[str]
    gold: Mapping[Path, Mapping[str, set[Triple]]]


def _corpus(data: Path, count: int) -> _Corpus:
    chosen = random.Random(1)
    gold: dict[Path, dict[str, set[Triple]]] = {}
    for folder in sorted(data.glob("*/*")):
        stated: dict[str, set[Triple]] = defaultdict(set)
        with gzip.open(folder / "sentences.jsonl.gz", "rt", encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                for one in row.get("triples") or [row]:
                    subject, relation, value = (str(one.get(f"{part}_label") or one.get(part)) for part in _PARTS)
                    stated[row["sent"]].add((subject, relation, value))
        sentences = sorted(stated)
        chosen.shuffle(sentences)
        gold[folder] = {sentence: stated[sentence] for sentence in sentences[:count]}
    texts = sorted({text for own in gold.values() for text in own})
    return _Corpus([f"urn:sentence:{number:06}" for number in range(len(texts))], texts, gold)


def _labels(folder: Path, embedder: Embedder) -> list[str]:
    with KnowledgeBase(settings=Settings(), embedder=embedder) as kb:
        kb.load(folder / "ontology.ttl")
        return triage.Triage(kb.store, kb.spaces, embedder, None, 0.5).labels()


def _rankings(
    labels: Sequence[str], corpus: _Corpus, words: LexicalIndex, vectors: VectorIndex, embedder: Embedder
) -> dict[str, npt.NDArray[np.float64]]:
    signals = triage.signals(corpus.iris, labels, words=words, vectors=vectors, embedder=embedder)
    chance = np.random.default_rng(1).random(len(corpus.iris))
    return {"triage": signals.sum(axis=0), "words alone": signals[0], "cosine alone": signals[1], "chance": chance}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print which share of facts and of properties is held at each share of the sentences."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="Folder of Text2KGBench.")
    parser.add_argument("--sentences", type=int, default=150, help="Of each ontology.")
    given = parser.parse_args(arguments)
    corpus = _corpus(given.data, given.sentences)
    with KnowledgeBase(settings=Settings()) as kb:
        embedder = kb.embedder
        spaces = FolderSpaces(None, identity=embedder.identity, dimension=embedder.dimension)
        vectors = spaces.space(_SPACE)
        vectors.upsert(corpus.iris, embedder.embed(corpus.texts, "passage"))
        words = LexicalIndex.build(corpus.iris, corpus.texts)
        facts: dict[str, npt.NDArray[np.float64]] = defaultdict(lambda: np.zeros(len(_SHARES)))
        properties: dict[str, npt.NDArray[np.float64]] = defaultdict(lambda: np.zeros(len(_SHARES)))
        all_facts = all_properties = 0
        for folder, own in corpus.gold.items():
            all_facts += sum(map(len, own.values()))
            all_properties += len({triple[1] for stated in own.values() for triple in stated})
            rankings = _rankings(_labels(folder, embedder), corpus, words, vectors, embedder)
            for name, worths in rankings.items():
                order = np.argsort(-worths, kind="stable")
                for place, share in enumerate(_SHARES):
                    picked = {corpus.texts[at] for at in order[: round(share * len(order))]}
                    facts[name][place] += sum(len(own[text]) for text in own if text in picked)
                    properties[name][place] += len({t[1] for text in own if text in picked for t in own[text]})
    print(f"{len(corpus.texts):,} sentences, {len(corpus.gold)} ontologies, {all_facts:,} facts")
    print(f"{'share picked':14}" + "".join(f"{share:>8.2f}" for share in _SHARES) + "   of properties")
    for name, held in facts.items():
        rows = (held / all_facts, properties[name] / all_properties)
        print(f"{name:14}" + "   ".join("".join(f"{figure:8.3f}" for figure in row) for row in rows))


if __name__ == "__main__":
    main()
