"""The whole day of an ontologist in a browser, at two widths, in light and in dark; run in depth alone.

    KGRAG_DAY=FOLDER pytest -n 0 tests/server/browser/test_day.py

Takes minutes, with the embedding model that is the default, and leaves a picture of every step in the folder. At each
step nothing is on the console, nothing was asked of another host, nothing is wider than the screen, and axe finds no
barrier. The texts are the demonstration's; with ``KGRAG_DAY_DOCUMENTS`` and ``KGRAG_DAY_ONTOLOGIES`` they are real ones
(``plans_of_days``).
"""

import base64
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("selenium", reason="selenium drives the browser")
if not os.environ.get("KGRAG_DAY"):
    pytest.skip("a day takes minutes: KGRAG_DAY=FOLDER runs it", allow_module_level=True)

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

from kgrag import KnowledgeBase
from kgrag.server.access_keys import Keys as AccessKeys
from kgrag.server.server_state import AccessRules
from kgrag.settings import Settings
from tests.server.browser.conftest import chromium, quiet
from tests.server.browser.looking import barriers, one, seen, texts
from tests.server.browser.plans_of_days import plan
from tests.server.inside import KEY, Inside, served

PICTURES = Path(os.environ["KGRAG_DAY"])
METHODS = ("passages", "og_rag", "obqc", "poly_rag", "cg_rag", "sire_rag")


@dataclass
class Day:
    """A browser and the server that it works on; ``look`` is called at each step."""

    browser: Any
    inside: Inside
    name: str
    step: int = 0
    found: list[str] = field(default_factory=list)

    def open(self, path: str) -> None:
        self.browser.get(self.inside.url + path)

    def look(self, title: str) -> None:
        """Take a picture, and note what is wrong with the page."""
        self.step += 1
        WebDriverWait(self.browser, 60).until(lambda b: b.execute_script("return document.readyState") == "complete")
        console, elsewhere = quiet(self.browser, self.inside.url)
        expected = (
            "/sparql - Failed to load resource: the server responded with a status of 400"  # the browser's own note
        )
        console = [line for line in console if not (title.startswith("mistake") and expected in line)]
        if title == "the gate refuses an ontology":  # its page has the status of a refusal
            console = [line for line in console if "status of 422" not in line]
        self.found += [f"{title}: {line}" for line in (*console, *elsewhere) if "/favicon.ico" not in line]
        wide = self.browser.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
        if wide[0] > wide[1]:
            self.found.append(f"{title}: {wide[0]} px wide on a screen of {wide[1]}")
        self.found += [f"{title}: {rule} {html[:200]}" for rule, html in barriers(self.browser)]
        shot = self.browser.execute_cdp_cmd(
            "Page.captureScreenshot", {"format": "webp", "quality": 70, "captureBeyondViewport": True}
        )
        where = PICTURES / self.name
        where.mkdir(parents=True, exist_ok=True)
        (where / f"{self.step:02}-{title.replace(' ', '-')}.webp").write_bytes(base64.b64decode(shot["data"]))
        # a day that is cut short has shown what it found until then
        (where / "found.txt").write_text("\n".join((f"{self.step} steps, {len(self.found)} found", *self.found)) + "\n")

    def send(self, form: str, button: str = "button") -> None:
        """Send a form; the key is typed where it is asked for."""
        key = one(self.browser, f"{form} input[name=key]")
        if key.is_displayed():
            key.send_keys(KEY)
        self.press(f"{form} {button}")

    def press(self, selector: str) -> None:
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", one(self.browser, selector))
        one(self.browser, selector).click()

    def until(self, selector: str, text: str, seconds: int = 400) -> None:
        def there(_: Any) -> bool:
            return any(
                text in (shown or "")
                for shown in self.browser.execute_script(
                    "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)", selector
                )
            )

        WebDriverWait(self.browser, seconds).until(there, f"{selector} never had {text!r}")

    def job(self) -> None:
        self.until("#job .tag", "done")

    def written(self, text: str) -> None:
        area = one(self.browser, "#query")
        area.send_keys(Keys.CONTROL, "a")
        area.send_keys(text)
        self.browser.execute_script("document.activeElement.blur()")


