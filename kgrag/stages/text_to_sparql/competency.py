"""Competency questions: questions in words, each with the query that answers it, kept in the store as RDF.

A question is a ``sh:SPARQLExecutable`` of a data graph with ``sh:select``, ``sh:ask`` or ``sh:construct``, and has its
words as ``kg:question``, ``rdfs:label`` or ``rdfs:comment``; an ontologist loads such a file like any RDF. Pairs can
also be read from JSON Lines ``{"question": …, "sparql": …}`` into the graph of competency questions.

A question may have parameters: ``{person}`` stands in the words for the name of a thing, ``{city:text}`` for words as
they are, and the query says ``$person``, ``$city``. Queries read: ``competency/listing``. Graphs written: the graph of
competency questions, a data graph.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyoxigraph as ox

from kgrag import queries
from kgrag.errors import InputError, InvalidSPARQL
from kgrag.model import GraphDraft
from kgrag.ports import TripleStore, VectorIndex, Vectors
from kgrag.stages.sparql_gate import check_query
from kgrag.vocab import KG, RDF, SH, Names

__all__ = ["SPACE", "Competency", "draft", "nearest", "read_pairs"]

SPACE = "competency-question"

_PARAMETER = re.compile(r"\{(\w+)(:text)?\}")
_TOKEN = re.compile(
    r"""(?P<skip>\#[^\r\n]*|<[^<>"{}|^`\\\s]*>|\"{3}.*?(?<!\\)\"{3}|'{3}.*?(?<!\\)'{3}
        |"(?:[^"\\\r\n]|\\.)*"|'(?:[^'\\\r\n]|\\.)*')|\$(?P<name>\w+)""",
    flags=re.VERBOSE | re.DOTALL,
)
_FORM = re.compile(r"\b(SELECT|ASK|CONSTRUCT)\b", flags=re.IGNORECASE)
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
        """Give the parameters in the order of the words: name -> whether it stands for words rather than a thing."""
        return {name: bool(text) for name, text in _PARAMETER.findall(self.question)}

    def matched(self, question: str) -> dict[str, str] | None:
        """Give parameter -> words when a question is this one word for word, apart from its parameters; else None.

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
        """Put this question's parameters in the place of stretches of another, in their order."""
        parts, start = [], 0
        for name, (begin, end) in zip(self.parameters, spans, strict=True):
            parts += [question[start:begin], f"{{{name}}}"]
            start = end
        return "".join([*parts, question[start:]])

    def filled(self, values: Mapping[str, ox.NamedNode | ox.Literal]) -> str:
        """Give the query with a term in the place of each parameter; strings, comments and IRIs are passed over."""

        def term(token: re.Match[str]) -> str:
            name = token["name"]
            return str(values[name]) if name in values else token[0]

        return _TOKEN.sub(term, self.sparql)


def _plain(text: str) -> str:
    return " ".join(text.split()).rstrip("?.! ")


def nearest(vector: Vectors, k: int, *, store: TripleStore, index: VectorIndex) -> list[Competency]:
    """Give the k competency questions nearest to an embedded question, best first.

    Args:
        vector: the question's embedding, shape (d,).
        k: how many at most.
        store: holds them.
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
    used = {token["name"] for token in _TOKEN.finditer(sparql) if token["name"]}
    if not question or _FORM.search(sparql) is None or pair.parameters.keys() - used:
        raise InputError(
            f"{where}: expected words, a SELECT, ASK or CONSTRUCT, and in it a $name for each {{name}} of the words."
        )
    return pair


def draft(pairs: Sequence[Competency], *, names: Names, source: str) -> GraphDraft:
    """Give the graph of competency questions, to replace the one that stands.

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
