"""Questions of a fixed form, read without a model: one attribute by its words, one or two entities by their names.

"What is the creator of Auron?", "How many awards does Ann Lee have?", "Which films have director Jan Kis?", "Is Bath
the birth place of Ann Lee?" name a property and entities by their labels, with no word left over. A question with a
word more is left to a model. The queries are stored ones, so nothing of a question becomes syntax. The paper (section
4) asks a model every time. Queries read: ``templates/*``, and those of ``kgrag.text.stored_passages``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import pyoxigraph as ox

from kgrag import queries
from kgrag.late_patterns import late_re
from kgrag.mapping.ontology_terms import Ontology
from kgrag.methods.poly_rag.inferred_facts import support
from kgrag.model import Hit, Span, Term, plain
from kgrag.ports import TripleStore
from kgrag.querying.text_to_sparql.fact_sentences import FactSentence, StatedFact, in_words
from kgrag.querying.text_to_sparql.named_entities import NamedEntity
from kgrag.querying.text_to_sparql.row_evidence import labels
from kgrag.text import stored_passages
from kgrag.text.quotes import locate
from kgrag.text.sentences import attribute_words, word_set
from kgrag.vocab import local_name, words_of

__all__ = ["Form", "Template", "TemplateAnswer", "answered", "counts", "templated"]

Form = Literal["values", "subjects", "count", "ask"]

_MAX_SOURCES_PER_VALUE = 3
_MAX_FACTS_LISTED = 20
_FILLER_STEMS = frozenset({"have", "list", "mani", "give", "name", "tell", "show"})  # "mani" is that of "many"
_YES_NO = late_re(r"\s*(?:is|are|was|were|does|do|did|has|have)\b", flags=re.IGNORECASE)
_COUNTED = late_re(r"\s*how many\b", flags=re.IGNORECASE)
_CHANGING = word_set(
    """not no nor never without except than more most other before after above below under over between only same or
    until"""
)
"""Words that change what is asked, and that attributes are read without: "Is Bath not the birth place of Ann?"."""
_OWNED = late_re(r"\s*['’]s?\b")
_OWNER_BEFORE = late_re(r"\b(?:of|for)\s+(?:the\s+)?$|\b(?:do|does|did|has|have)\s+(?:the\s+)?$", flags=re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Template:
    """A question as a query: the properties of one label, the entities of one name, and the class that is asked for.

    ``things`` are subjects for "values" and "count", objects for "subjects"; "ask" has the other end in ``others``.
    ``names`` are the entities' names as the question spells them, ``concepts`` the class with those below it.
    """

    form: Form
    properties: tuple[str, ...]
    things: tuple[str, ...]
    others: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    concepts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TemplateAnswer:
    """What a template's rows answer, a sentence for each, the hits that carry them, the query, and the number of rows.

    ``inferred`` has a line for each value that no text states, with what it follows from.
    """

    answers: tuple[FactSentence, ...]
    hits: tuple[Hit, ...]
    sparql: str
    total: int = 0
    inferred: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether there is no row, the count is 0, or the answer is no."""
        return not self.answers


def templated(question: str, found: Sequence[NamedEntity], ontology: Ontology) -> Template | None:
    """Read a question of a fixed form; return None for every other question.

    Args:
        question: the question.
        found: the places where it names an entity.
        ontology: the loaded properties and classes.
    """
    terms = {*ontology.properties, *ontology.concepts}
    mentions = [mention for mention in found if mention.entity not in terms]
    spans = sorted({(mention.start, mention.end) for mention in mentions})
    if not 1 <= len(spans) <= 2:
        return None
    entities = [tuple(dict.fromkeys(m.entity for m in mentions if (m.start, m.end) == span)) for span in spans]
    names = tuple(question[start:end] for start, end in spans)
    bare = _without(question, spans)
    words = attribute_words(bare)
    # "List the awards of …" asks for awards, but "name" or "list" may itself be the property: tried first as they are.
    properties = _properties_of(words, ontology) or _properties_of(words - _FILLER_STEMS, ontology)
    labels_of = words_of(" ".join(ontology.properties[iri].label for iri in properties)).split()
    if _CHANGING.intersection(words_of(bare).split()).difference(labels_of):
        return None
    if len(spans) == 2:
        yes_no = properties and _YES_NO.match(question)
        return Template("ask", properties, entities[1], entities[0], names=names) if yes_no else None
    if properties:
        start, end = spans[0]
        owned = _OWNER_BEFORE.search(question[:start]) or _OWNED.match(question[end:])
        form: Form = "count" if _COUNTED.match(question) else "values" if owned else "subjects"
        return Template(form, properties, entities[0], names=names)
    return _of_class(words - _FILLER_STEMS, entities[0], names, ontology)


def counts(question: str) -> bool:
    """Return whether a question asks how many there are."""
    return _COUNTED.match(question) is not None


def _without(question: str, spans: Sequence[tuple[int, int]]) -> str:
    """Return a question without the names at these places, and without the 's of the last one."""
    parts, start = [], 0
    for begin, end in spans:
        parts.append(question[start:begin])
        start = end
    return " ".join([*parts, _OWNED.sub(" ", question[start:], count=1)])


def _properties_of(words: frozenset[str], ontology: Ontology) -> tuple[str, ...]:
    """Return the properties whose label or local name has exactly these words."""
    if not words:
        return ()

    def names(iri: str) -> tuple[frozenset[str], ...]:
        local_name = re.split(r"[#/:]", iri.rstrip("#/:"))[-1]
        return attribute_words(ontology.properties[iri].label), attribute_words(local_name)

    return tuple(sorted(iri for iri in ontology.properties if words in names(iri)))


