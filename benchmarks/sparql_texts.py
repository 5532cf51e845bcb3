"""Random SPARQL texts: valid ones by the grammar of SPARQL 1.1 and 1.2, nearly valid ones, and broken ones.

The same source of chance writes the same text. Other texts (stored queries, test suites) are taken over and changed.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path

__all__ = ["TextWriter", "stored_texts"]

_PREFIXES = {
    "kg": "https://w3id.org/kgrag/ns#",
    "kgv": "https://w3id.org/kgrag/vector#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "ex": "urn:fuzz:",
    "odd": "http://h:8",
}
_GRAPHS = ("urn:fuzz:a", "urn:fuzz:b", "urn:fuzz:none", "urn:kgrag:graph/catalogue", "urn:other:c")
_IRIS = ("ex:s1", "ex:s2", "ex:p", "ex:q", "rdf:type", "rdfs:label", "kg:text", "<urn:fuzz:s3>")
_ODD_IRIS = (
    *("<>", "<x>", "<#>", "<//h/x>", "<urn:é>", r"<\u0075rn:x>", "<a b>", "<urn:x{>", "<http://[::1>", r"ex:a\-b"),
    *("ex:%zz", "ex:é", ":", "_:b", "_:1", "odd:1", "nope:x", "a"),
)
_LITERALS = ('"x"', "'y'", '"é"@fr', "1", "1.5", "1e9", "true", '"2024-02-29"^^xsd:date', '"""lines\n"of" it """', '""')
_ODD_LITERALS = (
    *(r"'''a\''''", '"x"@en--ltr', '"x"@en_GB', r'"\u0000"', r'"\t\n\r\b\f\""', r'"\uD800"', r'"\U0010FFFF"', "UNDEF"),
    *(r'"\U00110000"', "-1", "+01", "1.", ".5", "1e400", "1E-400", "9" * 40, "-9223372036854775808", "false"),
    *('"abc"^^xsd:integer', '"2024-02-30"^^xsd:date', '"99999-12-31T24:00:00Z"^^xsd:dateTime', '"P1Y"^^xsd:duration'),
    *('"NaN"^^xsd:double', '"-INF"^^xsd:float', '"1"^^<urn:fuzz:type>', '"1"^^nope:x', '"x"^^rdf:langString'),
    *('"\x01"', '"\ufffe"', '"\t"', '"\r"', '"\0"', '"1"^^xsd:string', "'<&>]]>'", r'"\u0001"', r'"\u000B"@en'),
)
_FUNCTIONS = (
    "RAND NOW UUID STRUUID BNODE",
    "STR LANG DATATYPE IRI URI ABS CEIL FLOOR ROUND STRLEN UCASE LCASE ENCODE_FOR_URI YEAR MONTH DAY HOURS MINUTES "
    "BNODE SECONDS TIMEZONE TZ MD5 SHA1 SHA256 SHA384 SHA512 isIRI isBLANK isLITERAL isNUMERIC SUBJECT isTRIPLE "
    "LANGDIR hasLANG xsd:integer xsd:double xsd:decimal xsd:boolean xsd:dateTime xsd:date xsd:string ex:none COALESCE",
    "LANGMATCHES CONTAINS STRSTARTS STRENDS STRBEFORE STRAFTER STRLANG STRDT sameTerm REGEX SUBSTR CONCAT ADJUST "
    "kgv:similarity",
    "IF SUBSTR REPLACE TRIPLE COALESCE STRLANGDIR",
)
"""By the number of their arguments."""
_AGGREGATES = ("COUNT", "SUM", "MIN", "MAX", "AVG", "SAMPLE", "GROUP_CONCAT")
_OPERATORS = ("||", "&&", "=", "!=", "<", ">", "<=", ">=", "+", "-", "*", "/")
_PATTERNS = ('"(a+)+$"', '"["', r'"\\p{L}"', '"(?i)x"', '"a{1000}{1000}"', '"(?=x)"', '".*"', r'"\\1"')
_SEARCHES = ("kgv:near", "kgv:matches", "kgv:fused", "kgv:nothing")
_WORDS = (
    "SELECT WHERE ASK CONSTRUCT DESCRIBE FROM NAMED GRAPH OPTIONAL UNION MINUS FILTER BIND VALUES SERVICE SILENT LOAD "
    "INTO INSERT DELETE DATA WITH USING CLEAR DROP ALL DEFAULT COPY MOVE ADD TO LATERAL EXISTS NOT IN AS GROUP BY "
    "HAVING ORDER ASC DESC LIMIT OFFSET DISTINCT REDUCED BASE PREFIX VERSION UNDEF { } ( ) [ ] << >> <<( )>> {| . ; , "
    "^ ^^ ! | / * + ? ?x $y _:z @en @prefix # <x> <"
)
_ODD_CHARACTERS = (
    "\0\1\x0b\x1b\x7f\x85\xa0\xad\u200b\u200d\u2028\u202e\ufeff\ufffe\uffff\ud800\udfff\U0001f600\U0010ffff\u0301ßİ"
    "\\\"'`%&+\r\t"
)
_MAX_DEPTH = 3
_TEMPLATE_VALUE, _TEMPLATE_STEP = re.compile(r"\{\{.*?\}\}", re.DOTALL), re.compile(r"\{%.*?%\}", re.DOTALL)


def stored_texts(*folders: Path) -> dict[str, list[str]]:
    """Read the queries (``*.rq``) and updates (``*.ru``) below folders; of templates, with a value for each parameter.

    Returns:
        The texts under "query" and "update", sorted by their paths.
    """
    found: dict[str, list[str]] = {"query": [], "update": []}
    for kind, suffix in (("query", "*.rq"), ("update", "*.ru")):
        for path in sorted(path for folder in folders for path in folder.rglob(suffix)):
            text = path.read_text(encoding="utf-8", errors="replace")
            found[kind].append(_TEMPLATE_STEP.sub("", _TEMPLATE_VALUE.sub("<urn:fuzz:a>", text)))
    return found


class TextWriter:
    """Writes texts.

    Args:
        chance: decides all.
        stored: texts that are taken over, by kind ("query", "update").
    """

    def __init__(self, chance: random.Random, stored: dict[str, list[str]]) -> None:
        self._chance = chance
        self._stored = stored

    def text(self, kind: str) -> str:
        """Return a query or an update: most by the grammar, some stored, two of five with changes."""
        if self._stored[kind] and self._one_in(5):
            text = self._pick(self._stored[kind])
        else:
            text = self._prologue() + (self._query(0) if kind == "query" else self._update(0))
        if self._chance.random() < 0.4:
            for _ in range(self._chance.choice((1, 1, 2, 5))):
                text = self._changed(text, kind)
        return text

    def _pick(self, values: Sequence[str]) -> str:
        return self._chance.choice(values)

    def _one_in(self, count: int) -> bool:
        return self._chance.randrange(count) == 0

    def _one_of(self, *writers: Callable[[], str]) -> str:
        """Return what one of them writes; the others are not called, or texts would take time out of proportion."""
        return self._chance.choice(writers)()

    def _some(self, write: Callable[[int], str], depth: int, most: int = 3, between: str = " ") -> str:
        return between.join(write(depth) for _ in range(self._chance.randint(1, most)))

    # --- terms ---------------------------------------------------------------------------------------------------

    def _variable(self, _: int = 0) -> str:
        return self._pick(("?s", "?p", "?o", "?x", "$y", "?g", "?é"))

    def _iri(self) -> str:
        return self._pick(_ODD_IRIS if self._one_in(60) else _IRIS)

    def _literal(self) -> str:
        return self._pick(_ODD_LITERALS if self._one_in(8) else _LITERALS)

    def _graph(self) -> str:
        return f"<{self._pick(_GRAPHS)}>"

    def _term(self, depth: int) -> str:
        kind = self._chance.randrange(20)
        if kind < 10:
            return self._variable()
        if kind < 14:
            return self._iri()
        if kind < 18 or depth > _MAX_DEPTH:
            return self._literal()
        return self._pick(
            (
                f"[ {self._iri()} {self._term(depth + 1)} ]",
                f"( {self._some(self._term, depth + 1)} )",
                f"<<( {self._variable()} {self._iri()} {self._term(depth + 1)} )>>",
                f"<< {self._variable()} {self._iri()} {self._term(depth + 1)} >>",
                "_:b1",
                "[]",
            )
        )

    def _path(self, depth: int) -> str:
        if depth > _MAX_DEPTH or self._one_in(2):
            return self._iri()
        part = self._path(depth + 1)
        return self._one_of(
            lambda: f"{part}/{self._path(depth + 1)}",
            lambda: f"({part}|{self._path(depth + 1)})",
            lambda: self._pick((f"^({part})", f"({part})*", f"({part})+", f"({part})?")),
            lambda: self._pick((f"!({self._iri()}|^{self._iri()})", f"!{self._iri()}")),
            lambda: part + "/ex:p" * self._chance.choice((3, 3, 3, 150, 250)),
        )

    def _triples(self, depth: int) -> str:
        subject = self._term(depth) if self._one_in(8) else self._pick((self._variable(), self._iri()))
        verb = self._pick((self._variable(), self._iri(), "a", self._path(depth)))
        more = f" ; {self._iri()} {self._term(depth)}" if self._one_in(4) else ""
        return f"{subject} {verb} {self._some(self._term, depth, 2, ' , ')}{more} ."

    def _template(self, depth: int) -> str:
        return f"{self._pick((self._variable(), self._iri()))} {self._iri()} {self._term(depth)} ."

    def _data(self) -> str:
        triples = (
            f"{self._pick(('ex:s1', 'ex:s2', '_:b'))} {self._iri()} {self._pick((self._literal(), 'ex:s1'))} ."
            for _ in range(self._chance.randint(1, 4))
        )
        text = " ".join(triples)
        return text if self._one_in(3) else f"GRAPH {self._graph()} {{ {text} }}"

    # --- expressions ---------------------------------------------------------------------------------------------

    def _expression(self, depth: int) -> str:
        if depth > _MAX_DEPTH or self._one_in(3):
            return self._pick((self._variable(), self._literal(), self._iri()))
        left = self._expression(depth + 1)
        return self._one_of(
            lambda: f"({left} {self._pick(_OPERATORS)} {self._expression(depth + 1)})",
            lambda: self._call(depth + 1),
            lambda: self._call(depth + 1),
            lambda: f"REGEX(STR({left}), {self._pick(_PATTERNS)})",
            lambda: f'REPLACE({left}, {self._pick(_PATTERNS)}, "$0$9")',
            lambda: f"({left} IN ({self._expression(depth + 1)}, {left}))",
            lambda: f"EXISTS {self._group(depth + 1)}",
            lambda: self._pick((f"(!{left})", f"(-{left})", f"({left} NOT IN ())")),
        )

    def _call(self, depth: int) -> str:
        count = self._chance.randrange(4)
        name = self._pick(_FUNCTIONS[self._chance.randrange(4) if self._one_in(20) else count].split())
        return f"{name}({', '.join(self._expression(depth) for _ in range(count))})"

    def _aggregate(self, depth: int) -> str:
        name = self._pick(_AGGREGATES)
        inside = self._pick((self._expression(depth), f"DISTINCT {self._variable()}", "*" if name == "COUNT" else "?s"))
        separator = ' ; SEPARATOR = ", "' if name == "GROUP_CONCAT" and self._one_in(2) else ""
        return f"{name}({inside}{separator})"

    # --- groups --------------------------------------------------------------------------------------------------

    def _group(self, depth: int) -> str:
        if depth > _MAX_DEPTH:
            return f"{{ {self._triples(depth)} }}"
        if self._one_in(8):
            return f"{{ {self._select(depth + 1)} }}"
        return f"{{ {self._some(self._part, depth + 1)} }}"

    def _part(self, depth: int) -> str:
        if self._one_in(2):
            return self._triples(depth)
        if self._one_in(40):
            return self._pick(("SERVICE SILENT <http://127.0.0.1:9/> { }", "SERVICE ?s { }"))
        return self._one_of(
            lambda: f"{self._pick(('OPTIONAL', 'MINUS', 'FILTER NOT EXISTS', 'LATERAL', ''))} {self._group(depth)}",
            lambda: f"GRAPH {self._pick(('?g', self._graph()))} {self._group(depth)}",
            lambda: f"{self._group(depth)} UNION {self._group(depth)}",
            lambda: f"FILTER({self._expression(depth)})",
            lambda: f"BIND({self._expression(depth)} AS ?b{self._chance.randrange(99)})",
            self._values,
            self._search,
        )

    def _search(self) -> str:
        count = self._pick(("5", "0", "-1", "1e9", ""))
        return f"{self._variable()} {self._pick(_SEARCHES)} ({self._literal()} {count}) ."

    def _values(self) -> str:
        if self._one_in(2):
            values = (self._pick((self._literal(), self._iri())) for _ in range(self._chance.randrange(5)))
            return f"VALUES {self._variable()} {{ {' '.join(values)} }}"
        rows = " ".join(f"({self._literal()} {self._iri()})" for _ in range(self._chance.randrange(4)))
        return f"VALUES (?x $y) {{ {rows} }}"

    # --- queries -------------------------------------------------------------------------------------------------

    def _prologue(self) -> str:
        if self._one_in(20):
            odd = (
                "",
                "BASE <http://h/> ",
                "BASE <> ",
                "PREFIX : <> ",
                'VERSION "1.2" ',
                "PREFIX ex: <urn:a:> PREFIX ex: <urn:b:> ",
            )
            return self._pick(odd)
        return "".join(f"PREFIX {name}: <{iri}>\n" for name, iri in _PREFIXES.items())

    def _query(self, depth: int) -> str:
        froms = ""
        if self._one_in(5):
            named = self._pick(("FROM", "FROM NAMED"))
            froms = "".join(f" {named} {self._graph()}" for _ in range(self._chance.choice((1, 2, 5, 25))))
        if self._chance.random() < 0.6:
            return self._select(depth, froms)
        simple = f"{self._variable()} {self._iri()} {self._variable()} ."
        return self._one_of(
            lambda: f"ASK{froms} {self._group(depth)}",
            lambda: f"DESCRIBE {self._iri()}{froms}",
            lambda: f"DESCRIBE {self._pick(('*', self._variable()))}{froms} {self._group(depth)}",
            lambda: f"CONSTRUCT {{ {self._template(depth)} }}{froms} WHERE {self._group(depth)}",
            lambda: f"CONSTRUCT{froms} WHERE {{ {simple} }}",
        )

    def _select(self, depth: int, froms: str = "") -> str:
        group = f"{froms} WHERE {self._group(depth)}"
        if self._one_in(4):  # groups
            key = self._pick((self._variable(), f"({self._expression(depth)} AS ?k)"))
            having = f" HAVING({self._aggregate(depth)} > 0)" if self._one_in(3) else ""
            text = f"SELECT ({self._aggregate(depth)} AS ?n) (COUNT(*) AS ?m){group} GROUP BY {key}{having}"
        else:
            shown = self._pick(("*", self._some(self._variable, depth), f"({self._expression(depth)} AS ?n)"))
            text = f"SELECT {self._pick(('', 'DISTINCT ', 'REDUCED '))}{shown}{group}"
            text += f" ORDER BY {self._pick(('ASC', 'DESC'))}({self._expression(depth)}) ?s" if self._one_in(3) else ""
        if self._one_in(2):
            text += (
                f" LIMIT {self._pick(('0', '10', '10', '10', '1000', '18446744073709551615', '999999999999999999999'))}"
            )
        if self._one_in(8):
            text += f" OFFSET {self._pick(('0', '5', '18446744073709551615', '18446744073709551616'))}"
        return f"{text} {self._values()}" if self._one_in(10) else text

    # --- updates -------------------------------------------------------------------------------------------------

    def _update(self, depth: int) -> str:
        return self._some(self._operation, depth, 3, " ;\n")

    def _operation(self, depth: int) -> str:
        if self._one_in(25):
            return self._pick(
                ("LOAD SILENT <http://127.0.0.1:9/x> INTO GRAPH <urn:fuzz:a>", "LOAD <file:///etc/hostname>")
            )
        return self._one_of(
            *(lambda: f"INSERT DATA {{ {self._data()} }}",) * 3,
            lambda: f"DELETE DATA {{ GRAPH {self._graph()} {{ ex:s1 ex:p ex:s2 }} }}",
            lambda: f"DELETE WHERE {{ {self._quads(depth)} }}",
            *(lambda: self._modification(depth),) * 2,
            self._management,
        )

    def _quads(self, depth: int) -> str:
        graph = self._pick((self._graph(), self._graph(), "?g"))
        template = self._template(depth)
        return template if self._one_in(4) else f"GRAPH {graph} {{ {template} }}"

    def _modification(self, depth: int) -> str:
        head = f"WITH {self._graph()} " if self._one_in(4) else ""
        using = f" USING {self._pick(('', 'NAMED '))}{self._graph()}" if self._one_in(4) else ""
        deleted = f"DELETE {{ {self._quads(depth)} }}" if self._one_in(2) else ""
        inserted = f" INSERT {{ {self._quads(depth)} }}" if not deleted or self._one_in(2) else ""
        group = self._group(depth)
        where = group if self._one_in(2) else f"{{ GRAPH {self._graph()} {group} }}"
        return f"{head}{deleted}{inserted}{using} WHERE {where}"

    def _management(self) -> str:
        silent = self._pick(("", "SILENT "))
        graph = self._pick((f"GRAPH {self._graph()}", f"GRAPH {self._graph()}", "DEFAULT"))
        several = self._pick((graph, graph, graph, "NAMED", "ALL"))
        return self._one_of(
            lambda: f"{self._pick(('CLEAR', 'DROP'))} {silent}{several}",
            lambda: (
                f"{self._pick(('COPY', 'MOVE', 'ADD'))} {silent}{graph} TO {self._pick((self._graph(), 'DEFAULT'))}"
            ),
            lambda: f"CREATE {silent}GRAPH {self._graph()}",
        )

    # --- changes -------------------------------------------------------------------------------------------------

    def _changed(self, text: str, kind: str) -> str:
        """Return the text with a change: a piece less, twice or from elsewhere, odd characters, nesting, length."""
        start = self._chance.randrange(len(text) + 1)
        end = min(len(text), start + self._chance.choice((1, 1, 3, 10, 60)))
        before, piece, after = text[:start], text[start:end], text[end:]
        other = self._pick(self._stored[kind] or [text])
        count = self._chance.choice((3, 45, 60, 900, 1100, 5000))
        escaped = "".join(f"\\u{ord(each):04X}" for each in piece if ord(each) < 0x10000)
        chained = self._pick(("OPTIONAL {} ", "?s ex:p ?o . ", "!", "1 + ", "FILTER(1) ")) * count
        long = self._pick(("x", "é", "\U0001f600")) * self._chance.choice((10, 1000, 70_000, 300_000))
        return self._pick(
            (
                *(
                    before + after,
                    before + piece + piece + after,
                    before,
                    before + escaped + after,
                    before + other[start:],
                ),
                *(f"{before}{self._pick(_ODD_CHARACTERS)}{piece}{after}", before + piece.swapcase() + after),
                *(f"{before} {self._pick(_WORDS.split())} {piece}{after}", before + self._pick(_WORDS.split()) + after),
                *(
                    f"{before}# {self._pick(_WORDS.split())} }}\n{piece}{after}",
                    before + self._pick("{([<") * count + piece + after,
                ),
                *(f"{before}{'{ ' * count}{piece}{after}{' }' * count}", before + chained + piece + after),
                f'{before}"{long}"{piece}{after}',
            )
        )
