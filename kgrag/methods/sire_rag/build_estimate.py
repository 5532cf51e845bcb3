"""What a build would ask of the language model, counted before anything is asked or written.

Facts are one completion per group of neighbouring chunks that were not asked about, rewrites one per chunk: exact. How
many summaries there will be is known only once facts are there and texts are clustered. So the trees are grown for the
plan, with stand-ins: the facts that the extractive model takes from the chunks, summaries that are every so many-th
word of what they sum up, and vectors of words. A language model names more things, so the tree of aggregates is taken
to be larger; by how much is in the interval of the plan. Nothing is asked, embedded by the knowledge base's own
embedder, or written. Above ``MAX_CHUNKS_GROWN`` chunks that takes too long, and the number of summaries is estimated
from the size of a component of the mixture: 83 of 1,000 leaves and 835 of 10,000, where 38 and 1,054 were written
(``python -m benchmarks.sire_rag_growth``). Queries read: those of ``propositions``, ``aggregates`` and ``tree_growth``.
Prompts rendered: ``sire_rag/rewrite`` and ``sire_rag/facts``.
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from kgrag import prompting
from kgrag.llm.costs import CHARACTERS_PER_TOKEN
from kgrag.llm.extractive import ExtractiveModel
from kgrag.llm.planned_model import PlannedModel
from kgrag.llm.reading_by_rules import is_by_rules
from kgrag.llm.reply_lengths import Plan, forecast
from kgrag.methods.sire_rag.aggregates import Proposition, aggregates, read_propositions
from kgrag.methods.sire_rag.propositions import (
    REWRITE_PROMPT,
    ChunkInContext,
    facts_prompt,
    groups,
    merged,
    unasked,
)
from kgrag.methods.sire_rag.summary_trees import TreeLeaf
from kgrag.methods.sire_rag.tree_growth import RELATEDNESS, SIMILARITY, SUMMARY_PROMPT, TreeGrowth
from kgrag.model import BuildReport, Prompt
from kgrag.ports import Vectors
from kgrag.text.sentences import entity_key
from kgrag.vocab import Names, digest

__all__ = ["MAX_CHUNKS_GROWN", "estimate"]

MAX_CHUNKS_GROWN = 3_000
"""Of more, growing the trees for a plan takes over a minute."""

_AGGREGATES_PER_CHUNK = 3
"""Where no chunk was asked about yet: 2.7 to 3.7 on question sets (``benchmarks.sire_rag_speed``), 2.7 and 3.4 else."""
_TREES_OFF = 0.3
"""Standard deviation of the summaries of aggregates, as a share of them: the facts and vectors are not the plan's."""


def estimate(
    passages: Sequence[ChunkInContext], growth: TreeGrowth, *, extracted: bool, rewrite: bool = False
) -> BuildReport:
    """Return the completions and tokens that a build would ask for.

    Args:
        passages: every chunk, in reading order.
        growth: what would grow the trees; nothing of it is run.
        extracted: whether propositions come from a file, so that the model is not asked for any.
        rewrite: whether each chunk is rewritten first.
    """
    left = [] if extracted else unasked(passages, store=growth.store, model=growth.model)
    rewritten = left if rewrite else []
    asked = [[one] for one in left] if rewrite else groups(left)
    # a rewritten chunk is about as long as the chunk
    prompts = [
        *(prompting.render(REWRITE_PROMPT, title=one.title, before=one.before, text=one.text) for one in rewritten),
        *map(facts_prompt, asked),
    ]
    grown = len(passages) <= MAX_CHUNKS_GROWN and not extracted
    if grown:
        further = list(_stand_ins(asked, prompts[len(rewritten) :], growth.store.names))
        summaries, plan = _grown(passages, growth, further)
    else:
        summaries, plan = _by_size(_summaries(passages, growth, new=len(passages) if extracted else len(left)))
    expected = forecast(Plan(prompts) + plan, growth.model)
    parts = {"rewrites": len(rewritten), "facts": len(asked), "summaries": summaries}
    notes = [f"tokens are estimated: 4 characters a token; {expected.note}".rstrip("; ")]
    if summaries:
        size = growth.settings.clustering.texts
        how = "trees grown from stand-ins for facts and summaries" if grown else f"clusters of {size} texts"
        notes.append(f"the number of summaries is estimated: {how}; rewrites and facts are exact")
    return BuildReport("sire_rag", {**expected.counts(), **parts}, notes=tuple(notes))


# --- trees grown for the plan -----------------------------------------------------------------------------------------


