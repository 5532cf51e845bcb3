"""CG-RAG without training and without vectors: what do votes and citation markers find, and what is it made of?

Run ``python -m benchmarks.cg_rag_votes [--kb FOLDER] [--part dev|unseen] [--json FILE]`` (data from KGRAG_DATA). All
1,531 papers of CL-SciSumm, relevance by words alone, so that it runs in minutes on a processor; the code that ranks is
that of the method. The citing paper of a question is hidden: it is no candidate, does not vote, and its markers say
nothing. Questions are split by cited paper: on two thirds the settings were chosen (``--part dev``), one third is for
the figures. Intervals are 95 %, bootstrap over cited papers; differences are paired, votes less the row.

Three kinds of question: hand-labelled citing sentences, machine-labelled ones (of other papers, which few cite), and
*own words*: half of the words of a sentence of a paper that cites others, where that very paper is right. Citing
sentences are asked as they stand, and *bare*, with every author-year marker deleted.

Controls: the degree prior adds a share of log(1 + how many cite a paper), chosen on the first two thirds; *shuffled*
keeps how many each paper cites and is cited by, and deals out the rest at random.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyoxigraph as ox

from benchmarks import data_folder, dataset_layouts
from benchmarks.cg_rag_scisumm import interval, shuffled
from kgrag import KnowledgeBase, Settings, queries
from kgrag.evaluation.datasets import Question, read_dataset, read_questions
from kgrag.index import bm25
from kgrag.methods.cg_rag.citation_arrays import CitationArrays
from kgrag.methods.cg_rag.citation_graph import chunks_of
from kgrag.methods.cg_rag.citations import read_citations
from kgrag.methods.cg_rag.document_links import DocumentLinks
from kgrag.methods.cg_rag.document_votes import DocumentVotes, Signals
from kgrag.methods.cg_rag.markers import author_years, without_markers
from kgrag.methods.cg_rag.method import CgRag
from kgrag.text import ingestion

__all__ = ["main", "measured"]

_CHUNK_TOKENS = 180
_MACHINE_QUESTIONS = 3000
_MOST_ASKED = 400  # of each kind
_MOST_TRIED = 150  # to choose the share of the degree prior
_OWN_QUESTIONS = 400
_SHARES = (0.0, 0.05, 0.1, 0.2, 0.4)
_STRATA = ((1, 4), (5, 10), (11, 10**6))
_METRICS = (("Hit@1", 1), ("Hit@5", 5))
Scores = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Asked:
    """A question: the number of its document, of the hidden ones, and the name by which it is split."""

    text: str
    right: int
    hidden: npt.NDArray[np.int64]
    paper: str


@dataclass(frozen=True)
class Collection:
    """Papers as the method sees them, with the links as they are and shuffled."""

    words: bm25.LexicalIndex
    arrays: CitationArrays
    mixed: CitationArrays
    texts: Sequence[str]

    def signals(self, asked: Asked) -> Signals:
        """Return the relevance of every chunk by words."""
        relevance = self.words.relevance(asked.text)
        relevance[np.isin(self.arrays.documents, asked.hidden)] = 0
        none = np.zeros(0, np.int64)
        return Signals(np.zeros(0, np.float32), relevance, none, np.zeros(0), asked.hidden)

    def ranks(self, asked: Asked, share: float) -> dict[str, int]:
        """Return the rank of the right document by every row of the table."""
        signals, defaults = self.signals(asked), _default_votes()
        rows = {}
        for name, arrays in (("votes and markers", self.arrays), ("control: shuffled", self.mixed)):
            _, best, said = defaults.scores(asked.text, signals, arrays)
            rows[name] = best + said
        rows["BM25"] = best
        _, _, said = replace(defaults, markers=0).scores(asked.text, signals, self.arrays)
        rows["votes"] = best + said
        degrees = self.arrays.links.degrees(len(best), asked.hidden)
        rows["control: degree prior"] = best + share * np.log1p(degrees)
        return {name: _rank(scores, asked) for name, scores in rows.items()}


def _default_votes() -> DocumentVotes:
    default: Mapping[str, Any] = {name: each.default for name, each in CgRag.__dataclass_fields__.items()}
    return DocumentVotes(default["exponent"], default["votes"], default["markers"])


def _rank(scores: Scores, asked: Asked) -> int:
    scores = scores.copy()
    scores[asked.hidden] = -1
    return 1 + int((scores > scores[asked.right]).sum())


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kb", type=Path, help="keeps the ingested papers")
    parser.add_argument("--part", choices=("dev", "unseen"), default="unseen")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    folder = data_folder() / "scisumm"
    if not folder.is_dir():
        print(f"skipped: no {folder}; set KGRAG_DATA")
        return
    with tempfile.TemporaryDirectory() as scratch:
        found = measured(folder, options.kb or Path(scratch) / "scisumm.kb", options.part)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


def measured(folder: Path, path: Path, part: str) -> dict[str, Any]:
    """Print a table for every kind of question, and return their figures."""
    general = dataset_layouts.general_folder(folder)
    dataset = replace(read_dataset(general), chunk_tokens=_CHUNK_TOKENS)
    with KnowledgeBase(path, settings=Settings()) as kb:
        ingestion.ingest(dataset.documents(), store=kb.store, chunk_tokens=_CHUNK_TOKENS)
        collection, numbers = _collection(kb)
    hand = _asked(dataset.questions, numbers)
    papers = {each.paper for each in hand}
    machine = _some(_asked(read_questions(general / "questions_noisy.jsonl"), numbers), _MACHINE_QUESTIONS)
    machine = [each for each in machine if each.paper not in papers]
    kinds = {"hand-labelled": hand, "machine-labelled": machine, "own words": _own_words(collection)}
    found, draw = {}, np.random.default_rng(7)
    share = 0.0
    for name, asked in kinds.items():
        dev, unseen = _thirds(asked, draw)
        share = _share(collection, dev) if name != "own words" else share
        for bare in (False, True) if name != "own words" else (False,):
            chosen = [_bare(each) if bare else each for each in _some(dev if part == "dev" else unseen, _MOST_ASKED)]
            title = f"{name}{', bare' if bare else ''}"
            found[title] = _table(title, collection, chosen, share)
    return found


def _collection(kb: KnowledgeBase) -> tuple[Collection, Mapping[str, int]]:
    store = kb.store
    words, chunks, citations = bm25.fresh(store, None), chunks_of(store), read_citations(store)
    numbers = {document: number for number, document in enumerate(chunks)}
    document_of = {chunk: numbers[document] for document, own in chunks.items() for chunk in own}
    iris = words.iris.at(np.arange(len(words)))
    documents = [document_of[iri] for iri in iris]
    pairs = [(numbers[citing], numbers[cited]) for citing, all_cited in citations.cited.items() for cited in all_cited]
    by_iri: dict[str, str] = {}
    for document in chunks:
        rows = store.select(queries.bind("cg_rag/papers", documents=[ox.NamedNode(document)])).values()
        by_iri |= {row[1]: row[2] for row in rows}
    uses = [(marker, document_of[iri], -1) for iri, text in by_iri.items() for marker in author_years(text)]
    none = (np.zeros(0, np.int64),) * 4
    arrays, mixed = (
        CitationArrays.of(iris, documents, none, links=DocumentLinks.of(links, uses), revision=-1)
        for links in (pairs, shuffled(np.array(pairs), 0))
    )
    print(f"{len(iris):,} chunks, {len(pairs):,} citations, {len(arrays.links.markers):,} markers")
    rows = store.select(queries.bind("cg_rag/identifiers", catalogue=store.names.catalogue)).values()
    named = {identifier: numbers[document] for document, identifier in rows if document in numbers}
    return Collection(words, arrays, mixed, [by_iri[iri] for iri in iris]), named


def _asked(questions: Sequence[Question], numbers: Mapping[str, int]) -> list[Asked]:
    known = [(each, min(name for name in each.relevant if name in numbers)) for each in questions if
             any(name in numbers for name in each.relevant)]  # fmt: skip
    return [
        Asked(
            each.text, numbers[paper], np.array(sorted(numbers[n] for n in each.excluded if n in numbers), int), paper
        )
        for each, paper in known
    ]


def _own_words(collection: Collection) -> list[Asked]:
    """Return questions of half the words of one sentence a paper, without markers, of papers that cite others."""
    draw = np.random.default_rng(11)
    chunks: dict[int, list[int]] = defaultdict(list)
    for place, document in enumerate(collection.arrays.documents.tolist()):
        chunks[document].append(place)
    asked = []
    for document in draw.permutation(np.unique(collection.arrays.links.citing)).tolist()[:_OWN_QUESTIONS]:
        text = collection.texts[int(draw.choice(chunks[document]))]
        sentences = [each.split() for each in re.split(r"(?<=[.?!])\s", text) if not author_years(each)]
        long = [words for words in sentences if 12 <= len(words) <= 40]
        if long:
            words = long[int(draw.integers(len(long)))]
            kept = sorted(draw.choice(len(words), size=max(6, len(words) // 2), replace=False).tolist())
            asked.append(Asked(" ".join(words[i] for i in kept), document, np.zeros(0, np.int64), str(document)))
    return asked


def _some(asked: Sequence[Asked], most: int) -> list[Asked]:
    order = np.random.default_rng(1).permutation(len(asked))[:most]
    return [asked[place] for place in order]


def _thirds(asked: Sequence[Asked], draw: np.random.Generator) -> tuple[list[Asked], list[Asked]]:
    """Return the questions of two thirds of the papers, and those of the last third."""
    papers = draw.permutation(sorted({each.paper for each in asked})).tolist()
    unseen = set(papers[: len(papers) // 3])
    return [each for each in asked if each.paper not in unseen], [each for each in asked if each.paper in unseen]


def _bare(asked: Asked) -> Asked:
    return replace(asked, text=without_markers(asked.text))


def _share(collection: Collection, asked: Sequence[Asked]) -> float:
    """Return the share of the degree prior that finds most at the first place."""
    tried = _some(asked, _MOST_TRIED)
    row = "control: degree prior"
    found = {share: np.mean([collection.ranks(each, share)[row] == 1 for each in tried]) for share in _SHARES}
    return max(_SHARES, key=lambda share: float(found[share]))


def _table(title: str, collection: Collection, asked: Sequence[Asked], share: float) -> dict[str, Any]:
    ranks = [collection.ranks(each, share) for each in asked]
    degrees = collection.arrays.links.degrees(int(collection.arrays.documents.max()) + 1, np.zeros(0, np.int64))
    print(f"\n### {title}: {len(asked)} questions of {len({each.paper for each in asked})} papers; prior {share}\n")
    strata = [f"Hit@1, cited by {low} to {high}" if high < 10**6 else f"more than {low - 1}" for low, high in _STRATA]
    print(f"| | Hit@1 | Hit@5 | votes and markers less it, Hit@1 | Hit@5 | {' | '.join(strata)} |")
    print(f"|:--|{'--:|' * (4 + len(strata))}")
    found: dict[str, Any] = {}
    for row in ("BM25", "control: degree prior", "control: shuffled", "votes", "votes and markers"):
        cells = [f"{np.mean([rank[row] <= k for rank in ranks]):.3f}" for _, k in _METRICS]
        cells += list(_differences(row, ranks, asked))
        for low, high in _STRATA:
            hits = [
                rank[row] <= 1 for rank, each in zip(ranks, asked, strict=True) if low <= degrees[each.right] <= high
            ]
            cells.append(f"{np.mean(hits):.3f} ({len(hits)})" if hits else "–")
        print(f"| {row} | {' | '.join(cells)} |", flush=True)
        found[row] = cells
    return found


def _differences(row: str, ranks: Sequence[Mapping[str, int]], asked: Sequence[Asked]) -> Iterator[str]:
    for _, k in _METRICS:
        gains: dict[str, list[float]] = defaultdict(list)
        for rank, each in zip(ranks, asked, strict=True):
            gains[each.paper].append(float(rank["votes and markers"] <= k) - float(rank[row] <= k))
        mean, low, high = interval(gains)
        yield "" if row == "votes and markers" else f"{mean:+.3f} [{low:+.3f}, {high:+.3f}]"


if __name__ == "__main__":
    main()
