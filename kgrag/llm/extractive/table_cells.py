"""Finds the cells of tables that may answer a question: of the rows that it names and the columns that it asks for.

Of a sheet about one thing (``Property | Value``) the row is the attribute. Nothing is found in a table that lacks a
name or number of the question.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import regex

from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.question_words import terms
from kgrag.llm.extractive.table_columns import AMOUNT, truth
from kgrag.llm.extractive.table_qualifiers import foreign_qualifiers, group_lacking
from kgrag.llm.extractive.table_questions import TableQuestion
from kgrag.llm.extractive.table_rows import Cell, Row, Table

__all__ = [
    "FoundCell",
    "anchor",
    "cells_by_column",
    "cells_by_row",
    "is_about",
    "name_column",
    "noun_asked_for",
    "rarity",
    "terms_shared_around",
    "truth_asked",
    "written_length",
]

_MAX_LEFT = 1
"""Terms of a question that neither the row, its labels nor what is around the table may lack; no name is among them."""
_MIN_COVERED = 0.55
_MAX_ROWS_NAMED = 4
_MAX_NAME_COLUMN = 3
_NAMES_AT = 2
"""Columns from the first on whose cells may be names."""
_WEIGHT_OF_SHARE = 2.0
_YEARS = frozenset(
    one for word in ("year", "Jahr", "année") for language in ("en", "de", "fr") for one in terms(word, language)
)
"""Terms of labels of columns whose rows are years."""
_DATED = late_regex(
    r"(?<![\p{N}.,])(?:1[5-9]|20)\p{N}\p{N}(?!\p{N}|[.,]\p{N})|\b\p{N}{1,2}[:.]\p{N}{2}\b"
    r"|(?<!\p{N})\p{N}{1,2}[./-]\p{N}|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\p{L}*\b"
    r"|\b(?:mon|tue|wed|thu|fri|sat|sun)\p{L}*|\b(?:closed|noon|midnight|spring|summer|autumn|winter|daily|always|never)\b"
    r"|\p{N}\s*(?:am|pm|months?|weeks?|days?|years?)",
    flags=regex.IGNORECASE,
)


@dataclass(frozen=True)
class FoundCell:
    """A cell that may answer: its table and row, the score, and what is quoted.

    ``foreign`` are words of what is asked for that neither its column nor what is known of its row has, ``group`` is
    for whom it is asked, where the table says nothing of that.
    """

    table: Table
    row: Row
    cell: Cell
    score: float
    name: str = ""
    is_name: bool = False
    foreign: tuple[str, ...] = ()
    group: str = ""


def cells_by_row(asked: TableQuestion, table: Table) -> Iterator[FoundCell]:
    """Yield the cells of the columns that a question asks for in the rows that it names."""
    shares = rarity(table)
    anchored = [(row, *anchor(asked, row, shares, is_whole=table.is_whole)) for row in table.rows]
    best = max((strength for _, strength, _ in anchored), default=0.0)
    if best <= 0:
        return
    rows: Sequence[tuple[Row, Sequence[Cell]]] = [
        (row, cells) for row, strength, cells in anchored if strength >= best - 1e-6
    ]
    if len(rows) > _MAX_ROWS_NAMED:
        return
    rows = _as_written(asked, rows)
    names_at = name_column(
        asked, table, {at for row, cells in rows for at, one in enumerate(row.cells) if one in cells}
    )
    named = frozenset(one for name in asked.names for one in terms(name, asked.language)) - table.terms_around
    for row, cells in rows:
        if named and not any(_has_name(cell, named) for cell in cells):
            continue
        # the pump of "Pump bracket" may be another than the "rotary pump" that is asked about
        is_part = not any(cell.terms <= asked.terms or _figure(cell.text) is not None for cell in cells)
        if is_about(asked, table, row, left_out=0 if is_part else _MAX_LEFT):
            yield from _cells_of_row(asked, table, row, cells, names_at)


def _cells_of_row(
    asked: TableQuestion, table: Table, row: Row, cells: Sequence[Cell], names_at: int
) -> Iterator[FoundCell]:
    """Yield the cells that a question asks for in a row that it names by some cells."""
    known = frozenset[str]().union(*(cell.terms for cell in cells))
    kinds = _said_before(asked, cells)
    group = group_lacking(asked, row.terms | table.label_terms | table.terms_around)
    for at, cell in enumerate(row.cells):
        if cell in cells:
            continue
        fit = asked.label_fit(cell.label_terms, known) if not cell.label_terms <= kinds else 0.0
        is_name = at == names_at and _asks_for_the_name(asked, table, row, cells, names_at)
        fit = max(fit, 0.5) if is_name else fit
        if not fit or not (is_name or _is_of_kind(asked, cell)):
            continue
        if is_name and asked.asked.kind == "person" and not _is_who_is_meant(asked, table, row, cell):
            continue
        share = _share(asked, table, [*cells, cell])
        near = known.union(table.terms_around, *(one.label_terms for one in cells))
        foreign = () if is_name else tuple(foreign_qualifiers(asked, cell.label_terms, near))
        yield FoundCell(table, row, cell, fit + share, _name(row, cells), is_name, foreign, group)


def _said_before(asked: TableQuestion, cells: Sequence[Cell]) -> frozenset[str]:
    """Return the terms of the words before the names of a row, which say what kind of thing it is: "course T-04"."""
    found = [regex.search(rf"([\p{{L}}-]+)\s+{regex.escape(cell.text)}(?!\w)", asked.text, regex.I) for cell in cells]
    return frozenset(terms(" ".join(one[1] for one in found if one), asked.language))


def _is_who_is_meant(asked: TableQuestion, table: Table, row: Row, cell: Cell) -> bool:
    """Return whether the name of a row may be who a question asks for: a person, and no word is left over."""
    said = row.terms | table.label_terms | table.terms_around | asked.synonyms
    return _is_of_kind(asked, cell) and all(asked.has(one, said) for one in asked.terms)


def cells_by_column(asked: TableQuestion, table: Table) -> Iterator[FoundCell]:
    """Yield the cells of a table whose rows are attributes: of one thing, or of those that its header names."""
    rows, language = table.rows, table.language
    names = frozenset(one for name in asked.names for one in terms(name, language))
    if len(table.labels) == 2 and table.header:  # a sheet about one thing may have no header
        rows = (Row(table.header, tuple(Cell("", label, language) for label in table.labels)), *rows)
    firsts = [row.cells[0] for row in rows]
    written: dict[frozenset[str], int] = {}
    for first in firsts:
        written[first.terms] = max(written.get(first.terms, 0), written_length(asked, first.text))
    for row in rows:
        first, *rest = row.cells
        if written_length(asked, first.text) < written[first.terms]:
            continue
        known = frozenset[str]().union(table.terms_around, *(frozenset(terms(cell.label, language)) for cell in rest))
        attribute = Cell(first.text, "", language)
        fit = asked.label_fit(attribute.label_terms, frozenset()) if first.text else 0.0
        fit = (fit and asked.label_fit(attribute.label_terms, known & asked.terms)) or 0.0
        if not fit or not is_about(asked, table, row):
            continue
        named = [
            cell for cell in rest if (own := frozenset(terms(cell.label, language))) <= asked.terms and own & names
        ]
        if not named and (len(rest) != 1 or not table.terms_around & asked.terms):
            continue
        for cell in named or rest:
            shown = Cell(first.text, cell.text, language)
            if _is_of_kind(asked, shown):
                share = _share(asked, table, [shown, cell] if named else [shown])
                foreign = tuple(foreign_qualifiers(asked, shown.label_terms, table.terms_around | cell.label_terms))
                yield FoundCell(table, row, shown, fit + share, cell.label if named else "", foreign=foreign)


def _share(asked: TableQuestion, table: Table, cells: Sequence[Cell]) -> float:
    """Return how much of a question some cells and their labels have; what is only around the table counts half."""
    own = frozenset[str]().union(*(cell.label_terms for cell in cells), *(cell.terms for cell in cells[:-1]))
    near = [one for one in asked.terms if asked.has(one, own)]
    around = [one for one in asked.terms if one not in near and one in table.terms_around]
    return _WEIGHT_OF_SHARE * (len(near) + len(around) / 2) / max(1, len(asked.terms))


def rarity(table: Table) -> Mapping[str, float]:
    """Return for each term of the cells one by the number of rows that have it."""
    counts = table.known_rows.counts
    return {one: 1 / counts[one] for row in table.rows for one in row.terms}


def anchor(
    asked: TableQuestion, row: Row, shares: Mapping[str, float], *, is_whole: bool = False
) -> tuple[float, list[Cell]]:
    """Return how strongly a question names a row, and the cells by which it does.

    A cell counts whose text the question has, or the name of a row if it has a part of that which no other row has. A
    number alone names a row where its column is asked about too, or its unit is. With ``is_whole`` the shares are those
    of all rows of the table.
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
        distinct = any(shares[one] > 0.99 and not one.isdigit() for one in said)  # 2024 is not the key INV-2024
        if whole or (distinct and at < _NAMES_AT and not _other_names(cell, asked, is_whole=is_whole)):
            cells.append(cell)
            strength += sum(shares[one] for one in said) + (0.5 if whole else 0.0)
    return strength, cells


