"""The guide as it is served: every page, escaped, with links and anchors that lead somewhere."""

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

import lxml.html
import pytest

from kgrag import KnowledgeBase
from kgrag.resources import folder
from kgrag.server.pages import guide_page
from kgrag.server.pages.guide_page import _files, render
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder
from tests.server.inside import Inside, served

PAGES = sorted(path.relative_to(folder("guide")).as_posix() for path in folder("guide").rglob("*.md"))
HTML = {"Accept": "text/html"}
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    path = tmp_path_factory.mktemp("guide") / "kb"
    with KnowledgeBase(path, settings=Settings(), embedder=HashEmbedder()) as kb, served(kb) as inside:
        yield inside


def address(page: str) -> str:
    return "/guide" if page == "index.md" else f"/guide/{page.removesuffix('.md')}"


@pytest.mark.parametrize("page", PAGES)
def test_a_page_of_the_guide_is_served_under_the_strict_policy_without_a_script(running: Inside, page: str) -> None:
    reply = running.client.get(address(page), headers=HTML)
    assert reply.status_code == 200
    assert "script-src 'self'" in reply.headers["content-security-policy"]
    tree = lxml.html.fromstring(reply.text)
    assert tree.xpath("//script | //style | //@style | //iframe") == []
    assert len(tree.findall(".//h1")) == 1
    assert [source for source in tree.xpath("//img/@src") if not source.startswith("/")] == []


def test_every_link_between_pages_leads_to_a_page_and_an_anchor_of_it(running: Inside) -> None:
    trees = {
        address(page): lxml.html.fromstring(running.client.get(address(page), headers=HTML).text) for page in PAGES
    }
    wrong = set()
    for here, tree in trees.items():
        for href in tree.xpath("//main//a/@href | //main//img/@src"):
            path, _, anchor = href.partition("#")
            if path.endswith((".svg", ".webp", ".ipynb")):
                wrong |= {(here, href)} if running.client.get(path).status_code != 200 else set()
            elif not path.startswith("https://"):
                target = trees.get(path or here)
                wrong |= (
                    {(here, href)}
                    if target is None or (anchor and not target.xpath("//*[@id=$id]", id=anchor))
                    else set()
                )
    assert wrong == set()


def test_a_file_name_leads_to_its_page_and_a_picture_is_sent_as_one(running: Inside) -> None:
    assert running.client.get("/guide/methods/og_rag.md").text == running.client.get("/guide/methods/og_rag").text
    for name, media_type in (("rooms.svg", "image/svg+xml"), ("pictures/chat.webp", "image/webp")):
        picture = running.client.get(f"/guide/{name}")
        assert (picture.status_code, picture.headers["content-type"]) == (200, media_type)
        assert "default-src 'none'" in picture.headers["content-security-policy"]


def test_every_picture_of_the_guide_is_shown_there_with_words_for_who_cannot_see_it() -> None:
    shown = {
        posixpath.normpath(posixpath.join(posixpath.dirname(name), picture)): words
        for name in _files()
        if name.endswith(".md")
        for words, picture in re.findall(r"!\[([^]]*)\]\(([^)]+)\)", _files()[name].read_text(encoding="utf-8"))
    }
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    kept = {name for name in _files() if name.endswith((".webp", ".svg"))}
    assert shown.keys() <= kept
    assert [name for name in kept - shown.keys() if f"kgrag/guide/{name}" not in readme] == []
    assert [name for name, words in shown.items() if len(words.split()) < 5] == []


@pytest.mark.parametrize("name", ["nothing", "methods/og", "%2e%2e/server/README.md", "..%2f..%2fpyproject.toml"])
def test_what_is_no_page_is_not_found_and_the_nearest_is_named(running: Inside, name: str) -> None:
    reply = running.client.get(f"/guide/{name}", headers=HTML)
    assert reply.status_code == 404
    assert "has no page" in reply.text


def test_html_in_a_page_is_escaped_and_comments_are_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hostile = (
        "# One <script>alert(1)</script>\n\n<!-- a note -->\n\n<img src=x onerror=alert(1)>\n\n"
        "[go](javascript:alert(1)) `<b>` [page](sub/other.md#part)\n\n```sh\n<i>\n```\n"
    )
    (tmp_path / "a.md").write_text(hostile)
    monkeypatch.setattr(guide_page, "_files", lambda: {"a.md": tmp_path / "a.md"})
    body = guide_page.render.__wrapped__("a.md", "/guide").body
    tree = lxml.html.fromstring(body)
    assert "a note" not in body
    assert tree.xpath("//script | //img | //b | //i") == []
    assert tree.xpath("//a/@href") == ["/guide/sub/other#part"]


def test_two_sections_of_one_name_have_two_anchors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.md").write_text("# Top\n\n## Care, and use\n\n## Care, and use\n")
    monkeypatch.setattr(guide_page, "_files", lambda: {"a.md": tmp_path / "a.md"})
    assert [anchor for anchor, _ in guide_page.render.__wrapped__("a.md", "/guide").sections] == [
        "care-and-use",
        "care-and-use_2",
    ]


def test_the_reference_has_the_docstrings_of_what_it_names() -> None:
    page = render("reference.md", "/guide")
    text = lxml.html.fromstring(page.body).text_content()
    assert KnowledgeBase.ask.__doc__.splitlines()[0] in text
    assert "ask(self, question: str" in text
    assert ":::" not in text
