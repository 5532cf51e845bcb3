"""Fetches the editor's files anew from npm: ``python -m kgrag.server.pages.vendoring`` (needs npm, only for this).

Another version is a change of ``PACKAGE`` and ``INTEGRITY`` here; the browser tests then say whether it still works.
The package comes without the text of its licence (MIT), so that is taken from the last package of its predecessor.
"""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from kgrag.errors import InputError, ServiceUnavailable
from kgrag.server.pages.page_rendering import STATIC

__all__ = ["fetch", "unpack"]

PACKAGE = "@zazuko/yasgui@4.6.2"
INTEGRITY = "Zw45KdPoAE1KRaAoxIHdQqeJxvaVG1oQdntw0hy0ktX35Zu8ZccuOLrXCLwR+GU+0xMzLw8Mjw6BkSZV2vUuQw=="
LICENCE_PACKAGE = "@triply/yasgui@4.2.28"
LICENCE_INTEGRITY = "HN1neZqERSGoDyk/Fg40nI+F0tHnaBxjqizhN0mur2Kj0oJsklBsFMRk/M+wW+ohy8dSEn7AgX3H0pPrV/wmVg=="
FILES = {"package/build/yasgui.min.js": "yasgui.min.js", "package/build/yasgui.min.css": "yasgui.min.css"}
LICENCE_FILES = {"package/LICENSE.txt": "LICENSE.txt"}


def fetch(package: str, folder: Path) -> Path:
    """Give the archive of a package, fetched by npm from wherever npm is set up to fetch.

    Raises:
        InputError: npm is not installed.
        ServiceUnavailable: npm could not fetch it.
    """
    npm = shutil.which("npm")
    if npm is None:
        raise InputError("npm is not installed. It is needed to fetch the editor's files, and for nothing else.")
    done = subprocess.run([npm, "pack", package, "--silent"], cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603
    archives = sorted(folder.glob("*.tgz"), key=lambda path: path.stat().st_mtime_ns)
    if done.returncode or not archives:
        raise ServiceUnavailable(f"npm could not fetch {package}: {done.stderr.strip()[-300:]}")
    return archives[-1]


def unpack(archive: Path, integrity: str, files: dict[str, str], target: Path) -> None:
    """Write some files of an archive into a folder.

    Raises:
        InputError: the archive is not the one that is expected (SHA-512), or lacks a file.
    """
    found = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if found != integrity:
        raise InputError(f"{archive.name} has the SHA-512 {found}, and {integrity} is expected. Fetch it again.")
    target.mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive) as packed:
        for inside, name in files.items():
            member = packed.extractfile(inside)
            if member is None:
                raise InputError(f"{archive.name} has no file {inside}.")
            (target / name).write_bytes(member.read())


def main() -> None:
    """Fetch both packages, and put their files in place."""
    with tempfile.TemporaryDirectory(prefix="kgrag-vendoring-") as folder:
        for package, integrity, files in (
            (PACKAGE, INTEGRITY, FILES),
            (LICENCE_PACKAGE, LICENCE_INTEGRITY, LICENCE_FILES),
        ):
            unpack(fetch(package, Path(folder)), integrity, files, STATIC / "yasgui")
            sys.stdout.write(f"{package}: {', '.join(files.values())}\n")


if __name__ == "__main__":
    main()
