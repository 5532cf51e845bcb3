"""The trees of a knowledge base, brought up to its leaves: grown whole, or changed where the leaves changed.

A tree's ``kg:parameters`` record what it was grown with, from which leaves, and how many leaves changed since it was
grown whole; with other settings, or after changes to a fifth of the leaves, it is grown whole again.

Queries read: ``sire_rag/trees``, ``sire_rag/parts``, ``sire_rag/mentions``, ``sire_rag/propositions``. Prompt:
``sire_rag/summary``. Graphs written: one per tree.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import TypeVar

import numpy as np
import pyoxigraph as ox

from kgrag import prompting, queries
from kgrag.errors import ReplyUnusable
from kgrag.index import vector_spaces
from kgrag.llm import structured_output
from kgrag.methods.sire_rag import tree_drafts
from kgrag.methods.sire_rag.aggregates import Proposition, aggregates, read_propositions
from kgrag.methods.sire_rag.clustering import Clustering, clusters
from kgrag.methods.sire_rag.summary_trees import (
    SummaryNode,
    SummaryTree,
    TreeBuilder,
    TreeLeaf,
    change,
    grow,
    successors,
)
from kgrag.model import GraphDraft, Usage
from kgrag.ports import Embedder, LanguageModel, TripleStore, Vectors
from kgrag.text.chunking import count_tokens
from kgrag.text.sentences import split
from kgrag.vocab import KG, digest

__all__ = ["DUAL", "RELATEDNESS", "SIMILARITY", "SUMMARY_PROMPT", "TreeGrowth", "TreeSettings", "sentences_once"]

SIMILARITY = "similarity"
RELATEDNESS = "relatedness"
DUAL = "dual"
SUMMARY_PROMPT = "sire_rag/summary"
_GROWTH_VERSION = "2"  # part of the settings' digest: another version grows all trees anew
_TEXTS_PER_PROGRESS = 1024
_MAX_SHARE_CHANGED = 0.2  # of the leaves, before a tree is grown whole: its clusters are no longer fitted to them
_MAX_LETTERS_OF_A_TEXT = 60  # that name it in a report

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class TreeSettings:
    """What decides how trees look, apart from their leaves; ``whole`` grows them anew even where nothing changed."""

    clustering: Clustering
    levels: int
    aggregate_tokens: int
    whole: bool = False


@dataclass(slots=True)
class TreeGrowth:
    """One growing of the trees, and what it did: trees changed, summaries written and kept, cost, what is pending.

    ``planned``: nothing is published; the model and the embedder are then stand-ins.
    """

    store: TripleStore
    model: LanguageModel
    embedder: Embedder
    settings: TreeSettings
    progress: vector_spaces.Progress = None
    planned: bool = False
    trees: int = 0
    written: int = 0
    kept: int = 0
    usage: Usage = field(default_factory=Usage)
    pending: list[str] = field(default_factory=list)
    _drafts: list[GraphDraft] = field(default_factory=list)
    _records: dict[str, tuple[str, str]] | None = None

    def similarity(self, leaves: Sequence[TreeLeaf]) -> None:
        """Grow the tree whose leaves are chunks; ``publish`` publishes it."""
        self._update(_TreePlan(SIMILARITY, leaves, self._chunk_draft(SIMILARITY, leaves)))

    def relatedness(self, further: Sequence[Proposition] = ()) -> None:
        """Grow the tree whose leaves are aggregates; ``further`` propositions are those of a plan."""
        names = self.store.names
        known = [*read_propositions(self.store), *further]
        made = aggregates(known, limit=self.settings.aggregate_tokens, names=names)
        parts = {aggregate.iri: frozenset(aggregate.propositions) for aggregate in made}
        leaves = [TreeLeaf(aggregate.iri, aggregate.text) for aggregate in made]
        draft = partial(tree_drafts.relatedness_draft, made, names=names)
        self._update(_TreePlan(RELATEDNESS, leaves, draft, parts=parts))

    def dual(self, leaves: Sequence[TreeLeaf]) -> None:
        """Grow the tree of ablation E: chunks, clustered by their texts and by the entities that they mention."""
        draft = self._chunk_draft(DUAL, leaves)
        self._update(_TreePlan(DUAL, leaves, draft, more_clusters=lambda: self._clusters_by_entity(leaves)))

    def publish(self) -> None:
        """Publish the trees that were grown, all at once."""
        if self._drafts:
            self.pending += self.store.publish(self._drafts).faults
            self._drafts, self._records = [], None

    def is_current(self, tree: str, leaves: Sequence[TreeLeaf]) -> bool:
        """Whether a tree was grown from these very leaves with these settings, so that a build would leave it alone."""
        now = (self._settings_digest(), digest(*sorted(_iris(leaves))))
        _, record, stale = self._stored(tree)
        return self._matches(record, *now) and not stale

    def _matches(self, record: _TreeRecord, settings: str, leaves: str) -> bool:
        return not self.settings.whole and (record.settings, record.leaves) == (settings, leaves)

    def _chunk_draft(self, tree: str, leaves: Sequence[TreeLeaf]) -> Callable[[Sequence[SummaryNode]], GraphDraft]:
        return partial(tree_drafts.chunk_tree_draft, _iris(leaves), names=self.store.names, tree=tree)

    def _update(self, plan: _TreePlan) -> None:
        """Bring a tree up to its leaves, unless it was grown from these very ones with these settings."""
        tree, before, stale = self._stored(plan.tree)
        settings, leaves = self._settings_digest(), digest(*sorted(_iris(plan.leaves)))
        pending_before = len(self.pending)
        current = self._matches(before, settings, leaves)
        if current and not stale:
            self.kept += len(tree.summaries)
            return
        builder = self._builder(plan.tree)
        changed = before.changed + len(tree.leaves ^ set(_iris(plan.leaves)))
        # a stale tree whose leaves are those that it was grown from lost something that cannot be told from them
        other = current or before.settings != settings or not tree.summaries
        # a dual tree is always grown whole: once stored, its clusters by text and by entity look alike
        if self.settings.whole or other or plan.more_clusters or changed > _MAX_SHARE_CHANGED * len(plan.leaves):
            summaries = grow(plan.leaves, builder, plan.more_clusters() if plan.more_clusters else ())
            written, changed = len(summaries), 0
        else:
            summaries, written = change(tree, plan.leaves, self._heirs(tree, plan), builder)
        self.written += written
        self.kept += len(summaries) - written
        if self.planned:
            return
        # a tree that lacks a summary is recorded without its settings, so that the next build grows it whole
        if len(self.pending) > pending_before:
            settings = ""
        record = json.dumps(asdict(_TreeRecord(settings, leaves, changed)), sort_keys=True)
        self._drafts.append(replace(plan.draft(summaries), described=[(KG.parameters, ox.Literal(record))]))
        self.trees += 1
        if self.progress:
            self.progress(f"sire_rag {plan.tree} tree", len(summaries), len(summaries))

    def _stored(self, tree: str) -> tuple[SummaryTree, _TreeRecord, bool]:
        """Return a tree as the store contains it, empty where there is none, its record, and whether it is stale."""
        graph = self.store.names.tree_graph(tree)
        if self._records is None:
            names = self.store.names
            trees = [names.tree_graph(each) for each in (SIMILARITY, RELATEDNESS, DUAL)]
            rows = self.store.select(queries.bind("sire_rag/trees", catalogue=names.catalogue, trees=trees)).values()
            self._records = {each: (parameters, stale) for each, parameters, stale in reversed(rows)}
        if graph.value not in self._records:
            return SummaryTree(), _TreeRecord(), False
        parameters, stale = self._records[graph.value]
        return tree_drafts.read_tree(self.store.triples(graph)), _TreeRecord.read(parameters), stale == "true"

    def _heirs(self, tree: SummaryTree, plan: _TreePlan) -> dict[str, str]:
        """Return the new leaf that takes the places of each leaf that is gone, where both are made of the same parts.

        An aggregate has another IRI as soon as one more document speaks of its entity.
        """
        present = set(_iris(plan.leaves))
        gone = tree.leaves - present
        if not plan.parts or not gone:
            return {}
        rows = self.store.select(queries.bind("sire_rag/parts", nodes=[ox.NamedNode(iri) for iri in sorted(gone)]))
        parts_before: dict[str, set[str]] = defaultdict(set)
        for aggregate, proposition in rows.values():
            parts_before[aggregate].add(proposition)
        come = {iri: plan.parts[iri] for iri in present - tree.leaves}
        return successors({iri: frozenset(parts) for iri, parts in parts_before.items()}, come)

    def _clusters_by_entity(self, leaves: Sequence[TreeLeaf]) -> list[list[str]]:
        """Cluster chunks by sentences that name no more than their entities (SiReRAG, section 6.2, E)."""
        rows = self.store.select(queries.bind("sire_rag/mentions", catalogue=self.store.names.catalogue)).values()
        mentioned: dict[str, list[str]] = defaultdict(list)
        for chunk, label in rows:
            mentioned[chunk].append(label)
        about = [leaf for leaf in leaves if mentioned[leaf.iri]]
        if not about:
            return []
        sentences = [f"This chunk mentions {' and '.join(mentioned[leaf.iri])}." for leaf in about]
        vectors = np.asarray(self.embedder.embed(sentences, "passage"))
        groups = clusters(vectors, [count_tokens(leaf.text) for leaf in about], self.settings.clustering)
        return [[about[number].iri for number in group] for group in groups]

    def _settings_digest(self) -> str:
        """Return a digest of all that decides what a tree looks like, apart from its leaves."""
        settings = {
            "version": _GROWTH_VERSION,
            "model": self.model.identity,
            "embedder": self.embedder.identity,
            "levels": str(self.settings.levels),
            "clustering": asdict(self.settings.clustering),
        }
        return digest(json.dumps(settings, sort_keys=True))

    def _builder(self, tree: str) -> TreeBuilder:
        names = self.store.names
        return TreeBuilder(
            summarise=partial(self._summarise, tree),
            embed=partial(self._embed, tree),
            name=lambda level, text, children: names.tree_node(str(level), text, *children).value,
            clustering=self.settings.clustering,
            levels=self.settings.levels,
        )

    def _embed(self, tree: str, texts: Sequence[str]) -> Vectors:
        batches = self._batches(tree, "embed", texts)
        return np.concatenate([np.asarray(self.embedder.embed(batch, "passage")) for batch in batches])

    def _summarise(self, tree: str, groups: Sequence[Sequence[str]]) -> list[str]:
        written: list[str] = []
        for batch in self._batches(tree, "summarise", groups):
            completions = self.model.complete(
                [prompting.render(SUMMARY_PROMPT, texts=sentences_once(group)) for group in batch]
            )
            self.usage = sum((completion.usage for completion in completions), self.usage)
            for group, completion in zip(batch, completions, strict=True):
                try:
                    written.append(structured_output.text_of(completion).strip().encode("utf-8", "replace").decode())
                except ReplyUnusable as error:
                    written.append("")
                    name = group[0][:_MAX_LETTERS_OF_A_TEXT]
                    self.pending.append(f"{tree} tree, summary of {len(group)} texts, {name!r} …: {error}")
        return written

    def _batches(self, tree: str, doing: str, items: Sequence[_T]) -> Iterator[Sequence[_T]]:
        """Yield items in batches, at least one, and report after each how many are done."""
        for start in range(0, max(len(items), 1), _TEXTS_PER_PROGRESS):
            yield items[start : start + _TEXTS_PER_PROGRESS]
            if self.progress:
                self.progress(
                    f"sire_rag {tree} tree: {doing}", min(start + _TEXTS_PER_PROGRESS, len(items)), len(items)
                )


def sentences_once(texts: Sequence[str]) -> list[str]:
    r"""Return texts without the sentences that one before has, and without those that have no other.

    A fact stands in the aggregate of each of its entities, a title above each chunk of a document: of six recorded
    requests 29 % were repeats. A line above others stays where the text before begins with another one: it is the title
    of another document.

    >>> sentences_once(["Ada wrote it. Bo read it.", "Bo read it. Cy did not.", "Bo read it."])
    ['Ada wrote it. Bo read it.', 'Cy did not.']
    >>> sentences_once(["Soap\nIt foams.", "Wax\nIt burns.", "Soap\nIt cleans."])
    ['Soap\nIt foams.', 'Wax\nIt burns.', 'Soap\nIt cleans.']
    """
    kept, seen, above = [], set[str](), ""
    for text in texts:
        places = [(start, end) for start, end in split(text) if text[start:end].strip()]
        spoken = [text[start:end].strip() for start, end in places]
        titled = len(places) > 1 and "\n" in text[places[0][1] : places[1][0]]
        first = spoken[0] if titled else ""
        fresh = [
            at for at, sentence in enumerate(spoken) if sentence not in seen or (at == 0 and titled and first != above)
        ]
        if any(spoken[at] not in seen for at in fresh):
            # what stands between two sentences that stay is kept: line breaks of lists and tables
            kept.append("".join(_with_gap(text, places, at, first=at == fresh[0]) for at in fresh))
        seen.update(spoken)
        above = first
    return kept


def _with_gap(text: str, places: Sequence[tuple[int, int]], at: int, *, first: bool) -> str:
    """Return a sentence with what stands between it and the one before it, unless it is the first."""
    start, end = places[at]
    return text[start if first or at == 0 else places[at - 1][1] : end]


@dataclass(frozen=True, slots=True)
class _TreePlan:
    """A tree to be: its leaves, how summaries become its graph, and what its leaves are made of.

    ``more_clusters`` returns further clusters of leaves, by IRI, for the first level; None for none.
    """

    tree: str
    leaves: Sequence[TreeLeaf]
    draft: Callable[[Sequence[SummaryNode]], GraphDraft]
    parts: Mapping[str, frozenset[str]] = field(default_factory=dict)
    more_clusters: Callable[[], Sequence[Sequence[str]]] | None = None


@dataclass(frozen=True, slots=True)
class _TreeRecord:
    """A tree's entry in the catalogue: digests of settings and leaves, changes since it was grown whole."""

    settings: str = ""
    leaves: str = ""
    changed: int = 0

    @classmethod
    def read(cls, text: str) -> _TreeRecord:
        try:
            return cls(**json.loads(text))
        except (TypeError, ValueError):  # written by an earlier version
            return cls()


def _iris(leaves: Iterable[TreeLeaf]) -> list[str]:
    return [leaf.iri for leaf in leaves]
