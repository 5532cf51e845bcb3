"""LinkML schemas as an OWL ontology and SHACL shapes, by LinkML's own generators in a process of its own.

LinkML pins versions of what kgrag uses too, so it lives in an environment of its own, and its interpreter is named. It
is given the schema; its Turtle is read like any file.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from kgrag.errors import InputError, ServiceUnavailable

__all__ = ["generated_files"]

_INSTALL = (
    "Make an environment for it: python -m venv linkml && linkml/bin/pip install linkml, and name it: "
    "--linkml-python linkml/bin/python, or KGRAG_LINKML"
)
_GENERATORS = {"ontology": "linkml.generators.owlgen", "shapes": "linkml.generators.shaclgen"}
_SECRETS = ("KGRAG_API_KEY", "KGRAG_API_KEYS", "KGRAG_SERVER_KEY")
_MAX_MESSAGE_CHARACTERS = 500


@contextmanager
def generated_files(schema: Path, *, generator: str = "", seconds: float = 600.0) -> Iterator[dict[str, Path]]:
    """Return the Turtle files that a schema becomes, "ontology" and "shapes"; they are deleted behind the block.

    Args:
        schema: LinkML in YAML.
        generator: Python of an environment with linkml; "" = this one.
        seconds: how long each generator may take.

    Raises:
        InputError: there is no such file, or it is no sound schema: the message is LinkML's.
        ServiceUnavailable: linkml is not installed there, or it took too long.
    """
    if not schema.is_file():
        raise InputError(f"{schema}: there is no such file. Name a LinkML schema in YAML.")
    python = generator or _own_python()
    with tempfile.TemporaryDirectory(prefix="kgrag-linkml-") as name:
        files = {}
        for made, module in _GENERATORS.items():
            files[made] = Path(name, f"{made}.ttl")
            done = _run([python, "-P", "-m", module, str(schema.resolve())], schema.resolve().parent, seconds)
            if done.returncode != 0 or not done.stdout.strip():
                raise _failure(schema, done, python)
            files[made].write_text(done.stdout, encoding="utf-8")
        yield files


def _own_python() -> str:
    if find_spec("linkml") is None:
        raise ServiceUnavailable(f"--linkml needs linkml, which is not installed here. {_INSTALL}.")
    return sys.executable


def _run(command: list[str], folder: Path, seconds: float) -> subprocess.CompletedProcess[str]:
    # our own paths would show it our packages
    kept = {name: value for name, value in os.environ.items() if name not in (*_SECRETS, "PYTHONPATH", "PYTHONHOME")}
    try:
        return subprocess.run(  # noqa: S603 - an interpreter that the user named, and a file of the user's
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
        raise ServiceUnavailable(f"a generator of LinkML took more than {seconds:g} s.") from None
    except OSError as error:
        raise ServiceUnavailable(f"{command[0]} cannot be started: {error.strerror or error}. {_INSTALL}.") from None


def _failure(schema: Path, done: subprocess.CompletedProcess[str], python: str) -> Exception:
    if "No module named" in done.stderr and "linkml" in done.stderr:
        return ServiceUnavailable(f"{python} has no linkml. {_INSTALL}.")
    lines = [line for line in done.stderr.strip().splitlines() if line and not line.startswith(" ")]
    reason = lines[-1] if lines else f"it ended with {done.returncode}"
    return InputError(f"{schema}: LinkML cannot generate from this: {reason[:_MAX_MESSAGE_CHARACTERS]}")
