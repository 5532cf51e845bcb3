"""Answers a question with one cell of a table: that of the row and the column which the question names.

"How heavy is the Falcon?" takes the row that has *Falcon* and the column *Weight (kg)*; of a sheet about one thing
(``Property | Value``) the row *Weight*. "Which pump weighs 14 kg?" goes from a cell to the name of its row, "Which pump
has the highest flow?" from a column of a table that is whole to the name of one row. Where the cell is empty, the
answer is unknown, and the reason says so. Nothing is read from a table that lacks a name or number of the question, and
nothing where two cells fit equally well and differ.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import regex

from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.evidence_sentences import EvidenceText
from kgrag.llm.extractive.question_words import term, terms
from kgrag.llm.extractive.table_questions import LEAST, MOST, WHICH, TableQuestion, alike
from kgrag.llm.extractive.table_rows import Cell, Row, Table, joined_tables, read_tables

__all__ = ["SHARE_RIGHT", "read_table_answer", "without_rows_of_others"]

SHARE_RIGHT = 0.9
"""Set by hand: in the end all of 61 answers from tables (130 questions) were right, of unseen tables fewer."""
_MAX_LEFT = 1
"""Terms of a question that neither the row, its labels nor what is around the table may lack; no name is among them."""
_MIN_COVERED = 0.55
_MAX_ROWS_NAMED = 4
_MAX_NAME_COLUMN = 3
_MIN_COLUMNS = 3
_MAX_NEAREST = 3
_MAX_NAMES = 10
_WEIGHT_OF_SHARE = 2.0
_OF_A_VALUE = frozenset({"date", "number", "person", "place"})
_NAMING = frozenset(map(term, ("name", "product", "item", "title", "model", "description", "designation", "type")))
_HOW_MANY = late_regex(r"\bhow many\b", flags=regex.IGNORECASE)
_WHO = late_regex(r"(?:who|whose)\b|what (?:has|have)\b", flags=regex.IGNORECASE)
_ASKS_FOR_ATTRIBUTE = late_regex(
    r"what\s+(?:is|are|was|were)\s+(?:the\s+)?\p{L}+.*\bof\b|what\s+is\s+\S+['’]s\b", flags=regex.IGNORECASE
)
_NOT = late_regex(r"\b(?:not|no|never|without|except|other than|n['’]t)\b|n['’]t\b", flags=regex.IGNORECASE)
_AMOUNT = late_regex(r"[-+−]?\p{N}+(?:[., ’]\p{N}{3})*(?:[.,]\p{N}+)?")
_YES = frozenset({"yes", "y", "true", "✓", "✔", "x", "included", "ja", "oui"})
_NO = frozenset({"no", "n", "false", "✗", "✘", "×", "nein", "non"})
_DATED = late_regex(
    r"\b\p{N}{4}\b|\p{N}[:.]\p{N}{2}|\p{N}{1,2}[./-]\p{N}|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\p{L}*\b"
    r"|\b(?:mon|tue|wed|thu|fri|sat|sun)\p{L}*|\b(?:closed|noon|midnight|spring|summer|autumn|winter|daily|always|never)\b"
    r"|\p{N}\s*(?:am|pm|months?|weeks?|days?|years?)",
    flags=regex.IGNORECASE,
)
_UNIT_ASKED = late_regex(
    r"\bin (?P<unit>pounds|lbs?|kilos?|kilograms?|kg|grams?|miles|kilometres|km|feet|inches|metres|"
    r"(?:us |american )?dollars?|euros?|litres|gallons|celsius|fahrenheit)\b",
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


@dataclass(frozen=True)
class _Found:
    """A cell that may answer: its table and row, the score, and what is quoted."""

    table: Table
    row: Row
    cell: Cell
    score: float
    name: str = ""
    is_name: bool = False


def read_table_answer(question: str, texts: Sequence[EvidenceText]) -> dict[str, Any]:
    """Return the reply to a question that a cell of a table answers, or that it is empty there; {} for any other.

    Args:
        question: as it was asked.
        texts: the pieces of evidence.
    """
    tables = [table for text in texts if text.kind != "hyperedge" for table in read_tables(text)]
    asked = TableQuestion.read(question)
    if not tables or asked.asked.kind == "choice" or _HOW_MANY.search(question) or _NOT.search(question):
        return {} if not tables or not _HOW_MANY.search(question) else _cell_reply(asked, tables, counted=True)
    if MOST.search(question) or LEAST.search(question):
        return _extreme(asked, texts)
    return _cell_reply(asked, tables)


def without_rows_of_others(asked: str, found: Mapping[str, Any], texts: Sequence[EvidenceText]) -> dict[str, Any]:
    """Return *unknown* where an answer is a row of a table that has not what is asked for, else the answer."""
    quotes = [quote for row in found["sentences"] for quote in row["citations"]]
    why = _why_no_cell(asked, [quote["quote"].strip() for quote in quotes], texts) if quotes else ""
    if not why:
        return dict(found)
    return {"unknown": True, "sentences": [], "reason": why, "nearest": quotes[:_MAX_NEAREST]}


def _why_no_cell(question: str, quotes: Sequence[str], texts: Sequence[EvidenceText]) -> str:
    """Return why a row that words led to does not answer a question; "" where it may, or none of the quotes is a row.

    Rows are alike but for their names: one that the question does not name has the value of something else. Rows are
    neither counted nor compared where the table is not whole.
    """
    asked = TableQuestion.read(question)
    for table in (table for text in texts for table in read_tables(text)):
        row = next((row for row in table.rows if row.line in quotes), None)
        if row is None or len(row.cells) < _MIN_COLUMNS:
            continue
        if _HOW_MANY.search(question):
            return "The rows of a table were not counted."
        if MOST.search(question) or LEAST.search(question):
            return "The rows of a table, which may have others, were not compared."
        named = _anchor(asked, row, _rarity(table))[1]
        if not named or not _is_about(asked, table, row):
            return "No row of the table has what the question names."
        if asked.asked.kind in _OF_A_VALUE or asked.synonyms or _ASKS_FOR_ATTRIBUTE.match(asked.text):
            return "No column of the table is what the question asks for."
    return ""


def _cell_reply(asked: TableQuestion, tables: Sequence[Table], *, counted: bool = False) -> dict[str, Any]:
    found = sorted(
        (one for table in tables for one in (*_by_row(asked, table), *_by_column(asked, table))),
        key=lambda one: -one.score,
    )
    if not found:
        return {}
    best = [one for one in found if one.score >= found[0].score - 1e-6]
    values = {one.cell.text.casefold(): one for one in best}
    if counted and not _is_counted(asked, best[0].cell):
        return {}
    if len(values) == 1:
        return _reply(asked, best[0])
    if all(one.is_name for one in best) and len({one.cell.label for one in best}) == 1:
        # rows that are not at hand may have it too
        if not all(one.table.begins and one.table.ends for one in best):
            return {}
        return _several(asked, list(values.values()))
    nearest = [{"evidence": one.table.number, "quote": one.row.line} for one in values.values()][:_MAX_NEAREST]
    reason = f"Rows of tables state different values: {', '.join(one.cell.text or 'none' for one in values.values())}."
    return {"unknown": True, "sentences": [], "reason": reason, "nearest": nearest}


def _several(asked: TableQuestion, found: Sequence[_Found]) -> dict[str, Any]:
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


def _is_counted(asked: TableQuestion, cell: Cell) -> bool:
    """Return whether the label of a cell is what a question counts: "How many seats", or says how much there is."""
    counted = terms(_HOW_MANY.split(asked.text, maxsplit=1)[-1])[:2]
    label = any(alike(one, other) for one in cell.label_terms for other in counted)
    return (label or bool(cell.label_terms & asked.synonyms)) and regex.search(r"\p{N}", cell.text) is not None


def _by_row(asked: TableQuestion, table: Table) -> Iterator[_Found]:
    """Yield the cells of the columns that a question asks for in the rows that it names."""
    shares = _rarity(table)
    anchored = [(row, *_anchor(asked, row, shares)) for row in table.rows]
    best = max((strength for _, strength, _ in anchored), default=0.0)
    if best <= 0:
        return
    rows = [(row, cells) for row, strength, cells in anchored if strength >= best - 1e-6]
    if len(rows) > _MAX_ROWS_NAMED:
        return
    names_at = _name_column(
        asked, table, {at for row, cells in rows for at, one in enumerate(row.cells) if one in cells}
    )
    named = frozenset(one for name in asked.names for one in terms(name)) - table.terms_around
    for row, cells in rows:
        known = frozenset[str]().union(*(cell.terms for cell in cells))
        if named and not any(_has_name(cell, named) for cell in cells):
            continue
        # the pump of "Pump bracket" may be another than the "rotary pump" that is asked about
        is_part = not any(cell.terms <= asked.terms or _figure(cell.text) is not None for cell in cells)
        if not _is_about(asked, table, row, left_out=0 if is_part else _MAX_LEFT):
            continue
        for at, cell in enumerate(row.cells):
            if cell in cells:
                continue
            fit = asked.label_fit(cell.label_terms, known)
            is_name = at == names_at and _asks_for_the_name(asked, row, cells, names_at)
            fit = max(fit, 0.5) if is_name else fit
            if fit and (is_name or _is_of_kind(asked, cell)):
                share = _share(asked, table, [*cells, cell])
                yield _Found(table, row, cell, fit + share, name=_name(row, cells), is_name=is_name)


def _by_column(asked: TableQuestion, table: Table) -> Iterator[_Found]:
    """Yield the cells of a table whose rows are attributes: of one thing, or of those that its header names."""
    rows, names = table.rows, frozenset(one for name in asked.names for one in terms(name))
    if len(table.labels) == 2 and table.header:  # a sheet about one thing may have no header
        rows = (Row(table.header, tuple(Cell("", label) for label in table.labels)), *rows)
    for row in rows:
        first, *rest = row.cells
        known = frozenset[str]().union(table.terms_around, *(frozenset(terms(cell.label)) for cell in rest))
        attribute = Cell(first.text, "")
        fit = asked.label_fit(attribute.label_terms, frozenset()) if first.text else 0.0
        fit = (fit and asked.label_fit(attribute.label_terms, known & asked.terms)) or 0.0
        if not fit or not _is_about(asked, table, row):
            continue
        named = [cell for cell in rest if (own := frozenset(terms(cell.label))) <= asked.terms and own & names]
        if not named and (len(rest) != 1 or not table.terms_around & asked.terms):
            continue
        for cell in named or rest:
            shown = Cell(first.text, cell.text)
            if _is_of_kind(asked, shown):
                share = _share(asked, table, [shown, cell] if named else [shown])
                yield _Found(table, row, shown, fit + share, name=cell.label if named else "")


def _share(asked: TableQuestion, table: Table, cells: Sequence[Cell]) -> float:
    """Return how much of a question some cells and their labels have; what is only around the table counts half."""
    own = frozenset[str]().union(*(cell.label_terms for cell in cells), *(cell.terms for cell in cells[:-1]))
    near = [one for one in asked.terms if any(alike(one, other) for other in own)]
    around = [one for one in asked.terms if one not in near and one in table.terms_around]
    return _WEIGHT_OF_SHARE * (len(near) + len(around) / 2) / max(1, len(asked.terms))


def _rarity(table: Table) -> Mapping[str, float]:
    """Return for each term of the cells one by the number of rows that have it."""
    counts: dict[str, int] = {}
    for row in table.rows:
        for one in row.terms:
            counts[one] = counts.get(one, 0) + 1
    return {one: 1 / count for one, count in counts.items()}


def _anchor(asked: TableQuestion, row: Row, shares: Mapping[str, float]) -> tuple[float, list[Cell]]:
    """Return how strongly a question names a row, and the cells by which it does.

    A cell counts whose text the question has, or the name of a row if it has a part of that which no other row has. A
    number alone names a row where its column is asked about too, or its unit is.
    """
    cells, strength = [], 0.0
    for at, cell in enumerate(row.cells):
        if _figure(cell.text) is not None and regex.fullmatch(r"[\p{P}\p{S}\p{N}\s]*(?:\p{L}{1,3})?", cell.text):
            if _figure_is_named(asked, cell):
                cells.append(cell)
                strength += 1.0
            continue
        said = cell.terms & asked.terms
        if not said:
            continue
        whole = cell.terms <= asked.terms or _lists_one(cell, asked)
        distinct = any(shares[one] > 0.99 for one in said)
        if whole or (distinct and at < 2 and not _other_names(cell, asked)):
            cells.append(cell)
            strength += sum(shares[one] for one in said) + (0.5 if whole else 0.0)
    return strength, cells


def _lists_one(cell: Cell, asked: TableQuestion) -> bool:
    """Return whether a cell lists several things, one of which a question has: "P-110, P-120"."""
    parts = regex.split(r"[,;/]\s+|\s+(?:and|or)\s+", cell.text)
    return len(parts) > 1 and any((own := frozenset(terms(part))) and own <= asked.terms for part in parts)


def _has_name(cell: Cell, named: frozenset[str]) -> bool:
    return bool(cell.terms & named) or _figure(cell.text) is not None


def _figure_is_named(asked: TableQuestion, cell: Cell) -> bool:
    """Return whether a question has the figure of a cell as a figure: with a unit or sign, or with the column's label.

    The 90 of "GP 90" is no flow of 90 litres.
    """
    figure = _figure(cell.text)
    said = [match for match in _AMOUNT.finditer(asked.text) if figure is not None and _figure(match[0]) == figure]
    measured = any(
        regex.search(r"[€$£]\s*$", asked.text[: match.start()])
        or regex.match(
            r"\s*(?:[€$£%]|(?-i:\p{Ll}{1,2}\b)|euros?|dollars?|pounds?|kilos?|per)", asked.text[match.end() :]
        )
        for match in said
    )
    label = any(alike(one, other) for one in cell.label_terms for other in asked.synonyms | asked.terms)
    return measured or (bool(said) and label and not any(match[0] in " ".join(asked.names) for match in said))


def _other_names(cell: Cell, asked: TableQuestion) -> bool:
    """Return whether the part of a name that a question leaves out is a number: "LT 7" is not "LT 11"."""
    return any(regex.search(r"\p{N}", one) for one in cell.terms - asked.terms)


def _name_column(asked: TableQuestion, table: Table, known: Collection[int] = ()) -> int:
    """Return the number of the column that names the rows: that of the noun asked for, one of names, else the first.

    ``known`` are columns that the question goes from; -1 where these are all that name something.
    """
    which = WHICH.search(asked.text)
    noun = terms(which["noun"])[:1] if which else []
    labels = [Cell(label, "").label_terms for label in table.labels]
    by_noun = [at for at, own in enumerate(labels) if any(alike(one, other) for one in own for other in noun)]
    by_name = [at for at, own in enumerate(labels[:_MAX_NAME_COLUMN]) if own & _NAMING]
    return next((at for at in (*by_noun, *(by_name or [0])) if at not in known), -1)


def _asks_for_the_name(asked: TableQuestion, row: Row, cells: Sequence[Cell], at: int) -> bool:
    """Return whether a question asks which row it is, by something else than its name."""
    asks = WHICH.search(asked.text) or _WHO.match(asked.text)
    is_named = any(cell.label_terms & _NAMING for cell in cells) or (cells and row.cells[0] in cells and at)
    return row.cells[at] not in cells and asks is not None and not is_named


def _is_about(asked: TableQuestion, table: Table, row: Row, left_out: int = _MAX_LEFT) -> bool:
    """Return whether a row with its labels, and what is around the table, has what a question says."""
    labels = frozenset(name for label in table.labels for name in terms(label.replace("_", " ")))
    said = row.terms | table.terms_around | labels
    written = "\n".join((row.line, *table.labels, table.around))
    for name in asked.names:
        own = frozenset(terms(name))
        if (
            own
            and not own <= said
            and not regex.search(rf"(?<!\w){regex.escape(name)}(?!\w)", written, regex.IGNORECASE)
        ):
            return False
    wanted = asked.terms - asked.aside
    said |= asked.synonyms | frozenset(one for name in asked.names for one in terms(name))
    left = [one for one in wanted if not any(alike(one, other) for other in said)]
    covered = 1 - len(left) / max(1, len(wanted))
    return len(left) <= left_out and covered >= _MIN_COVERED


def _around(asked: TableQuestion, table: Table) -> int:
    return len(table.terms_around & asked.terms)


def _is_of_kind(asked: TableQuestion, cell: Cell) -> bool:
    """Return whether a cell may be what a question asks for; one that states nothing may."""
    kind = asked.asked.kind
    if not cell.text:
        return True
    if kind == "number":
        return regex.search(r"\p{N}|\bnone\b|\bfree\b|unlimited", cell.text) is not None
    if kind == "date":
        return _DATED.search(cell.text) is not None
    if kind == "person":
        return regex.search(r"\p{Lu}", cell.text) is not None and regex.search(r"\p{N}", cell.text) is None
    if kind == "boolean":
        return _truth(asked, cell.text) is not None
    return True


def _truth(asked: TableQuestion, text: str) -> bool | None:
    """Return whether a cell says yes or no; times say that something is open. None where nothing tells."""
    first = text.casefold().split(",")[0].split(" ")[0].strip(".;")
    if first in _YES or first in _NO:
        return first in _YES
    if regex.search(r"\bopen\b", asked.text, regex.I):
        return False if first == "closed" else True if regex.search(r"\p{N}[:.]\p{N}{2}|\p{N}\s*[ap]m", text) else None
    return None


def _name(row: Row, cells: Sequence[Cell]) -> str:
    return ", ".join(dict.fromkeys(cell.text for cell in cells)) or row.cells[0].text


def _extreme(asked: TableQuestion, texts: Sequence[EvidenceText]) -> dict[str, Any]:
    """Return the row with the largest or smallest figure of the column asked about; of whole tables only."""
    found: list[tuple[float, str, list[tuple[Table, Row]]]] = []
    for parts in joined_tables(texts):
        of_names = parts[0].labels[_name_column(asked, parts[0])]
        labels = dict.fromkeys(label for part in parts for label in part.labels if label != of_names)
        fit, label = max((asked.label_fit(Cell(label, "").label_terms, frozenset()), label) for label in labels)
        rows = [(part, row) for part in parts for row in part.rows]
        if fit and len(rows) > 1 and _is_about(asked, parts[0], rows[0][1]):
            found.append((fit + 0.1 * _around(asked, parts[0]), label, rows))
    found.sort(key=lambda one: -one[0])
    if not found or (len(found) > 1 and found[1][0] == found[0][0]):
        return {}
    _, label, rows = found[0]
    cells = [(cell, part, row) for part, row in rows for cell in row.cells if cell.label == label and cell.text]
    figures = [(figure, part, row) for cell, part, row in cells if (figure := _figure(cell.text)) is not None]
    if len(figures) < 2 or len(figures) != len(cells):
        return {}
    figures.sort(key=lambda one: one[0], reverse=MOST.search(asked.text) is not None)
    if figures[0][0] == figures[1][0]:
        return {}
    _, part, row = figures[0]
    name = row.cells[_name_column(asked, part)]
    value = next(cell for cell in row.cells if cell.label == label)
    return _reply(asked, _Found(part, row, value, 0.0, name=name.text), shown=name)


def _figure(text: str) -> float | None:
    """Return a figure or date of a cell for comparison with others of its column; None where it has not just one."""
    if match := regex.fullmatch(r"(\d{4})-(\d\d)-(\d\d)", text):
        return float("".join(match.groups()))
    found = [match[0] for match in _AMOUNT.finditer(text)]
    if len(found) != 1:
        return None
    plain = regex.sub(r"[ ’]", "", found[0]).replace("−", "-")
    if "," in plain:
        plain = (
            plain.replace(".", "").replace(",", ".") if regex.search(r",\d{1,2}$", plain) else plain.replace(",", "")
        )
    try:
        return float(plain)
    except ValueError:
        return None


def _reply(asked: TableQuestion, found: _Found, shown: Cell | None = None) -> dict[str, Any]:
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
        "sentences": [{"text": text, "citations": citations}],
        "values": [_value(asked, shown or cell)],
        "confidence": SHARE_RIGHT,
    }


def _has_unit(unit: str, cell: Cell) -> bool:
    forms = next((set(forms.split()) for forms in _UNITS if unit.casefold() in forms.split()), {unit.casefold()})
    said = set(regex.findall(r"[\p{L}°]+|[€$£]", f"{cell.text} {cell.label}".casefold()))
    return bool(forms & said) or not (cell.unit or regex.search(r"\p{N}\s*\p{L}", cell.text))


def _value(asked: TableQuestion, cell: Cell) -> dict[str, Any]:
    truth = _truth(asked, cell.text) if asked.asked.kind == "boolean" else None
    if truth is not None:
        return {
            "kind": "boolean",
            "text": "yes" if truth else "no",
            "value": "true" if truth else "false",
            "sentence": 0,
        }
    is_figure = regex.fullmatch(rf"[€$£]?\s*{_AMOUNT.pattern}(?:\s*\S{{1,12}}){{0,2}}", cell.text) is not None
    unit = cell.unit if is_figure and cell.unit and regex.fullmatch(_AMOUNT.pattern, cell.text) else ""
    return {"kind": "number" if unit else "text", "text": cell.text, "value": "", "unit": unit, "sentence": 0}
