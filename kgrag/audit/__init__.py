"""Audits: what is checked of an ontology, beyond what the store's own graphs must look like."""

from kgrag.audit.validation import Validation, validate

__all__ = ["Validation", "validate"]
