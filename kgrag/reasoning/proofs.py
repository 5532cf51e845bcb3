"""Proofs of what follows by rules: a smallest set of stated axioms, and each step with its rule and its premises.

The rules are the stored updates that ``kgrag.reasoning.inference`` runs, one at a time, on the stated triples that the
conclusion cannot do without. What a rule added is a step; its premises are a smallest set of statements, stated or
concluded before, from which this rule alone adds it again. So a proof has no rules of its own that could be others
than those by which the triple was inferred.

A list belongs to the triple that leads to it, and is left out with it or not at all: an ``owl:intersectionOf`` with the
rest of its list left out would say something else, and from that more would follow, not less.

Queries: ``inference/*``.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

import pyoxigraph as ox

from kgrag.model import Term
from kgrag.ports import Workbench
from kgrag.reasoning import inference
from kgrag.reasoning.inference import Contradiction, Rule
from kgrag.reasoning.justification import smallest
from kgrag.reasoning.nearness import by_nearness
from kgrag.vocab import RDF

__all__ = ["Proof", "Statement", "Step", "prove", "rerun", "statements_of"]

Statement = tuple[ox.Triple, ...]
"""A triple, with the cells of the list that it leads to, if it leads to one."""

_REST = ox.NamedNode(RDF.prefix + "rest")


@dataclass(frozen=True, slots=True)
class Step:
    """One application of a rule: its number in the specification, its premises, and what it concludes."""

    rule: str
    premises: tuple[Statement, ...]
    conclusion: ox.Triple | Contradiction


@dataclass(frozen=True, slots=True)
class Proof:
    """Why a triple, or a contradiction, follows.

    ``stated`` is what it rests on, in the order of its use; left without any one of these, it does not follow any
    more. ``steps`` come after those whose conclusions they use, the last is of the ``conclusion``; () for a triple that
    is stated itself. ``sources`` names, for the triple of a stated statement, the graphs or files that state it.
    """

    conclusion: ox.Triple | Contradiction
    stated: tuple[Statement, ...]
    steps: tuple[Step, ...] = ()
    profile: str = ""
    sources: Mapping[ox.Triple, tuple[str, ...]] = field(default_factory=dict)


def prove(
    bench: Workbench,
    triples: Sequence[ox.Triple],
    conclusion: ox.Triple | Contradiction,
    *,
    profile: str = "owl-rl",
    seconds: float | None = None,
) -> Proof | None:
    """Return a proof; None where the conclusion is not stated and does not follow.

    Args:
        bench: a scratch store; its former content is deleted.
        triples: the statements, ontologies and data together.
        conclusion: a triple, or a contradiction of ``materialise``.
        profile: the rules, "rdfs" or "owl-rl".
        seconds: the time that it may take, by the clock; None = no limit.

    Raises:
        InputError: there is no such profile.
        NotDecided: the time is up.
    """
    inference.refuse_unknown(profile)
    until = None if seconds is None else time.monotonic() + seconds
    if isinstance(conclusion, ox.Triple) and conclusion in set(triples):
        return Proof(conclusion, ((conclusion,),), profile=profile)
    near = statements_of(by_nearness(triples, _terms(conclusion)))

    def follows(part: Sequence[Statement]) -> bool:
        return inference.follows(bench, _flat(part), conclusion, profile=profile)

    stated = smallest(near, follows, until=until)
    if stated is None:
        return None
    steps = tuple(_Steps(bench, stated, profile, until).to(conclusion))
    in_use = dict.fromkeys(premise for step in steps for premise in step.premises if premise in stated)
    return Proof(conclusion, tuple(in_use), steps, profile)


def rerun(bench: Workbench, step: Step, *, profile: str) -> bool:
    """Return whether the rule of a step, run on its premises alone, concludes what the step concludes."""
    premises = _flat(step.premises)
    if isinstance(step.conclusion, Contradiction):
        return step.conclusion in inference.contradictions_in(bench, premises)
    named = [rule for rule in inference.rules(profile) if rule.name == step.rule]
    return any(step.conclusion in inference.apply(bench, premises, rule) for rule in named)


def statements_of(triples: Sequence[ox.Triple]) -> list[Statement]:
    """Return triples as statements, in their order: each that leads to a list with the cells of the list."""
    cells: dict[Term, list[ox.Triple]] = {}
    for triple in triples:
        if triple.predicate in (RDF.first, _REST):
            cells.setdefault(triple.subject, []).append(triple)
    grouped: set[ox.Triple] = set()
    statements: list[Statement] = []
    for triple in triples:
        if triple.predicate not in (RDF.first, _REST):
            whole = [triple, *_cells_from(triple.object, cells)]
            grouped.update(whole[1:])
            statements.append(tuple(whole))
    stray = ((triple,) for triple in triples if triple.predicate in (RDF.first, _REST) and triple not in grouped)
    return [*statements, *stray]


def _cells_from(head: Term, cells: Mapping[Term, Sequence[ox.Triple]]) -> Iterator[ox.Triple]:
    seen: set[Term] = set()
    waiting = [head]
    while waiting:
        if (node := waiting.pop()) in seen:
            continue
        seen.add(node)
        for triple in cells.get(node, ()):
            yield triple
            if triple.predicate == _REST:
                waiting.append(triple.object)


def _flat(statements: Iterable[Statement]) -> list[ox.Triple]:
    return list(dict.fromkeys(chain.from_iterable(statements)))


def _terms(conclusion: ox.Triple | Contradiction) -> list[Term]:
    if isinstance(conclusion, ox.Triple):
        return [conclusion.subject, conclusion.object, conclusion.predicate]
    texts = (conclusion.focus, conclusion.value, conclusion.other)
    return [ox.NamedNode(text) for text in texts if re.fullmatch(r"[A-Za-z][\w+.-]*:[^\s<>\"{}|\\^`]*", text)]


class _Steps:
    """The steps from stated statements, which are few, to what follows from them."""

    def __init__(self, bench: Workbench, stated: Sequence[Statement], profile: str, until: float | None) -> None:
        self._bench = bench
        self._until = until
        self._known: list[Statement] = list(stated)
        self._made: dict[ox.Triple, tuple[Rule, int]] = {}
        """Conclusion -> the rule, and how many statements were known when it was run."""
        given = {statement[0] for statement in stated}
        for rule, added in inference.applications(bench, _flat(stated), profile):
            before = len(self._known)
            for triple in added:
                if triple not in given and triple not in self._made:
                    self._made[triple] = (rule, before)
                    self._known.append((triple,))

    def to(self, conclusion: ox.Triple | Contradiction) -> Iterator[Step]:
        """Yield the steps that a conclusion needs, each after those that it needs itself."""
        seen: set[ox.Triple] = set()
        if isinstance(conclusion, ox.Triple):
            yield from self._in_order(conclusion, seen)
            return
        premises = self._premises(
            self._known, lambda part: conclusion in inference.contradictions_in(self._bench, part)
        )
        for premise in premises:
            yield from self._in_order(premise[0], seen)
        yield Step(conclusion.rule, premises, conclusion)

    def _in_order(self, goal: ox.Triple, seen: set[ox.Triple]) -> Iterator[Step]:
        waiting: list[tuple[ox.Triple, Step | None]] = [(goal, None)]
        while waiting:
            triple, ready = waiting.pop()
            if ready is not None:
                yield ready
            elif triple not in seen and triple in self._made:
                seen.add(triple)
                step = self._step(triple)
                waiting.append((triple, step))
                waiting += [(premise[0], None) for premise in reversed(step.premises)]

    def _step(self, goal: ox.Triple) -> Step:
        rule, before = self._made[goal]
        premises = self._premises(self._known[:before], lambda part: goal in inference.apply(self._bench, part, rule))
        return Step(rule.name, premises, goal)

    def _premises(
        self, known: Sequence[Statement], concludes: Callable[[list[ox.Triple]], bool]
    ) -> tuple[Statement, ...]:
        return tuple(smallest(known, lambda part: concludes(_flat(part)), until=self._until) or ())
