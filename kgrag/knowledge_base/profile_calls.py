"""The call of ``KnowledgeBase`` that returns what its facts have, and what keeps the graph of it up to date."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pyoxigraph as ox

from kgrag.errors import InputError, StateError, StorageFailed, UnknownName
from kgrag.knowledge_base.wiring import Wiring

if TYPE_CHECKING:
    from kgrag.querying.data_profile import DataProfile

__all__ = ["ProfileCalls"]

_LOG = logging.getLogger(__name__)


class ProfileCalls(Wiring):
    """What a knowledge base knows of its facts as a whole."""

    def profile(self, *, graph: str | None = None, keep: bool = False) -> DataProfile:
        """Return what the facts have: classes with counts, properties as they are used, samples, empty classes.

        It is worked out once and then follows the changes that are made here, in proportion to them.

        Args:
            graph: the IRI of one graph, whose profile is counted anew; None for all facts together.
            keep: write it to the graph ``{base}graph/profile`` as well; from then on that follows, too, whenever the
                knowledge base is closed.

        Raises:
            UnknownName: there is no such graph.
            InputError: ``graph`` is no IRI, or is to be kept.
            StateError: it is to be kept, and was opened for reading only.
        """
        from kgrag.querying import data_profile

        if graph is None:
            return data_profile.keep(self.store) if keep else data_profile.profile_of(self.store)
        if keep:
            raise InputError("the profile of one graph is not kept, only that of all facts. Leave graph or keep out.")
        try:
            node = ox.NamedNode(graph)
        except ValueError as error:
            raise InputError(f"{graph!r} is no absolute IRI ({error}). Write e.g. https://example.org/graph.") from None
        if not self.store.described(node):
            raise UnknownName(f"there is no graph <{graph}>. queries/catalogue/graphs lists them.")
        return data_profile.profile_of_graph(self.store, node)

    def close(self) -> None:
        """Save what is in memory and release the folder; a profile that was kept is written again if facts changed."""
        if self.path is not None and not (self._closed or self.read_only):
            self._settle_profile()
        super().close()

    def _settle_profile(self) -> None:
        from kgrag.querying import data_profile

        try:
            data_profile.settle(self.store)
        except (StateError, StorageFailed) as error:  # the next opening counts anew
            _LOG.warning("the data profile was not written: %s", error)
