"""A second search for what the first hits lack: a model that names what it must look up is asked again with it.

The model that is always there follows a question over names ("Where was the director of Rain born?"). Where no hit is
about such a name, its reply has the name under ``look_up``; passages that are found for it are added to the evidence. A
search like the first one, and only a few of them: the answer cites what it is made of, wherever that came from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kgrag.llm.reading_by_rules import is_by_rules
from kgrag.model import Answer, Citation, Completion, Hit, Value
from kgrag.text.quotes import places

__all__ = ["LookUp", "hits_used", "names_wanted", "values_stated", "with_looked_up"]

LookUp = Callable[[str], Sequence[Hit]]
"""Returns passages for a name, the best first."""
_MAX_NAMES = 4
_MAX_ROUNDS = 2


def names_wanted(completion: Completion) -> list[str]:
    """Return the names that a model must look up to go on; [] for none, as with every model but the extractive one."""
    data = completion.data if isinstance(completion.data, Mapping) else {}
    wanted = data.get("look_up")
    named = [name for name in wanted if isinstance(name, str) and name.strip()] if isinstance(wanted, list) else []
    return named[:_MAX_NAMES]


def with_looked_up(
    hits: Sequence[Hit],
    completion: Completion,
    look_up: LookUp,
    ask: Callable[[Sequence[Hit]], Completion],
) -> tuple[list[Hit], Completion] | None:
    """Return the hits with what was looked up, and the reply to them; None where that answers no more than before.

    Where it has no answer, but another step is missing now, the first hits and reply are returned with that step.

    Args:
        hits: the first ones.
        completion: the reply to them.
        look_up: searches for a name.
        ask: asks the model again, with more hits.
    """
    found, asked = list(hits), set[str]()
    first = completion
    for _ in range(_MAX_ROUNDS):
        names = [name for name in names_wanted(completion) if name not in asked]
        known = {hit.iri for hit in found}
        new = {hit.iri: hit for name in names for hit in look_up(name) if hit.iri not in known}
        if not new:
            break
        asked.update(names)
        found += new.values()
        completion = ask(found)
        if isinstance(completion.data, Mapping) and completion.data.get("values"):
            return found, completion
    step = _step_lacking(completion)
    if not step or step == _step_lacking(first):
        return None
    return list(hits), replace(first, data={**first.data, **step})


def _step_lacking(completion: Completion) -> dict[str, str]:
    """Return what a reply says is not stated, and its reason; {} where it says nothing."""
    data = completion.data if isinstance(completion.data, Mapping) else {}
    return {name: data[name] for name in ("not_stated", "reason") if data.get("not_stated") and data.get(name)}


def hits_used(answer: Answer, first: Sequence[Hit]) -> Answer:
    """Return an answer whose hits are the first ones, and of those that were looked up the ones that it cites."""
    cited = {citation.chunk for citation in answer.citations}
    further = [hit for hit in answer.hits[len(first) :] if hit.iri in cited]
    return replace(answer, hits=(*first, *further))


def values_stated(
    completion: Completion, question: str, sentences: Sequence[str], citations: Sequence[Citation]
) -> tuple[Value, ...]:
    """Return the short answers that a reply states itself, each with the citation that has it; () where one lacks it.

    A choice is a name of the question and yes or no is no word of a text: such a value has a citation of its sentence.

    Args:
        completion: the reply.
        question: as it was asked.
        sentences: those of the answer, where they are all that the reply has; fewer carry none of its values.
        citations: of the answer.
    """
    data = completion.data if isinstance(completion.data, Mapping) else {}
    rows, replied = data.get("values"), data.get("sentences")
    if not isinstance(rows, list) or not isinstance(replied, list) or len(replied) != len(sentences):
        return ()
    by_rules = is_by_rules(completion.model)
    values = [_held(row, question, citations, by_rules=by_rules) if isinstance(row, Mapping) else None for row in rows]
    return tuple(value for value in values if value is not None) if all(values) else ()


def _held(row: Mapping[str, Any], question: str, citations: Sequence[Citation], *, by_rules: bool) -> Value | None:
    """Return a value with the first citation that has it; None where it is no value, or none has it.

    One that rules computed from what its sentence cites has the first citation of that.
    """
    kind, text, normal = row.get("kind"), row.get("text"), row.get("value")
    if kind not in ("text", "number", "date", "boolean", "choice") or not isinstance(text, str) or not text:
        return None
    if kind == "choice" and text not in " ".join(question.split()):
        return None
    needs_no_place = kind in ("choice", "boolean") or (by_rules and row.get("computed") is True)
    for number, citation in enumerate(citations):
        in_sentence = citation.sentence == row.get("sentence")
        if in_sentence and (needs_no_place or places(text, citation.derived or citation.quote)):
            unit = row.get("unit")
            return Value(
                kind,
                text,
                normal if isinstance(normal, str) else "",
                unit if isinstance(unit, str) else "",
                citation=number,
            )
    return None
