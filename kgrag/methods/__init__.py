"""Retrieval methods, one module a paper; ``METHODS`` is where a new one is registered.

>>> sorted(METHODS)
['cg_rag', 'obqc', 'og_rag', 'passages', 'poly_rag', 'sire_rag']
"""

from __future__ import annotations

__all__ = ["METHODS"]

METHODS: dict[str, str] = {
    "cg_rag": "kgrag.methods.cg_rag:CgRag",
    "obqc": "kgrag.methods.obqc.method:Obqc",
    "og_rag": "kgrag.methods.og_rag:OgRag",
    "passages": "kgrag.methods.passages.method:Passages",
    "poly_rag": "kgrag.methods.poly_rag:PolyRag",
    "sire_rag": "kgrag.methods.sire_rag:SireRag",
}
"""Name on the command line -> ``module:Class``; imported when first used."""
