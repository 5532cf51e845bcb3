"""One knowledge base: ``wiring`` makes its parts from the settings, ``facade`` is the class that users work with."""

from kgrag.knowledge_base.facade import KnowledgeBase

__all__ = ["KnowledgeBase"]
