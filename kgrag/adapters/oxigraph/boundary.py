"""Maps the engine's exceptions to ours, in one place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from kgrag.errors import InvalidSPARQL, KgragError, StorageFailed, StoreLocked

__all__ = ["engine"]


@contextmanager
def engine(text: str = "") -> Iterator[None]:
    """Run engine calls; ``text`` is the SPARQL from outside that they run, if any.

    Raises:
        InvalidSPARQL: the text does not parse, or cannot be evaluated.
        StoreLocked: another process holds the folder.
        StorageFailed: the disk refused.
    """
    try:
        yield
    except KgragError:
        raise
    except SyntaxError as error:
        if not text:
            raise
        raise InvalidSPARQL(_syntax(error, text)) from error
    except (ValueError, RuntimeError) as error:
        if not text:
            raise
        raise InvalidSPARQL(f"{_told(error)}. The store cannot evaluate this text.") from error
    except OSError as error:
        raise _storage(error) from error


def _told(error: BaseException) -> str:
    return (str(error.args[0]) if error.args else type(error).__name__).rstrip(".")


def _syntax(error: SyntaxError, text: str) -> str:
    place = re.match(r"error at (\d+):(\d+): (.*)", _told(error), flags=re.DOTALL)
    if place is None:
        return f"{_told(error)}. Correct the text."
    lines = text.splitlines()
    number = int(place[1])
    line = lines[number - 1].strip() if number <= len(lines) else ""
    near = f" near {line[:120]!r}" if line else ", at the end"
    wanted = place[3] if len(place[3]) < 200 and "[_]" not in place[3] else "something else is expected here"
    return f"line {number}, column {place[2]}{near}: {wanted}. Correct the text there."


def _storage(error: OSError) -> KgragError:
    told = _told(error) if error.errno is None else str(error)
    if "lock" in told.lower():
        what, instead = "is in use", "Close the other process, or open it for reading only"
        return StoreLocked(f"the store's folder {what}: {told}. {instead}.")
    return StorageFailed(
        f"the store could not be read or written: {told}. Free space or mend the folder, and try again."
    )
