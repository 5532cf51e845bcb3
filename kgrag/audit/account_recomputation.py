"""Counts and checksums of graphs, computed again, and whether they are of the changes by which a graph was written.

An account of a graph names the change of the store that it was written by (``kgrag.store.checksums``). From the first
change of the writer on that wrote the first of them, every graph that a change wrote has one; what was written before,
by an earlier kgrag, may have none, or a checksum without a number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kgrag.audit.stated_content import StatedGraph, StatedNode, differing, fault
from kgrag.audit.step_input import Row
from kgrag.model import Term, plain
from kgrag.store.checksums import checksum, read_account
from kgrag.store.graph_kinds import kinds
from kgrag.vocab import KG, VOID, local_name

__all__ = ["account_rows", "first_account"]


def first_account(entries: Iterable[StatedNode]) -> int | None:
    """Return the number of the first change of the writer of the first account; None where there is no account.

    0 where no change names the lineage of that writer, as each writer's first one does.
    """
    numbers, lineages = [], [0]
    for entry in entries:
        numbers += [int(text.partition(":")[0]) for text in entry.all(KG.checksum) if _is_account(text)]
        if KG.lineage in entry.values:
            lineages.append(int(local_name(plain(entry.iri))))
    first = min(numbers, default=None)
    return None if first is None else max(number for number in lineages if number <= first)


def account_rows(graph: StatedGraph, since: int | None) -> Iterator[Row]:
    """Yield where the count, the accounts and the changes of a graph do not agree with each other and its triples.

    Args:
        graph: a graph that the catalogue lists.
        since: the change from which on every graph has an account; None: no graph has one.

    Raises:
        LookupError, ValueError: a value that this is computed from is missing or malformed.
    """
    entry = graph.entry
    if VOID.triples in entry.values:
        yield from differing(entry, VOID.triples, len(graph.triples), "its graph has triples")
    accounts = [read_account(text) for text in entry.all(KG.checksum)]
    changes = {int(local_name(change)) for change in entry.all(KG.publication)}
    counted = _is_counted(graph.kind)
    known = [value for _, value in accounts if value]
    recent = {change for change in changes if since is not None and change >= since}
    if counted:
        yield from _of_last_change(entry, accounts, changes, recent)
        whole = bool(known)
    else:
        yield from _of_each_change(entry, accounts, recent)
        whole = bool(known) and len(known) == len(accounts) and recent == changes
    if whole and _sum(known) != checksum(graph.triples):
        what = "that of its triples: some were changed without kgrag"
        yield fault(entry, KG.checksum, f"states another checksum than {what}", " ".join(known))


def _of_last_change(
    entry: StatedNode, accounts: list[tuple[int | None, str]], changes: set[int], recent: set[int]
) -> Iterator[Row]:
    """Compare the one account of a graph with the last change by which it was written."""
    last = max(changes)
    if not accounts and recent:
        yield fault(entry, KG.checksum, "has no checksum, and every graph that was written since has one")
    for number, value in accounts:
        # an update of which nobody knows what it wrote leaves no graph with a checksum, and names few of them
        if number is not None and (number != last if value else number < last):
            yield fault(entry, KG.publication, f"was last written by change {last}, and its checksum is of {number}")


def _of_each_change(entry: StatedNode, accounts: list[tuple[int | None, str]], recent: set[int]) -> Iterator[Row]:
    """Compare the accounts of a graph that grows with the changes by which it grew."""
    if all(value for _, value in accounts) and (odd := {number for number, _ in accounts} ^ recent):
        named = ", ".join(str(number) for number in sorted(odd, key=str))
        yield fault(entry, KG.checksum, f"was written by a change without a checksum, or the reverse: {named}")


def _is_counted(kind: Term) -> bool:
    declared = kinds().get(plain(kind))
    return declared is None or declared.counted


def _is_account(text: str) -> bool:
    return text.rpartition(":")[0].isdigit()


def _sum(values: Iterable[str]) -> str:
    total = ""
    for value in values:
        total = checksum((), before=f"{int(total or '0', 16) + int(value, 16):x}")
    return total
