"""RDF files that plug-ins bring along: vocabularies and shapes, read with care."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pyoxigraph as ox

from kgrag.resources import files

__all__ = ["plugin_quads"]

_LOG = logging.getLogger(__name__)


def plugin_quads(folder: str) -> Iterator[ox.Quad]:
    """Yield the triples of the Turtle files in a folder of every plug-in; what does not parse is logged and left out.

    Args:
        folder: "ontologies" or "shapes".
    """
    for path in files(folder, ".ttl", own=False):
        try:
            yield from list(ox.parse(path=path, base_iri=path.absolute().as_uri()))
        except (OSError, SyntaxError, ValueError) as error:
            _LOG.warning("%s of a plug-in is left out: %s", path, error)
