"""A store on a SPARQL server is the same store: contents, revisions, refusals; and nobody writes over somebody else."""

from __future__ import annotations

import json
import os
import threading
import tracemalloc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pyoxigraph as ox
import pytest
from pydantic import SecretStr
from typer.testing import CliRunner

from benchmarks.oxigraph_server import OxigraphServer, program
from kgrag import KnowledgeBase, cli
from kgrag.errors import InvalidSettings, StorageFailed, StoreLocked
from kgrag.model import Document, GraphDraft
from kgrag.resources import folder
from kgrag.settings import Settings, as_toml, read_settings
from kgrag.store.catalogued_store import CataloguedStore
from kgrag.store.held_lease import Leasing
from kgrag.store.holders import let_go
from kgrag.store.listed_graphs import listed
from kgrag.store.oxigraph import OxigraphStore
from kgrag.store.server_quads import ServerQuads
from kgrag.store.skolem_names import with_tests_of_names
from kgrag.store.sparql_connection import Reply, ServerAddress, SparqlConnection, key_of
from kgrag.store.sparql_leases import SparqlLeases
from kgrag.store.sparql_server import ServerStore
from kgrag.testing import HashEmbedder
from kgrag.vocab import KG, Names
from tests.conftest import DEMO
from tests.lease_rules import check_leases
from tests.sparql.test_sorts_from_outside import INSERT, SELECT

N = ox.NamedNode
EDGE = N("urn:t:edge")

served = pytest.mark.skipif(program() is None, reason="the program `oxigraph` (PyPI package of that name) is absent")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OxigraphServer]:
    with OxigraphServer(tmp_path_factory.mktemp("oxigraph") / "data") as server:
        yield server


@pytest.fixture
def server(running: OxigraphServer) -> OxigraphServer:
    """The server of this module, emptied."""
    connection = SparqlConnection(ServerAddress.of(running.address))
    connection.update("DROP ALL")
    connection.close()
    return running


def opened(server: OxigraphServer, holder: str = "") -> ServerStore:
    return ServerStore.open(server.address, None, leasing=Leasing(holder=holder))


def draft(*values: str, graph: ox.NamedNode = EDGE, mode: str = "replace") -> GraphDraft:
    nodes = [ox.Triple(ox.BlankNode("b1"), KG.value, ox.BlankNode("b2"))]
    triples = [*nodes, *(ox.Triple(N("urn:s"), KG.value, ox.Literal(value)) for value in values)]
    return GraphDraft(graph, KG.DataGraph, triples, mode=mode)  # type: ignore[arg-type]


def contents(store: CataloguedStore) -> set[str]:
    """Return everything but the catalogue, which says when and by whom."""
    graphs = [N(graph) for graph in store.graphs() if graph.startswith("urn:t:") or "/data/" in graph]
    return {f"{graph} {triple}" for graph in graphs for triple in store.triples(graph)}


def changed(store: CataloguedStore) -> list[tuple[int, ...]]:
    """Change a store in every way; return what each change said."""
    first = store.publish([draft("a", 'quoted "\\\n😀'), draft("x", graph=N("urn:t:other"), mode="new")])
    again = store.publish([draft("a", 'quoted "\\\n😀'), draft("x", graph=N("urn:t:other"), mode="new")])
    swapped = store.publish([draft("b", "c"), draft("y", graph=N("urn:t:grows"), mode="append")])
    grown = store.publish([draft("y", "z", graph=N("urn:t:grows"), mode="append")])
    updated = store.update(
        "INSERT DATA { GRAPH <urn:t:loaded> { <urn:s> kg:value 01 , 2.50 . <urn:s> <urn:p> <urn:o> } }"
    )
    moved = store.update("INSERT DATA { <urn:s> <urn:p> 'no graph' }")
    dropped = store.update("DROP GRAPH <urn:t:other>")
    removed = store.remove([N("urn:t:grows"), N("urn:t:none")])
    reports = [(each.revision, len(each.published), len(each.unchanged)) for each in (first, again, swapped, grown)]
    return [*reports, (updated, moved, dropped, removed, store.revision)]


