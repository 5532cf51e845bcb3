"""Takes the README's pictures anew: ``python -m tests.server.browser.screenshots`` (beside this file, as WebP)."""

import base64
import os
import tempfile
from pathlib import Path
from typing import Any

from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from kgrag import KnowledgeBase
from kgrag.llm.embedders import SentenceTransformerEmbedder
from tests.server.browser.conftest import chromium
from tests.server.inside import demonstration, served

HERE = Path(__file__).parent / "pictures"
ASKED = "/?question=Which+varieties+of+lentil+are+grown+in+which+zone%3F&method=obqc#citation-2"
PICTURES = {
    "ask": ("/?question=When+is+chickpea+sown+in+the+Hill+Zone%3F#citation-1", "light"),
    "ask-dark": (ASKED, "dark"),
    "catalogue": ("/catalogue", "light"),
    "resource": ("/resource?iri=https://w3id.org/kgrag/examples/crops%23Crop", "light"),
    "editor": ("/editor?example=catalogue/kinds", "light"),
    "editor-dark": ("/editor?example=documents/listing", "dark"),
    "report": ("/report?profile=obo", "light"),
}


def picture(browser: Any, url: str, scheme: str) -> bytes:
    """Open a page and give it as WebP; the editor runs its query first."""
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    browser.get("about:blank")
    browser.get(url)
    WebDriverWait(browser, 60).until(lambda _: browser.execute_script("return document.readyState") == "complete")
    WebDriverWait(browser, 60).until(lambda _: browser.find_elements(By.TAG_NAME, "footer"))
    if "/editor" in url:
        WebDriverWait(browser, 20).until(lambda _: browser.find_elements(By.CSS_SELECTOR, ".code .code-line"))
        browser.find_element(By.ID, "run").click()
        WebDriverWait(browser, 20).until(lambda _: browser.find_elements(By.CSS_SELECTOR, ".rows td"))
    shot = browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "webp", "quality": 50})
    return base64.b64decode(shot["data"])


def main(kb: KnowledgeBase) -> None:
    """Take every picture."""
    HERE.mkdir(exist_ok=True)
    kb.ask("Is everything loaded?")
    with served(kb) as running, chromium(size="1200,960") as browser:
        for name, (path, scheme) in PICTURES.items():
            (HERE / f"{name}.webp").write_bytes(picture(browser, running.url + path, scheme))


if __name__ == "__main__":
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    with (
        tempfile.TemporaryDirectory(prefix="kgrag-pictures-") as folder,
        demonstration(Path(folder) / "kb", embedder=SentenceTransformerEmbedder()) as opened,
    ):
        main(opened)
