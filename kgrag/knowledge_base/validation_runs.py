"""Validations of files and of graphs, in a scratch store, by shapes from files and from graphs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import pyoxigraph as ox

from kgrag import queries
from kgrag.errors import InputError, NothingToCheck
from kgrag.model import Term, plain
from kgrag.ports import TripleStore
from kgrag.shacl.shapes_graph import parse
from kgrag.store.checksums import checksum, read_account, read_doubt
from kgrag.store.lexical_forms import as_loaded
from kgrag.store.rdf_files import read_triples
from kgrag.vocab import OWL

if TYPE_CHECKING:
    from kgrag.audit import Audit, AuditFinding, ValidationOptions

__all__ = ["validate"]

_MANY_BYTES = 250_000_000
"""About two million triples as N-Triples, and more in other formats."""
_MAX_NODES_PLACED = 1_000
_GZIP_RATIO = 10
"""How many times shorter gzip makes RDF, about."""


def validate(  # noqa: PLR0913 - each says something else about data or shapes
    store: TripleStore | None,
    files: Sequence[Path],
    *,
    graphs: Sequence[str] = (),
    shapes: Sequence[str | Path] = (),
    options: ValidationOptions,
    graphs_only: bool = False,
    each: Callable[[AuditFinding], None] | None = None,
) -> Audit:
    """Validate the union of files and graphs against shapes; nothing is fetched, and nothing is written.

    Args:
        store: where graphs are; None = there are only files.
        files: RDF files.
        graphs: IRIs of graphs; without any, and without files, all data and ontologies of the store.
        shapes: files, or IRIs of graphs; none = those that the data name by sh:shapesGraph. What they import is read
            too, if it is a file of this machine, one that a catalogue of imports names, or a graph of the store.
        options: which shape, which focus nodes, by which rules what follows from the data is validated as well, and
            further catalogues of imports than those next to files of shapes.
        graphs_only: read shapes and imports from graphs only, as for somebody who may not name files of this machine.
        each: is called with every result as soon as it is found.

    Raises:
        InputError: there is no such graph, shape or rules, or an unreadable catalogue.
        NothingToCheck: there are no data, or no shapes.
        InvalidRDF: a file does not parse.
    """
    from kgrag.audit import Undecided
    from kgrag.audit.validating import LoadedData, validate_data
    from kgrag.knowledge_base import reasoning_runs
    from kgrag.store.scratch import OxigraphScratch

    if graphs and store is None:
        raise InputError(f"<{graphs[0]}> is a graph of a knowledge base, and none was named. Name it with --kb.")
    nodes = []
    if store is not None and (graphs or not files):
        nodes = reasoning_runs.sources(store, graphs, missing="nothing to check: there is no ontology and no data")
    if not files and not nodes:
        raise NothingToCheck("nothing to check: there are no data. Name files, or graphs of a knowledge base.")
    triples: Iterable[ox.Triple] = chain(_of_files(files), _of_graphs(store, nodes))
    if options.inference:
        stated = list(triples)
        triples = [*stated, *_inferred(stated, options.inference)]
    parsed = store is None or _as_kgrag_wrote(store, nodes)
    data = LoadedData.of(triples, OxigraphScratch(), parsed=parsed, many=_are_many(files))
    named = shapes or data.shapes
    if not named:
        raise NothingToCheck(
            "nothing to check: no shapes were named, and the data name none by sh:shapesGraph. Name them with --shapes."
        )
    prefixes: dict[str, str] = {}
    read, missing = _read(store, named, prefixes, catalogues=None if graphs_only else options.catalogues)
    name = " ".join([*(str(path) for path in files), *(node.value for node in nodes)])
    found = validate_data(data, read, name=name, options=options, prefixes=prefixes, each=each)
    # an import may be of no use to the shapes, but nobody knows that who has not read it
    reason = "is not at hand, and was not fetched. Name a file of it with --shapes, or in a catalogue (--catalog)"
    absent = [Undecided(iri, reason, asked=True) for iri in missing]
    not_decided = (*found.not_decided, *absent)
    counts = {**found.counts, "not_decided": len(not_decided)}
    places = {} if store is None else _stated_in(store, found.findings, nodes)
    return replace(found, not_decided=not_decided, counts=counts, files=tuple(map(str, files)), sources=places)


def _stated_in(store: TripleStore, findings: Sequence[AuditFinding], graphs: Sequence[ox.NamedNode]) -> dict[str, str]:
    """Return where the nodes of findings are stated: title of the document, else file, else graph."""
    nodes = [node for node in map(_iri, dict.fromkeys(finding.focus for finding in findings)) if node is not None]
    if not nodes or not graphs:
        return {}
    values = {"catalogue": store.names.catalogue, "nodes": nodes[:_MAX_NODES_PLACED], "graphs": list(graphs)}
    found: dict[str, str] = {}
    for node, graph, title, file in store.select(queries.bind("audit/stated_in", **values)).values():
        found.setdefault(node, title or file or graph)
    return found


def _are_many(files: Iterable[Path]) -> bool:
    """Return whether files are so large that they have millions of triples."""
    sizes = (path.stat().st_size * (_GZIP_RATIO if path.suffix == ".gz" else 1) for path in files if path.exists())
    return sum(sizes) > _MANY_BYTES


def _of_files(files: Iterable[Path]) -> Iterator[ox.Triple]:
    return chain.from_iterable(read_triples(path) for path in files)


def _of_graphs(store: TripleStore | None, nodes: Iterable[ox.NamedNode]) -> Iterator[ox.Triple]:
    return iter(()) if store is None else chain.from_iterable(as_loaded(store, node) for node in nodes)


def _as_kgrag_wrote(store: TripleStore, graphs: Sequence[ox.NamedNode]) -> bool:
    """Return whether graphs are as kgrag wrote them, so that it is on record how each literal was written.

    A SPARQL update keeps no such record; the checksum of a graph shows whether one changed it.
    """
    accounts: dict[str, list[str]] = {}
    asked = queries.bind("catalogue/accounts", catalogue=store.names.catalogue, graphs=list(graphs))
    for graph, account in store.select(asked).values():
        accounts.setdefault(graph, []).append(account)
    return all(_as_stated(store, graph, accounts.get(graph.value, ())) for graph in graphs)


def _as_stated(store: TripleStore, graph: ox.NamedNode, accounts: Sequence[str]) -> bool:
    doubted = [read_doubt(text) for text in accounts]
    known = [doubt or read_account(text)[1] for text, doubt in zip(accounts, doubted, strict=True)]
    if not known or not all(known):
        return False
    if not any(doubted):
        return True
    total = f"{sum(int(value, 16) for value in known):x}"
    return checksum(store.triples(graph)) == checksum((), before=total)


def _inferred(data: Sequence[ox.Triple], profile: str) -> list[ox.Triple]:
    """Return what follows from data, with literals as the data have them: the store that reasons keeps their values."""
    from kgrag.reasoning.inference import materialise
    from kgrag.shacl import as_written
    from kgrag.store.scratch import OxigraphScratch

    forms: dict[tuple[Term, Term], set[ox.Literal]] = {}
    for (subject, _, kept), literals in as_written(data, OxigraphScratch()).literals.items():
        if subject is not None and kept is not None:
            forms.setdefault((subject, kept), set()).update(literals)
    followed = materialise(OxigraphScratch(), data, profile=profile, blank=True).triples
    return [
        ox.Triple(triple.subject, triple.predicate, form)
        for triple in followed
        for form in forms.get((triple.subject, triple.object), {triple.object})
    ]


def _read(
    store: TripleStore | None,
    named: Iterable[str | Path],
    prefixes: dict[str, str],
    *,
    catalogues: Sequence[Path] | None,
) -> tuple[list[ox.Triple], list[str]]:
    """Return the triples of shapes and of what they import, and the IRIs of those that are not at hand.

    ``prefixes`` takes those that files declare for themselves. With None for ``catalogues``, no file is read.
    """
    from kgrag.audit.import_catalogues import beside, catalogued

    at_hand = dict(catalogued(catalogues or ()))
    triples: list[ox.Triple] = []
    missing: list[str] = []
    waiting: list[str | Path] = list(named)
    seen: set[str] = set()
    while waiting:
        source = waiting.pop(0)
        path = None
        if catalogues is not None:
            path = source if isinstance(source, Path) else _local(source) or at_hand.get(source)
        key = str(source if path is None else path.resolve())
        if key in seen:
            continue
        seen.add(key)
        if path is not None:
            new = [quad.triple for quad in parse(path, prefixes)]
            at_hand = {**catalogued(beside([path])), **at_hand}
        elif store is not None and (graph := _iri(key)) is not None and store.described(graph):
            new = list(as_loaded(store, graph))
        else:
            missing.append(key)
            continue
        triples += new
        waiting += [plain(triple.object) for triple in new if triple.predicate == OWL.imports]
    described: set[Term] = {triple.subject for triple in triples}
    return triples, [iri for iri in missing if _iri(iri) not in described]


def _iri(text: str) -> ox.NamedNode | None:
    try:
        return ox.NamedNode(text)
    except ValueError:  # a name that is no IRI names no graph
        return None


def _local(source: str) -> Path | None:
    """Return the file of this machine that a name or a file IRI stands for; None for any other IRI."""
    parts = urlsplit(source)
    if parts.scheme == "file":
        return Path(unquote(parts.path))
    return Path(source) if ":" not in source or os.path.exists(source) else None  # noqa: PTH110 - of names of any length
