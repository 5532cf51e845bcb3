"""Terms of definition lists whose explanations are long are headings."""

from pathlib import Path

from kgrag.model import Document
from kgrag.text.readers import read_path

LONG = "What it does to gates and to boats is said here in some words. " * 5


def _read(path: Path, body: str) -> Document:
    path.write_text(f"<html><body><h1>Gates</h1>{body}</body></html>", encoding="utf-8")
    (document,) = read_path(path)
    return document


def _headings(document: Document) -> list[tuple[str, str]]:
    return [(one.heading, document.text[one.start : one.end].strip()[-13:]) for one in document.sections]


def test_what_stands_below_a_term_is_its_section_and_what_follows_the_list_is_not(tmp_path: Path) -> None:
    inner = f"<dl><dt>level 0<dd>{LONG} End of 0.</dl>"
    page = (
        f"<p>Settings.</p><dl><dt>user = NAME<dt>owner<dd>{LONG} End of user.<dt>level<dd><p>{LONG}</p>{inner}"
        "<p>default: 2</p><dt>last<dd>"
        f"{LONG} End of last.</dl><p>Said of all gates.</p>"
    )
    assert _headings(_read(tmp_path / "gates.html", page)) == [
        ("Gates", "es\n\nSettings."),
        ("Gates > user = NAME, owner", " End of user."),
        ("Gates > level", "n some words."),
        ("Gates > level > level 0", "ds. End of 0."),
        ("Gates > level", "default: 2"),
        ("Gates > last", " End of last."),
        ("Gates", "of all gates."),
    ]


def test_short_lists_have_no_headings(tmp_path: Path) -> None:
    page = "<dl><dt>Author<dd>Ann Lee<dt>Date<dd>May 2026</dl><p>The gates are shut at night.</p>"
    assert [heading for heading, _ in _headings(_read(tmp_path / "gates.html", page))] == ["Gates"]


def test_what_stands_below_a_long_term_is_not_under_the_term_before(tmp_path: Path) -> None:
    page = f"<dl><dt>user<dd>{LONG} End of user.<dt>open({'gate, ' * 40}boat)<dd>{LONG} End of open.</dl>"
    (_, user), (heading, opened) = _headings(_read(tmp_path / "gates.html", page))[-2:]
    assert (user, opened) == (" End of user.", " End of open.")
    assert heading.startswith("Gates > open(gate, gate") and heading.endswith("…")
