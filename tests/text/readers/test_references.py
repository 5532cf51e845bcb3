"""Reference lists and BibTeX keys, as documents of several kinds carry them."""

import json
from pathlib import Path

import pytest

from kgrag.errors import UnreadableDocument
from kgrag.text.readers import read_path
from kgrag.text.references import entries

LIST = "[1] A. Sower. Growing beans. 1999.\n[2] B. Reaper. Straw\nmulch in the val-\nley. 2001."
READ = ("[1] A. Sower. Growing beans. 1999.", "[2] B. Reaper. Straw mulch in the valley. 2001.")


@pytest.mark.parametrize(
    "heading", ["References", "## References", "7 References", "BIBLIOGRAPHY:", "# 5. Works cited", "VII. References"]
)
def test_entries_follow_the_heading_of_the_reference_list(heading: str) -> None:
    assert entries(f"As [1] shows.\n\n{heading}\n\n{LIST}\n") == READ


def test_what_stands_behind_the_list_is_no_entry() -> None:
    assert entries(f"References\n{LIST}\n\n## Appendix\n\n[3] Not a reference.") == READ


def test_a_list_without_numbers_is_read_where_it_is_a_list() -> None:
    assert entries("# References\n\n- A. Sower. Beans.\n- B. Reaper. Mulch.") == (
        "A. Sower. Beans.",
        "B. Reaper. Mulch.",
    )


@pytest.mark.parametrize(
    "text", ["No list, but [1] and [2].", "References\n\nNothing follows.", "", "[1] Not below a heading."]
)
def test_a_text_without_a_list_has_no_entries(text: str) -> None:
    assert entries(text) == ()


def test_markdown_has_its_reference_list_and_what_its_keys_stand_for(tmp_path: Path) -> None:
    (tmp_path / "refs.bib").write_text(
        "@article{sower99, title={Weed suppression by {Mulch}}, doi={10.1000/Weeds}}\n@book{reaper, title={Soil {\\'E}tudes}}",
        encoding="utf-8",
    )
    path = tmp_path / "a.md"
    path.write_text(
        f"---\ntitle: Peas\nbibliography: refs.bib\n---\nSee [@sower99; @reaper, p. 3], not a@b.org or @lost.\n\n# References\n\n{LIST}\n",
        encoding="utf-8",
    )
    (document,) = read_path(path)
    assert document.cites[:2] == READ
    assert document.cites[2] == "10.1000/Weeds"
    assert document.cites[3].startswith("Soil")
    assert document.cites[4] == "@lost"


@pytest.mark.parametrize("named", ["../refs.bib", "/etc/refs.bib", "refs.txt", "missing.bib"])
def test_a_bibliography_elsewhere_is_not_read(tmp_path: Path, named: str) -> None:
    (tmp_path / "refs.bib").write_text("@book{x, title={Secret}}", encoding="utf-8")
    (tmp_path / "refs.txt").write_text("@book{x, title={Secret}}", encoding="utf-8")
    (tmp_path / "sub").mkdir()
    path = tmp_path / "sub" / "a.md"
    path.write_text(f"---\nbibliography: {named}\n---\nSee [@x].", encoding="utf-8")
    (document,) = read_path(path)
    assert document.cites == ()


def test_a_bibliography_that_does_not_parse_leaves_its_keys(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "refs.bib").write_text("@book{x, title={Never closed", encoding="utf-8")
    path = tmp_path / "a.md"
    path.write_text("---\nbibliography: refs.bib\n---\nSee [@x].", encoding="utf-8")
    (document,) = read_path(path)
    assert document.cites == ("@x",)
    assert "not read as BibTeX" in caplog.text


def test_a_pdf_has_its_reference_list(tmp_path: Path) -> None:
    from reportlab.pdfgen.canvas import Canvas

    path = tmp_path / "a.pdf"
    canvas = Canvas(str(path))
    for number, line in enumerate(["As [1] shows, beans grow.", "References", "[1] A. Sower. Growing beans. 1999."]):
        canvas.drawString(72, 760 - 20 * number, line)
    canvas.save()
    (document,) = read_path(path)
    assert document.cites == ("[1] A. Sower. Growing beans. 1999.",)


def test_a_record_cites_by_names_and_by_objects(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    references = [{"doi": "10.1/x", "title": "X"}, {"title": "Y"}, "Z", {"year": 1999}]
    path.write_text(json.dumps({"text": "Peas.", "cites": "A; B", "references": references}), encoding="utf-8")
    (document,) = read_path(path)
    assert document.cites == ("A", "B", "10.1/x", "Y", "Z")


def test_references_that_are_no_list_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"text": "Peas.", "references": 7}', encoding="utf-8")
    with pytest.raises(UnreadableDocument, match="'references' is a number"):
        list(read_path(path))
