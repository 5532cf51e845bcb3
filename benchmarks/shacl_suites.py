"""Public suites and real shapes graphs, validated by kgrag and by pyshacl: what each reports, and every difference.

    python -m benchmarks.shacl_suites FOLDER
    python -m benchmarks.shacl_suites FOLDER --only brick --details

FOLDER has one folder for each line of ``shacl_suites.jsonl``, which names the public repository and the commit that its
files are from; what is not there is said to be missing. ``suite`` is the pattern of files with tests; without it,
``shapes`` are run on each entry of ``data``, whose files are one graph (``a + b`` are two patterns).

Of a suite, every test of SHACL's vocabulary of tests (W3C) or
of the ``dash`` vocabulary (TopQuadrant) is run, and both engines are compared with the report that it expects. Of real
shapes there is no such report: the engines are compared with each other. Results are equal if focus node, component,
path, value and severity are; blank nodes are all one, and so are paths of several steps. Each run of pyshacl is a
process of its own that may take ``--seconds``.
"""

from __future__ import annotations

import argparse
import json
import logging
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["main"]

_LIST = Path(__file__).with_suffix(".jsonl")
_COLUMNS = f"{'':<34}{'kgrag':>8}{'s':>7}{'pyshacl':>9}{'s':>7}  only kgrag / only pyshacl / not decided"
_SUITE_TERMS = ("sht:Validate", "GraphValidationTestCase")

_TRACE = "https://schemas.link/shacl-next#"
"""By severities of this vocabulary, reports that shacl-engine expects list what it looked at as well."""
_NOTHING = "nothing was validated"
"""What kgrag says of shapes without a target, of which an empty report may be expected."""

Results = Counter[str]
"""Results, each as one line of text."""


