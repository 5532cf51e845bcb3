"""Who may write."""

from __future__ import annotations

import hashlib
import hmac
from typing import Literal

from kgrag.server.problems import Problem

__all__ = ["Keys"]

Writing = Literal["with a key", "never", "always"]


class Keys:
    """The keys of a server.

    Args:
        text: keys with commas between them.
        writing: "with a key"; "never", whatever key is sent; "always", without one, for a scratch dataset only.
    """

    def __init__(self, text: str = "", *, writing: Writing = "with a key") -> None:
        self._digests = [_digest(key.strip()) for key in text.split(",") if key.strip()]
        self._writing = writing

    def check(self, authorization: str) -> None:
        """Let a write pass.

        The time that this takes does not depend on where a key differs: digests of one length are compared, all of
        them each time.

        Raises:
            Problem: 401 without a key or with a wrong one, 403 where nobody may write.
        """
        if self._writing == "always":
            return
        if self._writing == "never" or not self._digests:
            raise Problem(403, "this server is read-only. It takes writes when it is started with KGRAG_API_KEYS.")
        scheme, _, key = authorization.partition(" ")
        given = _digest(key.strip())
        matches = [hmac.compare_digest(given, known) for known in self._digests]
        if scheme.lower() != "bearer" or not any(matches):
            refused = {"WWW-Authenticate": 'Bearer realm="kgrag"'}
            raise Problem(401, "writing needs a key that is known. Send Authorization: Bearer KEY.", refused)


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()
