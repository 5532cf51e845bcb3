"""One ``update``: the update, the catalogue's account of it, and which graphs it changed.

A graph changed when its quads did, and then it names the publication. After an update that only adds or only removes,
its count decides. After one that does both, a graph up to ``MAX_COMPARED_TRIPLES`` is compared with its former triples;
a larger one, and one without a count, is taken for changed where the text writes to it. Where the text does not show
which graphs it writes to, or edits the catalogue, the publication is a kg:Rewrite: every graph may have changed.

Queries: ``catalogue/emptied``, ``catalogue/rewrite``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import cast

import pyoxigraph as ox

from kgrag import queries
from kgrag.model import plain
from kgrag.store import publication_plan
from kgrag.store.checksums import account
from kgrag.store.quad_store import QuadStore, of_graph
from kgrag.vocab import KG, VOID, Names

__all__ = ["MAX_COMPARED_TRIPLES", "Rewriting"]

MAX_COMPARED_TRIPLES = 50_000
"""Comparing so many takes half a second on disk."""
_QUADS_PER_LOOK = 1_000


class Rewriting:
    """One call of ``update``; call ``write``, one atomic step, and then ``settle``.

    After ``write`` every graph that changed is on record, and maybe some that did not; ``settle`` strikes these. A
    process that dies in between leaves more to be brought up to date, never less.
    """

    def __init__(
        self,
        store: QuadStore,
        names: Names,
        *,
        revision: int,
        graphs: Sequence[ox.NamedNode] | None,
        one_way: bool = False,
        stated: Sequence[ox.Quad] = (),
    ) -> None:
        """Read what is to be compared.

        Args:
            store: the store.
            names: its names.
            revision: the number of this change.
            graphs: whose quads the update may change; None = any.
            one_way: it only adds, or only removes.
            stated: what the catalogue gains with it.
        """
        self._store = store
        self._stated = stated
        self._names = names
        self._revision = revision
        self._graphs = graphs
        self._sizes = self._sizes_of(graphs or ())
        self._doubtful = [graph for graph, size in self._sizes.items() if size is None or not one_way]
        checksums = store.matching([(graph, KG.checksum, None, names.catalogue) for graph in self._doubtful])
        self._checksums = [quad for quads in checksums for quad in quads]
        self._before = {
            graph: store.match(of_graph(graph))  # of the store as it is now, whenever they are taken
            for graph in self._doubtful
            if (size := self._sizes[graph]) is not None and size <= MAX_COMPARED_TRIPLES
        }

    @property
    def _touched(self) -> list[ox.NamedNode]:
        """Graphs to be looked at after the update: none given = every graph."""
        return [] if self._graphs is None else list(dict.fromkeys([*self._graphs, self._names.default_data]))

    def _sizes_of(self, graphs: Sequence[ox.NamedNode]) -> dict[ox.NamedNode, int | None]:
        """Return the catalogue's counts of the triples of graphs; None where it keeps none."""
        found = self._store.matching([(graph, VOID.triples, None, self._names.catalogue) for graph in graphs])
        sizes = [int(plain(quads[0].object)) if quads else None for quads in found]
        return dict(zip(graphs, sizes, strict=True))

    def write(self, update: str) -> None:
        """Run an update and set the catalogue right, in one atomic step.

        Args:
            update: ends in a semicolon, or is empty.

        Raises:
            SyntaxError: it does not parse.
            ValueError: it cannot be evaluated.
            OSError: the disk refused.
        """
        created = publication_plan.now()
        kind = KG.Rewrite if self._graphs is None else KG.Publication
        rows = [*publication_plan.publication(self._revision, kind, created, self._names), *self._stated]
        after = queries.bind(
            "catalogue/rewrite",
            catalogue=self._names.catalogue,
            default=self._names.default_data,
            publication=self._names.publication(self._revision),
            created=created,
            touched=self._touched,
            doubtful=self._doubtful,
            unknown=account(self._revision, ""),
            subjects=[row.subject for row in rows],
            predicates=[row.predicate for row in rows],
            objects=[row.object for row in rows],
        )
        try:
            self._store.update(update + after, revision=self._revision)
        except BaseException:
            self._before.clear()  # a traceback must not keep the folder open
            raise

    def settle(self) -> None:
        """Strike graphs that are as they were from the record, and drop the names of graphs left empty.

        Graphs that are as they were get back their checksums, which ``write`` took away.
        """
        publication, catalogue = self._names.publication(self._revision), self._names.catalogue
        sizes = self._sizes_of(list(self._before))
        same = [
            graph
            for graph, quads in self._before.items()
            if sizes[graph] == self._sizes[graph] and self._are_there(quads)
        ]
        self._before.clear()
        if same:
            named = [ox.Quad(graph, KG.publication, publication, catalogue) for graph in same]
            unknown = [ox.Quad(graph, KG.checksum, account(self._revision, ""), catalogue) for graph in same]
            self._store.exchange([*named, *unknown], [quad for quad in self._checksums if quad.subject in same])
        emptied = cast("ox.QuerySolutions", self._store.query(queries.bind("catalogue/emptied", touched=self._touched)))
        self._store.forget_empty([cast("ox.NamedNode", row["graph"]) for row in emptied])

    def _are_there(self, quads: Iterator[ox.Quad]) -> bool:
        while batch := list(islice(quads, _QUADS_PER_LOOK)):
            if not all(self._store.contained(batch)):
                return False
        return True
