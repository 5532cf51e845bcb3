"""HermiT, an OWL 2 DL reasoner, as a process of its own: bounded in time and memory, and without a network.

HermiT is written in Java and comes inside the package ``owlready2``. It is given N-Triples without ``owl:imports``, and
its own text output is read. What it cannot decide (no Java, no time, no memory, a construct that it refuses) raises
``NotDecided``; an inconsistent ontology is a verdict.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyoxigraph as ox

from kgrag.errors import NotDecided
from kgrag.late_patterns import late_re
from kgrag.vocab import OWL, RDF, RDFS, XSD

__all__ = ["Classification", "classify", "first_departure"]

_INSTALL = (
    "HermiT needs Java 8 or newer, and no java was found. Install one (Debian, Ubuntu: sudo apt-get install -y "
    "default-jre-headless; macOS: brew install openjdk; Fedora: sudo dnf install -y java-17-openjdk-headless), or set "
    "JAVA_HOME"
)
MAX_HEAP_MIB = 1024
"""The memory of the Java process; the rest of a small machine stays for the store."""
_MAIN = "org.semanticweb.HermiT.cli.CommandLine"
# A proxy that nobody answers at, so that nothing is fetched even if an ontology names an address.
_NOWHERE = [f"-D{kind}.{part}" for kind in ("http", "https") for part in ("proxyHost=127.0.0.1", "proxyPort=9")]
_JVM = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true", *_NOWHERE)
_RESULT = late_re(r"^(EquivalentClasses|SubClassOf)\( ((?:<[^>]+>\s*)+) \)$", flags=re.MULTILINE)
_ERROR = "http://org.semanticweb.owlapi/error#"
"""Prefix of the names that HermiT puts in place of what it could not read."""
_LENIENT = "--ignoreUnsupportedDatatypes"
_THING, _NOTHING = OWL.Thing.value, OWL.Nothing.value


@dataclass(frozen=True, slots=True)
class Classification:
    """What HermiT infers of an ontology.

    Attributes:
        consistent: whether it has a model; if not, the rest is empty, since everything would follow.
        unsatisfiable: the named classes that can have no instance, sorted.
        subclasses: (class, superclass) that follow without being stated, direct ones only, sorted.
        equivalents: groups of named classes that follow to be the same, sorted, with those that are stated.
        seconds: how long it took.
        note: what was ignored, "" when nothing was.
    """

    consistent: bool
    unsatisfiable: tuple[str, ...] = ()
    subclasses: tuple[tuple[str, str], ...] = ()
    equivalents: tuple[tuple[str, ...], ...] = ()
    seconds: float = 0.0
    note: str = ""


def classify(triples: Sequence[ox.Triple], *, seconds: float = 60.0) -> Classification:
    """Classify an ontology.

    Args:
        triples: the ontology; its imports are not followed.
        seconds: the time that HermiT may take, by the clock.

    Raises:
        NotDecided: it comes to no verdict; the text says why.
    """
    begun = time.monotonic()
    note = ""
    with tempfile.TemporaryDirectory(prefix="kgrag-reasoner-") as folder:
        file = _written(triples, Path(folder) / "ontology.nt")
        done = _run(["-c", file], seconds)
        if "UnsupportedDatatypeException" in done.stderr:
            note = "literals of datatypes that OWL 2 does not have were left out"
            done = _run([_LENIENT, "-c", file], seconds - (time.monotonic() - begun))
    took = time.monotonic() - begun
    if _inconsistent(done):
        return Classification(consistent=False, seconds=took, note=note)
    _refuse_failure(done)
    classification = _read(done.stdout, triples, took, note)
    if _ERROR in done.stdout and not classification.unsatisfiable:
        raise NotDecided("HermiT could read a part of the ontology only: some of its class expressions are no OWL 2")
    return classification


def first_departure(tries: Sequence[Sequence[ox.Triple]], *, wanted: str, seconds: float) -> int:
    """Return the index of the first ontology in which a class is unsatisfiable; their count when there is none.

    Args:
        tries: ontologies, asked one after the other by one process; once one departs, so must all that follow.
        wanted: the class; owl:Thing asks for the consistency of the whole.
        seconds: the time that all may take together.

    Raises:
        NotDecided: HermiT comes to no verdict.
    """
    with tempfile.TemporaryDirectory(prefix="kgrag-reasoner-") as folder:
        files = [_written(triples, Path(folder) / f"{number}.nt") for number, triples in enumerate(tries)]
        done = _run([_LENIENT, "-N", f"--consistency=<{wanted}>", *files], seconds)
    satisfiable = len(re.findall(r" is satisfiable\.$", done.stdout, flags=re.MULTILINE))
    answered = satisfiable + len(re.findall(r" is not satisfiable\.$", done.stdout, flags=re.MULTILINE))
    if not _inconsistent(done):
        _refuse_failure(done)
        if answered < len(files):
            raise NotDecided(f"HermiT answered {answered} of {len(files)} questions")
    return satisfiable


def _written(triples: Sequence[ox.Triple], path: Path) -> str:
    kept = (triple for triple in triples if triple.predicate != OWL.imports)
    ox.serialize([*kept, *_undeclared(triples)], path, format=ox.RdfFormat.N_TRIPLES)
    return path.as_uri()


def _undeclared(triples: Sequence[ox.Triple]) -> list[ox.Triple]:
    """Return declarations of properties that an import would declare: HermiT cannot read a restriction without them."""
    on = OWL.prefix + "onProperty"
    used = {t.subject: t.object for t in triples if t.predicate.value == on and isinstance(t.object, ox.NamedNode)}
    known = {t.subject for t in triples if t.predicate == RDF.type}
    of_data = {used[t.subject] for t in triples if t.subject in used and _is_data(t)}
    missing = sorted({p for p in used.values() if isinstance(p, ox.NamedNode) and p not in known}, key=str)
    return [ox.Triple(p, RDF.type, OWL.DatatypeProperty if p in of_data else OWL.ObjectProperty) for p in missing]


def _is_data(triple: ox.Triple) -> bool:
    """Return whether a statement about a restriction makes its property a datatype property."""
    value = triple.object
    if isinstance(value, ox.Literal):
        return triple.predicate.value == OWL.prefix + "hasValue"
    return isinstance(value, ox.NamedNode) and value.value.startswith((XSD.prefix, RDFS.Literal.value))


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=str(Path(home) / "bin")) if home else None
    if java := found or shutil.which("java"):
        return java
    raise NotDecided(_INSTALL)


def _run(arguments: Sequence[str], seconds: float) -> subprocess.CompletedProcess[str]:
    """Run HermiT and return what it printed; it is killed when its time is up."""
    import owlready2  # 0.2 s for the place of its Java archive, which only a run of HermiT is to pay

    folder = Path(owlready2.__file__).parent / "hermit"
    classpath = os.pathsep.join([str(folder), str(folder / "HermiT.jar")])
    command = [_java(), f"-Xmx{MAX_HEAP_MIB}m", *_JVM, "-cp", classpath, _MAIN, *arguments]
    late = f"HermiT took more than {seconds:g} s; give it more time"
    if seconds <= 0:
        raise NotDecided(late)
    try:
        return subprocess.run(  # noqa: S603 - our own command, and files that we wrote
            command, capture_output=True, encoding="utf-8", errors="replace", timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        raise NotDecided(late) from None
    except OSError as error:
        raise NotDecided(f"java could not be started: {error.strerror or error}. {_INSTALL}") from None


def _inconsistent(done: subprocess.CompletedProcess[str]) -> bool:
    return done.returncode != 0 and "InconsistentOntologyException" in done.stderr


def _refuse_failure(done: subprocess.CompletedProcess[str]) -> None:
    """Raise NotDecided when HermiT ended with an error."""
    if done.returncode == 0:
        return
    if "OutOfMemoryError" in done.stderr:
        raise NotDecided(f"HermiT needs more than {MAX_HEAP_MIB} MiB of memory for this ontology")
    message = re.search(r"(?:Exception|Error)[^:\n]*:\s*([^\n]+(?:\n(?!\s+at )[^\n]+)*)", done.stderr)
    words = " ".join((message[1] if message else done.stderr or "no message").split())
    raise NotDecided(f"HermiT refuses the ontology: {words[:300]}")


def _read(text: str, triples: Sequence[ox.Triple], took: float, note: str) -> Classification:
    rows = [(line[1], line[2][1:-1].split("> <")) for line in _RESULT.finditer(text)]
    nothing = {name for kind, names in rows if kind == "EquivalentClasses" and _NOTHING in names for name in names}
    stated = {(t.subject, t.object) for t in triples if t.predicate.value.endswith("#subClassOf")}
    subclasses = {
        (names[0], names[1])
        for kind, names in rows
        if kind == "SubClassOf"
        and names[1] != _THING
        and not any(name.startswith(_ERROR) for name in names)
        and (ox.NamedNode(names[0]), ox.NamedNode(names[1])) not in stated
    }
    groups = {tuple(sorted(names)) for kind, names in rows if kind == "EquivalentClasses" and _NOTHING not in names}
    return Classification(
        consistent=True,
        unsatisfiable=tuple(sorted(nothing - {_NOTHING})),
        subclasses=tuple(sorted(subclasses)),
        equivalents=tuple(sorted(groups)),
        seconds=took,
        note=note,
    )
