"""What the words of a question about rows name, and by which properties these things hang together.

Classes and properties are found by their labels, and every word has to be part of one: of the class or property that is
asked for, of what a name is, or of a property on the way between them. The way is a path of properties in one direction
that the data profile knows, the shortest. Where several readings are left, each is a ``RowPlan``, and it takes equal
answers of all of them. Query read: ``templates/rows``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import pyoxigraph as ox

from kgrag import queries
from kgrag.late_patterns import late_re
from kgrag.mapping.ontology_terms import Ontology
from kgrag.methods.poly_rag.row_questions import RowQuestion, Wording
from kgrag.querying.data_profile import UNTYPED, DataProfile
from kgrag.text.sentences import attribute_words
from kgrag.vocab import OWL, local_name, words_of

__all__ = ["AskedName", "Link", "RowPlan", "Schema", "plans"]

MAX_PLANS = 12
"""Readings of a question, at most: one of more is too unclear."""
_LONGEST_PATH = 3
_MAX_NAMES_OF_A_THING = 2
_MIN_SHARED_START = 4
_MIN_SHARED_SHARE = 0.6
_COUNT_OF = late_re(r"(?:total |the )?(?:number|count) of (?P<what>.+)|(?P<counted>.+) count|total (?P<total>.+)")
"""A label of a number of things. "Claim number" is no such label: it says what a claim is called."""
_NAMING_WORDS = frozenset({"name", "title", "label", "number", "id", "identifier", "code"})


@dataclass(frozen=True, slots=True)
class AskedName:
    """A name in a question: the things that have it, all of one class ("" for none), and by which property."""

    text: str
    things: tuple[str, ...]
    kind: str
    property: str


@dataclass(frozen=True, slots=True)
class Link:
    """How things hang together with the thing in the middle of a plan: by a path to it, or from it.

    ``ends`` are the things of a name, or the classes of a group.
    """

    ends: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    forward: bool = True


@dataclass(frozen=True, slots=True)
class RowPlan:
    """The rows that answer: things of ``kinds`` that the names lead to, the group they are in, and values of theirs.

    ``label`` is what is counted or compared, ``what`` are the classes of which the answer has things.
    """

    kinds: tuple[str, ...]
    names: tuple[Link, ...] = ()
    group: Link | None = None
    properties: tuple[str, ...] = ()
    amounts: tuple[str, ...] = ()
    label: str = ""

    def sparql(self) -> str:
        """Return the query for the rows."""
        first, second = (*self.names, Link(), Link())[:2]
        group = self.group or Link()
        return queries.bind(
            "templates/rows",
            kinds=_nodes(self.kinds),
            first=_nodes(first.ends),
            first_path=_nodes(first.path),
            first_forward=int(first.forward),
            second=_nodes(second.ends),
            second_path=_nodes(second.path),
            second_forward=int(second.forward),
            group_kinds=_nodes(group.ends),
            group_path=_nodes(group.path),
            group_forward=int(group.forward),
            properties=_nodes(self.properties),
            amounts=_nodes(self.amounts),
        )

    def has_values_of_its_own(self) -> bool:
        """Return whether what is named, or the group, is itself what the values are of."""
        links = [*self.names, *([self.group] if self.group else [])]
        return bool(self.properties) and bool(links) and not any(link.path for link in links)

    def anywhere(self) -> RowPlan:
        """Return the plan without names: whether its paths are there at all."""
        kinds = [Link((), link.path, link.forward) for link in self.names]
        return RowPlan(self.kinds, tuple(kinds), self.group, self.properties, self.amounts)


def _nodes(iris: Sequence[str]) -> list[ox.NamedNode]:
    return [ox.NamedNode(iri) for iri in iris]


@dataclass(frozen=True)
class Schema:
    """The ontologies with what of them the data have."""

    ontology: Ontology
    profile: DataProfile
    _edges: dict[str, list[tuple[str, str]]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        """Note which properties lead from things of a class, or of those below it, to things of another."""
        edges: dict[str, dict[tuple[str, str], None]] = defaultdict(dict)
        for each in self.profile.properties.values():
            for domain in self._with_above(each.domains):
                for towards in self._with_above(each.ranges) if domain != UNTYPED else ():
                    edges[domain][each.iri, towards] = None
        self._edges.update((domain, list(found)) for domain, found in edges.items())

    def _with_above(self, kinds: Iterable[str]) -> list[str]:
        above = self.ontology.above
        return [*dict.fromkeys(each for kind in map(_kind, kinds) for each in (kind, *sorted(above.get(kind, ()))))]

    def names_things(self, prop: str) -> bool:
        """Return whether a property says by its label what things are called: ``crop name``, ``policy number``."""
        known = self.ontology.properties.get(prop)
        return words_of(known.label if known else local_name(prop)).rpartition(" ")[2] in _NAMING_WORDS

    def label(self, iri: str) -> str:
        """Return the label of a class or property in words, without a "has" in front."""
        concepts, properties = self.ontology.concepts, self.ontology.properties
        label = concepts[iri].label if iri in concepts else properties[iri].label
        return (label if " " in label else words_of(label)).removeprefix("has ")

    def below(self, kind: str) -> tuple[str, ...]:
        """Return a class, with the classes below it that have things."""
        lower = [iri for iri, above in self.ontology.above.items() if kind in above and iri in self.profile.classes]
        return tuple(dict.fromkeys([kind, *sorted(lower)]))

    def class_of(self, stems: Sequence[str]) -> tuple[str, frozenset[str]]:
        """Return the class that has things and that words begin with, and which words; ("", none) where not one is.

        The last word of its label names it too, where the words begin with no label: "zone" for growing zone.
        """
        used = {iri: term.label for iri, term in self.ontology.concepts.items() if any(map(self._has, self.below(iri)))}
        for labelled, longest in ((used.items(), len(stems)), (_last_words(used), 1)):
            for width in range(longest, 0, -1):
                first = frozenset(stems[:width])
                if named := [iri for iri, label in labelled if attribute_words(label) == first]:
                    return (named[0], first) if len(named) == 1 else ("", frozenset())
        return "", frozenset()

    def _has(self, kind: str) -> bool:
        return kind in self.profile.classes

    def properties_of(self, stems: Collection[str]) -> tuple[list[str], frozenset[str]]:
        """Return the properties in use whose label is most of the words, and which words.

        Those with literals alone, where there are any.
        """
        named = {
            iri: words
            for iri, term in self.ontology.properties.items()
            if iri in self.profile.properties and (words := attribute_words(term.label)) and words <= {*stems}
        }
        longest = max(map(len, named.values()), default=0)
        best = sorted(iri for iri, words in named.items() if len(words) == longest)
        literal = [iri for iri in best if self.profile.properties[iri].datatypes]
        said = {named[iri] for iri in best}
        return (literal or best, said.pop()) if len(said) == 1 else ([], frozenset())

    def has_number_of(self, words: frozenset[str]) -> bool:
        """Return whether a property in use says how many there are: "number of employees", "crew count"."""
        labels = (self.label(iri) for iri in self.profile.properties if iri in self.ontology.properties)
        counts = (
            found["what"] or found["counted"] or found["total"]
            for label in labels
            if (found := _COUNT_OF.fullmatch(label.lower()))
        )
        return any(attribute_words(what) == words for what in counts)

    def amounts_of(self, prop: str) -> tuple[str, ...] | None:
        """Return the properties that lead from what a property leads to to a value; () for one that leads to literals.

        None where there is no such property, or several.
        """
        profile = self.profile.properties[prop]
        if profile.datatypes:
            return () if not profile.ranges else None
        ends = [each.iri for each in self.profile.properties.values() for to in profile.ranges if each.domains.get(to)]
        literal = [iri for iri in dict.fromkeys(ends) if self.profile.properties[iri].datatypes]
        return (literal[0],) if len(literal) == 1 and UNTYPED not in map(_kind, profile.ranges) else None

    def paths(self, start: str, end: str, *, shortest: int = 0) -> list[Link]:
        """Return the shortest paths between things of two classes, of at least so many properties, either way."""
        if start == end and not shortest:
            return [Link()]
        found = [*self._forward(start, end, True), *self._forward(end, start, False)]
        least = min((len(link.path) for link in found), default=0)
        return [link for link in found if len(link.path) == least]

    def _forward(self, start: str, end: str, forward: bool) -> Iterator[Link]:
        """Yield the shortest paths from one class to another."""
        reached: list[tuple[str, tuple[str, ...]]] = [(start, ())]
        for _ in range(_LONGEST_PATH):
            reached = [(to, (*path, prop)) for at, path in reached for prop, to in self._edges.get(at, ())]
            ended = {path for at, path in reached if at == end}
            if ended:
                yield from (Link((), path, forward) for path in sorted(ended))
                return
            reached = [(at, path) for at, path in reached if at not in (UNTYPED, start)]


def _kind(iri: str) -> str:
    """Return a class, that of all things as that of none."""
    return UNTYPED if iri == OWL.Thing.value else iri


def _last_words(labels: Mapping[str, str]) -> list[tuple[str, str]]:
    return [(iri, words_of(label).rpartition(" ")[2]) for iri, label in labels.items()]


def plans(
    asked: RowQuestion, names: Sequence[Sequence[AskedName]], schema: Schema
) -> list[tuple[RowPlan, RowPlan | None]]:
    """Return the readings of a question as rows, with those of the other thing for a comparison; [] for none.

    Args:
        asked: the question.
        names: of each of its names the things that have it, by class.
        schema: what the words may name.
    """
    readings = list(_Reader(asked, names, schema).readings())
    # "the mass of Pump 1" is its own where it may have one, and not that of what it feeds
    own = [pair for pair in readings if all(one.has_values_of_its_own() for one in pair if one)]
    readings = own or readings
    return readings if len(readings) <= MAX_PLANS else []


@dataclass(frozen=True, slots=True)
class _Middle:
    """The thing in the middle of a plan, with its values, and the words that name both."""

    kind: str
    words: frozenset[str]
    label: str
    properties: tuple[str, ...] = ()
    amounts: tuple[str, ...] = ()
    counts_things: bool = False


@dataclass(frozen=True, slots=True)
class _Reader:
    asked: RowQuestion
    names: Sequence[Sequence[AskedName]]
    schema: Schema

    def readings(self) -> Iterator[tuple[RowPlan, RowPlan | None]]:
        asked = self.asked
        if asked.form in ("compare", "compare counts"):
            words = Wording((*asked.thing.stems, *asked.value.stems), (*asked.thing.names, *asked.value.names))
            if not asked.thing.names or not asked.other.names:
                return
            for middle in self._middles(words):
                for one in self._plans(middle, words, None):
                    yield from ((one, other) for other in self._plans(middle, asked.other, None))
            return
        grouped = bool(asked.thing.stems)
        group, group_words = self.schema.class_of(asked.thing.stems) if grouped else ("", frozenset())
        if (grouped or asked.form == "most") and not group:
            return
        words = Wording(
            (*(word for word in asked.thing.stems if word not in group_words), *asked.value.stems),
            (*asked.thing.names, *asked.value.names),
        )
        for middle in self._middles(words, group):
            yield from ((plan, None) for plan in self._plans(middle, words, group or None))

    def _middles(self, words: Wording, group: str = "") -> Iterator[_Middle]:
        """Yield what may be in the middle: a class that is counted, or what has the property that is asked for.

        Of classes below that of the group, whose things have the property, it is the group's: "which machine".
        """
        schema = self.schema
        if self.asked.form in ("count", "list", "most", "compare counts"):
            kind, said = schema.class_of(words.stems)
            if kind and not schema.has_number_of(said):
                yield _Middle(kind, said, schema.label(kind), counts_things=True)
            return
        properties, said = schema.properties_of((*words.stems, self.asked.word))
        by_kind: dict[tuple[str, tuple[str, ...]], list[str]] = defaultdict(list)
        within = schema.below(group) if group else ()
        for iri in properties:
            amounts = schema.amounts_of(iri)
            domains = map(_kind, schema.profile.properties[iri].domains)
            kinds = dict.fromkeys(group if kind in within else kind for kind in domains)
            for kind in kinds if amounts is not None else ():
                by_kind[kind, amounts or ()].append(iri)
        for (kind, amounts), iris in sorted(by_kind.items()):
            yield _Middle(kind, said, schema.label(iris[0]), tuple(iris), amounts)

    def _plans(self, middle: _Middle, words: Wording, group: str | None) -> Iterator[RowPlan]:
        """Yield the plans with a middle, for each class that a name may be of and each path to it."""
        if len(words.names) > _MAX_NAMES_OF_A_THING:
            return
        left = [word for word in words.stems if word not in middle.words]
        groups = self._grouped(middle, group)
        choices = [self._linked(self.names[number], middle) for number in words.names]
        for whole, links in product(groups, product(*choices)):
            said = frozenset().union(*(words for _, words in links), self._path_words(whole))
            if all(_is_said(word, said) for word in left):
                kinds = self.schema.below(middle.kind) if middle.kind else ()
                ends = tuple(link for link, _ in links)
                yield RowPlan(kinds, ends, whole, middle.properties, middle.amounts, middle.label)

    def _grouped(self, middle: _Middle, group: str | None) -> list[Link | None]:
        if group is None:
            return [None]
        least = 1 if middle.counts_things else 0
        found = [
            (kind, link)
            for kind in self.schema.below(group)
            for link in self.schema.paths(kind, middle.kind, shortest=least)
        ]
        return [Link((kind,), link.path, link.forward) for kind, link in found]

    def _linked(self, name: Sequence[AskedName], middle: _Middle) -> list[tuple[Link, frozenset[str]]]:
        """Return how the things of a name are linked to the middle, with the words that say what they are."""
        linked = []
        for one in name:
            prop = self.schema.ontology.properties.get(one.property)
            called = self.schema.names_things(one.property)
            same = one.kind == middle.kind or one.kind in self.schema.below(middle.kind)
            if middle.counts_things and same and not called:
                paths = [Link()]  # of a value of theirs, as "in Austin", they are what is counted
            else:
                paths = self.schema.paths(one.kind, middle.kind, shortest=int(middle.counts_things))
            for link in paths:
                words = self._kind_words(one.kind) | self._path_words(link)
                words |= attribute_words(prop.label) if prop else frozenset()
                linked.append((Link(one.things, link.path, link.forward), words))
        return linked

    def _kind_words(self, kind: str) -> frozenset[str]:
        above = (kind, *self.schema.ontology.above.get(kind, ()))
        concepts = self.schema.ontology.concepts
        return frozenset().union(*(attribute_words(concepts[iri].label) for iri in above if iri in concepts))

    def _path_words(self, link: Link | None) -> frozenset[str]:
        properties = self.schema.ontology.properties
        path = link.path if link else ()
        return frozenset().union(*(attribute_words(properties[iri].label) for iri in path if iri in properties))


def _is_said(word: str, said: Collection[str]) -> bool:
    """Return whether a word is one of these, or another form of one: "grown" of "growing".

    >>> _is_said("grown", {"grow", "zone"}), _is_said("contain", {"control"})
    (True, False)
    """
    if word in said:
        return True
    for other in said:
        shared = next(
            (at for at, (one, two) in enumerate(zip(word, other, strict=False)) if one != two),
            min(len(word), len(other)),
        )
        if shared >= _MIN_SHARED_START and shared / max(len(word), len(other)) >= _MIN_SHARED_SHARE:
            return True
    return False
