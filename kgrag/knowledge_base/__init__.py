"""One knowledge base: ``wiring`` makes its parts from the settings, ``facade`` is the class that users work with.

The class is loaded when it is first used: a validation of files needs none of the parts of a knowledge base.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kgrag.knowledge_base.facade import KnowledgeBase

__all__ = ["KnowledgeBase"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'kgrag.knowledge_base' has no attribute {name!r}; it has KnowledgeBase")
    return importlib.import_module("kgrag.knowledge_base.facade").KnowledgeBase
