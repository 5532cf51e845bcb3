"""Texts that a user gives as a file, on standard input, or as they are."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from kgrag.errors import InputError

__all__ = ["read_sparql", "read_text"]

_SPARQL = re.compile(
    r"\s*(select|ask|construct|describe|prefix|base|insert|delete|clear|drop|create|copy|move|add)\s", re.IGNORECASE
)


def read_sparql(argument: str) -> str:
    """Give SPARQL from standard input (``-``), from a file, or the argument itself where it reads like SPARQL.

    Raises:
        InputError: there is no such file, or it is not UTF-8.
    """
    if argument == "-":
        return sys.stdin.read()
    if any(character in argument for character in "{}\n") or _SPARQL.match(argument):
        return argument
    return read_text(Path(argument))


def read_text(path: Path) -> str:
    """Give the text of a file.

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
