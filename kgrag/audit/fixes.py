"""Safe fixes: what the stored updates of checks would change, shown as a diff before anything is written.

Only checks with ``aud:fix`` have one, and only those that found something run theirs. The updates run one after another
on the scratch store of the audit, in the order of the checks.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import unified_diff

import pyoxigraph as ox

from kgrag import queries
from kgrag.audit.audit_context import AuditTarget
from kgrag.audit.findings import Audit
from kgrag.vocab import AUDIT

__all__ = ["Mend", "mended"]


@dataclass(frozen=True, slots=True)
class Mend:
    """The outcome of fixes: triples before and after, and (check, stored update) of what was run."""

    before: tuple[ox.Triple, ...]
    after: tuple[ox.Triple, ...]
    run: tuple[tuple[str, str], ...]

    @property
    def changes(self) -> bool:
        """Whether anything differs."""
        return set(self.before) != set(self.after)

    def diff(self, name: str) -> str:
        """Return a unified diff of sorted N-Triples, "" when nothing differs."""
        old, new = (sorted(f"{triple} .\n" for triple in triples) for triples in (self.before, self.after))
        return "".join(unified_diff(old, new, f"{name} (as it is)", f"{name} (mended)", n=0))


def mended(target: AuditTarget, audit: Audit) -> Mend:
    """Run the updates of the checks that found something, on the scratch store that was audited.

    Literals that no update touches stay as they were written.

    Args:
        target: the target, as the audit left it.
        audit: its audit, without a limit of 0.
    """
    graphs = {"target": AUDIT.target, "context": AUDIT.context}
    before = tuple(target.written.restored(target.bench.triples(AUDIT.target)))
    check_of_update: dict[str, str] = {}  # two checks may share an update, which runs once
    for check in sorted(audit.totals):
        if check in audit.checks and (update := audit.checks[check].fix):
            check_of_update.setdefault(update, check)
    for update in check_of_update:
        parameters = queries.describe(update).parameters
        target.bench.change(queries.bind(update, **{name: graphs[name] for name in parameters}))
    after = tuple(target.written.restored(target.bench.triples(AUDIT.target)))
    return Mend(before, after, tuple((check, update) for update, check in check_of_update.items()))
