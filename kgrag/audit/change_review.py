"""What a new version of an ontology breaks for those who use the old one.

Breaking is: a term that is gone without having been deprecated (with the term that it seems to have become), a term of
another kind, a domain or range that excludes what it allowed, a superclass or superproperty that no longer follows, a
class that can no longer have instances, an axiom that data may contradict which were consistent (a functional property,
a disjoint pair, "only", "at most"), a competency question that is no longer answered as expected, and a version that is
not raised. What follows anew, what no longer does for an end or an axiom that is gone, what is deprecated and what is
added is listed beside it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from kgrag.audit.competency_tests import CompetencyVerdict
from kgrag.audit.ontology_versions import TOPS, Expression, OntologyVersion, Terms
from kgrag.audit.reports.term_names import name_writer
from kgrag.audit.reports.text_reports import printable
from kgrag.audit.version_axioms import differences
from kgrag.late_patterns import late_re

__all__ = ["Change", "ChangeReview", "question_changes", "review_changes"]

MAX_LISTED = 50
"""How many changes of one kind that break nothing a text lists."""
_TITLES = {
    "removed": "Terms that are gone",
    "kind": "Terms of another kind",
    "narrowed": "Domains and ranges that allow less",
    "lost": "What no longer follows",
    "unsatisfiable": "Classes that can have no instance",
    "constrained": "What data may contradict now",
    "question": "Competency questions",
    "version": "Version",
    "gained": "What follows anew",
    "widened": "Domains and ranges that say less, so that less follows",
    "loosened": "Axioms that are gone",
    "retired": "Terms that are gone after they were deprecated",
    "deprecated": "Terms that are deprecated now",
    "added": "Terms that are new",
}
"""Kind of change -> its title, in the order of reports."""
_BREAKING = frozenset({"removed", "kind", "narrowed", "lost", "unsatisfiable", "constrained", "question", "version"})
_MARKS = late_re(r"([\\`*_\[\]<>|#~&])")


@dataclass(frozen=True, slots=True)
class Change:
    """One change: ``kind`` is a key of the titles, ``term`` the IRI, ``message`` goes on from it."""

    kind: str
    term: str
    message: str = ""

    @property
    def breaking(self) -> bool:
        """Whether it may break what uses the old version."""
        return self.kind in _BREAKING


@dataclass(frozen=True, slots=True)
class ChangeReview:
    """The changes from one version to another, breaking ones first; what was asked for and not decided.

    ``namespaces`` are their own, ``labels`` those of their terms.
    """

    old: str
    new: str
    changes: tuple[Change, ...]
    undecided: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def breaking(self) -> tuple[Change, ...]:
        """The changes that may break what uses the old version."""
        return tuple(change for change in self.changes if change.breaking)

    def to_json(self) -> dict[str, Any]:
        """Return its JSON form."""
        changes = [{"kind": c.kind, "term": c.term, "message": c.message, "breaking": c.breaking} for c in self.changes]
        return {"old": self.old, "new": self.new, "changes": changes, "not_decided": list(self.undecided)}

    def text(self) -> str:
        """Return it as text, a line per change: ``!`` breaks something, ``.`` does not."""
        lines: list[str] = []
        for title, breaks, listed, unlisted in self.sections():
            lines += [f"{title} ({len(listed) + unlisted})"]
            lines += [f"  {'!' if breaks else '.'} {line}" for line in listed]
            lines += [f"    ... and {unlisted} more"] if unlisted else []
        lines += [f"not decided: {reason}" for reason in self.undecided]
        return printable("\n".join([*lines, self.headline()]))

    def markdown(self) -> str:
        """Return it as Markdown, for a pull request."""
        lines = [f"### Changes from {_literal(self.old)} to {_literal(self.new)}", "", f"**{self.headline()}**"]
        for title, breaks, listed, unlisted in self.sections():
            rows = [f"- {_literal(line)}" for line in listed]
            rows += [f"- … and {unlisted} more"] if unlisted else []
            if breaks:
                lines += ["", f"#### :warning: {title} ({len(listed) + unlisted})", "", *rows]
            else:
                summary = f"<details><summary>{title} ({len(listed) + unlisted})</summary>"
                lines += ["", summary, "", *rows, "", "</details>"]
        lines += ["", *(f"Not decided: {_literal(reason)}" for reason in self.undecided)] if self.undecided else []
        return printable("\n".join(lines) + "\n")

    def sections(self) -> Iterator[tuple[str, bool, list[str], int]]:
        """Yield each kind of change: its title, whether it breaks something, its lines, how many are left out."""
        short, _ = name_writer(self.namespaces, {}, self.labels)
        for kind, changes in groupby(self.changes, key=lambda change: change.kind):
            whole, breaks = list(changes), kind in _BREAKING
            listed = whole if breaks else whole[:MAX_LISTED]
            lines = [short(f"{change.term} {change.message}".strip()) for change in listed]
            yield _TITLES[kind], breaks, lines, len(whole) - len(listed)

    def headline(self) -> str:
        """Return how many changes there are, in words."""
        breaking = len(self.breaking)
        return f"{breaking} breaking change{'' if breaking == 1 else 's'}, {len(self.changes) - breaking} others"


def review_changes(
    old: OntologyVersion, new: OntologyVersion, *, names: tuple[str, str], differs: bool, also: Iterable[Change] = ()
) -> ChangeReview:
    """Compare two versions of an ontology.

    Args:
        old: the version that is in use.
        new: the version that is proposed.
        names: what the two are called.
        differs: whether any statement differs, which a version has to say.
        also: further changes, of competency questions.
    """
    changes = [*_of_terms(old, new), *_of_ends(old, new), *_of_hierarchies(old, new), *also]
    both = frozenset((old.kinds.keys() & new.kinds.keys()) - new.deprecated)
    changes += [Change(*each) for each in differences(old.axioms, new.axioms, both)]
    changes += _of_types(old, new, both)
    changes += [
        Change("unsatisfiable", term, "can have no instance")
        for term in sorted((new.unsatisfiable - old.unsatisfiable) & new.kinds.keys())
    ]
    if differs:
        changes += _of_version(old, new)
    order = list(_TITLES)
    changes.sort(key=lambda change: (order.index(change.kind), change.term, change.message))
    namespaces = tuple(dict.fromkeys((*new.namespaces, *old.namespaces)))
    return ChangeReview(*names, tuple(changes), namespaces=namespaces, labels={**old.names, **new.names})


def question_changes(before: Sequence[CompetencyVerdict], after: Sequence[CompetencyVerdict]) -> Iterator[Change]:
    """Yield the competency questions that the old version answered as expected, and the new one does not."""
    for was, now in zip(before, after, strict=True):
        if was.decided and not was.found and (now.found or not now.decided):
            message = f"({now.question.question}) was answered as expected, and is not: {now.found}"
            yield Change("question", now.question.path.stem, message)


# --- terms --------------------------------------------------------------------------------------------------------


def _of_terms(old: OntologyVersion, new: OntologyVersion) -> Iterator[Change]:
    added = new.kinds.keys() - old.kinds.keys()
    successors: dict[tuple[str, str], list[str]] = defaultdict(list)
    for term in sorted(added):
        for label in new.labels[term]:
            successors[new.kinds[term], label].append(term)
    renamed: set[str] = set()
    for term in sorted(old.kinds.keys() - new.kinds.keys()):
        if term in old.deprecated:
            yield Change("retired", term)
            continue
        candidates = {each for label in old.labels[term] for each in successors[old.kinds[term], label]}
        if len(candidates) == 1:
            renamed |= candidates
            message = f"is {min(candidates)} now; keep it, deprecated, for those who use it"
        else:
            message = f"({old.kinds[term]}) is gone, and was not deprecated"
        yield Change("removed", term, message)
    for term in sorted(old.kinds.keys() & new.kinds.keys()):
        if old.kinds[term] != new.kinds[term]:
            yield Change("kind", term, f"was {_one(old.kinds[term])}, and is {_one(new.kinds[term])}")
        if term in new.deprecated - old.deprecated:
            yield Change("deprecated", term)
    yield from (Change("added", term, f"({new.kinds[term]})") for term in sorted(added - renamed))


def _one(kind: str) -> str:
    return f"{'an' if kind[:1] in 'aeiou' else 'a'} {kind}"


# --- domains, ranges, hierarchies ---------------------------------------------------------------------------------


def _of_ends(old: OntologyVersion, new: OntologyVersion) -> Iterator[Change]:
    for word, before, after in (("domain", old.domains, new.domains), ("range", old.ranges, new.ranges)):
        for term in sorted(old.kinds.keys() & new.kinds.keys() & after.keys()):
            allowed = before.get(term, ())
            for wanted in after[term]:
                if wanted not in TOPS and not any(new.is_below(each, wanted) for each in allowed):
                    was = " and ".join(map(_words, allowed)) or "anything"
                    yield Change("narrowed", term, f"had the {word} {was}, and wants {_words(wanted)} now")
        for term in sorted(old.kinds.keys() & new.kinds.keys() & before.keys()):
            left = after.get(term, ())
            for stated in before[term]:
                if stated not in TOPS and not any(new.is_below(each, stated) for each in left):
                    now = f"has {' and '.join(map(_words, left))} now" if left else "has none now"
                    yield Change("widened", term, f"had the {word} {_words(stated)}, and {now}")


def _words(expression: Expression) -> str:
    """Return a class expression in words."""
    if isinstance(expression, tuple):
        between = " or " if expression[0] == "union" else " and "
        return f"({between.join(sorted(map(_words, expression[1])))})"
    return "a class without a name" if expression.startswith("_:") else expression


def _of_hierarchies(old: OntologyVersion, new: OntologyVersion) -> Iterator[Change]:
    """Yield what follows of hierarchies in one version and not in the other: of the highest terms, and nearest ones."""
    for kind, one, other, verb in (
        ("lost", old, new, "is no longer below"),
        ("gained", new, old, "is below"),
    ):
        # a term that is deprecated often leaves the hierarchy with it (OBO): its users are told by the deprecation
        terms = (old.kinds.keys() & new.kinds.keys()) - new.deprecated
        differing: dict[str, frozenset[str]] = {}
        for term in terms - other.unsatisfiable - one.unsatisfiable:
            uppers = {above for above in one.above.get(term, frozenset()) - TOPS if above in other.mentioned}
            if missing := uppers - other.above.get(term, frozenset()):
                differing[term] = frozenset(missing)
        for term, lacking in sorted(differing.items()):
            for above in sorted(_nearest(term, lacking, one.above, differing)):
                yield Change(kind, term, f"{verb} {above}")


def _nearest(term: str, missing: frozenset[str], above: Terms, differing: Mapping[str, frozenset[str]]) -> set[str]:
    """Return those of the terms above one that no other one of these, and no term above it, already stands for."""
    by_higher = {each for higher in above.get(term, ()) if higher in differing for each in differing[higher]}
    behind = {far for near in missing for far in above.get(near, ()) if near not in above.get(far, ())}
    return set(missing) - behind - by_higher


def _of_types(old: OntologyVersion, new: OntologyVersion, both: frozenset[str]) -> Iterator[Change]:
    """Yield the classes that individuals are of in one version, and do not follow in the other."""
    for kind, one, other, verb in (("lost", old, new, "is no longer of"), ("gained", new, old, "is of")):
        for term in sorted(both & one.axioms.types.keys()):
            stated = other.axioms.types.get(term, frozenset())
            for wanted in sorted(one.axioms.types[term] - stated):
                if wanted in other.mentioned and not any(other.is_below(each, wanted) for each in stated):
                    yield Change(kind, term, f"{verb} {wanted}")


def _of_version(old: OntologyVersion, new: OntologyVersion) -> Iterator[Change]:
    if old.versions and old.versions == new.versions:
        version = min(new.versions)
        yield Change("version", version, "is the version of both, and they differ")
    elif old.versions and not new.versions:
        yield Change("version", min(old.versions), "was the version, and the new one has none")
    elif new.versions and old.versions and _numbers(max(new.versions)) < _numbers(max(old.versions)):
        yield Change("version", max(new.versions), f"is lower than {max(old.versions)}")


def _numbers(version: str) -> list[int]:
    """Return the numbers in a version.

    >>> _numbers("https://example.org/o/1.12.0") > _numbers("https://example.org/o/1.9.3")
    True
    """
    return [int(digits) for digits in re.findall(r"\d+", version)]


def _literal(text: str) -> str:
    """Return text that Markdown renders literally."""
    return _MARKS.sub(r"\\\1", " ".join(text.split()))
