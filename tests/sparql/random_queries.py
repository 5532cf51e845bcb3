"""Random SELECT queries with everything that multiplies solutions, over random graphs that state the same triples."""

from __future__ import annotations

import random

import pyoxigraph as ox

__all__ = ["RandomQuery", "graphs_and_merge"]

PROLOGUE = "PREFIX : <urn:> "
_GRAPHS = ("A", "B", "C")
_PATHS = (
    ("{a}/{b}", "^{a}", "{a}/^{b}", "^({a}/{b})", "{a}/(^({b}/{c}))"),  # made of triples
    ("{a}+", "{a}*/{b}", "{a}?", "({a}|{b})/{c}"),  # with steps of which each pair of nodes is found once
)
_INTEGER = ox.NamedNode("http://www.w3.org/2001/XMLSchema#integer")


def graphs_and_merge(rng: random.Random) -> tuple[ox.Store, ox.Store]:
    """Return a store of named graphs, and one that has their merge in its default graph besides."""
    stores = ox.Store(), ox.Store()
    for _ in range(rng.randrange(4, 11)):
        subject, predicate = (ox.NamedNode(f"urn:{rng.choice(names)}") for names in ("abcd", "pqr"))
        number = ox.Literal(str(rng.randrange(3)), datatype=_INTEGER)
        value = ox.NamedNode(f"urn:{rng.choice('abcd')}") if rng.random() < 0.75 else number
        for graph in rng.sample(_GRAPHS, rng.choice([1, 1, 2, 3])):
            for store in stores:
                store.add(ox.Quad(subject, predicate, value, ox.NamedNode(f"urn:{graph}")))
        stores[1].add(ox.Quad(subject, predicate, value))
    return stores


class RandomQuery:
    """Writes a query; ``sets``: with paths that find a pair of nodes once, and what only SPARQL 1.1 as a whole has."""

    def __init__(self, rng: random.Random, *, whole: bool = True) -> None:
        self._rng = rng
        self._whole = whole
        self._count = 0
        self._graphs = 0

    def _chance(self, share: float) -> bool:
        return self._rng.random() < share

    def _variable(self) -> str:
        return f"?{self._rng.choice('xyzw')}"

    def _node(self, depth: int = 9) -> str:
        if self._chance(0.62):
            return self._variable()
        if self._chance(0.5):
            return f":{self._rng.choice('abcd')}"
        if depth > 1:
            return self._rng.choice(["[]", self._variable()])
        inner = f"( {self._node()} {self._node()} )" if self._chance(0.2) else f"[ {self._properties(depth + 1)} ]"
        return self._rng.choice([inner, "1", self._variable()])

    def _verb(self) -> str:
        if self._chance(0.6):
            return self._rng.choice([*(f":{name}" for name in "pqr"), self._variable()])
        paths = (*_PATHS[0], *_PATHS[1]) if self._whole and not self._graphs else _PATHS[0]
        a, b, c = (f":{self._rng.choice('pqr')}" for _ in range(3))
        return self._rng.choice(paths).format(a=a, b=b, c=c)

    def _properties(self, depth: int = 0) -> str:
        objects = (", ".join(self._node(depth) for _ in range(self._rng.choice([1, 1, 2]))) for _ in range(2))
        return " ; ".join(f"{self._verb()} {each}" for each in list(objects)[: self._rng.choice([1, 1, 2])])

    def _group(self, depth: int) -> str:
        parts = [self._element(depth) for _ in range(self._rng.choice([1, 1, 2, 3]) if depth < 2 else 1)]
        if self._whole and self._chance(0.08):
            self._count += 1
            parts.append(f"BIND(STR({self._variable()}) AS ?b{self._count})")
        return " ".join(parts)

    def _element(self, depth: int) -> str:
        kinds = ["triples"] * 5 + ["optional", "union", "union", "values"]
        kinds += ["minus", "exists", "graph", "select", "select", "group"] if self._whole else []
        kind = self._rng.choice(kinds) if depth < 3 else "triples"
        if kind == "triples" or (kind == "select" and self._graphs):
            return f"{self._node()} {self._properties()} ."
        if kind == "optional":
            return f"OPTIONAL {{ {self._group(depth + 1)} }}"
        if kind == "union":
            return f"{{ {self._group(depth + 1)} }} UNION {{ {self._group(depth + 1)} }}"
        if kind == "minus":
            return f"MINUS {{ {self._group(depth + 1)} }}"
        if kind == "exists":
            return f"FILTER NOT EXISTS {{ {self._group(depth + 1)} }}"
        if kind == "graph":
            self._graphs += 1
            inner = self._group(depth + 1)
            self._graphs -= 1
            return f"GRAPH {self._rng.choice(['?g', ':A', '?x'])} {{ {inner} }}"
        return self._values() if kind == "values" else f"{{ {self._inner(kind, depth + 1)} }}"

    def _inner(self, kind: str, depth: int) -> str:
        return self.select(depth) if kind == "select" else self._group(depth)

    def _values(self) -> str:
        terms = [":a", ":b", "1", ":c", "'t'@en", "UNDEF"] if self._whole else [":a", ":b", "1", ":c"]
        if self._chance(0.5):
            return f"VALUES {self._variable()} {{ {' '.join(self._rng.choices(terms, k=2))} }}"
        first, second = self._rng.sample("xyzw", 2)
        rows = (f"({' '.join(self._rng.choices(terms, k=2))})" for _ in range(self._rng.randrange(1, 4)))
        return f"VALUES (?{first} ?{second}) {{ {' '.join(rows)} }}"

    def select(self, depth: int = 0) -> str:
        """Return a SELECT; at depth 0 a whole query without its prologue."""
        where = f"{{ {self._group(depth)} }}"
        columns = " ".join(sorted({self._variable(), self._variable()}))
        kinds = ["rows", "rows", "rows", "counts", "counts", "all"] + ["distinct", "first"] * self._whole
        kind = self._rng.choice(kinds)
        tail = f" {self._values()}" if self._whole and self._chance(0.06) else ""
        if kind == "counts":
            return f"{self._counting(where)}{tail}"
        if kind == "first":
            return f"SELECT ?x ?y ?z ?w {where} ORDER BY ?x ?y ?z ?w LIMIT {self._rng.randrange(1, 4)}"
        if kind == "all":
            return f"SELECT * {where}{tail}"
        return f"SELECT {'DISTINCT ' if kind == 'distinct' else ''}{columns} {where}{tail}"

    def _counting(self, where: str) -> str:
        self._count += 1
        aggregates = ["COUNT(*)", "COUNT(?x)", "COUNT(DISTINCT ?x)"]
        aggregates += ["SUM(?x)", "MIN(?y)", "AVG(?w)"] if self._whole else []
        keys = sorted({self._variable() for _ in range(self._rng.choice([0, 1, 2]))})
        shown = keys[:1] if self._chance(0.3) else keys
        also = self._rng.choice(["", "", " STR(?z)", " (STR(?z))", " (STR(?z) AS ?k)"]) if self._whole else ""
        grouped = f" GROUP BY {' '.join(keys)}{also}" if keys else ""
        return f"SELECT {' '.join(shown)} ({self._rng.choice(aggregates)} AS ?n{self._count}) {where}{grouped}"