@served
def test_both_profiles_go_through_the_same_states(server: OxigraphServer) -> None:
    with opened(server) as remote, OxigraphStore.open(None) as embedded:
        assert changed(remote) == changed(embedded)
        assert contents(remote) == contents(embedded)
        assert remote.damage() == []
        query = "SELECT ?s { GRAPH <urn:t:edge> { ?s ?p ?o FILTER(isIRI(?s)) } } ORDER BY ?s"
        assert remote.select(query).rows == embedded.select(query).rows
        kinds, before = [KG.DataGraph, KG.OntologyGraph], remote.calls
        facts = list(remote.quads_of_kinds(kinds))
        assert remote.calls == before + 1
        assert set(facts) == set(embedded.quads_of_kinds(kinds))
        assert len(facts) == len(set(facts)) > 0
        assert list(remote.quads_of_kinds([])) == []


def test_a_triple_of_several_graphs_is_counted_once(server: OxigraphServer) -> None:
    with opened(server) as store:
        store.update(
            "INSERT DATA { GRAPH <urn:t:a> { <urn:t:s> <urn:t:p> 5 } GRAPH <urn:t:b> { <urn:t:s> <urn:t:p> 5 } }"
        )
        for dataset in ("", "FROM <urn:t:a> FROM <urn:t:b>"):
            results = store.query(f"SELECT (SUM(?o) AS ?total) {dataset} WHERE {{ ?s <urn:t:p> ?o }}", union=True)
            assert [row["total"].value for row in results] == ["5"]


class Interrupted(SparqlConnection):
    """Lets something else happen before one of its requests."""

    left, happens = -1, staticmethod(lambda: None)

    def interrupt(self, place: int, happens: Callable[[], None]) -> None:
        self.left, self.happens = place, happens

    def _sent(self, address: str, form: Mapping[str, str], *, only_triples: bool = False) -> Reply:
        self.left -= 1
        if self.left == -1:
            self.happens()
        return super()._sent(address, form, only_triples=only_triples)


@pytest.fixture
def links(server: OxigraphServer) -> Iterator[list[Interrupted]]:
    """Connections to the server, closed at the end."""
    made = [Interrupted(ServerAddress.of(server.address)) for _ in range(8)]
    yield made
    for link in made:
        link.close()


def leases(link: SparqlConnection) -> SparqlLeases:
    return SparqlLeases(link, Names().catalogue)


@served
def test_leases_keep_the_rules_of_the_port_between_two_connections(links: list[Interrupted]) -> None:
    check_leases(leases(links[0]), leases(links[1]))


@served
def test_a_connection_that_is_slow_is_not_ahead_of_the_clock_of_the_server(
    links: list[Interrupted], monkeypatch: pytest.MonkeyPatch
) -> None:
    passed, query = [0.0], links[0].query

    def slow(text: str, **options: Any) -> Reply:
        passed[0] += 5
        return query(text, **options)

    monkeypatch.setattr("kgrag.store.sparql_leases.time", SimpleNamespace(monotonic=lambda: passed[0]))
    monkeypatch.setattr(links[0], "query", slow)
    check_leases(leases(links[1]), leases(links[0]))


@served
def test_of_two_at_one_moment_at_most_one_gets_a_lease(links: list[Interrupted]) -> None:
    def both(place: int) -> list[str]:
        """Ask for a lease as another one before the request of this number; return who got it."""
        link, got = links[place], list[str]()

        def ask(each: SparqlLeases, holder: str) -> None:
            with suppress(StoreLocked):
                each.acquire(f"store {place}", holder, 600)
                got.append(holder)

        link.interrupt(place, lambda: ask(leases(links[-1]), "second"))
        ask(leases(link), "first")
        return got

    assert [both(place) for place in range(3)] == [["second"], ["second"], ["first"]]


