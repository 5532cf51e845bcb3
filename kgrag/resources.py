"""What comes with kgrag: its version, and the folders that ontologists edit, in a checkout and in a wheel.

Plug-ins bring folders of the same names; their files are named with a prefix (``kgrag.plugins.folders``).

>>> (folder("queries") / "catalogue").is_dir()
True
"""

from __future__ import annotations

import re
from functools import cache
from importlib import metadata
from pathlib import Path

from kgrag import plugins
from kgrag.errors import UnknownName, closest

__all__ = ["closest", "declarations", "files", "find", "folder", "listing", "version"]

_PACKAGE = Path(__file__).parent


@cache
def folder(name: str) -> Path:
    """Return a data folder: the wheel's copy inside the package, else the checkout's at the top.

    Raises:
        UnknownName: neither is there.
    """
    for candidate in (_PACKAGE / "data" / name, _PACKAGE / name, _PACKAGE.parent / name):
        if candidate.is_dir():
            return candidate
    raise UnknownName(f"data folder '{name}' is missing from this installation. Install kgrag again.")


def listing(name: str, suffixes: tuple[str, ...]) -> list[str]:
    """Return the names (path without suffix) of the files of a data folder, then those of plug-ins, with prefix."""
    found = _names(folder(name), suffixes)
    seen: set[Path] = set()
    for prefix, place in plugins.folders().items():
        if place not in seen:
            found += [f"{prefix}:{each}" for each in _names(place / name, suffixes)]
            seen.add(place)
    return found


def _names(top: Path, suffixes: tuple[str, ...]) -> list[str]:
    paths = (path for path in top.rglob("*") if path.suffix in suffixes)
    return sorted(path.relative_to(top).with_suffix("").as_posix() for path in paths)


def find(kind: str, name: str, suffixes: tuple[str, ...]) -> Path:
    """Return the path of one file of a data folder by its name.

    Args:
        kind: the folder: "queries", "prompts", "shapes", "ontologies".
        name: path without suffix; before a colon, the plug-in whose file it is: "hippo:walk".
        suffixes: those that the file may have, "" for one that is part of ``name``.

    Raises:
        UnknownName: there is none; the message lists the nearest names.
    """
    if re.fullmatch(r"([\w.-]+:)?[\w-]+(/[\w-]+)*(\.\w+)?", name):
        prefix, _, local = name.rpartition(":")
        if not prefix or prefix in plugins.folders():
            top = plugins.folders()[prefix] / kind if prefix else folder(kind)
            for suffix in suffixes:
                if (path := top / f"{local}{suffix}").is_file():
                    return path
    raise UnknownName(f"there is no '{name}' in {kind}/. {closest(name, listing(kind, suffixes))}")


def files(kind: str, suffix: str, *, own: bool = True) -> list[Path]:
    """Return the paths of all files of a data folder, kgrag's before plug-ins'; ``own=False`` leaves out kgrag's."""
    tops = [folder(kind)] if own else []
    tops += [place / kind for place in dict.fromkeys(plugins.folders().values())]
    return [path for top in tops for path in sorted(top.rglob(f"*{suffix}"))]


def declarations(header: str, word: str) -> dict[str, str]:
    """Read lines ``word name: type   meaning`` of a file header; returns name -> type.

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
