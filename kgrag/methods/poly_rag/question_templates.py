"""Questions of a fixed form, read without a model: one attribute by its words, one or two things by their names.

"What is the creator of Auron?", "How many awards does Ann Lee have?", "Which films have director Jan Kis?", "Is Bath
the birth place of Ann Lee?" name a property by its label and things by theirs, and nothing is left over. Only then is a
question read; what has a word more is left to a model. The query is a stored one, so nothing of the question becomes
syntax. Queries read: ``templates/*``, and those of ``kgrag.text.documents``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import pyoxigraph as ox

from kgrag import queries
from kgrag.mapping.ontology_terms import Ontology
from kgrag.methods.poly_rag.inferred_facts import Support, support
from kgrag.model import Hit, Span, Term, plain
from kgrag.ports import TripleStore
from kgrag.querying.text_to_sparql.named_entities import NamedEntity
from kgrag.querying.text_to_sparql.row_evidence import labels
from kgrag.text import documents
from kgrag.text.quotes import locate
from kgrag.text.sentences import attribute_words

__all__ = ["Answered", "Form", "Template", "answered", "templated"]

Form = Literal["values", "subjects", "count", "ask"]

_MOST_SOURCES = 3
_FREE = frozenset({"have", "list", "mani", "give", "name", "tell", "show"})
_YES_NO = re.compile(r"\s*(?:is|are|was|were|does|do|did|has|have)\b", flags=re.IGNORECASE)
_COUNTED = re.compile(r"\s*how many\b", flags=re.IGNORECASE)
_OWNED = re.compile(r"\s*['’]s?\b")
_OWNER_BEFORE = re.compile(
    r"\b(?:of|for)\s+(?:the\s+)?$|\b(?:do|does|did|has|have)\s+(?:the\s+)?$", flags=re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Template:
    """A question that was read: properties of one name, the things asked about, and the class that is asked for.

    ``things`` are subjects for "values" and "count", objects for "subjects"; "ask" has the other end in ``others``.
    """

    form: Form
    properties: tuple[str, ...]
    things: tuple[str, ...]
    others: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    concept: str = ""


@dataclass(frozen=True, slots=True)
class Answered:
    """What the stored query of a template gave: values as plain text, the hits that carry them, and the query.

    ``inferred`` says of each value that no text states what it follows from. ``empty`` says that there is no row, that
    the count is 0 or that the answer is no.
    """

    values: tuple[str, ...]
    hits: tuple[Hit, ...]
    sparql: str
    total: int = 0
    inferred: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether nothing was found."""
        return not self.values


def templated(question: str, found: Sequence[NamedEntity], ontology: Ontology) -> Template | None:
    """Read a question of a fixed form, or give None.

    Args:
        question: what was asked.
        found: the things that it names.
        ontology: the loaded properties and classes.
    """
    terms = {*ontology.properties, *ontology.concepts}
    things = [mention for mention in found if mention.entity not in terms]
    spans = sorted({(mention.start, mention.end) for mention in things})
    if not 1 <= len(spans) <= 2:
        return None
    rest = _without(question, spans)
    named = {span: tuple(dict.fromkeys(m.entity for m in things if (m.start, m.end) == span)) for span in spans}
    words = tuple(question[start:end] for start, end in spans)
    if len(spans) == 2:
        return _yes_no(question, rest, [named[span] for span in spans], words, ontology)
    if properties := _called(rest, ontology):
        form = _form(question, *spans[0])
        return Template(form, properties, named[spans[0]], names=words)
    return _of_class(rest, named[spans[0]], words, ontology)


def _without(question: str, spans: Sequence[tuple[int, int]]) -> str:
    parts, start = [], 0
    for begin, end in spans:
        parts.append(question[start:begin])
        start = end
    return " ".join([*parts, _OWNED.sub(" ", question[start:], count=1)])


def _telling(rest: str) -> frozenset[str]:
    return attribute_words(rest)


def _called(rest: str, ontology: Ontology) -> tuple[str, ...]:
    """Give the properties whose label or local name has just the words that are left of a question."""
    asked = _telling(rest)
    for wanted in dict.fromkeys([asked, asked - _FREE]):
        found = tuple(sorted(iri for iri in ontology.properties if wanted and wanted in _names(iri, ontology)))
        if found:
            return found
    return ()


def _names(iri: str, ontology: Ontology) -> set[frozenset[str]]:
    local = re.split(r"[#/:]", iri.rstrip("#/:"))[-1]
    return {attribute_words(ontology.properties[iri].label), attribute_words(local)}