def _as_written(
    asked: TableQuestion, rows: Sequence[tuple[Row, Sequence[Cell]]]
) -> Sequence[tuple[Row, Sequence[Cell]]]:
    """Return the rows named by the longest text that a question has as it is written, where some have equal terms.

    "Fauteuil Cassis" is not "Fauteuil Cassis Plus", of which one word says too little to be a term.
    """
    named = [max((written_length(asked, cell.text) for cell in cells), default=0) for _, cells in rows]
    alike_named = len({frozenset(cell.terms for cell in cells) for _, cells in rows}) == 1
    longest = max(named, default=0)
    return [row for row, length in zip(rows, named, strict=True) if length == longest] if alike_named else rows


def written_length(asked: TableQuestion, text: str) -> int:
    """Return the length of a text where a question has it as it is written; 0 where it has not."""
    is_written = regex.search(rf"(?<!\w){regex.escape(text)}(?!\w)", asked.text, regex.IGNORECASE)
    return len(text) if is_written else 0


def _lists_one(cell: Cell, asked: TableQuestion) -> bool:
    """Return whether a cell lists several things, one of which a question has: "P-110, P-120"."""
    parts = regex.split(r"[,;/]\s+|\s+(?:and|or|und|oder|et|ou)\s+", cell.text)
    return len(parts) > 1 and any(
        (own := frozenset(terms(part, asked.language))) and own <= asked.terms for part in parts
    )


