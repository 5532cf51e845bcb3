"""Packages with plug-ins, put on the path as pip would install them."""

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from kgrag import plugins, prompting, queries, shacl
from kgrag.audit import check_runner, checks
from kgrag.index import vector_spaces
from kgrag.shacl import graph_validation
from kgrag.store import graph_kinds
from kgrag.text import readers

collect_ignore = ["kgrag_hippo"]  # a package of its own, which is installed by its test
CACHED = (
    plugins._points,
    plugins.registered,
    plugins.load,
    plugins.methods,
    plugins._declared,
    plugins.folders,
    graph_kinds.kinds,
    vector_spaces.spaces,
    readers.suffixes,
    graph_validation.graph_shapes,
    checks.shipped,
    check_runner.compiled,
    queries.describe,
    queries._read,
    queries._environment,
    queries._template,
    prompting._declared,
)


def forget_plugins() -> None:
    """Let the next look find what is on the path then; a process of its own would not have to."""
    for cached in CACHED:
        cached.cache_clear()


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Path]]:
    """Put a distribution on the path: its files, and its entry points as group -> name -> target."""
    names: list[str] = []

    def go(name: str, points: Mapping[str, Mapping[str, str]], files: Mapping[str, str], version: str = "1.0") -> Path:
        site = tmp_path / f"site-{name}"
        info = site / f"{name}-{version}.dist-info"
        info.mkdir(parents=True)
        info.joinpath("METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        lines = [
            f"[{group}]\n" + "\n".join(f"{key} = {value}" for key, value in each.items())
            for group, each in points.items()
        ]
        info.joinpath("entry_points.txt").write_text("\n\n".join(lines) + "\n")
        for path, text in files.items():
            (site / path).parent.mkdir(parents=True, exist_ok=True)
            (site / path).write_text(text, encoding="utf-8")
        monkeypatch.syspath_prepend(str(site))
        names.append(name)
        forget_plugins()
        return site

    yield go
    monkeypatch.undo()
    for module in [module for module in sys.modules if module.split(".")[0] in names]:
        del sys.modules[module]
    forget_plugins()
    assert shacl.graph_shapes()
