"""XML literals of RDF/XML are well-formed, whatever namespaces the elements around them declare."""

from pathlib import Path
from xml.dom import minidom

import pytest

from kgrag.store.rdf_files import read_rdf
from kgrag.vocab import Names

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
CONTENTS = [
    '<b xmlns="http://www.w3.org/1999/xhtml">x</b>',
    '<b xmlns="urn:other" c="1 > 0">x</b> and <e:i xmlns:e="urn:e:2"/>',
    "<b xmlns='urn:other' e:k=\"it's\">x<!-- <b xmlns='a' xmlns='a'> --></b>",
    '<b xmlns="http://www.w3.org/1999/xhtml"><i xmlns="urn:inner" xmlns:e="urn:e:">y &lt; &amp; z</i></b>',
    "<b>x</b>",
    "text &amp; no element",
]


def read(content: str, folder: Path) -> str:
    """Return an XML literal as it is read."""
    file = folder / "file.rdf"
    file.write_text(
        f'<rdf:RDF xmlns:rdf="{RDF}" xmlns:e="urn:e:" xmlns="http://www.w3.org/1999/xhtml"><rdf:Description '
        f'rdf:about="urn:a"><e:p rdf:parseType="Literal">{content}</e:p></rdf:Description></rdf:RDF>'
    )
    (triple,) = read_rdf(file, names=Names())[0].triples
    return triple.object.value


@pytest.mark.parametrize("content", CONTENTS)
def test_an_xml_literal_is_well_formed_and_keeps_its_names(content: str, tmp_path: Path) -> None:
    around = f'<x xmlns:rdf="{RDF}" xmlns:e="urn:e:" xmlns="http://www.w3.org/1999/xhtml">{{}}</x>'
    shown, meant = (minidom.parseString(around.format(text)) for text in (read(content, tmp_path), content))
    assert names(shown.documentElement) == names(meant.documentElement)


def names(element: minidom.Element) -> list[tuple[str | None, str | None, dict[str, str]]]:
    """Return namespace, local name and attributes of all elements."""
    found = []
    for each in [element, *element.getElementsByTagName("*")]:
        attributes = {name: value for name, value in each.attributes.items() if not name.startswith("xmlns")}
        found.append((each.namespaceURI, each.localName, attributes))
    return found
