"""Retrieval methods, one package each; a package declares its method and registers it (``kgrag.declarations``).

A method may live anywhere: what makes it one is an entry point of the group ``kgrag.methods`` that names its
declaration (``kgrag.plugins``). These six are registered in kgrag's own ``pyproject.toml``.
"""
