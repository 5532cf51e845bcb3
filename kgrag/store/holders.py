"""Names of those who have a lease: which process of which machine, and which of the stores that it opened.

A name is for the person who is refused. It also shows whoever comes next on the same machine that the holder has died,
so that nobody waits for the lease of a dead process to end.
"""

from __future__ import annotations

import os
import secrets
import socket

from kgrag.late_patterns import late_re

__all__ = ["drawn_holder", "has_died", "let_go"]

_NAME = late_re(r"process (?P<process>\d+) of (?P<machine>.+) \((?P<opening>[0-9a-f]{8})\)")
_OPENINGS: set[str] = set()
"""Those of this process that are still at work."""


def drawn_holder() -> str:
    """Return a name for a store that this process opens."""
    opening = secrets.token_hex(4)
    _OPENINGS.add(opening)
    return f"process {os.getpid()} of {socket.gethostname()} ({opening})"


def let_go(holder: str) -> None:
    """Note that a store that this process had opened is closed, whether or not its lease could be released."""
    if found := _NAME.fullmatch(holder):
        _OPENINGS.discard(found["opening"])


def has_died(holder: str) -> bool:
    """Return whether a holder is known to be gone; False for one of another machine, of which nothing is known."""
    found = _NAME.fullmatch(holder)
    if found is None or found["machine"] != socket.gethostname():
        return False
    process = int(found["process"])
    if process == os.getpid():
        return found["opening"] not in _OPENINGS
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except OSError:  # it is somebody else's
        return False
    return False
