"""Retrieval methods, one package each; a package declares its method and registers it (``kgrag.declarations``).

A method may live anywhere: what makes it one is an entry point of the group ``kgrag.methods`` that names its
declaration (``kgrag.plugins``). These seven are registered in kgrag's own ``pyproject.toml``.

A method is asked by its name, or by an object with its hyper-parameters, which is such a name:

>>> from kgrag import methods
>>> str(methods.OgRag(nodes=5)), methods.OgRag(nodes=5)
('og_rag:nodes=5', OgRag(nodes=5))
"""

from kgrag.methods.typed_methods import Auto, CgRag, Obqc, OgRag, Passages, PolyRag, SireRag

__all__ = ["Auto", "CgRag", "Obqc", "OgRag", "Passages", "PolyRag", "SireRag"]
