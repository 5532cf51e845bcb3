"""What a person does in a browser: ask, follow a citation, query, open a graph; by mouse, by keyboard, in the dark."""

import re
from typing import Any

import pytest

pytest.importorskip("selenium", reason="selenium drives the browser")

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from kgrag.vocab import KG
from tests.server.browser.conftest import chromium
from tests.server.inside import Inside

QUESTION = "When is chickpea sown in the Hill Zone?"
PAGES = ["/", f"/?question={QUESTION}", "/catalogue", "/resource?iri=urn:kgrag:graph/catalogue", "/editor"]


def one(browser: Any, selector: str) -> Any:
    return WebDriverWait(browser, 20).until(lambda _: browser.find_element(By.CSS_SELECTOR, selector))


def texts(browser: Any, selector: str) -> list[str]:
    return [element.text for element in browser.find_elements(By.CSS_SELECTOR, selector)]


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
    assert WebDriverWait(browser, 20).until(lambda _: in_view(browser, mark))
    assert mark.is_displayed()


def test_the_number_at_the_marked_words_leads_back_to_the_sentence(browser: Any, demo: Inside) -> None:
    ask(browser, demo)
    one(browser, "mark + a.back").click()
    assert one(browser, "a.cite:target").text == "1"


def test_a_citation_is_followed_without_javascript(demo: Inside) -> None:
    with chromium(scripts=False) as browser:
        browser.get(f"{demo.url}/?question={QUESTION}")
        one(browser, "a.cite").click()
        assert one(browser, "mark:target").text == demo.kb.ask(QUESTION).citations[0].quote
        browser.get(f"{demo.url}/editor")
        assert one(browser, "textarea#query").is_displayed()


def test_the_whole_text_opens_at_the_marked_words(browser: Any, demo: Inside) -> None:
    ask(browser, demo)
    one(browser, ".passage h3 a").click()
    mark = one(browser, "mark:target")
    assert mark.text == demo.kb.ask(QUESTION).citations[0].quote
    assert WebDriverWait(browser, 20).until(lambda _: in_view(browser, mark))


def test_a_graph_is_opened_from_the_catalogue(browser: Any, demo: Inside) -> None:
    browser.get(demo.url)
    browser.find_element(By.LINK_TEXT, "Graphs").click()
    browser.find_element(By.LINK_TEXT, "document graph").click()
    browser.find_element(By.LINK_TEXT, "Growing chickpea in the Marlow valley").click()
    assert one(browser, "#content-list").text == "What the graph speaks of"
    browser.find_element(By.LINK_TEXT, "Growing chickpea in the Marlow valley").click()
    assert "In the Hill Zone, chickpea is sown" in one(browser, ".prose").text


# --- the editor ---------------------------------------------------------------------------------------------------


def test_an_example_runs_and_an_iri_of_its_result_leads_to_its_page(browser: Any, demo: Inside) -> None:
    browser.get(f"{demo.url}/editor?example=catalogue/kinds")
    one(browser, ".tabPanel.active .yasqe_queryButton").click()
    one(browser, ".yasr table td a.iri")
    assert "kg:DocumentGraph" in texts(browser, ".yasr table td a.iri")
    browser.find_element(By.LINK_TEXT, "kg:DocumentGraph").click()
    assert one(browser, "h1").text == "document graph"


def test_a_faulty_query_is_told_with_the_place(browser: Any, demo: Inside) -> None:
    browser.get(f"{demo.url}/editor?query=SELECT%20?x%20WHERE%20%7B%20?x%20ex:p%20?y%20%7D")
    one(browser, ".tabPanel.active .yasqe_queryButton").click()
    assert "ex" in one(browser, ".yasr .errorResult").text
    refused = [line for line in browser.get_log("browser") if "400" in line["message"]]
    assert len(refused) == 1  # the browser's own note of the status


def test_terms_of_the_store_are_completed(browser: Any, demo: Inside) -> None:
    browser.get(
        f"{demo.url}/editor?query=PREFIX%20kg:%20<{KG.prefix.replace('#', '%23')}>%0ASELECT%20*%20WHERE%20%7B%20?x%20a%20kg:Chu%20%7D"
    )
    one(browser, ".tabPanel.active .CodeMirror")
    browser.execute_script("const q = kgragEditor.getTab().getYasqe(); q.focus(); q.setCursor({line: 1, ch: 28})")
    browser.switch_to.active_element.send_keys(Keys.CONTROL, Keys.SPACE)
    one(browser, ".CodeMirror-hint")
    assert texts(browser, ".CodeMirror-hint") == ["kg:Chunk"]


