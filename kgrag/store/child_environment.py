"""The environment of processes that work on what comes from outside: without keys, passwords and addresses of services.

What a query can make such a process do, it does without anything worth taking.
"""

from __future__ import annotations

import os

__all__ = ["child_environment"]

_KEPT = frozenset(
    {
        *("HOME", "LANG", "LANGUAGE", "LD_LIBRARY_PATH", "OMP_NUM_THREADS", "PATH", "PYTHONHASHSEED", "PYTHONHOME"),
        *("PYTHONPATH", "SYSTEMROOT", "TMPDIR", "TZ", "VIRTUAL_ENV"),
    }
)
_KEPT_BEGINNINGS = ("LC_", "DYLD_")


def child_environment(**more: str) -> dict[str, str]:
    """Return the variables of this process that a Python process needs to start, and ``more``.

    >>> import os
    >>> os.environ["KGRAG_API_KEYS"] = "secret"
    >>> sorted(child_environment(MORE="1").keys() & {"KGRAG_API_KEYS", "MORE", "PATH"})
    ['MORE', 'PATH']
    >>> del os.environ["KGRAG_API_KEYS"]
    """
    kept = {name: value for name, value in os.environ.items() if name in _KEPT or name.startswith(_KEPT_BEGINNINGS)}
    return {**kept, **more}