@served
def test_a_second_loader_is_refused_in_words_until_the_first_has_let_go_or_died(server: OxigraphServer) -> None:
    with (
        opened(server, holder="loader A"),
        pytest.raises(StoreLocked, match="is being written by loader A, whose lease"),
    ):
        opened(server, holder="loader B")
    opened(server, holder="loader B").close()
    died = opened(server)  # of this process, which knows that it was closed, although its lease was not released
    with pytest.raises(StoreLocked, match=rf"written by process {os.getpid()} of "):
        opened(server)
    let_go(cast("Any", died)._lease._holder)
    with opened(server, holder="loader C") as store:
        with pytest.raises(StoreLocked, match="the lease of the store .* is over: another writer has number"):
            died.publish([draft("late", graph=N("urn:t:late"))])
        assert "urn:t:late" not in store.graphs()
    died.close()


@served
def test_a_writer_whose_lease_is_over_is_refused_and_nothing_of_it_enters(server: OxigraphServer) -> None:
    with opened(server, holder="loader A") as first:
        first.publish([draft("first", graph=N("urn:t:first"))])
        ended(server)
        with opened(server, holder="loader B") as second:
            for behind in (
                lambda: first.publish([draft("x", graph=N("urn:t:second"))]),
                lambda: first.update("INSERT DATA { GRAPH <urn:t:second> { <urn:s> <urn:p> 'late' } }"),
                lambda: first.restate([], [ox.Quad(N("urn:t:second"), KG.value, ox.Literal("x"), Names().catalogue)]),
            ):
                with pytest.raises(StoreLocked, match="is over: another writer has number 2"):
                    behind()
            assert "urn:t:second" not in second.graphs()
            assert second.publish([draft("next", graph=N("urn:t:first"))]).revision == 2
            with pytest.raises(StoreLocked, match="another writer wrote change 2"):
                first.publish([draft("x", graph=N("urn:t:second"))])


def ended(server: OxigraphServer) -> None:
    """End the lease of the store, as time does."""
    link = SparqlConnection(ServerAddress.of(server.address))
    known, resource = leases(link), Names().knowledge_base.value
    known.renew(resource, known._read(resource)[0], 0)
    link.close()


@served
def test_of_two_writers_at_any_moment_one_is_refused_and_nothing_of_it_enters(server: OxigraphServer) -> None:
    entered: set[str] = set()
    refused: set[str] = set()

    def write(store: ServerStore, name: str, way: str) -> None:
        graph = f"urn:t:{name}"
        try:
            if way == "publish":
                store.publish([draft(name), draft(name, graph=N(graph), mode="new")])
            else:
                store.update(
                    "DELETE { GRAPH <urn:t:edge> { ?s ?p ?o } } WHERE { GRAPH <urn:t:edge> { ?s ?p ?o } } ; "
                    f"INSERT DATA {{ GRAPH <urn:t:edge> {{ <urn:s> <urn:p> 1 }} GRAPH <{graph}> {{ <urn:s> <urn:p> 1 }} }}"
                )
            entered.add(graph)
        except StoreLocked:
            refused.add(graph)

    def come_between(name: str, way: str) -> None:
        ended(server)
        with opened(server, holder=name) as other:
            write(other, name, way)

    happened = 0
    # from reading what is there until it is changed, and once after that
    for way, places in (("publish", (0, 1)), ("update", (0, 3, 4, 5))):
        for place in places:
            link = Interrupted(ServerAddress.of(server.address))
            with ServerStore.open(link, None, leasing=Leasing(holder="one")) as store:
                other = f"other-{way}-{place}"
                link.interrupt(place, lambda: come_between(other, way))  # noqa: B023
                write(store, f"one-{way}-{place}", way)
            happened += f"urn:t:{other}" in entered
    with opened(server) as store:
        there = set(store.graphs())
        doubled = "SELECT ?p { GRAPH ?g { ?p kg:lineage ?one , ?two FILTER(?one < ?two) } } ORDER BY ?p"
        assert list(store.query(doubled)) == []  # type: ignore[arg-type]
        assert entered <= there
        assert not refused & there
    assert (len(refused), happened) == (5, 6)


