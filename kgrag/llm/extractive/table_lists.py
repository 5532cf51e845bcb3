"""Lists all rows of a whole table that a question means: "Which suppliers have no contract?", "Who is off in week 48?".

Rows are selected as they are for a count (``table_counts``), so that "Which …?" names what "How many …?" counts. Each
word of the question is a condition or explained, or nothing is listed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from kgrag.llm.extractive.table_columns import WholeTable
from kgrag.llm.extractive.table_counts import Result, reply_of_best, things_meant
from kgrag.llm.extractive.table_questions import TableQuestion

__all__ = ["asks_for_list", "compares_figures", "read_list"]

_MAX_NAMED = 20


def asks_for_list(asked: TableQuestion) -> bool:
    """Return whether a question may ask for all things of which something holds: "Which equipment is in L-3?"."""
    if asked.asked.kind in ("choice", "boolean") or asked.words.how_many.search(asked.text):
        return False
    return asked.words.which.search(asked.text) is not None or asked.words.who.match(asked.text) is not None


def compares_figures(asked: TableQuestion) -> bool:
    """Return whether a question compares with a figure: "more than 3 %"."""
    return any(
        found.end() < len(asked.text) and any(one.isdigit() for one in asked.text[found.end() : found.end() + 8])
        for words in asked.words.comparisons.values()
        for found in words.finditer(asked.text)
    )


def read_list(asked: TableQuestion, tables: Sequence[WholeTable]) -> dict[str, Any]:
    """Return the reply that names all rows which a question means; {} where no table has all that it says.

    One row is none of a list where the question is not for several, or compares with a figure: a cell answers it.
    """
    found = [one for table in tables if (one := _listed(asked, table)) is not None]
    reply = reply_of_best(found, _values)
    if reply and not reply["unknown"] and not reply["values"]:  # no row has it
        reason = f"No row of the table has {reply['sentences'][0]['text'].rstrip('.')}."
        nearest = reply["sentences"][0]["citations"][:1]
        return {"unknown": True, "sentences": [], "reason": reason, "nearest": nearest}
    is_of_several = (
        asked.words.plural.search(asked.text) or asked.words.who.match(asked.text) or compares_figures(asked)
    )
    is_of_several = is_of_several or asked.words.negation.search(asked.text)
    return reply if is_of_several or len(reply.get("values", ())) > 1 else {}


def _listed(asked: TableQuestion, table: WholeTable) -> Result | None:
    found = things_meant(asked, table)
    if found is None or not (found.rows.conditions or (_names_what_is_listed(asked) and found.of_rows)):
        return None
    conditions = "; ".join(found.rows.conditions)
    if not found.names:
        return replace(found, text=f"{conditions}.")
    names, more = found.names[:_MAX_NAMED], len(found.names) - _MAX_NAMED
    shown = ", ".join(names) + (f" {asked.words.and_more.format(more)}" if more > 0 else "")
    count = f"{found.value} / {len(table.rows)}" if found.of_rows else found.value
    return replace(found, text=f"{' – '.join(filter(None, (count, conditions, shown)))}.", names=names)


def _names_what_is_listed(asked: TableQuestion) -> bool:
    return asked.words.listing.search(asked.text) is not None


def _values(found: Result) -> list[dict[str, Any]]:
    return [
        {"kind": "text", "text": name, "value": "", "unit": "", "sentence": 0, "computed": True} for name in found.names
    ]
