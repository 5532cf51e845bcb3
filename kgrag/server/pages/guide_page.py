"""The guide: the Markdown pages of ``kgrag/guide``, their pictures and notebooks.

HTML in a page is not passed on: comments are dropped, the rest is escaped. A line ``::: kgrag.queries`` becomes the
documentation of that module, class or function, taken from its docstrings, as mkdocstrings does for the static site.
"""

from __future__ import annotations

import inspect
import posixpath
import pydoc
import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from html import escape
from itertools import pairwise
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from kgrag.late_patterns import late_re
from kgrag.resources import closest, folder
from kgrag.server.pages.page_rendering import PAGE_HEADERS, guarded, page
from kgrag.server.problems import Problem

__all__ = ["Rendered", "guide", "render"]

_INDEX = "index.md"
_MEDIA_TYPES = {".svg": "image/svg+xml", ".webp": "image/webp", ".ipynb": "application/x-ipynb+json"}
_DOCUMENTED = late_re(r"^::: (kgrag[\w.]*)$", flags=re.MULTILINE)
_COMMENT = late_re(r"<!--.*?-->", flags=re.DOTALL)
_MIN_SECTIONS_LISTED = 3


class Rendered(NamedTuple):
    """A page as HTML: its title, its body, and anchor and words of each section."""

    title: str
    body: str
    sections: tuple[tuple[str, str], ...]


@guarded
async def guide(request: Request) -> Response:
    """Return a page of the guide, or a picture or notebook of it."""
    name = request.path_params.get("name", "").strip("/") or "index"
    files = _files()
    path = files.get(name) or files.get(f"{name}.md")
    if path is None:
        pages = (each.removesuffix(".md") for each in files if each.endswith(".md"))
        raise Problem(404, f"the guide has no page '{name}'. {closest(name, pages)}")
    if path.suffix in _MEDIA_TYPES:
        return FileResponse(path, media_type=_MEDIA_TYPES[path.suffix], headers=PAGE_HEADERS)
    root = str(request.scope.get("root_path", "")).rstrip("/")
    rendered = render(path.relative_to(folder("guide")).as_posix(), f"{root}/guide")
    listed = rendered.sections if len(rendered.sections) >= _MIN_SECTIONS_LISTED else ()
    return page(request, "guide.html", rendered=rendered, sections=listed, is_index=path.name == _INDEX)


@cache
def _files() -> dict[str, Path]:
    """Return the files that may be asked for, by name; nothing else can be reached."""
    top = folder("guide")
    known = (path for path in sorted(top.rglob("*")) if path.suffix in {".md", *_MEDIA_TYPES})
    return {path.relative_to(top).as_posix(): path for path in known}


@lru_cache(maxsize=256)
def render(name: str, base: str) -> Rendered:
    """Return a page of the guide as HTML.

    Args:
        name: the page's file below ``kgrag/guide``.
        base: the address that the guide is at, without a slash at the end.
    """
    text = _DOCUMENTED.sub(lambda found: _documentation(found[1]), _files()[name].read_text(encoding="utf-8"))
    markdown = MarkdownIt("commonmark").enable("table")
    markdown.add_render_rule("fence", _fence)
    markdown.add_render_rule("table_open", _table)
    markdown.add_render_rule("table_close", lambda *_: "</table></div>\n")
    for html in ("html_block", "html_inline"):
        markdown.add_render_rule(html, _escaped)
    tokens = markdown.parse(text)
    sections = tuple(_anchored(tokens))
    for token in tokens:
        if token.attrs.pop("style", None) == "text-align:right":  # the content policy allows no inline style
            token.attrSet("class", "number")
        for inner in token.children or ():
            for attribute in ("href", "src"):
                if isinstance(target := inner.attrs.get(attribute), str):
                    inner.attrSet(attribute, _address(target, name, base))
    title = next(words for level, _, words in sections if level == "h1")
    listed = tuple((anchor, words) for level, anchor, words in sections if level == "h2")
    return Rendered(title, markdown.renderer.render(tokens, markdown.options, {}), listed)


def _anchored(tokens: Sequence[Token]) -> Iterator[tuple[str, str, str]]:
    """Set the ``id`` of every heading to its words, and yield (tag, id, words) of each."""
    used: set[str] = set()
    for heading, inline in pairwise(tokens):
        if heading.type != "heading_open":
            continue
        words = "".join(inner.content for inner in inline.children or ())
        anchor = stem = re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", words).strip().lower())
        while anchor in used:
            anchor = f"{stem}_{len(used)}"
        used.add(anchor)
        heading.attrSet("id", anchor)
        yield heading.tag, anchor, words


def _address(target: str, name: str, base: str) -> str:
    """Return where a link of a page leads: pages link to each other by file name."""
    path, mark, anchor = target.partition("#")
    if not path or re.match(r"[a-z]+:", path):
        return target
    found = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)).removesuffix(".md")
    return (base if found == "index" else f"{base}/{found}") + mark + anchor


def _fence(_self: Any, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    # a block that may be scrolled has to be reachable by keyboard
    return f'<pre tabindex="0"><code>{escape(tokens[index].content)}</code></pre>\n'


def _table(*_: Any) -> str:
    # on a phone it is scrolled by itself, not the page
    return '<div class="scrolled" tabindex="0"><table class="list">\n'


def _escaped(_self: Any, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    return escape(_COMMENT.sub("", tokens[index].content).strip())


def _documentation(name: str) -> str:
    """Return the docstrings of a module, class or function as Markdown."""
    found = pydoc.locate(name)
    members = ((each, getattr(found, each)) for each in _public(found))
    parts = [_entry(name, found, "###"), *(_entry(each, member, "####") for each, member in members)]
    return "\n\n".join(parts)


def _public(found: object) -> list[str]:
    """Return the names of what a module exports, or of what a class of kgrag defines."""
    if inspect.ismodule(found):
        return [name for name in found.__all__ if name != "names"]
    if not inspect.isclass(found):
        return []
    own = [vars(base).items() for base in found.__mro__ if base.__module__.startswith("kgrag")]
    kinds = (FunctionType, property, classmethod)
    public = (item for items in own for item in items if item[0][0] != "_")
    return sorted({name for name, value in public if isinstance(value, kinds) and value.__doc__})


def _entry(name: str, found: object, level: str) -> str:
    signature = ""
    if inspect.isfunction(found):
        signature = re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(inspect.signature(found)))
    return f"{level} `{name}{signature}`\n\n~~~~text\n{inspect.getdoc(found) or ''}\n~~~~"
