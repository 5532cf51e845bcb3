"""Plain retrieval over the chunks of documents, the baseline of every comparison."""

from kgrag.methods.passages.method import Passages

__all__ = ["Passages"]
