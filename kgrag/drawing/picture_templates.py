"""What every picture uses: templates that escape what they print, and texts cut to one line."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import jinja2

__all__ = ["one_line", "render"]


def render(template: str, **values: object) -> str:
    """Return a template of this folder with its values filled in; texts are escaped for XML and HTML."""
    return _template(template).render(**values)


@cache
def _template(name: str) -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(Path(__file__).with_name(name).read_text(encoding="utf-8"))


def one_line(text: str, max_letters: int) -> str:
    r"""Return a text on one line, cut with an ellipsis where it is longer than ``max_letters``.

    >>> one_line("Barley is\na cereal.", 12)
    'Barley is a…'
    """
    line = " ".join(text.split())
    return line if len(line) <= max_letters else line[: max_letters - 1].rstrip() + "…"
