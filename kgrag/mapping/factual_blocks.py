"""Factual blocks flattened into the hypergraph of OG-RAG: sets of (key, value) pairs.

OG-RAG, section 4.1.1, Algorithm 1 and Definition 3. A factual block is a nested tree (an object with attributes, or a
list of objects); a hypernode is a pair of key and value as text; a hyperedge is a set of hypernodes. Pure functions;
``kgrag.methods.og_rag`` writes their result as named graphs.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from kgrag.errors import MappingError
from kgrag.vocab import local_name, words_of

__all__ = [
    "DEPTH_LIMIT",
    "Edge",
    "Pair",
    "Spread",
    "Statistics",
    "flatten",
    "key_of",
    "line",
    "statistics",
    "strict_subsets",
    "text_of",
    "type_of",
]

Pair = tuple[str, str]
Edge = frozenset[Pair]

DEPTH_LIMIT = 100
"""Deepest nesting that is read as a block of facts."""

_CONTAINERS = frozenset({"@list", "@set", "@graph", "@included"})


class _NestedValue(NamedTuple):
    """A value still to be flattened: the fact around it, the prefix of keys inside it, its own key, its depth."""

    value: Any
    around: Edge
    prefix: str
    key: str
    depth: int


def flatten(block: Any, *, as_published: bool = False, brief: bool = False) -> list[Edge]:
    """Return the hyperedges of a factual block, each once, outermost first.

    OG-RAG, Algorithm 1. The scalar attributes of an object are a fact of their own, and they are joined to every fact
    nested below; keys of a nested fact begin with ``"{type} {attribute} "`` of each object around it.

    Args:
        block: an object, or a list of objects, as parsed from JSON.
        as_published: do as the published code does (Table 6): an item of a list of scalars has the bare attribute
            as its key, containers such as ``@list`` are part of the key, null is the text "None", and facts that are
            empty or part of a larger one stay.
        brief: leave a type out of a key where the attribute before it ends with it ("crop has seed variety name").

    Returns:
        Sets of (key, value) pairs; without ``as_published`` none is empty or a strict subset of another.

    Raises:
        MappingError: nested deeper than ``DEPTH_LIMIT``, or neither an object nor a list.

    Deviations:
        Without ``as_published`` a null or blank value states nothing (JSON-LD, too, drops null), and
        ``{"@value": x}`` is read as x.

    >>> crop = {"@type": "c:Crop", "name": "Soybean", "grown_in": {"@type": "c:Zone", "name": "Northwest"}}
    >>> [sorted(edge) for edge in flatten(crop)]
    [[('Crop grown_in Zone name', 'Northwest'), ('Crop name', 'Soybean')]]
    >>> [len(edge) for edge in flatten(crop, as_published=True)]
    [1, 2]
    """
    if not isinstance(block, Mapping | list):
        raise MappingError(f"a factual block is a JSON object or a list of them, but this is {str(block)[:60]!r}.")
    edges = dict.fromkeys(_facts(block, as_published=as_published, brief=brief))
    if as_published:
        return list(edges)
    subsets = strict_subsets(edges)
    return [edge for edge in edges if edge and edge not in subsets]


def _facts(block: Any, *, as_published: bool, brief: bool) -> Iterator[Edge]:
    """Walk the tree with a stack of its own, so that ``DEPTH_LIMIT`` is the only limit."""
    stack = [_NestedValue(block, frozenset(), "", "", 0)]
    while stack:
        nested = stack.pop()
        if nested.depth > DEPTH_LIMIT:
            raise MappingError(f"a factual block is nested deeper than {DEPTH_LIMIT} levels. Split it.")
        value = nested.value if as_published else _unwrapped(nested.value)
        if isinstance(value, Mapping):
            own = nested.around | _own_pairs(nested.prefix, value, as_published, brief)
            yield own
            stack.extend(reversed(list(_values_in(value, nested, own, as_published, brief))))
        elif isinstance(value, list):
            stack.extend(nested._replace(value=item, depth=nested.depth + 1) for item in reversed(value))
        elif nested.key and (text := _text(value, as_published)):
            yield nested.around | {(nested.key, text)}


def _unwrapped(value: Any) -> Any:
    """Return the value of a JSON-LD value object."""
    return value["@value"] if isinstance(value, Mapping) and "@value" in value else value


def key_of(prefix: str, block: Mapping[str, Any], name: str, *, brief: bool) -> str:
    """Return the key of an attribute: behind the keys around it, ``brief`` where they say the object's type already.

    >>> key_of("crop has_seed_variety ", {"@type": "seed variety"}, "name", brief=True)
    'crop has_seed_variety name'
    """
    kind = type_of(block)
    if brief and kind and f" {words_of(prefix)}".endswith(f" {words_of(kind)}"):
        return f"{prefix}{name}"
    return f"{prefix}{kind} {name}"


def _own_pairs(prefix: str, block: Mapping[str, Any], as_published: bool, brief: bool) -> Edge:
    scalars = (
        (
            key_of(prefix, block, name, brief=brief),
            _text(value if as_published else _unwrapped(value), as_published),
        )
        for name, value in block.items()
        if not name.startswith("@") and not _is_nested(value, as_published)
    )
    return frozenset(pair for pair in scalars if pair[1] or as_published)


def _values_in(
    block: Mapping[str, Any], outer: _NestedValue, own: Edge, as_published: bool, brief: bool
) -> Iterator[_NestedValue]:
    """Yield the objects and lists in an object, each with the key that its scalars get."""
    for name, value in block.items():
        if not _is_nested(value, as_published):
            continue
        if name in _CONTAINERS and not as_published:
            yield _NestedValue(value, own, outer.prefix, outer.key, outer.depth + 1)
        elif as_published or not name.startswith("@"):
            key = key_of(outer.prefix, block, name, brief=brief)
            bare = f"{outer.prefix}{name}" if as_published else key
            yield _NestedValue(value, own, f"{key} ", bare, outer.depth + 1)


def _is_nested(value: Any, as_published: bool) -> bool:
    return isinstance(value, list) or (isinstance(value, Mapping) and (as_published or "@value" not in value))


def _text(value: Any, as_published: bool) -> str:
    return str(value) if as_published else text_of(value)


def text_of(value: Any) -> str:
    """Return a scalar as text; "" for one that states nothing (null, blank).

    >>> text_of(True), text_of(2.50), text_of(" "), text_of(None)
    ('true', '2.5', '', '')
    """
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value)
    return text if text.strip() else ""


def type_of(block: Mapping[str, Any]) -> str:
    """Return the local name of an object's type (the first of several), "" without one.

    >>> type_of({"@type": ["http://crop-cultivation.org/Crop", "owl:Thing"]}), type_of({})
    ('Crop', '')
    """
    kind = block.get("@type")
    first = kind[0] if isinstance(kind, list) and kind else kind
    return local_name(first) if isinstance(first, str) else ""


def line(edge: Iterable[Pair]) -> str:
    r"""Return a hyperedge as one line, ``key: value; key: value``, in an order that does not depend on the set.

    >>> line({("Crop  name", "Soy\nbean"), ("Crop  has_zone  name", "North")})
    'Crop name: Soy bean; Crop has_zone name: North'
    """
    pairs = sorted(edge, key=lambda pair: (len(pair[0].split()), pair))
    return "; ".join(f"{' '.join(key.split())}: {' '.join(value.split())}" for key, value in pairs)


def strict_subsets(edges: Collection[Edge]) -> set[Edge]:
    """Return the edges that are a strict subset of another edge.

    A superset of an edge contains the edge's rarest node, so only the edges of that node are compared: near-linear
    while every edge has a rare node.

    >>> a, ab, bc = (frozenset((name, "") for name in names) for names in ("a", "ab", "bc"))
    >>> strict_subsets([a, ab, bc]) == {a}
    True
    """
    holding: dict[Pair, list[Edge]] = defaultdict(list)
    for edge in sorted(set(edges), key=len, reverse=True):
        for node in edge:
            holding[node].append(edge)
    return {edge for edge in edges if _is_part(edge, edges, holding)}


def _is_part(edge: Edge, edges: Collection[Edge], holding: Mapping[Pair, list[Edge]]) -> bool:
    rarest = min((holding[node] for node in edge), key=len, default=edges)
    for other in rarest:
        if len(other) <= len(edge) and edge:
            return False  # larger edges come first, so no other is a superset
        if edge < other:
            return True
    return False


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean, smallest and largest of a count."""

    mean: float
    min: int
    max: int


@dataclass(frozen=True, slots=True)
class Statistics:
    """Sizes of a hypergraph, as in OG-RAG, Table 6."""

    hypernodes: int
    hyperedges: int
    nodes_per_hyperedge: Spread
    degree: Spread


def statistics(edges: Collection[Edge]) -> Statistics:
    """Count a hypergraph (Table 6): equal edges once, an empty edge as one of size 0.

    >>> statistics([frozenset({("a", "1"), ("b", "1")}), frozenset({("a", "1")})]).degree
    Spread(mean=1.5, min=1, max=2)
    """
    distinct = set(edges)
    degrees = Counter(node for edge in distinct for node in edge)
    return Statistics(len(degrees), len(distinct), _spread([len(edge) for edge in distinct]), _spread(degrees.values()))


def _spread(counts: Collection[int]) -> Spread:
    return Spread(sum(counts) / len(counts), min(counts), max(counts)) if counts else Spread(0.0, 0, 0)
