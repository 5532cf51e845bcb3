"""What stands around a chunk in the citation graph, copied; fulfils ``cg_rag/neighbourhood``.

Of the linked passages those sentences are kept that share a term with the question and that the passage itself does not
have; of these, the ones in the middle make the summary.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kgrag.adapters.extractive.summaries import reply as summarise
from kgrag.adapters.extractive.wording import terms
from kgrag.stages.sentences import split

__all__ = ["reply"]

_MOST = 60


def reply(variables: Mapping[str, Any]) -> str:
    """Give at most 120 words of the neighbours; "" when none shares a term with the question.

    Args:
        variables: ``question``, ``text`` and ``around``, a list of objects with ``text``.

    >>> around = [{"text": "Barley needs lime. Rain fell."}]
    >>> reply({"question": "What does barley need?", "text": "On soils.", "around": around})
    'Barley needs lime.'
    """
    wanted = frozenset(terms(str(variables["question"])))
    known = _sentences(str(variables["text"]))
    said = [
        sentence
        for each in variables["around"]
        for sentence in _sentences(str(each["text"]))
        if sentence not in known and wanted.intersection(terms(sentence))
    ]
    chosen = list(dict.fromkeys(said))[:_MOST]
    return summarise({"texts": chosen}) if chosen else ""


def _sentences(text: str) -> list[str]:
    return [" ".join(text[start:end].split()) for start, end in split(text)]
