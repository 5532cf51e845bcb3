"""What to doubt in an answer from a query that is valid and found rows: where it is not what the question asks for.

The check compares a query with the ontology and the data; a query can agree with both and answer another question. What
is compared here is the question's own words: the classes that it names, the aggregate that it asks for, the direction
of its comparisons, and the constants of the query. Beside that the data say where a query orders by things instead of
values, or counts things more often than there are. None of this is certain, so nothing is refused: the answer is given,
with what to doubt.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import pyoxigraph as ox

from kgrag.model import plain
from kgrag.querying.data_profile import DataProfile
from kgrag.querying.ontology_check import DataView, OntologyIndex
from kgrag.sparql.syntax import Aggregate, Query, Variable
from kgrag.vocab import RDF, local_name, words_of

__all__ = ["cautions"]

_ADDING = frozenset({"SUM", "AVG", "COUNT"})
_ASKED = (
    (r"\b(?:total|sum)\b", {"SUM", "COUNT"}, "a total"),
    (r"\b(?:average|mean)\b", {"AVG"}, "an average"),
    (r"\bhow many\b|\bthe number of\b", {"COUNT", "SUM"}, "how many there are"),
)
_DOWN = r"(?:under|below|less than|fewer than|smaller than|lower than|at most|up to|not exceed(?:ing)?|no more than)"
_UP = r"(?:over|above|more than|greater than|larger than|higher than|at least|exceed(?:s|ing)?|no less than)"
_NUMBER = r"(?P<number>\d+(?:[.,]\d+)*)"
_LIKE = 60.0  # of 100: "french" is like "France", "toulouse" like "Toulouse"
_NEVER_ASKED = frozenset({"", "0", "1", "true", "false"})


def cautions(question: str, query: Query, index: OntologyIndex, view: DataView) -> list[str]:
    """Return what to doubt in a valid query for a question, a sentence each; [] for nothing.

    Args:
        question: what was asked.
        query: what answers it.
        index: the ontologies.
        view: what the data have, and what runs a query over them.
    """
    profile = view.profile()
    found = (
        *_classes_left_out(question, query, index),
        *_other_aggregate(question, query),
        *_turned_comparisons(question, query),
        *_unasked_constants(question, query),
        *_order_of_things(query, profile),
        *_counted_again(query, profile, view),
    )
    return list(dict.fromkeys(found))


# --- the question's words ---------------------------------------------------------------------------------------------


def _classes_left_out(question: str, query: Query, index: OntologyIndex) -> Iterator[str]:
    """Yield the classes that the question names and the query has nothing to do with."""
    touched, typed = _touched(query, index), _types(query)
    for name in _named_classes(question, index) if touched else ():
        above, below = index.ancestors(name), index.descendants(name)
        # what a wider class states is of the named one, unless the query says that it is of a narrower one beside it
        beside = [each for each in typed - above - below if index.ancestors(each) & (above - {name})]
        if not touched & (below if beside else above | below):
            yield f"the question names {_label(name, index)}, and the query asks for none."


def _types(query: Query) -> set[str]:
    typings = (each.object for each in query.patterns if each.predicate == RDF.type)
    return {each.value for each in typings if isinstance(each, ox.NamedNode)}


def _named_classes(question: str, index: OntologyIndex) -> list[str]:
    """Return the classes whose name or label stands in a question, the longest name at each place.

    A word with a capital belongs to a name ("Data Services"), unless it begins the question.
    """
    written = re.findall(r"\w+", question)
    words = [_stem(word.lower()) if place == 0 or word.islower() else "" for place, word in enumerate(written)]
    spelt: dict[tuple[str, ...], set[str]] = {}
    for name in index.classes:
        for text in (words_of(local_name(name)), *index.labels.get(name, ())):
            key = tuple(_stem(word) for word in re.findall(r"\w+", text.lower()))
            if key:
                spelt.setdefault(key, set()).add(name)
    named: dict[str, None] = {}
    place = 0
    while place < len(words):
        key = next((key for length in range(4, 0, -1) if (key := tuple(words[place : place + length])) in spelt), ())
        classes = spelt.get(key, set())
        if len(classes) == 1:  # of several of one name it is not known which is meant
            named |= dict.fromkeys(classes)
        place += max(len(key), 1)
    return list(named)


def _stem(word: str) -> str:
    """Take the plural off.

    >>> [_stem(word) for word in ("policies", "premiums", "addresses", "class")]
    ['policy', 'premium', 'address', 'class']
    """
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith(("sses", "shes", "ches", "xes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word


def _touched(query: Query, index: OntologyIndex) -> set[str]:
    """Return the classes that a query speaks of: those that it writes, and the ends of its properties."""
    touched: set[str] = set()
    for pattern in query.patterns:
        touched |= {end.value for end in (pattern.subject, pattern.object) if isinstance(end, ox.NamedNode)}
        if isinstance(pattern.predicate, ox.NamedNode) and pattern.predicate != RDF.type:
            for ends in (index.domain(pattern.predicate.value), index.range(pattern.predicate.value)):
                touched |= {name for alternative in ends for name in alternative}
    return {name for name in touched if name in index.classes}


def _label(name: str, index: OntologyIndex) -> str:
    return f'"{next(iter(index.labels.get(name, ())), "") or words_of(local_name(name))}"'


def _other_aggregate(question: str, query: Query) -> Iterator[str]:
    """Yield the aggregates that a question asks for in words where the query has others and not these."""
    used = {each.name for each in query.aggregates}
    if "SUM" in used and re.search(r"\)\s*/", query.text):  # a sum divided
        used.add("AVG")
    for words, names, what in _ASKED:
        if used and not used & names and re.search(words, question, flags=re.IGNORECASE):
            yield f"the question asks for {what}, and the query has {', '.join(sorted(used))}."


def _turned_comparisons(question: str, query: Query) -> Iterator[str]:
    """Yield numbers of the question that the query compares with in the other direction."""
    for limit, wrong in ((_DOWN, (">", ">=")), (_UP, ("<", "<="))):
        for found in re.finditer(rf"\b(?P<words>{limit})\b(?:\W+\w+){{0,4}}?\W*\b{_NUMBER}", question, re.IGNORECASE):
            number = found["number"].replace(",", "")
            if limit == _UP and re.search(r"\b(?:not|n't|no)\s*$", question[: found.start()], re.IGNORECASE):
                continue
            for each in (comparison for one in query.filters for comparison in one.comparisons):
                if each.operator in wrong and any(_equal(plain(constant), number) for constant in each.constants):
                    written = query.text[each.place.start : each.place.end]
                    yield f'the question says "{found["words"]} {number}", and the query `{" ".join(written.split())}`.'


def _equal(one: str, other: str) -> bool:
    try:
        return float(one) == float(other)
    except ValueError:
        return one == other


def _unasked_constants(question: str, query: Query) -> Iterator[str]:
    """Yield the values that a query narrows down to and that the question does not have."""
    literals = [pattern.object for pattern in query.patterns]
    literals += [constant for each in query.filters for one in each.comparisons for constant in one.constants]
    literals += [inline.term for inline in query.inline if inline.variable is not None]
    for literal in dict.fromkeys(each for each in literals if isinstance(each, ox.Literal)):
        if not _is_asked(literal.value, question):
            yield f'the query narrows down to "{literal.value[:60]}", which the question does not say.'


def _is_asked(value: str, question: str) -> bool:
    from rapidfuzz import fuzz

    text, asked = value.casefold().strip(), question.casefold()
    if text in _NEVER_ASKED or text in asked or (re.match(r"\d{4}-\d\d-\d\d", text) and text[:4] in asked):
        return True
    numbers = re.findall(r"\d+(?:[.,]\d+)*", asked)
    if re.fullmatch(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?", text):
        return any(_equal(text, each.replace(",", "")) for each in numbers)
    return any(fuzz.ratio(text, word) >= _LIKE for word in re.findall(r"\w+", asked))


# --- the data ---------------------------------------------------------------------------------------------------------


def _order_of_things(query: Query, profile: DataProfile) -> Iterator[str]:
    """Yield what a query orders by, or adds up, that is a thing and no value."""
    things = _things(query, profile)
    ordered = {use.variable for use in query.uses if use.clause == "ORDER BY"} & things.keys()
    added = {variable for each in query.aggregates if each.name in ("SUM", "AVG") for variable in each.variables}
    for variable in sorted(ordered | (added & things.keys()), key=lambda each: each.name):
        yield f"?{variable.name} is a thing ({local_name(things[variable])} leads to no value), so it has no order."


def _things(query: Query, profile: DataProfile) -> dict[Variable, str]:
    """Return the variables that can only be things, each with the property that leads to it."""
    found: dict[Variable, str] = {}
    for pattern in query.patterns:
        if isinstance(pattern.object, Variable) and isinstance(pattern.predicate, ox.NamedNode):
            used = profile.properties.get(pattern.predicate.value)
            if used is not None and used.ranges and not used.datatypes and not pattern.free_object:
                found.setdefault(pattern.object, pattern.predicate.value)
    return found


def _counted_again(query: Query, profile: DataProfile, view: DataView) -> Iterator[str]:
    """Yield the counts of things that count some of them several times, or each in a group of its own."""
    things = _things(query, profile)
    for each in query.aggregates:
        if each.name not in _ADDING or each.distinct:
            continue
        if set(each.variables) & set(each.grouped):
            call = query.text[each.place.start : each.place.end]
            yield f"{call} is over groups of the same variable, so every group has one value."
        elif each.name == "COUNT" and len(each.variables) == 1 and each.variables[0] in things:
            yield from _several_times(query, each, view)


def _several_times(query: Query, each: Aggregate, view: DataView) -> Iterator[str]:
    text = query.text
    body = text[each.where.start : each.where.end]
    tail = text[each.grouping.start : each.grouping.end] if each.grouping else ""
    head = "".join(f"PREFIX {prefix}: <{space}>\n" for prefix, space in query.prefixes.items())
    name = f"?{each.variables[0].name}"
    columns = (f"(COUNT({distinct}{name}) AS ?kgragValue)" for distinct in ("", "DISTINCT "))
    sums = [_total(view.rows(f"{head}SELECT {column} WHERE {body} {tail}")) for column in columns]
    if None not in sums and sums[0] != sums[1]:
        yield f"{name} is counted {sums[0]:,} times, and only {sums[1]:,} are different."


def _total(rows: Sequence[Sequence[object]] | None) -> int | None:
    values = [getattr(row[0], "value", "") for row in rows or ()]
    return sum(map(int, values)) if rows is not None and all(value.isdigit() for value in values) else None
