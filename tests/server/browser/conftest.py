"""A headless Chromium; tests skip where there is none. Nothing is fetched: the driver's path is given."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from tests.server.inside import Inside

_BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The first has no windows of its own, and needs half of the processor's time: 4 s for 20 pages in place of 8."""


def programs() -> tuple[str, str] | None:
    """Paths of a browser and its driver; None where one of them is not installed."""
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    driver = shutil.which("chromedriver")
    return (browser, driver) if browser and driver else None


@contextmanager
def chromium(*, size: str = "1280,860") -> Iterator[Any]:
    """Open a browser window."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium drives the browser")
    exceptions = pytest.importorskip("selenium.common.exceptions", reason="selenium drives the browser")
    found = programs()
    if found is None:
        pytest.skip(
            "no chromium with chromedriver here (Debian: apt-get install chromium-headless-shell chromium-driver)"
        )
    options = webdriver.ChromeOptions()
    options.binary_location = found[0]
    for argument in (
        "headless=new",
        "no-sandbox",
        "disable-dev-shm-usage",
        "disable-gpu",
        "hide-scrollbars",
        "force-prefers-reduced-motion",
        f"window-size={size}",
    ):
        options.add_argument(f"--{argument}")
    options.add_experimental_option("perfLoggingPrefs", {"enableNetwork": True, "enablePage": False})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(found[1]))
    try:
        yield driver
    finally:
        with suppress(exceptions.WebDriverException):  # what answers a browser that closes is cut off now and then
            driver.execute_cdp_cmd("Browser.close", {})  # the headless shell outlives its driver otherwise
        driver.quit()


@pytest.fixture(scope="session")
def window() -> Iterator[Any]:
    """One browser for all tests of a process: to start it takes longer than most of them."""
    with chromium() as driver:
        yield driver


@contextmanager
def without_scripts(window: Any) -> Iterator[None]:
    """Let no page run a script meanwhile; what the test itself asks of a page is answered."""
    window.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        yield
    finally:
        window.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


@pytest.fixture
def browser(window: Any, demo: Inside) -> Iterator[Any]:
    """The window, emptied; afterwards nothing stands on its console, and nothing was asked of another host."""
    window.get(f"{demo.url}/health")
    window.execute_script("localStorage.clear(); sessionStorage.clear()")
    quiet(window, demo.url)
    yield window
    assert quiet(window, demo.url) == ([], [])
    window.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def quiet(window: Any, url: str) -> tuple[list[str], list[str]]:
    """Give what stands on the console since the last call, and what was asked of another host."""
    console = [entry["message"] for entry in window.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
    messages = [json.loads(entry["message"])["message"] for entry in window.get_log("performance")]
    asked = [one["params"]["request"]["url"] for one in messages if one["method"] == "Network.requestWillBeSent"]
    return console, [each for each in asked if not each.startswith((url, "data:", "about:", "chrome:"))]
