"""What is read from text without a language model: by rules, which find less than a model, and more that is wrong."""

from __future__ import annotations

__all__ = ["PASSED_OVER", "is_by_rules", "notes_on"]

_NOTE = (
    "no language model is set: rules read these facts from the text, and many of them are wrong or missing. "
    "Set KGRAG_MODEL and build again to have a model read it"
)

PASSED_OVER = (
    "poly_rag has facts that answer it, which were passed over: rules read them from text, without a language model. "
    "Method poly_rag answers from them"
)


def is_by_rules(identity: str) -> bool:
    """Return whether a model, by its identity, is that of rules.

    >>> is_by_rules("extractive-9"), is_by_rules("gpt-4o-mini")
    (True, False)
    """
    from kgrag.settings import EXTRACTIVE  # loads pydantic, which most commands do not need

    return identity == EXTRACTIVE or identity.startswith(f"{EXTRACTIVE}-")


def notes_on(identity: str, facts: int) -> tuple[str, ...]:
    """Return what a person is to know of a build in which a model, by its identity, read some facts from text."""
    return (_NOTE,) if facts and is_by_rules(identity) else ()
