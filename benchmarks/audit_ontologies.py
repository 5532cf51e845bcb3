"""Findings and seconds of the ontology audit on real ontologies, by family of checks.

    python -m benchmarks.audit_ontologies [--profile default] [--checks] [--json]

Each ontology is audited three times in one process, after one that is not counted; the seconds are the least of CPU
time, with reading the file and without a reasoner. ``--checks`` adds a line for each check with a finding.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import data_folder
from kgrag.audit import Audit, AuditOptions
from kgrag.knowledge_base.audit_runs import audit_files

__all__ = ["main"]

_SUFFIXES = {".ttl", ".owl", ".rdf"}
_ROUNDS = 3


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one line an ontology."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--profile", default="default")
    parser.add_argument("--checks", action="store_true")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    files = sorted(path for path in (data_folder() / "ontologies").iterdir() if path.suffix in _SUFFIXES)
    options = AuditOptions(profile=given.profile)
    audit_files(files[:1], options)
    rows = [_measured(path, options) for path in files]
    print(json.dumps(rows, indent=2) if given.json else _table(rows, checks=given.checks))


def _measured(path: Path, options: AuditOptions) -> dict[str, Any]:
    seconds = []
    for _ in range(_ROUNDS):
        begin = time.process_time()
        audit = audit_files([path], options)
        seconds.append(time.process_time() - begin)
    return {
        "ontology": path.name,
        "seconds": round(min(seconds), 2),
        **{severity: audit.counts[severity] for severity in ("Violation", "Warning", "Info", "not_decided")},
        "families": _families(audit),
        "checks": dict(audit.totals),
    }


def _families(audit: Audit) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for check, total in audit.totals.items():
        counts[audit.checks[check].family] += total
    return dict(sorted(counts.items()))


def _table(rows: Sequence[dict[str, Any]], *, checks: bool) -> str:
    names = sorted({name for row in rows for name in row["families"]})
    head = f"{'ontology':<36} {'CPU s':>6} {'Viol.':>6} {'Warn.':>6} {'Info':>6} " + " ".join(f"{n:>5}" for n in names)
    lines = [head]
    for row in rows:
        counts = " ".join(f"{row['families'].get(name, 0):>5}" for name in names)
        figures = f"{row['seconds']:>6.2f} {row['Violation']:>6} {row['Warning']:>6} {row['Info']:>6}"
        lines.append(f"{row['ontology']:<36} {figures} {counts}")
        if checks:
            lines += [f"    {check:<8} {total:>5}" for check, total in row["checks"].items()]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
