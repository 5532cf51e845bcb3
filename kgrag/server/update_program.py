"""What an update would do, found in a reader process on a copy of the store that is thrown away."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyoxigraph as ox

from kgrag.store.update_effect import difference
from kgrag.vocab import Names

__all__ = ["effect"]


def effect(header: Mapping[str, Any], body: bytes, past: ox.Store) -> dict[str, object]:
    """Return the triples that an update adds and removes, and what a profile of the audit says of that.

    Args:
        header: ``copy``, a folder that may be written to; ``base``, ``prefixes``; ``names``: the base IRI of the
            knowledge base; ``graphs``: those that the update may change (None: any); ``profile``: "" for none.
        body: the update.
        past: the store as it is.

    Returns:
        An ``UpdateEffect`` as JSON, with ``refused``: as of ``gate_program.judge``.

    Raises:
        SyntaxError: the update does not parse.
        ValueError: it cannot be evaluated.
    """
    present = ox.Store(header["copy"])
    present.update(body.decode(), base_iri=header["base"] or None, prefixes=header["prefixes"])
    found = difference(past, present, names=Names(header["names"]), graphs=header["graphs"]).to_json()
    refused: object = []
    if header["profile"]:
        from kgrag.server.gate_program import refused_by  # an audit takes long to import

        refused = refused_by({**header, "text": body.decode()}, past, present)
    return {**found, "refused": refused}
