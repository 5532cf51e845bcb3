"""Answers that are computed from rows without a model: counts, lists, sums, extremes and comparisons.

A question is answered only if each of its words is linked or says what is computed, its query passes the check by the
ontologies, and all readings of it agree. What rules read from text counts for nothing here. A count, a sum or an
extreme is one of the world only as far as facts tell of it: where text that no facts were taken from names what is
asked about, the question is left to the text. The paper (section 4) asks a model every time. Queries read:
``templates/{rows,names}``, ``poly_rag/{read_by,unread}``, and those of ``kgrag.querying.text_to_sparql``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import pyoxigraph as ox

from kgrag import queries
from kgrag.late_patterns import late_re
from kgrag.llm.reading_by_rules import is_by_rules
from kgrag.mapping.ontology_terms import Ontology
from kgrag.methods.poly_rag.row_plans import AskedName, RowPlan, Schema, plans
from kgrag.methods.poly_rag.row_questions import RowQuestion, read
from kgrag.methods.poly_rag.row_values import Computed, ComputedRow, Refusal, compared, computed
from kgrag.model import Hit, Term, Value, plain
from kgrag.ports import TripleStore
from kgrag.querying.data_profile import UNTYPED, profile_of
from kgrag.querying.text_to_sparql import Asker, NamedEntity, mentions
from kgrag.querying.text_to_sparql.fact_sentences import StatedFact
from kgrag.querying.text_to_sparql.row_evidence import Execution, Row, labels
from kgrag.querying.text_to_sparql.row_facts import facts_behind
from kgrag.settings import EXTRACTIVE
from kgrag.sparql.query_reader import read as read_query
from kgrag.text import stored_passages
from kgrag.text.sentences import attribute_words, stem
from kgrag.vocab import local_name

__all__ = ["RowsAnswer", "answer_from_rows", "by_rules", "more_in", "unread"]

_MAX_MENTIONS = 400
_MAX_ROWS = 1000
_MAX_FACTS_CITED = 20
_FIRST_LETTER = late_re(r"(?<![^\W_])[a-z](?=[^\W_]{2})")
_NAME_RANKS = ("name", "label", "title")


@dataclass(frozen=True, slots=True)
class RowsAnswer:
    """What rows answer, or ``why`` they do not; ``story`` are the steps, a line each."""

    text: str = ""
    values: tuple[Value, ...] = ()
    facts: tuple[StatedFact, ...] = ()
    hits: tuple[Hit, ...] = ()
    sparql: str = ""
    story: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class _Name:
    """What a thing is called, and the property that says so, "" for a label."""

    text: str
    property: str = ""


@dataclass(frozen=True, slots=True)
class _Reading:
    """A plan with its rows."""

    plan: RowPlan
    sparql: str
    execution: Execution
    rows: tuple[ComputedRow, ...]


def answer_from_rows(question: str, k: int, *, asker: Asker, ontology: Ontology) -> RowsAnswer | None:
    """Return what rows answer to a question, with at most k of them as hits, or why not; None for other questions."""
    if read(question, ()) is None:
        return None
    profile = profile_of(asker.store)
    schema = Schema(ontology, profile)
    spans, names = _names_in(question, schema, asker.store)
    asked = read(question, spans) if len(names) == len(spans) else None
    pairs = plans(asked, names, schema) if asked else []
    if asked is None or not pairs:
        return None
    try:
        return _Computation(question, asked, [one[0].text for one in names], asker, schema).answer(pairs, k)
    except Refusal as refusal:
        return RowsAnswer(why=f"rows do not decide it: {refusal}")


def _names_in(question: str, schema: Schema, store: TripleStore) -> tuple[list[tuple[int, int]], list[list[AskedName]]]:
    """Return where a question names things, in order, and the things of each name by class and property."""
    by_span: dict[tuple[int, int], list[NamedEntity]] = defaultdict(list)
    for text in dict.fromkeys([question, _capitalised(question, schema)]):
        named = _mentions(text, schema, store)
        if len(named) >= _MAX_MENTIONS:
            return [(0, 0)], []
        taken = set(by_span)
        for one in named:
            if not any(one.start < end and start < one.end for start, end in taken):
                by_span[one.start, one.end].append(one)
    spans = sorted(by_span)
    return spans, [_by_class(question[slice(*span)], by_span[span], schema) for span in spans]


def _mentions(text: str, schema: Schema, store: TripleStore) -> list[NamedEntity]:
    terms = {*schema.ontology.properties, *schema.ontology.concepts}
    return [one for one in mentions(text, store, limit=_MAX_MENTIONS) if one.entity not in terms]


def _capitalised(question: str, schema: Schema) -> str:
    """Return a question with capital letters where its words are none of the ontology: "of Lentil"."""
    known: set[str] = set()
    for iri in (*schema.ontology.concepts, *schema.ontology.properties):
        known |= attribute_words(schema.label(iri))

    def capital(found: re.Match[str]) -> str:
        word = question[found.start() :].split(maxsplit=1)[0].strip(".,;:?!'’\"")
        return found[0] if stem(word) in known or found.start() == 0 else found[0].upper()

    return _FIRST_LETTER.sub(capital, question)


def _by_class(text: str, named: Sequence[NamedEntity], schema: Schema) -> list[AskedName]:
    """Return the things with a name by class and property: those that are called so, where any are."""
    called = [one for one in named if schema.names_things(one.property)]
    things: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for one in called or named:
        for kind in [kind for kind in one.classes if kind in schema.profile.classes] or [UNTYPED]:
            things[kind, one.property][one.entity] = None
    return [AskedName(text, tuple(found), kind, prop) for (kind, prop), found in sorted(things.items())]


@dataclass(frozen=True, slots=True)
class _Computation:
    question: str
    asked: RowQuestion
    names: Sequence[str]
    asker: Asker
    schema: Schema

    @property
    def store(self) -> TripleStore:
        return self.asker.store

    def answer(self, pairs: Sequence[tuple[RowPlan, RowPlan | None]], k: int) -> RowsAnswer:
        """Return what all readings answer. Raises Refusal."""
        readings = self._readings(pairs)
        whole = [reading for reading in readings if all(one.rows for one in reading)]
        if not whole:
            raise Refusal("no row has it")
        self._refuse_half_empty(readings, whole)
        called = self._called(whole)
        results = [self._computed(reading, called) for reading in whole]
        if len({(result.values, result.text) for result in results}) > 1:
            raise Refusal("it can be read in several ways, and the answers differ")
        facts = self._facts(whole[0], results[0])
        naming = self._naming_facts(results[0], called)
        stated = dict.fromkeys([*naming, *(one for row in facts.values() for one in row)])
        chunks = list(dict.fromkeys(chunk for fact in stated for chunk in fact.chunks))
        if by_rules(chunks, self.store):
            raise Refusal("rules read the facts from text, without a language model")
        self._refuse_unread(chunks)
        # of a link between things no text has the words, and what names them is cited
        valued = [] if self.asked.form in ("count", "list", "most", "compare counts") else stated
        shown = tuple(dict.fromkeys([*valued, *naming]))[:_MAX_FACTS_CITED]
        story = (
            f"read as {self.asked.form} of {whole[0][0].plan.label}" + self._about(),
            *(f"query: {' '.join(one.sparql.split('SELECT', 1)[-1].split())}" for one in whole[0]),
            "the query passed the check by the ontologies",
            f"{sum(len(one.rows) for one in whole[0]):,} rows; {len(whole)} readings agree",
        )
        hits = tuple(self._hits(results[0], facts, whole[0][0], called)[:k])
        sparql = "\n\n".join(one.sparql for one in whole[0][:1])
        return RowsAnswer(results[0].text, results[0].values, shown, hits, sparql, story)

    def _about(self) -> str:
        return f" for {', '.join(self.names)}" if self.names else ""

    def _readings(self, pairs: Sequence[tuple[RowPlan, RowPlan | None]]) -> list[list[_Reading]]:
        """Return the readings whose queries pass the check by the ontologies. Raises Refusal: none does."""
        problems: dict[str, None] = {}
        passed = []
        for pair in pairs:
            both = [(plan, plan.sparql()) for plan in pair if plan]
            found = [finding for _, sparql in both for finding in self.asker.checked(sparql).findings if finding.blocks]
            problems |= dict.fromkeys(finding.message for finding in found)
            passed += [] if found else [both]
        if not passed:
            raise Refusal(f"the query does not pass the check by the ontologies: {'; '.join(problems)}")
        return [[self._run(plan, sparql) for plan, sparql in both] for both in passed]

    def _run(self, plan: RowPlan, sparql: str) -> _Reading:
        execution = self.asker.runner(sparql, rows=_MAX_ROWS, seconds=self.asker.seconds)
        if execution.problem or execution.truncated:
            raise Refusal(execution.problem or f"there are more than {_MAX_ROWS:,} rows")
        return _Reading(plan, sparql, execution, tuple(_row(execution, row) for row in execution.rows))

    def _refuse_half_empty(self, readings: Sequence[Sequence[_Reading]], whole: Sequence[Sequence[_Reading]]) -> None:
        """Raise Refusal where a path that other things have leads from the same names to nothing."""
        ends = {tuple(link.ends for one in reading for link in one.plan.names) for reading in whole}
        for one in (one for reading in readings if reading not in whole for one in reading if not one.rows):
            same_names = any(set(each) >= {link.ends for link in one.plan.names} for each in ends)
            if same_names and self.asker.runner(one.plan.anywhere().sparql(), rows=1, seconds=self.asker.seconds).rows:
                raise Refusal("by another way between what it names there is none")

    def _computed(self, reading: Sequence[_Reading], called: Mapping[Term, _Name]) -> Computed:
        rows, label = [one.rows for one in reading], reading[0].plan.label

        def named(term: Term) -> str:
            return called[term].text if term in called else ""

        def same(term: Term) -> object:
            """Things that records name alike are one; those of a user's own data are as many as their IRIs."""
            made = isinstance(term, ox.NamedNode) and term.value.startswith(self._made)
            return named(term).casefold() if made and named(term) else term

        if len(rows) == 1:
            self._refuse_without_any(reading[0])
            return computed(self.asked, rows[0], label, named, same)
        both = (self.names[self.asked.thing.names[0]], self.names[self.asked.other.names[0]])
        return compared(self.asked, (rows[0], rows[1]), both, label, same)

    def _refuse_without_any(self, reading: _Reading) -> None:
        """Raise Refusal where the fewest are asked for, and what has none is in no row."""
        if self.asked.form == "most" and self.asked.sign < 0 and reading.plan.group is not None:
            there = sum(self.schema.profile.instances(kind) for kind in self.schema.below(reading.plan.group.ends[0]))
            if len({row.group for row in reading.rows}) < there:
                raise Refusal("some of them have none, or are not meant")

    @property
    def _made(self) -> str:
        return self.store.names.instance("").value.rpartition("/")[0] + "/"

    def _called(self, whole: Sequence[Sequence[_Reading]]) -> dict[Term, _Name]:
        """Return what the things and groups of rows are called."""
        rows = [row for reading in whole for one in reading for row in one.rows]
        terms = {term for row in rows for term in (row.thing, row.group) if isinstance(term, ox.NamedNode)}
        things = sorted(terms, key=str)
        properties = [iri for iri in self.schema.ontology.properties if self.schema.names_things(iri)]
        naming = sorted((self._rank(iri), iri) for iri in properties if iri in self.schema.profile.properties)
        query = queries.bind(
            "templates/names",
            catalogue=self.store.names.catalogue,
            things=things,
            properties=[ox.NamedNode(iri) for _, iri in naming],
        )
        names: dict[Term, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for thing, prop, name in self.store.select(query) if things and naming else ():
            if thing is not None:
                names[thing][plain(prop)].append(plain(name))
        label_of = labels([things], self.store)
        called: dict[Term, _Name] = {}
        for thing in things:
            own = [_Name(names[thing][iri][0], iri) for _, iri in naming if len(names[thing].get(iri, ())) == 1]
            label = [_Name(label_of[thing.value])] if thing.value in label_of else []
            if first := [*label, *own][:1]:
                called[thing] = first[0]
        return called

    def _shown(self, term: Term, called: Mapping[Term, _Name]) -> str:
        return called[term].text if term in called else plain(term)

    def _rank(self, iri: str) -> int:
        last = self.schema.ontology.properties[iri].label.casefold().split()[-1:]
        return 0 if last and last[0] in _NAME_RANKS else 1

    def _facts(self, reading: Sequence[_Reading], result: Computed) -> dict[ComputedRow, tuple[StatedFact, ...]]:
        """Return the facts that rows show, of each row that the answer rests on."""
        wanted, facts = set(result.rows), {}
        for one in reading:
            rows = {row: _row(one.execution, row) for row in one.execution.rows}
            resting = [row for row, shown in rows.items() if shown in wanted]
            behind = facts_behind(read_query(one.sparql), one.execution, resting, run=self._wide, store=self.store)
            facts.update({rows[row]: stated for row, stated in behind.items()})
        return facts

    def _wide(self, sparql: str) -> Execution:
        return self.asker.runner(sparql, rows=_MAX_ROWS * 10, seconds=self.asker.seconds)

    def _naming_facts(self, result: Computed, called: Mapping[Term, _Name]) -> list[StatedFact]:
        """Return what names the things and groups that an answer rests on, as facts."""
        terms = dict.fromkeys(term for row in result.rows for term in (row.group, row.thing) if term in called)
        named = {term: called[term] for term in terms if term is not None and called[term].property}
        query = queries.bind(
            "facts/stating",
            catalogue=self.store.names.catalogue,
            things=[term for term in named if isinstance(term, ox.NamedNode)],
            properties=[ox.NamedNode(prop) for prop in sorted({name.property for name in named.values()})],
            values=[ox.Literal(text) for text in sorted({name.text for name in named.values()})],
            named=[],
        )
        chunks: dict[Term, list[str]] = defaultdict(list)
        for thing, _, value, chunk, _ in self.store.select(query) if named else ():
            if thing is not None and chunk is not None and plain(value) == named[thing].text:
                chunks[thing].append(plain(chunk))
        known = self.schema.ontology.properties
        return [
            StatedFact(name.text, known[name.property].label, name.text, tuple(dict.fromkeys(chunks[term])))
            for term, name in named.items()
            if chunks[term]
        ]

    def _refuse_unread(self, chunks: Sequence[str]) -> None:
        """Raise Refusal where text that no facts were taken from may have more than the facts that were."""
        if self.asked.form == "compare" or not chunks:
            return
        if document := unread(self.names, self.store):
            raise Refusal(more_in(document, self.names))

    def _hits(
        self,
        result: Computed,
        facts: Mapping[ComputedRow, Sequence[StatedFact]],
        reading: _Reading,
        called: Mapping[Term, _Name],
    ) -> list[Hit]:
        """Return the rows that an answer rests on, with the chunks that state them."""
        spans = stored_passages.spans(
            self.store, [chunk for stated in facts.values() for fact in stated for chunk in fact.chunks]
        )
        hits = []
        for rank, row in enumerate(result.rows, start=1):
            cells = [self._shown(term, called) for term in (row.group, row.thing, row.value) if term is not None]
            chunks = dict.fromkeys(chunk for fact in facts.get(row, ()) for chunk in fact.chunks)
            sources = tuple(spans[chunk] for chunk in chunks if chunk in spans)[:3]
            iri = self.store.names.row(reading.sparql, *cells).value
            text = ": ".join(dict.fromkeys(cells))
            hits.append(Hit(iri=iri, kind="row", text=text, score=1.0 / rank, sources=sources))
        return hits


def _row(execution: Execution, row: Row) -> ComputedRow:
    cells = dict(zip(execution.variables, row, strict=True))
    thing = cells["thing"]
    assert thing is not None  # no pattern of the query is optional
    return ComputedRow(thing, cells.get("group0"), cells.get("value"))


def by_rules(chunks: Collection[str], store: TripleStore) -> bool:
    """Return whether facts of some chunks were read by rules, without a language model."""
    graphs = {store.names.instance_graph(ox.NamedNode(chunk)) for chunk in chunks}
    query = queries.bind("poly_rag/read_by", catalogue=store.names.catalogue, graphs=sorted(graphs, key=str))
    return any(is_by_rules(by.removeprefix("model=")) for _, by in store.select(query).values())


def unread(names: Sequence[str], store: TripleStore) -> str:
    """Return a document with all of the names in it that no facts were taken from, or by rules alone; "" for none."""
    query = queries.bind(
        "poly_rag/unread",
        catalogue=store.names.catalogue,
        rules=ox.Literal(f"model={EXTRACTIVE}"),
        names=[ox.Literal(name.lower()) for name in names],
    )
    return next((document for (document,) in store.select(query).values()), "")


def more_in(document: str, names: Sequence[str]) -> str:
    """Return in words that a document may say more about some names than the facts."""
    about = f"text about {', '.join(names)}" if names else "text"
    return f"there is {about} that no facts were taken from, as in {local_name(document)}"
