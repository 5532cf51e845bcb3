"""The shapes of kgrag's own named graphs, and the validator that ``publish`` calls with them.

Files read: ``shapes/graphs/*.ttl``, of plug-ins too.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from kgrag.errors import KgragError
from kgrag.model import GraphDraft, Violation
from kgrag.ports import TripleStore, Validator
from kgrag.resources import find
from kgrag.shacl.certain_conformance import uncertain
from kgrag.shacl.compiled_shapes import Shapes
from kgrag.shacl.engine_run import validate
from kgrag.shacl.shapes_reader import load_shapes
from kgrag.store import graph_kinds

__all__ = ["graph_shapes", "graph_validator", "graph_violations"]

_LOG = logging.getLogger(__name__)

_MAX_TRIPLES_LOOKED_AT = 5_000
"""Of 27 triples a look takes 4 ms where queries take 50; of 2,700 it is 43 and 66, and of 27,000 queries are faster."""


@cache
def graph_shapes() -> Shapes:
    """Return the shapes of named graphs: those of each declared kind of graph, and what the catalogue may list.

    Shapes of a plug-in that do not parse are logged and left out; its graphs then only have to be in the catalogue.
    """
    declared = graph_kinds.kinds().values()
    listed = graph_kinds.catalogue_shapes(declared)
    names = sorted({kind.shape for kind in declared if kind.shape})
    own = [find("shapes", f"graphs/{name}", (".ttl",)) for name in names if ":" not in name]
    return load_shapes([*own, *filter(None, map(_of_plugin, (name for name in names if ":" in name)))], also=listed)


def _of_plugin(name: str) -> Path | None:
    prefix, _, local = name.partition(":")
    try:
        path = find("shapes", f"{prefix}:graphs/{local}", (".ttl",))
        load_shapes([path])
    except KgragError as error:
        _LOG.warning("The shapes %s of a plug-in are left out: %s", name, error)
        return None
    return path


def graph_validator() -> Validator:
    """Return the validator that ``publish`` calls: a scratch store must conform to the shapes of kgrag's own graphs.

    A fault in the catalogue's entry of a draft has the catalogue as graph and the draft as focus node.
    """

    def check(scratch: TripleStore, drafts: Sequence[GraphDraft]) -> list[Violation]:
        return _violations(scratch, sum(len(draft.triples) for draft in drafts))

    return check


def graph_violations(store: TripleStore) -> list[Violation]:
    """Return what in a store violates the shapes of kgrag's own graphs, in the order of ``validate``."""
    return _violations(store, len(store))


def _violations(store: TripleStore, triples: int) -> list[Violation]:
    """Ask a small store only for those constraints that a look at its triples leaves open."""
    shapes = graph_shapes()
    if triples <= _MAX_TRIPLES_LOOKED_AT:
        shapes = replace(shapes, constraints=tuple(uncertain(shapes.constraints, store)))
    return validate(store, shapes)
