"""Questions in words to checked SPARQL: schema slices, competency questions, the query a model writes, its repair.

OBQC, sections 4 and 5. ``schema_slice`` and ``nearest`` gather what the model is shown, ``query_in`` finds the query in
its reply, ``Repair`` brings it to a version that may be run, and ``Runner`` is who runs it.
"""

from __future__ import annotations

from kgrag.stages.text_to_sparql.asker import Asker, Reading, marked, story_of
from kgrag.stages.text_to_sparql.competency import Competency, draft, nearest, read_pairs
from kgrag.stages.text_to_sparql.entities import Mention, mentions
from kgrag.stages.text_to_sparql.execution import Execution, Runner
from kgrag.stages.text_to_sparql.matching import Match, matching
from kgrag.stages.text_to_sparql.repairing import CYCLES, Issue, Outcome, Repair, Version
from kgrag.stages.text_to_sparql.replies import query_in
from kgrag.stages.text_to_sparql.schema import Slice, schema_slice

__all__ = [
    "CYCLES",
    "Asker",
    "Competency",
    "Execution",
    "Issue",
    "Match",
    "Mention",
    "Outcome",
    "Reading",
    "Repair",
    "Runner",
    "Slice",
    "Version",
    "draft",
    "marked",
    "matching",
    "mentions",
    "nearest",
    "query_in",
    "read_pairs",
    "schema_slice",
    "story_of",
]