def _form(question: str, start: int, end: int) -> Form:
    owned = _OWNER_BEFORE.search(question[:start]) or _OWNED.match(question[end:])
    if _COUNTED.match(question):
        return "count"
    return "values" if owned else "subjects"


def _yes_no(
    question: str, rest: str, things: Sequence[tuple[str, ...]], words: tuple[str, ...], ontology: Ontology
) -> Template | None:
    properties = _called(rest, ontology)
    if not properties or not _YES_NO.match(question):
        return None
    return Template("ask", properties, things[1], things[0], names=words)


def _of_class(rest: str, things: tuple[str, ...], words: tuple[str, ...], ontology: Ontology) -> Template | None:
    """Read "Which films have director Jan Kis?": the words are those of a class and of a property."""
    asked = _telling(rest) - _FREE
    for iri in sorted(ontology.concepts):
        kind = attribute_words(ontology.concepts[iri].label)
        if kind and kind < asked and (properties := _exactly(asked - kind, ontology)):
            return Template("subjects", properties, things, names=words, concept=iri)
    return None


def _exactly(asked: frozenset[str], ontology: Ontology) -> tuple[str, ...]:
    return tuple(sorted(iri for iri in ontology.properties if asked in _names(iri, ontology)))


def answered(template: Template, k: int, *, store: TripleStore) -> Answered:
    """Run the stored query of a template over the facts, and give at most k rows as hits.

    Raises:
        InvalidSPARQL: never for a template of ``templated``.
    """
    query = _query(template, store)
    rows: dict[Term, list[str]] = defaultdict(list)
    for value, source in store.select(query):
        if value is not None:
            rows[value] += [plain(source)] if source is not None else []
    behind = _supported(template, rows, store)
    named = labels([[value] for value in rows], store)
    shown = {value: named.get(plain(value), plain(value)) for value in rows}
    texts = list(dict.fromkeys(shown.values()))
    if template.form == "ask":
        texts = ["Yes"] if texts else []
    if template.form == "count":
        texts = [str(len(texts))] if texts else []
    hits = _hits(template, {value: shown[value] for value in list(rows)[:k]}, rows, query, store)
    inferred = tuple(f"{shown[value]} is inferred: {one.reason}" for value, one in behind.items())
    return Answered(tuple(texts), tuple(hits), query, len(rows), inferred)


def _supported(template: Template, rows: dict[Term, list[str]], store: TripleStore) -> Mapping[Term, Support]:
    """Give what the values that no chunk states follow from, and take the chunks of that for theirs."""
    things, properties = _nodes(template.things), _nodes(template.properties)
    found = support([value for value, chunks in rows.items() if not chunks], things, properties, store)
    for value, one in found.items():
        rows[value] += one.chunks
    return found


def _nodes(iris: Iterable[str]) -> list[ox.NamedNode]:
    return [ox.NamedNode(iri) for iri in iris]


def _query(template: Template, store: TripleStore) -> str:
    given = {
        "catalogue": store.names.catalogue,
        "properties": _nodes(template.properties),
        "things": _nodes(template.things),
    }
    if template.form == "subjects":
        return queries.bind(
            "templates/subjects", **given, concepts=_nodes([template.concept] if template.concept else [])
        )
    if template.form == "ask":
        return queries.bind("templates/ask", **given, others=_nodes(template.others))
    return queries.bind("templates/values", **given)


def _hits(
    template: Template, shown: Mapping[Term, str], sources: Mapping[Term, Sequence[str]], query: str, store: TripleStore
) -> list[Hit]:
    behind = _spans({shown[value]: sources[value] for value in shown}, store)
    about = ", ".join(template.names)
    return [
        Hit(
            iri=store.names.row(query, str(value)).value,
            kind="row",
            text=f"{about}: {text}",
            score=1.0 / rank,
            sources=behind[text],
            attributes={"value": text},
        )
        for rank, (value, text) in enumerate(shown.items(), start=1)
    ]


def _spans(sources: Mapping[str, Sequence[str]], store: TripleStore) -> dict[str, tuple[Span, ...]]:
    """Give the chunks behind each value: those in which it stands as text first, at most three."""
    chunks = list(dict.fromkeys(chunk for found in sources.values() for chunk in found))
    spans, texts = documents.spans(store, chunks), documents.texts(store, chunks)

    def ranked(value: str, found: Sequence[str]) -> list[str]:
        known = [chunk for chunk in dict.fromkeys(found) if chunk in spans]
        return sorted(known, key=lambda chunk: (locate(value, texts.get(chunk, "")) is None, chunk))

    return {
        value: tuple(spans[chunk] for chunk in ranked(value, found)[:_MOST_SOURCES]) for value, found in sources.items()
    }
