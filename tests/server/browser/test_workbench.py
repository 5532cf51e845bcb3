"""Writing in a browser: with a key that is kept for the tab, updates shown before they are applied, jobs followed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("selenium", reason="selenium drives the browser")

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from tests.server.browser.conftest import quiet
from tests.server.browser.looking import barriers, focused, one, seen, texts, waiting
from tests.server.inside import KEY, Inside, demonstration, served

UPDATE = 'INSERT DATA { GRAPH <urn:x:notes> { <urn:x:lentil> <urn:x:note> "sown late" } }'


@pytest.fixture(scope="module")
def writable(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    with demonstration(tmp_path_factory.mktemp("bench") / "kb") as kb, served(kb) as inside:
        yield inside


@pytest.fixture
def tab(window: Any, writable: Inside) -> Iterator[Any]:
    """A tab without a key; afterwards nothing stands on its console, and nothing was asked of another host."""
    window.get(f"{writable.url}/health")
    window.execute_script("sessionStorage.clear(); localStorage.clear()")
    quiet(window, writable.url)
    yield window
    console, elsewhere = quiet(window, writable.url)
    assert ([line for line in console if "/favicon.ico" not in line], elsewhere) == ([], [])


def write(tab: Any, text: str) -> None:
    area = one(tab, "#query")
    area.send_keys(Keys.CONTROL, "a")
    area.send_keys(text)


def state(tab: Any, text: str) -> None:
    waiting(tab).until(lambda _: text in one(tab, "#state").text)


def test_an_update_shows_its_effect_before_it_is_applied(tab: Any, writable: Inside) -> None:
    tab.get(f"{writable.url}/editor?query=ASK%7B%7D")
    one(tab, ".code .code-line")
    write(tab, UPDATE)
    assert one(tab, "#run").text == "Show effect"
    one(tab, "#query").send_keys(Keys.CONTROL, Keys.ENTER)
    state(tab, "An update needs a key.")
    assert focused(tab).get_attribute("id") == "key"
    focused(tab).send_keys(KEY)
    one(tab, "#run").click()
    assert seen(tab, "#effect ins").text == '+ <urn:x:lentil> <urn:x:note> "sown late"'
    assert texts(tab, "#effect .tiles li") == ["1\nadded", "0\nremoved", "1\ngraph changed"]
    assert not writable.kb.store.described(writable.kb.store.names.loaded_graph("x"))
    assert barriers(tab) == []
    one(tab, "#apply").click()
    state(tab, "Applied: 1 added, 0 removed.")
    assert len(writable.kb.graph("urn:x:notes")) == 1


def test_a_query_is_saved_with_a_parameter_and_asks_for_it(tab: Any, writable: Inside) -> None:
    tab.get(f"{writable.url}/editor?query=ASK%7B%7D")
    tab.execute_script("sessionStorage.setItem('kgrag key', arguments[0])", KEY)
    tab.refresh()
    one(tab, ".code .code-line")
    write(tab, "SELECT ?s ?o {{} ?s <http://www.w3.org/2000/01/rdf-schema#label> ?o }".replace("{}", ""))
    one(tab, "#saving summary").click()
    seen(tab, "#save-name").send_keys("labels-of")
    one(tab, "#save-title").send_keys("Labels of a thing")
    one(tab, "#save-topic").send_keys("words")
    row = one(tab, "[data-variable=s]")
    row.find_element(By.CSS_SELECTOR, "[type=checkbox]").click()
    Select(row.find_element(By.TAG_NAME, "select")).select_by_visible_text("IRI")
    one(tab, "#save").click()
    state(tab, "Saved as labels-of.")
    tab.get(f"{writable.url}/editor")
    Select(one(tab, "#example")).select_by_visible_text("Labels of a thing")
    one(tab, "#examples button").click()
    field = seen(tab, "[name='p.s']")
    field.send_keys("https://w3id.org/kgrag/examples/crops#Crop", Keys.ENTER)
    waiting(tab).until(lambda _: "examples/crops#Crop>" in one(tab, "#query").get_attribute("value"))
    one(tab, ".code .code-line")
    one(tab, "#run").click()
    assert "crop" in texts(tab, ".rows td") or seen(tab, ".rows td")


def test_an_upload_is_followed_to_its_end_and_the_key_is_kept_for_the_tab(
    tab: Any, writable: Inside, tmp_path: Path
) -> None:
    for number in range(3):
        (tmp_path / f"note{number}.md").write_text(f"# Note {number}\n\nRye number {number} is sown in October.")
    tab.get(f"{writable.url}/workbench")
    files = "\n".join(str(tmp_path / f"note{number}.md") for number in range(3))
    one(tab, "input[name=files]").send_keys(files)
    one(tab, "form[enctype] input[name=key]").send_keys(KEY)
    one(tab, "form[enctype] button").click()
    waiting(tab, 30).until(lambda _: "done" in texts(tab, "#job .tag"))
    assert "3\ndocuments" in texts(tab, "#job .tiles li")
    tab.get(f"{writable.url}/workbench/build?method=sire_rag")
    assert not one(tab, "label.key").is_displayed()
    seen(tab, "#forget-key").click()
    assert seen(tab, "label.key input").get_attribute("value") == ""
