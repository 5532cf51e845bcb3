"""Audits: what is checked of an ontology, beyond what the store's own graphs must look like."""

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
