"""Answers a question with one cell of a table: that of the row and the column which the question names.

"How heavy is the Falcon?" takes the row that has *Falcon* and the column *Weight (kg)*; of a sheet about one thing
(``Property | Value``) the row *Weight*. "Which pump weighs 14 kg?" goes from a cell to the name of its row, "Which pump
has the highest flow?" from a column of a table that is whole to the name of one row. Where the cell is empty, the
answer is unknown, and the reason says so. Nothing is read from a table that lacks a name or number of the question, and
nothing where two cells fit equally well and differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import regex

from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.evidence_sentences import EvidenceText
from kgrag.llm.extractive.question_languages import question_language
from kgrag.llm.extractive.question_words import terms
from kgrag.llm.extractive.table_cells import (
    FoundCell,
    anchor,
    cells_by_column,
    cells_by_row,
    is_about,
    name_column,
    noun_asked_for,
    rarity,
    terms_shared_around,
    truth_asked,
)
from kgrag.llm.extractive.table_columns import AMOUNT, Column, WholeTable, figure
from kgrag.llm.extractive.table_comparisons import read_comparison
from kgrag.llm.extractive.table_counts import asks_for_sum, read_count, read_sum, states_sum
from kgrag.llm.extractive.table_days import is_day
from kgrag.llm.extractive.table_lists import asks_for_list, compares_figures, read_list
from kgrag.llm.extractive.table_names import rows_named
from kgrag.llm.extractive.table_notes import for_group, said_in_prose
from kgrag.llm.extractive.table_qualifiers import thing_asked_for
from kgrag.llm.extractive.table_questions import TableQuestion
from kgrag.llm.extractive.table_ranges import question_in_range
from kgrag.llm.extractive.table_rosters import column_lacking, roster_cells
from kgrag.llm.extractive.table_rows import Cell, Table, joined_tables, lacks_header, read_tables, tables_in_order
from kgrag.llm.extractive.table_selections import Selection, selected, subjects
from kgrag.text.hidden_sheets import HIDDEN

__all__ = ["NOT_NAMED", "SHARE_RIGHT", "read_table_answer", "without_rows_of_others"]

NOT_NAMED = "The facts that are nearest do not name"
"""Begins the reason of *unknown* where facts that words led to lack a name of the question."""

SHARE_RIGHT = 0.9
"""Set by hand: in the end all of 61 answers from tables (130 questions) were right, of unseen tables fewer."""
_MIN_COLUMNS = 3
_MAX_NEAREST = 3
_MAX_NAMES = 10
_MAX_TOLD = 5
"""Values that differ which a reason names."""
_OF_A_VALUE = frozenset({"date", "number", "person", "place"})
_ASKS_FOR_ATTRIBUTE = late_regex(
    r"what\s+(?:is|are|was|were)\s+(?:the\s+)?\p{L}+.*\bof\b|what\s+is\s+\S+['’]s\b", flags=regex.IGNORECASE
)
_DIFFERENCE = late_regex(r"\b(?:by how (?:much|many)|um wie\s?viele?|de combien)\b(?! de\b)", flags=regex.IGNORECASE)
"""Asks for a difference, which is neither of two cells."""
_UNIT_ASKED = late_regex(
    r"\b(?:in|en) (?P<unit>pounds|lbs?|kilos?|kilograms?|kg|grams?|miles|kilometres|km|feet|inches|metres|"
    r"(?:us |american )?dollars?|euros?|livres|pfund|litres|gallons|celsius|fahrenheit)\b",
    flags=regex.IGNORECASE,
)
_UNITS = (
    "pounds pound lb lbs",
    "kilos kilo kilograms kilogram kg",
    "grams gram g",
    "miles mile mi",
    "kilometres km",
    "feet ft foot",
    "inches inch in",
    "metres m",
    "dollars dollar $ usd",
    "euros euro € eur",
    "litres litre l",
    "gallons gallon gal",
    "celsius °c c",
    "fahrenheit °f f",
)


def read_table_answer(question: str, texts: Sequence[EvidenceText], *, in_order: bool = False) -> dict[str, Any]:
    """Return the reply to a question that a table answers, or that a cell is empty; {} for any other.

    Args:
        question: as it was asked.
        texts: the pieces of evidence.
        in_order: whether they are all the pieces of documents, in order.

    Returns:
        With ``whole_tables``, the numbers of pieces of tables that must be read whole, where they are not and the
        question is for a count, a sum, an extreme, or for what no row at hand has.
    """
    asked = TableQuestion.read(question)
    tables = [t for text in texts if text.kind != "hyperedge" for t in read_tables(text, asked.language)]
    headless = [text for text in texts if text.kind != "hyperedge" and lacks_header(text)]
    if not (tables or headless):
        return {}
    wholes = tables_in_order(texts, asked.language) if in_order else joined_tables(texts, asked.language)
    read = {(part.number, part.rows[0].line) for parts in wholes for part in parts}
    cut = [] if in_order else [one for one in tables if (one.number, one.rows[0].line) not in read]
    parts = sorted((*(part for parts in wholes for part in parts), *cut), key=lambda one: one.number)
    reply = _reply_of(asked, parts, [WholeTable.of(parts) for parts in wholes]) or _in_range(asked, parts)
    if reply and not reply["unknown"] and said_in_prose(asked, reply, texts):
        return {}
    if group := reply.pop("group", None):
        reply |= for_group(asked, group, reply["sentences"], texts)
    if in_order or (reply and not reply["unknown"] and not _compares_rows(asked)):
        return reply
    numbers = (*(table.number for table in cut if _may_answer(asked, table)), *(text.number for text in headless))
    wanted = list(dict.fromkeys(numbers))
    return {**(reply or {"unknown": True, "sentences": []}), "whole_tables": wanted} if wanted else reply


def _in_range(asked: TableQuestion, tables: Sequence[Table]) -> dict[str, Any]:
    """Return the cell of the row whose range has a figure of the question."""
    if asked.asked.kind in ("boolean", "choice") or _compares_rows(asked):
        return {}
    read = [(one, table) for table in tables if (one := question_in_range(asked, table)) is not None]
    return _cell_reply(read[0][0], [read[0][1]]) if len(read) == 1 else {}


def _reply_of(asked: TableQuestion, tables: Sequence[Table], wholes: Sequence[WholeTable]) -> dict[str, Any]:
    if asked.asked.kind == "choice" or (asked.asked.kind == "boolean" and asked.words.comparative.search(asked.text)):
        return read_comparison(asked, tables)
    if _DIFFERENCE.search(asked.text):
        return {}
    if asked.words.how_many.search(asked.text):
        found = _cell_reply(asked, tables, counted=True)
        return found or (read_sum(asked, wholes) if asks_for_sum(asked) else {}) or read_count(asked, wholes)
    found = read_sum(asked, wholes) if asks_for_sum(asked) else {}
    if not found and asked.is_extreme:
        return _extreme(asked, wholes)
    if not found and asks_for_list(asked):
        found = read_list(asked, wholes)
    of_roster = {} if found else _roster_reply(asked, tables)
    if of_roster and not of_roster["unknown"]:
        return of_roster
    is_of_others = asked.words.negation.search(asked.text) or compares_figures(asked)
    return found or ({} if is_of_others else _cell_reply(asked, tables)) or of_roster


def _roster_reply(asked: TableQuestion, tables: Sequence[Table]) -> dict[str, Any]:
    """Return whether the one cell whose row and column a question names has what it says; *unknown* if that is open."""
    cells = roster_cells(asked, tables)
    if len(cells) != 1:
        return {}
    found, said = cells[0].found, cells[0].said
    if said is None or asked.words.negation.search(asked.text):
        reason = f"The table has {found.cell.label}: {found.cell.text or 'nothing'} for {found.name}, no yes or no."
        nearest = [{"evidence": found.table.number, "quote": found.row.line}]
        return {"unknown": True, "sentences": [], "reason": reason, "nearest": nearest}
    value = {"kind": "boolean", "text": _yes_or_no(asked, is_true=said), "value": str(said).lower(), "sentence": 0}
    reply = _reply(asked, found)
    return reply if reply["unknown"] else {**reply, "values": [value]}


def _compares_rows(asked: TableQuestion) -> bool:
    """Return whether a question is about all rows of a table, and not about one."""
    is_of_all = asked.is_extreme or asks_for_sum(asked) or asks_for_list(asked)
    return is_of_all or asked.words.how_many.search(asked.text) is not None


def _may_answer(asked: TableQuestion, table: Table) -> bool:
    """Return whether a part of a table has a word of a question in a label, title, heading or cell."""
    labels = frozenset(one for label in table.labels for one in Cell(label, "", table.language).label_terms)
    cells = frozenset[str]().union(*(row.terms for row in table.rows))
    near = [one for one in asked.terms if one in cells or asked.has(one, labels | table.terms_around)]
    return bool(near) or any(asked.means(one) for one in labels)


def without_rows_of_others(asked: str, found: Mapping[str, Any], texts: Sequence[EvidenceText]) -> dict[str, Any]:
    """Return *unknown* where an answer is a row of a table that has not what is asked for, else the answer.

    Where it is unknown because a name was not found, and a row has that name, the reason is what the row lacks.
    """
    quotes = [quote for row in found["sentences"] for quote in row["citations"]]
    if not quotes:
        return dict(found) | _why_row_lacks(asked, found, texts)
    why = _why_no_cell(asked, [quote["quote"].strip() for quote in quotes], texts)
    if not why:
        return dict(found)
    return {"unknown": True, "sentences": [], "reason": why, "nearest": quotes[:_MAX_NEAREST]}


def _why_row_lacks(question: str, found: Mapping[str, Any], texts: Sequence[EvidenceText]) -> dict[str, Any]:
    """Return the reason that a row with a name of the question gives for *unknown*, with the row; {} for none."""
    asked = TableQuestion.read(question)
    for table in (table for text in texts for table in read_tables(text, asked.language)):
        row, cell = next(rows_named(asked, table), (None, None))
        missing = column_lacking(asked, table)
        is_wrong = str(found.get("reason", "")).startswith(NOT_NAMED) and cell is not None and cell.terms <= asked.terms
        if row is None or cell is None or not (missing or is_wrong):
            continue
        lacks = f"no column “{missing}”" if missing else "no column that is what the question asks for"
        nearest = [{"evidence": table.number, "quote": row.line}]
        return {"reason": f"The table has a row for {cell.text}, and {lacks}.", "nearest": nearest}
    return {}


def _why_no_cell(question: str, quotes: Sequence[str], texts: Sequence[EvidenceText]) -> str:
    """Return why a row that words led to does not answer a question; "" where it may, or none of the quotes is a row.

    Rows are alike but for their names: one that the question does not name has the value of something else. Rows are
    neither counted nor compared where the table is not whole.
    """
    asked = TableQuestion.read(question)
    behind = [replace(text, text=text.following, source="", before=text.text, following="") for text in texts]
    for table in (table for text in (*texts, *behind) for table in read_tables(text, asked.language)):
        quoted = [row for row in table.rows if any(row.line in quote for quote in quotes)]
        if not quoted or len(quoted[0].cells) < _MIN_COLUMNS:
            continue
        if asked.words.how_many.search(question):
            return "The rows of a table were not counted."
        if asked.is_extreme:
            return "The rows of a table, which may have others, were not compared."
        row = next((row for row in quoted if row.line in quotes), None)
        if row is None:
            continue
        named = anchor(asked, row, rarity(table))[1]
        if not named or not is_about(asked, table, row):
            return "No row of the table has what the question names."
        labels = frozenset(one for label in table.labels for one in Cell(label, "", table.language).label_terms)
        is_of_none = not all(asked.has(one, labels | table.terms_around) for one in noun_asked_for(asked))
        if is_of_none or asked.asked.kind in _OF_A_VALUE or asked.synonyms or _ASKS_FOR_ATTRIBUTE.match(asked.text):
            return "No column of the table is what the question asks for."
    return ""


def _cell_reply(asked: TableQuestion, tables: Sequence[Table], *, counted: bool = False) -> dict[str, Any]:
    found = sorted(
        (one for table in tables for one in (*cells_by_row(asked, table), *cells_by_column(asked, table))),
        key=lambda one: -one.score,
    )
    if counted:
        found = [one for one in found if _is_counted(asked, one)]
    found = [one for one in found if HIDDEN not in one.table.around] or found
    if asks_for_sum(asked):  # a column of sums; one row is none
        found = [one for one in found if not one.is_name and states_sum(asked, one.cell.label)]
    if not found:
        return {}
    best = [one for one in found if one.score >= found[0].score - 1e-6]
    return _of_best(asked, best, counted=counted)


def _of_best(asked: TableQuestion, fitting: Sequence[FoundCell], *, counted: bool) -> dict[str, Any]:
    """Return the reply of the cells that fit a question best; *unknown* where they differ or are of another meaning."""
    best = [one for one in fitting if not one.foreign]
    if not best:
        return _of_other_meaning(fitting[0])
    values = {one.cell.text.casefold(): one for one in best}
    if len(values) == 1:
        return _reply(asked, best[0]) | ({"group": best[0].group} if best[0].group and best[0].cell.text else {})
    if counted:  # the figures of several rows are not what one row has
        return {}
    if all(one.is_name for one in best) and len({one.cell.label for one in best}) == 1:
        # rows that are not at hand may have it too
        if not all(one.table.begins and one.table.ends for one in best):
            return {}
        return _several(asked, list(values.values()))
    nearest = [{"evidence": one.table.number, "quote": one.row.line} for one in values.values()][:_MAX_NEAREST]
    told = [_told(one, best) for one in values.values()]
    told = [*told[:_MAX_TOLD], "…"] if len(told) > _MAX_TOLD else told
    reason = f"Rows of tables state different values: {', '.join(told)}."
    return {"unknown": True, "sentences": [], "reason": reason, "nearest": nearest}


def _told(one: FoundCell, best: Sequence[FoundCell]) -> str:
    """Return the text of a cell, behind what tells it from others that answer: its label, or the name of its row."""
    text = one.cell.text or "none"
    if len({other.cell.label for other in best}) > 1:
        return f"{one.cell.label}: {text}"
    rows = {other.row.line: next((cell.text for cell in other.row.cells if cell.text), "") for other in best}
    return f"{rows[one.row.line]}: {text}" if len(set(rows.values())) > 1 else text


def _of_other_meaning(found: FoundCell) -> dict[str, Any]:
    """Return *unknown*, with the row whose column is near what is asked for and not the same."""
    words = " ".join(dict.fromkeys(found.foreign))
    reason = f"The table has {found.cell.label or 'a value'} for {found.name}, and nothing says that it is “{words}”."
    nearest = [{"evidence": found.table.number, "quote": found.row.line}]
    return {"unknown": True, "sentences": [], "reason": reason, "nearest": nearest}


def _several(asked: TableQuestion, found: Sequence[FoundCell]) -> dict[str, Any]:
    """Return the names of several rows that have what a question says, each with its row."""
    replies = [_reply(asked, one) for one in found[:_MAX_NAMES] if one.cell.text]
    if not replies or any(reply["unknown"] for reply in replies):
        return {}
    return {
        "unknown": False,
        "sentences": [sentence for reply in replies for sentence in reply["sentences"]],
        "values": [reply["values"][0] | {"sentence": at} for at, reply in enumerate(replies)],
        "confidence": SHARE_RIGHT,
    }


def _is_counted(asked: TableQuestion, found: FoundCell) -> bool:
    """Return whether a cell is a figure whose label or unit is what a question counts: "How many seats"."""
    cell = found.cell
    counted = terms(asked.words.how_many.split(asked.text, maxsplit=1)[-1], asked.language)[:2]
    own = (*cell.label_terms, *terms(cell.unit, asked.language))
    is_label = any(asked.has(one, counted) for one in own) or any(asked.means(one) for one in cell.label_terms)
    return is_label and not found.is_name and figure(cell.text, ".") is not None and not is_day(cell.text)


def _extreme(asked: TableQuestion, tables: Sequence[WholeTable]) -> dict[str, Any]:
    """Return the row with the largest or smallest figure of the column asked about; of whole tables only."""
    found = [one for table in tables for one in _compared(asked, table)]
    best = max((one.rank for one in found), default=(False, 0.0))
    fitting = [one for one in found if one.rank == best]
    if not fitting or len({id(one.table) for one in fitting}) > 1:
        return {}
    if reason := next((one.rows.reason for one in fitting if one.rows.reason), ""):
        return {"unknown": True, "sentences": [], "reason": reason, "nearest": []}
    replies = [_extreme_of(asked, one) for one in fitting]
    if len({reply["values"][0]["text"] if reply.get("values") else "" for reply in replies}) == 1:
        return replies[0]
    columns = " and ".join(one.column.label for one in fitting)
    reason = f"The rows differ by which column is meant: {columns}."
    return {"unknown": True, "sentences": [], "reason": reason, "nearest": []}


def _extreme_of(asked: TableQuestion, found: _Compared) -> dict[str, Any]:
    """Return the row that a question for an extreme of a column asks for; {} where two have the same figure."""
    table, column, at = found.table, found.column, asked.place
    figures = [(value, row) for row in found.rows.rows if column.figures and (value := column.figures[row]) is not None]
    figures.sort(key=lambda one: one[0], reverse=asked.words.most.search(asked.text) is not None)
    values = [value for value, _ in figures[: at + 1]]
    if len(figures) < at or len(set(values)) < len(values):
        return {}
    part, row = table.rows[figures[at - 1][1]]
    cells = {cell.label: cell for cell in row.cells}
    if (name := cells.get(found.names)) is None or not name.text:
        return {}
    thing = [one for one in terms(thing_asked_for(asked), asked.language) if one not in asked.of_extremes]
    asks_for_figure = thing and all(asked.has(one, column.head.label_terms) for one in thing)
    answer = cells[column.label] if asks_for_figure else name  # "What is the highest amount"
    return _reply(asked, FoundCell(part, row, cells[column.label], 0.0, name=name.text), shown=answer)


@dataclass(frozen=True)
class _Compared:
    """A column whose figures are compared, in which rows; the label of their names; how well the table fits."""

    table: WholeTable
    column: Column
    rows: Selection
    names: str
    rank: tuple[bool, float]


def _names_of_rows(asked: TableQuestion, table: WholeTable) -> str:
    """Return the label of the column that names the rows: the one asked for, else one with another text in each row."""
    label = table.first.labels[name_column(asked, table.first)]
    nouns = subjects(asked)
    labels = [(each.label, each.head.label_terms) for each in table.columns]
    if asked_for := next((one for one, own in labels if own and all(asked.is_same(each, nouns) for each in own)), ""):
        return asked_for
    naming = [column for column in table.columns if column.names_rows]
    said = [column for column in naming if any(asked.is_same(one, column.head.label_terms) for one in asked.terms)]
    if any(column.label == label for column in naming) and not said:
        return label
    return next((column.label for column in (*said, *naming)), label)


def _compared(asked: TableQuestion, table: WholeTable) -> list[_Compared]:
    """Return the columns of a table that a question for an extreme asks about; [] where a word is not explained."""
    names = _names_of_rows(asked, table)
    columns = [each for each in table.columns if each.label != names and each.is_of_figures]
    fits = [(asked.label_fit(column.head.label_terms, frozenset()), column) for column in columns]
    best = max((fit for fit, _ in fits), default=0.0)
    if not best or len(table.rows) < 2:
        return []
    fit = best + 0.1 * terms_shared_around(asked, table.first)
    is_seen = HIDDEN not in table.first.around
    return [
        _Compared(table, column, rows, names, (is_seen, fit))
        for one, column in fits
        if one == best and (rows := selected(asked, table, column)) is not None
    ]


def _reply(asked: TableQuestion, found: FoundCell, shown: Cell | None = None) -> dict[str, Any]:
    """Return a cell (or ``shown``, the name of its row) as the reply of a model, with the row and the header."""
    cell, row, table = found.cell, found.row, found.table
    if not cell.text:
        reason = f"The table has no {cell.label} for {found.name or row.cells[0].text}."
        nearest = [{"evidence": table.number, "quote": row.line}]
        return {"unknown": True, "sentences": [], "reason": reason, "nearest": nearest}
    if (unit := _UNIT_ASKED.search(asked.text)) and not _has_unit(unit["unit"], cell):
        reason = f"The table states {cell.label or cell.text} in another unit than {unit['unit']}."
        return {
            "unknown": True,
            "sentences": [],
            "reason": reason,
            "nearest": [{"evidence": table.number, "quote": row.line}],
        }
    quotes = [table.header, row.line] if table.header else [row.line]
    text = " – ".join(filter(None, (found.name, f"{cell.label}: {cell.text}"))) + "."
    if not table.header and cell.label not in row.line:  # the header is in another piece
        text = row.line
    citations = [{"evidence": table.number, "quote": quote} for quote in quotes]
    return {
        "unknown": False,
        "sentences": [{"text": text, "citations": citations, "computed": True}],
        "values": [_value(asked, shown or cell)],
        "confidence": SHARE_RIGHT,
    }


def _has_unit(unit: str, cell: Cell) -> bool:
    forms = next((set(forms.split()) for forms in _UNITS if unit.casefold() in forms.split()), {unit.casefold()})
    said = set(regex.findall(r"[\p{L}°]+|[€$£]", f"{cell.text} {cell.label}".casefold()))
    return bool(forms & said) or not (cell.unit or regex.search(r"\p{N}\s*\p{L}", cell.text))


def _value(asked: TableQuestion, cell: Cell) -> dict[str, Any]:
    said = truth_asked(asked, cell.text) if asked.asked.kind == "boolean" else None
    if said is not None:
        return {
            "kind": "boolean",
            "text": _yes_or_no(asked, is_true=said),
            "value": "true" if said else "false",
            "sentence": 0,
        }
    is_figure = regex.fullmatch(rf"[€$£]?\s*{AMOUNT.pattern}(?:\s*\S{{1,12}}){{0,2}}", cell.text) is not None
    unit = cell.unit if is_figure and cell.unit and regex.fullmatch(AMOUNT.pattern, cell.text) else ""
    return {"kind": "number" if unit else "text", "text": cell.text, "value": "", "unit": unit, "sentence": 0}


def _yes_or_no(asked: TableQuestion, *, is_true: bool) -> str:
    rules = question_language(asked.language)
    return (rules.yes if is_true else rules.no) if rules else ("yes" if is_true else "no")
