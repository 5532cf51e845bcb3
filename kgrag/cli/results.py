"""Query results to stdout, in the format asked for."""

from __future__ import annotations

import sys

import pyoxigraph as ox
import typer

from kgrag.cli.options import Format
from kgrag.errors import InputError
from kgrag.model import plain

__all__ = ["write_results"]

_RESULTS = {
    Format.JSON: ox.QueryResultsFormat.JSON,
    Format.CSV: ox.QueryResultsFormat.CSV,
    Format.TSV: ox.QueryResultsFormat.TSV,
    Format.XML: ox.QueryResultsFormat.XML,
}
_GRAPHS = {
    Format.TABLE: ox.RdfFormat.TURTLE,
    Format.TURTLE: ox.RdfFormat.TURTLE,
    Format.NTRIPLES: ox.RdfFormat.N_TRIPLES,
    Format.JSON: ox.RdfFormat.JSON_LD,
    Format.XML: ox.RdfFormat.RDF_XML,
}


def write_results(results: ox.QuerySolutions | ox.QueryBoolean | ox.QueryTriples, format_: Format) -> None:
    """Print rows, a truth value or triples.

    Raises:
        InputError: the format does not fit the kind of query.
    """
    if isinstance(results, ox.QueryTriples):
        if format_ not in _GRAPHS:
            raise InputError(f"--format {format_}: a CONSTRUCT gives triples. Use one of {', '.join(_GRAPHS)}.")
        results.serialize(sys.stdout.buffer, format=_GRAPHS[format_])
        return
    if format_ is Format.TABLE:
        _table(results)
    elif format_ in _RESULTS:
        results.serialize(sys.stdout.buffer, format=_RESULTS[format_])
        sys.stdout.buffer.write(b"\n")
    else:
        raise InputError(f"--format {format_}: a SELECT or ASK gives no triples. Use table, {', '.join(_RESULTS)}.")


def _table(results: ox.QuerySolutions | ox.QueryBoolean) -> None:
    if isinstance(results, ox.QueryBoolean):
        typer.echo("true" if results else "false")
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*(variable.value for variable in results.variables))
    count = 0
    for row in results:
        table.add_row(*(Text(plain(term)) for term in row))
        count += 1
    wide = None if sys.stdout.isatty() else 200
    Console(width=wide).print(table)
    typer.echo(f"{count} rows", err=True)
