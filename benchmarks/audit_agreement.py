"""Agreement of the ontology audit with OOPS! and ROBOT report, and every disagreement.

    python -m benchmarks.audit_agreement [--list 20] [--json]

OOPS!: its own regression inputs with what it reports (``oops_pitfalls``). ROBOT: an edit file of Uberon with a report
that ROBOT gave (``robot_report``); that report is of another state of the file, so what it says of terms that the file
does not describe is left out and counted ("absent"). A check stands for what its anchors name; all checks are run,
those that are off by default as well. Compared are pairs of file and term; where they report a pitfall without terms,
or we report it of the ontology, files alone. A line has what they report, what we report, what both do, precision and
recall of ours against theirs, and how many of those that we miss are of terms in another namespace, which we do not
judge ("foreign"). ``--list N`` shows N disagreements of each.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import data_folder
from kgrag.audit import Audit, AuditOptions, load_checks
from kgrag.knowledge_base.audit_runs import audit_files, triples_of
from kgrag.model import plain

__all__ = ["main"]

_PREFIXES = {"obo": "http://purl.obolibrary.org/obo/"}
_Pairs = set[tuple[str, str]]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print two tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--list", type=int, default=0, metavar="N")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        profile = _everything(Path(folder))
        tables = {"OOPS!": list(_oops(profile)), "ROBOT report": list(_robot(profile))}
    if given.json:
        print(json.dumps({name: [row.to_json() for row in rows] for name, rows in tables.items()}, indent=2))
        return
    for name, rows in tables.items():
        print(f"{name}\n{_table(rows, given.list)}\n")


def _everything(folder: Path) -> Path:
    """Write a profile in which every check is run."""
    path = folder / "everything.toml"
    lines = [f'"{check.identifier}" = "Info"' for check in load_checks() if check.family != "kg"]
    path.write_text("\n".join(["[severities]", *lines]), encoding="utf-8")
    return path


@dataclass(frozen=True, slots=True)
class _Row:
    """One pitfall or rule: the checks that stand for it, and pairs of file and term."""

    name: str
    checks: tuple[str, ...]
    theirs: _Pairs
    ours: _Pairs
    namespaces: tuple[str, ...] = ()
    absent: int = 0

    @property
    def foreign(self) -> int:
        """Count what only they report, of terms in a namespace that is not the ontology's own."""
        missed = self.theirs - self.ours
        return sum(bool(term) and not term.startswith(self.namespaces) for _, term in missed) if self.namespaces else 0

    def to_json(self) -> dict[str, Any]:
        both = self.theirs & self.ours
        return {
            "name": self.name,
            "checks": self.checks,
            "theirs": len(self.theirs),
            "ours": len(self.ours),
            "both": len(both),
            "precision": len(both) / len(self.ours) if self.ours else None,
            "recall": len(both) / len(self.theirs) if self.theirs else None,
            "foreign": self.foreign,
            "absent": self.absent,
            "only theirs": sorted(self.theirs - self.ours),
            "only ours": sorted(self.ours - self.theirs),
        }


def _table(rows: Iterable[_Row], shown: int) -> str:
    heads = ("theirs", "ours", "both", "prec.", "recall", "foreign", "absent")
    lines = [f"{'what':<34} {'checks':<24} " + " ".join(f"{head:>7}" for head in heads)]
    for row in rows:
        told = row.to_json()
        rates = ["-" if told[name] is None else f"{told[name]:.2f}" for name in ("precision", "recall")]
        cells = [told["theirs"], told["ours"], told["both"], *rates, told["foreign"], told["absent"]]
        checks = " ".join(row.checks) or "not in the catalogue"
        lines.append(f"{row.name:<34} {checks:<24} " + " ".join(f"{cell:>7}" for cell in cells))
        for side in ("only theirs", "only ours"):
            lines += [f"    {side}: {file} {term}" for file, term in told[side][:shown]]
            if 0 < shown < len(told[side]):
                lines.append(f"    {side}: {len(told[side]) - shown} more")
    return "\n".join(lines)


def _anchored(name: str) -> tuple[str, ...]:
    """Return the checks that an anchor names, whole or as the part of it before a hyphen."""
    wanted = {name, name.partition("-")[0]}
    found = [
        c.identifier for c in load_checks() if any(a in wanted or a.partition("-")[0] in wanted for a in c.anchors)
    ]
    exact = [c.identifier for c in load_checks() if name in c.anchors]
    return tuple(exact or found)


def _oops(profile: Path) -> Iterator[_Row]:
    folder = data_folder() / "oops_pitfalls"
    records = [json.loads(line) for line in (folder / "expected.jsonl").read_text(encoding="utf-8").splitlines()]
    records = [record for record in records if record["expected"] is not None]
    audits = {r["file"]: audit_files([folder / "input" / r["file"]], AuditOptions(str(profile))) for r in records}
    theirs: dict[str, dict[str, list[Any]]] = defaultdict(dict)
    for record in records:
        for each in record["expected"]:
            theirs[each["code"]][record["file"]] = each["affected"]
    for code, files in sorted(theirs.items()):
        checks = _anchored(f"oops:{code}")
        whole = any(not affected for affected in files.values())
        pairs = any(isinstance(each, list) for affected in files.values() for each in affected)
        reported = {
            (file, term) for file, affected in files.items() for term in (_flat(affected) if not whole else [""])
        }
        found = {pair for file, audit in audits.items() for pair in _found(file, audit, checks, pairs=pairs)}
        yield _Row(code, checks, reported, {(file, "") for file, _ in found} if whole else found)


def _flat(affected: Iterable[Any]) -> Iterator[str]:
    for each in affected:
        yield from each if isinstance(each, list) else [each]


def _found(file: str, audit: Audit, checks: Sequence[str], *, pairs: bool) -> Iterator[tuple[str, str]]:
    own = tuple(audit.namespaces)
    for finding in audit.findings:
        if finding.check in checks:
            yield file, finding.focus
            if pairs and finding.value.startswith(own):
                yield file, finding.value


def _robot(profile: Path) -> Iterator[_Row]:
    folder = data_folder() / "robot_report"
    audit = audit_files([folder / "edit.owl"], AuditOptions(str(profile)))
    theirs: dict[str, _Pairs] = defaultdict(set)
    with (folder / "report.tsv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            theirs[row["Rule Name"]].add(("", _expanded(row["Subject"])))
    described = {plain(triple.subject) for triple in triples_of(folder / "edit.owl")}
    for rule, reported in sorted(theirs.items()):
        checks = _anchored(f"robot:{rule}")
        found = set(_found("", audit, checks, pairs=False))
        if rule.startswith("missing_ontology"):
            yield _Row(rule, checks, {("", "") for _ in reported}, {("", "") for _ in found})
            continue
        there = {pair for pair in reported if pair[1] in described}
        yield _Row(rule, checks, there, found, audit.namespaces, len(reported - there))


def _expanded(name: str) -> str:
    """Return the IRI that ROBOT shortens."""
    if re.match(r"https?:", name):
        return name
    prefix, _, local = name.partition(":")
    return _PREFIXES.get(prefix, f"{_PREFIXES['obo']}{prefix}_") + local


if __name__ == "__main__":
    main()
