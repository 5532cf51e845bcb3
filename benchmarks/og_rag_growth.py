"""How long OG-RAG takes to retrieve as the hypergraph grows, beside the authors' algorithm re-implemented plainly.

Run ``python -m benchmarks.og_rag_growth [LARGEST] [--keep FOLDER] [--json FILE] [--plot FILE.png]`` (default 100000
hypernodes, up to 1000000; the plot needs ``pip install '.[plots]'``). The hypergraph is made up after the news data:
records of about 20 facts, 9.7 hypernodes a fact, mean degree 5.9, a hub in a third of all hyperedges, 400 keys drawn by
Zipf's law, one value to 1.2 hypernodes. Vectors lie in 200 clusters of 384 dimensions. The store is on disk; questions
are not embedded, their vectors are made up too. Times are of retrieval with the facts and the spans of their sources,
one question after the other, by the clock and by the processor, in a process that only opens the store: its first
question reads or maps every index, and the memory given is that of this process after 100 questions more. With
``--keep`` a store that an earlier run left whole is measured without being built again.

The authors' algorithm: cosine of every key and every value with the question, both lists sorted in Python, hyperedges
of every hypernode from a dictionary, greedy cover. Everything is in memory already and no source is given.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal

import numpy as np

from kgrag.index.vector_folder import FolderSpaces
from kgrag.mapping.factual_blocks import Edge, line
from kgrag.methods.og_rag import hypergraph_drafts
from kgrag.methods.og_rag.method import OgRag
from kgrag.model import Chunk, Document, GraphDraft
from kgrag.ports import Vectors
from kgrag.store.oxigraph import OxigraphStore
from kgrag.testing import ScriptedModel
from kgrag.text import documents
from kgrag.vocab import Names

__all__ = ["main"]

_DIMENSION = 384
_KEYS = 400
_CLUSTERS = 200
_FACTS = 20  # of a record
_QUESTIONS = 50
_BATCH = 20_000
_QUESTIONS_FILE = "questions.json"
_WORDS = [f"word{number}" for number in range(20_000)]


@dataclass(frozen=True)
class Hypergraph:
    """Hyperedges in the order of their records, and the distinct keys and values with their vectors, (n, 384)."""

    records: list[list[Edge]]
    keys: dict[str, int]
    values: dict[str, int]
    key_vectors: Vectors
    value_vectors: Vectors


def made_up(nodes: int, seed: int = 7) -> Hypergraph:
    """Make up a hypergraph of about so many hypernodes."""
    draw = np.random.default_rng(seed)
    zipf = 1.0 / np.arange(1, _KEYS + 1)
    keys = [f"Record part{number % 20} attribute{number}" for number in range(_KEYS)]
    order = iter(draw.choice(_KEYS, size=6 * nodes + 1000, p=zipf / zipf.sum()).tolist())
    words = iter(draw.zipf(1.3, size=40 * nodes + 10_000).tolist())
    hubs = [(keys[0], f"hub {number}") for number in range(10)]
    records: list[list[Edge]] = []
    count = 0

    def fresh() -> tuple[str, str]:
        nonlocal count
        count += 1
        said = " ".join(_WORDS[next(words) % len(_WORDS)] for _ in range(6))
        return keys[next(order)], f"{said} {count - count % 6 if count % 6 == 1 else count}"

    while count < nodes:
        hub = hubs[0] if draw.random() < 1 / 3 else hubs[int(draw.integers(1, 10))]
        shared = [hub, *(fresh() for _ in range(5))]
        facts = []
        for _ in range(_FACTS // 4):
            part = [fresh(), fresh()]
            facts += [frozenset([*shared, *part, fresh(), part[0]]) for _ in range(4)]
        records.append(facts)
    return _with_vectors(records, draw)


def _with_vectors(records: list[list[Edge]], draw: np.random.Generator) -> Hypergraph:
    pairs = sorted({pair for facts in records for fact in facts for pair in fact})
    keys = {key: place for place, key in enumerate(dict.fromkeys(key for key, _ in pairs))}
    values = {value: place for place, value in enumerate(dict.fromkeys(value for _, value in pairs))}
    return Hypergraph(records, keys, values, clustered(len(keys), draw), clustered(len(values), draw))


def clustered(count: int, draw: np.random.Generator) -> Vectors:
    """Return unit vectors around 200 centres, float32 of shape (count, 384)."""
    centres = np.random.default_rng(1).normal(size=(_CLUSTERS, _DIMENSION)).astype(np.float32)
    rows = centres[draw.integers(0, _CLUSTERS, count)]
    for first in range(0, count, 100_000):
        part = rows[first : first + 100_000]
        part += draw.normal(scale=0.7, size=part.shape).astype(np.float32)
        part /= np.linalg.norm(part, axis=1, keepdims=True)
    return rows


def drafted(graph: Hypergraph, names: Names) -> Iterator[list[GraphDraft]]:
    """Yield batches of drafts: a document a record, its hyperedges, and the hypernodes."""
    batch: list[GraphDraft] = []
    edges: list[Edge] = []
    activity = names.activity("benchmark")
    for number, facts in enumerate(graph.records):
        pieces, start = [], 0
        for order, fact in enumerate(facts):
            text = line(fact)
            pieces.append(Chunk(text, start, start + len(text), order, len(text.split())))
            start += len(text) + 1
        document = Document("\n".join(piece.text for piece in pieces), f"record {number}")
        iri = documents.document_iri(document, names)
        batch.append(documents.document_draft(document, pieces, names=names, record=True))
        for fact, piece in zip(facts, pieces, strict=True):
            source = names.chunk(iri, piece.start, piece.end)
            batch.append(hypergraph_drafts.hyperedge_draft(fact, sources=[source], activity=activity, names=names))
        edges += facts
        if len(batch) >= _BATCH or number + 1 == len(graph.records):
            yield [
                *batch,
                hypergraph_drafts.hypernodes_draft(list(hypergraph_drafts.hypernode_triples(edges, {}, names)), names),
            ]
            batch, edges = [], []


@dataclass(frozen=True)
class Asked:
    """Questions with the vectors that an embedder would give them."""

    vectors: dict[str, Vectors]
    dimension: int = _DIMENSION
    identity: str = "made up"

    def embed(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> Vectors:
        """Look the vectors up, shape (len(texts), 384)."""
        return np.array([self.vectors[text] for text in texts], dtype=np.float32).reshape(len(texts), _DIMENSION)


def questions(graph: Hypergraph, seed: int = 11) -> Asked:
    """Make up questions near to some key and some value, worded after a few values."""
    draw = np.random.default_rng(seed)
    values = list(graph.values)
    vectors = {}
    for number in range(_QUESTIONS):
        places = draw.integers(0, len(values), 3)
        words = [word for place in places for word in values[place].split()[:2]]
        vector = graph.value_vectors[places[0]] + graph.key_vectors[draw.integers(0, len(graph.keys))]
        vectors[f"question {number} {' '.join(words)}?"] = vector / np.linalg.norm(vector)
    return Asked(vectors)


def built(graph: Hypergraph, asked: Asked, folder: Path) -> None:
    """Publish a hypergraph into a store on disk, put the vectors in place, and let a first question make the rest."""
    store = OxigraphStore.open(folder / "store")
    for batch in drafted(graph, store.names):
        store.publish(batch)
    store.flush()
    spaces = _spaces(folder)
    keys, values = spaces.space("hypernode-key"), spaces.space("hypernode-value")
    keys.upsert([store.names.hypernode_key(key).value for key in graph.keys], graph.key_vectors)
    values.upsert([store.names.hypernode_value(value).value for value in graph.values], graph.value_vectors)
    keys.save(store.revision)
    values.save(store.revision)
    _method(store, spaces, asked, folder).retrieve(next(iter(asked.vectors)), 5)
    store.close()


def _spaces(folder: Path) -> FolderSpaces:
    return FolderSpaces(folder / "vectors", identity=Asked.identity, dimension=_DIMENSION)


def _method(store: OxigraphStore, spaces: FolderSpaces, asked: Asked, folder: Path) -> OgRag:
    return OgRag(store, spaces, asked, ScriptedModel({}), lexical=folder / "lexical")


def keep(asked: Asked, seconds: float, folder: Path) -> None:
    """Write the questions beside a store that is whole, with the time that it took to build, in seconds."""
    np.save(folder / "questions.npy", np.array(list(asked.vectors.values()), dtype=np.float32))
    told = {"seconds": seconds, "questions": list(asked.vectors)}
    (folder / _QUESTIONS_FILE).write_text(json.dumps(told), encoding="utf-8")


def kept(folder: Path) -> tuple[Asked, float] | None:
    """Read what ``keep`` wrote; None where no build came to its end."""
    if not (folder / _QUESTIONS_FILE).is_file():
        return None
    told = json.loads((folder / _QUESTIONS_FILE).read_text(encoding="utf-8"))
    rows = np.load(folder / "questions.npy")
    return Asked(dict(zip(told["questions"], rows, strict=True))), told["seconds"]


class Authors:
    """Algorithm 2 as the authors run it, everything in memory."""

    def __init__(self, graph: Hypergraph) -> None:
        self.graph = graph
        self.edges = list(dict.fromkeys(fact for facts in graph.records for fact in facts))
        self.nodes = sorted({pair for edge in self.edges for pair in edge})
        self.key_of = np.array([graph.keys[key] for key, _ in self.nodes])
        self.value_of = np.array([graph.values[value] for _, value in self.nodes])
        self.holding: dict[tuple[str, str], list[int]] = defaultdict(list)
        for place, edge in enumerate(self.edges):
            for pair in edge:
                self.holding[pair].append(place)

    def retrieve(self, vector: Vectors, k: int = 10, limit: int = 5) -> list[int]:
        """Return hyperedges by their place."""
        by_key = (self.graph.key_vectors @ vector)[self.key_of].tolist()
        by_value = (self.graph.value_vectors @ vector)[self.value_of].tolist()
        places = range(len(self.nodes))
        wanted = sorted(places, key=lambda place: -by_key[place])[:k]
        wanted += sorted(places, key=lambda place: -by_value[place])[:k]
        left = [self.nodes[place] for place in wanted]
        chosen: list[int] = []
        while left and len(chosen) < limit:
            counts = Counter(edge for pair in left for edge in self.holding[pair])
            best = max(counts, key=lambda edge: counts[edge])
            chosen.append(best)
            left = [pair for pair in left if pair not in self.edges[best]]
        return chosen


@dataclass(frozen=True)
class Measured:
    """One size: counts, seconds of each question by the clock and by the processor, seconds of the first one, MB.

    ``memory`` is what is resident, ``mapped`` what of it is files.
    """

    sizes: dict[str, Any]
    cold: float
    paper: list[float]
    paper_cpu: list[float]
    fusion: list[float]
    fusion_cpu: list[float]
    memory: int
    mapped: int


def measured(folder: Path) -> Measured:
    """Open a kept store and ask every question; to be run in a process of its own."""
    found = kept(folder)
    assert found is not None
    asked, start = found[0], time.perf_counter()
    with OxigraphStore.open(folder / "store") as store:
        method = _method(store, _spaces(folder), asked, folder)
        method.retrieve(next(iter(asked.vectors)), 5)
        cold = time.perf_counter() - start
        paper, fusion = (_seconds(replace(method, scoring=scoring), asked) for scoring in ("paper", "fusion"))
        memory, mapped = _memory()
        return Measured(method.statistics(), cold, *paper, *fusion, memory, mapped)


def _seconds(method: OgRag, asked: Asked) -> tuple[list[float], list[float]]:
    """Return what each question takes by the clock and by the processor, after five that are not counted."""
    clock, processor = [], []
    for question in [*list(asked.vectors)[:5], *asked.vectors]:
        start, used = time.perf_counter(), time.process_time()
        method.retrieve(question, 5)
        clock.append(time.perf_counter() - start)
        processor.append(time.process_time() - used)
    return clock[5:], processor[5:]


def _memory() -> tuple[int, int]:
    """Return the resident memory of this process and what of it is mapped from files, in MB; zeros but on Linux."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.is_file() else []
    sizes = {line.split(":")[0]: int(line.split()[1]) // 1024 for line in lines if line.endswith("kB")}
    return sizes.get("VmRSS", 0), sizes.get("RssFile", 0)


def timed(run: Sequence[float]) -> str:
    """Write p50 and p95 of seconds in milliseconds."""
    return " / ".join(f"{1000 * np.percentile(run, share):.1f}" for share in (50, 95)) if run else ""


def grown(nodes: int, folder: Path, *, authors: bool) -> dict[str, Any]:
    """Measure one size; its store is built if the folder has none that is whole."""
    graph = None
    if (found := kept(folder)) is None:
        graph = made_up(nodes)
        asked, start = questions(graph), time.perf_counter()
        built(graph, asked, folder)
        keep(asked, time.perf_counter() - start, folder)
        found = asked, time.perf_counter() - start
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        figures = asdict(process.submit(measured, folder).result())
    runs = _authors(graph or made_up(nodes), found[0]) if authors else []
    return {"nodes": nodes, "build": found[1], **figures, "authors": runs}


def _authors(graph: Hypergraph, asked: Asked) -> list[float]:
    plain, runs = Authors(graph), []
    for vector in asked.vectors.values():
        start = time.perf_counter()
        plain.retrieve(vector)
        runs.append(time.perf_counter() - start)
    return runs


_HEAD = (
    "hypernodes",
    "hyperedges",
    "largest degree",
    "mean",
    "build s",
    "first question s",
    "memory MB (mapped)",
    "paper, ms p50 / 95",
    "CPU",
    "fusion",
    "CPU",
    "authors'",
    "ratio",
)


def row(found: Mapping[str, Any]) -> str:
    """Write a size as a row of the table; the ratio is that of the authors' p50 to ours with the paper's scoring."""
    sizes = found["sizes"]
    counts = (sizes["hypernodes"], sizes["hyperedges"], sizes["degree"]["max"])
    ratio = f"{np.median(found['authors']) / np.median(found['paper']):.1f}" if found["authors"] else ""
    cells = [
        *(f"{count:,}" for count in counts),
        f"{sizes['degree']['mean']:.2f}",
        f"{found['build']:.0f}",
        f"{found['cold']:.1f}",
        f"{found['memory']:,} ({found['mapped']:,})",
        *(timed(found[run]) for run in ("paper", "paper_cpu", "fusion", "fusion_cpu", "authors")),
        ratio,
    ]
    return f"| {' | '.join(cells)} |"


def draw(found: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw p50 (lines) and up to p95 (bands) against the number of hypernodes, both axes logarithmic."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.add_subplot(xlabel="hypernodes", ylabel="ms a question, p50 to p95", xscale="log", yscale="log")
    names = {"fusion": "fusion (default)", "paper": "as in the paper", "authors": "the authors' algorithm, in memory"}
    for run, name in ((run, name) for run, name in names.items() if any(one[run] for one in found)):
        sizes = [one["sizes"]["hypernodes"] for one in found if one[run]]
        times = [[1000 * float(np.percentile(one[run], share)) for one in found if one[run]] for share in (50, 95)]
        axes.plot(sizes, times[0], marker="o", label=name)
        axes.fill_between(sizes, times[0], times[1], alpha=0.2)
    axes.legend()
    figure.savefig(path, dpi=120)


def main() -> None:
    """Print one row a size as it is measured."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("largest", nargs="?", type=int, default=100_000)
    parser.add_argument("--smallest", type=int, default=1_000)
    parser.add_argument("--authors", type=int, default=1_000_000, help="largest size at which the authors' is run too")
    parser.add_argument("--keep", type=Path, help="folder for the stores; one that is whole is measured, not built")
    parser.add_argument("--json", type=Path, help="file for all that was measured")
    parser.add_argument("--plot", type=Path, help="PNG file for the curves")
    options = parser.parse_args()
    print(f"| {' | '.join(_HEAD)} |")
    print("|--:" * len(_HEAD) + "|")
    found, nodes = [], options.smallest
    with tempfile.TemporaryDirectory() as temporary:
        while nodes <= options.largest:
            folder = (options.keep or Path(temporary)) / str(nodes)
            found.append(grown(nodes, folder, authors=nodes <= options.authors))
            print(row(found[-1]), flush=True)
            nodes *= 10
    if options.json:
        options.json.write_text(json.dumps(found, indent=1), encoding="utf-8")
    if options.plot:
        draw(found, options.plot)


if __name__ == "__main__":
    main()
