"""Hints: what to write instead, worked out from the ontology and, where the text would change, checked again.

A turned triple or a longer path is proposed only when the changed query passes where the old one did not and nothing
else gets worse. One that is the only way out is also kept as the finding's ``mend``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain, islice

import pyoxigraph as ox

from kgrag.stages.sparql_check.compatibility import within
from kgrag.stages.sparql_check.edits import applied, lengthened, turned
from kgrag.stages.sparql_check.expressions import ANYTHING, Expression
from kgrag.stages.sparql_check.findings import Check, Finding
from kgrag.stages.sparql_check.naming import Naming
from kgrag.stages.sparql_check.nearest import nearest_terms
from kgrag.stages.sparql_check.ontology import OntologyIndex
from kgrag.stages.sparql_check.paths import MAX_STEPS, shortest_paths
from kgrag.stages.sparql_check.prefixes import declaration
from kgrag.stages.sparql_check.readable import readable_properties
from kgrag.stages.sparql_reader import Edit, Pattern, Query, Variable
from kgrag.stages.sparql_reader import Term as ReadTerm
from kgrag.vocab import RDF

__all__ = ["advise"]

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
