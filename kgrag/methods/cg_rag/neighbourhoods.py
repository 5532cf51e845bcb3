"""The chunks that are linked to a chunk: as context of a hit (CG-RAG, section 4.4), and as a picture.

Query read: ``cg_rag/around``, and those of ``kgrag.answering.passage_hits``. Prompt read: ``cg_rag/neighbourhood``.
Nothing is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import pyoxigraph as ox

from kgrag import prompting, queries
from kgrag.answering.passage_hits import passage_hits
from kgrag.drawing.neighbourhood_picture import LinkedChunk, neighbourhood_page
from kgrag.errors import ReplyUnusable, UnknownName, UnsupportedTask
from kgrag.llm import structured_output
from kgrag.methods.cg_rag.citation_graph import KINDS
from kgrag.methods.cg_rag.edges import EdgeKind
from kgrag.model import Allowed, Hit, Prompt, Usage
from kgrag.ports import LanguageModel, TripleStore
from kgrag.text.chunking import count_tokens

__all__ = ["Neighbour", "Neighbourhood", "page", "with_context"]

_PROMPT = "cg_rag/neighbourhood"
_WORDINGS = {  # (kind, whether the edge leaves the chunk in the middle) -> what the neighbour is to that chunk
    (EdgeKind.ADJACENT, True): "behind it",
    (EdgeKind.ADJACENT, False): "before it",
    (EdgeKind.CROSS_REFERENCE, True): "it refers to",
    (EdgeKind.CROSS_REFERENCE, False): "refers to it",
    (EdgeKind.CITATION, True): "it cites",
    (EdgeKind.CITATION, False): "cites it",
    (EdgeKind.HYPERLINK, True): "it links to",
    (EdgeKind.HYPERLINK, False): "links to it",
}
_COLOURS = {
    EdgeKind.ADJACENT: "#57606a",
    EdgeKind.CROSS_REFERENCE: "#8250df",
    EdgeKind.CITATION: "#0b5cad",
    EdgeKind.HYPERLINK: "#1a7f37",
}
_NOTHING = "nothing"
"""What the prompt asks for, in any case, where the neighbours add nothing; no evidence then, and no fault."""
_SUMMARY_HEADING = "## Summary of linked passages, written by a model"
_MAX_SUMMARY_LETTERS = 1200  # a model that repeats itself must not bury the hit's own text


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A chunk that is linked to a chunk in the middle.

    ``outgoing`` edges leave the chunk in the middle; ``weight`` is 0 to 2; ``hit`` is the neighbour itself.
    """

    kind: EdgeKind
    outgoing: bool
    weight: float
    hit: Hit

    @property
    def wording(self) -> str:
        """What the neighbour is to the chunk in the middle, as "cites it"."""
        return _WORDINGS[self.kind, self.outgoing]

    @property
    def title(self) -> str:
        """The title of the neighbour's document, else its identifier, else ""."""
        return _title(self.hit)


def _title(hit: Hit) -> str:
    return str(hit.attributes.get("title") or hit.attributes.get("identifier") or "")


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """What is linked to chunks of a store: at most ``limit`` of each, of ``allowed`` documents only; None for all."""

    store: TripleStore
    limit: int
    allowed: Allowed | None = None

    def around(self, chunks: Sequence[str]) -> dict[str, list[Neighbour]]:
        """Return the direct neighbours of each chunk: the strongest of each kind in turn.

        A chunk that is linked in several ways comes once, by the first of these.
        """
        query = queries.bind("cg_rag/around", chunks=[ox.NamedNode(chunk) for chunk in dict.fromkeys(chunks)])
        edges: dict[str, list[tuple[str, str, str, str]]] = {chunk: [] for chunk in chunks}
        for chunk, *edge in self.store.select(query).values() if chunks else ():
            edges[chunk].append(cast("tuple[str, str, str, str]", tuple(edge)))
        chosen = {chunk: self._chosen(chunk, found) for chunk, found in edges.items()}
        best = {iri: weight for found in chosen.values() for iri, (weight, _, _) in found.items()}
        hits = {hit.iri: hit for hit in passage_hits(self.store, list(best.items()))}
        return {
            chunk: [
                Neighbour(kind, outgoing, weight, replace(hits[iri], score=weight))
                for iri, (weight, kind, outgoing) in found.items()
                if iri in hits
            ]
            for chunk, found in chosen.items()
        }

    def _chosen(
        self, chunk: str, edges: Sequence[tuple[str, str, str, str]]
    ) -> dict[str, tuple[float, EdgeKind, bool]]:
        """Return the neighbours of a chunk that are shown, in order, each with its heaviest edge."""
        kinds = {term.value: kind for kind, term in KINDS.items()}
        next_turn: dict[tuple[EdgeKind, bool], int] = {}
        turns: list[tuple[int, float, str, EdgeKind, bool]] = []
        for kind_iri, origin, target, weight in edges:
            kind, outgoing = kinds[kind_iri], origin == chunk
            neighbour = target if outgoing else origin
            if self.allowed is not None and neighbour not in self.allowed.chunks:
                continue
            turn = next_turn.get((kind, outgoing), 0)
            next_turn[kind, outgoing] = turn + 1
            turns.append((turn, -float(weight), neighbour, kind, outgoing))
        first_edges: dict[str, tuple[float, EdgeKind, bool]] = {}
        for _, negative_weight, neighbour, kind, outgoing in sorted(turns):
            if neighbour != chunk:
                first_edges.setdefault(neighbour, (-negative_weight, kind, outgoing))
        return dict(list(first_edges.items())[: self.limit])