def test_a_text_with_markup_does_nothing_in_a_result(browser: Any, demo: Inside) -> None:
    query = "SELECT%20?text%20WHERE%20%7B%20GRAPH%20?g%20%7B%20?d%20a%20<https://w3id.org/kgrag/ns%23Document>%20;%20<https://w3id.org/kgrag/ns%23text>%20?text%20FILTER%20CONTAINS(?text,%20%22quarry%22)%20%7D%20%7D"
    browser.get(f"{demo.url}/editor?query={query}")
    one(browser, ".tabPanel.active .yasqe_queryButton").click()
    one(browser, ".yasr table td .nonIri")
    assert any("window.hacked = 3" in text for text in texts(browser, ".yasr table td .nonIri"))
    one(browser, ".yasr .select_response").click()
    one(browser, ".yasr .CodeMirror")
    assert browser.execute_script("return window.hacked") is None


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


# --- by keyboard, in the dark, on a small screen ------------------------------------------------------------------


def focused(browser: Any) -> Any:
    return browser.switch_to.active_element


def walk_to(browser: Any, selector: str, *, most: int = 40) -> Any:
    """Press Tab until something that fits is focused, and visibly so."""
    for _ in range(most):
        focused(browser).send_keys(Keys.TAB)
        if browser.execute_script("return arguments[0].matches(arguments[1])", focused(browser), selector):
            outline = browser.execute_script("return getComputedStyle(arguments[0]).outlineStyle", focused(browser))
            assert outline != "none"
            return focused(browser)
    raise AssertionError(f"Tab never came to {selector}")


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


def test_the_editor_is_entered_used_and_left_by_keyboard(browser: Any, demo: Inside) -> None:
    browser.get(f"{demo.url}/editor")
    one(browser, ".CodeMirror")
    walk_to(browser, "summary")
    for _ in range(10):
        focused(browser).send_keys(Keys.TAB)
        if focused(browser).tag_name == "textarea":
            break
    focused(browser).send_keys(Keys.CONTROL, Keys.ENTER)
    one(browser, ".yasr table td")
    focused(browser).send_keys(Keys.ESCAPE)
    assert focused(browser).tag_name != "textarea"


def channels(colour: str) -> list[float]:
    values = [float(number) for number in re.findall(r"[\d.]+", colour)][:3]
    return [
        value / 255 / 12.92 if value / 255 <= 0.04045 else ((value / 255 + 0.055) / 1.055) ** 2.4 for value in values
    ]


def brightness(colour: str) -> float:
    red, green, blue = channels(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(browser: Any, selector: str) -> float:
    """Contrast of an element's text to what is behind it (WCAG 2.2)."""
    front, back = browser.execute_script(
        """let e = document.querySelector(arguments[0]); const front = getComputedStyle(e).color;
        while (e && /rgba\\(0, 0, 0, 0\\)|transparent/.test(getComputedStyle(e).backgroundColor)) e = e.parentElement;
        return [front, e ? getComputedStyle(e).backgroundColor : 'rgb(255, 255, 255)']""",
        selector,
    )
    dark, light = sorted((brightness(front), brightness(back)))
    return (light + 0.05) / (dark + 0.05)


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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_sparql_stands_out_in_light_and_in_dark(browser: Any, demo: Inside, scheme: str) -> None:
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )
    browser.get(f"{demo.url}/editor?example=catalogue/kinds")
    one(browser, ".tabPanel.active .yasqe_queryButton").click()
    one(browser, ".yasr table td a.iri")
    parts = (
        ".cm-keyword",
        ".cm-atom",
        ".cm-comment",
        ".cm-variable-3",
        ".cm-string-2",
        ".CodeMirror-linenumber",
        ".cm-punc",
        ".yasr table td a.iri",
        ".yasr table th",
        ".yasr .note",
    )
    found = {selector: contrast(browser, selector) for selector in parts}
    assert {selector: value for selector, value in found.items() if value < 4.5} == {}


@pytest.mark.parametrize("path", PAGES)
def test_nothing_has_to_be_scrolled_sideways_on_a_small_screen(browser: Any, demo: Inside, path: str) -> None:
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": False}
    )
    try:
        browser.get(demo.url + path)
        one(browser, "h1")
        wide = browser.execute_script("return [document.scrollingElement.scrollWidth, innerWidth]")
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert wide[0] <= wide[1] == 360
