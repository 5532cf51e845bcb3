"""Deterministic repair: what a check is certain of is changed in the text, without a model."""

from __future__ import annotations

from collections.abc import Callable

from kgrag.stages.sparql_check.edits import applied
from kgrag.stages.sparql_check.findings import Check

__all__ = ["mend", "mended"]

_MOST_ROUNDS = 5


def mend(check: Check) -> str | None:
    """Give the query with everything mended that is certain: prefixes, brackets, lost blanks, one turn or path a fault.

    OBQC section 4 leaves all of it to a model; these faults need none. Check the result again: one mend can bring to
    light what another fault had hidden.

    Returns:
        The changed text, or None when nothing is certain.
    """
    first: dict[tuple[int, str], int] = {}
    edits = []
    for number, finding in enumerate(check.findings):
        if finding.mend is not None and first.setdefault((finding.root, finding.mend.text), number) == number:
            edits.append(finding.mend)
    text = applied(check.query, edits)
    return text if text != check.query else None


def mended(check: Check, recheck: Callable[[str], Check]) -> Check:
    """Mend and check again until nothing is left to mend; gives the last check, which is the first when nothing was.

    A text that was there before ends it, and so does one with more faults than the one before.
    """
    seen = {check.query}
    for _ in range(_MOST_ROUNDS):
        text = mend(check)
        if text is None or text in seen:
            break
        seen.add(text)
        after = recheck(text)
        if _faults(after) > _faults(check):
            break
        check = after
    return check


def _faults(check: Check) -> int:
    """Count faults that block; a text that cannot be read has the most."""
    return 10**6 if check.read is None else sum(finding.blocks for finding in check.findings)
