"""Citations: which document of the collection a text, an identifier or a triple names."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgrag import KnowledgeBase
from kgrag.methods.cg_rag.citations import CitationResolver, KnownDocument, read_citations

BEANS = KnownDocument("urn:d:beans", "Growing beans on poor soil", ("doi:10.1000/Beans.1", "B1"))
MULCH = KnownDocument("urn:d:mulch", "Straw mulch", ("B2",))
PHRASES = KnownDocument("urn:d:smt", "Statistical machine translation", ("P1",))


@pytest.mark.parametrize(
    ("citation", "document"),
    [
        ("B1", "urn:d:beans"),
        ("b1", "urn:d:beans"),
        ("urn:d:beans", "urn:d:beans"),
        ("10.1000/beans.1", "urn:d:beans"),
        ("https://doi.org/10.1000/BEANS.1", "urn:d:beans"),
        ("[7] A. Sower (1999). Beans. doi:10.1000/beans.1.", "urn:d:beans"),
        ("Growing beans on poor soil", "urn:d:beans"),
        ("growing  beans on poor\nsoil.", "urn:d:beans"),
        ("Straw mulch", "urn:d:mulch"),
        ("[1] A. Sower. 1999. Growing beans on poor soil. In Proc. of Fields, pages 1-9.", "urn:d:beans"),
        ('A. Sower, "Growing beans on poor soil," Fields 3 (1999).', "urn:d:beans"),
        ("Sower A. Growing beans on p0or soil. Fields. 1999", "urn:d:beans"),
        ("A. Sower. Growing beans on poor soils and sand. 1999.", ""),
        ("P. Koehn. Statistical machine translation with phrases. 2003.", ""),
        ("P. Koehn. Statistical machine translation. 2010.", "urn:d:smt"),
        ("A. Nobody. Straw mulch. 1999.", ""),  # two words are too few to be sure of
        ("10.1000/beans.12", ""),
        ("", ""),
    ],
)
def test_a_citation_names_the_document_that_it_should(citation: str, document: str) -> None:
    assert CitationResolver([BEANS, MULCH, PHRASES]).resolve(citation) == document


@settings(max_examples=60, derandomize=True)
@given(st.text(max_size=300))
def test_no_text_breaks_the_resolver(text: str) -> None:
    assert CitationResolver([BEANS, MULCH]).resolve(text) in {"", "urn:d:beans", "urn:d:mulch"}


def _lines(path: Path, *records: object) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def test_unresolved_citations_are_kept_and_counted_and_a_document_does_not_cite_itself(
    kb: KnowledgeBase, tmp_path: Path
) -> None:
    kb.ingest(
        _lines(
            tmp_path / "d.jsonl",
            {"id": "A", "title": "Peas", "text": "Peas climb.", "cites": ["B", "A", "Z 1999"]},
            {"id": "B", "title": "Beans", "text": "Beans climb.", "references": [{"id": "A"}, {"title": "Unknown"}]},
        ),
        embed=False,
    )
    found = read_citations(kb.store)
    names = {title: iri for iri, title in kb.store.select(_titles()).values()}
    assert found.cited == {names["Peas"]: (names["Beans"],), names["Beans"]: (names["Peas"],)}
    assert found.unresolved == {names["Peas"]: ("Z 1999",), names["Beans"]: ("Unknown",)}
    assert found.counts == {"citations": 2, "unresolved": 2, "links": 0, "links_elsewhere": 0}


def test_an_identifier_of_a_duplicate_names_the_document_that_holds_its_text(kb: KnowledgeBase, tmp_path: Path) -> None:
    kb.ingest(
        _lines(
            tmp_path / "d.jsonl",
            {"id": "A", "title": "Peas", "text": "Peas climb."},
            {"id": "A2", "title": "Peas", "text": "Peas climb."},
            {"id": "A", "title": "Oats", "text": "Another text under a number that is taken."},
            {"id": "B", "title": "Beans", "text": "Beans climb.", "cites": ["A2"]},
        ),
        embed=False,
    )
    names = {each.id: each.iri for each in kb.documents()}
    assert read_citations(kb.store).cited == {names["B"]: (names["A2"],)}


def test_loaded_rdf_states_citations_between_documents_of_the_collection(kb: KnowledgeBase, tmp_path: Path) -> None:
    kb.ingest(
        _lines(
            tmp_path / "d.jsonl",
            {"id": "https://doi.org/10.1000/a", "title": "Peas", "text": "Peas climb."},
            {"id": "B", "title": "Growing beans well", "text": "Beans climb."},
        ),
        embed=False,
    )
    rdf = tmp_path / "c.ttl"
    rdf.write_text(
        "@prefix cito: <http://purl.org/spar/cito/> . @prefix dcterms: <http://purl.org/dc/terms/> .\n"
        '<https://doi.org/10.1000/a> cito:cites <urn:elsewhere> ; dcterms:references "Growing beans well" .\n'
        "<urn:nowhere> cito:cites <https://doi.org/10.1000/a> .",
        encoding="utf-8",
    )
    kb.load(rdf)
    names = {title: iri for iri, title in kb.store.select(_titles()).values()}
    found = read_citations(kb.store)
    assert found.cited == {names["Peas"]: (names["Growing beans well"],)}
    assert found.unresolved == {names["Peas"]: ("urn:elsewhere",)}


def _titles() -> str:
    return (
        "SELECT ?d ?t WHERE { GRAPH ?g { ?d a <https://w3id.org/kgrag/ns#Document> ; "
        "<http://purl.org/dc/terms/title> ?t } } ORDER BY ?d"
    )
