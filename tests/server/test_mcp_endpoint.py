"""When ``/mcp`` loads the SDK of the Model Context Protocol, with what stands in the SDK's place."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kgrag.server.mcp import mcp_endpoint

SCOPE = {"type": "http", "method": "POST", "path": "/mcp", "headers": [], "query_string": b""}


class Manager:
    """Counts what it is asked, and says whether it runs."""

    def __init__(self) -> None:
        self.requests, self.runs = 0, False

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        self.runs = True
        yield
        self.runs = False

    async def handle_request(self, *_: Any) -> None:
        assert self.runs
        self.requests += 1


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[Manager]:
    """The managers that were made."""
    made: list[Manager] = []

    def manager() -> Manager:
        made.append(Manager())
        return made[-1]

    monkeypatch.setattr(mcp_endpoint, "_http_manager", manager)
    return made


async def _ask(endpoint: mcp_endpoint.McpEndpoint) -> None:
    await endpoint(dict(SCOPE), None, None)  # type: ignore[arg-type]


def test_a_server_that_is_not_asked_by_the_protocol_loads_nothing_of_it(loaded: list[Manager]) -> None:
    async def idle() -> None:
        async with mcp_endpoint.McpEndpoint().running():
            pass

    asyncio.run(idle())
    assert loaded == []
    code = "import sys; from kgrag.server import app; app._agents_endpoint(); sys.exit(', '.join({'mcp'} & set(sys.modules)) or 0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_first_requests_load_it_once_and_one_that_leaves_takes_it_from_no_other(loaded: list[Manager]) -> None:
    async def crowd() -> None:
        endpoint = mcp_endpoint.McpEndpoint()
        async with endpoint.running():
            asked = [asyncio.create_task(_ask(endpoint)) for _ in range(3)]
            await asyncio.sleep(0)  # all of them wait now
            asked[0].cancel()
            await asyncio.gather(*asked[1:])
            await _ask(endpoint)

    asyncio.run(crowd())
    (manager,) = loaded
    assert (manager.requests, manager.runs) == (3, False)


def test_a_sdk_that_cannot_be_loaded_fails_the_request_and_not_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise ImportError("mcp is of another version")

    monkeypatch.setattr(mcp_endpoint, "_http_manager", broken)

    async def ask() -> None:
        endpoint = mcp_endpoint.McpEndpoint()
        async with endpoint.running():
            for _ in range(2):
                with pytest.raises(ImportError, match="another version"):
                    await _ask(endpoint)

    asyncio.run(ask())