@served
def test_a_publication_is_one_question_and_one_change_whatever_it_does_to_graphs(server: OxigraphServer) -> None:
    other, grown = N("urn:t:other"), N("urn:t:grown")
    with opened(server) as store:
        for values, questions in ((("a", "b"), 1), (("b", "c"), 1), (tuple(f"v{n}" for n in range(1_001)), 4)):
            before = store.calls
            drafts = [draft(*values), draft("x", graph=other), draft(*values, graph=grown, mode="append")]
            publication = store.publish(drafts)
            changes = 1 + (publication.revision > 1)  # what is replaced enters in a step of its own
            assert store.calls - before <= questions + changes
        assert len(list(store.triples(grown))) == 1 + 3 + 1_001
        assert len(list(store.triples(EDGE))) == 1 + 1_001


@served
def test_of_many_graphs_it_is_asked_at_once_which_are_listed(server: OxigraphServer) -> None:
    many = [N(f"urn:t:g{number}") for number in range(1_500)]
    with opened(server) as store:
        store.publish([draft("a", graph=graph) for graph in many[::700]])
        before = store.calls
        assert listed(store, many) == set(many[::700])
        assert store.calls - before == 2
        assert listed(store, []) == set()


@served
def test_blank_nodes_of_an_update_get_names_and_can_be_deleted(server: OxigraphServer) -> None:
    with opened(server) as store:
        graph = N("urn:t:blank")
        store.update("INSERT DATA { GRAPH <urn:t:blank> { <urn:s> <urn:p> [ <urn:q> 1 ] } }")
        (node,) = (triple.object for triple in store.triples(graph) if triple.predicate == N("urn:p"))
        assert isinstance(node, ox.BlankNode)
        store.publish([GraphDraft(graph, KG.DataGraph, [ox.Triple(N("urn:s"), N("urn:p"), node)], mode="replace")])
        assert [triple.object for triple in store.triples(graph)] == [node]


@served
def test_the_whole_store_is_not_read_for_blank_nodes_that_nothing_can_have_made(server: OxigraphServer) -> None:
    with opened(server) as store:
        store.update(INSERT)

        def sent(where: str) -> int:
            before = store.calls
            store.update(
                f"INSERT {{ GRAPH <urn:g> {{ ?s <urn:q> ?v }} }} WHERE {{ GRAPH <urn:g> {{ ?s ?p ?v }} {where} }}"
            )
            return store.calls - before

        assert sent("FILTER(isIRI(?s))") == sent("") < sent("BIND(BNODE() AS ?b)")


@served
def test_a_sort_of_mixed_values_does_not_end_the_server(server: OxigraphServer) -> None:
    with opened(server) as store:
        store.update(INSERT)
        found = [store.query(SELECT), store.query("SELECT ?v { GRAPH <urn:g> { ?s ?p ?v } } ORDER BY ?v")]
        assert min(len(list(each)) for each in found) > 200  # type: ignore[arg-type]


@served
def test_a_snapshot_and_a_dump_have_everything(server: OxigraphServer, tmp_path: Path) -> None:
    with opened(server) as store:
        store.publish([draft("a", graph=N("urn:t:copied"))])
        store.snapshot(tmp_path / "copy")
        assert len(ox.Store.read_only(str(tmp_path / "copy"))) == len(store) == store.dump(tmp_path / "all.nq")


@served
def test_a_knowledge_base_on_a_server_answers_as_the_embedded_one(server: OxigraphServer, tmp_path: Path) -> None:
    answers = []
    for settings in (Settings(), Settings(store=server.address)):
        with KnowledgeBase(tmp_path / settings.store[:4], settings=settings, embedder=HashEmbedder()) as kb:
            kb.load(folder("ontologies") / "crops.ttl")
            kb.ingest(sorted((DEMO / "texts").iterdir())[0])
            answers.append(kb.ask("How much water does soybean need?", method="passages"))
            calls = [_calls(kb)]
            kb.ask("Which crops are there?", method="passages")
            calls.append(_calls(kb))
            assert [finding for finding in kb.doctor() if finding.fault] == []
            calls.append(_calls(kb))
            kb.add(Document("One more document speaks of rye.", id="one-more"))
            calls.append(_calls(kb))
            asked, examined, added = (after - before for before, after in pairwise(calls))
            assert (asked <= 4, examined <= 40, added <= 30) == (True, True, True), calls
    first, second = answers
    assert (first.text, first.hits) == (second.text, second.hits)


