"""Files of a folder that are known to be broken and that its owner has accepted, until they change.

They are listed in ``.kgrag-accepted`` of the folder, as ``sha256sum`` writes and checks: a digest and a path per line.
A line that begins with ``#`` is a comment. What a file was read as before stays, and so does what could be read of it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from kgrag.errors import InputError
from kgrag.late_patterns import late_re

__all__ = ["LIST_NAME", "accept", "listed", "separated"]

LIST_NAME = ".kgrag-accepted"
_LINE = late_re(r"([0-9a-f]{64}) [ *](.+)")


def accept(folder: Path, files: Sequence[Path]) -> None:
    """Write files of a folder, with their digests as they are now, into its list; those that changed or went leave it.

    Raises:
        InputError: a file is not in the folder, or cannot be read; or the list cannot be written.
    """
    known = {path: digest for path, digest in _read(folder).items() if _is_as_it_was(folder / path, digest)}
    for file in files:
        relative = os.path.relpath(os.path.realpath(file), os.path.realpath(folder))
        if relative.startswith(os.pardir):
            raise InputError(f"{file} is not in {folder}, which is synced. Accept files of that folder.")
        try:
            known[relative] = _digest(folder / relative)
        except OSError as error:
            raise InputError(f"{file}: {error.strerror}. Name a file that is there.") from None
    lines = "".join(f"{digest}  {path}\n" for path, digest in sorted(known.items()))
    try:
        (folder / LIST_NAME).write_text(
            f"# broken files that are accepted until they change\n{lines}", encoding="utf-8"
        )
    except OSError as error:
        raise InputError(f"{folder / LIST_NAME}: {error.strerror}. The list of accepted files is kept there.") from None


def listed(folder: Path) -> list[str]:
    """Return the accepted files of a folder as lines for a person: path, and whether it changed or went since."""
    return [
        f"{folder / path}{'' if _is_as_it_was(folder / path, digest) else ' (changed or gone since)'}"
        for path, digest in sorted(_read(folder).items())
    ]


def separated(folder: Path, broken: Mapping[Path, str]) -> tuple[list[str], list[str]]:
    """Return what is wrong with broken files of a folder: of those that nobody accepted, and of the accepted ones.

    Args:
        folder: it may be a file, which has no list.
        broken: file -> what is wrong.
    """
    known = {os.path.realpath(folder / path): digest for path, digest in _read(folder).items()}
    accepted = {path for path in broken if _is_as_it_was(path, known.get(os.path.realpath(path), ""))}
    return [why for path, why in broken.items() if path not in accepted], [
        broken[path] for path in broken if path in accepted
    ]


def _read(folder: Path) -> dict[str, str]:
    """Return relative path -> digest; {} without a list."""
    try:
        text = (folder / LIST_NAME).read_text(encoding="utf-8")
    except OSError:
        return {}
    found = (_LINE.fullmatch(line) for line in text.splitlines())
    return {match[2]: match[1] for match in found if match}


def _is_as_it_was(path: Path, digest: str) -> bool:
    try:
        return bool(digest) and _digest(path) == digest
    except OSError:
        return False


def _digest(path: Path) -> str:
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
