"""The default method: the best evidence for a question from whatever was built.

Passages, aggregates of propositions and the graph of names that chunks share are one pool of evidence, whose entries
are chunks, raised where they state facts that og_rag finds. A question that the facts of the store answer exactly is
answered from these, and one with a marker that means a cited document is left to cg_rag. Nothing of its own is built.
Graphs written: none. Queries read: ``auto/*``, and those of the methods that are asked.
"""

from kgrag.declarations import MethodDeclaration

__all__ = ["DECLARATION"]

DECLARATION = MethodDeclaration(
    name="auto",
    implementation="kgrag.methods.auto.method:Auto",
    label="the best of all that is built",
    retrieves="chunks, by all that is built: words, meaning, joined propositions, a walk over the names that chunks "
    "share, and coverage of the question's words",
    needs="`kgrag ingest`; better after `kgrag build sire_rag`",
    paper="SiReRAG's pool; Gutiérrez et al. 2024 (HippoRAG) for the walk; Carbonell and Goldstein 1998 for coverage",
)
