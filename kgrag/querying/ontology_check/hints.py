"""Hints: what to write instead, worked out from the ontology and, where the text would change, checked again.

A turned triple or a longer path is proposed only when the changed query passes where the old one did not and nothing
else gets worse. One that is the only way out is also kept as the finding's ``mend``.

What to select of a thing instead of its IRI.

Finds the namespace that an undeclared prefix was meant for.

The terms of an ontology whose local name or label is nearest to a term that it does not have.

The shortest way through the ontology from one class to another, as a property path.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice

import pyoxigraph as ox

from kgrag.querying.ontology_check.check_findings import Check, Finding
from kgrag.querying.ontology_check.class_compatibility import within
from kgrag.querying.ontology_check.class_expressions import ANYTHING, Expression
from kgrag.querying.ontology_check.ontology_graph import value_kind
from kgrag.querying.ontology_check.ontology_index import OntologyIndex
from kgrag.querying.ontology_check.repairs import applied, lengthened, turned
from kgrag.querying.ontology_check.term_names import Naming
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
_MOST_ROOTS = 5
_MOST_CANDIDATES = 8
_MOST_CHECKS = 12

Recheck = Callable[[str], Check]


def advise(check: Check, index: OntologyIndex, *, recheck: Recheck) -> Check:
    """Give the check with hints, and with mends where exactly one change does away with a fault.

    Args:
        check: findings without hints.
        index: the ontology.
        recheck: checks a changed text, without hints.
    """
    if check.read is None:
        return check
    advisor = _Advisor(check, check.read, index, recheck)
    return replace(check, findings=tuple(advisor.advised(finding) for finding in check.findings))


@dataclass(slots=True)
class _Advisor:
    check: Check
    read: Query
    index: OntologyIndex
    recheck: Recheck
    checks: int = 0
    ways: dict[int, tuple[list[tuple[Edit, str]], bool]] = field(default_factory=dict)

    def advised(self, finding: Finding) -> Finding:
        if finding.rule in _HEAD:
            return self._with_hint(finding, self._readable(finding))
        if finding.rule == "undeclared-prefix":
            return self._with_prefix(finding)
        if not finding.blocks:
            return finding
        pattern = self._pattern(finding)
        if pattern is None:
            return finding
        if finding.rule in _ENDS:
            return self._with_ways(finding)
        return self._with_hint(finding, self._nearest(finding, pattern))

    def _with_hint(self, finding: Finding, hint: str) -> Finding:
        return replace(finding, hint=hint) if hint else finding

    def _pattern(self, finding: Finding) -> Pattern | None:
        spans = ((pattern, place) for pattern in self.read.patterns for place in pattern.places)
        return next(
            (pattern for pattern, place in spans if (place.start, place.end) == (finding.start, finding.end)), None
        )

    @property
    def naming(self) -> Naming:
        return Naming(self.read.prefixes, {}, {})

    # --- terms -------------------------------------------------------------------------------------------------

    def _nearest(self, finding: Finding, pattern: Pattern) -> str:
        index = self.index
        if finding.rule in ("incorrect-property", "class-as-property") and isinstance(pattern.predicate, ox.NamedNode):
            if finding.rule == "class-as-property":
                wanted = [
                    name for name in index.kinds if any(pattern.predicate.value in each for each in index.range(name))
                ]
                return self._told("Properties that lead to one", sorted(wanted)[:3])
            return self._told("Nearest", nearest_terms(index, pattern.predicate.value, index.kinds))
        if finding.rule in ("undefined-class", "property-as-class") and isinstance(pattern.object, ox.NamedNode):
            return self._told("Nearest", nearest_terms(index, pattern.object.value, index.classes))
        return ""

    def _told(self, what: str, names: Iterable[str]) -> str:
        listed = ", ".join(self.naming.iri(name) for name in names)
        return f"{what}: {listed}." if listed else ""

    def _readable(self, finding: Finding) -> str:
        name = finding.subject.removeprefix("?")
        classes = {one for term in self._terms() if _is(term, name) for one in self._classes(term, None)}
        listed = [self.naming.iri(each) for each in readable_properties(self.index, sorted(classes))]
        return f"Select {' or '.join(listed)} of ?{name} instead." if listed else ""

    def _terms(self) -> Iterator[ReadTerm]:
        yield from dict.fromkeys(end for pattern in self.read.patterns for end in (pattern.subject, pattern.object))

    def _with_prefix(self, finding: Finding) -> Finding:
        mend = finding.mend or declaration(self.read, self._prefix(finding), self.index)
        if mend is None:
            return finding
        return replace(finding, mend=mend, hint=f"Declare it: {mend.text.strip()}")

    def _prefix(self, finding: Finding) -> str:
        places = {(each.place.start, each.place.end): each.subject for each in self.read.problems}
        return places.get((finding.start, finding.end), "")

    # --- ways --------------------------------------------------------------------------------------------------

    def _with_ways(self, finding: Finding) -> Finding:
        if finding.root not in self.ways:
            self.ways[finding.root] = self._ways(finding) if len(self.ways) < _MOST_ROOTS else ([], False)
        ways, certain = self.ways[finding.root]
        if not ways:
            return finding
        hint = "Write " + " or ".join(text for _, text in ways) + "."
        return replace(finding, hint=hint, mend=ways[0][0] if certain else None)

    def _ways(self, finding: Finding) -> tuple[list[tuple[Edit, str]], bool]:
        """Give the changes that pass, told as triples, and whether there is exactly one."""
        patterns = self._of_root(finding.root)
        swaps = {edit: pattern for pattern in patterns if (edit := turned(self.read, pattern)) is not None}
        longer = (way for pattern in patterns for way in self._longer(pattern))
        candidates = dict(islice(chain(((edit, f"`{edit.text}`") for edit in swaps), longer), _MOST_CANDIDATES))
        self.checks += len(candidates)
        if self.checks > _MOST_CHECKS:
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
        """Give the ways as text; one that walks the property itself once more leads back to where it came from."""
        paths = shortest_paths(self.index, start, target, limit=MAX_STEPS - 1)
        return [self._steps(path) for path in paths if all(step != name for step, _ in path)]

    def _steps(self, path: Iterable[tuple[str, bool]]) -> str:
        return "/".join(f"{'^' if backwards else ''}{self.naming.iri(name)}" for name, backwards in path)

    def _path(self, pattern: Pattern, before: str, after: str) -> tuple[Edit, str]:
        edit = lengthened(self.read, pattern, before=before, after=after)
        return edit, f"`{edit.text}`"

    def _types(self, term: ReadTerm) -> list[str]:
        typings = (each for each in self.read.patterns if each.predicate == RDF.type and each.subject == term)
        return [each.object.value for each in typings if isinstance(each.object, ox.NamedNode)]

    def _classes(self, term: ReadTerm, besides: Pattern | None) -> list[str]:
        """Give what else the query says a term is: its types, or else what its other properties want."""
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


def _is(term: ReadTerm, name: str) -> bool:
    return isinstance(term, Variable) and term.name == name


def _single(expression: Expression) -> list[str]:
    return [] if expression == ANYTHING else [each[0] for each in expression if len(each) == 1]


_TELLING = ("label", "name", "title", "id", "identifier", "number", "code")


def readable_properties(index: OntologyIndex, classes: Sequence[str], *, limit: int = 2) -> list[str]:
    """Give properties of the classes that name a thing: labels and names before numbers; else ``rdfs:label``.

    Only properties that the ontology states for one of the classes, or for everything, are named.
    """
    found = []
    for name in index.kinds:
        words = words_of(local_name(name)).split()
        rank = min((_TELLING.index(word) for word in words[-1:] if word in _TELLING), default=None)
        if rank is None or value_kind(index, name) == "object":
            continue
        domain = index.domain(name)
        if domain == ANYTHING or any(within(index, each, domain) for each in classes):
            found.append((domain == ANYTHING, rank, name))
    return [name for _, _, name in sorted(found)[:limit]] or [RDFS.label.value]


def declaration(query: Query, prefix: str, index: OntologyIndex) -> Edit | None:
    """Give the change that declares a prefix, or None where it cannot be told what it stands for.

    It can when the ontology recommends a namespace for it, when it is one of the well-known prefixes, or when one
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


