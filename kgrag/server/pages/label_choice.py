"""Which of the labels of a thing a page shows: by who says so, then by the languages that the visitor reads.

Whoever may write to one graph can state there that anything is called anything. So a graph is named by the catalogue or
by itself; a thing by the graph whose name its own begins with; a thing that kgrag made by the graphs that kgrag makes;
then come ontologies, then other data. Among equals, the graph that states a class of the thing goes before others, and
the older one before the younger.

Query read: ``pages/labels``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from starlette.requests import Request as HttpRequest

from kgrag.late_patterns import late_re
from kgrag.vocab import DCTERMS, KG, RDFS, Names

__all__ = ["Label", "best_labels", "languages_of", "shortened"]

_NAME_PROPERTIES = (
    "http://www.w3.org/2004/02/skos/core#prefLabel",
    *(term.value for term in (RDFS.label, DCTERMS.title, KG.question, KG.value)),
)
"""Properties that name a resource, best first."""
_TEXT_PROPERTIES = (KG.text.value, KG.quote.value)
"""What stands for a name where a resource has none."""
_MAX_LABEL_CHARACTERS = 80
_HEADING_MARKS = late_re(r"^#{1,6} (?=\S)")
_MAX_LANGUAGES = 10
_DEFAULT_LANGUAGE = "en"

_Row = Mapping[str, str]


@dataclass(frozen=True)
class Label:
    """A label, and the IRI of the graph that states it."""

    text: str
    graph: str


def best_labels(table: Iterable[_Row], languages: Sequence[str], names: Names) -> dict[str, Label]:
    """Return one label per resource.

    Args:
        table: rows of ``pages/labels``, by variable.
        languages: language tags that the visitor reads, best first.
        names: IRIs of the knowledge base.
    """
    best: dict[str, tuple[tuple[object, ...], Label]] = {}
    for row in table:
        thing, trust = row["thing"], _trust(row, names)
        if trust is None:
            continue
        is_text = row["property"] in _TEXT_PROPERTIES
        properties = _TEXT_PROPERTIES if is_text else _NAME_PROPERTIES
        said = (is_text, _language_rank(row["language"], languages), properties.index(row["property"]))
        order = (trust, row["typed"] != "true", row["created"] or "~", row["graph"], *said)
        if thing not in best or order < best[thing][0]:
            best[thing] = (order, Label(shortened(row["label"]), row["graph"]))
    return {thing: label for thing, (_, label) in best.items()}


def _trust(row: _Row, names: Names) -> int | None:
    """Return how little a graph is to be believed about a thing; None: not at all."""
    thing, graph, kind = row["thing"], row["graph"], row["kind"]
    if graph in (names.catalogue.value, thing):
        return 0
    if thing.startswith(f"{names.base}graph/"):
        return None
    if thing.startswith((f"{graph.rstrip('#/')}#", f"{graph.rstrip('#/')}/")):
        return 1
    made_by_kgrag = bool(kind) and kind not in (KG.OntologyGraph.value, KG.DataGraph.value)
    if made_by_kgrag and thing.startswith(names.base):
        return 1
    if kind == KG.OntologyGraph.value:
        return 2
    return 3 if made_by_kgrag else 4


def _language_rank(language: str, languages: Sequence[str]) -> float:
    """Return the place of a language among those that the visitor reads; a text without one comes after the first."""
    if not language:
        return 0.5
    for place, wanted in enumerate(languages):
        if language == wanted or language.startswith(f"{wanted}-"):
            return place
    primary = language.partition("-")[0]
    near = [place for place, wanted in enumerate(languages) if wanted.partition("-")[0] == primary]
    if near:
        return near[0] + 0.25
    return len(languages) + (0 if primary == _DEFAULT_LANGUAGE else 1)


def languages_of(request: HttpRequest) -> tuple[str, ...]:
    """Return the languages of Accept-Language, best first; English where there is none.

    >>> scope = {"type": "http", "headers": [(b"accept-language", b"de;q=0.5, en-GB, *;q=0.1, fr;q=0")]}
    >>> languages_of(HttpRequest(scope))
    ('en-gb', 'de')
    """
    wanted = []
    for place, part in enumerate(request.headers.get("accept-language", "").split(",")[:_MAX_LANGUAGES]):
        tag, _, weight = part.partition(";")
        try:
            quality = float(weight.strip().removeprefix("q=")) if weight else 1.0
        except ValueError:
            quality = 0.0
        if tag.strip() not in ("", "*") and quality > 0:
            wanted.append((-quality, place, tag.strip().lower()))
    return tuple(tag for _, _, tag in sorted(wanted)) or (_DEFAULT_LANGUAGE,)


def shortened(label: str) -> str:
    """Return a label on one line, cut at a blank where it is long, without the marks of a heading before it.

    >>> shortened("# Growing  vetch")
    'Growing vetch'
    """
    line = _HEADING_MARKS.sub("", " ".join(label.split()))
    return line if len(line) <= _MAX_LABEL_CHARACTERS else f"{line[:_MAX_LABEL_CHARACTERS].rsplit(' ', 1)[0]} …"