def _has_name(cell: Cell, named: frozenset[str]) -> bool:
    return bool(cell.terms & named) or _figure(cell.text) is not None


def _figure_is_named(asked: TableQuestion, cell: Cell) -> bool:
    """Return whether a question has the figure of a cell as a figure: with a unit or sign, or with the column's label.

    The 90 of "GP 90" is no flow of 90 litres.
    """
    own = _figure(cell.text)
    said = [match for match in AMOUNT.finditer(asked.text) if own is not None and _figure(match[0]) == own]
    measured = any(
        regex.search(r"[€$£]\s*$", asked.text[: match.start()])
        or regex.match(
            r"\s*(?:[€$£%]|(?-i:\p{Ll}{1,2}\b)|euros?|dollars?|pounds?|kilos?|per)", asked.text[match.end() :]
        )
        for match in said
    )
    if own is not None and cell.label_terms and cell.label_terms <= _YEARS and is_said_alone(asked, cell.text):
        return True
    label = any(asked.has(one, asked.synonyms | asked.terms) for one in cell.label_terms)
    return measured or (bool(said) and label and not any(match[0] in " ".join(asked.names) for match in said))


def is_said_alone(asked: TableQuestion, year: str) -> bool:
    """Return whether a question has a year by itself: that of "INV-2024" is a part of a number."""
    return regex.search(rf"(?<![\w./-]){regex.escape(year)}(?![\w/-])", asked.text) is not None


def _other_names(cell: Cell, asked: TableQuestion, *, is_whole: bool) -> bool:
    """Return whether the part of a name that a question leaves out is a number: "LT 7" is not "LT 11".

    "The hoist" is the "Hoist H2" where the table is whole and the question names no number.
    """
    left_out = any(regex.search(r"\p{N}", one) for one in cell.terms - asked.terms)
    says_number = any(regex.search(r"\p{N}", one) for one in asked.terms)
    return left_out and (says_number or not is_whole)


