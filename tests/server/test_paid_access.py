"""Who may ask where answers cost money."""

from collections.abc import Iterator

import httpx
import pytest

from kgrag import KnowledgeBase
from kgrag.server.access_keys import Key, Keys, Rights, digest_of
from kgrag.server.paid_access import PaidAccess, paid_access_of
from kgrag.server.server_state import AccessRules
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder
from tests.server.inside import KEY, Inside, served

QUESTION = {"question": "When is lentil sown?"}
FOREIGN = {"Origin": "https://elsewhere.example"}
BEARER = {"Authorization": f"Bearer {KEY}"}
READER = "reader-key-for-tests"
SEARCH = 'PREFIX kgv: <https://w3id.org/kgrag/vector#> SELECT ?c { (?c ?s) kgv:near ("lentil" 5 "chunk") }'


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    folder = tmp_path_factory.mktemp("paid")
    (folder / "lentil.md").write_text("Lentil is sown in March. It is sown five centimetres deep.", encoding="utf-8")
    settings = Settings(model="extractive", completions="off")
    with KnowledgeBase(folder / "kb", settings=settings, embedder=HashEmbedder()) as opened:
        opened.ingest(folder / "lentil.md")
        yield opened


def _serving(kb: KnowledgeBase, spending: PaidAccess, *, keys: bool = True) -> Iterator[Inside]:
    more = [Key("reader", digest_of(READER), Rights.READ)] if keys else []
    with served(kb, AccessRules(Keys(KEY if keys else "", more=more), spending)) as running:
        yield running


@pytest.fixture(scope="module")
def near(kb: KnowledgeBase) -> Iterator[Inside]:
    """Answers cost, and the server counts as one that listens on loopback only."""
    yield from _serving(kb, PaidAccess(answers_cost=True, searches_cost=True, on_loopback=True))


@pytest.fixture(scope="module")
def wide(kb: KnowledgeBase) -> Iterator[Inside]:
    """Answers cost, and the server counts as one that the network reaches."""
    yield from _serving(kb, PaidAccess(answers_cost=True, searches_cost=True))


@pytest.fixture(scope="module")
def keyless(kb: KnowledgeBase) -> Iterator[Inside]:
    yield from _serving(kb, PaidAccess(answers_cost=True), keys=False)


@pytest.fixture(scope="module")
def free(kb: KnowledgeBase) -> Iterator[Inside]:
    yield from _serving(kb, PaidAccess())


def _ask(server: Inside, path: str = "/ask", **headers: str) -> httpx.Response:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return server.client.post(path, json=QUESTION, headers=sent)


@pytest.mark.parametrize("path", ["/ask", "/retrieve"])
def test_what_costs_nothing_is_open_to_every_origin(free: Inside, path: str) -> None:
    answer = _ask(free, path, **FOREIGN)
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == "*"


@pytest.mark.parametrize("path", ["/ask", "/retrieve"])
def test_without_a_key_nobody_of_the_network_asks(wide: Inside, keyless: Inside, path: str) -> None:
    refused = _ask(wide, path)
    assert refused.status_code == 401
    assert "Basic" in refused.headers["www-authenticate"]
    assert "answers cost money" in refused.json()["detail"]
    told = _ask(keyless, path)
    assert told.status_code == 403
    assert "--open-ask" in told.json()["detail"]


@pytest.mark.parametrize("key", [KEY, READER])
def test_a_key_asks_from_wherever_it_comes(wide: Inside, key: str) -> None:
    assert _ask(wide, Authorization=f"Bearer {key}", **FOREIGN).status_code == 200
    assert wide.client.get("/", params=QUESTION, auth=("any", key)).status_code == 200


def test_a_wrong_key_asks_nothing(wide: Inside) -> None:
    assert _ask(wide, Authorization="Bearer wrong").status_code == 401


def test_a_password_that_a_browser_adds_by_itself_does_not_serve_other_sites(wide: Inside) -> None:
    own = httpx.BasicAuth("any", KEY)
    assert wide.client.post("/ask", json=QUESTION, auth=own).status_code == 200
    for headers in (FOREIGN, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "null"}):
        assert wide.client.post("/ask", json=QUESTION, auth=own, headers=headers).status_code == 403


def test_who_sits_at_the_machine_asks_without_a_key(near: Inside) -> None:
    assert _ask(near).status_code == 200
    assert _ask(near, Origin=near.url, Sec_Fetch_Site="same-origin").status_code == 200
    page = near.client.get("/", params=QUESTION, headers={"Sec-Fetch-Site": "same-origin"})
    assert page.status_code == 200
    assert "Lentil is sown" in page.text


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (FOREIGN, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Host": "rebound.example:8000"}, 401),
        ({"Host": "rebound.example:8000", "Origin": "http://rebound.example:8000"}, 401),
        ({"Host": "127.0.0.1.rebound.example"}, 401),
        ({"X-Forwarded-For": "192.0.2.7"}, 401),
        ({"Forwarded": "for=192.0.2.7"}, 401),
    ],
)
def test_other_sites_and_those_behind_a_proxy_do_not_count_as_this_machine(
    near: Inside, headers: dict[str, str], status: int
) -> None:
    assert near.client.post("/ask", json=QUESTION, headers=headers).status_code == status


def test_a_link_of_another_site_fills_the_form_in_and_asks_nothing(near: Inside, free: Inside) -> None:
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    led = near.client.get("/", params=QUESTION, headers=headers)
    assert led.status_code == 200
    assert QUESTION["question"] in led.text
    assert "Press Ask" in led.text
    assert "Lentil is sown" not in led.text
    assert "Lentil is sown" in free.client.get("/", params=QUESTION, headers=headers).text


def test_a_page_of_the_network_wants_the_key_as_a_password(wide: Inside) -> None:
    page = wide.client.get("/", params=QUESTION, headers={"Accept": "text/html"})
    assert page.status_code == 401
    assert "Basic" in page.headers["www-authenticate"]
    assert wide.client.get("/", headers={"Accept": "text/html"}).status_code == 200


def test_a_search_in_a_query_costs_where_texts_are_embedded_for_money(wide: Inside, keyless: Inside) -> None:
    assert wide.client.get("/sparql", params={"query": SEARCH}).status_code == 401
    assert wide.client.get("/sparql", params={"query": SEARCH}, headers=BEARER).status_code == 200
    assert wide.client.get("/sparql", params={"query": "ASK {}"}).status_code == 200
    assert keyless.client.get("/sparql", params={"query": SEARCH}).status_code == 200


@pytest.mark.parametrize(
    ("given", "costs", "embeds"),
    [
        ({}, False, False),
        ({"api_key": "k"}, False, False),
        ({"model": "gpt"}, False, False),
        ({"model": "gpt", "api_key": "k"}, True, False),
        ({"embedder": "large", "api_key": "k"}, True, True),
    ],
)
def test_models_behind_a_key_cost(given: dict[str, str], costs: bool, embeds: bool) -> None:
    assert paid_access_of(Settings(**given), "0.0.0.0") == PaidAccess(costs, embeds, on_loopback=False)
    assert paid_access_of(Settings(**given), "::1").on_loopback
