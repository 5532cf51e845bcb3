"""What the head of an HTML page says of the page, as fields of its document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kgrag.text.metadata import typed
from kgrag.text.readers.sources import listed, web_address

__all__ = ["page_fields"]


def page_fields(fields: Mapping[str, Sequence[str]]) -> dict[str, object]:
    """Return what the elements of the head say as fields; the URL is the first web address of those that name it."""
    found: dict[str, object] = {}
    for name, values in fields.items():
        items = [item for value in values for item in listed(value)] if name == "keywords" else [*map(typed, values)]
        found[name] = items[0] if len(items) == 1 and name != "keywords" else items
    for name in ("url", "og:url"):
        if address := next(filter(None, map(web_address, fields.get(name, ()))), ""):
            return {**{other: value for other, value in found.items() if other != name}, "url": address}
    return found
