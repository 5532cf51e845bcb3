"""Audits: what is checked of an ontology, beyond what the store's own graphs must look like.

The public names are loaded when first used: a validation of data needs none of the checks of ontologies.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kgrag.audit.auditing import AuditOptions, audit, audit_triples
    from kgrag.audit.checks import Check, check_named, load_checks
    from kgrag.audit.findings import Audit, AuditFinding, Undecided
    from kgrag.audit.profiles import load_profile, profile_names
    from kgrag.audit.validating import ValidationOptions, validate_triples
    from kgrag.shacl.pyshacl_validation import Validation, validate

__all__ = [
    "Audit",
    "AuditFinding",
    "AuditOptions",
    "Check",
    "Undecided",
    "Validation",
    "ValidationOptions",
    "audit",
    "audit_triples",
    "check_named",
    "load_checks",
    "load_profile",
    "profile_names",
    "validate",
    "validate_triples",
]

_HOME = {
    "Audit": "kgrag.audit.findings",
    "AuditFinding": "kgrag.audit.findings",
    "AuditOptions": "kgrag.audit.auditing",
    "Check": "kgrag.audit.checks",
    "Undecided": "kgrag.audit.findings",
    "Validation": "kgrag.shacl.pyshacl_validation",
    "ValidationOptions": "kgrag.audit.validating",
    "audit": "kgrag.audit.auditing",
    "audit_triples": "kgrag.audit.auditing",
    "check_named": "kgrag.audit.checks",
    "load_checks": "kgrag.audit.checks",
    "load_profile": "kgrag.audit.profiles",
    "profile_names": "kgrag.audit.profiles",
    "validate": "kgrag.shacl.pyshacl_validation",
    "validate_triples": "kgrag.audit.validating",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'kgrag.audit' has no attribute {name!r}; it has {', '.join(__all__)}")
    return getattr(importlib.import_module(_HOME[name]), name)
