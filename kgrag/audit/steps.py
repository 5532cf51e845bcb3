"""The registry of steps: checks that neither SHACL nor a stored query decides, but a function in Python.

A step returns rows as a stored query would, or raises ``NotDecided``. ``aud:step`` names it in the catalogue. One that
is missing, or was not asked for, is *not decided*: it never counts as passed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from kgrag.audit import (
    concept_steps,
    hierarchy_steps,
    import_steps,
    platform_steps,
    reasoner_steps,
    shape_steps,
    term_steps,
)
from kgrag.audit.step_input import Row, StepInput, Unasked
from kgrag.errors import NotDecided

__all__ = ["STEPS", "Step", "run_step"]


@dataclass(frozen=True, slots=True)
class Step:
    """A function that decides a check; one that ``needs_reasoner`` runs only where the user asked for a reasoner."""

    find_rows: Callable[[StepInput], Iterable[Row]]
    needs_reasoner: bool = False


def web(given: StepInput) -> list[Row]:  # noqa: ARG001 - every step has this signature
    """Refuse to look up whether IRIs resolve, since an audit works offline.

    Raises:
        Unasked: always.
    """
    raise Unasked("needs the network, and an audit works offline")


STEPS: Mapping[str, Step] = {
    "concept-cycles": Step(concept_steps.cycles),
    "redundant-concepts": Step(concept_steps.redundant),
    "related-concepts": Step(concept_steps.related),
    "cycles": Step(hierarchy_steps.cycles),
    "redundant": Step(hierarchy_steps.redundant),
    "disjoint-superclasses": Step(hierarchy_steps.disjoint_superclasses),
    "only-without-some": Step(hierarchy_steps.only_without_some),
    "disjoint-types": Step(hierarchy_steps.disjoint_types),
    "ill-typed": Step(term_steps.ill_typed),
    "synonyms": Step(term_steps.synonyms),
    "platform-terms": Step(platform_steps.terms),
    "hyperedges": Step(platform_steps.hyperedges),
    "factual-blocks": Step(platform_steps.blocks),
    "layers": Step(platform_steps.layers),
    "chunks": Step(platform_steps.chunks),
    "activities": Step(platform_steps.activities),
    "platform-literals": Step(platform_steps.literals),
    "registry": Step(platform_steps.registry),
    "recomputation": Step(platform_steps.recomputation),
    "updates": Step(platform_steps.updates),
    "consistency": Step(reasoner_steps.consistency, needs_reasoner=True),
    "unsatisfiable": Step(reasoner_steps.unsatisfiable, needs_reasoner=True),
    "equivalent": Step(reasoner_steps.equivalent, needs_reasoner=True),
    "imports": Step(import_steps.imports),
    "external-classes": Step(import_steps.external_classes),
    "unreadable-shapes": Step(shape_steps.unreadable),
    "web": Step(web),
}
"""Name of a step, as ``aud:step`` has it -> the step."""


def run_step(name: str, given: StepInput) -> list[Row]:
    """Return the rows that a step finds.

    Raises:
        NotDecided: there is no such step, it was not asked for, or it reached no verdict.
    """
    step = STEPS.get(name)
    if step is None:
        raise NotDecided(f"there is no step '{name}' in this version")
    if step.needs_reasoner and not given.reasoner:
        raise Unasked("needs a reasoner; ask for it with --reasoner")
    return list(step.find_rows(given))
