"""The gate: what is to enter a knowledge base must have no violation by a profile, or it is refused with the report.

Each draft of an ontology is audited by itself, with the graphs that it imports left out: they have been through the
gate on their own. Drafts of other kinds pass; the shapes of ``publish`` are theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kgrag.audit.auditing import AuditOptions, audit_triples
from kgrag.audit.findings import Audit
from kgrag.audit.reports import as_text
from kgrag.errors import ShapeViolation
from kgrag.model import GraphDraft
from kgrag.ports import TripleStore, Workbench
from kgrag.vocab import KG

__all__ = ["gate"]

_SHOWN = 5


def gate(
    drafts: Sequence[GraphDraft],
    *,
    profile: str,
    open_bench: Callable[[], Workbench],
    store: TripleStore | None = None,
) -> tuple[Audit, ...]:
    """Audit the drafts of ontologies, and give the audits; nothing is written.

    Args:
        drafts: what is to enter.
        profile: a profile by name, or a TOML file.
        open_bench: gives a scratch store.
        store: where they are to enter; imports that it holds are at hand.

    Raises:
        ShapeViolation: a draft has violations; the message is the report, at most five findings a check.
        UnknownName: there is no such profile.
    """
    options = AuditOptions(profile=profile, limit=_SHOWN)
    audits = tuple(
        audit_triples(draft.triples, name=draft.iri.value, bench=open_bench(), options=options, store=store)
        for draft in drafts
        if draft.kind == KG.OntologyGraph
    )
    refused = [as_text(audit) for audit in audits if not audit.conforms]
    if refused:
        told = "\n\n".join(refused)
        raise ShapeViolation(f"{len(refused)} of {len(audits)} ontologies do not conform to '{profile}'.\n\n{told}")
    return audits
