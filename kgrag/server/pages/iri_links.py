"""How pages write IRIs, and where they link to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import PurePosixPath, PureWindowsPath
from urllib.parse import quote

import pyoxigraph as ox
from starlette.requests import Request as HttpRequest

from kgrag.index.ontology_prefixes import COMMON_PREFIXES
from kgrag.late_patterns import late_re
from kgrag.model import Term
from kgrag.resources import folder
from kgrag.server.pages.label_choice import best_labels, languages_of, shortened
from kgrag.server.server_state import state_of
from kgrag.server.stored_rows import rows
from kgrag.store.rdf_files import plugin_quads
from kgrag.vocab import KG, RDFS, local_name, words_of

__all__ = ["Naming", "Shown", "naming_for", "shown_value", "vocabulary"]

_VOCABULARIES = ("kgrag", "vector", "audit")
_LOCAL_NAME = late_re(r"[\w.-]*")
_MAX_LABELS_READ = 200
_PLACES = (KG.location, KG.readFrom, KG.root)
"""Properties whose values may be paths of the server's disk, which visitors of a page need not know."""


@dataclass(frozen=True)
class Shown:
    """A term as a page shows it.

    Attributes:
        text: the literal's text, or the IRI in short.
        iri: the IRI; "" for a literal or blank node.
        href: the page of the IRI.
        label: a name of the IRI, else "".
        note: a literal's language or datatype.
        blank: the name of a blank node, else "".
    """

    text: str
    iri: str = ""
    href: str = ""
    label: str = ""
    note: str = ""
    blank: str = ""

    @property
    def name(self) -> str:
        """The text of a link: the label, else the IRI in short."""
        return self.label or self.text


@dataclass(frozen=True)
class Naming:
    """Writes terms: ``prefixes`` shorten IRIs, as does ``base``; links begin with ``root``.

    ``labels`` go by IRI, as do the graphs that state them, ``sources``; labels of kgrag's own vocabulary have none.
    """

    prefixes: Mapping[str, str]
    base: str
    root: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)

    def short(self, iri: str) -> str:
        """Write an IRI in short: with a prefix, without the base, or as it is.

        >>> Naming({"kg": "https://w3id.org/kgrag/ns#"}, "urn:kgrag:").short("https://w3id.org/kgrag/ns#Chunk")
        'kg:Chunk'
        """
        best = max(
            (item for item in self.prefixes.items() if iri.startswith(item[1])),
            key=lambda item: len(item[1]),
            default=None,
        )
        if best is not None and _LOCAL_NAME.fullmatch(iri[len(best[1]) :]):
            return f"{best[0]}:{iri[len(best[1]) :]}"
        return iri.removeprefix(self.base) if iri != self.base else iri

    def href(self, iri: str) -> str:
        """Return the address of the page of an IRI."""
        return f"{self.root}/resource?iri={quote(iri, safe='')}"

    def picture(self, iri: str) -> str:
        """Return the address of the picture of an IRI."""
        return f"{self.root}/explore/around?iri={quote(iri, safe='')}"

    def why_rows(self, sparql: str) -> str:
        """Return the address of the page that shows why a query has its rows."""
        return f"{self.root}/explore/query?query={quote(sparql, safe='')}"

    def link(self, iri: str) -> Shown:
        """Show an IRI with its page and label."""
        return Shown(self.short(iri), iri=iri, href=self.href(iri), label=self.labels.get(iri, ""))

    def property(self, iri: str) -> Shown:
        """Show a property: by its label, else in words."""
        shown = self.link(iri)
        return shown if shown.label else Shown(shown.text, iri, shown.href, words_of(local_name(iri)))

    def term(self, term: object) -> Shown:
        """Show any term."""
        if isinstance(term, ox.NamedNode):
            return self.link(term.value)
        if isinstance(term, ox.BlankNode):
            return Shown("", blank=term.value)
        if isinstance(term, ox.Literal):
            kind = "" if term.datatype.value.endswith(("#string", "#langString")) else self.short(term.datatype.value)
            return Shown(term.value, note=term.language or kind)
        return Shown(str(term))


