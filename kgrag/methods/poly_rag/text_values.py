"""The text layer without a language model: "What is the ATTRIBUTE of NAME?" read for the values that passages state.

Of what sections 4.1 and 4.2 of the paper ask a model, rules can do this much: the ontology says which words name an
attribute and of what kind its values are, and ``kgrag.llm.extractive.asked_values`` reads these in sentences that name
the thing. A question of another form, or one whose values no passage states, is left to the reader of passages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kgrag.late_patterns import late_re
from kgrag.llm.extractive.asked_values import Place, asked_values
from kgrag.mapping.ontology_terms import Ontology, Property
from kgrag.methods.poly_rag.layers import Found
from kgrag.model import Citation, Hit
from kgrag.querying.text_to_sparql.fact_sentences import FactSentence, StatedFact, in_words
from kgrag.text.sentences import attribute_words
from kgrag.vocab import local_name, words_of

__all__ = ["PASSAGES", "AskedAttribute", "asked_attribute", "found_in_text"]

PASSAGES = 10
"""How many passages are read (F1 of the text questions of ``pyramid`` with 5, 10 and 20: .58, .59, .59)."""
_MAX_CITATIONS = 3
_ASKS = late_re(r"\s*(?:what|which|who|where|when)\s+(?:is|are|was|were)\s+(?:the\s+)?(.+?)\s*\??\s*$", re.IGNORECASE)
_OF = late_re(r"\s+(?:of|for)\s+(?:the\s+)?", re.IGNORECASE)
_OWNS = late_re(r"['’]s?\s+")


@dataclass(frozen=True, slots=True)
class AskedAttribute:
    """The name of a thing, the label of an attribute of it, and the labels of the ranges that it has."""

    thing: str
    label: str
    ranges: str


def asked_attribute(question: str, ontology: Ontology) -> AskedAttribute | None:
    """Read a question for an attribute of the ontology and the name of a thing; None where it has another form.

    Args:
        question: "What is the ATTRIBUTE of NAME?", or "What is NAME's ATTRIBUTE?".
        ontology: the loaded properties.
    """
    asks = _ASKS.match(question)
    if asks is None:
        return None
    for label, thing in _parts(asks[1]):
        wanted = attribute_words(label)
        named = [one for iri, one in ontology.properties.items() if wanted and wanted in _names(iri, one)]
        if named:
            ranges = dict.fromkeys(_range_label(iri, ontology) for one in named for iri in one.ranges)
            return AskedAttribute(thing, words_of(named[0].label), " ".join(sorted(ranges)))
    return None


def _parts(words: str) -> Iterator[tuple[str, str]]:
    """Yield each attribute and thing that words can be divided into, the shorter thing last."""
    for found in _OF.finditer(words):
        yield words[: found.start()], words[found.end() :]
    for found in _OWNS.finditer(words):
        yield words[found.end() :], words[: found.start()]


def _names(iri: str, one: Property) -> tuple[frozenset[str], frozenset[str]]:
    return attribute_words(one.label), attribute_words(local_name(iri))


def _range_label(iri: str, ontology: Ontology) -> str:
    concept = ontology.concepts.get(iri)
    return concept.label if concept else local_name(iri)


def found_in_text(asked: AskedAttribute, hits: Sequence[Hit], k: int) -> Found | None:
    """Return the values that passages state, each a sentence with its citations; None where none does.

    Args:
        asked: what to look for.
        hits: passages, best first.
        k: how many of them are returned: those that state the values, then the best of the others. A value that none
            of these states is left out.
    """
    values = asked_values(asked.thing, asked.label, asked.ranges, [hit.text for hit in hits])
    stating = dict.fromkeys(number for value in values for number, *_ in value.places)
    shown = list(dict.fromkeys([*stating, *range(len(hits))]))[:k]
    kept = [(value, places) for value in values if (places := [one for one in value.places if one[0] in shown])]
    if not kept:
        return None
    facts = [_fact(asked, value.text, [hits[number].iri for number, *_ in places]) for value, places in kept]
    answers = tuple(FactSentence(in_words([fact]), (fact,), fact.value) for fact in facts)
    cited = [_citation(at, hits[one[0]], one) for at, (_, places) in enumerate(kept) for one in places[:_MAX_CITATIONS]]
    left_out = len(values) - len(kept)
    beyond = f", {left_out} more in passages beyond those that are returned" if left_out else ""
    story = (f"read in text as {asked.label} of {asked.thing}: {len(kept)} values{beyond}",)
    return Found("text", tuple(hits[number] for number in shown), answers, cited=tuple(cited), story=story)


def _fact(asked: AskedAttribute, value: str, chunks: Sequence[str]) -> StatedFact:
    return StatedFact(asked.thing, asked.label, value, tuple(dict.fromkeys(chunks)))


def _citation(sentence: int, hit: Hit, place: Place) -> Citation:
    _, start, end = place
    span = hit.sources[0]
    return Citation(hit.text[start:end], span.document, span.chunk, span.start + start, span.start + end, sentence)
