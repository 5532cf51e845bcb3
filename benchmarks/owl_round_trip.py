r"""What an OWL editor makes of our export, beside what it makes of the original file: are they the same graph?

The OWL API, which Protégé is made of, drops and adds statements by itself (what is no OWL, declarations, types), so
that what it saves is rarely the graph that it read. Compared by RDFC-1.0 are: the graph of the export with that of the
file (``file``); what the OWL API in HermiT's jar saves of the export with what it saves of the file (``as it is``), and
of the file as RDF/XML (``as RDF/XML``), since its reader of Turtle takes the escape ``\n`` for the letter n. What
remains depends on the order of statements: which of two inverse properties, or of two ontologies in one file, is first.

    python -m benchmarks.owl_round_trip [FILE...]

Without files: the ontologies of ``KGRAG_DATA`` and those that kgrag ships. Needs java.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import owlready2
import pyoxigraph as ox

from kgrag import KnowledgeBase
from kgrag.resources import folder
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder

HERMIT = Path(owlready2.__file__).parent / "hermit"
SECONDS = 120.0
SUFFIXES = (".ttl", ".owl", ".rdf")
COLUMNS = ("file", "as it is", "as RDF/XML")


def canonical(triples: Iterable[ox.Triple]) -> set[str]:
    """Return triples with names for blank nodes that depend on the graph alone."""
    dataset = ox.Dataset(ox.Quad(*triple) for triple in triples)
    dataset.canonicalize(ox.CanonicalizationAlgorithm.RDFC_1_0)
    return {str(quad) for quad in dataset}


def saved(source: Path, target: Path) -> set[str]:
    """Return what the OWL API saves of a file.

    Raises:
        RuntimeError: it does not read the file.
    """
    classes = f"{HERMIT}{os.pathsep}{HERMIT / 'HermiT.jar'}"
    command = [
        "java",
        "-Xshare:auto",
        "-XX:TieredStopAtLevel=1",
        "-cp",
        classes,
        "Save",
        str(source),
        "rdf",
        str(target),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    if done.returncode or not target.exists():
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise RuntimeError(lines[0][:120] if lines else "nothing was saved")
    return canonical(quad.triple for quad in ox.parse(path=target, format=ox.RdfFormat.RDF_XML))


def compare(source: Path, work: Path) -> dict[str, bool | None]:
    """Return which comparisons of the table hold; None where the OWL API does not read the file."""
    exported, converted = work / "exported.owl", work / "converted.owl"
    with KnowledgeBase(settings=Settings(), embedder=HashEmbedder()) as kb:
        kb.export_graphs(exported, kb.load(source).published[0])
    form = ox.RdfFormat.TURTLE if source.suffix == ".ttl" else ox.RdfFormat.RDF_XML
    triples = [quad.triple for quad in ox.parse(path=source, format=form, base_iri=source.resolve().as_uri())]
    ox.serialize(triples, converted, format=ox.RdfFormat.RDF_XML)
    ours = canonical(quad.triple for quad in ox.parse(path=exported, format=ox.RdfFormat.RDF_XML))
    found: dict[str, bool | None] = dict.fromkeys(COLUMNS)
    found["file"] = ours == canonical(triples)
    with suppress(RuntimeError, subprocess.TimeoutExpired):
        of_export = saved(exported, work / "exported.saved")
        found["as RDF/XML"] = of_export == saved(converted, work / "converted.saved")
        found["as it is"] = of_export == saved(source, work / "original.saved")
    return found


def main(files: list[Path]) -> None:
    """Print a line for each file, and how many are equal."""
    data = Path(os.environ.get("KGRAG_DATA", "data")) / "ontologies"
    files = files or sorted(each for place in (data, folder("ontologies")) for each in place.glob("*.*"))
    counts: Counter[tuple[str, bool | None]] = Counter()
    for file in (each for each in files if each.suffix in SUFFIXES):
        with tempfile.TemporaryDirectory() as work:
            found = compare(file.resolve(), Path(work))
        counts.update(found.items())
        said = (
            f"{name}: {'not read' if same is None else 'same' if same else 'DIFFERS'}" for name, same in found.items()
        )
        print(f"{file.name:36} {'   '.join(said)}")
    for name in COLUMNS:
        print(f"{name}: {counts[name, True]} of {counts[name, True] + counts[name, False]} the same")


if __name__ == "__main__":
    main([Path(each) for each in sys.argv[1:]])
