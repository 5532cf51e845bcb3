"""What follows from real ontologies by rules, against owlrl, and what HermiT decides of them; and rules on made data.

    python -m benchmarks.reasoning
    python -m benchmarks.reasoning --triples 100000 --triples 1000000
    python -m benchmarks.reasoning --no-owlrl
    python -m benchmarks.reasoning --contradictions

Data: ``ontologies/`` and ``reasoning/koala.owl`` of KGRAG_DATA. "told" counts what follows and was not stated, without
what holds of everything; seconds are of CPU, but for HermiT, which is a process of its own, by the clock. The made data
is the village of ``benchmarks.shacl_worlds`` with a small schema above it. ``--contradictions`` runs ``kgrag reason``
on every ontology of KGRAG_DATA, by the rules of OWL RL and by HermiT, and counts those that only the rules contradict.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyoxigraph as ox

from benchmarks.shacl_worlds import village
from kgrag.errors import NotDecided
from kgrag.reasoning.hermit import classify
from kgrag.reasoning.inference import PROFILES, materialise
from kgrag.store.scratch import OxigraphScratch

__all__ = ["main"]

_FORMATS = {".ttl": ox.RdfFormat.TURTLE, ".owl": ox.RdfFormat.RDF_XML, ".rdf": ox.RdfFormat.RDF_XML}
_SCHEMA = """
@prefix ex: <http://example.org/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:Person rdfs:subClassOf ex:Agent . ex:Firm rdfs:subClassOf ex:Agent . ex:Agent rdfs:subClassOf ex:Thing .
ex:Article rdfs:subClassOf ex:Work . ex:Work rdfs:subClassOf ex:Thing .
ex:author rdfs:subPropertyOf ex:contributor ; rdfs:range ex:Person . ex:editor rdfs:subPropertyOf ex:contributor .
ex:worksFor rdfs:domain ex:Person ; owl:inverseOf ex:employs . ex:seat rdfs:range ex:Place .
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one line an ontology, or one a size of made data."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--triples", type=int, action="append")
    parser.add_argument("--no-owlrl", action="store_true")
    parser.add_argument("--contradictions", action="store_true")
    parser.add_argument("--seconds", type=float, default=60.0)
    given = parser.parse_args(arguments)
    if given.contradictions:
        _contradictions(given.seconds)
    elif given.triples:
        _made(given.triples)
    else:
        _real(owlrl=not given.no_owlrl, seconds=given.seconds)


def _real(*, owlrl: bool, seconds: float) -> None:
    print(f"{'ontology':<32}{'triples':>8}" + "".join(f"{name:>8} s   told" for name in PROFILES), end="")
    print(f"{'owlrl s':>9}{'ratio':>7}  HermiT s  verdict")
    for path in _files():
        triples = [quad.triple for quad in ox.parse(path=path, format=_FORMATS[path.suffix])]
        line = f"{path.stem:<32}{len(triples):>8}"
        took = 0.0
        for profile in PROFILES:
            took, told, _ = _by_rules(triples, profile)
            line += f"{took:>10.2f}{told:>7}"
        theirs = _by_owlrl(triples) if owlrl else float("nan")
        print(f"{line}{theirs:>9.2f}{theirs / took:>7.0f}  {_decided(triples, seconds)}", flush=True)


def _contradictions(seconds: float) -> None:
    """Print both exit codes per file: 0 no contradiction, 1 one, or an unsatisfiable class, 3 no verdict."""
    files = [path for path in sorted(_data().rglob("*")) if path.suffix in _FORMATS and "w3c_" not in str(path)]
    only_rules, undecided = [], []
    for path in files:
        codes = [_reason(path, profile, seconds) for profile in ("owl-rl", "owl-dl")]
        print(f"{path.relative_to(_data())!s:<70} owl-rl {codes[0]}  owl-dl {codes[1]}", flush=True)
        only_rules += [path.name] if codes == [1, 0] else []
        undecided += [path.name] if 3 in codes else []
    print(
        f"{len(files)} files: RL contradicts and DL does not in {len(only_rules)} {only_rules}, no verdict {undecided}"
    )


def _reason(path: Path, profile: str, seconds: float) -> int:
    command = [sys.executable, "-m", "kgrag", "reason", str(path), "--profile", profile, "--timeout", str(seconds)]
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode


def _data() -> Path:
    return Path(os.environ.get("KGRAG_DATA", Path(__file__).parents[2] / "shared" / "data"))


def _files() -> Iterator[Path]:
    data = _data()
    yield data / "reasoning" / "koala.owl"
    yield from (path for path in sorted((data / "ontologies").iterdir()) if path.suffix in _FORMATS)


def _by_rules(triples: Sequence[ox.Triple], profile: str) -> tuple[float, int, int]:
    """Return seconds of CPU, how many triples follow, and how often the rules were run."""
    begun = time.process_time()
    found = materialise(OxigraphScratch(), triples, profile=profile)
    return time.process_time() - begun, len(found.triples), found.rounds


def _by_owlrl(triples: Sequence[ox.Triple]) -> float:
    import owlrl
    import rdflib

    begun = time.process_time()
    graph = rdflib.Graph().parse(data=ox.serialize(triples, format=ox.RdfFormat.N_TRIPLES), format="nt")
    owlrl.DeductiveClosure(owlrl.OWLRL_Semantics, axiomatic_triples=False, datatype_axioms=False).expand(graph)
    return time.process_time() - begun


def _decided(triples: Sequence[ox.Triple], seconds: float) -> str:
    try:
        found = classify(triples, seconds=seconds)
    except NotDecided as reason:
        return f"{'-':>8}  not decided: {reason}"
    told = f"{len(found.unsatisfiable)} unsatisfiable, {len(found.subclasses)} subclasses, "
    told += f"{len(found.equivalents)} equivalences" + (f" ({found.note})" if found.note else "")
    return f"{found.seconds:>8.1f}  {told if found.consistent else 'inconsistent'}"


def _made(sizes: Sequence[int]) -> None:
    print(f"{'triples':>10}  {'profile':<8}{'CPU s':>7}{'told':>10}  rounds")
    schema = [quad.triple for quad in ox.parse(_SCHEMA, format=ox.RdfFormat.TURTLE)]
    for size in sizes:
        lines = "\n".join(village(size))
        triples = [*schema, *(quad.triple for quad in ox.parse(lines, format=ox.RdfFormat.N_TRIPLES))]
        for profile in PROFILES:
            took, told, rounds = _by_rules(triples, profile)
            print(f"{len(triples):>10,}  {profile:<8}{took:>7.1f}{told:>10,}{rounds:>8}", flush=True)


if __name__ == "__main__":
    main()
