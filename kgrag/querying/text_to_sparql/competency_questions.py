"""Competency questions: questions in words, each with the query that answers it, kept in the store as RDF.

A question is a ``sh:SPARQLExecutable`` of a data graph with ``sh:select``, ``sh:ask`` or ``sh:construct``, and has its
words as ``kg:question``, ``rdfs:label`` or ``rdfs:comment``; an ontologist loads such a file like any RDF. Pairs can
also be read from JSON Lines ``{"question": …, "sparql": …}`` into the graph of competency questions.

A question may have parameters: in its words ``{person}`` is the name of an entity, ``{city:text}`` any words, and the
query has ``$person``, ``$city``. Queries read: ``competency/listing``. Graphs written: the graph of competency
questions, a data graph.

``matching`` answers a question by a stored one, without a model: the same words, or nearly the same around its names.
A stored query is human work, and answering another question with it would be worse than *unknown*. Embeddings alone
can't decide: "opened before" and "opened after" have cosine 0.97, "manages" and "is managed by" at 0.92, while "phone"
and "telephone" have 0.76. So the words must be the same apart from the parameters; or, with the names of entities
replaced by the parameters, the embeddings must be near *and* the telling words the same in the same order.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyoxigraph as ox

from kgrag import queries
from kgrag.errors import InputError, InvalidSPARQL
from kgrag.late_patterns import late_re
from kgrag.model import GraphDraft
from kgrag.ports import Embedder, TripleStore, VectorIndex, Vectors
from kgrag.querying.text_to_sparql.named_entities import NamedEntity
from kgrag.sparql.gate import check_query
from kgrag.sparql.tokens import Token, tokens
from kgrag.vocab import KG, RDF, SH, Names, local_name

__all__ = [
    "SPACE",
    "Competency",
    "Match",
    "draft",
    "matching",
    "nearest",
    "read_pairs",
]

SPACE = "competency-question"

_PARAMETER = late_re(r"\{(\w+)(:text)?\}")
_FORM = late_re(r"\b(SELECT|ASK|CONSTRUCT)\b", flags=re.IGNORECASE)
_FORMS = {
    "SELECT": (SH.SPARQLSelectExecutable, SH.select),
    "ASK": (SH.SPARQLAskExecutable, SH.ask),
    "CONSTRUCT": (SH.SPARQLConstructExecutable, SH.construct),
}


@dataclass(frozen=True, slots=True)
class Competency:
    """A question in words with the query that answers it; ``score`` is its nearness to what was asked, a cosine."""

    iri: str
    question: str
    sparql: str
    score: float = 0.0

    @property
    def parameters(self) -> dict[str, bool]:
        """The parameters in the order of the words: name -> whether it is any words, not the name of an entity."""
        return {name: bool(text) for name, text in _PARAMETER.findall(self.question)}

    def matched(self, question: str) -> dict[str, str] | None:
        """Return parameter -> words when a question is this one word for word, apart from its parameters; else None.

        Case, punctuation at the end and spacing don't count.

        >>> Competency("urn:q", "Who leads {team}?", "").matched("who leads  Data Services")
        {'team': 'Data Services'}
        """
        parts = _PARAMETER.split(_plain(self.question))
        pattern = "".join(
            re.escape(part) if place % 3 == 0 else f"(?P<{part}>.+?)"
            for place, part in enumerate(parts)
            if place % 3 != 2 and part is not None
        )
        found = re.fullmatch(pattern, _plain(question), flags=re.IGNORECASE)
        return found.groupdict() if found else None

    def masked(self, question: str, spans: Sequence[tuple[int, int]]) -> str:
        """Return another question with this one's parameters in the place of stretches of it, in their order."""
        parts, start = [], 0
        for name, (begin, end) in zip(self.parameters, spans, strict=True):
            parts += [question[start:begin], f"{{{name}}}"]
            start = end
        return "".join([*parts, question[start:]])

    @property
    def shown(self) -> str:
        """The query as an example: ``"{city}"`` and ``<{person}>`` stand where its words have these.

        As ``$city`` they look like variables of the query, and are none.

        >>> Competency("urn:q", "Who lives in {city:text}?", "SELECT ?p WHERE { ?p :city $city }").shown
        'SELECT ?p WHERE { ?p :city "{city}" }'
        """
        marks = {name: f'"{{{name}}}"' if text else f"<{{{name}}}>" for name, text in self.parameters.items()}
        return self._replaced(marks)

    def filled(self, values: Mapping[str, ox.NamedNode | ox.Literal]) -> str:
        """Return the query with a term in the place of each parameter; strings, comments and IRIs stay as they are."""
        return self._replaced({name: str(value) for name, value in values.items()})

    def _replaced(self, written: Mapping[str, str]) -> str:
        """Return the query with a text in the place of each parameter."""
        parts, start = [], 0
        for parameter in _parameters(self.sparql):
            if parameter.text[1:] in written:
                parts += [self.sparql[start : parameter.start], written[parameter.text[1:]]]
                start = parameter.end
        return "".join([*parts, self.sparql[start:]])


