"""Takes the pictures of the README and of the guide anew, as WebP: ``python -m tests.server.browser.screenshots``."""

import base64
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from kgrag import KnowledgeBase
from kgrag.llm.embedders import SentenceTransformerEmbedder
from kgrag.resources import folder
from kgrag.server.access_keys import Keys as AccessKeys
from kgrag.server.server_state import AccessRules
from kgrag.settings import Settings
from tests.server.browser.conftest import chromium
from tests.server.browser.looking import one
from tests.server.inside import DEMO, KEY, served

HERE = folder("guide") / "pictures"
UPDATE = 'INSERT DATA { GRAPH <urn:notes> { <urn:lentil> <urn:note> "sown late" } }'


def plain(_: Any) -> None:
    """Leave the page as it is."""


def run(browser: Any) -> None:
    """Run the query of the editor."""
    one(browser, ".code .code-line")
    one(browser, "#run").click()
    one(browser, ".rows td")


def why(browser: Any) -> None:
    """Follow an answer to the picture of its first hit."""
    browser.get(one(browser, "a[aria-label^='Why ']").get_attribute("href"))
    one(browser, "main svg")


def effect(browser: Any) -> None:
    """Show what an update would do."""
    one(browser, "textarea[name=query]").send_keys(UPDATE)
    sent(browser, "form.panel", "button[value=effect]")
    one(browser, "button[value=apply]")


def price(browser: Any) -> None:
    """Ask what a build would cost."""
    sent(browser, "form[aria-labelledby=what]", "button[value='dry run']")
    one(browser, ".tiles, .plan, dl")


def talk(browser: Any) -> None:
    """Ask a question and what follows on it."""
    for number, asked in enumerate(("When is chickpea sown in the Hill Zone?", "And in the Coastal Zone?"), start=1):
        one(browser, "[name=question]").send_keys(asked, Keys.ENTER)
        WebDriverWait(browser, 60).until(
            lambda tab, turns=number: len(tab.find_elements(By.CSS_SELECTOR, ".turn a.cite")) >= turns
        )


def sent(browser: Any, form: str, button: str) -> None:
    """Send a form with the key where it asks for one."""
    key = one(browser, f"{form} input[name=key]")
    if key.is_displayed():
        key.send_keys(KEY)
    one(browser, f"{form} {button}").click()


PICTURES: dict[str, tuple[str, Callable[[Any], None]]] = {
    "ask": ("/?question=When+is+chickpea+sown+in+the+Hill+Zone%3F#citation-1", plain),
    "catalogue": ("/catalogue", plain),
    "resource": ("/resource?iri=https://w3id.org/kgrag/examples/crops%23Crop", plain),
    "editor": ("/editor?example=catalogue/kinds", run),
    "report": ("/report?profile=obo", plain),
    "classes": ("/explore", plain),
    "tree": ("/explore/tree?question=When+is+chickpea+sown+in+the+Hill+Zone%3F", plain),
    "hyperedge": ("/?question=When+is+chickpea+sown+in+the+Hill+Zone%3F&method=og_rag", why),
    "effect": ("/workbench/update", effect),
    "price": ("/workbench/build?method=og_rag", price),
    "chat": ("/chat", talk),
}


def picture(browser: Any, url: str, prepared: Callable[[Any], None]) -> bytes:
    """Return a page as WebP, after what is done on it first."""
    browser.get("about:blank")
    browser.get(url)
    WebDriverWait(browser, 60).until(lambda _: browser.execute_script("return document.readyState") == "complete")
    WebDriverWait(browser, 60).until(lambda _: browser.find_elements(By.TAG_NAME, "footer"))
    prepared(browser)
    shot = browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "webp", "quality": 50})
    return base64.b64decode(shot["data"])


def main(kb: KnowledgeBase) -> None:
    """Take every picture."""
    HERE.mkdir(exist_ok=True)
    kb.ask("Is everything loaded?")
    with served(kb, AccessRules(AccessKeys(KEY))) as running, chromium(size="1200,960") as browser:
        for name, (path, prepared) in PICTURES.items():
            (HERE / f"{name}.webp").write_bytes(picture(browser, running.url + path, prepared))


def filled(path: Path) -> KnowledgeBase:
    """Return a knowledge base with the demonstration's content, built for every method that has a picture."""
    settings = Settings(model="extractive", completions="off", prices={"extractive": {"input": 2.5, "output": 10}})
    kb = KnowledgeBase(path, settings=settings, embedder=SentenceTransformerEmbedder())
    kb.load(folder("ontologies") / "crops.ttl")
    kb.ingest(DEMO / "texts")
    kb.build("og_rag", mapped=DEMO / "mapped")
    kb.build("obqc", competency=DEMO / "competency.jsonl")
    kb.build("sire_rag")
    return kb


if __name__ == "__main__":
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    with tempfile.TemporaryDirectory(prefix="kgrag-pictures-") as place, filled(Path(place) / "kb") as opened:
        main(opened)
