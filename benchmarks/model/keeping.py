"""Counts the facts of og_rag's replies that its hypergraph holds.

A run's documents are mapped again in a knowledge base in memory with the replies that the run kept, so that nothing is
paid. A fact is a value of an object of a reply, with the attribute it stands under and the name of the object it is in.
It is kept where a hyperedge has the value under that attribute, beside the name.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from benchmarks.model.asking import take_in
from benchmarks.model.handing_on import HandingOn
from kgrag import KnowledgeBase
from kgrag.model import Completion, Prompt, Table, plain
from kgrag.ports import LanguageModel
from kgrag.settings import Settings

__all__ = ["Fact", "facts_in", "facts_kept"]

_NODES = """
PREFIX kg: <https://w3id.org/kgrag/ns#>
SELECT ?edge ?key ?value { GRAPH ?edge { ?node kg:key ?key ; kg:value ?value } }
"""


@dataclass(frozen=True, slots=True)
class Fact:
    """A value of a reply, its attribute, and the name of the object that it is in, "" where that has none."""

    name: str
    attribute: str
    value: str


class _Listening(HandingOn):
    """Hands prompts on, and keeps the replies."""

    def __init__(self, inner: LanguageModel) -> None:
        super().__init__(inner)
        self.replies: list[Completion] = []

    def as_completed(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        for index, completion in self.inner.as_completed(prompts):
            self.replies.append(completion)
            yield index, completion


def facts_in(data: Any, attribute: str = "", name: str = "") -> Iterator[Fact]:
    """Yield the facts of a reply in JSON-LD; an object without a name is of the one around it."""
    if isinstance(data, dict):
        own = data.get("name")
        name = own if isinstance(own, str) else name
        for key, value in data.items():
            if not key.startswith("@") or key == "@graph":
                yield from facts_in(value, key, name)
    elif isinstance(data, list):
        for one in data:
            yield from facts_in(one, attribute, name)
    elif data is not None and _folded(data):
        yield Fact(name, attribute, str(data))


def facts_kept(
    into: Path, sources: Sequence[Path], *, settings: Settings, **parts: Any
) -> tuple[list[Fact], list[Fact]]:
    """Return the facts of the replies to og_rag's requests that the hypergraph holds, and those that it does not.

    Args:
        into: the folder of the run.
        sources: those of the run.
        settings: those of the run: its model's replies are kept under its name.
        parts: model or embedder in place of those of the settings.
    """
    replaying = settings.model_copy(update={"completions": "replay"})
    with KnowledgeBase(into / "og_rag.kb", settings=replaying, **parts) as run:
        listening = _Listening(run.model)
        with KnowledgeBase(settings=settings, **{**parts, "model": listening}) as kb:
            take_in(kb, sources)
            kb.build("og_rag")
            edges: dict[str, list[tuple[str, str]]] = defaultdict(list)
            for row in cast("Table", kb.query(_NODES)):
                edge, key, value = map(plain, row)
                edges[edge].append((_folded(key), _folded(value)))
    facts = [fact for reply in listening.replies for fact in facts_in(json.loads(reply.text))]
    places: dict[str, list[tuple[str, list[tuple[str, str]]]]] = defaultdict(list)
    for pairs in edges.values():
        for key, value in pairs:
            places[value].append((key, pairs))
    held = {fact: any(_holds(fact, key, pairs) for key, pairs in places[_folded(fact.value)]) for fact in set(facts)}
    return [fact for fact in facts if held[fact]], [fact for fact in facts if not held[fact]]


def _holds(fact: Fact, key: str, pairs: Sequence[tuple[str, str]]) -> bool:
    name = _folded(fact.name)
    return _folded(fact.attribute) in key and (name in key or any(name in k or name == value for k, value in pairs))


def _folded(text: object) -> str:
    return " ".join(str(text).split()).casefold()
