"""The pages in another language: every text of a template is in the catalogue, and a browser's language chooses."""

import re
from pathlib import Path

import jinja2
import lxml.html
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgrag.server.pages import interface_language, page_rendering
from kgrag.server.pages.interface_language import Place, catalogue, translated_html
from tests.server.inside import Inside

PAGES = Path(page_rendering.__file__).parent
TEMPLATES = sorted((PAGES / "templates").glob("*.html"))
SCRIPTS = sorted((PAGES / "static").rglob("*.js"))
MARKED = re.compile(r'(?<![\w.])(?:_|t)\(\s*"([^"]+)"')
LISTED = re.compile(r'\("/[\w/]*", "([^"]+)"\)')
WORDS_OF_JOBS = set(
    "documents unchanged replaced duplicates chunks waiting running done failed cancelled build".split()
)
WORDS_OF_FEEDBACK = {"right", "wrong", "missing"}


def messages_of(template: Path) -> set[str]:
    environment, place = jinja2.Environment(), Place()
    found: set[str] = set()
    for _, kind, text in environment.lex(template.read_text(encoding="utf-8")):
        if kind == "data":
            translated_html(text, place, lambda message: found.add(message))
    return found


def used() -> set[str]:
    found = set().union(*map(messages_of, TEMPLATES))
    found |= {text for file in (*TEMPLATES, *SCRIPTS) for text in MARKED.findall(file.read_text(encoding="utf-8"))}
    found |= {text for file in PAGES.glob("*.py") for text in LISTED.findall(file.read_text(encoding="utf-8"))}
    return found | WORDS_OF_JOBS | WORDS_OF_FEEDBACK


@pytest.mark.parametrize("language", interface_language.LANGUAGES[1:])
def test_a_catalogue_has_every_text_of_the_pages_and_no_other(language: str) -> None:
    known = catalogue(language).keys()
    assert (used() - known, known - used()) == (set(), set())


@pytest.mark.parametrize(
    ("accepts", "language", "shown"),
    [
        ("de-AT,de;q=0.9,en;q=0.5", "de", "Die Wissensbasis fragen"),
        ("en", "en", "Ask the knowledge base"),
        ("ja", "en", "Ask"),
    ],
)
def test_a_page_is_in_the_first_known_language_of_the_browser(
    demo: Inside, accepts: str, language: str, shown: str
) -> None:
    page = lxml.html.fromstring(demo.client.get("/", headers={"Accept": "text/html", "Accept-Language": accepts}).text)
    assert page.get("lang") == language
    assert shown in page.findtext(".//h1")


@pytest.mark.parametrize(
    ("question", "accepts", "labels"),
    [
        ("Quelle est la taxe sur la soie ?", "en", ["Pas de réponse", "Passages les plus proches"]),
        ("Welcher Kaiser schaffte die Steuer ab?", "en", ["Keine Antwort", "Nächste Stellen"]),
        ("Quelle est la taxe sur la soie ?", "de", ["Keine Antwort", "Nächste Stellen"]),
    ],
)
def test_words_around_an_answer_follow_the_question_where_the_page_is_english(
    demo: Inside, question: str, accepts: str, labels: list[str]
) -> None:
    headers = {"Accept": "text/html", "Accept-Language": accepts}
    page = lxml.html.fromstring(demo.client.get("/", params={"question": question}, headers=headers).text)
    assert [" ".join(found.text_content().split()) for found in page.xpath("//*[@class='eyebrow']")] == labels


def test_values_and_other_attributes_are_left_as_they_are() -> None:
    html = '<input name="Ask" value="Ask" placeholder="Ask"><code>Ask</code> Ask <b>Ask</b>'
    said = '<input name="Ask" value="Ask" placeholder="Fragen"><code>Ask</code> Fragen <b>Fragen</b>'
    assert translated_html(html, Place(), {"Ask": "Fragen"}.get) == said


@given(st.lists(st.sampled_from(['<a title="', '">', "Ask", " ", "<code>", "</code>", "<b>", "</b>", "é"])))
def test_without_a_translation_the_html_stays_however_it_is_cut(parts: list[str]) -> None:
    place = Place()
    assert "".join(translated_html(part, place, lambda _: None) for part in parts) == "".join(parts)