def _of_class(
    words: frozenset[str], entities: tuple[str, ...], names: tuple[str, ...], ontology: Ontology
) -> Template | None:
    """Read "Which films have director Jan Kis?": the words are those of a class and of a property."""
    for iri in sorted(ontology.concepts):
        kind = attribute_words(ontology.concepts[iri].label)
        if kind and kind < words and (properties := _properties_of(words - kind, ontology)):
            below = sorted(lower for lower, above in ontology.above.items() if iri in above and lower != iri)
            return Template("subjects", properties, entities, names=names, concepts=(iri, *below))
    return None


def answered(template: Template, k: int, *, store: TripleStore) -> TemplateAnswer:
    """Run the stored query of a template over the facts, and return its values, with at most k rows as hits."""
    query = _query(template, store)
    rows: dict[Term, list[str]] = defaultdict(list)
    for value, source in store.select(query):
        if value is not None:
            rows[value] += [plain(source)] if source is not None else []
    # A value that no chunk states is cited by the chunks of the facts that it follows from.
    unstated = [value for value, chunks in rows.items() if not chunks]
    supports = support(unstated, _nodes(template.things), _nodes(template.properties), store)
    for value, supported in supports.items():
        rows[value] += supported.chunks
    known_labels = labels([[value] for value in rows], store)
    shown = {value: known_labels.get(plain(value), plain(value)) for value in rows}
    chunks: dict[str, list[str]] = defaultdict(list)
    for value, text in shown.items():
        chunks[text] += rows[value]
    property_labels = labels([_nodes(template.properties)], store)
    attribute = next(iter(property_labels.values()), "") or words_of(local_name(template.properties[0]))
    facts = [_fact(template, attribute, text, stating) for text, stating in chunks.items()]
    hits = _hits(template, {value: shown[value] for value in list(rows)[:k]}, rows, query, store)
    inferred = tuple(f"{shown[value]} is inferred: {supported.reason}" for value, supported in supports.items())
    return TemplateAnswer(_sentences(template, facts), tuple(hits), query, len(rows), inferred)


def _fact(template: Template, attribute: str, value: str, chunks: Sequence[str]) -> StatedFact:
    name, stating = template.names[-1], tuple(dict.fromkeys(chunks))
    if template.form == "subjects":
        return StatedFact(value, attribute, name, stating)
    return StatedFact(name, attribute, template.names[0] if template.form == "ask" else value, stating)


def _sentences(template: Template, facts: Sequence[StatedFact]) -> tuple[FactSentence, ...]:
    if template.form == "count" and len(facts) == 1 and facts[0].value.isdecimal():
        return (FactSentence(in_words(facts), tuple(facts), facts[0].value),)  # the value is the number: awards 20
    if template.form == "count" and facts:
        listed = tuple(facts[:_MAX_FACTS_LISTED])
        return (FactSentence(f"{len(facts)}: {in_words(listed)}", listed, str(len(facts))),)
    if template.form == "ask":
        return tuple(FactSentence(f"Yes: {in_words([fact])}", (fact,), "Yes") for fact in facts[:1])
    subjects = template.form == "subjects"
    return tuple(FactSentence(in_words([fact]), (fact,), fact.thing if subjects else fact.value) for fact in facts)


def _nodes(iris: Iterable[str]) -> list[ox.NamedNode]:
    return [ox.NamedNode(iri) for iri in iris]


def _query(template: Template, store: TripleStore) -> str:
    bound = {
        "catalogue": store.names.catalogue,
        "properties": _nodes(template.properties),
        "things": _nodes(template.things),
    }
    if template.form == "subjects":
        return queries.bind("templates/subjects", **bound, concepts=_nodes(template.concepts))
    if template.form == "ask":
        return queries.bind("templates/ask", **bound, others=_nodes(template.others))
    return queries.bind("templates/values", **bound)


def _hits(
    template: Template, shown: Mapping[Term, str], sources: Mapping[Term, Sequence[str]], query: str, store: TripleStore
) -> list[Hit]:
    spans = _spans({shown[value]: sources[value] for value in shown}, store)
    about = ", ".join(template.names)
    return [
        Hit(
            iri=store.names.row(query, str(value)).value,
            kind="row",
            text=f"{about}: {text}",
            score=1.0 / rank,
            sources=spans[text],
            attributes={"value": text},
        )
        for rank, (value, text) in enumerate(shown.items(), start=1)
    ]


def _spans(sources: Mapping[str, Sequence[str]], store: TripleStore) -> dict[str, tuple[Span, ...]]:
    """Return at most three chunks of each value, first those whose text contains it."""
    chunks = list(dict.fromkeys(chunk for stating in sources.values() for chunk in stating))
    spans, texts = stored_passages.spans(store, chunks), stored_passages.texts(store, chunks)

    def ranked(value: str, stating: Sequence[str]) -> list[str]:
        known = [chunk for chunk in dict.fromkeys(stating) if chunk in spans]
        return sorted(known, key=lambda chunk: (locate(value, texts.get(chunk, "")) is None, chunk))

    return {
        value: tuple(spans[chunk] for chunk in ranked(value, stating)[:_MAX_SOURCES_PER_VALUE])
        for value, stating in sources.items()
    }
