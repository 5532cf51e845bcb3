"""Reasoning over files and graphs, in a scratch store; what follows is published as an inference graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from kgrag import queries
from kgrag.errors import InputError, NothingToCheck
from kgrag.knowledge_base import audit_runs
from kgrag.model import plain
from kgrag.ports import TripleStore
from kgrag.reasoning.inference import Inferences, inference_draft, inference_graph, stale_inferences
from kgrag.vocab import KG

__all__ = [
    "Materialised",
    "as_json",
    "drop",
    "infer",
    "infer_files",
    "materialised_json",
    "sources",
    "stale",
    "triples_of",
]


@dataclass(frozen=True, slots=True)
class Materialised:
    """What became of reasoning over graphs.

    ``graph`` keeps what follows, "" when nothing does; ``found`` is None when the graph was there already and none
    of its sources changed since.
    """

    graph: str
    found: Inferences | None
    sources: tuple[str, ...] = ()


def as_json(found: Inferences) -> dict[str, Any]:
    """Return how much follows, in how many rounds, and the contradictions, in JSON form."""
    contradictions = [asdict(each) for each in found.contradictions]
    return {"triples": len(found.triples), "rounds": found.rounds, "contradictions": contradictions}


def materialised_json(store: TripleStore, done: Materialised) -> dict[str, Any]:
    """Return what became of reasoning, and the inference graphs that are older than what they follow from."""
    left = [graph for graph in stale(store) if graph != done.graph]
    found = {"unchanged": True} if done.found is None else as_json(done.found)
    return {"graph": done.graph, "sources": list(done.sources), "stale": left, **found}


def infer(
    store: TripleStore,
    targets: Sequence[str],
    *,
    profile: str = "rdfs",
    rules: Sequence[Path] = (),
    seconds: float | None = None,
) -> Materialised:
    """Materialise what follows from graphs into a graph of its own; again only when a source changed.

    Args:
        store: where the graphs are, and where the new one goes.
        targets: IRIs of graphs; none = all ontologies and all data.
        profile: "rdfs" or "owl-rl".
        rules: files of SHACL shapes with rules, in place of a profile.
        seconds: the time that the rules may take, by the clock; None = no limit.

    Raises:
        InputError: there is no such graph, or nothing to reason over, or no such profile.
        InvalidRDF: a file of rules cannot be read.
        NotDecided: the time was over; nothing was written.
    """
    graphs = sources(store, targets)
    names = tuple(graph.value for graph in graphs)
    by = _Rules.of(profile, rules)
    graph = inference_graph(graphs, by.name, store.names)
    is_current = store.described(graph) and graph not in stale_inferences(store)
    if is_current and by.name != "owl-rl":
        return Materialised(graph.value, None, names)
    found = by.followed(triples_of(store, graphs), seconds)
    if is_current:  # contradictions are stored nowhere, so they have to be found again
        return Materialised(graph.value, found, names)
    if not found.triples:
        store.remove([graph] if store.described(graph) else [])
        return Materialised("", found, names)
    store.publish([inference_draft(found, graphs, profile=by.name, store=store)])
    store.flush()
    return Materialised(graph.value, found, names)


def infer_files(
    paths: Sequence[Path], *, profile: str = "rdfs", rules: Sequence[Path] = (), seconds: float | None = None
) -> Inferences:
    """Return what follows from the union of some RDF files; nothing is written. Arguments as of ``infer``.

    Raises:
        InvalidRDF: a file does not parse.
        NotDecided: the time was over.
    """
    triples = [triple for path in paths for triple in audit_runs.triples_of(path)]
    return _Rules.of(profile, rules).followed(triples, seconds)


@dataclass(frozen=True, slots=True)
class _Rules:
    """Rules by the name that what follows by them is kept under, and what carries them out."""

    name: str
    infer: Callable[[Sequence[ox.Triple]], Inferences]

    @classmethod
    def of(cls, profile: str, files: Sequence[Path]) -> _Rules:
        """Return the rules of a profile, or where files are named, of the shapes in these."""
        from kgrag.reasoning.rule_process import by_profile
        from kgrag.reasoning.shape_rules import infer_by_shapes, read_rules, rules_profile
        from kgrag.store.scratch import OxigraphScratch

        if files:
            rules = read_rules(files)
            return cls(rules_profile(rules), partial(infer_by_shapes, rules=rules))
        return cls(profile, partial(by_profile, profile=profile, open_bench=OxigraphScratch))

    def followed(self, triples: Sequence[ox.Triple], seconds: float | None) -> Inferences:
        """Return what follows from triples; in a process of its own where the time is limited."""
        if seconds is None:
            return self.infer(triples)
        from kgrag.reasoning.rule_process import infer_within

        return infer_within(seconds, triples, name=self.name, infer=self.infer)


def sources(
    store: TripleStore, targets: Sequence[str], *, missing: str = "there is no ontology and no data to reason over"
) -> list[ox.NamedNode]:
    """Return the graphs that are named, or else all ontologies and all data of a store.

    Args:
        store: where they are.
        targets: IRIs of graphs.
        missing: what the error says where there are none.

    Raises:
        InputError: there is no such graph.
        NothingToCheck: there is neither ontology nor data.
    """
    known = _graphs(store)
    kinds = (KG.OntologyGraph.value, KG.DataGraph.value)
    if unknown := [target for target in targets if target not in known]:
        raise InputError(f"there is no graph <{unknown[0]}>. queries/catalogue/graphs lists them.")
    chosen = list(targets) or sorted(graph for graph, kind in known.items() if kind in kinds)
    if not chosen:
        raise NothingToCheck(f"{missing}. Load some (kgrag load FILE), or name files.")
    return [ox.NamedNode(each) for each in chosen]


def triples_of(store: TripleStore, graphs: Sequence[ox.NamedNode]) -> list[ox.Triple]:
    """Return the triples of some graphs together."""
    return list(store.triples(*graphs))


def stale(store: TripleStore) -> list[str]:
    """Return the inference graphs that are older than what they follow from."""
    return [graph.value for graph in stale_inferences(store)]


def drop(store: TripleStore, targets: Sequence[str], *, profile: str | None = None, rules: Sequence[Path] = ()) -> int:
    """Drop inference graphs: all, or what follows from some graphs by a profile or by rules; returns how many.

    Raises:
        InputError: there is no such graph.
    """
    known = _graphs(store)
    kept = [graph for graph, kind in known.items() if kind == KG.InferenceGraph.value]
    if targets and (profile or rules):
        kept = [inference_graph(sources(store, targets), _Rules.of(profile or "", rules).name, store.names).value]
    going = [ox.NamedNode(graph) for graph in kept if graph in known]
    return store.remove(going) if going else 0


def _graphs(store: TripleStore) -> dict[str, str]:
    table = store.select(queries.bind("catalogue/graphs", catalogue=store.names.catalogue))
    return {plain(row[0]): plain(row[1]) for row in table}
