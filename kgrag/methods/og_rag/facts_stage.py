"""Replies read by workers: a stage from an Arrow table to an Arrow table, as those of ``kgrag.workers.stages``.

A row per reply; a row of the result that has an error is a reply that could not be read for a reason of the worker's.
The graphs of the others are validated. Needs pyarrow.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

import pyarrow as pa
import pyoxigraph as ox

from kgrag.errors import KgragError
from kgrag.methods.og_rag.window_facts import PROMPT, Asked, Reply, WindowFacts, WindowReader
from kgrag.methods.og_rag.windows import Passage, Window
from kgrag.model import Completion, Prompt
from kgrag.ports import Workers
from kgrag.shacl.scratch_validation import conforming
from kgrag.store.draft_rows import draft_of_row, row_of_draft

__all__ = ["FACTS", "REPLIES", "STAGE", "ReadReplies", "read"]

STAGE = "og_rag facts"
"""The name of the stage."""

_REPLIES_PER_TABLE = 4

REPLIES = pa.schema([(name, pa.large_string()) for name in ("reader", "window", "text", "schema", "reply")])
"""A row per reply: the digest of who reads it, and as JSON its window, schema and completion.

JSON also carries halves of surrogate pairs, which a model may write.
"""

_GRAPH = pa.struct(
    [
        *(
            (name, pa.large_string())
            for name in ("graph", "kind", "mode", "method", "activity", "described", "triples")
        ),
        ("sources", pa.list_(pa.large_string())),
        ("conforms", pa.bool_()),
    ]
)

FACTS = pa.schema(
    [
        ("error", pa.large_string()),
        ("graphs", pa.list_(_GRAPH)),
        ("stated", pa.large_string()),
    ]
)
"""A row per reply: its graphs, the assertions first, and as JSON what else ``WindowFacts`` has."""


@dataclass(frozen=True, slots=True)
class ReadReplies:
    """Replies → facts: what each states, and whether its graphs keep their shapes."""

    reader: WindowReader

    def __call__(self, replies: pa.Table) -> pa.Table:
        """Return a row per reply; one that fails in an unforeseen way has an error."""
        return pa.Table.from_pylist([self._row(row) for row in replies.to_pylist()], schema=FACTS)

    def _row(self, row: Mapping[str, Any]) -> dict[str, Any]:
        try:
            facts = self.reader.read(_reply_of(row))
            entered = conforming(facts.graphs, self.reader.names.base)
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}".encode("utf-8", "replace").decode()}
        stated = {
            "problem": facts.problem,
            "properties": {key: iri.value for key, iri in facts.properties.items()},
            "minted_classes": sorted(facts.minted_classes),
            "minted_properties": sorted(facts.minted_properties),
            "nameless": list(facts.nameless),
        }
        graphs = [row_of_draft(draft) | {"conforms": draft.iri.value in entered} for draft in facts.graphs]
        return {"error": "", "graphs": graphs, "stated": json.dumps(stated)}


def read(replies: Iterable[Reply], reader: WindowReader, workers: Workers) -> Iterator[tuple[Reply, WindowFacts]]:
    """Yield replies, in their order, with what workers read in each; they read as ``reader`` does.

    Raises:
        ServiceError: the model failed; all replies that came before are yielded first.
        BudgetSpent: likewise.
        StorageFailed: what is handed to workers cannot be written or read.
    """
    digest = reader.digest  # part of every row, since a result that is there is taken for the same row
    sent: deque[Reply] = deque()
    failures: list[KgragError] = []

    def arriving() -> Iterator[Reply]:
        try:
            yield from replies
        except KgragError as error:  # tables are read ahead of what workers have done
            failures.append(error)

    def tables() -> Iterator[pa.Table]:
        arrived = arriving()
        while some := list(islice(arrived, _REPLIES_PER_TABLE)):
            sent.extend(some)
            yield pa.Table.from_pylist([_row_of(reply) | {"reader": digest} for reply in some], schema=REPLIES)

    for table in workers.results(STAGE, tables()):
        for row in table.to_pylist():
            yield sent.popleft(), _facts_of(row)
    for failure in failures:
        raise failure


def _row_of(reply: Reply) -> dict[str, str]:
    asked, completion = reply.asked, reply.completion
    return {
        "window": json.dumps(asdict(asked.window)),
        "text": asked.text,
        "schema": json.dumps(asked.prompt.schema),
        "reply": json.dumps([completion.text, completion.data, completion.problem, completion.finish]),
    }


def _reply_of(row: Mapping[str, Any]) -> Reply:
    window = json.loads(row["window"])
    passages = tuple(Passage(**passage) for passage in window["passages"])
    text, data, problem, finish = json.loads(row["reply"])
    return Reply(
        Asked(Window(passages, window["halvings"]), row["text"], Prompt(PROMPT, "", schema=json.loads(row["schema"]))),
        Completion(text, data, problem=problem, finish=finish),
    )


def _facts_of(row: Mapping[str, Any]) -> WindowFacts:
    if row["error"]:
        return WindowFacts(problem=row["error"], is_read=False)
    graphs, stated = [draft_of_row(graph) for graph in row["graphs"]], json.loads(row["stated"])
    return WindowFacts(
        facts=graphs[0] if graphs else None,
        hyperedges=graphs[1:],
        properties={key: ox.NamedNode(iri) for key, iri in stated["properties"].items()},
        minted_classes=frozenset(stated["minted_classes"]),
        minted_properties=frozenset(stated["minted_properties"]),
        nameless=stated["nameless"],
        problem=stated["problem"],
        conforming=frozenset(graph["graph"] for graph in row["graphs"] if graph["conforms"]),
    )
