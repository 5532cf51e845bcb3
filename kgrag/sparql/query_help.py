"""What is wrong with a SPARQL text that does not parse, where, and what to write instead.

The engine's parser lists what it could take at the furthest place that it came to, which is seldom where the mistake
is. Here the text is read by ``kgrag.sparql.query_reader``, whose place is right, and the mistakes that people make most
are told by the tokens around that place. Where one change of the text does away with the mistake, it is proposed: the
changed text has been read, and is faultless at least up to a later place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kgrag.errors import InvalidSPARQL
from kgrag.late_patterns import late_re
from kgrag.sparql.bracket_faults import bracket_fault
from kgrag.sparql.query_mistakes import TokenWindow, mistakes
from kgrag.sparql.query_reader import QueryReader
from kgrag.sparql.syntax import Edit, Limits
from kgrag.sparql.tokens import Token, tokens

__all__ = ["Help", "help_for", "helped", "with_declarations"]

_MAX_CHARACTERS = 20_000
"""Of a text that is read here: longer ones are written by programs, and take long to read."""
_MAX_LINE_CHARACTERS = 160
_PLACE = late_re(r"line (\d+), column (\d+)")
_NEAR = r"line \d+, column \d+(?: near .*['\"]|, at the end)"
_STOPPED = late_re(rf"(?s){_NEAR}: (.*)\. Correct the text there\.")
"""What the engine's parser says (``kgrag.store.engine``)."""
_UPDATE_WORDS = frozenset({"ADD", "CLEAR", "COPY", "CREATE", "DELETE", "DROP", "INSERT", "LOAD", "MOVE", "WITH"})

