"""The mistakes that people make most in SPARQL, told by the tokens around the place where reading stops.

Each rule looks at the token at which reading stops, those before and after it, and returns what is wrong, what to write
instead, where, and the change that does it; or None.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from kgrag.late_patterns import late_re
from kgrag.sparql.bracket_faults import Fault
from kgrag.sparql.syntax import Edit
from kgrag.sparql.tokens import CLOSING, OPENING, Token

__all__ = ["TokenWindow", "mistakes"]

_AGGREGATES = frozenset({"AVG", "COUNT", "GROUP_CONCAT", "MAX", "MIN", "SAMPLE", "SUM"})
_KEYWORDS = (
    *("ASC", "ASK", "BASE", "BIND", "BY", "CONSTRUCT", "DESC", "DESCRIBE", "DISTINCT", "EXISTS", "FILTER", "FROM"),
    *("GRAPH", "GROUP", "HAVING", "IN", "LIMIT", "MINUS", "NAMED", "NOT", "OFFSET", "OPTIONAL", "ORDER", "PREFIX"),
    *("REDUCED", "SELECT", "UNION", "VALUES", "WHERE", "AS", "DELETE", "INSERT", "DATA"),
)
_BEFORE_GROUPS = frozenset({"GRAPH", "MINUS", "OPTIONAL", "UNION", "WHERE", "EXISTS"})
_MODIFIERS = ("GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET")
_TERMS = frozenset({"variable", "name", "iri", "string", "number", "label", "anon", "nil", "language"})
_ADDRESS = late_re(r"https?://[^\s<>\"{}|^`\\]+")
_QUOTES = late_re("[\u2018\u2019\u201c\u201d\u201e\u00ab\u00bb]")
_LANGUAGE = late_re(r"@([A-Za-z]+)_([A-Za-z0-9]+)")


@dataclass(frozen=True, slots=True)
class TokenWindow:
    """The tokens of a text, and the place of the one at which reading stops; ``len(found)`` at the end of the text."""

    text: str
    found: Sequence[Token]
    place: int

    def at(self, offset: int) -> Token:
        """Return a token by its distance from the place; an empty one beyond the ends."""
        number = self.place + offset
        end = len(self.text)
        return self.found[number] if 0 <= number < len(self.found) else Token("end", "", end, end)

    def word(self, offset: int) -> str:
        """Return the word at a distance in capitals, "" for another token."""
        token = self.at(offset)
        return token.text.upper() if token.kind == "word" else ""

    @property
    def brackets(self) -> list[str]:
        """The brackets that are open at the place, the innermost last."""
        opened: list[str] = []
        for token in self.found[: self.place]:
            if token.kind in OPENING:
                opened.append(token.kind)
            elif token.kind in CLOSING and opened:
                opened.pop()
        return opened

    @property
    def in_selection(self) -> bool:
        """Whether the place is between SELECT and what follows the selected variables."""
        for token in reversed(self.found[: self.place]):
            if token.kind == "{" or (token.kind == "word" and token.text.upper() in ("WHERE", "FROM")):
                return False
            if token.kind == "word" and token.text.upper() in ("SELECT", "DISTINCT", "REDUCED"):
                return True
        return False

    def end_of_condition(self) -> int:
        """Return where a condition that begins at the place ends: before a dot, a bracket that closes, or a keyword."""
        depth, end = 0, self.at(0).end
        for token in self.found[self.place :]:
            depth += (token.kind in OPENING) - (token.kind in CLOSING)
            keyword = token.kind == "word" and token.text.upper() in ("FILTER", "OPTIONAL", "BIND", "UNION", "MINUS")
            if depth < 0 or (depth == 0 and (token.kind == "." or keyword)):
                break
            end = token.end
        return end

    def end_of_call(self, offset: int) -> int | None:
        """Return where the brackets that begin at a distance end; None where there are none."""
        depth = 0
        for token in self.found[self.place + offset :]:
            if token.kind == "nil" and not depth:
                return token.end
            depth += (token.kind in OPENING) - (token.kind in CLOSING)
            if depth <= 0:
                return token.end if token.kind == ")" else None
        return None


def mistakes(window: TokenWindow) -> Fault | None:
    """Return the mistake that the first rule that fits tells; None where none does."""
    return next((fault for rule in _RULES if (fault := rule(window)) is not None), None)


def _typographic_quotes(window: TokenWindow) -> Fault | None:
    token = window.at(0)
    if not _QUOTES.match(token.text):
        return None
    return f"{token.text} is no quotation mark of SPARQL", "Write \" or '", token.start, token.end, None


def _bare_address(window: TokenWindow) -> Fault | None:
    """``http://x.org/a`` without angle brackets; reading stops at it, or after its ``http:``."""
    at = window.at(0).start
    for match in _ADDRESS.finditer(window.text, max(at - 8, 0), at + 2000):
        start, address = match.start(), match[0].rstrip(".,;)")
        if start <= at <= match.end() and window.text[start - 1 : start] not in ("<", '"', "'"):
            end = start + len(address)
            edit = Edit(start, end, f"<{address}>")
            return "an IRI stands in angle brackets", f"Write {edit.text}", start, end, edit
    return None