@dataclass(frozen=True, slots=True)
class _Run:
    """What an engine said: its results, how long it took, what it left undecided; or why there is nothing."""

    results: Results
    seconds: float
    undecided: tuple[str, ...] = ()
    failure: str = ""


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one line per suite and per pair of shapes and data."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--only", help="entries whose name contains this")
    parser.add_argument("--details", action="store_true", help="print every result that only one engine has")
    parser.add_argument("--seconds", type=float, default=300.0, help="that one run of pyshacl may take")
    parser.add_argument("--pyshacl", nargs=2, metavar=("DATA", "SHAPES"), help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    _quieten()
    if given.pyshacl:
        data, shapes = (text.split("\n") for text in given.pyshacl)
        print(json.dumps(_pyshacl(data, shapes)))
        return
    if given.folder is None:
        parser.error("name the folder of the suites")
    print(_COLUMNS)
    for entry in map(json.loads, _LIST.read_text(encoding="utf-8").splitlines()):
        if given.only is None or given.only in entry["name"]:
            _entry(given.folder / entry["folder"], entry["name"], entry, given)


def _quieten() -> None:
    """Let rdflib keep literals as they are written, and say nothing of ill-formed ones: suites have them on purpose."""
    import rdflib

    rdflib.NORMALIZE_LITERALS = False
    warnings.simplefilter("ignore")
    logging.disable()


def _entry(folder: Path, name: str, entry: dict[str, Any], given: argparse.Namespace) -> None:
    if not folder.is_dir():
        print(f"{name:<34}not there: {entry['from']}")
    elif "suite" in entry:
        _suite(folder, name, entry, given)
    else:
        for number, pattern in enumerate(entry["data"]):
            data = list(_readable(path for each in pattern.split(" + ") for path in folder.glob(each)))
            shapes = sorted(path for each in entry["shapes"] for path in folder.glob(each))
            label = name if len(entry["data"]) == 1 else f"{name} {number + 1}"
            _compare(label, data, shapes, given)


def _readable(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the files that parse; one that does not is named and left out for both engines."""
    import rdflib

    for path in sorted(paths):
        try:
            rdflib.Graph().parse(path, publicID=path.absolute().as_uri())
        except Exception as error:  # rdflib raises many kinds
            print(f"    {path.name} is left out: {' '.join(str(error).split())[:120]}")
        else:
            yield path


def _compare(name: str, data: Sequence[Path], shapes: Sequence[Path], given: argparse.Namespace) -> None:
    if not data or not shapes:
        print(f"{name:<34}no file of {'data' if shapes else 'shapes'} is there")
        return
    ours, theirs = _kgrag(data, shapes), _asked(data, shapes, given.seconds)
    only_ours, only_theirs = ours.results - theirs.results, theirs.results - ours.results
    if ours.failure:
        print(f"{name:<34}kgrag: {ours.failure}")
        return
    said = f"{theirs.results.total():>9}" if not theirs.failure else f"{'-':>9}"
    differs = "" if theirs.failure else f"{only_ours.total()} / {only_theirs.total()} / "
    print(
        f"{name:<34}{ours.results.total():>8}{ours.seconds:>7.1f}{said}{theirs.seconds:>7.1f}  {differs}"
        f"{len(ours.undecided)}{f'; pyshacl: {theirs.failure}' if theirs.failure else ''}",
        flush=True,
    )
    if given.details:
        sides = {"only kgrag": only_ours, "only pyshacl": only_theirs}
        for side, results in sides.items() if not theirs.failure else ():
            print(*(f"    {side} {times} x {line}" for line, times in sorted(results.items())), sep="\n")
        print(*(f"    not decided: {each}" for each in ours.undecided), sep="\n")


# --- suites -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Test:
    """A test: data, shapes, and the results that are expected; None = the shapes are to be refused."""

    name: str
    data: Path
    shapes: Path
    expected: Results | None


def _suite(folder: Path, name: str, entry: dict[str, Any], given: argparse.Namespace) -> None:
    tests = [test for path in sorted(folder.glob(entry["suite"])) for test in _tests(path)]
    right = {"kgrag": 0, "pyshacl": 0}
    seconds = {"kgrag": 0.0, "pyshacl": 0.0}
    differences: list[str] = []
    for test in tests:
        runs = {"kgrag": _kgrag([test.data], [test.shapes]), "pyshacl": _within(test)}
        verdicts = {engine: _as_expected(run, test) for engine, run in runs.items()}
        for engine, run in runs.items():
            right[engine] += verdicts[engine]
            seconds[engine] += run.seconds
        if not verdicts["kgrag"]:
            other = "as expected" if verdicts["pyshacl"] else _reason(runs["pyshacl"], test)
            differences.append(f"    {test.name}: {_reason(runs['kgrag'], test)}; pyshacl: {other}")
    print(
        f"{name:<34}{right['kgrag']:>8}{seconds['kgrag']:>7.1f}{right['pyshacl']:>9}{seconds['pyshacl']:>7.1f}"
        f"  as expected, of {len(tests)} tests",
        flush=True,
    )
    if given.details and differences:
        print(*differences, sep="\n", flush=True)


def _as_expected(run: _Run, test: _Test) -> bool:
    if test.expected is None:
        return bool(run.failure or run.undecided)
    undecided = [reason for reason in run.undecided if not (_NOTHING in reason and not test.expected)]
    return not run.failure and not undecided and run.results == test.expected


def _reason(run: _Run, test: _Test) -> str:
    if run.failure or run.undecided:
        return f"{'; '.join([run.failure, *run.undecided]).strip('; ')[:160]}"
    if test.expected is None:
        return "takes shapes that are to be refused"
    missing, more = test.expected - run.results, run.results - test.expected
    return f"lacks {sorted(missing)[:2]}, has {sorted(more)[:2]}"


def _tests(path: Path) -> Iterator[_Test]:
    import rdflib

    rdflib.NORMALIZE_LITERALS = False  # which a run of pyshacl in this process, of what kgrag leaves to it, switches on
    text = path.read_text(encoding="utf-8", errors="replace")
    if not any(term in text for term in _SUITE_TERMS):
        return
    try:
        graph = rdflib.Graph().parse(path, publicID=path.absolute().as_uri())
    except Exception:  # a file of a suite may be there to be refused
        return
    sht, mf, dash, sh = (
        rdflib.Namespace(space)
        for space in (
            "http://www.w3.org/ns/shacl-test#",
            "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#",
            "http://datashapes.org/dash#",
            "http://www.w3.org/ns/shacl#",
        )
    )
    for node in graph.subjects(rdflib.RDF.type, sht.Validate):
        action, result = graph.value(node, mf.action), graph.value(node, mf.result)
        data, shapes = (_file(graph.value(action, name)) or path for name in (sht.dataGraph, sht.shapesGraph))
        yield _Test(path.stem, data, shapes, None if result == sht.Failure else _rows(graph, result))
    for node in graph.subjects(rdflib.RDF.type, dash.GraphValidationTestCase):
        report = graph.value(node, dash.expectedResult)
        if report is not None and graph.value(report, sh.conforms) is not None:
            yield _Test(path.stem, path, path, _rows(graph, report))


def _file(term: Any) -> Path | None:
    from urllib.parse import unquote, urlsplit

    path = Path(unquote(urlsplit(str(term)).path)) if str(term).startswith("file:") else None
    return path if path is not None and path.is_file() else None


def _rows(graph: Any, report: Any) -> Results:
    """Return the results of a report."""
    import rdflib
    from rdflib.namespace import SH

    def text(term: Any) -> str:
        return "-" if term is None else "_:" if isinstance(term, rdflib.BNode) else term.n3()

    names = (SH.focusNode, SH.sourceConstraintComponent, SH.resultPath, SH.value, SH.resultSeverity)
    return Counter(
        " ".join(text(graph.value(result, name)) for name in names)
        for result in graph.objects(report, SH.result)
        if not str(graph.value(result, SH.resultSeverity)).startswith(_TRACE)
    )


# --- engines ----------------------------------------------------------------------------------------------------------


def _kgrag(data: Sequence[Path], shapes: Sequence[Path]) -> _Run:
    import rdflib
    from rdflib.namespace import RDF, SH

    from kgrag.audit import ValidationOptions
    from kgrag.audit.reports import as_shacl
    from kgrag.errors import KgragError
    from kgrag.knowledge_base import validation_runs

    begun = time.process_time()
    try:
        found = validation_runs.validate(None, data, shapes=list(shapes), options=ValidationOptions())
    except KgragError as error:
        return _Run(Counter(), time.process_time() - begun, failure=str(error)[:200])
    seconds = time.process_time() - begun
    _quieten()  # a run may have left it otherwise
    graph = rdflib.Graph().parse(data=as_shacl(found), format="turtle")
    undecided = tuple(f"{each.check}: {each.reason}" for each in found.not_decided if each.asked)
    return _Run(_rows(graph, graph.value(None, RDF.type, SH.ValidationReport)), seconds, undecided)


def _within(test: _Test) -> _Run:
    """Run pyshacl on a test in this process: tests are small."""
    begun = time.process_time()
    answer = _pyshacl([str(test.data)], [str(test.shapes)])
    return _Run(Counter(answer["results"]), time.process_time() - begun, failure=answer["failure"])


def _asked(data: Sequence[Path], shapes: Sequence[Path], seconds: float) -> _Run:
    names = ["\n".join(map(str, paths)) for paths in (data, shapes)]
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.shacl_suites", "--pyshacl", *names]
    begun = time.perf_counter()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return _Run(Counter(), seconds, failure=f"not done in {seconds:.0f} s")
    if done.returncode or not done.stdout.strip():
        reason = (done.stderr.strip().splitlines() or ["no output"])[-1]
        return _Run(Counter(), time.perf_counter() - begun, failure=reason[:160])
    answer = json.loads(done.stdout.splitlines()[-1])
    return _Run(Counter(answer["results"]), answer["seconds"], failure=answer["failure"])


def _pyshacl(data: Sequence[str], shapes: Sequence[str]) -> dict[str, Any]:
    import pyshacl
    import rdflib
    from rdflib.namespace import RDF, SH

    _quieten()
    read = []
    for paths in (data, shapes):
        read.append(rdflib.Graph())
        for path in paths:
            read[-1].parse(path, publicID=Path(path).absolute().as_uri())
    if not list(read[1].objects(None, SH.entailment)):
        read[1].remove((None, SH.rule, None))  # pyshacl would validate what follows by them, unasked
    begun = time.process_time()
    try:
        _, report, text = pyshacl.validate(read[0], shacl_graph=read[1], advanced=True, inplace=True)
        if not isinstance(report, rdflib.Graph):
            raise TypeError(text)
    except Exception as error:  # pyshacl and rdflib raise many kinds
        return {"results": {}, "seconds": time.process_time() - begun, "failure": f"{error}".split("\n", 1)[0][:160]}
    rows = _rows(report, report.value(None, RDF.type, SH.ValidationReport))
    return {"results": dict(rows), "seconds": time.process_time() - begun, "failure": ""}


if __name__ == "__main__":
    main()