_Prefixes = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Help:
    """A mistake at ``text[start:end]``: what is wrong, what to do, and the change that does it where one is certain."""

    message: str
    instead: str
    start: int
    end: int
    mend: Edit | None = None

    def told(self, text: str) -> str:
        """Return it for a person: with line and column, the line of the text, and a caret under the place."""
        line_start = text.rfind("\n", 0, self.start) + 1
        line = text[line_start:].partition("\n")[0].rstrip()
        column = self.start - line_start
        first = max(column - _MAX_LINE_CHARACTERS // 2, 0)
        marks = "^" * max(min(self.end - self.start, len(line) - column, _MAX_LINE_CHARACTERS // 2), 1)
        number = text.count("\n", 0, self.start) + 1
        what = f"line {number}, column {column + 1}: {self.message}. {self.instead}."
        return f"{what}\n  {line[first : first + _MAX_LINE_CHARACTERS]}\n  {' ' * (column - first)}{marks}"


def helped(
    error: InvalidSPARQL, text: str, *, prefixes: _Prefixes, known: _Prefixes, update: bool = False
) -> InvalidSPARQL:
    """Return the error of a text that does not parse with what is wrong with it, or where, if that is unsure.

    Args:
        error: that of the engine.
        text: the query or update.
        prefixes: those that it may use without declaring them.
        known: those that can be proposed where one is not declared.
        update: whether it was sent as an update.
    """
    near = _offset(error, text, prefixes)
    found = help_for(text, prefixes=prefixes, known=known, update=update, near=near)
    if found is None:
        stopped = _STOPPED.fullmatch(str(error))
        if near is None or stopped is None:
            return error
        found = Help(stopped[1], "Correct the text there", near, near + 1)
    line = text.count("\n", 0, found.start) + 1
    column = found.start - text.rfind("\n", 0, found.start)
    mend = None if found.mend is None else (found.mend.start, found.mend.end, found.mend.text)
    return InvalidSPARQL(found.told(text), line=line, column=column, mend=mend)


def with_declarations(text: str, prefixes: _Prefixes) -> str:
    """Return a query or update with declarations of the prefixes that it uses and does not declare, in its first line.

    >>> with_declarations("ASK { ?s a zoo:Cat }", {"zoo": "http://example.org/zoo#", "b": "urn:b:"})
    'PREFIX zoo: <http://example.org/zoo#> ASK { ?s a zoo:Cat }'
    """
    if not any(f"{prefix}:" in text for prefix in prefixes):
        return text
    used: dict[str, None] = {"": None}
    declared: set[str] = set()
    before = ""
    for token in tokens(text):
        if token.kind == "name":
            prefix = token.text.partition(":")[0]
            (declared.add if before == "PREFIX" else used.setdefault)(prefix)
        before = token.text.upper() if token.kind == "word" else ""
    missing = [prefix for prefix in used if prefix in prefixes and prefix not in declared]
    return "".join(f"PREFIX {prefix}: <{prefixes[prefix]}> " for prefix in missing) + text


def _offset(error: InvalidSPARQL, text: str, prefixes: _Prefixes) -> int | None:
    """Return where the engine stopped in a text, which it read with declarations before it; None: it does not say."""
    place = _PLACE.match(str(error))
    if place is None:
        return None
    whole = with_declarations(text, prefixes)
    lines = whole.split("\n")
    at = sum(len(line) + 1 for line in lines[: int(place[1]) - 1]) + int(place[2]) - 1
    return max(min(at - (len(whole) - len(text)), len(text)), 0)


def help_for(
    text: str, *, prefixes: _Prefixes, known: _Prefixes, update: bool = False, near: int | None = None
) -> Help | None:
    r"""Return the first mistake of a text that does not parse; None for one that does, is too long, or none is found.

    Args:
        text: the query or update.
        prefixes: those that it may use without declaring them.
        known: those that can be proposed where one is not declared.
        update: whether it is to be an update.
        near: where the engine stopped, which is at or after the mistake; used for updates, which are not read here.

    >>> help_for("SELECT ?s { ?s a dcat:Dataset }", prefixes={}, known={"dcat": "http://www.w3.org/ns/dcat#"}).mend
    Edit(start=0, end=0, text='PREFIX dcat: <http://www.w3.org/ns/dcat#>\n')
    """
    if len(text) > _MAX_CHARACTERS:
        return None
    found = list(tokens(text))
    if other := _other_operation(found, update=update):
        return other
    if fault := bracket_fault(text, found):
        return _of_bracket(Help(*fault), text, prefixes, update=update)
    if update:
        address = next((each.start for each in found if each.text in ("http:", "https:")), None)
        at = len(text) if near is None else near
        by_address = None if address is None else _by_tokens(text, found, address)
        return by_address or _undeclared(found, prefixes, known) or _by_tokens(text, found, at)
    return _of_query(text, found, prefixes) or _undeclared(found, prefixes, known)


def _of_bracket(fault: Help, text: str, prefixes: _Prefixes, *, update: bool) -> Help:
    """Return the fault of a bracket; one that is not closed may be to be closed where reading stops, before the end."""
    found = _certain(fault, text, prefixes, update=update)
    if found.mend is not None or fault.mend is None or fault.mend.start < fault.end:
        return found
    at = _fault(text, prefixes)[0]
    return _certain(replace(fault, mend=Edit(at, at, f"{fault.mend.text.strip()} ")), text, prefixes, update=update)


def _of_query(text: str, found: Sequence[Token], prefixes: _Prefixes) -> Help | None:
    """Return the mistake at which reading stops; None for a query that is read, but for its prefixes."""
    at, message = _fault(text, prefixes)
    if message is None:
        return None
    if own := _by_tokens(text, found, at):
        return _certain(own, text, prefixes, update=False)
    what, _, instead = message.partition(". ")
    end = next((token.end for token in found if token.start >= at), at + 1)
    return Help(what, instead.rstrip(".") or "Correct it there", at, end)


def _fault(text: str, prefixes: _Prefixes) -> tuple[int, str | None]:
    """Return where our reader stops, and what it says there; the end of the text and None where it reads all."""
    try:
        reader = QueryReader(text, Limits())
        reader.declared.update(prefixes)
        query = reader.query()
    except InvalidSPARQL as error:
        at = _offset(error, text, {})
        return len(text) if at is None else at, _PLACE.sub("", str(error)).removeprefix(": ")
    except RecursionError:
        return len(text), None
    problems = [(each.place.start, each.message) for each in query.problems if each.rule != "undeclared-prefix"]
    problems += [
        (
            use.place.start,
            f"?{use.variable.name} is selected, and nothing gives it a value. Use it in WHERE, or leave it out",
        )
        for use in query.uses
        if use.clause == "SELECT" and not use.bound and not problems
    ]
    return min(problems, default=(len(text), None))


def _certain(found: Help, text: str, prefixes: _Prefixes, *, update: bool) -> Help:
    """Return the mistake without its change, where the changed text is not read further than before."""
    if found.mend is None or update:
        return found
    edit = found.mend
    changed = text[: edit.start] + edit.text + text[edit.end :]
    before, after = _fault(text, prefixes), _fault(changed, prefixes)
    further = after[1] is None or len(changed) - after[0] < len(text) - before[0]
    return found if further else Help(found.message, found.instead, found.start, found.end)


def _by_tokens(text: str, found: Sequence[Token], at: int) -> Help | None:
    place = next((number for number, token in enumerate(found) if token.end > at), len(found))
    fault = mistakes(TokenWindow(text, found, place))
    return None if fault is None else Help(*fault)


def _undeclared(found: Sequence[Token], prefixes: _Prefixes, known: _Prefixes) -> Help | None:
    """Return the first prefix that is not declared."""
    declared = set(prefixes)
    for before, token in zip([None, *found], found, strict=False):
        if token.kind != "name":
            continue
        prefix = token.text.partition(":")[0]
        if before is not None and before.text.upper() == "PREFIX":
            declared.add(prefix)
        elif prefix not in declared:
            space = known.get(prefix)
            line = f"PREFIX {prefix}: <{space or '...'}>"
            mend = Edit(0, 0, f"{line}\n") if space else None
            end = token.start + len(prefix) + 1
            return Help(f"the prefix {prefix}: is not declared", f"Add {line} at the beginning", token.start, end, mend)
    return None


def _other_operation(found: Sequence[Token], *, update: bool) -> Help | None:
    """Return that a text is an update where a query is expected, or the other way round."""
    first = _first_word(found)
    if first is None or (first.text.upper() in _UPDATE_WORDS) == update:
        return None
    word = first.text.upper()
    if update and word in ("SELECT", "ASK", "CONSTRUCT", "DESCRIBE"):
        return Help(f"{word} begins a query, and an update is expected", "Send it to /sparql", first.start, first.end)
    if not update:
        what = f"{word} begins an update, and a query is expected"
        return Help(what, "Send it to /update, with a key", first.start, first.end)
    return None


def _first_word(found: Sequence[Token]) -> Token | None:
    """Return the first word after the declarations of prefixes."""
    declaring = False
    for token in found:
        if token.kind == "word" and token.text.upper() in ("PREFIX", "BASE"):
            declaring = True
        elif declaring and token.kind in ("name", "iri"):
            declaring = token.kind != "iri"
        else:
            return token if token.kind == "word" else None
    return None
