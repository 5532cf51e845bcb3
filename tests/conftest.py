"""Fixtures that several test modules share."""

import gc
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

for _library in (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
):  # read when torch and numpy are imported; workers have a core each
    os.environ.setdefault(_library, "1")

# A slow machine is no fault of what is tested, and the same cases are tried each time; KGRAG_RANDOM tries others.
settings.register_profile(
    "kgrag",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=not os.environ.get("KGRAG_RANDOM"),
)
settings.load_profile("kgrag")

if TYPE_CHECKING:
    from kgrag import KnowledgeBase

ROOT = Path(__file__).parents[1]
DEMO = ROOT / "kgrag" / "demo"
QUICK = {
    "KGRAG_EMBEDDER": "quick",
    "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT / "tests" / "quick_embedder"), os.environ.get("PYTHONPATH")])),
}
"""Environment of a process that embeds without weights: it would spend seconds on loading the default ones."""


class _FilesWithExamples:
    """Of the package, only files with an example are imported while tests are collected, by each worker anew."""

    @staticmethod
    def pytest_ignore_collect(collection_path: Path) -> bool | None:
        package = collection_path.suffix == ".py" and collection_path.is_relative_to(ROOT / "kgrag")
        return True if package and ">>> " not in collection_path.read_text(encoding="utf-8") else None


gc.set_threshold(20_000)  # young objects are looked through a thirtieth as often, a twentieth of the processor's time


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(_FilesWithExamples())  # a hook of this file would see the files of tests alone


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Take what was collected, 10,000 tests and all they import, from what each full collection of garbage walks."""
    gc.collect()
    gc.freeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite-golden", action="store_true", help="write golden files anew; review the diff")


@pytest.fixture
def golden(request: pytest.FixtureRequest):
    """Compare text with a file of tests/golden, or write it with --rewrite-golden."""

    def check(name: str, text: str) -> None:
        path = ROOT / "tests" / "golden" / name
        if request.config.getoption("--rewrite-golden"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.read_text(encoding="utf-8") == text

    return check


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads the developer's environment, and none can reach a paid service by accident."""
    for name in list(os.environ):
        if name.startswith(("KGRAG_", "OPENAI_")) and name != "KGRAG_DATA":
            monkeypatch.delenv(name)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real data; tests that need it skip where it is absent."""
    path = Path(os.environ.get("KGRAG_DATA", ROOT.parent / "shared" / "data"))
    if not path.is_dir():
        pytest.skip("no real data here; set KGRAG_DATA to its folder")
    return path


@pytest.fixture
def kb() -> "Iterator[KnowledgeBase]":
    """An empty knowledge base in memory, with a quick embedder."""
    from kgrag import KnowledgeBase
    from kgrag.settings import Settings
    from kgrag.testing import HashEmbedder

    with KnowledgeBase(settings=Settings(), embedder=HashEmbedder()) as opened:
        yield opened


@pytest.fixture
def demo_kb(kb: "KnowledgeBase") -> "KnowledgeBase":
    """The demonstration's content, in memory, every method built."""
    from kgrag import plugins
    from kgrag.resources import folder

    kb.load(folder("ontologies") / "crops.ttl")
    kb.ingest(DEMO / "texts")
    for name, method in plugins.methods().items():
        kb.build(name, **{option: DEMO / path for option, path in method.example.items()})
    return kb
