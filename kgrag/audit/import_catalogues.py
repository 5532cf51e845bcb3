"""Catalogues of imports: ``catalog-v001.xml`` of Protégé and OWL API, an XML catalogue of OASIS, IRI -> local file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

from kgrag.errors import InputError
from kgrag.store.rdf_guard import check_xml

__all__ = ["beside", "catalogued"]

_CATALOGUE_NAME = "catalog-v001.xml"
_NAMESPACE = "{urn:oasis:names:tc:entity:xmlns:xml:catalog}"


def beside(files: Iterable[Path]) -> tuple[Path, ...]:
    """Return the catalogues that lie next to RDF files."""
    paths = dict.fromkeys(path.parent / _CATALOGUE_NAME for path in files)
    return tuple(path for path in paths if path.is_file())


def catalogued(catalogues: Sequence[Path]) -> Mapping[str, Path]:
    """Return import -> local file, for the files of some catalogues that exist.

    Raises:
        InputError: a catalogue cannot be read.
    """
    return {name: file for path in catalogues for name, file in _entries(path)}


def _entries(path: Path) -> list[tuple[str, Path]]:
    try:
        data = path.read_bytes()
        check_xml(data, path)
        root = ElementTree.fromstring(data)  # noqa: S314 - check_xml refuses entities
    except (OSError, ElementTree.ParseError) as error:
        raise InputError(f"{path} is no catalogue of imports: {error}. Name an XML catalogue.") from None
    files = [
        (element.get("name", ""), path.parent / unquote(urlsplit(element.get("uri", "")).path))
        for element in root.iter(f"{_NAMESPACE}uri")
    ]
    return [(name, file) for name, file in files if name and file.is_file()]
