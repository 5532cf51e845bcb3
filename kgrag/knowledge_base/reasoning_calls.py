"""The calls of ``KnowledgeBase`` that audit, validate, reason and explain."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox

from kgrag.knowledge_base import audit_runs
from kgrag.knowledge_base.wiring import Wiring

if TYPE_CHECKING:
    from kgrag.audit import Audit
    from kgrag.knowledge_base.reasoning_runs import Materialised
    from kgrag.reasoning.grounds import Grounds
    from kgrag.reasoning.proofs import Proof

__all__ = ["ReasoningCalls"]


class ReasoningCalls(Wiring):
    """What a knowledge base does with rules, shapes and checks."""

    def audit(self, target: str | Path | None = None, **options: Any) -> Audit:
        """Audit a file, a graph by its IRI, or all ontology graphs; ``options`` are the fields of ``AuditOptions``.

        Raises:
            InputError: there is no such file or graph, or no ontology at all.
        """
        return audit_runs.audit(self.store, target, options)

    def validate(  # noqa: PLR0913 - each says something else about data or shapes
        self,
        *data: str | Path,
        shapes: Sequence[str | Path] = (),
        graphs: Sequence[str] = (),
        shape: str = "",
        focus: Sequence[str] = (),
        inference: str = "",
        limit: int | None = None,
        catalogues: Sequence[str | Path] = (),
        conformance_disallows: Sequence[str] = (),
    ) -> Audit:
        """Validate files and graphs against SHACL shapes; no check of ontologies is run, and nothing is written.

        Args:
            data: RDF files.
            shapes: files, or IRIs of graphs; none = those that the data name by sh:shapesGraph.
            graphs: IRIs of graphs; without any, and without files, all data and ontologies.
            shape: the IRI of the only shape to run; "" = all.
            focus: the IRIs of the only nodes to report; with ``shape``, whatever its targets.
            inference: "rdfs" or "owl-rl": validate what follows from the data by these rules, too; "" = nothing.
            limit: how many results per shape are listed; counts stay exact; None = all.
            catalogues: XML catalogues of what shapes import, besides a catalog-v001.xml next to a file of shapes.
            conformance_disallows: severities that break conformance, as ``Violation``, ``Warning`` or an IRI; () = all
                but sh:Debug and sh:Trace.

        Returns:
            The results. ``conforms`` says that there is none of such a severity, and that each shape has a verdict;
            ``not_decided`` names the shapes that could not be read or run, of which nothing is known.

        Raises:
            InputError: there is no such graph, shape or rules, nothing to validate, or no shapes.
            InvalidRDF: a file does not parse.
        """
        from kgrag.audit import ValidationOptions
        from kgrag.knowledge_base import validation_runs

        paths = tuple(Path(each) for each in catalogues)
        disallows = tuple(conformance_disallows)
        options = ValidationOptions(shape, tuple(focus), limit, inference, paths, disallows)
        files = [Path(each) for each in data]
        return validation_runs.validate(self.store, files, graphs=graphs, shapes=shapes, options=options)

    def reason(
        self,
        *graphs: str,
        profile: str = "rdfs",
        rules: Sequence[str | Path] = (),
        seconds: float | None = None,
    ) -> Materialised:
        """Write what follows from graphs (all ontologies and data, when none is named) to a graph of its own.

        Args:
            graphs: IRIs of named graphs.
            profile: "rdfs" or "owl-rl"; the second also finds contradictions.
            rules: files of SHACL shapes with rules (``sh:rule``), in place of a profile.
            seconds: the time that the rules may take, in a process of their own; None = no limit, and no such process.

        Raises:
            InputError: there is no such graph or profile, or nothing to reason over.
            InvalidRDF: a file of rules cannot be read.
            kgrag.errors.NotDecided: the time was over, or the rules do not end; nothing was written.
        """
        from kgrag.knowledge_base import reasoning_runs

        files = [Path(each) for each in rules]
        return reasoning_runs.infer(self.store, graphs, profile=profile, rules=files, seconds=seconds)

    def why(
        self,
        triple: ox.Triple | tuple[str, str, str],
        *targets: str | Path,
        profile: str | None = None,
        seconds: float | None = 60.0,
    ) -> Proof:
        """Return why a triple follows: a smallest set of statements, and each step with its rule and its premises.

        Args:
            triple: what follows; as three texts, each a term in Turtle, with the prefixes that queries know.
            targets: IRIs of graphs, or paths of files; none = all ontologies and data.
            profile: "rdfs" or "owl-rl"; None = the first by which it follows.
            seconds: the time that each profile may take, by the clock; None = no limit.

        Raises:
            InputError: it neither is stated nor follows, or there is no such graph.
            kgrag.errors.NotDecided: the time was over.
        """
        from kgrag.knowledge_base import explanation_runs

        given = explanation_runs.premises(self.store, targets)
        asked = triple if isinstance(triple, ox.Triple) else explanation_runs.read_triple(triple, given.prefixes)
        return explanation_runs.why(given, asked, profile=profile, seconds=seconds)

    def why_found(self, fingerprint: str, *targets: str | Path, **options: Any) -> Grounds:
        """Return what a finding of an audit rests on: a smallest part of the target in which it is still found.

        Args:
            fingerprint: of the finding, or the beginning of it.
            targets: what was audited: IRIs of graphs, or paths of files; none = all ontologies and data.
            options: the fields of ``AuditOptions``, as the audit had them.

        Raises:
            InputError: there is no such finding, or it depends on something besides the target.
            kgrag.errors.NotDecided: the time was over.
        """
        from kgrag.knowledge_base import explanation_runs

        given = explanation_runs.premises(self.store, targets)
        return explanation_runs.why_found(given, fingerprint, audit_runs.read_options(options))

    def why_refused(self, sparql: str, *targets: str | Path, seconds: float = 60.0) -> list[Grounds]:
        """Return, for each finding about a query, the statements of the ontology that it rests on (OBQC, section 3.1).

        Args:
            sparql: the query.
            targets: the ontology: IRIs of graphs, or paths of files; none = all ontologies and data.
            seconds: the time that each finding may take, by the clock.

        Raises:
            kgrag.errors.NotDecided: the time was over.
        """
        from kgrag.knowledge_base import explanation_runs

        return explanation_runs.why_refused(explanation_runs.premises(self.store, targets), sparql, seconds=seconds)
