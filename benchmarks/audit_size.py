"""Audits of made ontologies by size: seconds of CPU for reading and auditing, findings, and memory.

    python -m benchmarks.audit_size
    python -m benchmarks.audit_size --triples 1000000 --keep big.ttl

Each size is a Turtle file of its own and a process of its own, which does what ``kgrag audit FILE`` does. Of a file
every tenth triple declares a class, with label, definition, superclass, a restriction, and now and then what checks
find: no label, two superclasses, a definition in another language, a deprecated superclass, disjoint siblings.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

__all__ = ["main"]

_HEAD = """@prefix dcterms: <http://purl.org/dc/terms/> .
@prefix ex: <https://example.org/made#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .

<https://example.org/made> a owl:Ontology ; dcterms:title "A made ontology"@en .
"""
_PROPERTIES = 40
_PLACES = ["root", "stem", "leaf", "seed", "husk", "bran", "germ", "awn", "node", "spike"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one line a size."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--triples", type=int, action="append")
    parser.add_argument("--keep", type=Path, help="write the (last) file here, and leave it")
    parser.add_argument("--slow", action="store_true", help="name the checks that took longest")
    parser.add_argument("--run", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.run:
        print(json.dumps(_measured(given.run)))
        return
    print(f"{'triples':>9}{'MB':>7}{'reading s':>11}{'audit s':>9}{'findings':>10}{'MiB':>7}")
    for size in given.triples or [10_000, 100_000]:
        with tempfile.TemporaryDirectory() as folder:
            path = given.keep or Path(folder) / "made.ttl"
            path.write_text(_HEAD + "".join(_ontology(size)), encoding="utf-8")
            row = _run(path)
        print(
            f"{row['triples']:>9,}{row['megabytes']:>7.1f}{row['reading']:>11.2f}{row['audit']:>9.2f}"
            f"{row['findings']:>10,}{row['memory']:>7.0f}",
            flush=True,
        )
        if given.slow:
            print("          " + ", ".join(f"{each['check']} {each['seconds']:.1f}" for each in row["slow"][:12]))


def _run(path: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.audit_size", "--run", str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    row: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return row


def _measured(path: Path) -> dict[str, object]:
    from kgrag.audit import audit_triples
    from kgrag.knowledge_base.audit_runs import triples_of
    from kgrag.store.scratch import OxigraphScratch

    begun = time.process_time()
    triples = triples_of(path)
    count, read = len(triples), time.process_time()
    given = iter(triples)
    del triples
    found = audit_triples(given, name="made", bench=OxigraphScratch())
    return {
        "triples": count,
        "megabytes": path.stat().st_size / 1e6,
        "reading": read - begun,
        "audit": time.process_time() - read,
        "findings": len(found.fingerprints),
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "slow": [dict(each) for each in found.slow],
    }


def _ontology(size: int) -> Iterator[str]:
    """Yield about ``size`` triples of Turtle."""
    chance = random.Random(11)
    for k in range(_PROPERTIES):
        yield (
            f'ex:property{k} a owl:ObjectProperty ; rdfs:label "property {k}"@en ; skos:definition "Relates {k}."@en ; '
            f"rdfs:domain ex:Class{k} ; rdfs:range ex:Class{k + 1} .\n"
        )
    for n in range(max(_PROPERTIES + 2, size // 10)):
        yield _a_class(n, chance)


def _a_class(n: int, chance: random.Random) -> str:
    odd = [chance.randrange(200) == 0 for _ in range(5)]
    lines = [
        f"ex:Class{n} a owl:Class",
        f"rdfs:subClassOf ex:Class{(n - 1) // 4}" if n else "rdfs:subClassOf owl:Thing",
    ]
    if not odd[0]:
        lines.append(f'rdfs:label "{_PLACES[n % 10]} of kind {n}"@en')
    lines.append(f'skos:definition "The {_PLACES[n % 10]} that stands at place {n}."@{"de" if odd[1] else "en"}')
    if odd[2] and n > 8:
        lines.append(f"rdfs:subClassOf ex:Class{(n - 1) // 16}")
    if odd[3]:
        lines.append("owl:deprecated true")
    if odd[4] and n > 2:
        lines.append(f"owl:disjointWith ex:Class{n - 1}")
    restriction = (
        f"[ a owl:Restriction ; owl:onProperty ex:property{n % _PROPERTIES} ; owl:someValuesFrom ex:Class{n // 2} ]"
    )
    lines.append(f"rdfs:subClassOf {restriction}")
    lines.append(f'skos:notation "{n:06d}"')
    lines.append(f'dcterms:created "2024-01-{n % 28 + 1:02d}"^^xsd:date')
    return " ;\n  ".join(lines) + " .\n"


if __name__ == "__main__":
    main()
