"""What a SPARQL server does, found by asking it: the dialect profile that ``kgrag doctor --store`` prints and stores.

Everything is written to graphs of the server that are dropped afterwards.

Queries read: ``probe/*``, ``catalogue/identity``.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from kgrag import queries
from kgrag.errors import InvalidSPARQL, StorageFailed
from kgrag.store.server_quads import ServerQuads
from kgrag.store.server_traits import FoundTraits, merges_graphs
from kgrag.store.sparql_connection import SparqlConnection
from kgrag.vocab import XSD

__all__ = ["FILE", "Feature", "ServerProfile", "kept_traits", "probe"]

FILE = "server_profile.json"
"""Where the folder of a knowledge base keeps the profile of its server."""

_ROWS = 10_500
"""More than servers send where they cut replies at 10,000."""
_LITERALS = (
    ox.Literal("true", datatype=XSD.boolean),
    ox.Literal("123456789012345678", datatype=XSD.integer),
    ox.Literal("2.5", datatype=XSD.decimal),
    ox.Literal("2026-11-24T08:00:00Z", datatype=XSD.dateTime),
    ox.Literal('line\nbreak "quoted" \\ and \U0001f600'),
    ox.Literal("Wasser", language="de"),
)


@dataclass(frozen=True, slots=True)
class Feature:
    """One thing that kgrag wants of a server: whether it was found, and what was seen."""

    name: str
    found: bool
    seen: str


@dataclass(frozen=True, slots=True)
class ServerProfile:
    """What a server does.

    Attributes:
        address: where it takes queries.
        probed: when it was asked.
        features: what kgrag wants of it.
        traits: in what it differs from others, and is asked otherwise.
    """

    address: str
    probed: str
    features: tuple[Feature, ...]
    traits: FoundTraits

    @property
    def software(self) -> str:
        """What it calls itself."""
        return self.traits.software

    @property
    def missing(self) -> list[Feature]:
        """What the server does not do as kgrag wants it."""
        return [feature for feature in self.features if not feature.found]

    def to_json(self) -> dict[str, Any]:
        """Return it as it is stored."""
        return {"software": self.software, **asdict(self)}

    def save(self, folder: Path) -> Path:
        """Write it into the folder of a knowledge base. Raises StorageFailed."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / FILE).write_text(json.dumps(self.to_json(), indent=2) + "\n", encoding="utf-8")
        except OSError as error:
            raise StorageFailed(f"{folder / FILE} cannot be written: {error}. Make it writable.") from error
        return folder / FILE


def kept_traits(folder: Path, address: str) -> FoundTraits | None:
    """Return what the profile in the folder of a knowledge base says of the server at an address.

    None: there is no profile, or it is damaged, of another address, or of a version of kgrag that did not ask.
    """
    try:
        stored = json.loads((folder / FILE).read_text(encoding="utf-8"))
        return FoundTraits(**stored["traits"]) if stored["address"] == address else None
    except (OSError, ValueError, LookupError, TypeError):
        return None


def probe(connection: SparqlConnection) -> ServerProfile:
    """Ask a server what it does. Raises StorageFailed: it cannot be reached, or refuses the key."""
    quads = ServerQuads(connection, writer="probe")
    graph = ox.NamedNode(f"urn:kgrag:probe:{secrets.token_hex(8)}")
    connection.query(queries.bind("catalogue/identity"))
    try:
        found = tuple(Feature(name, *_seen(look, quads, graph)) for name, look in _looks())
    finally:
        connection.update(queries.bind("probe/drop", graph=graph))
    traits = quads.traits.found(merges=_merging(connection))
    return ServerProfile(connection.address.query, f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}", found, traits)


def _merging(connection: SparqlConnection) -> bool | None:
    """Return whether a server merges graphs; None where it does not let that be found out."""
    try:
        return merges_graphs(connection, connection.update)
    except (InvalidSPARQL, StorageFailed, ConnectionError):
        return None


_Look = Callable[[ServerQuads, ox.NamedNode], tuple[bool, str]]


def _looks() -> Iterator[tuple[str, _Look]]:
    yield "literals come back as they were written", _literals
    yield "one request of several operations is undone whole", _undone
    yield "a change can depend on what is stored", _conditional
    yield f"{_ROWS:,} quads in one request, and as many rows back", _whole
    yield "a path of any length", _path
    yield "all named graphs as the default graph", _union


def _seen(look: _Look, quads: ServerQuads, graph: ox.NamedNode) -> tuple[bool, str]:
    try:
        return look(quads, graph)
    except (InvalidSPARQL, StorageFailed, ConnectionError) as error:
        return False, str(error)[:300]


def _quad(graph: ox.NamedNode, number: int, value: Any, predicate: str = "value") -> ox.Quad:
    return ox.Quad(
        ox.NamedNode(f"urn:kgrag:probe:{number}"), ox.NamedNode(f"urn:kgrag:probe:{predicate}"), value, graph
    )


def _literals(quads: ServerQuads, graph: ox.NamedNode) -> tuple[bool, str]:
    written = [_quad(graph, number, value) for number, value in enumerate(_LITERALS)]
    quads.add(written)
    missing = [quad for quad, there in zip(written, quads.contained(written), strict=True) if not there]
    return not missing, f"{len(written) - len(missing)} of {len(written)}" + "".join(
        f"; not {q.object}" for q in missing
    )


def _undone(quads: ServerQuads, graph: ox.NamedNode) -> tuple[bool, str]:
    quad = _quad(graph, 1, ox.Literal("of a request that fails"), "undone")
    try:
        quads.connection.update(queries.bind("probe/fails", graph=graph, value=quad.object))
    except (InvalidSPARQL, StorageFailed):
        (there,) = quads.contained([quad])
        return not there, "the first operation stayed" if there else "all undone"
    return False, "a graph was created twice without an error"


def _conditional(quads: ServerQuads, graph: ox.NamedNode) -> tuple[bool, str]:
    one, two = (_quad(graph, number, ox.Literal("first"), "once") for number in (1, 2))
    for quad in (one, two):
        text = queries.bind(
            "probe/once", graph=graph, subject=quad.subject, predicate=quad.predicate, value=quad.object
        )
        quads.connection.update(text)
    there = quads.contained([one, two])
    return there == [True, False], f"{sum(there)} of two changes entered, where one may"


def _whole(quads: ServerQuads, graph: ox.NamedNode) -> tuple[bool, str]:
    before = len(list(quads.match((None, None, None, graph))))
    quads.add([_quad(graph, number, ox.Literal(f"row {number}"), "row") for number in range(_ROWS)])
    rows = len(list(quads.match((None, None, None, graph)))) - before
    return rows == _ROWS, f"{rows:,} rows came back"


def _path(quads: ServerQuads, graph: ox.NamedNode) -> tuple[bool, str]:
    chain = [_quad(graph, number, ox.NamedNode(f"urn:kgrag:probe:{number + 1}"), "next") for number in range(3)]
    quads.add(chain)
    rows = list(quads.query(queries.bind("probe/path", graph=graph, start=chain[0].subject)))  # type: ignore[arg-type]
    return len(rows) == len(chain), f"{len(rows)} of {len(chain)} steps"


def _union(quads: ServerQuads, graph: ox.NamedNode) -> tuple[bool, str]:
    subject = ox.NamedNode("urn:kgrag:probe:0")
    quads.add([_quad(graph, 0, ox.Literal("union"), "union")])
    found = bool(quads.query(queries.bind("probe/union", subject=subject), union=True))
    return found, "found outside GRAPH" if found else "not found outside GRAPH: queries of users need GRAPH or FROM"