def _parameters(sparql: str) -> list[Token]:
    """Return the variables of a query that are written with $, in their order."""
    return [token for token in tokens(sparql) if token.kind == "variable" and token.text.startswith("$")]


def _plain(text: str) -> str:
    return " ".join(text.split()).rstrip("?.! ")


def nearest(vector: Vectors, k: int, *, store: TripleStore, index: VectorIndex) -> list[Competency]:
    """Return the k competency questions nearest to an embedded question, best first.

    Args:
        vector: the question's embedding, shape (d,).
        k: how many at most.
        store: contains them.
        index: the space ``competency-question``, up to date.
    """
    scores = dict(index.search(vector, k))
    nodes = [ox.NamedNode(iri) for iri in scores]
    query = queries.bind("competency/listing", catalogue=store.names.catalogue, questions=nodes)
    first: dict[str, Competency] = {}
    for iri, question, sparql in store.select(query).values():
        first.setdefault(iri, Competency(iri, question, sparql, scores[iri]))
    return [first[iri] for iri in scores if iri in first]


def read_pairs(path: Path) -> list[Competency]:
    """Read pairs of question and query from JSON Lines; ``score`` is 0 and ``iri`` empty.

    Raises:
        InputError: a line is no object with ``question`` and ``sparql``, or its query is refused; the message names it.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} can't be read: {error}. Expected JSON Lines in UTF-8.") from error
    return [_pair(line, f"{path}, line {number}") for number, line in enumerate(lines, 1) if line.strip()]


def _pair(line: str, where: str) -> Competency:
    try:
        record = json.loads(line)
        question, sparql = str(record["question"]).strip(), str(record["sparql"]).strip()
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f'{where}: {error!r}. Expected {{"question": …, "sparql": …}}.') from None
    pair = Competency("", question, sparql)
    try:
        check_query(sparql)
    except InvalidSPARQL as error:
        raise InputError(f"{where}: its query is refused: {error}") from None
    used = {parameter.text[1:] for parameter in _parameters(sparql)}
    if not question or _FORM.search(sparql) is None or pair.parameters.keys() - used:
        raise InputError(
            f"{where}: expected words, a SELECT, ASK or CONSTRUCT, and in it a $name for each {{name}} of the words."
        )
    return pair


def draft(pairs: Sequence[Competency], *, names: Names, source: str) -> GraphDraft:
    """Return the graph of competency questions, which replaces the one in the store.

    Args:
        pairs: what was read.
        names: the IRIs of the knowledge base.
        source: where it was read from, for the catalogue.
    """
    return GraphDraft(
        iri=names.competency_questions,
        kind=KG.DataGraph,
        triples=[triple for pair in pairs for triple in _triples(pair, names)],
        mode="replace",
        described=[(KG.location, ox.Literal(source))],
    )


def _triples(pair: Competency, names: Names) -> list[ox.Triple]:
    iri = names.competency(pair.question, pair.sparql)
    form = _FORM.search(pair.sparql)
    kind, holds = _FORMS[form[1].upper() if form else "SELECT"]
    return [
        ox.Triple(iri, RDF.type, SH.SPARQLExecutable),
        ox.Triple(iri, RDF.type, kind),
        ox.Triple(iri, KG.question, ox.Literal(pair.question)),
        ox.Triple(iri, holds, ox.Literal(pair.sparql)),
    ]


_LABELS = ("label", "prefLabel", "name", "title", "altLabel")
_WORD = late_re(r"\{\w+\}|\w+(?:[.,]\d+)*")
_FREE = frozenset(
    re.findall(
        r"\w+", "a an are did do does give has have i is list me of our please show tell that the there us was we were"
    )
)


@dataclass(frozen=True, slots=True)
class Match:
    """A stored question that answers what was asked, its query with the parameters filled; ``exact`` to the word."""

    question: Competency
    sparql: str
    exact: bool


def matching(
    question: str, found: Sequence[NamedEntity], stored: Sequence[Competency], *, embedder: Embedder, near: float
) -> Match | None:
    """Return the stored question that answers a question, or None.

    Args:
        question: what was asked.
        found: the entities that it names.
        stored: the nearest competency questions, best first.
        embedder: embeds wordings.
        near: cosine from which two wordings mean the same, 0 to 1.
    """
    for candidate in stored:
        values = _by_words(candidate, question, found)
        if values is not None:
            return Match(candidate, candidate.filled(values), exact=True)
    for candidate in stored:
        values = _by_names(candidate, found)
        if values is None:
            continue
        masked = candidate.masked(question, _spans(found)) if values else question
        if _frame(masked) != _frame(candidate.question):
            continue
        asked, known = embedder.embed([masked, candidate.question], "query")
        score = float(asked @ known)
        if score >= near:
            return Match(replace(candidate, score=score), candidate.filled(values), exact=False)
    return None


Values = Mapping[str, ox.NamedNode | ox.Literal]


def _by_words(candidate: Competency, question: str, found: Sequence[NamedEntity]) -> Values | None:
    words = candidate.matched(question)
    if words is None:
        return None
    terms = {
        name: ox.Literal(words[name]) if text else _entity(words[name], found)
        for name, text in candidate.parameters.items()
    }
    return None if None in terms.values() else {name: term for name, term in terms.items() if term is not None}


def _by_names(candidate: Competency, found: Sequence[NamedEntity]) -> Values | None:
    """Fill the parameters by the entities that the question names, in their order; the counts must agree."""
    spans = _spans(found)
    names = list(candidate.parameters)
    if any(candidate.parameters.values()) or (names and len(names) != len(spans)):
        return None
    if not names:
        return {}
    entities = [_entity(next(m.text for m in found if (m.start, m.end) == span), found) for span in spans]
    if None in entities:
        return None
    return {name: entity for name, entity in zip(names, entities, strict=True) if entity is not None}


def _spans(found: Sequence[NamedEntity]) -> list[tuple[int, int]]:
    return sorted({(mention.start, mention.end) for mention in found})


def _entity(name: str, found: Sequence[NamedEntity]) -> ox.NamedNode | None:
    """Return the one entity of a name; where several have it, the one that has it as a label; else None."""
    of_name = [named for named in found if named.text.lower() == name.lower()]
    labelled = {named.entity for named in of_name if local_name(named.property) in _LABELS}
    entities = labelled or {named.entity for named in of_name}
    return ox.NamedNode(entities.pop()) if len(entities) == 1 else None


def _frame(text: str) -> list[str]:
    """Return the stems of the words of a text that carry its meaning, and its parameters, in their order.

    >>> _frame("Which suppliers do we have in {city}?") == _frame("which supplier is in the {city}")
    True
    """
    import Stemmer

    words = [word for word in _WORD.findall(text) if word.lower() not in _FREE]
    stem = Stemmer.Stemmer("english").stemWord
    return [word if word.startswith("{") else stem(word.lower()) for word in words]