@served
def test_who_only_reads_finds_at_the_next_question_what_another_process_wrote(
    server: OxigraphServer, tmp_path: Path
) -> None:
    def on(place: str, **options: bool) -> KnowledgeBase:
        return KnowledgeBase(
            tmp_path / place, settings=Settings(store=server.address), embedder=HashEmbedder(), **options
        )

    with on("kb") as writer:
        writer.add(Document("Rye is sown in September.", id="rye"))
        with on("kb", read_only=True) as beside, on("elsewhere", read_only=True) as elsewhere:
            readers = (beside, elsewhere)
            for reader in readers:
                assert [hit.text for hit in reader.retrieve("When is rye sown?")] == ["Rye is sown in September."]
            writer.add(Document("Spelt is sown in October.", id="spelt"))
            for reader in readers:
                assert reader.retrieve("When is spelt sown?")[0].text == "Spelt is sown in October."
            writer.forget("rye")
            for reader in readers:
                answer = reader.ask("When is rye sown?", method="passages")
                assert [hit.text for hit in answer.hits] == ["Spelt is sown in October."]


def _calls(kb: KnowledgeBase) -> int:
    return getattr(kb.store, "calls", 0)


@served
def test_what_a_server_does_is_found_by_asking_it_and_kept(server: OxigraphServer, tmp_path: Path) -> None:
    done = CliRunner().invoke(cli.app, ["doctor", "--store", server.address, "--kb", str(tmp_path / "kb")])
    assert done.exit_code == 0
    assert "yes a change can depend on what is stored" in done.output
    kept = json.loads((tmp_path / "kb" / "server_profile.json").read_text(encoding="utf-8"))
    assert [feature["found"] for feature in kept["features"]] == [True] * 6
    with opened(server) as store:
        assert store.graphs() == ["urn:kgrag:graph/catalogue"]


# --- requests --------------------------------------------------------------------------------------------------------


@contextmanager
def replying(
    status: int, body: bytes, kind: str = "application/sparql-results+json"
) -> Iterator[tuple[str, list[str]]]:
    """A server that always replies so; yields its address, and the keys that it was shown."""
    shown: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            shown.append(self.headers.get("Authorization", ""))
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{running.server_port}", shown
    finally:
        running.shutdown()
        thread.join()
        running.server_close()


@pytest.mark.parametrize(
    "body", [b'{"head":{"vars":["a"]},"results":{"bindings":[{', b'{"head":{},"results":{"bindings":[]}}time out']
)
def test_a_reply_that_is_cut_or_has_an_error_in_it_is_refused(body: bytes) -> None:
    with replying(200, body) as (address, _), pytest.raises(StorageFailed, match="not whole"):
        ServerStore.open(address, None)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [(b"", False), (b'{"__ASK_RETVAL":{"type":"typed-literal","datatype":"urn:integer","value":"1"}}', True)],
)
def test_a_question_that_virtuoso_answers_by_a_row_has_a_boolean(rows: bytes, expected: bool) -> None:
    body = b'{"head":{"link":[],"vars":["__ASK_RETVAL"]},"results":{"distinct":false,"bindings":[' + rows + b"]}}"
    with replying(200, body) as (address, _):
        quads = ServerQuads(SparqlConnection(ServerAddress.of(address)), writer="reader")
        assert bool(quads.query("ASK { ?s ?p ?o }")) is expected


def test_a_server_that_does_not_undo_a_request_whole_is_not_written_to() -> None:
    nothing = b'{"head":{"vars":[]},"results":{"bindings":[]}}'
    with replying(200, nothing) as (address, _):
        with pytest.raises(StorageFailed, match="cannot be written to: a request of several operations"):
            ServerStore.open(address, None)
        with ServerStore.open(address, None, read_only=True) as store:
            assert store.graphs() == []


