"""Tables that are whole, by their columns: which are figures, of which unit and notation, and which say yes or no.

"3.420" is a figure of three thousand where the table has decimal commas, and one of three where it has decimal points.
Where neither is seen, it is none for German and French. A column has figures only where every cell that states
something is one, and all have the same unit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

import regex

from kgrag.languages import ENGLISH
from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.question_words import terms
from kgrag.llm.extractive.table_days import day_of, is_day
from kgrag.llm.extractive.table_rows import Cell, Row, Table

__all__ = ["AMOUNT", "Column", "WholeTable", "decimal_mark", "figure", "truth"]

AMOUNT = late_regex(r"[-+−]?\p{N}+(?:[., ’\u00a0\u202f]\p{N}{3})*(?:[.,]\p{N}+)?")
_FIGURE = late_regex(
    rf"(?:[€$£¥]|(?:EUR|USD|GBP|CHF)\b)?\s*(?P<amount>{AMOUNT.pattern})\s*(?P<unit>[^\p{{N}}]{{0,24}})",
)
_SIGN = late_regex(r"^(?:[€$£¥]|EUR|USD|GBP|CHF)")
_OF_ALL = late_regex(
    r"(?:(?:grand|sub)[ -]?)?(?:totals?|sum|average|mean|gesamt\p{L}*|(?:zwischen)?summe|durchschnitt|mittelwert"
    r"|somme|moyenne|(?:sous-)?total(?: général)?)(?: \p{L}+)?[:.]?",
    flags=regex.IGNORECASE,
)
_YES = frozenset({"yes", "y", "true", "✓", "✔", "x", "included", "ja", "oui", "vrai", "wahr"})
_NO = frozenset({"no", "n", "false", "✗", "✘", "×", "nein", "non", "faux", "falsch"})
_ABOUT_ONE = frozenset(
    {
        "property",
        "value",
        "attribute",
        "feature",
        "specification",
        "eigenschaft",
        "wert",
        "merkmal",
        "propriété",
        "valeur",
    }
)
_PERSON = late_regex(
    r"(?:(?:\p{Lu}[\p{L}\p{M}'’-]*\.?|Le|La|de|van|von|der|den|du|di|da|bin|al)\s+)+\p{Lu}[\p{L}\p{M}'’-]+"
)
_CODE = late_regex(r"[\p{Lu}\p{N}./-]*\p{N}[\p{Lu}\p{N}./-]*")
_MIN_COLUMNS = 3
_NAME_PARTS = 3


def truth(text: str) -> bool | None:
    """Return whether a cell says yes or no by its first word; None where it says neither."""
    first = text.casefold().split(",")[0].split(" ")[0].strip(".;")
    return True if first in _YES else False if first in _NO else None


def decimal_mark(cells: Iterable[str], language: str) -> str:
    """Return the mark before decimals of the cells of a table; "" where they do not tell, or have both.

    >>> decimal_mark(["8,90", "3.420"], "de"), decimal_mark(["3.420"], "de"), decimal_mark(["1,240"], "en")
    (',', '', '.')
    """
    amounts = [found["amount"] for cell in cells if (found := _FIGURE.fullmatch(cell))]
    comma = any(regex.search(r",\d{1,2}$|,\d{4,}$|\.\d{3},", amount) for amount in amounts)
    point = any(regex.search(r"\.\d{1,2}$|\.\d{4,}$|,\d{3}\.", amount) for amount in amounts)
    if comma == point:
        return "." if language == ENGLISH and not comma else ""
    return "," if comma else "."


def figure(text: str, mark: str) -> Decimal | None:
    """Return the figure or the day that a text is, with or without a unit; None where it is not just one.

    >>> figure("€1,240", "."), figure("3.420 Stück", ","), figure("3.420", ""), figure("12-14 kg", ".")
    (Decimal('1240'), Decimal('3420'), None, None)
    """
    if (day := day_of(text)) is not None:
        return Decimal(day)
    found = _FIGURE.fullmatch(text)
    return _amount(found["amount"], mark) if found else None


def _amount(written: str, mark: str) -> Decimal | None:
    plain = regex.sub(r"[ ’\u00a0\u202f]", "", written).replace("−", "-")
    marks = [sign for sign in plain if sign in ".,"]
    last = marks[-1] if marks else ""
    if len(set(marks)) == 2 or (last and not regex.search(r"[.,]\d{3}$", plain)):
        decimals = last
    elif len(marks) > 1:  # of thousands and millions
        decimals = ""
    elif last and not mark and not regex.match(r"[-+]?0[.,]", plain):
        return None
    else:
        decimals = last if last == mark or regex.match(r"[-+]?0[.,]", plain) else ""
    whole, _, rest = plain.rpartition(decimals) if decimals else (plain, "", "")
    return Decimal(f"{regex.sub(r'[.,]', '', whole)}.{rest or '0'}").normalize() + 0


@dataclass(frozen=True)
class Column:
    """A column of a table: its label, and its cell of each row."""

    label: str
    cells: tuple[Cell, ...]
    mark: str

    @cached_property
    def head(self) -> Cell:
        """Its label as a cell, which has the unit and the terms."""
        return Cell(self.label, "", self.cells[0].language)

    @cached_property
    def stated(self) -> int:
        """How many of its cells state something."""
        return sum(bool(cell.text) for cell in self.cells)

    @cached_property
    def figures(self) -> tuple[Decimal | None, ...]:
        """The figure of each cell, None of a blank one; () where one is no figure, or units differ."""
        found = tuple(figure(cell.text, self.mark) if cell.text else None for cell in self.cells)
        is_read = all(one is not None for one, cell in zip(found, self.cells, strict=True) if cell.text)
        return found if is_read and self.stated and len(self._units) <= 1 else ()

    @cached_property
    def is_of_figures(self) -> bool:
        """Whether half of the cells that state something are figures, though others may not be."""
        found = sum(figure(cell.text, self.mark or ".") is not None for cell in self.cells if cell.text)
        return found > 0 and 2 * found >= self.stated

    @cached_property
    def _units(self) -> set[str]:
        written = (_FIGURE.fullmatch(cell.text) for cell in self.cells if cell.text and not is_day(cell.text))
        return {found["unit"].strip().casefold().rstrip("s.") for found in written if found}

    @cached_property
    def unit(self) -> str:
        """The unit behind its figures, or in its label; "" for none."""
        first = next((cell.text for cell in self.cells if cell.text), "")
        found = _FIGURE.fullmatch(first)
        sign = _SIGN.match(first)
        return (sign[0] if sign else "") or (found["unit"].strip() if found else "") or self.head.unit

    @cached_property
    def is_of_days(self) -> bool:
        """Whether its cells are days."""
        return bool(self.figures) and any(is_day(cell.text) for cell in self.cells)

    @cached_property
    def truths(self) -> tuple[bool | None, ...]:
        """Whether each cell says yes, None of a blank one; () where one says something else."""
        found = tuple(truth(cell.text) if cell.text else None for cell in self.cells)
        is_read = all(one is not None for one, cell in zip(found, self.cells, strict=True) if cell.text)
        return found if is_read and self.stated else ()

    @cached_property
    def values(self) -> dict[str, list[int]]:
        """Its different texts, each with the numbers of the rows that have it."""
        found: dict[str, list[int]] = {}
        for at, cell in enumerate(self.cells):
            if cell.text:
                found.setdefault(cell.text.casefold(), []).append(at)
        return found

    @property
    def names_rows(self) -> bool:
        """Whether each row has another text in it, which is no figure."""
        return len(self.values) == len(self.cells) and not self.figures

    @cached_property
    def names_persons(self) -> bool:
        """Whether its cells are names of persons: "Ute Krain", "Dr. Rolf Winkler"."""
        return self.names_rows and all(_PERSON.fullmatch(cell.text) for cell in self.cells)

    @property
    def is_of_codes(self) -> bool:
        """Whether its cells are codes, as "EQ-1001"."""
        return all(_CODE.fullmatch(cell.text) for cell in self.cells if cell.text)


@dataclass(frozen=True)
class WholeTable:
    """A table that is whole, as its parts, and its rows without those that sum up others."""

    parts: tuple[Table, ...]

    @classmethod
    def of(cls, parts: Sequence[Table]) -> WholeTable:
        """Return the table of parts in reading order."""
        return cls(tuple(parts))

    @property
    def first(self) -> Table:
        """The part with the title and the header."""
        return self.parts[0]

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Of all columns; a blank label is none."""
        return tuple(dict.fromkeys(label for part in self.parts for label in part.labels if label))

    @cached_property
    def rows(self) -> tuple[tuple[Table, Row], ...]:
        """Each row with its part; a sum of the rows above it is no row."""
        found = [(part, row) for part in self.parts for row in part.rows]
        return tuple(one for one in found if not _sums_up(one[1]))

    @cached_property
    def has_lone_cells(self) -> bool:
        """Whether a row of a wide table has one cell only: a remark, a heading in the table, or little known of it."""
        wide = len(self.labels) >= _MIN_COLUMNS
        return wide and any(sum(bool(cell.text) for cell in row.cells) < 2 for _, row in self.rows)

    @cached_property
    def is_about_one(self) -> bool:
        """Whether its rows are the properties of one thing."""
        return len(self.labels) < _MIN_COLUMNS and any(label.casefold() in _ABOUT_ONE for label in self.labels)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns, each with a cell of every row."""
        language = self.first.language
        by_row = [{cell.label: cell for cell in row.cells} for _, row in self.rows]
        mark = decimal_mark((cell.text for row in by_row for cell in row.values()), language)
        return tuple(
            Column(label, tuple(row.get(label) or Cell(label, "", language) for row in by_row), mark)
            for label in self.labels
            if by_row
        )

    @cached_property
    def naming(self) -> Column:
        """The column that names the rows: the first with another text in each of them, rather none of codes."""
        naming = [column for column in self.columns if column.names_rows] or [self.columns[0]]
        return next((column for column in naming[:_NAME_PARTS] if not column.is_of_codes), naming[0])

    @cached_property
    def cell_terms(self) -> dict[str, frozenset[str]]:
        """Terms of the cells of each column."""
        language = self.first.language
        return {
            column.label: frozenset(one for text in column.values for one in terms(text, language))
            for column in self.columns
        }

    def cell_terms_of_others(self, column: Column) -> frozenset[str]:
        """Return the terms of the cells of all columns but one."""
        return frozenset[str]().union(*(own for label, own in self.cell_terms.items() if label != column.label))


def _sums_up(row: Row) -> bool:
    return any(_OF_ALL.fullmatch(cell.text) for cell in row.cells[:_NAME_PARTS])
