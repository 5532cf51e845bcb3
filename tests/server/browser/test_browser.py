"""What a person does in a browser: ask, follow a citation, open a graph; by mouse, by keyboard, in the dark."""

from itertools import cycle, product
from typing import Any

import pytest

pytest.importorskip("selenium", reason="selenium drives the browser")

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from kgrag.vocab import KG
from tests.server.browser.conftest import without_scripts
from tests.server.browser.looking import barriers, brightness, contrast, focused, one, waiting, walk_to
from tests.server.inside import Inside

QUESTION = "When is chickpea sown in the Hill Zone?"
CROP = "https://w3id.org/kgrag/examples/crops%23Crop"
PAGES = ["/", f"/?question={QUESTION}", "/catalogue", "/resource?iri=urn:kgrag:graph/catalogue", "/editor", "/report"]
PAGES += ["/explore", f"/explore/around?iri={CROP}", "/resource?iri=https://w3id.org/kgrag/ns%23", "/chat"]
PAGES += ["/workbench", "/workbench/graphs", "/workbench/build?method=sire_rag", "/workbench/proposals"]
PAGES += ["/workbench/update", "/workbench/jobs", "/editor?example=og_rag/members"]
PAGES += [
    "/guide/methods/og_rag",
    "/explore/query?query=SELECT+*+{+?crop+a+<https://w3id.org/kgrag/examples/crops%23Crop>+}",
]


def in_view(browser: Any, element: Any) -> bool:
    box = browser.execute_script(
        "const b = arguments[0].getBoundingClientRect(); return [b.top, b.bottom, innerHeight]", element
    )
    return box[0] >= 0 and box[1] <= box[2]


def ask(browser: Any, demo: Inside) -> None:
    browser.get(demo.url)
    one(browser, "#question").send_keys(QUESTION, Keys.ENTER)
    one(browser, "a.cite")


def test_a_click_on_a_citation_shows_the_marked_words(browser: Any, demo: Inside) -> None:
    citation = demo.kb.ask(QUESTION).citations[0]
    ask(browser, demo)
    one(browser, "a.cite").click()
    mark = one(browser, "mark:target")
    assert mark.text == citation.quote
    assert waiting(browser).until(lambda _: in_view(browser, mark))
    assert mark.is_displayed()


def test_the_number_at_the_marked_words_leads_back_to_the_sentence(browser: Any, demo: Inside) -> None:
    ask(browser, demo)
    one(browser, "mark + a.back").click()
    assert one(browser, "a.cite:target").text == "1"


def test_a_citation_is_followed_without_javascript(browser: Any, demo: Inside) -> None:
    with without_scripts(browser):
        browser.get(f"{demo.url}/?question={QUESTION}")
        assert not one(browser, "form.ask").get_attribute("aria-busy")
        one(browser, "a.cite").click()
        assert one(browser, "mark:target").text == demo.kb.ask(QUESTION).citations[0].quote


def test_the_whole_text_opens_at_the_marked_words(browser: Any, demo: Inside) -> None:
    ask(browser, demo)
    one(browser, ".passage h3 a").click()
    mark = one(browser, "mark:target")
    assert mark.text == demo.kb.ask(QUESTION).citations[0].quote
    assert waiting(browser).until(lambda _: in_view(browser, mark))


def test_a_graph_is_opened_from_the_catalogue(browser: Any, demo: Inside) -> None:
    browser.get(demo.url)
    browser.find_element(By.LINK_TEXT, "Graphs").click()
    browser.find_element(By.LINK_TEXT, "document graph").click()
    browser.find_element(By.LINK_TEXT, "Growing chickpea in the Marlow valley").click()
    assert one(browser, "#content-list").text == "What the graph speaks of"
    browser.find_element(By.LINK_TEXT, "Growing chickpea in the Marlow valley").click()
    assert "In the Hill Zone, chickpea is sown" in one(browser, ".prose").text


@pytest.mark.parametrize(
    "path",
    [
        "/?question=When+was+the+quarry+of+Ostrel+opened%3F",
        f"/catalogue?kind={KG.DocumentGraph.value.replace('#', '%23')}",
    ],
)
def test_a_text_with_markup_does_nothing_on_a_page(browser: Any, demo: Inside, path: str) -> None:
    browser.get(demo.url + path)
    assert "<script>window" in one(browser, "main").text
    assert browser.execute_script("return window.hacked") is None