def _comma_between_variables(window: TokenWindow) -> Fault | None:
    token = window.at(0)
    if token.kind != "," or window.brackets or not window.in_selection:
        return None
    edit = Edit(token.start, token.end, "")
    return "selected variables have no commas between them", "Leave the comma out", token.start, token.end, edit


def _table_after_from(window: TokenWindow) -> Fault | None:
    """``SELECT name FROM people``, as in SQL; reading stops at the table, or at a column before it."""
    for number in range(max(window.place - 1, 0), len(window.found) - 1):
        token, table = window.found[number], window.found[number + 1]
        if token.kind == "{":
            break
        if token.text.upper() == "FROM" and table.kind in ("word", "string") and table.text.upper() != "NAMED":
            break
    else:
        return None
    if token.kind == "{":
        return None
    message = f"FROM takes the IRI of a graph, and {table.text[:60]} looks like a table of SQL"
    rest = window.found[number + 2 : number + 4]
    has_group = [each.kind for each in rest][:1] == ["{"] or [each.text.upper() for each in rest] == ["WHERE", "{"]
    if has_group:
        edit = Edit(token.start, rest[0].start, "")
        return message, "Leave it out, or write FROM <...>", token.start, table.end, edit
    return message, "Describe in braces what you look for, as in { ?thing a <CLASS> }", token.start, table.end, None


def _nameless_expression(window: TokenWindow) -> Fault | None:
    """``BIND(?o + 1)`` or ``SELECT (?o + 1)``: reading stops at the bracket that closes it."""
    token, opened = window.at(0), window.brackets
    if token.kind != ")" or opened[-1:] != ["("]:
        return None
    depth = 0
    for number in range(window.place - 1, -1, -1):
        depth += (window.found[number].kind in CLOSING) - (window.found[number].kind in OPENING)
        if depth < 0:
            break
    before = window.found[number - 1] if number else token
    selects = window.in_selection and len(opened) == 1
    if not selects and before.text.upper() != "BIND":
        return None
    used = Counter(each.text[1:] for each in window.found if each.kind == "variable")
    free = (name for name in ("value", *(f"value{number}" for number in range(2, len(used) + 3))) if name not in used)
    group = next(each.start for each in window.found if each.kind in ("{", "("))
    lacking = (each.text[1:] for each in window.found if each.kind == "variable" and each.start < group)
    # a variable that is selected and used nowhere has no value, so it is the one that was meant
    name = next((each for each in lacking if used[each] == 1), "") or next(free)
    where = "is selected" if selects else "BIND computes"
    start = window.found[number].start
    message = f"what {where} takes a name by AS, and this has none"
    return (
        message,
        f"Write AS ?{name} before the bracket",
        start,
        token.end,
        Edit(token.start, token.start, f" AS ?{name}"),
    )


def _bare_aggregate(window: TokenWindow) -> Fault | None:
    word, token = window.word(0), window.at(0)
    if word not in _AGGREGATES or not window.in_selection or window.brackets:
        return None
    end = window.end_of_call(1)
    name = f"?{word.lower()}"
    message = "an expression that is selected stands in brackets, with a name"
    if end is None:
        return message, f"Write ({word}(...) AS {name})", token.start, token.end, None
    if window.text[end:].lstrip()[:2].upper() == "AS":
        return message, "Put brackets around it and its AS ?name", token.start, end, None
    edit = Edit(token.start, end, f"({window.text[token.start : end]} AS {name})")
    return message, f"Write {edit.text}", token.start, end, edit


def _variable_without_mark(window: TokenWindow) -> Fault | None:
    token = window.at(0)
    wanted = (window.in_selection and not window.brackets) or window.word(-1) == "AS"
    if token.kind != "word" or not wanted or token.text.upper() in _KEYWORDS:
        return None
    if get_close_matches(token.text.upper(), ["WHERE", "FROM", "DISTINCT"], 1, 0.75):
        return None
    edit = Edit(token.start, token.start, "?")
    return f"a variable begins with ?, and {token.text} does not", f"Write ?{token.text}", token.start, token.end, edit


def _misspelt_keyword(window: TokenWindow) -> Fault | None:
    for offset in (0, -1):
        token = window.at(offset)
        if token.kind != "word" or token.text.upper() in _KEYWORDS or len(token.text) < 3:
            continue
        if close := get_close_matches(token.text.upper(), _KEYWORDS, 1, 0.74):
            edit = Edit(token.start, token.end, close[0])
            return f"{token.text} is no keyword", f"Write {close[0]}", token.start, token.end, edit
    return None


def _missing_by(window: TokenWindow) -> Fault | None:
    if window.word(-1) not in ("ORDER", "GROUP") or window.word(0) == "BY":
        return None
    word = window.at(-1)
    edit = Edit(word.end, word.end, " BY")
    return f"{word.text} is followed by BY", f"Write {word.text} BY", word.start, word.end, edit


