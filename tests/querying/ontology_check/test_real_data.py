"""Gold queries pass, and what is flagged among the queries of real systems is wrong (ACME, CK25; development halves)."""

import gzip
import json
from pathlib import Path

import pytest

from kgrag.querying.ontology_check import Check, DataView, check, index_of_files
from kgrag.store.oxigraph import OxigraphStore
from kgrag.store.rdf_files import read_rdf
from kgrag.store.scratch import OxigraphScratch
from kgrag.vocab import Names


def lines(path: Path) -> list[dict[str, object]]:
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [json.loads(line) for line in content.decode().splitlines()]


def test_no_gold_query_of_acme_has_an_error(data: Path) -> None:
    index = index_of_files([data / "acme_insurance" / "ontology.ttl"], names=Names())
    for row in lines(data / "acme_insurance" / "inquiries.jsonl"):
        query = str(row.get("sparql_repaired") or row["sparql_standalone"])
        found = check(query, index, open_scratch=OxigraphScratch).findings
        assert [finding.message for finding in found if finding.severity == "error"] == [], row["id"]


@pytest.mark.parametrize("with_data", [True, False])
def test_what_is_flagged_among_real_queries_is_wrong(data: Path, with_data: bool) -> None:
    flagged, right_flagged, wrong = 0, 0, 0
    for row, found in verdicts(data / "ck25", with_data=with_data):
        right = row["published_scores"]["set_F"] > 0.99  # type: ignore[index]
        wrong += not right
        flagged += not found.valid
        right_flagged += right and not found.valid
    assert right_flagged <= (1 if with_data else 5)
    assert (flagged - right_flagged) / flagged >= 0.95
    assert (flagged - right_flagged) / wrong >= 0.45


def verdicts(folder: Path, *, with_data: bool) -> list[tuple[dict[str, object], Check]]:
    index = index_of_files([folder / "prod-vocab.ttl"], names=Names())
    view = None
    if with_data:
        store = OxigraphStore.open(None)
        for name in ("prod-vocab.ttl", "prod-inst.ttl.gz"):
            store.publish(read_rdf(folder / name, names=store.names))
        view = DataView(store)
    rows = lines(folder / "system_answers.jsonl.gz")
    queries = {str(row["sparql"]) for row in rows}  # several systems wrote some of them
    found = {query: check(query, index, open_scratch=OxigraphScratch, data=view) for query in queries}
    return [(row, found[str(row["sparql"])]) for row in rows]
