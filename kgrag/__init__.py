"""kgrag: retrieval-augmented generation on one triple store.

The public names are loaded when first used, so that ``import kgrag`` and ``kgrag --help`` stay quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kgrag.errors import InputError, KgragError, ServiceError, StateError
    from kgrag.knowledge_base import KnowledgeBase
    from kgrag.knowledge_base.async_facade import AsyncKnowledgeBase
    from kgrag.knowledge_base.sharded_bases import Shards
    from kgrag.llm.budget import Budget
    from kgrag.model import Answer, Citation, Document, Hit, Span, Table
    from kgrag.settings import Settings

__all__ = [
    "Answer",
    "AsyncKnowledgeBase",
    "Budget",
    "Citation",
    "Document",
    "Hit",
    "InputError",
    "KgragError",
    "KnowledgeBase",
    "ServiceError",
    "Settings",
    "Shards",
    "Span",
    "StateError",
    "Table",
]

_HOME = {
    "Answer": "model",
    "AsyncKnowledgeBase": "knowledge_base.async_facade",
    "Budget": "llm.budget",
    "Citation": "model",
    "Document": "model",
    "Hit": "model",
    "InputError": "errors",
    "KgragError": "errors",
    "KnowledgeBase": "knowledge_base",
    "ServiceError": "errors",
    "Settings": "settings",
    "Shards": "knowledge_base.sharded_bases",
    "Span": "model",
    "StateError": "errors",
    "Table": "model",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'kgrag' has no attribute {name!r}; it has {', '.join(__all__)}")
    return getattr(importlib.import_module(f"kgrag.{_HOME[name]}"), name)