def _stand_ins(
    asked: Sequence[Sequence[ChunkInContext]], prompts: Sequence[Prompt], names: Names
) -> Iterator[Proposition]:
    """Yield the facts that the extractive model takes from groups of chunks, as propositions."""
    replies = ExtractiveModel().complete(prompts)
    for group, reply in zip(asked, replies, strict=True):
        data = reply.data if isinstance(reply.data, dict) else {}
        for number, chunk in enumerate(group, start=1):
            for stated in merged(fact for fact in data.get("facts", ()) if fact["paragraph"] == number):
                entities = tuple(names.entity(key).value for name in stated.entities if (key := entity_key(name)))
                if entities:
                    yield Proposition(digest(chunk.chunk, stated.text), stated.text, chunk.chunk, entities)


def _grown(passages: Sequence[ChunkInContext], growth: TreeGrowth, further: Sequence[Proposition]) -> tuple[int, Plan]:
    """Return how many summaries trees get that are grown from these chunks and propositions, and their plan."""
    model = PlannedModel(growth.model)
    planning = replace(
        growth, model=model, embedder=_WordVectors(growth.embedder.identity), progress=None, planned=True
    )
    planning.similarity([TreeLeaf(one.chunk, one.titled) for one in passages])
    of_chunks, plan = planning.written, model.plan
    planning.model = related = PlannedModel(growth.model)
    planning.relatedness(further)
    times, deviation = (1.0, 0.0) if is_by_rules(growth.model.identity) else _more_leaves(further, growth)
    written = of_chunks + round(times * (planning.written - of_chunks))
    return written, plan + related.plan.divided(times, deviation)


def _more_leaves(further: Sequence[Proposition], growth: TreeGrowth) -> tuple[float, float]:
    """Return how many times the aggregates of stand-ins a model's facts will make, and the standard deviation.

    A language model names more things than the stand-ins do, of the same length together: 111 aggregates, not 50, and
    139, not 111, from 41 chunks each; as many as usual, and not more than there are facts.
    """
    made = len(aggregates(further, limit=growth.settings.aggregate_tokens, names=growth.store.names))
    usual = min(len(further), _AGGREGATES_PER_CHUNK * len({one.chunk for one in further}))
    times = max(1.0, usual / made) if made else 1.0
    return times, _TREES_OFF * times


class _WordVectors:
    """An embedder of words by their spelling, so that a plan costs nothing; it goes by the name of another."""

    dimension = 256

    def __init__(self, identity: str) -> None:
        self.identity = identity

    def embed(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> Vectors:  # noqa: ARG002
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in re.findall(r"\w+", text.lower()):
                vectors[row, zlib.crc32(word.encode("utf-8", "replace")) % self.dimension] += 1
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
        return vectors


# --- many chunks: by size ---------------------------------------------------------------------------------------------


def _by_size(trees: Sequence[tuple[int, float]]) -> tuple[int, Plan]:
    """Return the number of summaries of trees and their plan: each is of one cluster of mean length."""
    plan = Plan()
    for count, characters in trees:
        if count:
            # the text itself makes no difference to what it costs
            plan.add(prompting.render(SUMMARY_PROMPT, texts=["x" * round(characters / count)]), times=count)
    return sum(count for count, _ in trees), plan


def _summaries(passages: Sequence[ChunkInContext], growth: TreeGrowth, *, new: int) -> list[tuple[int, float]]:
    """Return, per tree, how many summaries it may get, and of how many characters; none where it stands as it is."""
    made = aggregates(read_propositions(growth.store), limit=growth.settings.aggregate_tokens, names=growth.store.names)
    leaves = {
        SIMILARITY: [TreeLeaf(one.chunk, one.titled) for one in passages],
        RELATEDNESS: [TreeLeaf(one.iri, one.text) for one in made],
    }
    asked = len(passages) - new
    expected = {SIMILARITY: 0, RELATEDNESS: round(new * (len(made) / asked if asked else _AGGREGATES_PER_CHUNK))}
    found = []
    for tree, here in leaves.items():
        if expected[tree] or not growth.is_current(tree, here):
            texts = [*(leaf.text for leaf in here)] or [one.text for one in passages]
            length = sum(map(len, texts)) / len(texts)
            found.append(_layers(len(here) + expected[tree], length, growth))
    return found


def _layers(leaves: int, length: float, growth: TreeGrowth) -> tuple[int, float]:
    """Return the number of summaries above so many leaves of this mean length, and the characters that they sum up."""
    clustering, characters, summaries, layer = growth.settings.clustering, 0.0, 0, leaves
    for _ in range(1, growth.settings.levels):
        if layer <= clustering.dimensions + 1:
            break
        longest = clustering.tokens * CHARACTERS_PER_TOKEN
        characters += layer * length
        layer = math.ceil(max(layer / clustering.texts, layer * length / longest))
        summaries += layer
    return summaries, characters
