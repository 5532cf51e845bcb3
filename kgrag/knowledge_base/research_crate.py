"""A knowledge base as an RO-Crate: a folder that a repository takes, which says what is in it and how it was made.

``ro-crate-metadata.json`` (RO-Crate 1.1, JSON-LD of schema.org) describes the export in the folder, the documents and
ontologies that it was made from, and what made it: an action per method and language model, with its times and tokens.
The provenance of every single fact is in the export itself.

Queries read: ``provenance/summary``, ``catalogue/graphs``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote

from kgrag import queries
from kgrag.errors import InputError, StorageFailed
from kgrag.ports import TripleStore
from kgrag.store import transfer
from kgrag.text import documents
from kgrag.vocab import KG

__all__ = ["EXPORT_NAME", "write_crate"]

EXPORT_NAME = "knowledge-base.nq.gz"
_DESCRIPTOR = "ro-crate-metadata.json"
_PROFILE = "https://w3id.org/ro/crate/1.1"

_Entity = dict[str, Any]


def write_crate(
    store: TripleStore,
    target: Path,
    *,
    name: str,
    license_url: str = "",
    folder: Path | None = None,
    settings: str = "",
) -> int:
    """Write a crate into a folder that is empty or not there yet, and return the count of quads in it.

    Args:
        store: the store.
        target: the folder.
        name: what the crate is called.
        license_url: address of the licence of its content; "" leaves it out.
        folder: of the knowledge base, whose files that cannot be made again are in the crate too.
        settings: the text of ``kgrag.toml`` for it.

    Raises:
        InputError: the folder has something in it.
        StorageFailed: the folder cannot be written.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError(f"{target} is not empty. Name a folder that is not there yet.")
    try:
        target.mkdir(parents=True, exist_ok=True)
        quads = transfer.export(store, target / EXPORT_NAME, folder=folder, settings=settings)
        files = [_file(path) for path in sorted(target.iterdir())]
        sources = [*_documents(store), *_ontologies(store)]
        actions, tools = _actions(store)
        about = f"{quads:,} quads: documents, ontologies and what was made of them, each with its provenance."
        root = {
            "@id": "./",
            "@type": "Dataset",
            "name": name,
            "description": about,
            "datePublished": datetime.now(UTC).isoformat(timespec="seconds"),
            "hasPart": _references(files),
            "isBasedOn": _references(sources),
            "mentions": _references(actions),
            **({"license": {"@id": license_url}} if license_url else {}),
        }
        descriptor = {
            "@id": _DESCRIPTOR,
            "@type": "CreativeWork",
            "about": {"@id": "./"},
            "conformsTo": {"@id": _PROFILE},
        }
        licences = [{"@id": license_url, "@type": "CreativeWork", "name": license_url}] if license_url else []
        graph = [descriptor, root, *files, *licences, *sources, *tools, *actions]
        crate = {"@context": f"{_PROFILE}/context", "@graph": graph}
        written = json.dumps(crate, ensure_ascii=False, indent=2)
        (target / _DESCRIPTOR).write_text(written + "\n", encoding="utf-8")
    except OSError as error:
        raise StorageFailed(f"{target} cannot be written: {error}. Choose another place.") from error
    return quads


def _references(entities: list[_Entity]) -> list[dict[str, str]]:
    return [{"@id": each["@id"]} for each in entities]


def _file(path: Path) -> _Entity:
    form = {".gz": "application/n-quads", ".json": "application/json", ".tar": "application/x-tar"}[path.suffix]
    described = {
        ".gz": "All named graphs, as N-Quads, compressed with gzip; `kgrag import` reads it.",
        ".json": "The manifest of the export: checksums, base IRI, version of its schema.",
        ".tar": "What cannot be made again from the quads: trained weights, paid completions, settings.",
    }[path.suffix]
    with path.open("rb") as opened:
        checksum = hashlib.file_digest(opened, "sha256").hexdigest()
    size = str(path.stat().st_size)
    return {
        "@id": path.name,
        "@type": "File",
        "name": path.name,
        "description": described,
        "encodingFormat": form,
        "contentSize": size,
        "sha256": checksum,
    }


def _documents(store: TripleStore) -> Iterator[_Entity]:
    for each in documents.listing(store):
        found: _Entity = {
            "@id": each.iri,
            "@type": "CreativeWork",
            "name": each.title or each.id or each.iri,
            "identifier": each.id,
            "url": each.url,
        }
        yield {name: value for name, value in found.items() if value}


def _ontologies(store: TripleStore) -> Iterator[_Entity]:
    catalogue = store.names.catalogue
    rows = store.select(queries.bind("catalogue/graphs", catalogue=catalogue)).values()
    for iri in dict.fromkeys(row[0] for row in rows if KG.OntologyGraph.value in row):
        yield {"@id": iri, "@type": "CreativeWork", "name": iri, "description": "An ontology, as it was loaded."}


def _actions(store: TripleStore) -> tuple[list[_Entity], list[_Entity]]:
    """Return an action per method and model, and the programs that acted."""
    own = {
        "@id": "#kgrag",
        "@type": "SoftwareApplication",
        "name": "kgrag",
        "softwareVersion": version("kgrag"),
    }
    tools, actions = {own["@id"]: own}, []
    summary = store.select(queries.bind("provenance/summary", provenance=store.names.provenance)).values()
    for method, model, activities, first, last, completions, given, written in summary:
        used = [{"@id": own["@id"]}]
        if model:
            identifier = f"#model-{quote(model, safe='')}"
            tools[identifier] = {"@id": identifier, "@type": "SoftwareApplication", "name": model}
            used.append({"@id": identifier})
        asked = f"; {completions} completions, {given} tokens read and {written} written" if completions != "0" else ""
        times = {"startTime": first, "endTime": last}
        actions.append(
            {
                "@id": f"#{quote(f'{method} {model}'.strip(), safe='')}",
                "@type": "CreateAction",
                "name": f"{method}{f' with {model}' if model else ''}",
                "description": f"{activities} activities of the provenance graph{asked}.",
                "instrument": used,
                "result": {"@id": EXPORT_NAME},
                **{name: value for name, value in times.items() if value},
            }
        )
    return actions, list(tools.values())