def with_context(
    question: str, hits: Sequence[Hit], neighbourhood: Neighbourhood, *, model: LanguageModel
) -> tuple[list[Hit], Usage]:
    """Return hits with what is linked to them, neighbours or a summary where they are long, and what that cost.

    Each neighbour is read once, with the first hit that it is linked to. Neighbours that are shorter than the request
    for their summary would be follow the hits as evidence of their own. A summary follows the text of its hit, whose
    sources then include the neighbours. The neighbourhoods are summarised in one batch. A model that cannot summarise
    them leaves the hits as they are, and so does a reply that was cut or withheld, or that says they add nothing.

    Args:
        question: what was asked; the summaries answer it.
        hits: chunks.
        neighbourhood: looks the neighbours up.
        model: summarises.

    Raises:
        ServiceError: the model failed.
    """
    seen = {hit.iri for hit in hits}
    linked: list[Hit] = []
    long: dict[int, list[Neighbour]] = {}
    around = neighbourhood.around([hit.iri for hit in hits])
    for number, hit in enumerate(hits):
        neighbours = [one for one in around[hit.iri] if one.hit.iri not in seen]
        seen |= {one.hit.iri for one in neighbours}
        request = _prompt(question, hit, [])
        if sum(count_tokens(one.hit.text) for one in neighbours) > count_tokens(request.text):
            long[number] = neighbours
        else:
            linked += [replace(one.hit, attributes={**one.hit.attributes, "link": one.wording}) for one in neighbours]
    prompts = [_prompt(question, hits[number], neighbours) for number, neighbours in long.items()]
    try:
        replies = model.complete(prompts) if prompts else []
    except UnsupportedTask:
        return [*hits, *linked], Usage()
    usage = sum((reply.usage for reply in replies), Usage())
    enriched = list(hits)
    for (number, neighbours), reply in zip(long.items(), replies, strict=True):
        try:
            text = structured_output.text_of(reply)
        except ReplyUnusable:
            continue
        # a reply may hold halves of surrogate pairs, which neither the store nor a terminal takes
        summary = " ".join(text.encode("utf-8", "replace").decode().split())[:_MAX_SUMMARY_LETTERS]
        if summary.strip("\"'*.!() ").casefold() not in ("", _NOTHING):
            hit = hits[number]
            sources = [*hit.sources, *(span for neighbour in neighbours for span in neighbour.hit.sources)]
            enriched[number] = replace(
                hit,
                text=f"{hit.text}\n\n{_SUMMARY_HEADING}\n\n{summary}",
                sources=tuple(dict.fromkeys(sources)),
                attributes={**hit.attributes, "context": summary},
            )
    return [*enriched, *linked], usage


def _prompt(question: str, hit: Hit, neighbours: Sequence[Neighbour]) -> Prompt:
    around = [{"kind": one.wording, "title": one.title, "text": one.hit.text} for one in neighbours]
    return prompting.render(_PROMPT, question=question, text=hit.text, around=around)


def page(neighbourhood: Neighbourhood, chunk: str) -> str:
    """Return a chunk and its direct neighbours as one web page without scripts.

    Raises:
        UnknownName: there is no such chunk.
    """
    try:
        ox.NamedNode(chunk)
    except ValueError as error:
        message = f"{chunk!r} is not an IRI of a chunk: {error}. `kgrag retrieve` prints the IRIs of chunks."
        raise UnknownName(message) from None
    hits = passage_hits(neighbourhood.store, [(chunk, 0.0)])
    if not hits:
        raise UnknownName(f"there is no chunk <{chunk}>. `kgrag retrieve` prints the IRIs of chunks.")
    linked = [
        LinkedChunk(
            neighbour.hit.iri,
            neighbour.title,
            neighbour.hit.text,
            neighbour.wording,
            neighbour.weight,
            outgoing=neighbour.outgoing,
            colour=_COLOURS[neighbour.kind],
            dashed=neighbour.kind is EdgeKind.CROSS_REFERENCE,
        )
        for neighbour in neighbourhood.around([chunk])[chunk]
    ]
    return neighbourhood_page(chunk, _title(hits[0]) or chunk, hits[0].text, linked)
