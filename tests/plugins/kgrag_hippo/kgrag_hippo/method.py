"""``Hippo``: builds a graph of phrases and passages from facts, and ranks passages by personalised PageRank.

The graph is read from the store at each question, which is quick enough for some thousand passages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import pyoxigraph as ox
from scipy import sparse

from kgrag import prompting, queries
from kgrag.errors import InvalidSettings, NotBuilt
from kgrag.index import vector_spaces
from kgrag.model import BuildReport, Completion, GraphDraft, Hit, Span, Usage
from kgrag.ports import Embedder, LanguageModel, Progress, TripleStore, VectorSpaces
from kgrag.store.provenance import Deed, provenance_draft
from kgrag.vocab import KG, RDF, number
from kgrag_hippo import FACT, FACT_GRAPH, MENTIONS, PHRASE, HippoOptions

__all__ = ["Hippo"]

_PHRASES, _CHUNKS = "hippo-phrase", "chunk"
_STEPS = 50  # of the power iteration; each halves what is left to go, at the paper's damping


@dataclass(frozen=True, slots=True)
class _Chunk:
    """A chunk as it is asked about; ``made`` is what its facts were taken with, "" before they were."""

    iri: ox.NamedNode
    title: str
    text: str
    made: str


@dataclass(frozen=True, slots=True)
class Hippo:
    """Ranks passages by how often a walk visits them that starts at the phrases nearest to the question.

    Args:
        store: holds documents and facts.
        spaces: keep the vectors of phrases and chunks.
        embedder: embeds both, and questions.
        model: lists the facts of a chunk; not used to retrieve.
        phrases: how many phrases the walk starts from, at least 1.
        damping: the probability of going on rather than starting anew, 0 to 1 (paper: 0.5).
        passage_weight: what a passage that is near the question is worth as a start, beside a phrase.

    Raises:
        InvalidSettings: a value is outside its range.

    Deviations:
        The walk also starts from passages near the question, with little weight (HippoRAG 2), so that one without
        facts can be found.
    """

    name: ClassVar[str] = "hippo"

    store: TripleStore
    spaces: VectorSpaces
    embedder: Embedder
    model: LanguageModel
    phrases: int = 10
    damping: float = 0.5
    passage_weight: float = 0.05

    def __post_init__(self) -> None:
        if self.phrases < 1 or not 0 <= self.damping < 1 or self.passage_weight <= 0:
            raise InvalidSettings("hippo: use phrases from 1, damping from 0 to below 1, passage_weight above 0.")

    def build(
        self,
        options: HippoOptions = HippoOptions(),  # noqa: B008 - frozen
        *,
        progress: Progress | None = None,
        dry_run: bool = False,
    ) -> BuildReport:
        """Take facts from every chunk that this model was not asked about, and embed their phrases.

        Raises:
            NotBuilt: the store holds no chunk.
            ServiceError: the model failed; what came before is kept.
        """
        chunks = self._chunks()
        if not chunks:
            raise NotBuilt("method 'hippo' has no passage to take facts from. Run `kgrag ingest PATH` first.")
        left = [chunk for chunk in chunks if chunk.made != self._origin]
        if dry_run:
            return self._estimate(left)
        usage, pending = Usage(), []
        for first in range(0, len(left), max(options.batch, 1)):
            batch = left[first : first + max(options.batch, 1)]
            completions = self.model.complete([_prompt(chunk) for chunk in batch])
            usage = sum((completion.usage for completion in completions), usage)
            pending += self._publish(batch, completions)
            if progress:
                progress("hippo facts", first + len(batch), len(left))
        for space in (_PHRASES, _CHUNKS):
            self._space(space, progress)
        counts = {"chunks": len(chunks), "asked": len(left), **self.statistics()}
        return BuildReport(self.name, counts, usage, pending=tuple(pending))

    def retrieve(self, question: str, k: int) -> list[Hit]:
        """Return the k passages with the most mass, best first; ties by IRI.

        Raises:
            NotBuilt: no fact was taken yet.
            InvalidSettings: k is below 1.
        """
        if k < 1:
            raise InvalidSettings(f"hippo: k is {k}. Ask for at least 1 passage.")
        rows = self.store.select(queries.bind("hippo:mentions", catalogue=self.store.names.catalogue)).values()
        if not rows:
            raise NotBuilt("method 'hippo' has no facts yet. Run `kgrag build hippo` first.")
        vector = self.embedder.embed([question], "query")[0]
        near = self._space(_PHRASES, None).search(vector, self.phrases)
        starts = {iri: max(cosine, 0.0) ** 2 for iri, cosine in near}  # squared: what is hardly near must not count
        for iri, cosine in self._space(_CHUNKS, None).search(vector, max(k, self.phrases)):
            starts[iri] = self.passage_weight * max(cosine, 0.0) ** 2 + 1e-9
        mass = _walked(rows, starts, self.damping)
        ranked = sorted(
            ((iri, mass[iri]) for iri in {row[0] for row in rows} | starts.keys() if iri in mass), key=_best
        )
        return self._hits(ranked, k)

    def statistics(self) -> dict[str, Any]:
        """Return the numbers of fact graphs, facts and phrases."""
        table = self.store.select(queries.bind("hippo:counts", catalogue=self.store.names.catalogue))
        return dict(zip(("graphs", "facts", "phrases"), map(int, table.values()[0]), strict=True))

    @property
    def _origin(self) -> str:
        return f"model={self.model.identity}"

    def _chunks(self) -> list[_Chunk]:
        rows = self.store.select(queries.bind("hippo:chunks", catalogue=self.store.names.catalogue)).values()
        return [_Chunk(ox.NamedNode(iri), title, text, made) for iri, title, text, made in rows]

    def _estimate(self, left: Sequence[_Chunk]) -> BuildReport:
        asked = [_prompt(chunk).text for chunk in left]
        counts = {
            "completions": len(left),
            "input_tokens": sum(map(len, asked)) // 4,
            "output_tokens": sum(len(chunk.text) for chunk in left) // 4,
        }
        return BuildReport(self.name, counts, notes=("tokens are estimated: 4 characters a token",))

    def _publish(self, batch: Sequence[_Chunk], completions: Sequence[Completion]) -> list[str]:
        """Publish what chunks state in one step; returns the chunks whose reply cannot be used."""
        drafts, deeds, pending = [], [], []
        for chunk, completion in zip(batch, completions, strict=True):
            if completion.problem or completion.data is None:
                pending.append(f"{chunk.iri.value}: {completion.problem or 'the reply is no JSON'}")
                continue
            activity = self.store.names.activity(self.name, self._origin, chunk.iri.value)
            said = [(KG.model, ox.Literal(self.model.identity)), (KG.completions, number(completion.usage.completions))]
            deeds.append(Deed(activity, f"took facts from {chunk.title or chunk.iri.value}", [chunk.iri], said))
            drafts.append(self._draft(chunk, completion.data["facts"], activity))
        if drafts:
            self.store.publish([*drafts, provenance_draft(deeds, method=self.name, names=self.store.names)])
        return pending

    def _draft(self, chunk: _Chunk, facts: Sequence[dict[str, Any]], activity: ox.NamedNode) -> GraphDraft:
        names, triples = self.store.names, []
        for fact in facts:
            text = " ".join(str(fact["fact"]).split())
            node = names.mint("hippo-fact", chunk.iri.value, text)
            phrases = {" ".join(str(name).casefold().split()) for name in fact["entities"]} - {""}
            if text and phrases:
                triples += [ox.Triple(node, RDF.type, FACT), ox.Triple(node, KG.text, ox.Literal(text))]
            for phrase in sorted(phrases) if text else ():
                other = names.mint("hippo-phrase", phrase)
                triples += [ox.Triple(node, MENTIONS, other), ox.Triple(other, RDF.type, PHRASE)]
                triples.append(ox.Triple(other, KG.text, ox.Literal(phrase)))
        return GraphDraft(
            names.mint("graph/hippo-facts", chunk.iri.value),
            FACT_GRAPH,
            list(dict.fromkeys(triples)),
            mode="replace",
            method=self.name,
            sources=[chunk.iri],
            activity=activity,
            described=[(KG.parameters, ox.Literal(self._origin))],
        )

    def _space(self, name: str, progress: Progress | None) -> Any:
        return vector_spaces.fresh(
            name, store=self.store, spaces=self.spaces, embedder=self.embedder, progress=progress
        )

    def _hits(self, ranked: Sequence[tuple[str, float]], k: int) -> list[Hit]:
        table = self.store.select(queries.bind("passages/evidence", chunks=[ox.NamedNode(iri) for iri, _ in ranked]))
        known = {row[0]: dict(zip(table.variables, row, strict=True)) for row in table.values()}
        hits = []
        for iri, mass in ranked:
            if row := known.get(iri):
                span = Span(iri, row["document"], int(row["start"]), int(row["end"]))
                hits.append(Hit(iri, "passage", row["text"], mass, (span,), {"title": row["title"]}))
        return hits[:k]


def _prompt(chunk: _Chunk) -> Any:
    return prompting.render("hippo:facts", title=chunk.title, text=chunk.text)


def _best(ranked: tuple[str, float]) -> tuple[float, str]:
    return -ranked[1], ranked[0]


def _walked(rows: Sequence[Sequence[str]], starts: dict[str, float], damping: float) -> dict[str, float]:
    """Return node -> mass of a walk over phrases and passages that begins anew at ``starts``.

    Rows are (chunk, fact, phrase). Phrases of one fact are linked, and each with its passage. A phrase of few passages
    is worth more as a start (the paper's node specificity).
    """
    nodes = {
        iri: place for place, iri in enumerate(sorted({end for row in rows for end in (row[0], row[2])} | {*starts}))
    }
    together: dict[tuple[str, str], set[str]] = {}
    passages: dict[str, set[str]] = {}
    for chunk, fact, phrase in rows:
        together.setdefault((chunk, fact), set()).add(phrase)
        passages.setdefault(phrase, set()).add(chunk)
    pairs = [pair for phrases in together.values() for pair in combinations(sorted(phrases), 2)]
    pairs += [(phrase, chunk) for phrase, chunks in passages.items() for chunk in chunks]
    ends = np.array([(nodes[one], nodes[other]) for one, other in pairs]).reshape(-1, 2)
    links = sparse.coo_matrix((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(len(nodes), len(nodes))).tocsr()
    links = links + links.T
    steps = links.multiply(1 / np.maximum(np.asarray(links.sum(axis=0)).ravel(), 1)).tocsr()  # columns sum to 1
    first = np.zeros(len(nodes))
    for iri, weight in starts.items():
        first[nodes[iri]] = weight / len(passages.get(iri, {iri}))
    first /= first.sum() or 1.0
    mass = first
    for _ in range(_STEPS):
        mass = damping * (steps @ mass) + (1 - damping) * first
    return {iri: float(mass[place]) for iri, place in nodes.items()}
