"""Condensing 20,000 triples: time, memory, and that no fact becomes unreachable.

    python -m benchmarks.poly_rag_condensation [--triples N] [--json]

The triples are those that a language model took from the MuSiQue passages, and the upper layers of ``pyramid``;
the attributes are those of the ontologies of ``dbpedia_webnlg``. Run for a quarter, a half and all of them, so that the
growth of time shows; embedding is timed by itself. Memory is the peak of the process.
"""

from __future__ import annotations

import argparse
import gzip
import json
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import data_folder
from kgrag import KnowledgeBase, queries

__all__ = ["main"]


def _triples(folder: Path) -> Iterator[dict[str, str]]:
    packed = folder / "multihop" / "musique_train100" / "openie_gpt35.jsonl.gz"
    for line in gzip.decompress(packed.read_bytes()).decode("utf-8").strip().split("\n"):
        for triple in json.loads(line)["triples"]:
            if isinstance(triple, list) and len(triple) == 3 and all(isinstance(part, str) and part for part in triple):
                yield dict(zip(("sub", "rel", "obj"), triple, strict=True))
    for name in ("kg_triples.jsonl.gz", "ontology_instances.jsonl.gz"):
        for line in gzip.decompress((folder / "pyramid" / name).read_bytes()).decode("utf-8").strip().split("\n"):
            yield json.loads(line)


def _measured(folder: Path, count: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as scratch, KnowledgeBase() as kb:
        path = Path(scratch) / "triples.jsonl"
        rows = [json.dumps(row) for _, row in zip(range(count), _triples(folder), strict=False)]
        path.write_text("\n".join(rows), encoding="utf-8")
        start = time.perf_counter()
        report = kb.build("poly_rag", schema=[folder / "text2kgbench" / "dbpedia_webnlg"], triples=path)
        built = time.perf_counter()
        done = kb.build("poly_rag", condense=True)
        end = time.perf_counter()
        unreachable = _unreachable(kb)
    return {
        "triples": report.counts["statements"],
        "condensed": done.counts["condensed"],
        "unreachable": unreachable,
        "seconds to load and embed": round(built - start, 1),
        "seconds to condense and embed": round(end - built, 1),
        "peak memory, MB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def _unreachable(kb: KnowledgeBase) -> int:
    """Count the statements that no condensed one is derived from, asked of the store."""
    table = kb.store.select(queries.bind("poly_rag/unreachable", catalogue=kb.store.names.catalogue))
    return len(table)


def main() -> None:
    """Condense and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--triples", type=int, default=20_000)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    rows = [_measured(data_folder(), given.triples // part) for part in (4, 2, 1)]
    if given.json:
        print(json.dumps(rows, indent=2))
        return
    print("| " + " | ".join(rows[0]) + " |\n" + "|---" * len(rows[0]) + "|")
    for row in rows:
        print("| " + " | ".join(f"{value:,}" for value in row.values()) + " |")


if __name__ == "__main__":
    main()
