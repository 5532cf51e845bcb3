"""Validation by the SHACL engine and by pyshacl: seconds of CPU and memory, on the same triples and shapes.

    python -m benchmarks.shacl_speed
    python -m benchmarks.shacl_speed --triples 10000 --triples 100000 --triples 1000000
    python -m benchmarks.shacl_speed --triples 1000000 --only engine --shapes ordinary
    python -m benchmarks.shacl_speed --triples 10000000 --only command --shapes ordinary

Three sets of shapes: ``twenty`` (``shacl_shapes.ttl``, of every component one), ``ordinary`` (qualified counts, paths,
``sh:not``, patterns) and ``catalogue`` (in the manner of DCAT-AP). The data is a made world (``shacl_worlds``), in
which one statement in some hundreds departs from a shape. Each run is a process of its own, which first validates a
small world with the same shapes, so that loading libraries and compiling templates isn't counted; nor is reading the
data, but reading the shapes is. "results" are the distinct (focus node, component, path) found, which must agree.
Memory is the highest the process came to, with the data, beside what it held before validation began. ``engine`` reads
shapes that it has not seen; ``again`` is the same once more, with shapes that the process has compiled before.
``command`` is ``kgrag validate --format jsonl`` on the file, start, reading and loading included. A run that takes
longer than ``--seconds`` is ended, and its line says so.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.shacl_worlds import WORLDS

__all__ = ["main"]

_FOLDER = Path(__file__).parent
_SETS = {
    "twenty": ("shacl_shapes.ttl", "village"),
    "ordinary": ("shacl_ordinary.ttl", "village"),
    "catalogue": ("shacl_catalogue.ttl", "catalogue"),
}
"""Name of a set of shapes -> its file, and the world that it is for."""
_GRAPH = "urn:data"
_SMALL = 2_000
_COLUMNS = "triples    shapes     engine     results    CPU s   MiB   of which before"


@dataclass(frozen=True, slots=True)
class _Run:
    """What is run: an engine on a set of shapes, in a process of its own that may take so many seconds."""

    engine: str
    shapes: str
    seconds: float


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one line per size, set of shapes and engine."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--triples", type=int, action="append")
    parser.add_argument("--shapes", choices=sorted(_SETS), action="append")
    parser.add_argument("--only", choices=["command", "engine", "pyshacl"])
    parser.add_argument("--seconds", type=float, default=1800.0, help="that one run may take")
    parser.add_argument("--run", nargs=3, metavar=("ENGINE", "SHAPES", "FILE"), help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.run:
        engine, shapes, path = given.run
        print(json.dumps(_measured(engine, _FOLDER / _SETS[shapes][0], Path(path))))
        return
    print(_COLUMNS)
    for shapes in given.shapes or _SETS:
        for size in given.triples or [10_000, 100_000]:
            engines = [given.only] if given.only else ["engine", "pyshacl"]
            _compare(size, [_Run(engine, shapes, given.seconds) for engine in engines])


def _compare(size: int, runs: Sequence[_Run]) -> None:
    world = WORLDS[_SETS[runs[0].shapes][1]]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.nt"
        for target, lines in ((path, size), (_small(path), _SMALL)):
            with target.open("w", encoding="utf-8") as stream:
                stream.writelines(f"{line}\n" for line in world(lines))
        found = [done for run in runs if (done := _run(run, path, size))]
    if len({each["digest"] for each in found}) > 1:
        raise SystemExit("the engines disagree")
    if len(found) == 2:
        print(
            f"{size:>9,}  {runs[0].shapes:<11}ratio      {found[1]['seconds'] / found[0]['seconds']:>18.1f}", flush=True
        )


def _small(path: Path) -> Path:
    return path.with_name(f"small_{path.name}")


def _run(run: _Run, path: Path, size: int) -> dict[str, float] | None:
    """Return what a run measured; None where it took too long."""
    arguments = ["-m", "benchmarks.shacl_speed", "--run", run.engine, run.shapes, str(path)]
    begins = f"{size:>9,}  {run.shapes:<11}{run.engine:<9}"
    if run.engine == "command":
        _command(run, path, begins)
        return None
    try:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", *arguments],
            check=True, capture_output=True, text=True, timeout=run.seconds,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        print(f"{begins}not done in {run.seconds:.0f} s", flush=True)
        return None
    row: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    print(f"{begins}{row['results']:>9,}{row['seconds']:>9.3f}{row['memory']:>6.0f}{row['before']:>8.0f}", flush=True)
    if "again" in row:
        print(f"{begins.replace('engine', 'again ')}{row['results']:>9,}{row['again']:>9.3f}", flush=True)
    return row


def _command(run: _Run, path: Path, begins: str) -> None:
    """Run the command on the file, and print what it took."""
    options = ["--shapes", str(_FOLDER / _SETS[run.shapes][0]), "--format", "jsonl"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "kgrag", "validate", str(path), *options], capture_output=True, text=True, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr)
    found = len(done.stdout.splitlines()) - 1
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{begins}{found:>9,}{seconds:>9.3f}{after.ru_maxrss / 1024:>6.0f}", flush=True)


def _measured(engine: str, shapes: Path, path: Path) -> dict[str, object]:
    prepared = {"engine": _engine, "pyshacl": _pyshacl}[engine](shapes, path)
    next(prepared)
    before, begun = _memory(), time.process_time()
    rows = next(prepared)
    seconds = time.process_time() - begun
    again = {}
    if engine == "engine":
        begun = time.process_time()
        next(prepared)
        again = {"again": time.process_time() - begun}
    digest = hashlib.sha256("\n".join(sorted(rows)).encode()).hexdigest()
    return {"seconds": seconds, "results": len(rows), "memory": _memory(), "before": before, "digest": digest, **again}


def _memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _engine(shapes: Path, path: Path) -> Iterator[set[str]]:
    import pyoxigraph as ox

    from kgrag import shacl
    from kgrag.store.oxigraph import OxigraphStore

    graph = ox.NamedNode(_GRAPH)
    first = OxigraphStore.open(None)
    first.load(_as_quads(_small(path)))
    shacl.validate(first, shacl.load_shapes([shapes]), graphs=[graph], merged=True)
    store = OxigraphStore.open(None)
    store.load(_as_quads(path))
    unseen = Path(f"{path}.shapes.ttl")
    unseen.write_text(shapes.read_text(encoding="utf-8"), encoding="utf-8")
    yield set()
    for _ in range(2):
        found = shacl.validate(store, shacl.load_shapes([unseen]), graphs=[graph], merged=True)
        yield {f"{v.focus} {v.component} {v.path if '(' not in v.path and '<' not in v.path else '-'}" for v in found}


def _as_quads(path: Path) -> Path:
    quads = path.with_suffix(".nq")
    with path.open(encoding="utf-8") as lines, quads.open("w", encoding="utf-8") as target:
        target.writelines(f"{line.rstrip()[:-1]}<{_GRAPH}> .\n" for line in lines if line.strip())
    return quads


def _pyshacl(shapes: Path, path: Path) -> Iterator[set[str]]:
    import pyshacl
    import rdflib
    from rdflib.namespace import SH

    pyshacl.validate(rdflib.Graph().parse(_small(path), format="nt"), shacl_graph=rdflib.Graph().parse(shapes))
    data = rdflib.Graph().parse(path, format="nt")
    yield set()
    _, report, _ = pyshacl.validate(data, shacl_graph=rdflib.Graph().parse(shapes), inplace=True)
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


if __name__ == "__main__":
    main()