def _late_modifier(window: TokenWindow) -> Fault | None:
    word, token = window.word(0), window.at(0)
    if word not in _MODIFIERS or window.brackets:
        return None
    earlier = [each.text.upper() for each in window.found[: window.place] if each.kind == "word"]
    before = [each for each in _MODIFIERS[_MODIFIERS.index(word) + 1 :] if each in earlier]
    if not before:
        return None
    return f"{word} stands after {before[0]}", f"Write {word} before {before[0]}", token.start, token.end, None


def _filter_without_brackets(window: TokenWindow) -> Fault | None:
    token = window.at(0)
    if window.word(-1) not in ("FILTER", "HAVING") or token.kind not in _TERMS | {"!", "-"}:
        return None
    end = window.end_of_condition()
    edit = Edit(token.start, end, f"({window.text[token.start : end]})")
    return f"the condition of {window.word(-1)} stands in brackets", f"Write {edit.text}", token.start, end, edit


def _group_without_braces(window: TokenWindow) -> Fault | None:
    token = window.at(0)
    after_graph = window.word(-2) == "GRAPH" and window.at(-1).kind in _TERMS
    before = "GRAPH" if after_graph else window.word(-1)
    if before not in _BEFORE_GROUPS or token.kind not in _TERMS or (before == "GRAPH" and not after_graph):
        return None
    end = window.end_of_condition()
    edit = Edit(token.start, end, f"{{ {window.text[token.start : end]} }}")
    return f"what follows {before} stands in braces", f"Write {edit.text}", token.start, end, edit


def _word_as_operator(window: TokenWindow) -> Fault | None:
    token, sign = window.at(0), {"AND": "&&", "OR": "||"}.get(window.word(0))
    if sign is None or "(" not in window.brackets:
        return None
    return f"{token.text} is no operator", f"Write {sign}", token.start, token.end, Edit(token.start, token.end, sign)


def _double_equals(window: TokenWindow) -> Fault | None:
    token, before = window.at(0), window.at(-1)
    if token.kind != "=" or before.kind != "=" or before.end != token.start:
        return None
    return "== is no operator", "Write =", before.start, token.end, Edit(before.start, token.end, "=")


def _equals_in_pattern(window: TokenWindow) -> Fault | None:
    token, left, right = window.at(0), window.at(-1), window.at(1)
    if token.kind not in ("=", "!=", "<", ">", "<=", ">=") or window.brackets[-1:] != ["{"] or left.kind != "variable":
        return None
    what = f"{token.kind} compares, and stands in a FILTER"
    if right.kind not in _TERMS:
        return what, f"Write FILTER ({left.text} {token.kind} ...)", left.start, token.end, None
    edit = Edit(left.start, right.end, f"FILTER ({window.text[left.start : right.end]})")
    return what, f"Write {edit.text}", left.start, right.end, edit


def _language_tag(window: TokenWindow) -> Fault | None:
    for offset in (0, -1):
        token = window.at(offset)
        if match := _LANGUAGE.match(window.text, token.start):
            edit = Edit(match.start(), match.end(), f"@{match[1]}-{match[2]}")
            return "a language tag has hyphens", f"Write {edit.text}", match.start(), match.end(), edit
        if token.text == "@" and window.at(offset - 1).kind == "string":
            message = "@ after a text is followed by a language, such as @en"
            return message, "Write one, or leave @ out", token.start, token.end, Edit(token.start, token.end, "")
    return None


def _single_caret(window: TokenWindow) -> Fault | None:
    token = window.at(0)
    if token.kind != "^" or window.at(-1).kind != "string":
        return None
    return "a datatype follows ^^", "Write ^^", token.start, token.end, Edit(token.start, token.end, "^^")


def _capital_a(window: TokenWindow) -> Fault | None:
    for offset in (0, -1):
        token = window.at(offset)
        if token.text == "A" and window.at(offset - 1).kind in _TERMS:
            message = "the keyword a, for rdf:type, is a small letter"
            return message, "Write a", token.start, token.end, Edit(token.start, token.end, "a")
    return None


def _missing_dot(window: TokenWindow) -> Fault | None:
    token, before = window.at(0), window.at(-1)
    begins = token.kind in _TERMS or token.kind in ("[", "(") or token.text == "a"
    ends = before.kind in _TERMS or before.kind in ("]", ")")
    if not (begins and ends) or window.brackets[-1:] != ["{"]:
        return None
    sign = ";" if token.text == "a" else "."
    edit = Edit(before.end, before.end, f" {sign}")
    what = f"two triples have a dot between them, and {window.text[before.start : before.end][:60]} is followed by none"
    if sign == ";":
        what = "two properties of one subject have a semicolon between them"
    return what, f"Write {sign} before {token.text[:60]}", token.start, token.end, edit


_RULES: tuple[Callable[[TokenWindow], Fault | None], ...] = (
    _typographic_quotes,
    _bare_address,
    _table_after_from,
    _nameless_expression,
    _comma_between_variables,
    _bare_aggregate,
    _missing_by,
    _word_as_operator,
    _double_equals,
    _language_tag,
    _single_caret,
    _filter_without_brackets,
    _group_without_braces,
    _equals_in_pattern,
    _capital_a,
    _late_modifier,
    _misspelt_keyword,
    _variable_without_mark,
    _missing_dot,
)
