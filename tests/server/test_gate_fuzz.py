"""A few hundred random SPARQL requests against a served knowledge base; ``python -m benchmarks.gate_fuzz`` sends more."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from benchmarks.gate_fuzz import Fuzz, FuzzRequest, Reply, fault_of, made_request, minimised
from benchmarks.sparql_texts import stored_texts
from kgrag import KnowledgeBase
from kgrag.resources import folder
from kgrag.server.access_keys import Key, Keys, digest_of
from kgrag.server.server_state import AccessRules
from kgrag.testing import HashEmbedder
from tests.server.inside import KEY, Inside, served

LIMITED = "a-key-for-graphs-of-the-fuzz"
ASKED = FuzzRequest("query", "/sparql", "get", "GET", "ASK {}", headers=(("Accept", "text/csv"),))
PROBLEM = {"content-type": "application/problem+json"}
CSV = {"content-type": "text/csv; charset=utf-8"}


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    keys = Keys(KEY, more=[Key("limited", digest_of(LIMITED), graphs=("urn:fuzz:*",))])
    folder = tmp_path_factory.mktemp("fuzz") / "kb"
    with KnowledgeBase(folder, embedder=HashEmbedder()) as kb, served(kb, AccessRules(keys)) as inside:
        yield inside


@pytest.fixture(scope="module")
def stored() -> dict[str, list[str]]:
    return stored_texts(folder("queries"))


def test_no_random_request_breaks_the_server_or_its_store(empty: Inside, stored: dict[str, list[str]]) -> None:
    with closing(Fuzz(empty.url, KEY, LIMITED, seed=19, stored=stored)) as fuzz:
        fuzz.run(clients=3, requests=60)
    assert [found.shown(19) for found in fuzz.findings] == []
    answered = {path for path, status in fuzz.statuses if status < 300}
    assert answered >= {"/sparql", "/update"}  # not all is refused before the engine sees it
    assert fuzz.statuses.total() == 60


def test_a_refused_update_that_changed_the_store_is_found(empty: Inside) -> None:
    class Refusing(Fuzz):
        def send(self, request: FuzzRequest, **options: int) -> Reply:
            reply = super().send(request, **options)
            return Reply(400, PROBLEM) if "urn:fuzz:late" in request.text else reply

    with closing(Refusing(empty.url, KEY, LIMITED, seed=1, stored={})) as fuzz:
        fuzz.fill()
        fuzz.check(7, update("INSERT DATA { GRAPH <urn:fuzz:a> { <urn:fuzz:late> <urn:x:p> 1 } }"))
    assert [(found.number, found.what[:26]) for found in fuzz.findings] == [(7, "refused with 400, and yet:")]


def test_a_key_that_changed_a_graph_of_others_is_found(empty: Inside) -> None:
    with closing(Fuzz(empty.url, KEY, KEY, seed=1, stored={})) as fuzz:
        fuzz.fill()
        fuzz.check(8, update("DROP GRAPH <urn:other:c>"))
        fuzz.check(9, update("DROP GRAPH <urn:fuzz:a>"))
    assert [(found.number, found.what[:38]) for found in fuzz.findings] == [
        (8, "a key for urn:fuzz:* changed another g")
    ]


def update(text: str) -> FuzzRequest:
    types = (("Content-Type", "application/sparql-update"),)
    return FuzzRequest("update", "/update", "direct", "POST", text, headers=types, limited=True)


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply(200, CSV, b"x\r\n"), ""),
        (Reply(400, PROBLEM, b"{}"), ""),
        (Reply(504, PROBLEM, b"{}"), ""),
        (Reply(503, {**PROBLEM, "retry-after": "1"}, b"{}"), ""),
        (Reply(503, PROBLEM, b"{}"), "status 503"),
        (Reply(500, PROBLEM, b"{}"), "status 500"),
        (Reply(0, fault="reset"), "no reply: reset"),
        (Reply(200, CSV, b"x", "cut"), "then closed"),
        (Reply(200, {"content-type": "text/turtle"}), "'text/turtle' came, and 'text/csv' was asked for"),
        (Reply(400, CSV), "in place of a problem"),
        (Reply(200, CSV, b"\xff"), "the reply is no text/csv"),
    ],
)
def test_a_fault_of_a_reply_is_told_from_a_refusal(reply: Reply, words: str) -> None:
    found = fault_of(ASKED, reply)
    assert words in found if words else found == ""


def test_the_same_seed_makes_the_same_requests(stored: dict[str, list[str]]) -> None:
    numbers = range(40)
    first, again, other = ([made_request(seed, number, stored) for number in numbers] for seed in (1, 1, 2))
    assert first == again != other


def test_a_text_is_made_smaller_until_only_what_is_found_is_left() -> None:
    assert (
        minimised("SELECT * { ?s ?p ?o SERVICE <x> { } } LIMIT 5", lambda text: "SERVICE" in text, tries=200)
        == "SERVICE"
    )