@pytest.fixture(params=[(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")], ids=lambda p: f"{p[0]}-{p[1]}")
def day(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Day]:
    width, scheme = request.param
    settings = Settings(model="extractive", prices={"extractive": {"input": 2.5, "output": 10}})
    rules = AccessRules(AccessKeys(KEY), gate="publish")
    with (
        KnowledgeBase(tmp_path / "kb", settings=settings) as kb,
        served(kb, rules) as inside,
        chromium(size=f"{width},860") as browser,
    ):
        browser.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        )
        phone = {"width": width, "height": 860, "deviceScaleFactor": 1, "mobile": width < 500}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
        yield Day(browser, inside, f"{width}-{scheme}")


def test_a_day_of_an_ontologist(day: Day, tmp_path: Path) -> None:
    browser, todo = day.browser, plan(day.browser, tmp_path)
    quiet(browser, day.inside.url)  # what the browser read when it printed the PDF was not for a page of ours
    # two ontologies
    day.open("/workbench/graphs")
    day.look("before loading")
    for refused in todo.refused_ontologies:
        one(browser, "input[name=files]").send_keys(str(refused))
        day.send("form[aria-labelledby=load]")
        day.until(".findings li", "MET-02", 60)
        day.look("the gate refuses an ontology")
        day.open("/workbench/graphs")
    one(browser, "input[name=files]").send_keys("\n".join(map(str, todo.ontologies)))
    day.send("form[aria-labelledby=load]")
    day.until(".success", todo.ontologies[-1].name)
    day.look("two ontologies loaded")
    day.open("/explore")
    day.look("class tree")
    # ten documents and a PDF
    day.open("/workbench")
    one(browser, "input[name=files]").send_keys("\n".join(map(str, todo.documents)))
    day.look("files chosen")
    day.send("form[aria-labelledby=add]")
    day.job()
    assert "11\ndocuments" in texts(browser, "#job .tiles li")
    day.look("documents taken in")
    # builds, with their price first
    for method in METHODS[1:]:
        day.open(f"/workbench/build?method={method}")
        if method == "og_rag":
            day.send("form.panel", "button[value='dry run']")
            day.job()
            day.until("#job", "Cost")
            day.look("price of a build")
            day.open(f"/workbench/build?method={method}")
        if method == "poly_rag":
            day.press("input[name='option.complete']")
            day.look("options of a build")
        day.send("form.panel", "button[value=build]")
        day.job()
        day.look(f"{method} built")
    # ask, and follow a citation to its page
    day.open("/")
    day.look("ask")
    one(browser, "#question").send_keys(todo.question_of_pdf, Keys.ENTER)
    one(browser, "a.cite")
    shown = "return document.querySelector(arguments[0].hash).textContent"
    cites = browser.find_elements(By.CSS_SELECTOR, "a.cite")
    # others name what the sentence is about, or stand for sentences that follow it
    next(each for each in cites if todo.words_of_pdf in browser.execute_script(shown, each)).click()
    assert todo.words_of_pdf in one(browser, "mark:target").text
    day.look("an answer from the PDF")
    assert texts(browser, ".passage .place")[0].startswith("page")
    one(browser, ".passage h3 a").click()
    assert todo.words_of_pdf in seen(browser, "mark:target").text
    day.look("the page of the citation")
    # why this, for a hit of each method; obqc has a query without a model where an ontologist gave one
    day.open("/workbench/graphs")
    one(browser, "textarea[name=rdf]").send_keys(todo.data)
    one(browser, "form[aria-labelledby=load] input[name=graph]").send_keys("urn:x:trials")
    day.send("form[aria-labelledby=load]")
    day.until(".success", "urn:x:trials")
    for method in METHODS:
        day.open(f"/?question={todo.question_of_data if method == 'obqc' else todo.question}&method={method}")
        one(browser, ".evidence, .passages, .unknown")
        day.look(f"answer of {method}")
        browser.execute_script("document.querySelectorAll('details').forEach((e) => e.open = true)")
        browser.find_elements(By.CSS_SELECTOR, ".evidence li p.small a")[0].click()
        one(browser, ".statements li" if method == "obqc" else ".picture svg, .tree, ol.walk, main svg")
        day.look(f"why this of {method}")
    # a query with three mistakes
    day.open("/editor?query=ASK%7B%7D")
    one(browser, ".code .code-line")
    day.written(todo.mistakes)
    for number in range(4):
        day.press("#run")
        seen(browser, "#findings li")
        day.look(f"mistake {number + 1}")
        mends = browser.find_elements(By.CSS_SELECTOR, "#findings .mend")
        if not mends:  # nobody knows what the prefix stands for
            assert number == 3 and "the prefix zoo: is not declared" in texts(browser, "#findings")[0]
            break
        browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", mends[0])
        mends[0].click()
        day.until("#state", "Mended")
    day.written(one(browser, "#query").get_attribute("value").replace(" ; zoo:near <http://example.org/x>", ""))
    day.press("#run")
    day.until("#state", "1 row")
    day.look("the mended query")
    day.press("#saving summary")
    seen(browser, "#save-name").send_keys("classes-called")
    one(browser, "#save-title").send_keys("Classes of a name")
    one(browser, "#save-topic").send_keys("ontology")
    day.look("saving a query")
    day.press("#save")
    day.until("#state", "Saved")
    day.open("/editor")
    Select(one(browser, "#example")).select_by_visible_text("Classes of a name")
    day.look("the saved query is offered")
    # an update past the gate
    day.open("/workbench/update")
    one(browser, "textarea[name=query]").send_keys(todo.refused_update)
    day.send("form.panel", "button[value=effect]")
    day.until(".notice", "gate")
    day.look("the gate refuses")
    area = one(browser, "textarea[name=query]")
    area.clear()
    area.send_keys(todo.update)
    day.send("form.panel", "button[value=effect]")
    one(browser, "button[value=apply]")
    day.look("what the update would do")
    day.press("button[value=apply]")
    day.until(".success", "Done")
    day.look("updated")
    day.open(f"/resource?iri={todo.class_page}")
    day.look("the page of a class")
    # audit, proposals, forgetting
    day.open("/report")
    day.look("audit")
    day.press(".audit-form button")
    day.until("#result", "onform")
    day.look("audited")
    day.press("details.check summary")
    day.look("a finding closed")
    day.open("/workbench/proposals")
    day.look("proposals")
    day.press("input[value=accepted]")
    day.send("form[data-busy='Deciding …']")
    day.until(".success", "1 decision is kept")
    day.look("a proposal accepted")
    day.open("/workbench")
    one(browser, "input[name=document]").send_keys(todo.documents[-1].name)
    day.send("form[aria-labelledby=forget]")
    day.until(".success", "0 traces")
    day.look("forgotten")
    day.open(f"/?question={todo.question_of_pdf}")
    assert todo.words_of_pdf not in one(browser, "main").text
    day.look("asked after it was forgotten")
    day.open("/workbench/jobs")
    day.send("form[data-busy='Reading …']", "button[value=jobs]")
    day.look("jobs")
    day.open("/catalogue")
    day.look("graphs")
    day.open("/chat")
    one(browser, "[name=question]").send_keys(todo.question, Keys.ENTER)
    one(browser, ".turn a.cite")
    day.look("chat")
    assert day.found == []
