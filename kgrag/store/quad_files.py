"""Whole stores as N-Quads files, gzipped when the name ends in ``.gz``."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, cast

import pyoxigraph as ox

from kgrag.errors import InvalidRDF, SchemaMismatch, StorageFailed
from kgrag.model import plain
from kgrag.store.readable_terms import CheckedDump
from kgrag.vocab import KG, SCHEMA_VERSION, Names

__all__ = ["dump", "read"]


def dump(write: Callable[[IO[bytes]], int], target: Path) -> int:
    """Let quads be written to a file next to the target, then swap the two; return their count.

    Args:
        write: writes N-Quads, and returns how many.
        target: the file; gzipped when its name ends in ``.gz``.

    Raises:
        StorageFailed: the file cannot be written; the former file is left as it was.
        StateError: the store has a literal that could not be read again; the former file is left as it was.
    """
    part = target.with_name(f"{target.name}.part")
    try:
        with _opened(part, "wb", zipped=target.suffix == ".gz") as output:
            checked = CheckedDump(cast("IO[bytes]", output))
            count = write(cast("IO[bytes]", checked))
            checked.flush()
        part.replace(target)
    except BaseException as error:
        part.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise StorageFailed(f"{target} cannot be written: {error}. Choose another place.") from error
        raise
    return count


def read(source: Path, names: Names) -> Iterator[ox.Quad]:
    """Yield the quads of an N-Quads file.

    Raises:
        InvalidRDF: it is missing or does not parse, or a statement names no graph; the message names the line.
        SchemaMismatch: it is the dump of a knowledge base of another base IRI or a newer schema.
    """
    try:
        with _opened(source, "rb", zipped=source.suffix == ".gz") as stream:
            parsed = ox.parse(input=cast("IO[bytes]", stream), format=ox.RdfFormat.N_QUADS)
            for place, quad in enumerate(parsed):
                if not isinstance(quad.graph_name, ox.NamedNode):
                    raise InvalidRDF(_without_graph(source, place, quad))
                _refuse_other_identity(quad, names, source)
                yield quad
    except (SyntaxError, UnicodeDecodeError) as error:
        instead = "Make it a plain string there" if "angString" in str(error) else "Correct the file there"
        raise InvalidRDF(f"{source} is not N-Quads: {error}. {instead}.") from error
    except (OSError, EOFError) as error:
        raise InvalidRDF(f"{source} cannot be read: {error}. Name an N-Quads file.") from error


def _without_graph(source: Path, place: int, quad: ox.Quad) -> str:
    with _opened(source, "rb", zipped=source.suffix == ".gz") as stream:
        lines = (number for number, line in enumerate(stream, 1) if line.strip() and not line.lstrip().startswith(b"#"))
        line = next(islice(lines, place, None), 0)
    reason = "names a blank node as its graph" if isinstance(quad.graph_name, ox.BlankNode) else "names no graph"
    return (
        f"{source}, line {line}: the statement about {quad.subject} {reason}. "
        "Every statement of a knowledge base belongs to a graph with an IRI; add it as the fourth term."
    )


def _refuse_other_identity(quad: ox.Quad, names: Names, source: Path) -> None:
    if quad.predicate == KG.baseIRI and quad.object != ox.Literal(names.base):
        raise SchemaMismatch(
            f"{source} was written from a knowledge base with base IRI {quad.object}, and this one has '{names.base}'. "
            "Create one with that base IRI, and import the file there."
        )
    if quad.predicate == KG.schemaVersion and int(plain(quad.object)) > SCHEMA_VERSION:
        raise SchemaMismatch(
            f"{source} has schema version {plain(quad.object)}, and this kgrag knows {SCHEMA_VERSION}. Upgrade kgrag."
        )


@contextmanager
def _opened(path: Path, mode: str, *, zipped: bool) -> Iterator[io.BufferedIOBase]:
    with path.open(mode) as file:
        if not zipped:
            yield cast("io.BufferedIOBase", file)
            return
        # no name and no time in the header, so that two dumps of one store are equal to the byte
        with gzip.GzipFile(filename="", fileobj=cast("IO[bytes]", file), mode=mode, compresslevel=6, mtime=0) as packed:
            yield packed
