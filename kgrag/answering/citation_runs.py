"""Citations of one sentence that stand near each other in a text, joined into one run of it.

A model quotes the words that it used: "Keeper Ann Lee shut", "for eleven days in April". Read alone, such pieces leave
open what was shut, or what a setting is called whose default they have; what stands between them says it. Whole
sentences stay apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kgrag.answering.source_sentences import SourceChunk, touched
from kgrag.model import Citation
from kgrag.text.sentences import words

__all__ = ["in_runs"]

_MAX_GAP = 250
"""Characters between two citations of a chunk that are joined, at most."""
_MIN_WORDS_ALONE = 4
_MAX_RUN = 700
"""Characters of what citations are joined into, at most."""


def in_runs(citations: Sequence[Citation], sources: Mapping[str, SourceChunk]) -> tuple[Citation, ...]:
    """Return citations of one sentence, those near a fragment as one with it, at the place of the first of them.

    Args:
        citations: of one sentence of an answer.
        sources: chunks by IRI; a citation of another chunk, or of a model's words, stays as it is.
    """
    places = [one for one in dict.fromkeys(citations) if one.chunk in sources and not one.derived]
    runs: list[list[Citation]] = []
    for one in sorted(places, key=lambda one: (one.chunk, one.start)):
        if runs and _is_near(runs[-1], one) and any(_is_fragment(each, sources) for each in (*runs[-1], one)):
            runs[-1].append(one)
        else:
            runs.append([one])
    joined = {one: whole for run in runs for whole in [_joined(run, sources[run[0].chunk])] for one in run}
    return tuple(dict.fromkeys(joined.get(one, one) for one in citations))


def _is_fragment(one: Citation, sources: Mapping[str, SourceChunk]) -> bool:
    """Return whether a citation is no whole sentence, or one of so few words that it is a term or heading."""
    source = sources[one.chunk]
    around = touched(source.text, one.start - source.span.start, one.end - source.span.start)
    whole = source.text[around[0].start : around[-1].end] if around else one.quote
    is_term = len(words(one.quote)) < _MIN_WORDS_ALONE and not one.quote.rstrip().endswith((".", "!", "?", "…"))
    return is_term or len(one.quote.strip()) < len(whole.strip())


def _is_near(run: Sequence[Citation], one: Citation) -> bool:
    end = max(each.end for each in run)
    near = one.start - end <= _MAX_GAP and max(end, one.end) - run[0].start <= _MAX_RUN
    return run[0].chunk == one.chunk and near


def _joined(run: Sequence[Citation], source: SourceChunk) -> Citation:
    start, end = run[0].start, max(one.end for one in run)
    return replace(run[0], quote=source.text[start - source.span.start : end - source.span.start], start=start, end=end)
