"""What is computed from rows: numbers of things, sums, extremes and comparisons, each with the rows that it rests on.

Amounts are compared in one unit as it is written; nothing is converted. What cannot be computed is a ``Refusal``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

import pyoxigraph as ox

from kgrag.late_patterns import late_re
from kgrag.methods.poly_rag.row_questions import RowQuestion
from kgrag.model import Term, Value, plain

__all__ = ["Amount", "Computed", "ComputedRow", "Refusal", "amount_of", "compared", "computed"]

_AMOUNT = late_re(r"(?P<number>[-+−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)\s*(?P<unit>[^\d()]*|\([^\d()]*\))")
_NUMERIC = ("integer", "decimal", "double", "float", "int", "long", "nonNegativeInteger", "positiveInteger")
_CENT = Decimal("0.01")
_MAX_NAMES_LISTED = 20
_HOLDS = "Of what the knowledge base holds"


@dataclass(frozen=True, slots=True)
class Amount:
    """A number with its unit, "" for none, as ``text`` has them."""

    number: Decimal
    unit: str
    text: str


@dataclass(frozen=True, slots=True)
class ComputedRow:
    """A row of ``templates/rows``; None for what was not asked for."""

    thing: Term
    group: Term | None = None
    value: Term | None = None


@dataclass(frozen=True, slots=True)
class Computed:
    """An answer as a sentence and values, with the rows that it rests on."""

    text: str
    values: tuple[Value, ...]
    rows: tuple[ComputedRow, ...]


class Refusal(Exception):
    """Why rows do not decide a question."""


def amount_of(term: Term | None) -> Amount | None:
    """Return a literal as a number with a unit; None for a range, a date, or any other text.

    >>> amount_of(ox.Literal("45 kg per hectare")).unit, amount_of(ox.Literal("60-80"))
    ('kg per hectare', None)
    """
    if not isinstance(term, ox.Literal):
        return None
    text = " ".join(term.value.split())
    if term.datatype.value.rpartition("#")[2] not in (*_NUMERIC, "string", "langString"):
        return None
    found = _AMOUNT.fullmatch(text)
    if found is None:
        return None
    unit = found["unit"].strip(" ().").casefold()
    return Amount(Decimal(found["number"].replace(",", "").replace("−", "-")), unit, text)


Named = Callable[[Term], str]
"""Returns what a thing is called, "" for a thing without a name."""
Same = Callable[[Term], object]
"""Returns a key that is equal for two things that are one."""


def computed(asked: RowQuestion, rows: Sequence[ComputedRow], label: str, named: Named, same: Same) -> Computed:
    """Return the answer to a question about one set of rows.

    Args:
        asked: the question; no comparison.
        rows: at least one.
        label: of the class that is counted, or the property.
        named: what things are called.
        same: which things are one.

    Raises:
        Refusal: the rows do not decide it.
    """
    if asked.form in ("count", "list"):
        return _counted(asked, rows, label, named, same)
    if asked.form == "most":
        return _with_most(asked, rows, label, named, same)
    if asked.form == "extreme":
        return _extreme(asked, rows, label, named, same)
    return _summed(asked, rows, label)


def _counted(asked: RowQuestion, rows: Sequence[ComputedRow], label: str, named: Named, same: Same) -> Computed:
    things = {same(row.thing): row.thing for row in reversed(rows)}
    names = sorted(filter(None, map(named, things.values())), key=str.casefold)
    whole = len(names) == len(things) <= _MAX_NAMES_LISTED
    if asked.form == "list":
        if len(names) < len(things):
            raise Refusal("some of them have no name")
        by_name = sorted(things.values(), key=lambda thing: named(thing).casefold())
        return Computed(
            f"{_HOLDS}: {_listed(names, label)}.", tuple(_entity(one, named) for one in by_name), tuple(rows)
        )
    text = f"{_HOLDS}, {len(things)}" + (f": {_listed(names, label)}." if whole else ".")
    return Computed(text, (Value("number", str(len(things)), str(len(things))),), tuple(rows))


def _listed(names: Sequence[str], label: str) -> str:
    """Return names in a row, with what they name before such as are numbers: "policy 31003000336"."""
    words = any(letter.isalpha() for name in names for letter in name)
    return ", ".join(names if words else [f"{label.lower()} {name}" for name in names])


def _entity(thing: Term, named: Named) -> Value:
    return Value("entity", named(thing), iri=plain(thing) if isinstance(thing, ox.NamedNode) else "")


def _with_most(asked: RowQuestion, rows: Sequence[ComputedRow], label: str, named: Named, same: Same) -> Computed:
    counts: dict[object, set[object]] = defaultdict(set)
    for row in rows:
        counts[_group(row, same)].add(same(row.thing))
    most = max(counts.values(), key=lambda things: asked.sign * len(things))
    chosen = {group for group, things in counts.items() if len(things) == len(most)}
    word = "the most" if asked.sign > 0 else "the fewest"
    total = len(counts) + (asked.sign > 0)  # what is in no row has none
    return _groups(rows, chosen, total, f"with {word} ({label}: {len(most)})", named, same)


def _group(row: ComputedRow, same: Same) -> object:
    assert row.group is not None
    return same(row.group)


def _groups(
    rows: Sequence[ComputedRow], chosen: Iterable[object], total: int, why: str, named: Named, same: Same
) -> Computed:
    """Return the groups that were chosen as an answer."""
    if total == 1:
        raise Refusal("there is only one to choose from")
    wanted = set(chosen)
    resting = tuple(row for row in rows if _group(row, same) in wanted)
    groups = {_group(row, same): row.group for row in reversed(resting)}
    values = [_entity(group, named) for group in groups.values() if group is not None]
    if not all(value.text for value in values):
        raise Refusal("what is chosen has no name")
    values.sort(key=lambda value: value.text.casefold())
    return Computed(f"{_HOLDS}, {' and '.join(value.text for value in values)}, {why}.", tuple(values), resting)


def _amounts(rows: Iterable[ComputedRow]) -> Mapping[ComputedRow, Amount]:
    """Return the amount of each row. Raises Refusal: one is none, or has another unit."""
    found: dict[ComputedRow, Amount] = {}
    for row in rows:
        amount = amount_of(row.value)
        if amount is None:
            raise Refusal(f"{plain(row.value)!r} is no single number")
        found[row] = amount
    units = sorted({amount.unit for amount in found.values()})
    if len(units) > 1:
        raise Refusal(f"the units differ: {', '.join(unit or 'none' for unit in units)}")
    return found


def _extreme(asked: RowQuestion, rows: Sequence[ComputedRow], label: str, named: Named, same: Same) -> Computed:
    amounts = _amounts(rows)
    best = max(amounts.values(), key=lambda amount: asked.sign * amount.number)
    having = [row for row, amount in amounts.items() if amount.number == best.number]
    word = "highest" if asked.sign > 0 else "lowest"
    if asked.thing.stems:
        total = len({_group(row, same) for row in rows})
        chosen = {_group(row, same) for row in having}
        found = _groups(having, chosen, total, f"with the {word} {label}: {best.text}", named, same)
        return Computed(found.text, found.values, tuple(having))
    owners = sorted({named(row.thing) for row in having} - {""}, key=str.casefold)
    of = f" ({', '.join(owners)})" if owners else ""
    return Computed(f"{_HOLDS}, the {word} {label} is {best.text}{of}.", (_number(best),), tuple(having))


def _number(amount: Amount) -> Value:
    return Value("number", amount.text, str(amount.number), amount.unit)


def _summed(asked: RowQuestion, rows: Sequence[ComputedRow], label: str) -> Computed:
    amounts = _amounts(rows)
    if len({row.thing for row in rows}) < len({(row.thing, row.value) for row in rows}):
        raise Refusal("one thing has several values")
    numbers = [amount.number for amount in {(row.thing, row.value): one for row, one in amounts.items()}.values()]
    total = sum(numbers, Decimal(0))
    result = total if asked.form == "total" else (total / len(numbers)).quantize(_CENT, ROUND_HALF_UP)
    whole = result == result.to_integral_value()
    shown = f"{result.quantize(Decimal(1)) if whole else result.normalize():f}"
    unit = next(iter(amounts.values())).unit
    text = f"{shown} {unit}".strip()
    word = "sum" if asked.form == "total" else "average"
    sentence = f"{_HOLDS}, the {word} of {len(numbers)} value{'s' * (len(numbers) > 1)} of {label} is {text}."
    return Computed(sentence, (Value("number", text, shown, unit),), tuple(rows))


def compared(
    asked: RowQuestion,
    sides: tuple[Sequence[ComputedRow], Sequence[ComputedRow]],
    called: tuple[str, str],
    label: str,
    same: Same,
) -> Computed:
    """Return the answer to a comparison of two sets of rows, which have names.

    Raises:
        Refusal: the rows do not decide it.
    """
    first, second = sides
    if asked.form == "compare counts":
        low = high = Decimal(len({same(row.thing) for row in first}))
        other_low = other_high = Decimal(len({same(row.thing) for row in second}))
        shown = f"{called[0]} has {low} ({label}), {called[1]} {other_low}"
    else:
        _amounts([*first, *second])
        numbers = [[(one.number, one.text) for one in _amounts(rows).values()] for rows in sides]
        (low, _), (high, _) = min(numbers[0]), max(numbers[0])
        (other_low, _), (other_high, _) = min(numbers[1]), max(numbers[1])
        texts = [" and ".join(dict.fromkeys(text for _, text in sorted(each))) for each in numbers]
        shown = f"the {label} of {called[0]} is {texts[0]}, that of {called[1]} {texts[1]}"
    above, below = (low > other_high, high < other_low) if asked.sign > 0 else (high < other_low, low > other_high)
    equal = low == high == other_low == other_high
    if not (above or below or equal) or (equal and asked.chooses):
        raise Refusal("the values do not decide it: " + shown)
    resting = (*first, *second)
    if asked.chooses:
        chosen = called[0] if above else called[1]
        return Computed(f"{_HOLDS}, {chosen}: {shown}.", (Value("choice", chosen),), resting)
    truth = Value("boolean", "yes" if above else "no", "true" if above else "false")
    return Computed(f"{'Yes' if above else 'No'}: {shown}.", (truth,), resting)
