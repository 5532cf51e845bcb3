"""One knowledge base: ``wiring`` makes its parts from the settings, ``facade`` is what users hold."""

from kgrag.knowledge_base.facade import KnowledgeBase

__all__ = ["KnowledgeBase"]
