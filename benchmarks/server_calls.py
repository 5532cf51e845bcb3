"""How many requests a knowledge base on a SPARQL server sends: to ask, build, check itself, take in one more document.

Run ``python -m benchmarks.server_calls [--names] [--documents N …] [--served FOLDER …]``. An Oxigraph server of its
own is started. The demonstration is taken in and each method built over it; then each is asked three questions after
two others: with nothing kept of what was read, as after a change, and with what is kept of the two, but no passage.
``--documents`` takes in records of one sentence, and counts one more of them. ``--served FOLDER`` is a knowledge base
that ``benchmarks.one_more_document --keep`` left; its store is served, and changed: one more document, builds beside
its documents that do not read each of them, and ``doctor``. ``--names`` lists the stored queries that were sent.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import kgrag
from benchmarks.oxigraph_server import OxigraphServer
from kgrag import KnowledgeBase, plugins, queries
from kgrag.model import Document
from kgrag.resources import folder
from kgrag.settings import Settings
from kgrag.store.sparql_connection import SparqlConnection
from kgrag.testing import HashEmbedder
from kgrag.text import stored_passages

__all__ = ["Calls", "counted", "main"]

_DEMO = Path(kgrag.__file__).parent / "demo"
_QUESTIONS = ("How much water does soybean need?", "Which diseases does chickpea have, and when is it sown?")
_FURTHER = (
    "What is the seeding rate of lentil LT 7 in the River Zone?",
    "Which pests damage wheat, and what is done about them?",
    "Who runs the experimental farm, and since when?",
)


_BY_THE_CLOCK = frozenset({"catalogue/leases", "catalogue/renew_lease"})
"""A writer renews its lease every few seconds, whatever it does: these are not counted."""


class Calls(Counter[str]):
    """Requests by the stored query that they are; "other" for texts from elsewhere."""

    def since(self, before: Counter[str]) -> Calls:
        """Return what came after a copy was made."""
        return Calls(self - before)


@contextmanager
def counted() -> Iterator[Calls]:
    """Count the requests to servers meanwhile."""
    calls, texts = Calls(), dict[str, str]()
    bind, sent, streamed = queries.bind, SparqlConnection._sent, SparqlConnection._streamed

    def naming(name: str, /, **values: Any) -> str:
        text = bind(name, **values)
        texts[_key(text)] = name
        return text

    def counting(connection: SparqlConnection, address: str, form: Any, **named: Any) -> Any:
        name = texts.get(_key(form.get("query") or form.get("update")), "other")
        calls[name] += name not in _BY_THE_CLOCK
        return sent(connection, address, form, **named)

    def counting_stream(connection: SparqlConnection, sparql: str) -> Any:
        calls[texts.get(_key(sparql), "other")] += 1
        return streamed(connection, sparql)

    changed = cast("Any", queries), cast("Any", SparqlConnection)
    changed[0].bind, changed[1]._sent, changed[1]._streamed = naming, counting, counting_stream
    try:
        yield calls
    finally:
        changed[0].bind, changed[1]._sent, changed[1]._streamed = bind, sent, streamed


def _key(text: str) -> str:
    return "".join(text.split())[:2_000]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a count of requests for each kind of work."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--names", action="store_true", help="list the stored queries")
    parser.add_argument("--only-documents", action="store_true", help="leave the demonstration out")
    parser.add_argument("--documents", type=int, nargs="*", default=[1_000])
    parser.add_argument("--served", type=Path, nargs="*", default=[], help="knowledge bases with an embedded store")
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name, counted() as calls:

        def show(work: str, done: Callable[[], object]) -> int:
            before = Counter(calls)
            done()
            sent = calls.since(before)
            print(f"{sent.total():5} {work}", flush=True)
            if chosen.names:
                print("".join(f"          {count:4} {query}\n" for query, count in sent.most_common()), end="")
            return sent.total()

        if not chosen.only_documents:
            with OxigraphServer(Path(name) / "server") as server, _opened(Path(name) / "kb", server) as kb:
                _demonstration(kb, show)
        for size in chosen.documents:
            place = Path(name) / str(size)
            place.mkdir()
            with OxigraphServer(place / "server") as server, _opened(place / "kb", server) as kb:
                kb.add_many(_record(number) for number in range(size))
                kb.retrieve(_QUESTIONS[0])
                show(f"one more document beside {size:,}", lambda: kb.add(_record(size)))  # noqa: B023
                show("the question after it", lambda: kb.ask(_QUESTIONS[0]))
        for place in chosen.served:
            with OxigraphServer(place / "store") as server, _opened(place, server) as kb:
                print(f"{place}:")
                _beside_many(kb, show)


def _beside_many(kb: KnowledgeBase, show: Callable[[str, Callable[[], object]], int]) -> None:
    """Count what a change, and what the whole, costs beside many documents."""
    kb.load(folder("ontologies") / "crops.ttl")
    kb.ingest(_DEMO / "texts")
    kb.retrieve(_QUESTIONS[0])
    show("one more document", lambda: kb.add(_record(-1)))
    show("the question after it", lambda: kb.ask(_QUESTIONS[0]))
    show("build og_rag", lambda: kb.build("og_rag", mapped=_DEMO / "mapped"))
    for name in ("obqc", "passages"):
        show(f"build {name}", lambda: kb.build(name))  # noqa: B023
    show("doctor", kb.doctor)


def _demonstration(kb: KnowledgeBase, show: Callable[[str, Callable[[], object]], int]) -> None:
    show("load an ontology", lambda: kb.load(folder("ontologies") / "crops.ttl"))
    show("ingest the demonstration", lambda: kb.ingest(_DEMO / "texts"))
    built: list[str] = []
    for name, method in plugins.methods().items():
        options: dict[str, Any] = {option: _DEMO / path for option, path in method.example.items()}
        show(f"build {name}", lambda: kb.build(name, **options))  # noqa: B023
        built.append(name)
    for name in built:
        for question in _QUESTIONS:
            kb.ask(question, method=name)
        for question in _FURTHER:
            cast("Any", kb.store)._quads._kept.forget()
            stored_passages.forget(kb.store)
            show(f"ask {name}, nothing kept", lambda: kb.ask(question, method=name))  # noqa: B023
        cast("Any", kb.store)._quads._kept.forget()
        for question in _QUESTIONS:
            kb.ask(question, method=name)
        for question in _FURTHER:
            stored_passages.forget(kb.store)
            show(f"ask {name}", lambda: kb.ask(question, method=name))  # noqa: B023
    show("doctor", kb.doctor)
    show("one more document, everything built", lambda: kb.add(_record(0)))


def _opened(place: Path, server: OxigraphServer) -> KnowledgeBase:
    return KnowledgeBase(place, settings=Settings(store=server.address), embedder=HashEmbedder())


def _record(number: int) -> Document:
    text = f"Record {number} speaks of pump {number % 97} and valve {number % 89} in hall {number % 13}."
    return Document(text, id=str(number), metadata={"hall": number % 13})


if __name__ == "__main__":
    main()
