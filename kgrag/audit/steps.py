"""Checks that are decided neither by SHACL nor by a query: by a reasoner, by the loader, by the network.

A step is a callable that gives rows as a stored query would (``focus``, ``path``, ``value`` and whatever the message
names), or raises ``NotDecided``. ``aud:step`` names it. One that is not at hand, or was not asked for, is *not
decided*: it never reads as passed.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import cast

import pyoxigraph as ox

from kgrag import queries
from kgrag.audit.audit_context import Scope
from kgrag.errors import NotDecided
from kgrag.model import plain
from kgrag.ports import Embedder, TripleStore
from kgrag.vocab import AUDIT, OWL

__all__ = ["STEPS", "Step", "StepInput", "Unasked", "run_step"]

Row = Mapping[str, str]


class Unasked(NotDecided):
    """A step gave no verdict because nobody asked for it."""


@dataclass(frozen=True, slots=True)
class StepInput:
    """What a step may look at: the target with its context, the store where there is one, and what was asked for."""

    scope: Scope
    store: TripleStore | None
    reasoner: bool
    seconds: float
    embedder: Embedder | None = None


Step = Callable[[StepInput], Iterable[Row]]

_REASONER = "needs a reasoner; ask for it with --reasoner"
STEPS: dict[str, str] = {
    "concept-cycles": "kgrag.audit.concept_steps:cycles",
    "redundant-concepts": "kgrag.audit.concept_steps:redundant",
    "related-concepts": "kgrag.audit.concept_steps:related",
    "cycles": "kgrag.audit.hierarchy_steps:cycles",
    "redundant": "kgrag.audit.hierarchy_steps:redundant",
    "disjoint-superclasses": "kgrag.audit.hierarchy_steps:disjoint_superclasses",
    "only-without-some": "kgrag.audit.hierarchy_steps:only_without_some",
    "disjoint-types": "kgrag.audit.hierarchy_steps:disjoint_types",
    "ill-typed": "kgrag.audit.term_steps:ill_typed",
    "synonyms": "kgrag.audit.term_steps:synonyms",
    "platform-terms": "kgrag.audit.platform_steps:terms",
    "hyperedges": "kgrag.audit.platform_steps:hyperedges",
    "factual-blocks": "kgrag.audit.platform_steps:blocks",
    "layers": "kgrag.audit.platform_steps:layers",
    "chunks": "kgrag.audit.platform_steps:chunks",
    "activities": "kgrag.audit.platform_steps:activities",
    "platform-literals": "kgrag.audit.platform_steps:literals",
    "registry": "kgrag.audit.platform_steps:registry",
    "consistency": "kgrag.audit.reasoner_steps:consistency",
    "unsatisfiable": "kgrag.audit.reasoner_steps:unsatisfiable",
    "equivalent": "kgrag.audit.reasoner_steps:equivalent",
    "imports": "kgrag.audit.steps:imports",
    "web": "kgrag.audit.steps:web",
}
"""Step -> where its callable is."""


def run_step(name: str, given: StepInput) -> list[Row]:
    """Run a step.

    Raises:
        NotDecided: it is not at hand, was not asked for, or came to no verdict.
    """
    place = STEPS.get(name)
    if place is None:
        raise NotDecided(f"there is no step '{name}' in this version")
    module, _, function = place.partition(":")
    if module.endswith(".reasoner_steps") and not given.reasoner:
        raise Unasked(_REASONER)
    try:
        step = cast("Step", getattr(importlib.import_module(module), function))
    except (ImportError, AttributeError):
        raise NotDecided(f"the step '{name}' is not installed") from None
    return list(step(given))


def imports(given: StepInput) -> list[Row]:
    """Give the imports that are not at hand, neither in the target nor in the store; nothing is fetched."""
    asked = queries.bind("audit/imports", target=AUDIT.target)
    rows = [(focus, plain(value)) for focus, value in given.scope.bench.select(asked)]
    store = given.store
    told = "imports {}, which is not at hand. It was not fetched: checks see a part of the ontology only."
    return [
        {
            "focus": plain(focus),
            "path": OWL.imports.value,
            "value": value,
            "message": f"The ontology {told.format(value)}",
        }
        for focus, value in rows
        if store is None or not store.described(ox.NamedNode(value))
    ]


def web(given: StepInput) -> list[Row]:  # noqa: ARG001 - the form of a step
    """Look whether IRIs resolve: never done, since an audit works offline.

    Raises:
        Unasked: always.
    """
    raise Unasked("needs the network, and an audit works offline")