def test_a_dump_is_written_as_the_quads_come(tmp_path: Path) -> None:
    row = b'{"subject":{"type":"uri","value":"urn:s"},"predicate":{"type":"uri","value":"urn:p"},"graph":{"type":"uri",'
    row += b'"value":"urn:g"},"object":{"type":"literal","value":"' + b"word " * 200 + b'"}}'
    with replying(200, reply_of([*[row] * 5_000, counting(5_000)])) as (address, _):
        quads = ServerQuads(SparqlConnection(ServerAddress.of(address)), writer="reader")
        assert not quads.traits.speaks_virtuoso  # asked first, and read as a whole
        tracemalloc.start()
        try:
            assert quads.dump(tmp_path / "all.nq") == 5_000
            assert tracemalloc.get_traced_memory()[1] < 1_500_000
        finally:
            tracemalloc.stop()
            quads.close()


def reply_of(rows: Sequence[bytes]) -> bytes:
    head = b'{"head":{"vars":["subject","predicate","object","graph","count"]},"results":{"bindings":['
    return head + b",".join(rows) + b"]}}"


def counting(quads: int) -> bytes:
    return f'{{"count":{{"type":"literal","value":"{quads}"}}}}'.encode()


@pytest.mark.parametrize(("counts", "said"), [([], "an unknown number"), ([counting(3)], "3"), ([counting(1)], "1")])
def test_a_long_reply_that_a_server_cuts_is_not_taken_for_all_there_is(counts: list[bytes], said: str) -> None:
    uri = '{{"type":"uri","value":"urn:{}"}}'.format
    row = ",".join(f'"{name}":{uri(name[0])}' for name in ("subject", "predicate", "object", "graph"))
    with replying(200, reply_of([*[f"{{{row}}}".encode()] * 2, *counts])) as (address, _):
        quads = ServerQuads(SparqlConnection(ServerAddress.of(address)), writer="reader")
        cut = f"the server sent 2 quads of {said}: it cuts long replies"
        with pytest.raises(StorageFailed, match=cut):
            list(quads.of_kinds([KG.DataGraph], Names().catalogue))
        assert quads.damage() == [f"{cut}. Raise its limit of rows."]
        quads.close()


@pytest.mark.parametrize(
    ("setting", "sent"), [("bearer s3cret", "Bearer s3cret"), ("basic me:s3cret", "Basic bWU6czNjcmV0")]
)
def test_a_key_is_shown_to_the_server_and_to_nobody_else(setting: str, sent: str) -> None:
    with replying(401, b"no") as (address, shown), pytest.raises(StorageFailed, match="KGRAG_STORE_AUTH") as raised:
        ServerStore.open(SparqlConnection(ServerAddress.of(address), key=key_of(setting)), None)
    assert shown == [sent]
    assert "s3cret" not in str(raised.value)


def test_a_server_that_is_not_there_is_named() -> None:
    with pytest.raises(StorageFailed, match=r"http://127.0.0.1:9/query cannot be reached"):
        ServerStore.open("http://127.0.0.1:9", None)


@pytest.mark.parametrize("setting", ["http://me:s3cret@host/", "http://", "http://a http://b http://c"])
def test_an_address_with_a_password_or_of_no_known_form_is_refused(setting: str) -> None:
    with pytest.raises(InvalidSettings) as raised:
        ServerAddress.of(setting)
    assert "s3cret" not in str(raised.value)


def test_a_key_of_no_known_form_is_refused_without_being_shown() -> None:
    with pytest.raises(InvalidSettings) as raised:
        key_of("s3cret")
    assert "s3cret" not in str(raised.value)


def test_the_key_of_a_server_is_in_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "s3cret" not in as_toml(Settings(store_auth=SecretStr("bearer s3cret")))
    monkeypatch.chdir(tmp_path)
    Path("kgrag.toml").write_text('store_auth = "bearer s3cret"\n', encoding="utf-8")
    with pytest.raises(InvalidSettings, match="KGRAG_STORE_AUTH"):
        read_settings()


def test_tests_of_names_are_asked_of_the_nodes_that_had_none() -> None:
    asked = with_tests_of_names("SELECT ?s { ?s ?p 'isIRI(?s)' FILTER(isIRI(?s) && !isblank( ?o )) }")
    assert "'isIRI(?s)'" in asked
    assert asked.count("STRSTARTS") == 2
    ox.Store().query(asked)