def shown_value(property_: object, value: Term | None) -> Term | None:
    """Return a value as a page shows it: of a place on the server's disk, its name alone; of a link, its target.

    >>> shown_value(KG.location, ox.Literal("/srv/texts/lentil.md")).value
    '…/lentil.md'
    >>> shown_value(KG.link, ox.Literal("10 14 lentil.html#sowing")).value
    'lentil.html#sowing'
    """
    if property_ == KG.link and isinstance(value, ox.Literal):
        return ox.Literal(value.value.split(" ", 2)[-1])
    if property_ not in _PLACES or not isinstance(value, ox.Literal):
        return value
    path = next(
        (kind(value.value) for kind in (PurePosixPath, PureWindowsPath) if kind(value.value).is_absolute()), None
    )
    return value if path is None else ox.Literal(f"…/{path.name}")


async def naming_for(request: HttpRequest, terms: Iterable[object] = ()) -> Naming:
    """Return a naming that knows the prefixes of the loaded ontologies, and labels of the first 200 of these terms."""
    dataset = state_of(request).dataset
    names = dataset.names
    wanted = [term for term in dict.fromkeys(terms) if isinstance(term, ox.NamedNode)]
    labels = {iri: label for iri, (label, _) in vocabulary().items()}
    sources: dict[str, str] = {}
    missing = [term for term in wanted if term.value not in labels][:_MAX_LABELS_READ]
    if missing:
        table = await rows(request, "pages/labels", things=missing, catalogue=names.catalogue)
        named = (dict(zip(table.variables, row, strict=True)) for row in table.values())
        stated_labels = best_labels(named, languages_of(request), names)
        labels |= {iri: label.text for iri, label in stated_labels.items()}
        sources = {iri: label.graph for iri, label in stated_labels.items()}
    if graphs := [
        term for term in missing if term.value.startswith(f"{names.base}graph/") and term.value not in labels
    ]:
        titles = await rows(request, "pages/titles", graphs=graphs, catalogue=names.catalogue)
        labels |= {row[0]: shortened(row[1]) for row in titles.values()}
    if edges := [term for term in missing if term.value.startswith(f"{names.base}hyperedge/")]:
        labels |= _edge_labels((await rows(request, "pages/pairs", edges=edges)).values())
    root = str(request.scope.get("root_path", "")).rstrip("/")
    return Naming({**COMMON_PREFIXES, **dataset.prefixes}, names.base, root, labels, sources)


def _edge_labels(pairs: Iterable[tuple[str, ...]]) -> dict[str, str]:
    """Return what hyperedges say, by IRI: the values of their pairs, the shortest first."""
    values: dict[str, list[str]] = {}
    for edge, _, _, value in pairs:
        values.setdefault(edge, []).append(value)
    return {
        edge: shortened(" · ".join(sorted(texts, key=lambda each: (len(each), each)))) for edge, texts in values.items()
    }


@cache
def vocabulary() -> Mapping[str, tuple[str, str]]:
    """Return label and comment of every term of kgrag's vocabularies and of those of plug-ins, by IRI."""
    labels: dict[str, str] = {}
    comments: dict[str, str] = {}
    own = (quad for name in _VOCABULARIES for quad in ox.parse(path=folder("ontologies") / f"{name}.ttl"))
    for quad in (*own, *plugin_quads("ontologies")):
        if isinstance(quad.subject, ox.NamedNode) and isinstance(quad.object, ox.Literal):
            for property_, kept in ((RDFS.label, labels), (RDFS.comment, comments)):
                if quad.predicate == property_:
                    kept[quad.subject.value] = quad.object.value
    return {iri: (label, comments.get(iri, "")) for iri, label in labels.items()}
