"""What a build would ask of the language model, counted before anything is asked or written.

Facts are one completion per group of neighbouring chunks that were not asked about, rewrites one per chunk: exact. How
many summaries there will be is known only once texts are clustered, so that is estimated from the size of a component
of the mixture: 83 of 1,000 leaves and 835 of 10,000, where 38 and 1,054 were written (``python -m
benchmarks.sire_rag_growth``). Queries read: those of ``propositions``, ``aggregates`` and ``tree_growth``. Prompts
rendered: ``sire_rag/rewrite`` and ``sire_rag/facts``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict

from kgrag import prompting
from kgrag.llm.costs import CHARACTERS_PER_TOKEN, planned
from kgrag.methods.sire_rag.aggregates import aggregates, read_propositions
from kgrag.methods.sire_rag.propositions import (
    REWRITE_PROMPT,
    ChunkInContext,
    facts_prompt,
    groups,
    unasked,
)
from kgrag.methods.sire_rag.summary_trees import TreeLeaf
from kgrag.methods.sire_rag.tree_growth import RELATEDNESS, SIMILARITY, SUMMARY_PROMPT, TreeGrowth
from kgrag.model import BuildReport, Usage

__all__ = ["estimate"]

_AGGREGATES_PER_CHUNK = 3
"""Where no chunk was asked about yet: 2.7 to 3.7 on question sets (``benchmarks.sire_rag_speed``), less on manuals."""


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
    # a rewritten chunk is about as long as the chunk
    prompts = [
        *(prompting.render(REWRITE_PROMPT, title=one.title, before=one.before, text=one.text) for one in rewritten),
        *(facts_prompt(group) for group in ([[one] for one in left] if rewrite else groups(left))),
    ]
    trees = _summaries(passages, growth, new=len(passages) if extracted else len(left))
    summaries = sum(count for count, _ in trees)
    expected = sum(map(planned, prompts), Usage())
    for count, characters in trees:
        if count:
            # of one cluster of mean length; the text itself makes no difference to what it costs
            one = planned(prompting.render(SUMMARY_PROMPT, texts=["x" * round(characters / count)]))
            expected += Usage(count, count * one.input_tokens, count * one.output_tokens)
    parts = {"rewrites": len(rewritten), "facts": len(prompts) - len(rewritten), "summaries": summaries}
    counts = {**asdict(expected), **parts}
    notes = ["tokens are estimated: 4 characters a token, with the schema, and replies as long as those measured"]
    if summaries:
        size = growth.settings.clustering.texts
        notes.append(f"the number of summaries is estimated: clusters of {size} texts; rewrites and facts are exact")
    return BuildReport("sire_rag", counts, notes=tuple(notes))


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
