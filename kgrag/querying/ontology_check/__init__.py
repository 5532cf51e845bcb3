"""Ontology-based query check (OBQC): finds where a SPARQL query departs from an ontology, and mends what is certain.

OBQC section 3. The rules are stored queries, ``queries/obqc/*.rq``, run on three small graphs per query.

======================  ================================================================================================
module                  contents
======================  ================================================================================================
``ontology_index``      ``OntologyIndex``: what a check needs of an ontology; ``class_expressions`` reads those of OWL
``ontology_loading``    indexes from files and from graphs of a store, cached by content
``query_graph``         the query's patterns as RDF, and its parts that share no variable
``ontology_graph``      what the ontology states of the query's terms, and which classes are compatible
``data_graph``          what the data have of them
``fan_out``             which aggregates the data show to count values several times
``check_rules``         reads rules and runs them
``examination``         one check
``check_findings``      ``Finding`` and ``Check``, and how terms are written for a person
``hints``               what to write instead
``data_hints``          what the data have instead
``repairs``             deterministic repair
======================  ================================================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kgrag.ports import Scratch, TripleStore
from kgrag.querying.ontology_check.check_findings import Check, Finding, as_text
from kgrag.querying.ontology_check.data_graph import DataView
from kgrag.querying.ontology_check.examination import Options, examine
from kgrag.querying.ontology_check.hints import advise
from kgrag.querying.ontology_check.ontology_index import OntologyIndex, build_index
from kgrag.querying.ontology_check.ontology_loading import index_of_files, index_of_graphs, notes_on, ontology_graphs
from kgrag.querying.ontology_check.repairs import mend, mended
from kgrag.sparql.syntax import Query

__all__ = [
    "Check",
    "DataView",
    "Finding",
    "OntologyIndex",
    "Options",
    "as_text",
    "build_index",
    "check",
    "index_of_files",
    "index_of_graphs",
    "mend",
    "mended",
    "ontology_graphs",
]


def check(
    query: Query | str,
    index: OntologyIndex,
    *,
    open_scratch: Callable[[], Scratch],
    data: TripleStore | DataView | None = None,
    options: Options | None = None,
) -> Check:
    """Check a query against an ontology, and against data where there are some.

    Args:
        query: the text, or what the reader returned.
        index: the ontology.
        open_scratch: returns a small store in memory, e.g. ``kgrag.store.scratch.OxigraphScratch``.
        data: a store with data; a ``DataView`` keeps its answers for the next check.
        options: profile, own rules, how bad a selected identifier is, namespaces to let pass.

    Returns:
        The findings, worst first; a text that is no SPARQL is a finding, not an error.

    Raises:
        InputError: a user's own rules cannot be read.
        InvalidSPARQL: a user's own rule does not parse.
    """
    view = data if isinstance(data, DataView) or data is None else DataView(data)
    scratch, chosen = open_scratch(), options or Options()

    def plain(asked: Query | str) -> Check:
        return examine(asked, index, scratch=scratch, view=view, options=chosen)

    profile = None if view is None else view.profile
    return replace(advise(plain(query), index, recheck=plain, profile=profile), notes=notes_on(index))
