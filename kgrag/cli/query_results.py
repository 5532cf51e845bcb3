"""Query results to stdout, in the format asked for.

Texts that a user passes as a file, on standard input, or as they are.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox
import typer

from kgrag.cli.options import Format
from kgrag.cli.printing import note, print_json
from kgrag.errors import InputError
from kgrag.late_patterns import late_re
from kgrag.model import plain

if TYPE_CHECKING:
    from kgrag.querying.written_results import WrittenTriples

__all__ = [
    "read_sparql",
    "read_text",
    "write_explanation",
    "write_results",
]

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


_OPEN_ENDED = frozenset({Format.JSON, Format.XML})
"""Forms that leave their last line open; in CSV and TSV another line would be another solution."""


def write_results(results: ox.QuerySolutions | ox.QueryBoolean | WrittenTriples, format_: Format) -> None:
    """Print rows, a truth value or triples.

    Raises:
        InputError: the format does not fit the kind of query.
    """
    if not isinstance(results, ox.QuerySolutions | ox.QueryBoolean):
        if format_ not in _GRAPHS:
            raise InputError(f"--format {format_}: a CONSTRUCT returns triples. Use one of {', '.join(_GRAPHS)}.")
        results.serialize(sys.stdout.buffer, format=_GRAPHS[format_])
        if format_ in _OPEN_ENDED:
            sys.stdout.buffer.write(b"\n")
        return
    if format_ is Format.TABLE:
        _table(results)
    elif format_ in _RESULTS:
        results.serialize(sys.stdout.buffer, format=_RESULTS[format_])
        if isinstance(results, ox.QueryBoolean) or format_ in _OPEN_ENDED:
            sys.stdout.buffer.write(b"\n")
    else:
        raise InputError(f"--format {format_}: a SELECT or ASK returns no triples. Use table, {', '.join(_RESULTS)}.")


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
    note(f"{count} rows")


_SPARQL = late_re(
    r"\s*(select|ask|construct|describe|prefix|base|insert|delete|clear|drop|create|copy|move|add)\s", re.IGNORECASE
)


def write_explanation(patterns: Sequence[Mapping[str, Any]], format_: Format) -> None:
    """Print what each pattern of a query matches: as a table, or as JSON.

    Raises:
        InputError: another format is asked for.
    """
    if format_ is Format.JSON:
        print_json({"patterns": list(patterns)})
        return
    if format_ is not Format.TABLE:
        raise InputError(f"--format {format_}: an explanation is a table or json. Leave --format out.")
    typer.echo(f"{'line':>4}  {'matches':>10}  {'expected':>10}  pattern")
    for each in patterns:
        expected = "" if each["expected"] is None else f"{each['expected']:,}"
        within = f"   in {', '.join(each['within'])}" if each["within"] else ""
        typer.echo(f"{each['line']:>4}  {_figure(each):>10}  {expected:>10}  {each['text']}{within}")
        if each["why"]:
            typer.echo(f"{'':>4}  {'':>10}  {'':>10}  ({each['why']})")
    note("each pattern by itself, as written: the engine does not tell its order. expected: by kgrag profile --keep")


def _figure(each: Mapping[str, Any]) -> str:
    return {
        "whole": "0, none" if each["matches"] == 0 else f"{each['matches'] or 0:,}",
        "limit": f"> {each['matches'] or 0:,}",
        "time": "too slow",
        "not": "-",
    }[each["counted"]]


def read_sparql(argument: str) -> str:
    """Return SPARQL from standard input (``-``), from a file, or the argument itself where it reads like SPARQL.

    Raises:
        InputError: there is no such file, or it is not UTF-8.
    """
    if argument == "-":
        return sys.stdin.read()
    if any(character in argument for character in "{}\n") or _SPARQL.match(argument):
        return argument
    return read_text(Path(argument))


def read_text(path: Path) -> str:
    """Return the text of a file.

    Raises:
        InputError: it cannot be read, or is not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        message = f"{path}: {error.strerror or error}. Name a readable file, - for standard input, or write it out."
        raise InputError(message) from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 at byte {error.start}. Save it as UTF-8.") from None