_LEAST = 60.0


def nearest_terms(index: OntologyIndex, iri: str, among: Iterable[str], *, limit: int = 3) -> list[str]:
    """Give at most ``limit`` of the terms, nearest first; [] when none is near.

    Names are compared as words, so that ``hasPolicyHolder`` and "policy holder" are near each other.
    """
    from rapidfuzz import fuzz

    wanted = words_of(local_name(iri))
    if not wanted:
        return []
    scored = []
    for term in among:
        names = (words_of(local_name(term)), *(label.lower() for label in index.labels.get(term, ())))
        score = max(_score(fuzz, wanted, name) for name in names)
        if score >= _LEAST:
            scored.append((-score, term))
    return [term for _, term in sorted(scored)[:limit]]


def _score(fuzz: object, one: str, other: str) -> float:
    whole, words = fuzz.ratio(one, other), fuzz.token_set_ratio(one, other)  # type: ignore[attr-defined]
    return float(max(whole, 0.9 * words))


MAX_STEPS = 4
_MAX_PATHS = 4
_MAX_MOVES = 5_000

Step = tuple[str, bool]
"""A property, and whether it is walked backwards."""


def shortest_paths(
    index: OntologyIndex, start: str, target: Expression, *, limit: int = MAX_STEPS
) -> list[tuple[Step, ...]]:
    """Give the shortest property paths from a class to one that lies within ``target``.

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
    """Give the steps that lead away from a class, and the classes that they lead to."""
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
        for start, step, end in _all_edges(index):
            known.setdefault(start, set()).add((step, end))
    return known


def _all_edges(index: OntologyIndex) -> Iterator[tuple[str, Step, str]]:
    for name in index.kinds:
        for start in _paths_single(index, index.domain(name)):
            for end in _paths_single(index, index.range(name)):
                yield start, (name, False), end
                yield end, (name, True), start


def _paths_single(index: OntologyIndex, expression: Expression) -> list[str]:
    return [each[0] for each in expression if len(each) == 1 and not index.is_datatype(each[0])]
