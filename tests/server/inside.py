"""A server in a thread of the test's own process, so that a test can hold the knowledge base behind it."""

import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import uvicorn
from starlette.types import ASGIApp

from kgrag import KnowledgeBase
from kgrag.ports import Embedder
from kgrag.resources import folder
from kgrag.server.access_keys import Keys
from kgrag.server.app import create_app
from kgrag.server.readers.reader_request import ServerLimits
from kgrag.server.served_data import CataloguedDataset
from kgrag.server.server_state import AccessRules
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder

KEY = "secret-for-tests"
DEMO = Path(__file__).parents[2] / "kgrag" / "demo"
HOSTILE = """# Quarry <script>window.hacked = 1</script>

The quarry of Ostrel <img src="x" onerror="window.hacked = 2"> opened in 1911 </p><script>window.hacked = 3</script>.
Its stone & gravel "went" down the river.
"""


@dataclass(frozen=True)
class Inside:
    """A running server: what it serves, where, and a client of it."""

    kb: KnowledgeBase
    url: str
    client: httpx.Client

    def page(self, path: str, **parameters: str) -> httpx.Response:
        return self.client.get(path, params=parameters, headers={"Accept": "text/html"})

    def post(self, path: str, **body: object) -> httpx.Response:
        return self.client.post(path, json=body)


@contextmanager
def served(kb: KnowledgeBase, rules: AccessRules | None = None, limits: ServerLimits | None = None) -> Iterator[Inside]:
    """Serve a knowledge base that has a folder, on a free port of loopback."""
    assert kb.path is not None
    own = kb.path / "cache" / f"snapshots-{secrets.token_hex(4)}"
    app = create_app(CataloguedDataset(kb.store), own, rules=rules or AccessRules(Keys(KEY)), kb=kb, limits=limits)
    with listening(app) as url, httpx.Client(base_url=url, timeout=30.0, trust_env=False) as client:
        yield Inside(kb, url, client)


@contextmanager
def listening(app: ASGIApp) -> Iterator[str]:
    """Serve an application on a free port of loopback; the address is returned."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", access_log=False))
    begun = threading.Event()
    startup = server.startup

    async def started(*arguments: object, **options: object) -> None:
        await startup(*arguments, **options)  # type: ignore[arg-type]
        begun.set()

    server.startup = started  # type: ignore[method-assign]
    thread = threading.Thread(target=server.run)
    thread.start()
    assert begun.wait(30)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(30)


@contextmanager
def demonstration(path: Path, *, embedder: Embedder | None = None) -> Iterator[KnowledgeBase]:
    """The demonstration's content and a hostile text, built for the methods that pages differ by, with a quick embedder."""
    settings = Settings(model="extractive", completions="off")
    with KnowledgeBase(path, settings=settings, embedder=embedder or HashEmbedder()) as kb:
        hostile = path.parent / "quarry.md"
        hostile.write_text(HOSTILE, encoding="utf-8")
        kb.load(folder("ontologies") / "crops.ttl")
        kb.ingest(DEMO / "texts", hostile)
        kb.build("og_rag", mapped=DEMO / "mapped")
        kb.build("obqc", competency=DEMO / "competency.jsonl")
        yield kb
