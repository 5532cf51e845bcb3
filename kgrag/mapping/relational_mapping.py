"""R2RML and RML: databases, CSV and JSON as RDF, by morph-kgc in a process of its own.

Morph-KGC needs another pyoxigraph than kgrag, so it lives in an environment of its own, and its interpreter is named.
It is given a mapping and an address of a database, and its N-Quads are read like any file.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from configparser import RawConfigParser
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from kgrag.errors import InputError, ServiceUnavailable

__all__ = ["mapped_file"]

_INSTALL = (
    "Make an environment for it: python -m venv morph && morph/bin/pip install 'morph-kgc[sqlite]' (or its extra for "
    "your database), and name it: --mapper morph/bin/python, or KGRAG_MAPPER"
)
_SECRETS = ("KGRAG_API_KEY", "KGRAG_API_KEYS", "KGRAG_SERVER_KEY")
_MAX_MESSAGE_CHARACTERS = 500


@contextmanager
def mapped_file(mapping: Path, *, database: str = "", mapper: str = "", seconds: float = 3600.0) -> Iterator[Path]:
    """Return a file with what a mapping makes of its sources, as N-Quads; it is deleted behind the block.

    Args:
        mapping: R2RML or RML in Turtle; its relative paths are those of its folder.
        database: address of the database as of SQLAlchemy, ``sqlite:///staff.db``; "" for files only.
        mapper: Python of an environment with morph-kgc; "" = this one.
        seconds: how long it may take.

    Raises:
        InputError: there is no such file; the mapping or the database is not sound: the message is morph-kgc's.
        ServiceUnavailable: morph-kgc is not installed there, or it took too long.
    """
    if not mapping.is_file():
        raise InputError(f"{mapping}: there is no such file. Name an R2RML or RML mapping in Turtle.")
    with tempfile.TemporaryDirectory(prefix="kgrag-mapping-") as name:
        folder = Path(name)
        output = folder / "output.nq"
        config = _config(folder / "config.ini", mapping.resolve(), output, database)
        done = _run(mapper or _own_python(), config, mapping.resolve().parent, seconds)
        if done.returncode != 0:
            raise _failure(mapping, done, mapper or sys.executable)
        output.touch()
        yield output


def _config(file: Path, mapping: Path, output: Path, database: str) -> Path:
    values = {"output_file": str(output), "output_format": "N-QUADS", "number_of_processes": "1"}
    values |= {"infer_sql_datatypes": "yes"} if database else {}  # R2RML, section 10.2: numbers are typed
    source = {"mappings": str(mapping), **({"db_url": database} if database else {})}
    written = RawConfigParser()
    for section, options in (("CONFIGURATION", {**values, "logging_level": "ERROR"}), ("Source", source)):
        if any("\n" in value for value in options.values()):
            raise InputError("the path of the mapping or the address of the database has a line break.")
        # the reader interpolates ${...}
        written[section] = {name: value.replace("$", "$$") for name, value in options.items()}
    with file.open("w", encoding="utf-8") as opened:  # in a folder that only this user may read: it may have a password
        written.write(opened)
    return file


def _own_python() -> str:
    if find_spec("morph_kgc") is None:
        raise ServiceUnavailable(f"--mapping needs morph-kgc, which is not installed here. {_INSTALL}.")
    return sys.executable


def _run(python: str, config: Path, folder: Path, seconds: float) -> subprocess.CompletedProcess[str]:
    # our own paths would show it our packages
    kept = {name: value for name, value in os.environ.items() if name not in (*_SECRETS, "PYTHONPATH", "PYTHONHOME")}
    # files in the folder of a mapping are data, and no modules (-P)
    command = [python, "-P", "-m", "morph_kgc", str(config)]
    try:
        return subprocess.run(  # noqa: S603 - an interpreter that the user named, and a file that we wrote
            command,
            cwd=folder,
            env=kept,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ServiceUnavailable(f"morph-kgc took more than {seconds:g} s. Map less at once.") from None
    except OSError as error:
        raise ServiceUnavailable(f"{python} cannot be started: {error.strerror or error}. {_INSTALL}.") from None


def _failure(mapping: Path, done: subprocess.CompletedProcess[str], python: str) -> Exception:
    if "No module named morph_kgc" in done.stderr:
        return ServiceUnavailable(f"{python} has no morph-kgc. {_INSTALL}.")
    lines = [line for line in done.stderr.strip().splitlines() if line and not line.startswith((" ", "["))]
    reason = lines[-1] if lines else f"it ended with {done.returncode}"
    return InputError(f"{mapping}: morph-kgc cannot map this: {reason[:_MAX_MESSAGE_CHARACTERS]}")
