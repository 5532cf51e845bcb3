"""Shards beside one knowledge base of all their documents: same hits, scores and answers, and what asking them costs.

    python -m benchmarks.sharded_search                            2wiki_dev over 2, 4 and 16 shards
    python -m benchmarks.sharded_search --sets hotpot_dev --shards 4 --answers 20

Documents go to shards by the hash of their IRI; texts are embedded by a hash, so that no figure is that of an embedding
model. Printed is of how many questions the ten hits are the same, with the bits of their scores, by each method; how
many answers have the same text, citations and confidence; and of how many questions BM25 would have the same ten hits
if each shard scored by its own statistics. Milliseconds are medians of processor time of the process.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from typing import Any

from benchmarks import evidence_sets
from kgrag import KnowledgeBase, Settings, Shards
from kgrag.knowledge_base.shard_splitting import shard_number
from kgrag.model import Answer, Document, Hit
from kgrag.testing import HashEmbedder
from kgrag.text import ingestion

__all__ = ["main"]

_METHODS = ("passages", "passages:signal=dense", "passages:signal=bm25", "auto")
_K = 10


def _base(documents: Iterable[Document], chunk_tokens: int) -> KnowledgeBase:
    kb = KnowledgeBase(settings=Settings(model="extractive", completions="off"), embedder=HashEmbedder())
    ingestion.ingest(documents, store=kb.store, chunk_tokens=chunk_tokens)
    kb.build("auto")
    return kb


def _same(hits: Sequence[Hit]) -> list[tuple[str, float, str]]:
    return [(hit.iri, hit.score, hit.text) for hit in hits]


def _told(answer: Answer) -> tuple[Any, ...]:
    return answer.text, answer.citations, answer.confidence, answer.values, answer.unknown


def _asked(of: KnowledgeBase | Shards, method: str, questions: Sequence[str]) -> tuple[list[Any], float]:
    """Return what is found for each question, and the median of the milliseconds."""
    found, times = [], []
    for question in questions:
        started = time.process_time()
        hits = of.retrieve(question, method=method, k=_K)
        times.append(1000 * (time.process_time() - started))
        found.append(_same(hits))
    return found, statistics.median(times)


def _compare(whole: KnowledgeBase, bases: Sequence[KnowledgeBase], questions: Sequence[str], answers: int) -> None:
    with Shards(bases) as shards:
        for method in _METHODS:
            expected, own = _asked(whole, method, questions)
            found, of_shards = _asked(shards, method, questions)
            same = sum(one == other for one, other in zip(expected, found, strict=True))
            times = f"{own:.1f} ms, shards {of_shards:.1f} ms"
            print(f"  {method:24} same hits and scores {same} of {len(questions)}; {times}", flush=True)
        told = [_told(whole.ask(question)) == _told(shards.ask(question)) for question in questions[:answers]]
        print(f"  {'answers of auto':24} same {sum(told)} of {len(told)}")
    alone = sum(_own_statistics(bases, question) == _order(whole, question) for question in questions)
    print(f"  {'BM25, own statistics':24} same ten hits {alone} of {len(questions)}")


def _order(kb: KnowledgeBase, question: str) -> list[str]:
    return [hit.iri for hit in kb.retrieve(question, method="passages:signal=bm25", k=_K)]


def _own_statistics(bases: Sequence[KnowledgeBase], question: str) -> list[str]:
    hits = [hit for base in bases for hit in base.retrieve(question, method="passages:signal=bm25", k=_K)]
    return [hit.iri for hit in sorted(hits, key=lambda hit: (-hit.score, hit.iri))[:_K]]


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare shards with one knowledge base for each set and number of shards."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sets", nargs="+", default=["2wiki_dev"])
    parser.add_argument("--shards", nargs="+", type=int, default=[2, 4, 16])
    parser.add_argument("--answers", type=int, default=1000, help="Questions that are answered, at most.")
    given = parser.parse_args(arguments)
    for name in given.sets:
        dataset = evidence_sets.dataset_of(name)
        if dataset is None:
            raise SystemExit(f"there are no data of {name}: set KGRAG_DATA, or choose other --sets")
        documents, questions = list(dataset.documents()), [question.text for question in dataset.scored]
        with _base(documents, dataset.chunk_tokens) as whole:
            iris = {document.id: document.iri for document in whole.documents()}
            for count in given.shards:
                print(f"{name}: {len(documents):,} documents over {count} shards", flush=True)
                with ExitStack() as stack:
                    parts = [
                        [one for one in documents if shard_number(iris[one.id], count) == number]
                        for number in range(count)
                    ]
                    bases = [stack.enter_context(_base(part, dataset.chunk_tokens)) for part in parts]
                    _compare(whole, bases, questions, given.answers)


if __name__ == "__main__":
    main()
