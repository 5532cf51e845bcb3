"""The file that ``kgrag serve --keys`` reads: one TOML table per key.

::

    [[keys]]
    name = "loader"                              # its name in logs
    sha256 = "9f86d081…"                         # or key = "…", in a file that only its owner can read
    rights = "write"                             # read, write (when left out) or admin
    graphs = ["https://example.org/data/*"]      # writes to these graphs only; * ends a beginning
"""

from __future__ import annotations

import os
import re
import stat
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from kgrag.errors import InvalidSettings
from kgrag.server.access_keys import Key, Rights, digest_of

__all__ = ["check_permissions", "key_tables", "read_keys"]

_FIELDS = {"name", "key", "sha256", "rights", "graphs"}
_RIGHTS = {right.name.lower(): right for right in Rights}
_MIN_KEY_CHARACTERS = 16
"""The digest of a shorter key could be turned back by trying."""


def read_keys(path: Path) -> list[Key]:
    """Return the keys of a file.

    Raises:
        InvalidSettings: it cannot be read, a table in it is wrong, or it holds keys and others can read it.
    """
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8")).get("keys")
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidSettings(f"{path} cannot be read as TOML: {error}. Give a file of [[keys]] tables.") from None
    keys = key_tables(tables, f"{path}", "keys")
    check_permissions(path, tables or ())
    return keys


def key_tables(tables: object, where: str, name: str) -> list[Key]:
    """Return the keys of the tables of a file.

    Args:
        tables: what the file has under the name.
        where: the file, and the part of it, for messages.
        name: of the tables.

    Raises:
        InvalidSettings: they are no tables, or one is wrong.
    """
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise InvalidSettings(f"{where} has no [[{name}]] tables. Write one per key, with name, sha256 and rights.")
    keys = [_key(table, f"{where}, [[{name}]] table {number}") for number, table in enumerate(tables, 1)]
    names = [key.name for key in keys]
    if len(set(names)) < len(names):
        raise InvalidSettings(f"{where} has two keys of the same name. Name each differently, for the log.")
    return keys


def check_permissions(path: Path, tables: Sequence[Mapping[str, object]]) -> None:
    """Check that nobody else can read a file whose tables hold keys, and not only digests. Raises InvalidSettings."""
    others_can_read = os.name == "posix" and path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO)
    if others_can_read and any("key" in table for table in tables):
        raise InvalidSettings(f"{path} holds keys, and others can read it. Run chmod 600 {path}, or keep sha256 only.")


def _key(table: Mapping[str, object], where: str) -> Key:
    if unknown := table.keys() - _FIELDS:
        raise InvalidSettings(f"{where}: unknown field '{min(unknown)}'. Known: {', '.join(sorted(_FIELDS))}.")
    name = table.get("name")
    if not isinstance(name, str) or not re.fullmatch(r"[\w.@-]{1,64}", name):
        raise InvalidSettings(f"{where}: a name of 1 to 64 letters, digits and . @ - _ is expected, not {name!r}.")
    rights = table.get("rights", "write")
    if not isinstance(rights, str) or rights not in _RIGHTS:
        raise InvalidSettings(f"{where}: rights are {rights!r}; expected is one of {', '.join(_RIGHTS)}.")
    graphs = table.get("graphs")
    if graphs is not None and rights != "write":
        raise InvalidSettings(f"{where}: 'graphs' limits the right 'write'. Take it out, or write rights = \"write\".")
    return Key(name, _digest(table, where), _RIGHTS[rights], None if graphs is None else _graphs(graphs, where))


def _digest(table: Mapping[str, object], where: str) -> bytes:
    key, digest = table.get("key"), table.get("sha256")
    if isinstance(key, str) and digest is None:
        if len(key) < _MIN_KEY_CHARACTERS or key != key.strip():
            characters = f"{_MIN_KEY_CHARACTERS} characters or more"
            raise InvalidSettings(f"{where}: a key of {characters} is expected, no blanks around it.")
        return digest_of(key)
    if key is None and isinstance(digest, str) and re.fullmatch(r"[0-9A-Fa-f]{64}", digest):
        return bytes.fromhex(digest)
    raise InvalidSettings(f"{where}: either 'key' (text) or 'sha256' (64 hexadecimal digits of it) is expected.")


def _graphs(value: object, where: str) -> tuple[str, ...]:
    graphs = value if isinstance(value, list) else []
    if not graphs or not all(
        isinstance(graph, str) and re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", graph) for graph in graphs
    ):
        raise InvalidSettings(f"{where}: 'graphs' wants a list of graph IRIs; one that ends in * covers all below.")
    return tuple(graphs)
