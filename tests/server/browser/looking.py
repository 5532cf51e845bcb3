"""What a test sees of a page: an element as soon as it is there, texts, the focus, contrast, barriers."""

import json
import re
from typing import Any

from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait
from selenium_axe_python import Axe

_RULES = json.dumps({"rules": {"target-size": {"enabled": True}}})
"""WCAG 2.2 asks for targets of 24 pixels; axe looks at that on demand alone."""
_COLOURS = json.dumps({"runOnly": ["color-contrast", "link-in-text-block"]})
_HIDDEN_BY_HEADER = """
const top = document.querySelector('.top'), hidden = [];
if (getComputedStyle(top).position !== 'sticky') return hidden;
for (const each of document.querySelectorAll('main :is(a[href], button, input, select, textarea, summary, [tabindex="0"])')) {
  scrollTo({ top: document.body.scrollHeight, behavior: 'instant' });
  each.focus();
  if (document.activeElement !== each) continue;
  const box = each.getBoundingClientRect();
  if (box.bottom <= top.getBoundingClientRect().bottom || box.top >= innerHeight) hidden.push(['focus', each.outerHTML]);
}
scrollTo({ top: 0, behavior: 'instant' });
document.activeElement.blur();
return hidden"""


_TEXTS = """return [...document.querySelectorAll(arguments[0])].map(
  (each) => each.matches('option') || each.checkVisibility({ visibilityProperty: true }) ? each.innerText : '')"""
_POLL_SECONDS = 0.05
"""Selenium's own half a second is longer than what most tests wait for."""


def waiting(browser: Any, seconds: float = 20) -> WebDriverWait:
    """What asks again and again until something holds: ``waiting(browser).until(lambda _: …)``."""
    return WebDriverWait(
        browser,
        seconds,
        poll_frequency=_POLL_SECONDS,
        ignored_exceptions=[NoSuchElementException, StaleElementReferenceException],
    )


def one(browser: Any, selector: str) -> Any:
    return waiting(browser).until(lambda _: browser.find_element(By.CSS_SELECTOR, selector))


def seen(browser: Any, selector: str) -> Any:
    """An element as soon as it can be seen."""
    return waiting(browser).until(
        lambda _: (found := browser.find_element(By.CSS_SELECTOR, selector)).is_displayed() and found
    )


def texts(browser: Any, selector: str) -> list[str]:
    """Return the seen text of each element, "" of a hidden one, by one question; ``element.text`` is one per element."""
    return list(browser.execute_script(_TEXTS, selector))


def focused(browser: Any) -> Any:
    return browser.switch_to.active_element


def walk_to(browser: Any, selector: str, *, most: int = 40) -> Any:
    """Press Tab until something that fits is focused, and visibly so."""
    for _ in range(most):
        focused(browser).send_keys(Keys.TAB)
        if browser.execute_script("return arguments[0].matches(arguments[1])", focused(browser), selector):
            outline = browser.execute_script(
                "return [arguments[0], arguments[0].parentElement].map((e) => getComputedStyle(e).outlineStyle)",
                focused(browser),
            )
            assert set(outline) != {"none"}
            return focused(browser)
    raise AssertionError(f"Tab never came to {selector}")


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


def barriers(browser: Any, *, scheme: str = "light") -> list[tuple[str, str]]:
    """What axe finds on a page, and what is focused under the header that stays in place (WCAG 2.2).

    Of a page that is seen in both schemes, only the rules about colours are asked in the dark one: the style sheets
    change nothing but colours in it.
    """
    axe = Axe(browser)
    axe.inject()
    found = axe.run(options=_COLOURS if scheme == "dark" else _RULES)["violations"]
    hidden = browser.execute_script(_HIDDEN_BY_HEADER) if scheme == "light" else []
    return [(each["id"], node["html"]) for each in found for node in each["nodes"]] + [tuple(each) for each in hidden]
