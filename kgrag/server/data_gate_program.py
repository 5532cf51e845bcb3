"""What a write would do to data, judged by SHACL shapes in a reader process; the counterpart of ``gate_program``.

The data graph is the union of all data and all ontologies. It is judged on a copy of the store that is thrown away, and
in proportion to the change: see ``kgrag.shacl.changed_results``. Which triples come and go is read from the text of an
update that has only ``INSERT DATA`` and ``DELETE DATA``, and from an upload; after any other update, the graphs that it
may write to are compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from kgrag import queries, shacl
from kgrag.audit.validating import finding_of
from kgrag.errors import InvalidSettings
from kgrag.model import Term, Violation, plain
from kgrag.shacl.changed_results import ChangedResults, GraphState, changed_results
from kgrag.shacl.path_walks import Changes
from kgrag.shacl.pyshacl_validation import by_pyshacl
from kgrag.sparql.tokens import tokens
from kgrag.store.embedded_quads import EmbeddedQuads
from kgrag.store.engine import quads_of_pattern
from kgrag.store.oxigraph import OxigraphStore
from kgrag.vocab import KG, Names

__all__ = ["are_shapes", "gate_shapes", "judge", "refused_by"]

_SUFFIXES = frozenset({".jsonld", ".n3", ".nt", ".owl", ".rdf", ".ttl", ".xml"})
_JUDGED_KINDS = frozenset({KG.DataGraph.value, KG.OntologyGraph.value})
_MAX_FINDINGS = 20
"""More are counted, not listed."""
_SEARCHING_WORDS = frozenset({"ADD", "CLEAR", "COPY", "CREATE", "DROP", "LOAD", "MOVE", "WHERE"})
"""With one of these words, the text of an update does not show which triples come and go."""

_Header = Mapping[str, Any]
_Triples = set[ox.Triple]


def are_shapes(profile: str) -> bool:
    """Return whether what a gate was given is the path of a file of shapes, and no profile of the audit."""
    return Path(profile).suffix in _SUFFIXES


@cache
def gate_shapes(path: str) -> shacl.Shapes:
    """Return the shapes of a gate, compiled.

    Raises:
        InvalidRDF: the file does not parse.
        InvalidSettings: something in it cannot be decided, or it has no shape with a target: a write would then pass
            without having been judged.
    """
    shapes = shacl.load_shapes([Path(path)], elsewhere=True)
    if shapes.undecided:
        name, reason = min(shapes.undecided.items())
        raise InvalidSettings(
            f"{path}: shape <{name}> cannot be decided, so that it would let any write pass: {reason}"
        )
    if not (shapes.constraints or shapes.elsewhere):
        raise InvalidSettings(f"{path}: no shape has both a target and a constraint, so there is nothing to judge by.")
    return shapes


def judge(header: _Header, body: bytes, past: ox.Store) -> dict[str, object]:
    """Return what a write would bring: for each graph that gets new results, these.

    Args:
        header: as of ``gate_program.judge``, with the path of the shapes for ``profile``; ``copy`` for uploads too.
        body: the update, or N-Triples.
        past: the store as it is.

    Returns:
        ``refused``: as of ``gate_program.judge``; of the results of severity sh:Violation only.
    """
    present = ox.Store(header["copy"])
    if "add" not in header:
        present.update(body.decode(), base_iri=header["base"] or None, prefixes=header["prefixes"])
        return {"refused": refused_by({**header, "text": body.decode()}, past, present)}
    (graph,) = map(ox.NamedNode, header["graphs"])
    if not header["add"]:
        present.remove_graph(graph)
    sent = {quad.triple for quad in ox.parse(body, ox.RdfFormat.N_TRIPLES)}
    present.extend(_quad(triple, graph) for triple in sent)
    concerned = sent if header["add"] else sent.union(quad.triple for quad in _quads(past, graph))
    return {"refused": _refused(header, past, present, concerned)}


def refused_by(header: _Header, past: ox.Store, present: ox.Store) -> list[dict[str, object]]:
    """Return each graph that an update would bring new results, as ``judge`` does.

    Args:
        header: as of ``judge``, with the ``text`` of the update.
        past: the store as it was.
        present: a copy on which the update was run.
    """
    default = Names(header["names"]).default_data
    present.extend([_quad(quad.triple, default) for quad in _quads(present, ox.DefaultGraph())])
    concerned = _stated(header)
    if concerned is None:
        graphs = header["graphs"]
        if graphs is None:
            graphs = {graph.value for store in (past, present) for graph in store.named_graphs() if _named(graph)}
        concerned = set()
        for graph in {*map(ox.NamedNode, graphs), default}:
            concerned |= {quad.triple for quad in _differing(_quads(past, graph), _quads(present, graph))}
    return _refused(header, past, present, concerned)


def _named(graph: object) -> bool:
    return isinstance(graph, ox.NamedNode)


def _stated(header: _Header) -> _Triples | None:
    """Return the triples of an update that only states triples; None where its text does not show them all."""
    text: str = header["text"]
    found = list(tokens(text))
    words = [token.text.upper() if token.kind == "word" else "" for token in found]
    if _SEARCHING_WORDS.intersection(words):
        return None
    parts, last = [], 0
    for token, word, after in zip(found, words, [*words[1:], ""], strict=True):
        if (word, after) == ("DELETE", "DATA"):  # an empty store shows what is inserted
            parts += [text[last : token.start], "INSERT"]
            last = token.end
    empty = ox.Store()
    empty.update("".join([*parts, text[last:]]), base_iri=header["base"] or None, prefixes=header["prefixes"])
    triples = {quad.triple for quad in empty}
    # a blank node of the text is another one each time that it is read
    return None if any(isinstance(end, ox.BlankNode) for triple in triples for end in triple) else triples


def _differing(before: Iterable[ox.Quad], after: Iterable[ox.Quad]) -> set[ox.Quad]:
    """Return the quads that only one of two series has; both have what they share in the same order, or nearly so."""
    unmatched: set[ox.Quad] = set()
    for old, new in zip_longest(before, after):
        if old != new:
            unmatched ^= {quad for quad in (old, new) if quad is not None}
    return unmatched


def _refused(header: _Header, past: ox.Store, present: ox.Store, concerned: _Triples) -> list[dict[str, object]]:
    shapes = gate_shapes(header["profile"])
    data = _Data.of(header, past)
    states = data.state(past), data.state(present)
    before, after = ({triple for triple in concerned if _has(state, triple)} for state in states)
    changes = Changes.of(after - before, before - after)
    if not (changes.added or changes.removed):
        return []
    results = changed_results(*states, shapes, changes)
    new = [each for each in [*results.new, *_by_pyshacl(states, shapes)] if finding_of(each).severity == "Violation"]
    return data.verdicts(new, present)


def _by_pyshacl(states: Sequence[GraphState], shapes: shacl.Shapes) -> list[Violation]:
    """Return the new results of the shapes that the engine leaves to pyshacl, which looks at all data.

    Raises:
        ValueError: pyshacl fails.
    """
    if not shapes.elsewhere:
        return []
    found = [by_pyshacl(state.store, shapes, state.graphs) for state in states]
    if failed := found[1][1]:
        name, reason = min(failed.items())
        raise ValueError(f"shape <{name}> of the gate cannot be decided: {reason}")
    return ChangedResults(tuple(found[0][0]), tuple(found[1][0])).new


def _has(state: GraphState, triple: ox.Triple) -> bool:
    return next(iter(state.look(triple.subject, triple.predicate, triple.object)), None) is not None


def _quad(triple: ox.Triple, graph: ox.NamedNode) -> ox.Quad:
    return ox.Quad(triple.subject, triple.predicate, triple.object, graph)


def _quads(store: ox.Store, graph: ox.NamedNode | ox.DefaultGraph) -> Iterator[ox.Quad]:
    return store.quads_for_pattern(None, None, None, graph)


@dataclass(frozen=True, slots=True)
class _Data:
    """The graphs that are judged together; ``written`` are those of them that a write may change."""

    names: Names
    graphs: tuple[ox.NamedNode, ...]
    written: tuple[ox.NamedNode, ...]

    @classmethod
    def of(cls, header: _Header, past: ox.Store) -> _Data:
        """Return the data and ontologies of a store, with the graphs to be written that the catalogue does not know."""
        names = Names(header["names"])
        store = _store(past, names)
        rows = store.select(queries.bind("catalogue/graphs", catalogue=names.catalogue))
        kinds = {plain(graph): plain(kind) for graph, kind, *_ in rows}
        judged = {graph for graph, kind in kinds.items() if kind in _JUDGED_KINDS}
        written = set(judged if header["graphs"] is None else header["graphs"]) | {names.default_data.value}
        written = {graph for graph in written if graph in judged or graph not in kinds}
        each = [tuple(map(ox.NamedNode, sorted(graphs))) for graphs in (judged | written, written)]
        return cls(names, *each)

    def state(self, store: ox.Store) -> GraphState:
        """Return the union of the graphs in a store."""

        def look(subject: Term | None, name: ox.NamedNode, value: Term | None) -> Iterator[ox.Triple]:
            for graph in self.graphs:
                for quad in quads_of_pattern(store, subject, name, value, graph):  # type: ignore[arg-type]
                    yield quad.triple

        return GraphState(_store(store, self.names), self.graphs, look)

    def verdicts(self, new: Sequence[Violation], present: ox.Store) -> list[dict[str, object]]:
        """Return new results by the graph in which their focus node is a subject, else by the first written one."""
        by_graph: dict[str, list[Violation]] = {}
        for violation in new:
            focus = None if violation.terms is None else violation.terms.focus
            graphs = (graph for graph in self.written if _is_subject(present, focus, graph))
            by_graph.setdefault(next(graphs, self.written[0]).value, []).append(violation)
        return [
            {
                "graph": graph,
                "new": len(results),
                "checks": dict(sorted(Counter(result.shape for result in results).items())),
                "findings": [finding_of(result).to_json() for result in results[:_MAX_FINDINGS]],
            }
            for graph, results in sorted(by_graph.items())
        ]


def _is_subject(store: ox.Store, node: Term | None, graph: ox.NamedNode) -> bool:
    if not isinstance(node, ox.NamedNode | ox.BlankNode):
        return False
    return next(store.quads_for_pattern(node, None, None, graph), None) is not None


def _store(store: ox.Store, names: Names) -> OxigraphStore:
    return OxigraphStore(EmbeddedQuads(store, read_only=True), names, read_only=True)
