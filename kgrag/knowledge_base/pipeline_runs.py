"""One run over many files, for pipelines: ontologies are audited, data validated, queries checked, in one process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyoxigraph as ox

from kgrag.errors import InputError, InvalidRDF
from kgrag.knowledge_base import audit_runs, validation_runs
from kgrag.store.rdf_files import SUFFIXES
from kgrag.vocab import OWL, RDF, Names

if TYPE_CHECKING:
    from kgrag.audit import Audit, AuditOptions

__all__ = ["QUERY_SUFFIXES", "PipelineFiles", "run_pipeline", "sorted_files"]

QUERY_SUFFIXES = (".rq", ".sparql")
_SCHEME = ox.NamedNode("http://www.w3.org/2004/02/skos/core#ConceptScheme")
_ONTOLOGY_KINDS = frozenset({OWL.Ontology, OWL.Class, OWL.ObjectProperty, OWL.DatatypeProperty, _SCHEME})


@dataclass(frozen=True)
class PipelineFiles:
    """What a pipeline looks at.

    Attributes:
        ontologies: each is audited by itself.
        data: RDF that is no ontology; validated, all together.
        queries: each is checked against the ontologies.
        against: ontologies for the queries besides those.
        shapes: what data and ontologies are validated by; without, nothing is validated.
        broken: RDF that does not parse, each file with the reason; it is a finding.
    """

    ontologies: tuple[Path, ...] = ()
    data: tuple[Path, ...] = ()
    queries: tuple[Path, ...] = ()
    against: tuple[Path, ...] = ()
    shapes: tuple[Path, ...] = ()
    broken: tuple[tuple[Path, str], ...] = ()


def sorted_files(paths: Sequence[Path], *, against: Sequence[Path] = (), shapes: Sequence[Path] = ()) -> PipelineFiles:
    """Return files by what they are: queries by their suffix, ontologies by what they state, and data.

    Args:
        paths: files, and folders, which are searched.
        against: ontologies for the queries besides those among the files.
        shapes: files with SHACL shapes.

    Raises:
        InputError: there is no such file, one is neither RDF nor a query, or there is nothing at all.
    """
    files = [each for path in paths for each in _files_of(path)]
    queries = [file for file in files if file.suffix.lower() in QUERY_SUFFIXES]
    rdf = [file for file in files if file not in queries and file not in shapes]
    ontologies: list[Path] = []
    data: list[Path] = []
    broken: list[tuple[Path, str]] = []
    for file in rdf:
        try:
            (ontologies if _is_ontology(file) else data).append(file)
        except InvalidRDF as error:
            broken.append((file, str(error)))
    if not files:
        raise InputError("there is no RDF and no query in these folders. Name files.")
    return PipelineFiles(
        tuple(ontologies), tuple(data), tuple(queries), tuple(against), tuple(shapes), broken=tuple(broken)
    )


def _files_of(path: Path) -> list[Path]:
    if not path.is_dir():
        if not path.is_file():
            raise InputError(f"{path}: there is no such file.")
        if not _is_known(path):
            raise InputError(f"{path}: this is neither RDF nor a query (*.rq, *.sparql). Leave it out.")
        return [path]
    found = sorted(each for each in path.rglob("*") if each.is_file() and _is_known(each))
    return [each for each in found if not any(part.startswith(".") for part in each.relative_to(path).parts)]


def _is_known(path: Path) -> bool:
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    return suffix in SUFFIXES or suffix in QUERY_SUFFIXES


def _is_ontology(path: Path) -> bool:
    triples = audit_runs.triples_of(path)
    return any(each.predicate == RDF.type and each.object in _ONTOLOGY_KINDS for each in triples)


def run_pipeline(files: PipelineFiles, options: AuditOptions) -> Audit:
    """Audit, validate and check files, and return all findings as one audit.

    Args:
        files: what is looked at.
        options: profile, suppressions, baseline and limit; they hold for every file.

    Raises:
        InputError: there are queries, and no ontology to check them against; or nothing to do.
        InvalidRDF: a file of shapes, or an ontology besides those among the files, does not parse.
    """
    from kgrag.audit import ValidationOptions
    from kgrag.audit.combined_audits import audit_of_broken, combined

    audits = [audit_runs.audit_files([path], options) for path in files.ontologies]
    if files.shapes and (files.data or files.ontologies):
        found = validation_runs.validate(
            None,
            [*files.data, *files.ontologies],
            shapes=list(files.shapes),
            options=ValidationOptions("", (), options.limit),
        )
        audits.append(_without_known(found, options))
    if files.broken:
        audits.append(audit_of_broken(files.broken, known=_baseline(options)))
    if files.queries and (files.against or files.ontologies or not files.broken):
        audits.append(_checked_queries(files, options))
    if not audits:
        raise InputError("these files are data, and there are no shapes to validate them by. Name some: --shapes FILE.")
    count = len({*files.ontologies, *files.data, *files.queries, *(file for file, _ in files.broken)})
    return combined(audits, target=f"{count} file{'s' if count > 1 else ''}")


def _without_known(found: Audit, options: AuditOptions) -> Audit:
    """Return a validation without the findings of a baseline; its count of suppressed ones grows by them."""
    known = _baseline(options)
    left = tuple(each for each in found.findings if each.fingerprint not in known)
    gone = [each for each in found.findings if each.fingerprint in known]
    counts = dict(found.counts)
    for each in gone:
        counts[each.severity] -= 1
    counts["suppressed"] = counts.get("suppressed", 0) + len(gone)
    totals = Counter(found.totals) - Counter(each.check for each in gone)
    levels = Counter(found.levels) - Counter((each.severity, each.check) for each in gone)
    return replace(found, findings=left, counts=counts, totals=totals, levels=levels)


def _baseline(options: AuditOptions) -> frozenset[str]:
    from kgrag.audit.suppressions import read_baseline

    return read_baseline(options.baseline) if options.baseline else frozenset()


def _checked_queries(files: PipelineFiles, options: AuditOptions) -> Audit:
    from kgrag.audit.combined_audits import audit_of_queries
    from kgrag.querying import ontology_check
    from kgrag.store.scratch import OxigraphScratch

    ontologies = [*files.against, *files.ontologies]
    if not ontologies:
        raise InputError("there is no ontology to check the queries against. Name one: --ontology FILE.")
    index = ontology_check.index_of_files(ontologies, names=Names())
    checks = {
        path: ontology_check.check(
            path.read_text(encoding="utf-8", errors="replace"), index, open_scratch=OxigraphScratch
        )
        for path in files.queries
    }
    return audit_of_queries(checks, known=_baseline(options))