def test_a_conversation_is_had_by_its_form(browser: Any, demo: Inside) -> None:
    browser.get(f"{demo.url}/chat")
    one(browser, "[name=question]").send_keys(QUESTION, Keys.ENTER)
    waiting(browser).until(lambda _: len(browser.find_elements(By.CSS_SELECTOR, ".turn")) == 1)
    one(browser, ".turn a.cite")
    one(browser, "[name=question]").send_keys("And in the Coastal Zone?", Keys.ENTER)
    waiting(browser).until(lambda _: len(browser.find_elements(By.CSS_SELECTOR, ".turn")) == 2)
    one(browser, ".turn .cited a").send_keys(Keys.ENTER)
    assert one(browser, "mark:target").is_displayed()


def test_an_answer_is_printed_with_its_marked_passages_and_without_navigation(browser: Any, demo: Inside) -> None:
    ask(browser, demo)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    kept, left_out = (
        {selector: browser.find_element(By.CSS_SELECTOR, selector).is_displayed() for selector in selectors}
        for selectors in (
            (".answer .sentences p", ".passage h3", ".passage mark"),
            (".top", ".bottom", "form.ask", ".passage .small"),
        )
    )
    assert (set(kept.values()), set(left_out.values())) == ({True}, {False}), left_out
    ground, colour = browser.execute_script(
        "const s = getComputedStyle(document.querySelector('.passage mark')); return [s.printColorAdjust, s.backgroundColor]"
    )
    assert ground == "exact" and colour != "rgba(0, 0, 0, 0)"
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


# --- by keyboard, in the dark, on a small screen ------------------------------------------------------------------


def test_asking_and_following_a_citation_needs_no_mouse(browser: Any, demo: Inside) -> None:
    browser.get(f"{demo.url}/catalogue")
    one(browser, "body").send_keys(Keys.TAB)
    assert focused(browser).text == "To the content"
    walk_to(browser, "nav a[href='/']").send_keys(Keys.ENTER)
    one(browser, "#question")
    assert focused(browser).get_attribute("id") == "question"
    focused(browser).send_keys(QUESTION, Keys.ENTER)
    one(browser, "a.cite")
    walk_to(browser, "a.cite").send_keys(Keys.ENTER)
    assert one(browser, "mark:target").text == demo.kb.ask(QUESTION).citations[0].quote


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_light_and_in_dark(browser: Any, demo: Inside, scheme: str) -> None:
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )
    ask(browser, demo)
    ground = brightness(browser.execute_script("return getComputedStyle(document.body).backgroundColor"))
    assert (ground < 0.1) == (scheme == "dark")
    one(browser, "a.cite").click()
    found = {
        selector: contrast(browser, selector)
        for selector in (
            "body",
            ".muted",
            ".answer .sentences p",
            "a.cite",
            "mark:target",
            "mark + a.back",
            ".passage .small a",
            "button",
            "nav a",
            ".place",
        )
    }
    assert {selector: value for selector, value in found.items() if value < 4.5} == {}


_LONGER_OPTIONS = "document.querySelectorAll('option').forEach((e) => { e.textContent += ' of many words'.repeat(6) })"


@pytest.mark.parametrize("path", [*PAGES, "/report?profile=obo"])
def test_nothing_has_to_be_scrolled_sideways_on_a_small_screen(browser: Any, demo: Inside, path: str) -> None:
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": False}
    )
    try:
        browser.get(demo.url + path)
        one(browser, "h1")
        browser.execute_script(_LONGER_OPTIONS)  # as titles of ontologies are
        wide = browser.execute_script("return [document.scrollingElement.scrollWidth, innerWidth]")
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert wide[0] <= wide[1] == 360


IN_BOTH = [*PAGES[:4], *PAGES[5:8], "/chat"]
BY_TURNS = list(zip(["/resource?iri=https://w3id.org/kgrag/ns%23", *PAGES[10:]], cycle(["light", "dark"])))


@pytest.mark.parametrize(("path", "scheme"), [*product(IN_BOTH, ["light", "dark"]), *BY_TURNS])
def test_axe_finds_no_barrier_on_a_page(browser: Any, demo: Inside, path: str, scheme: str) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    browser.get(demo.url + path)
    one(browser, "footer")
    assert barriers(browser, scheme=scheme if path in IN_BOTH else "light") == []
