"""Hints: what to write instead, worked out from the ontology and, where the text would change, checked again.

A turned triple or a longer path is proposed only when the changed query passes where the old one did not and nothing
else gets worse. One that is the only way out is also kept as the finding's ``mend``. Other hints name what to select
instead of an IRI, the namespace that an undeclared prefix was meant for, and the terms nearest to one that the ontology
does not have.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice, product

import pyoxigraph as ox

from kgrag.querying.data_profile import DataProfile
from kgrag.querying.ontology_check.check_findings import Check, Finding, TermNames
from kgrag.querying.ontology_check.class_expressions import ANYTHING, Expression
from kgrag.querying.ontology_check.data_hints import class_hint, property_hint
from kgrag.querying.ontology_check.ontology_graph import value_kind, within
from kgrag.querying.ontology_check.ontology_index import OntologyIndex
from kgrag.querying.ontology_check.query_constants import offers
from kgrag.querying.ontology_check.query_graph import parts
from kgrag.querying.ontology_check.repairs import applied, lengthened, turned
from kgrag.sparql.syntax import Edit, Pattern, Query, Variable
from kgrag.sparql.syntax import Term as ReadTerm
from kgrag.vocab import PREFIXES, RDF, RDFS, local_name, words_of

__all__ = [
    "MAX_STEPS",
    "Step",
    "advise",
    "declaration",
    "nearest_terms",
    "readable_properties",
    "shortest_paths",
]

_ENDS = frozenset({"domain", "range", "double-domain", "double-range", "domain-range"})
_HEAD = frozenset({"iri-output", "subject-output"})
_OF_DATA = frozenset({"empty-class", "unused-in-data"})
# Each candidate costs a whole check, so that not everything is tried on a query with many faults.
_MAX_ROOTS_WITH_WAYS = 5
_MAX_CANDIDATES_PER_ROOT = 8
_MAX_CHECKS = 12
_NAMING_WORDS = ("label", "name", "title", "id", "identifier", "number", "code")
_MIN_TERM_SCORE = 60.0  # of 100, by rapidfuzz
MAX_STEPS = 4
_MAX_PATHS = 4
_MAX_MOVES = 5_000
_MAX_VARIABLES_JOINED = 4

Step = tuple[str, bool]
"""A property, and whether it is walked backwards."""
Recheck = Callable[[str], Check]


def advise(check: Check, index: OntologyIndex, *, recheck: Recheck, profile: Callable[[], DataProfile] | None) -> Check:
    """Return the check with hints, and with mends where exactly one change does away with a fault.

    Args:
        check: findings without hints.
        index: the ontology.
        recheck: checks a changed text, without hints.
        profile: returns what the data have; None without data.
    """
    if check.read is None:
        return check
    advisor = _Advisor(check, check.read, index, recheck, profile)
    return replace(check, findings=tuple(advisor.advised(finding) for finding in check.findings))


@dataclass(slots=True)
class _Advisor:
    check: Check
    read: Query
    index: OntologyIndex
    recheck: Recheck
    profile: Callable[[], DataProfile] | None
    checks: int = 0
    ways: dict[int, tuple[list[tuple[Edit, str]], bool]] = field(default_factory=dict)
    apart: dict[int, tuple[list[int], list[int]]] = field(default_factory=dict)
    joined: int = 0

    def advised(self, finding: Finding) -> Finding:
        of_rules = {
            **dict.fromkeys(_HEAD, self._readable),
            **dict.fromkeys(_OF_DATA, self._in_the_data),
            "disconnected": self._join,
            "undefined-offer": self._nearest_offered,
        }
        if finding.rule in of_rules:
            return self._with_hint(finding, of_rules[finding.rule](finding))
        if finding.rule == "undeclared-prefix":
            return self._with_prefix(finding)
        span = (finding.start, finding.end)
        patterns = (each for each in self.read.patterns if span in {(place.start, place.end) for place in each.places})
        pattern = next(patterns, None)
        if pattern is None or not finding.blocks:
            return finding
        if finding.rule in _ENDS:
            return self._with_ways(finding)
        return self._with_hint(finding, self._nearest(finding, pattern))

    def _with_hint(self, finding: Finding, hint: str) -> Finding:
        return replace(finding, hint=hint) if hint else finding

    @property
    def names(self) -> TermNames:
        return TermNames(self.read.prefixes, {}, {})

    def _in_the_data(self, finding: Finding) -> str:
        """Return what the data have in the place of an empty class, or of a property that its class does not have."""
        place = 2 if finding.rule == "empty-class" else 1
        found = (each for each in self.read.patterns if each.places[place].start == finding.start)
        pattern = next(found, None)
        if pattern is None or self.profile is None:
            return ""
        if finding.rule == "empty-class":
            return class_hint(self.read, pattern, self.profile())
        name = getattr(pattern.predicate, "value", "")
        hints = (property_hint(self.read, name, each, self.profile()) for each in self._types(pattern.subject))
        return next(hints, "")

    # --- terms -------------------------------------------------------------------------------------------------

    def _nearest(self, finding: Finding, pattern: Pattern) -> str:
        index = self.index
        if finding.rule in ("incorrect-property", "class-as-property") and isinstance(pattern.predicate, ox.NamedNode):
            if finding.rule == "class-as-property":
                wanted = [
                    name for name in index.kinds if any(pattern.predicate.value in each for each in index.range(name))
                ]
                return self._listed("Properties that lead to one", sorted(wanted)[:3])
            return self._listed("Nearest", nearest_terms(index, pattern.predicate.value, index.kinds))
        if finding.rule in ("undefined-class", "property-as-class") and isinstance(pattern.object, ox.NamedNode):
            return self._listed("Nearest", nearest_terms(index, pattern.object.value, index.classes))
        return ""

    def _nearest_offered(self, finding: Finding) -> str:
        verbs = {pattern.predicate for pattern in self.read.patterns}
        for offer in offers(self.read):
            if offer.place.start == finding.start and self.names.iri(offer.term.value) == finding.object:
                known = self.index.kinds if offer.variable in verbs else self.index.classes
                return self._listed("Nearest", nearest_terms(self.index, offer.term.value, known))
        return ""

    def _listed(self, what: str, names: Iterable[str]) -> str:
        listed = ", ".join(self.names.iri(name) for name in names)
        return f"{what}: {listed}." if listed else ""

    def _readable(self, finding: Finding) -> str:
        name = finding.subject.removeprefix("?")
        ends = dict.fromkeys(end for pattern in self.read.patterns for end in (pattern.subject, pattern.object))
        variables = (end for end in ends if isinstance(end, Variable) and end.name == name)
        classes = {one for variable in variables for one in self._classes(variable, None)}
        listed = [self.names.iri(each) for each in readable_properties(self.index, sorted(classes))]
        return f"Select {' or '.join(listed)} of ?{name} instead." if listed else ""

    def _with_prefix(self, finding: Finding) -> Finding:
        prefixes = {(each.place.start, each.place.end): each.subject for each in self.read.problems}
        prefix = prefixes.get((finding.start, finding.end), "")
        mend = finding.mend or declaration(self.read, prefix, self.index)
        if mend is None:
            return finding
        return replace(finding, mend=mend, hint=f"Declare it: {mend.text.strip()}")

    # --- joins -------------------------------------------------------------------------------------------------

    def _join(self, finding: Finding) -> str:
        """Return the triple that joins the part of a finding with the part before it, by domains and ranges."""
        if not self.apart:
            for first, *others in parts(self.read):
                begins = {self.read.patterns[other[0]].places[1].start: other for other in others}
                self.apart |= {start: (first, other) for start, other in begins.items()}
        first, other = self.apart.get(finding.start, ([], []))
        self.joined += 1
        if self.joined > _MAX_ROOTS_WITH_WAYS:
            return ""
        ways = [*self._joins(first, other), *self._joins(other, first)]
        best = [text for steps, text in ways if steps == min(ways)[0]][:3]
        apart = "if both are meant to be independent, put each into a sub-select of its own."
        return f"Write {' or '.join(best)} to join them; {apart}" if best else ""

    def _joins(self, here: Sequence[int], there: Sequence[int]) -> list[tuple[int, str]]:
        """Return (steps, text) for the property paths from a variable of one part to a variable of another."""
        starts, ends = self._variables(here), self._variables(there)
        found = []
        for (start, one), (end, other) in product(starts.items(), ends.items()):
            for source, target in product(one, other):
                if within(self.index, source, ((target,),)):
                    found.append((0, f"`?{start.name}` in the place of `?{end.name}`"))
                for path in shortest_paths(self.index, source, ((target,),))[:1]:
                    steps = "/".join(f"{'^' if backwards else ''}{self.names.iri(step)}" for step, backwards in path)
                    found.append((len(path) + _inverses(path), f"`?{start.name} {steps} ?{end.name}`"))
        return list(dict.fromkeys(found))

    def _variables(self, numbers: Sequence[int]) -> dict[Variable, list[str]]:
        """Return the first variables of a part whose class is known, each with its classes."""
        patterns = [self.read.patterns[number] for number in numbers]
        ends = dict.fromkeys(end for pattern in patterns for end in (pattern.subject, pattern.object))
        classes = ((end, self._classes(end, None)) for end in ends if isinstance(end, Variable))
        return dict(islice(((end, found) for end, found in classes if found), _MAX_VARIABLES_JOINED))

    # --- ways --------------------------------------------------------------------------------------------------

    def _with_ways(self, finding: Finding) -> Finding:
        if finding.root not in self.ways:
            self.ways[finding.root] = self._ways(finding) if len(self.ways) < _MAX_ROOTS_WITH_WAYS else ([], False)
        ways, certain = self.ways[finding.root]
        if not ways:
            return finding
        hint = "Write " + " or ".join(text for _, text in ways) + "."
        return replace(finding, hint=hint, mend=ways[0][0] if certain else None)

    def _ways(self, finding: Finding) -> tuple[list[tuple[Edit, str]], bool]:
        """Return the changes that pass, each with its new text, and whether there is exactly one."""
        patterns = self._of_root(finding.root)
        swaps = {edit: pattern for pattern in patterns if (edit := turned(self.read, pattern)) is not None}
        longer = (way for pattern in patterns for way in self._longer(pattern))
        candidates = dict(islice(chain(((edit, f"`{edit.text}`") for edit in swaps), longer), _MAX_CANDIDATES_PER_ROOT))
        self.checks += len(candidates)
        if self.checks > _MAX_CHECKS:
            return [], False
        passed = [way for way in candidates.items() if self._passes(finding, way[0])]
        typed = [way for way in passed if way[0] in swaps and self._is_backwards(swaps[way[0]])]
        return (typed or passed)[:3], len(typed or passed) == 1

    def _is_backwards(self, pattern: Pattern) -> bool:
        """Whether an end has a type that belongs at the other end."""
        name = str(getattr(pattern.predicate, "value", ""))
        ends = ((pattern.subject, self.index.range(name)), (pattern.object, self.index.domain(name)))
        return any(
            wanted != ANYTHING and within(self.index, each, wanted) for end, wanted in ends for each in self._types(end)
        )

    def _of_root(self, root: int) -> list[Pattern]:
        spans = {(each.start, each.end) for each in self.check.findings if each.root == root and each.rule in _ENDS}
        found = [pattern for pattern in self.read.patterns if (pattern.places[1].start, pattern.places[1].end) in spans]
        shared = {end for pattern in found for end in (pattern.subject, pattern.object) if isinstance(end, Variable)}
        near = [each for each in self.read.patterns if {each.subject, each.object} & shared and each not in found]
        return [
            each for each in (*found, *near) if isinstance(each.predicate, ox.NamedNode) and each.predicate != RDF.type
        ]

    def _passes(self, finding: Finding, edit: Edit) -> bool:
        """Whether the fault is gone after the change, and no other has come."""
        after = self.recheck(applied(self.read.text, [edit]))
        before = [each for each in self.check.findings if each.blocks]
        left = {(each.rule, each.message) for each in after.findings if each.blocks}
        gone = {(each.rule, each.message) for each in before if each.root == finding.root and each.rule in _ENDS}
        return not left & gone and left <= {(each.rule, each.message) for each in before}

    def _longer(self, pattern: Pattern) -> Iterator[tuple[Edit, str]]:
        """Yield changes that lead to the domain first, or on from the range."""
        assert isinstance(pattern.predicate, ox.NamedNode)
        name = pattern.predicate.value
        for start in self._classes(pattern.subject, pattern):
            for path in self._paths(start, self.index.domain(name), name):
                yield self._path(pattern, path, "")
        for target in self._classes(pattern.object, pattern):
            for start in _single(self.index.range(name)):
                for path in self._paths(start, ((target,),), name):
                    yield self._path(pattern, "", path)

    def _paths(self, start: str, target: Expression, name: str) -> list[str]:
        """Return the paths as text, without those that walk the property itself and so lead back to their start."""
        names = self.names
        paths = shortest_paths(self.index, start, target, limit=MAX_STEPS - 1)
        return [
            "/".join(f"{'^' if backwards else ''}{names.iri(step)}" for step, backwards in path)
            for path in paths
            if all(step != name for step, _ in path)
        ]

    def _path(self, pattern: Pattern, before: str, after: str) -> tuple[Edit, str]:
        edit = lengthened(self.read, pattern, before=before, after=after)
        return edit, f"`{edit.text}`"

    def _types(self, term: ReadTerm) -> list[str]:
        typings = (each for each in self.read.patterns if each.predicate == RDF.type and each.subject == term)
        return [each.object.value for each in typings if isinstance(each.object, ox.NamedNode)]

    def _classes(self, term: ReadTerm, besides: Pattern | None) -> list[str]:
        """Return the classes of a term in the rest of the query: its types, or else what its properties require."""
        types = self._types(term)
        wanted: dict[str, None] = {}
        for pattern in self.read.patterns:
            if pattern is besides or not isinstance(pattern.predicate, ox.NamedNode):
                continue
            name = pattern.predicate.value
            if pattern.subject == term and not pattern.free_subject:
                wanted |= dict.fromkeys(_single(self.index.domain(name)))
            elif pattern.object == term and not pattern.free_object:
                wanted |= dict.fromkeys(_single(self.index.range(name)))
        return [name for name in (types or wanted) if not self.index.is_datatype(name)]


def _single(expression: Expression) -> list[str]:
    """Return the classes that are an alternative by themselves."""
    return [] if expression == ANYTHING else [each[0] for each in expression if len(each) == 1]


def readable_properties(index: OntologyIndex, classes: Sequence[str], *, limit: int = 2) -> list[str]:
    """Return properties that name the instances of classes: labels and names before numbers; else ``rdfs:label``.

    Only properties that the ontology states for one of the classes, or for everything, are named.
    """
    found = []
    for name in index.kinds:
        words = words_of(local_name(name)).split()
        rank = min((_NAMING_WORDS.index(word) for word in words[-1:] if word in _NAMING_WORDS), default=None)
        if rank is None or value_kind(index, name) == "object":
            continue
        domain = index.domain(name)
        if domain == ANYTHING or any(within(index, each, domain) for each in classes):
            found.append((domain == ANYTHING, rank, name))
    return [name for _, _, name in sorted(found)[:limit]] or [RDFS.label.value]


def declaration(query: Query, prefix: str, index: OntologyIndex) -> Edit | None:
    """Return the change that declares a prefix, or None where its namespace is not known.

    It is known when the ontology recommends a namespace for it, when it is one of the well-known prefixes, or when one
    namespace alone of the ontology has every local name that the query uses with it.
    """
    space = index.prefixes.get(prefix) or _by_names(query, prefix, index) or PREFIXES.get(prefix)
    return Edit(0, 0, f"PREFIX {prefix}: <{space}>\n") if space else None


def _by_names(query: Query, prefix: str, index: OntologyIndex) -> str:
    used = set(re.findall(rf"(?<![\w<:?$.-]){re.escape(prefix)}:([\w-]+)", query.text))
    if not used:
        return ""
    spaces: dict[str, set[str]] = {}
    for term in (*index.kinds, *index.classes):
        cut = max(term.rfind("#"), term.rfind("/"), term.rfind(":")) + 1
        spaces.setdefault(term[:cut], set()).add(term[cut:])
    fitting = [space for space, names in spaces.items() if used <= names]
    return fitting[0] if len(fitting) == 1 else ""


def nearest_terms(index: OntologyIndex, iri: str, among: Iterable[str], *, limit: int = 3) -> list[str]:
    """Return at most ``limit`` of the terms, nearest first; [] when none is near.

    Names are compared as words, so that ``hasPolicyHolder`` and "policy holder" are near each other.
    """
    from rapidfuzz import fuzz

    wanted = words_of(local_name(iri))
    if not wanted:
        return []
    scored = []
    for term in among:
        names = (words_of(local_name(term)), *(label.lower() for label in index.labels.get(term, ())))
        # Shared words count a little less than the same text: "policy" is in many names.
        score = max(max(fuzz.ratio(wanted, name), 0.9 * fuzz.token_set_ratio(wanted, name)) for name in names)
        if score >= _MIN_TERM_SCORE:
            scored.append((-score, term))
    return [term for _, term in sorted(scored)[:limit]]


def shortest_paths(
    index: OntologyIndex, start: str, target: Expression, *, limit: int = MAX_STEPS
) -> list[tuple[Step, ...]]:
    """Return the shortest property paths from a class to one that lies within ``target``.

    Args:
        index: the ontology.
        start: the class to set out from.
        target: where to arrive.
        limit: the most steps; inverses count like any other.

    Returns:
        All paths of the least length with the fewest inverses, at most four, in the order of their properties; [] when
        there is none, when it takes too many moves to find one (a large ontology), or when ``start`` already lies
        within ``target``. No path walks a property there and at once back.
    """
    if target == ANYTHING or within(index, start, target):
        return []
    seen, moves = {start}, 0
    level: list[tuple[str, tuple[Step, ...]]] = [(start, ())]
    for _ in range(limit):
        found: list[tuple[Step, ...]] = []
        following: list[tuple[str, tuple[Step, ...]]] = []
        for name, path in level:
            moves += len(_moves(index, name))
            for step, reached in _moves(index, name) if moves < _MAX_MOVES else ():
                if path and path[-1] == (step[0], not step[1]):
                    continue
                longer = (*path, step)
                if within(index, reached, target):
                    found.append(longer)
                elif reached not in seen:
                    following.append((reached, longer))
        if found:
            fewest = min(map(_inverses, found))
            return sorted({path for path in found if _inverses(path) == fewest})[:_MAX_PATHS]
        seen |= {name for name, _ in following}
        level = following
    return []


def _inverses(path: tuple[Step, ...]) -> int:
    return sum(backwards for _, backwards in path)


def _moves(index: OntologyIndex, name: str) -> list[tuple[Step, str]]:
    """Return the steps that lead away from a class, and the classes that they lead to."""
    known: list[tuple[Step, str]] | None = index.memory.get(("moves", name))
    if known is None:
        edges = _edges(index)
        known = sorted(move for above in index.ancestors(name) for move in edges.get(above, ()))
        index.memory["moves", name] = known
    return known


def _edges(index: OntologyIndex) -> dict[str, set[tuple[Step, str]]]:
    known: dict[str, set[tuple[Step, str]]] | None = index.memory.get("edges")
    if known is None:
        known = index.memory["edges"] = {}
        for name in index.kinds:
            starts, ends = (
                [one for one in _single(expression) if not index.is_datatype(one)]
                for expression in (index.domain(name), index.range(name))
            )
            for start, end in product(starts, ends):
                known.setdefault(start, set()).add(((name, False), end))
                known.setdefault(end, set()).add(((name, True), start))
    return known
