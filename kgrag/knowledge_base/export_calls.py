"""The calls of ``KnowledgeBase`` that hand its content to other programs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.parsers import expat

import pyoxigraph as ox

from kgrag import queries
from kgrag.errors import InputError, StateError, StorageFailed, UnknownName
from kgrag.knowledge_base.wiring import Wiring
from kgrag.store import graph_kinds
from kgrag.store.language_tags import by_lower_case, language_tags, respelled
from kgrag.store.lexical_forms import as_loaded
from kgrag.vocab import PREFIXES

__all__ = ["ExportCalls", "graph_forms"]

_FORMS = {
    ".ttl": ox.RdfFormat.TURTLE,
    ".owl": ox.RdfFormat.RDF_XML,
    ".rdf": ox.RdfFormat.RDF_XML,
    ".nt": ox.RdfFormat.N_TRIPLES,
    ".jsonld": ox.RdfFormat.JSON_LD,
    ".trig": ox.RdfFormat.TRIG,
}


def graph_forms() -> tuple[str, ...]:
    """Return the suffixes of files that chosen graphs can be written to."""
    return (*_FORMS, ".graphml")


class ExportCalls(Wiring):
    """What other programs get of a knowledge base."""

    def export(self, target: str | Path) -> int:
        """Write every quad as N-Quads (``.gz`` when named so), a manifest, and an archive; returns the count of quads.

        The archive has what cannot be made again from the quads: trained weights, paid completions, the log of writes,
        settings without secrets. Vectors, word indexes and the cache of embeddings are made again by the first use.
        """
        from kgrag.settings import as_toml
        from kgrag.store import transfer

        return transfer.export(self.store, Path(target), folder=self.path, settings=as_toml(self.settings))

    def export_graphs(self, target: str | Path, *graphs: str) -> int:
        """Write named graphs for another program, by the suffix of the file; returns the count of triples.

        ``.owl`` and ``.rdf`` are RDF/XML, as Protégé reads it, ``.ttl``, ``.nt``, ``.jsonld`` and ``.trig`` what they
        are called, and ``.graphml`` a graph of nodes and edges for Gephi and the like. Only TriG keeps graphs apart;
        literals and language tags are written as they were loaded.

        Args:
            target: the file.
            graphs: IRIs; none: all graphs that state facts (ontologies, data, what was extracted).

        Raises:
            UnknownName: there is no such graph.
            InputError: the suffix is none of these; a property cannot be written in RDF/XML.
            StorageFailed: the file cannot be written.
        """
        from kgrag.store.graphml import write_graphml

        file = Path(target)
        if file.suffix.lower() not in graph_forms():
            raise InputError(f"{file}: graphs are written to {', '.join(graph_forms())}. Name such a file.")
        nodes = self._chosen(graphs)
        triples = {iri: list(as_loaded(self.store, node)) for iri, node in nodes.items()}
        if file.suffix.lower() == ".graphml":
            write_graphml(triples, file)
        else:
            _write(triples, file, [tag for node in nodes.values() for tag in language_tags(self.store, node)])
        return sum(map(len, triples.values()))

    def export_crate(self, folder: str | Path, *, name: str = "", license_url: str = "") -> int:
        """Write an RO-Crate: the export with a description of sources and of how it was made; returns its quads.

        Args:
            folder: one that is empty or not there yet.
            name: what the crate is called; "": as the knowledge base's folder.
            license_url: address of the licence of the content.

        Raises:
            InputError: the folder has something in it.
            StorageFailed: it cannot be written.
        """
        from kgrag.knowledge_base.research_crate import write_crate
        from kgrag.settings import as_toml

        called = name or (self.path.resolve().name if self.path else "kgrag")
        files = {"folder": self.path, "settings": as_toml(self.settings)}
        return write_crate(self.store, Path(folder), name=called, license_url=license_url, **files)  # type: ignore[arg-type]

    def import_(self, source: str | Path) -> int:
        """Read an export into this knowledge base, which must be empty; returns the count of quads."""
        from kgrag.store import transfer

        if self.store.revision > 0:
            raise StateError("this knowledge base is not empty, and an import would mix two. Import into a new --kb.")
        return transfer.import_(self.store, Path(source), folder=self.path)

    def _chosen(self, graphs: Sequence[str]) -> dict[str, ox.NamedNode]:
        if not graphs:
            values = {"catalogue": self.store.names.catalogue, "kinds": graph_kinds.fact_kinds()}
            listed = self.store.select(queries.bind("facts/graphs", **values)).values()
            return {iri: ox.NamedNode(iri) for (iri,) in listed}
        try:
            nodes = {iri: ox.NamedNode(iri) for iri in graphs}
        except ValueError as error:
            raise InputError(f"a graph is no absolute IRI ({error}): {', '.join(graphs)}.") from None
        if unknown := [iri for iri, node in nodes.items() if not self.store.described(node)]:
            raise UnknownName(
                f"there is no graph <{unknown[0]}>. `kgrag stats` counts them, catalogue/graphs lists them."
            )
        return nodes


def _write(triples: dict[str, list[ox.Triple]], file: Path, tags: Sequence[str]) -> None:
    form = _FORMS[file.suffix.lower()]
    quads: list[ox.Triple] | list[ox.Quad] = [each for found in triples.values() for each in found]
    if form.supports_datasets and file.suffix.lower() == ".trig":
        quads = [
            ox.Quad(each.subject, each.predicate, each.object, ox.NamedNode(graph))
            for graph, found in triples.items()
            for each in found
        ]
    try:
        written = respelled(ox.serialize(quads, format=form, prefixes=PREFIXES) or b"", form, by_lower_case(tags))
        if form == ox.RdfFormat.RDF_XML:  # which cannot have every property, nor every character
            expat.ParserCreate(namespace_separator=" ").Parse(written, True)
    except (ValueError, expat.ExpatError) as error:
        raise InputError(f"{file}: this cannot be written so: {error}. Write Turtle (.ttl).") from None
    part = file.with_name(f".partial-{file.name}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(written)
        part.replace(file)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise StorageFailed(f"{file} cannot be written: {error}. Choose another place.") from error
