"""Validate a union of named graphs against any SHACL: what the engine does not cover goes to pyshacl, and is named.

The engine runs on the store. pyshacl runs on a copy of the graphs in memory, which takes minutes
for a million triples; custom components, SHACL Advanced Features, and SPARQL constraints that need
one run per focus node are decided here. What neither can decide is named with the reason.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox

from kgrag import shacl
from kgrag.errors import InvalidRDF
from kgrag.late_patterns import late_re
from kgrag.model import Term, Violation, ViolationTerms, plain
from kgrag.ports import TripleStore
from kgrag.shacl.refusals import unknown_elsewhere
from kgrag.shacl.shapes_graph import SH as _SH
from kgrag.shacl.shapes_graph import ShapesGraph, path_text
from kgrag.store.rdflib_copies import rdflib_copy

if TYPE_CHECKING:
    import rdflib

__all__ = ["Validation", "by_pyshacl", "each_violation", "refuse_network", "validate", "validate_shapes"]

_SPARQL = frozenset(_SH + name for name in ("ask", "construct", "select", "update"))
_FETCHES = late_re(r"\b(FROM|LOAD|SERVICE)\b", flags=re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Validation:
    """Violations, and the shapes that pyshacl decided (shape -> why the engine could not).

    ``undecided`` are those of which neither came to a verdict on all that they ask for (shape -> why).
    """

    violations: tuple[Violation, ...]
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    undecided: Mapping[str, str] = field(default_factory=dict)


def validate(
    store: TripleStore, files: Iterable[Path], *, graphs: Sequence[ox.NamedNode], written: shacl.Written | None = None
) -> Validation:
    """Validate the union of some named graphs against the shapes of some files.

    Args:
        store: where the graphs are.
        files: SHACL in any RDF format, advanced features as well.
        graphs: their union is the data graph; [] has no violation.
        written: the literals that the store changed, as they were written; None = not known.

    Raises:
        InvalidRDF: a file does not parse.
    """
    return validate_shapes(store, shacl.load_shapes(files, elsewhere=True), graphs=graphs, written=written)


def validate_shapes(
    store: TripleStore, shapes: shacl.Shapes, *, graphs: Sequence[ox.NamedNode], written: shacl.Written | None = None
) -> Validation:
    """Validate the union of some named graphs against compiled shapes; arguments as of ``validate``."""
    undecided: dict[str, str] = {}
    violations = tuple(each_violation(store, shapes, undecided, graphs=graphs, written=written))
    return Validation(violations, dict(shapes.elsewhere), undecided)


def each_violation(
    store: TripleStore,
    shapes: shacl.Shapes,
    undecided: dict[str, str],
    *,
    graphs: Sequence[ox.NamedNode],
    written: shacl.Written | None = None,
) -> Iterator[Violation]:
    """Yield what ``validate_shapes`` finds as it is found; ``undecided`` takes the shapes without a verdict."""
    undecided |= shapes.undecided
    yield from shacl.violations_of_each(store, graphs=graphs, merged=True, written=written, undecided=undecided)(shapes)
    if shapes.elsewhere and graphs:
        further, failed = by_pyshacl(store, shapes, graphs, written=written)
        yield from further
        undecided |= failed
        if written is not None and not written.whole:
            undecided |= unknown_elsewhere(shapes)


def by_pyshacl(
    store: TripleStore, shapes: shacl.Shapes, graphs: Sequence[ox.NamedNode], *, written: shacl.Written | None = None
) -> tuple[list[Violation], dict[str, str]]:
    """Run pyshacl on a copy of the union of graphs, with the shapes that the engine does not cover.

    Literals are compared as they were written, where all of that is known; else numbers and dates in one common form.
    Where it fails on all shapes together, each is run alone.

    Returns:
        Violations, and the shapes on which pyshacl fails or that would use the network (shape -> reason).
    """
    triples = (triple for graph in graphs for triple in store.triples(graph))
    exact = written is not None and written.whole
    undecided: dict[str, str] = {}
    try:
        refuse_network(shapes.rest)
        data = rdflib_copy(written.restored(triples) if written else triples, exact=exact)
    except InvalidRDF as error:
        return [], dict.fromkeys(shapes.elsewhere, str(error))
    try:
        return _run(data, shapes.rest, shapes.prefixes, exact=exact), undecided
    except InvalidRDF as error:
        if len(shapes.elsewhere) == 1:
            return [], dict.fromkeys(shapes.elsewhere, f"pyshacl, to which it was left, failed: {error}")
    violations: list[Violation] = []
    for name in sorted(shapes.elsewhere):
        try:
            violations += _run(data, shapes.rest_of(name), shapes.prefixes, exact=exact)
        except InvalidRDF as error:
            undecided[name] = f"pyshacl, to which it was left, failed: {error}"
    return violations, undecided


def _run(
    data: rdflib.Graph, shapes: Iterable[ox.Triple], prefixes: Mapping[str, str], *, exact: bool
) -> list[Violation]:
    """Return the violations that pyshacl finds; SPARQL of shapes may use the prefixes of their files undeclared.

    Raises:
        InvalidRDF: it fails.
    """
    import pyshacl
    from pyshacl.errors import ShapeRecursionWarning
    from rdflib.namespace import SH

    rest = rdflib_copy(shapes, exact=exact)
    for prefix, namespace in prefixes.items():
        data.bind(prefix, namespace)  # it is with those of the data that rdflib reads a query
    try:
        with warnings.catch_warnings():
            # where it does not follow a recursion any further, it takes the node for one that conforms
            warnings.simplefilter("error", ShapeRecursionWarning)
            _, report, _ = pyshacl.validate(data, shacl_graph=rest, advanced=True, inplace=True)
    except ShapeRecursionWarning as error:
        raise InvalidRDF("a shape leads back to itself, and pyshacl does not follow it to the end") from error
    except Exception as error:  # pyshacl and rdflib raise many kinds
        raise InvalidRDF(f"{error}" or type(error).__name__) from error
    if not hasattr(report, "subjects"):
        raise InvalidRDF(f"{report}")
    paths = ShapesGraph(ox.parse(report.serialize(format="nt"), format=ox.RdfFormat.N_TRIPLES))
    violations = [
        replace(_violation(report, result, paths), shape=_named(rest, report.value(result, SH.sourceShape)))
        for result in report.objects(None, SH.result)
    ]
    return sorted(violations, key=lambda violation: (violation.shape, violation.focus, violation.path, violation.value))


def refuse_network(triples: Iterable[ox.Triple]) -> None:
    """Refuse SPARQL in shapes that fetches: rdflib would, for SERVICE, LOAD and even FROM.

    Raises:
        InvalidRDF: there is such SPARQL.
    """
    for triple in triples:
        match = _FETCHES.search(_without_strings(plain(triple.object))) if triple.predicate.value in _SPARQL else None
        if match:
            name = triple.predicate.value.replace(_SH, "sh:")
            raise InvalidRDF(f"shapes: {name} has {match[0]}, which may ask another server. Audits work offline.")


def _without_strings(text: str) -> str:
    r"""Return SPARQL without its strings, which have no keywords; all of it with ``\u``, which rdflib reads first."""
    from kgrag.sparql.tokens import tokens

    if "\\u" in text.lower():
        return text
    kept, at = [], 0
    for token in tokens(text):
        if token.kind == "string":
            kept.append(text[at : token.start])
            at = token.end
    return " ".join([*kept, text[at:]])


def _named(shapes: rdflib.Graph, node: Any) -> str:
    """Return the name of a shape, or of the named shape that it is part of."""
    import rdflib

    seen = set()
    while isinstance(node, rdflib.BNode) and node not in seen:
        seen.add(node)
        node = next((owner for owner in shapes.subjects(None, node)), node)
    return str(node)


def _violation(report: rdflib.Graph, result: Any, paths: ShapesGraph) -> Violation:
    import rdflib
    from rdflib.namespace import SH

    def local(name: Any) -> str:
        return str(report.value(result, name) or "").removeprefix(_SH)

    component = local(SH.sourceConstraintComponent).removesuffix("ConstraintComponent")
    path, value = report.value(result, SH.resultPath), report.value(result, SH.value)
    node = ox.NamedNode(str(path)) if isinstance(path, rdflib.URIRef) else ox.BlankNode(str(path))
    messages = sorted(str(message) for message in report.objects(result, SH.resultMessage))
    return Violation(
        graph="",
        focus=str(report.value(result, SH.focusNode)),
        message=(messages or ["departs from the shape"])[0][:500],
        path="" if path is None else path_text(paths.read_path(node)),
        value="" if value is None else str(value),
        severity=local(SH.resultSeverity),
        component="sparql" if component == "SPARQL" else component[:1].lower() + component[1:],
        terms=_terms(
            paths, ox.BlankNode(str(result)) if isinstance(result, rdflib.BNode) else ox.NamedNode(str(result))
        ),
    )


def _terms(report: ShapesGraph, result: Term) -> ViolationTerms:
    """Return a result of a report as its terms."""
    names = "focusNode resultPath resultSeverity sourceConstraint sourceConstraintComponent sourceShape value"
    terms: dict[str, Any] = {name: next(iter(report.objects(result, _SH + name)), None) for name in names.split()}
    return ViolationTerms(
        focus=terms["focusNode"],
        shape=terms["sourceShape"],
        component=terms["sourceConstraintComponent"],
        severity=terms["resultSeverity"],
        messages=tuple(t for t in report.objects(result, _SH + "resultMessage") if isinstance(t, ox.Literal)),
        value=terms["value"],
        path=terms["resultPath"],
        described=tuple(report.description([terms["sourceShape"], terms["resultPath"]])),
        constraint=terms["sourceConstraint"],
        details=tuple(_terms(report, detail) for detail in report.objects(result, _SH + "detail")),
    )
