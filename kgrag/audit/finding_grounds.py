"""What a finding of an audit rests on: a smallest part of the target in which its check still finds it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import pyoxigraph as ox

from kgrag.audit.audit_context import prepare
from kgrag.audit.auditing import AuditOptions, audit_triples
from kgrag.audit.check_runner import run_checks
from kgrag.audit.findings import AuditFinding
from kgrag.audit.profiles import catalogue_of, load_profile
from kgrag.audit.step_input import StepInput
from kgrag.errors import InputError
from kgrag.ports import Workbench
from kgrag.reasoning.grounds import Grounds
from kgrag.reasoning.justification import smallest
from kgrag.reasoning.nearness import by_nearness
from kgrag.reasoning.proofs import Statement, statements_of

__all__ = ["grounds_of_finding"]


def grounds_of_finding(
    triples: Sequence[ox.Triple], fingerprint: str, *, name: str, bench: Workbench, options: AuditOptions
) -> Grounds:
    """Return what a finding rests on, in the namespace that the whole target has as its own.

    Args:
        triples: the target of the audit.
        fingerprint: of the finding, or the beginning of it.
        name: what the target is called.
        bench: a scratch store; its former content is deleted.
        options: of the audit; ``seconds`` is the time that it may take.

    Raises:
        InputError: there is no such finding, or several begin so.
        NotDecided: the time is up, or the finding depends on something besides the target.
    """
    found = audit_triples(triples, name=name, bench=bench, options=replace(options, ungathered=True, limit=None))
    finding = _named(found.findings, fingerprint)
    profile = load_profile(options.profile)
    whole = catalogue_of(profile)
    catalogue = replace(whole, checks=tuple(check for check in whole.checks if check.identifier == finding.check))
    own = found.namespaces[0] if len(found.namespaces) == 1 else options.namespace

    def still_found(part: Sequence[Statement]) -> bool:
        stated = list(dict.fromkeys(triple for statement in part for triple in statement))
        target = prepare(bench, stated, name=name, namespace=own)
        given = StepInput(target, None, options.reasoner or profile.reasoner, options.seconds, options.embedder)
        return any(_is_same(each, finding) for each in run_checks(catalogue, profile, given).findings)

    near = by_nearness(list(dict.fromkeys(triples)), [_term(text) for text in (finding.focus, finding.value) if text])
    stated = smallest(statements_of(near), still_found, until=time.monotonic() + options.seconds)
    if stated is None:
        raise InputError(f"{finding.check} does not find it in the target alone: it looks at something else as well.")
    return Grounds(finding.check, finding.message, tuple(stated))


def _named(findings: Sequence[AuditFinding], fingerprint: str) -> AuditFinding:
    named = [finding for finding in findings if fingerprint and finding.fingerprint.startswith(fingerprint)]
    if len(named) != 1:
        many = "no finding has" if not named else f"{len(named)} findings have"
        raise InputError(f"{many} the fingerprint '{fingerprint}'. `kgrag audit --format json` lists fingerprints.")
    return named[0]


def _is_same(one: AuditFinding, other: AuditFinding) -> bool:
    return (one.check, one.focus, one.path, one.value) == (other.check, other.focus, other.path, other.value)


def _term(text: str) -> ox.NamedNode | ox.BlankNode | ox.Literal:
    if text.startswith("_:"):
        return ox.BlankNode(text[2:])
    try:
        return ox.NamedNode(text)
    except ValueError:
        return ox.Literal(text)
