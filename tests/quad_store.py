"""A store of quads that takes whatever it is given: the least of a TripleStore that reading needs."""

from collections.abc import Iterable, Iterator, Sequence

import pyoxigraph as ox

from kgrag.model import Table
from kgrag.store.embedded_quads import EmbeddedQuads
from kgrag.vocab import Names


class QuadStore:
    """An in-memory store without validation, so that a test can hold what ``publish`` would refuse."""

    def __init__(self, quads: Iterable[ox.Quad] = ()) -> None:
        self.names = Names()
        self.store = ox.Store()
        self.store.extend(quads)

    def __len__(self) -> int:
        return len(self.store)

    def select(self, query: str) -> Table:
        found = self.store.query(query)
        assert isinstance(found, ox.QuerySolutions)
        names = tuple(variable.value for variable in found.variables)
        return Table(names, [tuple(row[name] for name in names) for row in found])

    def construct(self, query: str) -> list[ox.Triple]:
        found = self.store.query(query)
        assert isinstance(found, ox.QueryTriples)
        return list(found)

    def quads_of_kinds(self, kinds: Sequence[ox.NamedNode]) -> Iterator[ox.Quad]:
        return EmbeddedQuads(self.store).of_kinds(kinds, self.names.catalogue)

    def triples(self, graph: ox.NamedNode) -> Iterator[ox.Triple]:
        return (quad.triple for quad in self.store.quads_for_pattern(None, None, None, graph))
