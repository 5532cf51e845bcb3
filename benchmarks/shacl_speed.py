"""Validation by the SHACL engine and by pyshacl: seconds of CPU and memory, on the same triples and twenty shapes.

    python -m benchmarks.shacl_speed
    python -m benchmarks.shacl_speed --triples 10000 --triples 100000 --triples 1000000
    python -m benchmarks.shacl_speed --triples 1000000 --only engine

The data is a made world, in which one node in some hundreds departs from a shape (``shacl_shapes.ttl``). Each run is a
process of its own, which first validates a small world with the same shapes, so that loading libraries and compiling
templates isn't counted; nor is reading the data, but reading the shapes is. "results" are the distinct (focus node,
component, path) found, which must agree. Memory is the highest the process came to, with the data, beside what it
held before validation began.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

__all__ = ["main"]

_SHAPES = Path(__file__).with_name("shacl_shapes.ttl")
_GRAPH = "urn:data"
_PREFIXES = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "ex": "http://example.org/",
}
_ODD = 300
_SMALL = 2_000
_COLUMNS = "triples    engine     results   CPU s   MiB   of which before"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one line a size and engine."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--triples", type=int, action="append")
    parser.add_argument("--only", choices=["engine", "pyshacl"])
    parser.add_argument("--run", nargs=2, metavar=("ENGINE", "FILE"), help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.run:
        print(json.dumps(_measured(given.run[0], Path(given.run[1]))))
        return
    print(_COLUMNS)
    for size in given.triples or [10_000, 100_000]:
        _compare(size, [given.only] if given.only else ["engine", "pyshacl"])


def _compare(size: int, engines: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.nt"
        for target, lines in ((path, size), (_small(path), _SMALL)):
            target.write_text("\n".join(_world(lines)) + "\n", encoding="utf-8")
        found = [_run(engine, path, size) for engine in engines]
    if len({each["digest"] for each in found}) > 1:
        raise SystemExit("the engines disagree")
    if len(found) == 2:
        print(f"{size:>9,}  ratio      {found[1]['seconds'] / found[0]['seconds']:>17.1f}")


def _small(path: Path) -> Path:
    return path.with_name(f"small_{path.name}")


def _run(engine: str, path: Path, size: int) -> dict[str, float]:
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.shacl_speed", "--run", engine, str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    row: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    print(
        f"{size:>9,}  {engine:<9}{row['results']:>9,}{row['seconds']:>8.2f}{row['memory']:>6.0f}{row['before']:>8.0f}",
        flush=True,
    )
    return row


def _measured(engine: str, path: Path) -> dict[str, object]:
    prepared = {"engine": _engine, "pyshacl": _pyshacl}[engine](path)
    next(prepared)
    before, begun = _memory(), time.process_time()
    rows = next(prepared)
    seconds = time.process_time() - begun
    digest = hashlib.sha256("\n".join(sorted(rows)).encode()).hexdigest()
    return {"seconds": seconds, "results": len(rows), "memory": _memory(), "before": before, "digest": digest}


def _memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _engine(path: Path) -> Iterator[set[str]]:
    import pyoxigraph as ox

    from kgrag import shacl
    from kgrag.store.oxigraph import OxigraphStore

    graph = ox.NamedNode(_GRAPH)
    first = OxigraphStore.open(None)
    first.load(_as_quads(_small(path)))
    shacl.validate(first, shacl.load_shapes([_SHAPES]), graphs=[graph], merged=True)
    store = OxigraphStore.open(None)
    store.load(_as_quads(path))
    yield set()
    found = shacl.validate(store, shacl.load_shapes([_SHAPES]), graphs=[graph], merged=True)
    yield {f"{v.focus} {v.component} {v.path if '(' not in v.path and '<' not in v.path else '-'}" for v in found}


def _as_quads(path: Path) -> Path:
    quads = path.with_suffix(".nq")
    with path.open(encoding="utf-8") as lines, quads.open("w", encoding="utf-8") as target:
        target.writelines(f"{line.rstrip()[:-1]}<{_GRAPH}> .\n" for line in lines if line.strip())
    return quads


def _pyshacl(path: Path) -> Iterator[set[str]]:
    import pyshacl
    import rdflib
    from rdflib.namespace import SH

    pyshacl.validate(rdflib.Graph().parse(_small(path), format="nt"), shacl_graph=rdflib.Graph().parse(_SHAPES))
    data = rdflib.Graph().parse(path, format="nt")
    yield set()
    shapes = rdflib.Graph().parse(_SHAPES)
    _, report, _ = pyshacl.validate(data, shacl_graph=shapes, inplace=True)
    yield {_row(report, result) for result in report.objects(None, SH.result)}


def _row(report: object, result: object) -> str:
    import rdflib
    from rdflib.namespace import SH

    assert isinstance(report, rdflib.Graph)
    assert isinstance(result, rdflib.term.Node)
    component = str(report.value(result, SH.sourceConstraintComponent)).removeprefix(str(SH))
    component = component.removesuffix("ConstraintComponent")
    path = report.value(result, SH.resultPath)
    inverse = report.value(path, SH.inversePath) if isinstance(path, rdflib.BNode) else None
    name = f"^{inverse}" if inverse else "-" if isinstance(path, rdflib.BNode) else str(path or "")
    return f"{report.value(result, SH.focusNode)} {component[0].lower()}{component[1:]} {name}"


def _world(size: int) -> Iterator[str]:
    """Yield about ``size`` N-Triples lines: people, firms, articles and towns, one statement in hundreds odd."""
    chance = random.Random(7)
    number = 0
    total = 0
    while total < size:
        group = list(_group(number, chance))
        yield from group
        total += len(group)
        number += 1


def _group(n: int, chance: random.Random) -> Iterator[str]:
    """Yield what there is to say of one firm, its seat, five people and four articles."""
    odd = [chance.randrange(_ODD) == 0 for _ in range(2)]
    yield _line(f"firm{n}", "rdf:type", "ex:Firm")
    yield _line(f"firm{n}", "ex:seat", "ex:nowhere" if odd[0] else f"ex:town{n}")
    yield _line(f"town{n}", "rdf:type", "ex:Town")
    yield _line(f"town{n}", "ex:within", f"ex:town{n // 2}")
    if not odd[1]:
        yield _line(f"town{n}", "ex:name" if chance.random() < 0.5 else "rdfs:label", f'"Town {n}"')
    for k in range(5 * n, 5 * n + 5):
        yield from _person(k, n, chance)
    for k in range(4 * n, 4 * n + 4):
        yield from _article(k, n, chance)


def _person(k: int, n: int, chance: random.Random) -> Iterator[str]:
    odd = [chance.randrange(_ODD) == 0 for _ in range(5)]
    yield _line(f"person{k}", "rdf:type", "ex:Person")
    yield _line(f"person{k}", "rdfs:label", f'"Person {k}"@{"fr" if odd[0] else "en"}')
    yield _line(f"person{k}", "ex:age", f'"{200 if odd[1] else k % 90}"^^<http://www.w3.org/2001/XMLSchema#integer>')
    yield _line(f"person{k}", "ex:worksFor", f"ex:town{n}" if odd[2] else f"ex:firm{n}")
    if not odd[3]:
        yield _line(f"person{k}", "ex:mail", '"none"' if odd[4] else f'"p{k}@example.org"')
    for friend in chance.sample(range(max(0, 5 * n - 20), 5 * n + 5), 2):
        yield _line(f"person{k}", "ex:knows", f"ex:person{friend}")


def _article(k: int, n: int, chance: random.Random) -> Iterator[str]:
    odd = [chance.randrange(_ODD) == 0 for _ in range(4)]
    author = 5 * n + k % 5
    yield _line(f"article{k}", "rdf:type", "ex:Article")
    yield _line(f"article{k}", "rdfs:label", f'"Article {k}"')
    yield _line(f"article{k}", "ex:topic", f'"{"gossip" if odd[0] else chance.choice(["soil", "seed", "water"])}"')
    for name, day in (("begun", 999 if odd[1] else k % 300), ("printed", k % 300 + 5)):
        yield _line(f"article{k}", f"ex:{name}", f'"{day}"^^<http://www.w3.org/2001/XMLSchema#integer>')
    yield _line(f"article{k}", "ex:author", f"ex:person{author}")
    if not odd[2]:
        yield _line(f"article{k}", "ex:editor", f"ex:person{author if odd[3] else author + 1 - 5 * (k % 5 == 4)}")


def _line(subject: str, predicate: str, value: str) -> str:
    return f"{_iri('ex:' + subject)} {_iri(predicate)} {value if value.startswith(chr(34)) else _iri(value)} ."


def _iri(name: str) -> str:
    prefix, _, local = name.partition(":")
    return f"<{_PREFIXES[prefix]}{local}>"


if __name__ == "__main__":
    main()
