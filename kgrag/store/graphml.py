"""GraphML: triples as nodes and edges, for tools that draw and measure graphs (Gephi, yEd, igraph, networkx).

A thing is a node, whose literals are its attributes; a triple between two things is an edge with the property, its
short name, and the named graph that states it. An attribute that has one number everywhere is numeric; several values
of one property are joined by ``; ``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO
from xml.sax.saxutils import escape, quoteattr

import pyoxigraph as ox

from kgrag.errors import StorageFailed
from kgrag.late_patterns import late_re
from kgrag.model import plain
from kgrag.vocab import RDF, RDFS, XSD, local_name

__all__ = ["write_graphml"]

_NO_XML = late_re("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_WHOLE = late_re(r"-?\d{1,18}")
_NUMBERS = (XSD.integer, XSD.decimal, XSD.double)
_HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
"""
_EDGE_KEYS = {"property": "string", "label": "string", "graph": "string"}
_JOINED = "; "


def write_graphml(graphs: Mapping[str, Iterable[ox.Triple]], target: Path) -> tuple[int, int]:
    """Write named graphs as one directed graph, and return the counts of its nodes and edges.

    All nodes are in memory at once. An attribute is called like its property, or by the whole IRI where two properties
    have the same last part.

    Args:
        graphs: triples by the IRI of the graph that states them.
        target: the file, which is replaced when all is written.

    Raises:
        StorageFailed: the file cannot be written.
    """
    nodes: dict[str, dict[str, list[ox.Literal]]] = {}
    types: dict[str, list[str]] = {}
    edges: list[tuple[str, str, str, str]] = []
    for graph, triples in graphs.items():
        for triple in triples:
            subject, predicate, value = str(triple.subject), triple.predicate.value, triple.object
            attributes = nodes.setdefault(subject, {})
            if isinstance(value, ox.Literal):
                attributes.setdefault(predicate, []).append(value)
            elif triple.predicate == RDF.type:
                types.setdefault(subject, []).append(local_name(plain(value)))
            else:
                nodes.setdefault(str(value), {})
                edges.append((subject, str(value), predicate, graph))
    part = target.with_name(f".partial-{target.name}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with part.open("w", encoding="utf-8") as output:
            _write(output, nodes, types, edges)
        part.replace(target)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise StorageFailed(f"{target} cannot be written: {error}. Choose another place.") from error
    return len(nodes), len(edges)


def _write(
    output: IO[str],
    nodes: Mapping[str, Mapping[str, list[ox.Literal]]],
    types: Mapping[str, list[str]],
    edges: Iterable[tuple[str, str, str, str]],
) -> None:
    kinds = _kinds(nodes)
    names = _names(kinds)
    output.write(_HEAD)
    for name, kind in {"iri": "string", "type": "string", "label": "string"}.items():
        output.write(_key(f"n.{name}", "node", name, kind))
    ids = {predicate: f"a{number}" for number, predicate in enumerate(kinds)}
    for predicate, kind in kinds.items():
        output.write(_key(ids[predicate], "node", names[predicate], kind))
    for name, kind in _EDGE_KEYS.items():
        output.write(_key(f"e.{name}", "edge", name, kind))
    output.write('<graph edgedefault="directed">\n')
    numbers = {node: number for number, node in enumerate(nodes)}
    for node, attributes in nodes.items():
        label = attributes.get(RDFS.label.value, [])
        iri = node.removeprefix("<").removesuffix(">")
        shown = {"n.iri": iri, "n.type": _JOINED.join(types.get(node, ()))}
        shown["n.label"] = label[0].value if label else local_name(iri)
        shown |= {ids[predicate]: _JOINED.join(each.value for each in found) for predicate, found in attributes.items()}
        output.write(f'<node id="n{numbers[node]}">{_data(shown)}</node>\n')
    for source, to, predicate, graph in edges:
        shown = {"e.property": predicate, "e.label": local_name(predicate), "e.graph": graph}
        output.write(f'<edge source="n{numbers[source]}" target="n{numbers[to]}">{_data(shown)}</edge>\n')
    output.write("</graph>\n</graphml>\n")


def _kinds(nodes: Mapping[str, Mapping[str, list[ox.Literal]]]) -> dict[str, str]:
    """Return the type of each attribute: a number where each node has one number of it at most."""
    found: dict[str, str] = {}
    for attributes in nodes.values():
        for predicate, values in attributes.items():
            kind = "string"
            if len(values) == 1 and values[0].datatype in _NUMBERS and values[0].value not in ("NaN", "INF", "-INF"):
                kind = "long" if _WHOLE.fullmatch(values[0].value) else "double"
            known = found.setdefault(predicate, kind)
            if known != kind:
                found[predicate] = "string" if "string" in (known, kind) else "double"
    return found


def _names(predicates: Iterable[str]) -> dict[str, str]:
    taken = {"iri", "type", "label"}
    names: dict[str, str] = {}
    for predicate in predicates:
        short = local_name(predicate)
        names[predicate] = predicate if short in taken else short
        taken.add(names[predicate])
    return names


def _key(identifier: str, of: str, name: str, kind: str) -> str:
    return f'<key id="{identifier}" for="{of}" attr.name={quoteattr(name)} attr.type="{kind}"/>\n'


def _data(values: Mapping[str, str]) -> str:
    written = ((key, _NO_XML.sub("\ufffd", value)) for key, value in values.items() if value)
    return "".join(f'<data key="{key}">{escape(value)}</data>' for key, value in written)
