"""What stands around a chunk: as evidence beside a hit (CG-RAG, section 4.4), and as a picture.

Queries read: ``cg_rag/around``, ``passages/evidence``. Prompt read: ``cg_rag/neighbourhood``. Template read:
``neighbourhood.html.j2``, which escapes all that it prints. Nothing is written.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
import pyoxigraph as ox

from kgrag import prompting, queries
from kgrag.errors import ReplyUnusable, UnknownName, UnsupportedTask
from kgrag.llm import structured_output
from kgrag.methods.cg_rag.citation_graph import KINDS
from kgrag.methods.cg_rag.edges import Kind
from kgrag.model import Hit, Span, plain
from kgrag.ports import LanguageModel, TripleStore

__all__ = ["Neighbour", "around", "hits", "page", "with_context"]

PROMPT = "cg_rag/neighbourhood"
_ATTRIBUTES = ("title", "identifier", "heading", "page")
_SAID = {  # (kind, whether the edge leaves the chunk in the middle) -> what the neighbour is to it
    (Kind.ADJACENT, True): "behind it",
    (Kind.ADJACENT, False): "before it",
    (Kind.CROSS_REFERENCE, True): "it refers to",
    (Kind.CROSS_REFERENCE, False): "refers to it",
    (Kind.CITATION, True): "it cites",
    (Kind.CITATION, False): "cites it",
}
_COLOURS = {Kind.ADJACENT: "#57606a", Kind.CROSS_REFERENCE: "#8250df", Kind.CITATION: "#0b5cad"}
_WIDTH, _BOX, _TALL = 900, 190, 44
_LONGEST = 1200


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A chunk beside another one: the edge's kind, whether it leaves that other one, its weight, and the chunk."""

    kind: Kind
    leaves: bool
    weight: float
    hit: Hit

    @property
    def said(self) -> str:
        """What it is to the chunk in the middle."""
        return _SAID[self.kind, self.leaves]

    @property
    def title(self) -> str:
        """The title of its document, else its identifier."""
        return str(self.hit.attributes.get("title") or self.hit.attributes.get("identifier") or "")


def hits(store: TripleStore, ranking: Sequence[tuple[str, float]]) -> list[Hit]:
    """Give ranked chunks as hits; one that is not stored is left out."""
    query = queries.bind("passages/evidence", chunks=[ox.NamedNode(chunk) for chunk, _ in ranking])
    table = store.select(query)
    rows = [dict(zip(table.variables, map(plain, row), strict=True)) for row in table]
    known = {row["chunk"]: row for row in rows}
    return [_hit(chunk, score, known[chunk]) for chunk, score in ranking if chunk in known]


def _hit(chunk: str, score: float, row: dict[str, str]) -> Hit:
    span = Span(chunk, row["document"], int(row["start"]), int(row["end"]))
    attributes = {name: row[name] for name in _ATTRIBUTES if row[name]}
    return Hit(chunk, "passage", row["text"], score, (span,), attributes)


def around(store: TripleStore, chunk: str, *, limit: int) -> list[Neighbour]:
    """Give the direct neighbours of a chunk, at most ``limit``: the strongest of each kind in turn.

    A chunk that is linked in several ways comes once, by the first of these.
    """
    rows = store.select(queries.bind("cg_rag/around", chunk=ox.NamedNode(chunk))).values()
    kinds = {term.value: kind for kind, term in KINDS.items()}
    turns: dict[tuple[Kind, bool], int] = {}
    found: list[tuple[int, float, str, Kind, bool]] = []
    for kind, origin, target, weight in rows:
        leaves = origin == chunk
        place = turns[kinds[kind], leaves] = turns.get((kinds[kind], leaves), -1) + 1
        found.append((place, -float(weight), target if leaves else origin, kinds[kind], leaves))
    first: dict[str, tuple[int, float, str, Kind, bool]] = {}
    for each in sorted(found):
        if each[2] != chunk:
            first.setdefault(each[2], each)
    chosen = list(first.values())[:limit]
    known = {hit.iri: hit for hit in hits(store, [(other, -weight) for _, weight, other, _, _ in chosen])}
    return [
        Neighbour(kind, leaves, -weight, known[other]) for _, weight, other, kind, leaves in chosen if other in known
    ]