def name_column(asked: TableQuestion, table: Table, known: Collection[int] = ()) -> int:
    """Return the number of the column that names the rows: that of the noun asked for, one of names, else the first.

    ``known`` are columns that the question goes from; -1 where these are all that name something.
    """
    noun = noun_asked_for(asked)
    labels = [Cell(label, "", table.language).label_terms for label in table.labels]
    by_noun = [at for at, own in enumerate(labels) if any(asked.has(one, noun) for one in own)]
    by_name = [at for at, own in enumerate(labels[:_MAX_NAME_COLUMN]) if own & asked.words.name_labels]
    return next((at for at in (*by_noun, *(by_name or [0])) if at not in known), -1)


def noun_asked_for(asked: TableQuestion) -> list[str]:
    """Return the term of the noun behind "which"; [] for none."""
    which = asked.words.which.search(asked.text)
    return terms(which["noun"], asked.language)[:1] if which else []


def _asks_for_the_name(asked: TableQuestion, table: Table, row: Row, cells: Sequence[Cell], at: int) -> bool:
    """Return whether a question asks which row it is, by something else than its name.

    "Which colour does the lorry have?" does not, where nothing is said of colours.
    """
    asks = asked.words.which.search(asked.text) or asked.words.who.match(asked.text)
    is_named = any(cell.label_terms & asked.words.name_labels for cell in cells) or (
        cells and row.cells[0] in cells and at
    )
    labels = frozenset(one for label in table.labels for one in Cell(label, "", table.language).label_terms)
    noun = [one for one in noun_asked_for(asked) if not asked.has(one, labels | table.terms_around)]
    is_other = bool(noun) and any(_figure(cell.text) is None for cell in row.cells[:_NAMES_AT] if cell in cells)
    return row.cells[at] not in cells and asks is not None and not is_named and not is_other


def is_about(asked: TableQuestion, table: Table, row: Row, left_out: int = _MAX_LEFT) -> bool:
    """Return whether a row with its labels, and what is around the table, has what a question says."""
    language = table.language
    labels = frozenset(one for label in table.labels for one in terms(label.replace("_", " "), language))
    said = row.terms | table.terms_around | labels
    written = "\n".join((row.line, *table.labels, table.around))
    for name in asked.names:
        own = frozenset(terms(name, language))
        # of German, each noun has a capital: one may be a word for a label
        is_said = own <= said or (language == "de" and all(asked.has(one, said | asked.aside) for one in own))
        if own and not is_said and not regex.search(rf"(?<!\w){regex.escape(name)}(?!\w)", written, regex.IGNORECASE):
            return False
    wanted = asked.terms - asked.aside - frozenset(terms(group_lacking(asked, said), language))
    said |= asked.synonyms | frozenset(one for name in asked.names for one in terms(name, language))
    left = [one for one in wanted if not asked.has(one, said)]
    covered = 1 - len(left) / max(1, len(wanted))
    return len(left) <= left_out and covered >= _MIN_COVERED


def terms_shared_around(asked: TableQuestion, table: Table) -> int:
    """Return how many terms of a question are around a table."""
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
        return truth_asked(asked, cell.text) is not None
    return True


def truth_asked(asked: TableQuestion, text: str) -> bool | None:
    """Return whether a cell says yes or no; times say that something is open. None where nothing tells."""
    if (found := truth(text)) is not None:
        return found
    first = text.casefold().split(",")[0].split(" ")[0].strip(".;")
    if regex.search(r"\bopen\b", asked.text, regex.I):
        return False if first == "closed" else True if regex.search(r"\p{N}[:.]\p{N}{2}|\p{N}\s*[ap]m", text) else None
    return None


def _name(row: Row, cells: Sequence[Cell]) -> str:
    return ", ".join(dict.fromkeys(cell.text for cell in cells)) or row.cells[0].text


def _figure(text: str) -> float | None:
    """Return a figure or date of a cell for comparison with others of its column; None where it has not just one."""
    if match := regex.fullmatch(r"(\d{4})-(\d\d)-(\d\d)", text):
        return float("".join(match.groups()))
    found = [match[0] for match in AMOUNT.finditer(text)]
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
