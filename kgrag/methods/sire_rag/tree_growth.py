"""How the trees of a knowledge base come to stand on its leaves: grown whole, or changed where the leaves changed.

A tree's ``kg:parameters`` say what it was grown with, from which leaves, and how many leaves changed since it was grown
whole; with other settings, or after changes to a fifth of the leaves, it is grown whole again.

Queries read: ``sire_rag/tree``, ``sire_rag/parts``, ``sire_rag/mentions``, ``sire_rag/propositions``. Prompt:
``sire_rag/summary``.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TypeVar

import numpy as np
import pyoxigraph as ox

from kgrag import prompting, queries
from kgrag.errors import ReplyUnusable
from kgrag.index import vector_spaces
from kgrag.llm import structured_output
from kgrag.methods.sire_rag import tree_drafts
from kgrag.methods.sire_rag.aggregates import aggregates, read_propositions
from kgrag.methods.sire_rag.clustering import Clustering, clusters
from kgrag.methods.sire_rag.summary_trees import Forester, Leaf, Standing, Summary, change, grow, successors
from kgrag.model import GraphDraft, Usage
from kgrag.ports import Embedder, LanguageModel, TripleStore, Vectors
from kgrag.text.chunking import count_tokens
from kgrag.vocab import digest

__all__ = ["DUAL", "RELATEDNESS", "SIMILARITY", "Growth", "Manner"]

SIMILARITY = "similarity"
RELATEDNESS = "relatedness"
DUAL = "dual"
_SUMMARY = "sire_rag/summary"
_VERSION = "2"  # of how trees are grown; another one grows them anew
_BATCH = 1024  # texts or clusters between two words of how far it is
_SHOWN = 60  # characters of a text that name it in a report
_DRIFT = 0.2  # share of the leaves that may change before a tree is grown whole

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Manner:
    """What decides how trees look, apart from their leaves; ``whole`` grows them anew whatever stands."""

    clustering: Clustering
    levels: int
    aggregate_tokens: int
    whole: bool = False


@dataclass(slots=True)
class Growth:
    """One growing of the trees, and what it did: trees that changed, summaries written, kept and not done, cost."""

    store: TripleStore
    model: LanguageModel
    embedder: Embedder
    manner: Manner
    progress: vector_spaces.Progress = None
    trees: int = 0
    written: int = 0
    kept: int = 0
    usage: Usage = field(default_factory=Usage)
    undone: list[str] = field(default_factory=list)

    def similarity(self, leaves: Sequence[Leaf]) -> None:
        """Publish the tree whose leaves are chunks."""
        draft = partial(tree_drafts.similarity_draft, _iris(leaves), names=self.store.names)
        self._follow(_Plan(SIMILARITY, leaves, draft))

    def relatedness(self) -> None:
        """Publish the tree whose leaves are aggregates."""
        names = self.store.names
        made = aggregates(read_propositions(self.store), limit=self.manner.aggregate_tokens, names=names)
        parts = {aggregate.iri: frozenset(aggregate.propositions) for aggregate in made}
        leaves = [Leaf(aggregate.iri, aggregate.text) for aggregate in made]
        self._follow(_Plan(RELATEDNESS, leaves, partial(tree_drafts.relatedness_draft, made, names=names), parts=parts))

    def dual(self, leaves: Sequence[Leaf]) -> None:
        """Publish the tree of ablation E: chunks, clustered by their texts and by the entities that they mention."""
        draft = partial(tree_drafts.dual_draft, _iris(leaves), names=self.store.names)
        self._follow(_Plan(DUAL, leaves, draft, beside=lambda: self._by_entity(leaves)))

    def is_current(self, tree: str, leaves: Sequence[Leaf]) -> bool:
        """Whether a tree was grown from these very leaves with these settings, so that a build would leave it alone."""
        record = self._standing(tree)[1]
        now = (self._settings(), digest(*sorted(_iris(leaves))))
        return not self.manner.whole and (record.settings, record.leaves) == now

    def _follow(self, plan: _Plan) -> None:
        """Let a tree follow its leaves, unless it stands on these very ones."""
        standing, record = self._standing(plan.tree)
        settings, now, missing = self._settings(), digest(*sorted(_iris(plan.leaves))), len(self.undone)
        if self.is_current(plan.tree, plan.leaves):
            self.kept += len(standing.summaries)
            return
        changed = record.changed + len(standing.leaves ^ set(_iris(plan.leaves)))
        whole = self.manner.whole or record.settings != settings or bool(plan.beside) or not standing.summaries
        if whole or changed > _DRIFT * len(plan.leaves):
            beside = plan.beside() if plan.beside else ()
            said, written, changed = grow(plan.leaves, self._forester(plan.tree), beside), None, 0
        else:
            forester = self._forester(plan.tree)
            said, written = change(standing, plan.leaves, self._heirs(standing, plan), forester)
        self.written += len(said) if written is None else written
        self.kept += 0 if written is None else len(said) - written
        # a tree that lacks a summary is recorded without its settings, so that the next build grows it whole
        if len(self.undone) > missing:
            settings = ""
        self._publish(plan, said, _Record(settings, now, changed))

    def _publish(self, plan: _Plan, said: Sequence[Summary], record: _Record) -> None:
        publication = self.store.publish([tree_drafts.with_parameters(plan.draft(said), record.text())])
        self.undone += publication.faults
        self.trees += 1
        if self.progress:
            self.progress(f"sire_rag {plan.tree} tree", len(said), len(said))

    def _standing(self, tree: str) -> tuple[Standing, _Record]:
        names = self.store.names
        query = queries.bind("sire_rag/tree", catalogue=names.catalogue, tree=names.tree_graph(tree))
        rows = self.store.select(query).values()
        if not rows:
            return Standing(), _Record()
        return tree_drafts.read_tree(self.store.triples(names.tree_graph(tree))), _Record.read(rows[0][0])

    def _heirs(self, standing: Standing, plan: _Plan) -> dict[str, str]:
        now = set(_iris(plan.leaves))
        gone = standing.leaves - now
        if not plan.parts or not gone:
            return {}
        rows = self.store.select(queries.bind("sire_rag/parts", nodes=[ox.NamedNode(iri) for iri in sorted(gone)]))
        before: dict[str, set[str]] = defaultdict(set)
        for aggregate, proposition in rows.values():
            before[aggregate].add(proposition)
        come = {iri: plan.parts[iri] for iri in now - standing.leaves}
        return successors({iri: frozenset(parts) for iri, parts in before.items()}, come)

    def _by_entity(self, leaves: Sequence[Leaf]) -> list[list[str]]:
        """Cluster chunks by sentences that name no more than their entities (SiReRAG, section 6.2, E)."""
        mentioned: dict[str, list[str]] = defaultdict(list)
        for chunk, label in self.store.select(
            queries.bind("sire_rag/mentions", catalogue=self.store.names.catalogue)
        ).values():
            mentioned[chunk].append(label)
        about = [leaf for leaf in leaves if mentioned[leaf.iri]]
        if not about:
            return []
        sentences = [f"This chunk mentions {' and '.join(mentioned[leaf.iri])}." for leaf in about]
        rows = np.asarray(self.embedder.embed(sentences, "passage"))
        groups = clusters(rows, [count_tokens(leaf.text) for leaf in about], self.manner.clustering)
        return [[about[number].iri for number in group] for group in groups]

    def _settings(self) -> str:
        """Name all that decides what a tree looks like, apart from its leaves."""
        how = {"version": _VERSION, "model": self.model.identity, "embedder": self.embedder.identity}
        how |= {"levels": str(self.manner.levels)}
        return digest(json.dumps(how | {"clustering": asdict(self.manner.clustering)}, sort_keys=True))

    def _forester(self, tree: str) -> Forester:
        names = self.store.names
        return Forester(
            summarise=partial(self._summarise, tree),
            embed=partial(self._embedded, tree),
            name=lambda level, text, below: names.tree_node(str(level), text, *below).value,
            clustering=self.manner.clustering,
            levels=self.manner.levels,
        )

    def _embedded(self, tree: str, texts: Sequence[str]) -> Vectors:
        """Embed the texts of a layer, and tell how far that is."""
        parts = [np.asarray(self.embedder.embed(part, "passage")) for part in self._parts(tree, "embed", texts)]
        return np.concatenate(parts)

    def _summarise(self, tree: str, groups: Sequence[Sequence[str]]) -> list[str]:
        written: list[str] = []
        for part in self._parts(tree, "summarise", groups):
            completions = self.model.complete([prompting.render(_SUMMARY, texts=list(group)) for group in part])
            self.usage = sum((completion.usage for completion in completions), self.usage)
            for group, completion in zip(part, completions, strict=True):
                try:
                    written.append(structured_output.text_of(completion).strip().encode("utf-8", "replace").decode())
                except ReplyUnusable as error:
                    written.append("")
                    self.undone.append(f"{tree} tree, summary of {len(group)} texts, {group[0][:_SHOWN]!r} …: {error}")
        return written

    def _parts(self, tree: str, doing: str, things: Sequence[_T]) -> Iterator[Sequence[_T]]:
        """Yield things in batches, at least one, and tell after each how many are done."""
        for start in range(0, max(len(things), 1), _BATCH):
            yield things[start : start + _BATCH]
            if self.progress:
                self.progress(f"sire_rag {tree} tree: {doing}", min(start + _BATCH, len(things)), len(things))


@dataclass(frozen=True, slots=True)
class _Plan:
    """A tree to be: its leaves, how summaries become its graph, and what its leaves are made of."""

    tree: str
    leaves: Sequence[Leaf]
    draft: Callable[[Sequence[Summary]], GraphDraft]
    parts: Mapping[str, frozenset[str]] = field(default_factory=dict)
    beside: Callable[[], Sequence[Sequence[str]]] | None = None


@dataclass(frozen=True, slots=True)
class _Record:
    """What a tree's entry in the catalogue says: digests of settings and leaves, changes since it was grown whole."""

    settings: str = ""
    leaves: str = ""
    changed: int = 0

    def text(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def read(cls, text: str) -> _Record:
        try:
            return cls(**json.loads(text))
        except (TypeError, ValueError):  # written by an earlier version
            return cls()


def _iris(leaves: Iterable[Leaf]) -> list[str]:
    return [leaf.iri for leaf in leaves]