def with_context(
    question: str, found: Sequence[Hit], *, store: TripleStore, model: LanguageModel, limit: int
) -> list[Hit]:
    """Give hits whose text is followed by a summary of their neighbours, and whose sources include these.

    The neighbourhoods are summarised in one batch. A model that cannot summarise them leaves the hits as they are, and
    so does a reply that was cut or withheld.

    Raises:
        ServiceError: the model failed.
    """
    circles = [around(store, hit.iri, limit=limit) for hit in found]
    asked = [number for number, circle in enumerate(circles) if circle]
    prompts = [
        prompting.render(
            PROMPT,
            question=question,
            text=found[number].text,
            around=[{"kind": each.said, "title": each.title, "text": each.hit.text} for each in circles[number]],
        )
        for number in asked
    ]
    try:
        replies = model.complete(prompts) if prompts else []
    except UnsupportedTask:
        return list(found)
    enriched = list(found)
    for number, reply in zip(asked, replies, strict=True):
        try:
            summary = " ".join(structured_output.text_of(reply).encode("utf-8", "replace").decode().split())[:_LONGEST]
        except ReplyUnusable:
            continue
        if summary:
            sources = [span for each in circles[number] for span in each.hit.sources]
            text = f"{found[number].text}\n\n## Linked passages\n\n{summary}"
            attributes = {**found[number].attributes, "context": summary}
            all_sources = tuple(dict.fromkeys([*found[number].sources, *sources]))
            enriched[number] = replace(found[number], text=text, sources=all_sources, attributes=attributes)
    return enriched


def page(store: TripleStore, chunk: str, *, limit: int) -> str:
    """Draw a chunk and its direct neighbours as one web page without scripts.

    Raises:
        UnknownName: there is no such chunk.
    """
    middle = hits(store, [(_checked(chunk), 0.0)])
    if not middle:
        raise UnknownName(f"there is no chunk <{chunk}>. `kgrag retrieve` gives the IRIs of chunks.")
    circle = around(store, chunk, limit=limit)
    height = max(240, 84 * ((len(circle) + 1) // 2) + 60)
    title = str(middle[0].attributes.get("title") or middle[0].attributes.get("identifier") or chunk)
    centre = {"x": (_WIDTH - _BOX) / 2, "y": (height - _TALL) / 2, "label": _short(title, 26)}
    drawn = [_drawn(each, number, len(circle), height) for number, each in enumerate(circle)]
    text = _short(middle[0].text, 700)
    return _template().render(
        title=title, chunk=chunk, text=text, around=drawn, width=_WIDTH, height=height, centre=centre
    )


def _checked(chunk: str) -> str:
    try:
        return ox.NamedNode(chunk).value
    except ValueError as error:
        raise UnknownName(f"{chunk!r} is no IRI of a chunk: {error}. `kgrag retrieve` gives them.") from None


def _drawn(each: Neighbour, number: int, count: int, height: int) -> dict[str, Any]:
    """Place a neighbour: what links to the chunk on both sides in turn, from the top down."""
    rows = math.ceil(count / 2)
    right, row = number % 2 == 1, number // 2
    x = _WIDTH - _BOX - 10 if right else 10
    y = (row + 0.5) * (height / rows) - _TALL / 2
    ends = (_WIDTH / 2 + (_BOX / 2 if right else -_BOX / 2), height / 2), (x if right else x + _BOX, y + _TALL / 2)
    (x1, y1), (x2, y2) = ends
    return {
        "x": round(x, 1),
        "y": round(y, 1),
        "x1": round(x1, 1),
        "y1": round(y1, 1),
        "x2": round(x2, 1),
        "y2": round(y2, 1),
        "xm": round((x1 + x2) / 2, 1),
        "ym": round((y1 + y2) / 2 - 3, 1),
        "leaves": each.leaves,
        "dashed": each.kind is Kind.CROSS_REFERENCE,
        "colour": _COLOURS[each.kind],
        "stroke": round(1 + 2 * min(each.weight, 2.0) / 2, 2),
        "kind": each.said,
        "weight": f"{each.weight:.2f}",
        "title": each.title,
        "chunk": each.hit.iri,
        "label": _short(each.title or each.hit.iri, 30),
        "words": _short(each.hit.text, 36),
        "text": _short(each.hit.text, 280),
    }


def _short(text: str, length: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1]}…"


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(Path(__file__).with_name("neighbourhood.html.j2").read_text(encoding="utf-8"))
