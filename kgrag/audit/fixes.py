"""Safe mends: what a check's stored update would change, shown as a diff before anything is written.

Only checks with ``aud:fix`` have one, and only those that found something run theirs. The updates run one after another
on the scratch store of the audit, in the order of the checks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import unified_diff

import pyoxigraph as ox

from kgrag import queries
from kgrag.audit.audit_context import Scope
from kgrag.audit.findings import Audit
from kgrag.vocab import AUDIT

__all__ = ["Mend", "mended"]


@dataclass(frozen=True, slots=True)
class Mend:
    """What mending changed: triples before and after, and (check, stored update) of what was run."""

    before: tuple[ox.Triple, ...]
    after: tuple[ox.Triple, ...]
    run: tuple[tuple[str, str], ...]

    @property
    def changes(self) -> bool:
        """Say whether anything differs."""
        return set(self.before) != set(self.after)

    def diff(self, name: str) -> str:
        """Give a unified diff of sorted N-Triples, "" when nothing differs."""
        old, new = (sorted(f"{triple} .\n" for triple in triples) for triples in (self.before, self.after))
        return "".join(unified_diff(old, new, f"{name} (as it is)", f"{name} (mended)", n=0))


def mended(scope: Scope, found: Audit) -> Mend:
    """Run the updates of the checks that found something, on the scratch store that was audited.

    Literals that no update touches stay as they were written.

    Args:
        scope: the target, as the audit left it.
        found: what the audit found, without a limit of 0.
    """
    before = tuple(scope.written.restored(scope.bench.triples(AUDIT.target)))
    run = tuple(_updates(found))
    for _, update in run:
        scope.bench.change(_bound(update))
    return Mend(before, tuple(scope.written.restored(scope.bench.triples(AUDIT.target))), run)


def _updates(found: Audit) -> Iterable[tuple[str, str]]:
    """Yield (check, stored update) of the checks with findings, in the order of the checks, each update once."""
    seen: set[str] = set()
    for name in sorted(found.totals):
        fix = found.checks[name].fix if name in found.checks else ""
        if fix and fix not in seen:
            seen.add(fix)
            yield name, fix


def _bound(update: str) -> str:
    values = {"target": AUDIT.target, "context": AUDIT.context}
    wanted: Sequence[str] = list(queries.describe(update).parameters)
    return queries.bind(update, **{name: values[name] for name in wanted})
