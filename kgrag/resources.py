"""What comes with the package: its version, and the folders that ontologists edit, in a checkout and in a wheel.

>>> (folder("queries") / "catalogue").is_dir()
True
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib import metadata
from pathlib import Path

from kgrag.errors import UnknownName

__all__ = ["closest", "declarations", "find", "folder", "listing", "version"]

_PACKAGE = Path(__file__).parent


@cache
def folder(name: str) -> Path:
    """Give a data folder: the wheel's copy inside the package, else the checkout's at the top.

    Raises:
        UnknownName: neither is there.
    """
    for candidate in (_PACKAGE / "data" / name, _PACKAGE / name, _PACKAGE.parent / name):
        if candidate.is_dir():
            return candidate
    raise UnknownName(f"data folder '{name}' is missing from this installation. Install kgrag again.")


def listing(name: str, suffixes: tuple[str, ...]) -> list[str]:
    """Give the names (path without suffix) of the files of a data folder, sorted."""
    top = folder(name)
    paths = (path for path in top.rglob("*") if path.suffix in suffixes)
    return sorted(path.relative_to(top).with_suffix("").as_posix() for path in paths)


def find(kind: str, name: str, suffixes: tuple[str, ...]) -> Path:
    """Give the path of one file of a data folder by its name.

    Raises:
        UnknownName: there is none; the message lists the nearest names.
    """
    if re.fullmatch(r"[\w-]+(/[\w-]+)*", name):
        for suffix in suffixes:
            if (path := folder(kind) / f"{name}{suffix}").is_file():
                return path
    raise UnknownName(f"there is no '{name}' in {kind}/. {closest(name, listing(kind, suffixes))}")


def closest(name: str, known: Iterable[str]) -> str:
    """Say which known names are near ``name``, for an error message.

    >>> closest("og_rga", ["og_rag", "passages"])
    "Did you mean 'og_rag'? Known: og_rag, passages."
    """
    from difflib import get_close_matches

    names = sorted(known)
    near = get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"Did you mean '{near[0]}'? " if near else ""
    return f"{hint}Known: {', '.join(names) or 'none'}."


def declarations(header: str, word: str) -> dict[str, str]:
    """Read lines ``word name: type   meaning`` of a file header; gives name -> type.

    >>> declarations("param nodes: IRI list    what to look up", "param")
    {'nodes': 'IRI list'}
    """
    found = re.findall(rf"^{word}\s+(\w+):\s*(\w+(?: list)?)", header, flags=re.MULTILINE)
    return dict(found)


def version() -> str:
    """Returns the version of kgrag that is installed; "0" in a checkout that is not."""
    try:
        return metadata.version("kgrag")
    except metadata.PackageNotFoundError:
        return "0"
