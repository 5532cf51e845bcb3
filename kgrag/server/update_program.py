"""What an update would do, found in a reader process on a copy of the store that is thrown away."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyoxigraph as ox

from kgrag.store.own_graphs import changed_on_copy
from kgrag.store.update_effect import difference
from kgrag.vocab import Names

__all__ = ["effect", "own_graphs"]


def effect(header: Mapping[str, Any], body: bytes, past: ox.Store) -> dict[str, object]:
    """Return the triples that an update adds and removes, and what a profile of the audit says of that.

    Args:
        header: ``copy``, a folder that may be written to; ``base``, ``prefixes``; ``names``: the base IRI of the
            knowledge base; ``graphs``: those that the update may change (None: any); ``profile``: "" for none.
        body: the update.
        past: the store as it is.

    Returns:
        An ``UpdateEffect`` as JSON, with ``refused``: as of ``gate_program.judge``; and ``own``, as of ``own_graphs``.

    Raises:
        SyntaxError: the update does not parse.
        ValueError: it cannot be evaluated.
    """
    present = ox.Store(header["copy"])
    own = _own_graphs(header, body, past, present)
    found = difference(past, present, names=Names(header["names"]), graphs=header["graphs"]).to_json()
    refused: object = []
    if header["profile"]:
        from kgrag.server.gate_program import refused_by  # an audit takes long to import

        refused = refused_by({**header, "text": body.decode()}, past, present)
    return {**found, "refused": refused, "own": own}


def own_graphs(header: Mapping[str, Any], body: bytes, past: ox.Store) -> dict[str, object]:
    """Return ``own``: the IRIs of the graphs of kgrag's own making that an update would change.

    Args:
        header: as of ``effect``, without ``graphs`` and ``profile``.
        body: the update.
        past: the store as it is.

    Raises:
        SyntaxError: the update does not parse.
        ValueError: it cannot be evaluated.
    """
    present = ox.Store(header["copy"])
    return {"own": _own_graphs(header, body, past, present)}


def _own_graphs(header: Mapping[str, Any], body: bytes, past: ox.Store, present: ox.Store) -> list[str]:
    base, prefixes = header["base"] or None, header["prefixes"]
    return changed_on_copy(past, present, body.decode(), names=Names(header["names"]), base=base, prefixes=prefixes)
