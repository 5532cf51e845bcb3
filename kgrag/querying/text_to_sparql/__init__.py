"""Questions in words to checked SPARQL: schema slices, competency questions, the query a model writes, its repair.

OBQC, sections 4 and 5. ``schema_slice`` and ``nearest`` gather what the model is shown, ``query_in`` finds the query in
its reply, ``Repair`` brings it to a version that may be run, and a ``Runner`` runs it.
"""

from __future__ import annotations

from kgrag.querying.text_to_sparql.asker import Asker, FirstQuery, marked, story_of
from kgrag.querying.text_to_sparql.competency_questions import Competency, Match, draft, matching, nearest, read_pairs
from kgrag.querying.text_to_sparql.name_words import NameWords, name_words
from kgrag.querying.text_to_sparql.named_entities import NamedEntity, mentions
from kgrag.querying.text_to_sparql.repair import CYCLES, Issue, Outcome, Repair, Version, query_in
from kgrag.querying.text_to_sparql.row_evidence import Execution, Runner
from kgrag.querying.text_to_sparql.schema_slices import Slice, schema_slice

__all__ = [
    "CYCLES",
    "Asker",
    "Competency",
    "Execution",
    "FirstQuery",
    "Issue",
    "Match",
    "NameWords",
    "NamedEntity",
    "Outcome",
    "Repair",
    "Runner",
    "Slice",
    "Version",
    "draft",
    "marked",
    "matching",
    "mentions",
    "name_words",
    "nearest",
    "query_in",
    "read_pairs",
    "schema_slice",
    "story_of",
]
