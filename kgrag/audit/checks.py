"""The checks of an audit, as they stand in ``shapes/ontology/*.ttl``: one resource a check, with shapes beside it.

A check says what it is called, how bad its findings are in which profile, where else the same is checked, why it
matters, how to mend it, and how it is decided: by SHACL shapes of the same file, by a stored query, or by a step in
Python. Two examples come with it, one that violates and one that conforms; they are its tests. A step that needs more
than a graph (the network) may have none.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType

import pyoxigraph as ox

from kgrag import plugins
from kgrag.errors import InvalidRDF, KgragError, UnknownName
from kgrag.model import Term, plain
from kgrag.resources import closest, folder
from kgrag.vocab import AUDIT, DCTERMS, RDF, RDFS, local_name

__all__ = ["OFF", "SEVERITIES", "Catalogue", "Check", "check_named", "load_catalogue", "load_checks"]

SEVERITIES = ("Violation", "Warning", "Info")
"""How bad a finding is, worst first."""
OFF = "Off"
"""The severity of a check that is not run."""

_LOG = logging.getLogger(__name__)
_LEVELS = (*SEVERITIES, OFF)
_SH = "http://www.w3.org/ns/shacl#"


@dataclass(frozen=True, slots=True)
class Check:
    """One check of the catalogue.

    ``severities`` are those of profiles that differ from ``severity``. Exactly one of ``shapes``, ``query`` and
    ``step`` decides it; ``fix`` is the stored update that mends what it finds, "" where none is safe. ``violating``
    and ``conforming`` are examples in Turtle. ``together`` is how many of its findings read as one, "" where they stay
    apart, and ``among`` names the classes of the terms that it looks at.
    """

    identifier: str
    label: str
    severity: str
    file: Path
    severities: Mapping[str, str] = field(default_factory=dict)
    anchors: tuple[str, ...] = ()
    rationale: str = ""
    mend: str = ""
    caution: str = ""
    shapes: tuple[str, ...] = ()
    query: str = ""
    step: str = ""
    fix: str = ""
    violating: tuple[str, ...] = ()
    conforming: tuple[str, ...] = ()
    together: str = ""
    among: tuple[str, ...] = ()

    @property
    def family(self) -> str:
        """The letters in front of the number, in lower case: "ann" of ANN-01."""
        return self.identifier.partition("-")[0].lower()

    def severity_in(self, profile: str) -> str:
        """Give its severity in a profile."""
        return self.severities.get(profile, self.severity)


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Checks in the order of their identifiers, the files that hold their shapes, and shape -> check."""

    checks: tuple[Check, ...]
    files: tuple[Path, ...]
    owners: Mapping[str, str]


def load_checks() -> tuple[Check, ...]:
    """Give the checks that ship, in the order of their identifiers.

    Raises:
        InvalidRDF: a file does not parse, or a check is not whole; the message names file, line and check.
    """
    return shipped().checks


def check_named(identifier: str) -> Check:
    """Give one check that ships, by its identifier in whatever case.

    Raises:
        UnknownName: there is none of that name.
    """
    known = {check.identifier.lower(): check for check in load_checks()}
    try:
        return known[identifier.lower()]
    except KeyError:
        names = [check.identifier for check in known.values()]
        raise UnknownName(f"there is no check '{identifier}'. {closest(identifier.upper(), names)}") from None


@cache
def shipped() -> Catalogue:
    """Return the checks of ``shapes/ontology``, and of that folder of every package registered for ``kgrag.checks``.

    A package whose checks cannot be read with the others is logged and left out.
    """
    found = load_catalogue(sorted((folder("shapes") / "ontology").glob("*.ttl")))
    for name, plugin in plugins.registered("kgrag.checks").items():
        if plugin.own:
            continue
        try:
            package = Path(plugins.load("kgrag.checks", name, ModuleType).__file__ or "").parent
            found = load_catalogue((*found.files, *sorted((package / "shapes" / "ontology").glob("*.ttl"))))
        except KgragError as error:
            _LOG.warning("The checks of the plug-in '%s' are left out: %s", name, error)
    return found


def load_catalogue(files: Sequence[Path]) -> Catalogue:
    """Read the checks of some files.

    Raises:
        InvalidRDF: a file does not parse, a check is not whole, two checks have one identifier or one shape, or a term
            of the audit vocabulary does not exist.
    """
    checks: dict[str, Check] = {}
    owners: dict[str, str] = {}
    sources = [_Source.read(path) for path in files]
    subjects = {node for source in sources for node in source.index}
    for source in sources:
        source.refuse_unknown_terms(subjects)
        for check in source.checks():
            if check.identifier in checks:
                raise source.error(check.identifier, f"is a check in {checks[check.identifier].file} as well")
            checks[check.identifier] = check
            for shape in source.shapes_within(check.shapes):
                if owners.setdefault(shape, check.identifier) != check.identifier:
                    raise source.error(check.identifier, f"shares the shape {shape} with {owners[shape]}")
    ordered = tuple(checks[name] for name in sorted(checks))
    return Catalogue(ordered, tuple(files), owners)


@dataclass(frozen=True, slots=True)
class _Source:
    """One file of checks: its text, and subject -> predicate -> objects."""

    path: Path
    text: str
    index: Mapping[Term, Mapping[str, Sequence[Term]]]

    @classmethod
    def read(cls, path: Path) -> _Source:
        index: dict[Term, dict[str, list[Term]]] = {}
        try:
            text = path.read_text(encoding="utf-8")
            quads = list(ox.parse(input=text, format=ox.RdfFormat.TURTLE, base_iri=path.absolute().as_uri()))
        except SyntaxError as error:
            told = re.sub(r"^Parser error at line (\d+)[^:]*: ", "", str(error.msg)).rstrip(".")
            raise InvalidRDF(f"{path}, line {error.lineno}: {told}. Mend the file of checks there.") from error
        except (OSError, ValueError) as error:
            raise InvalidRDF(f"{path}: {error}. It should be a file of checks in Turtle, UTF-8.") from error
        for quad in quads:
            index.setdefault(quad.subject, {}).setdefault(quad.predicate.value, []).append(quad.object)
        return cls(path, text, index)

    def checks(self) -> Iterable[Check]:
        """Yield the checks of the file."""
        for node, held in self.index.items():
            if AUDIT.Check in held.get(RDF.type.value, ()):
                yield self._check(node)

    def error(self, name: str, problem: str) -> InvalidRDF:
        """Give the error to raise for a check, with the line where the file first speaks of it as a subject."""
        place = self._place(rf"^\S*{re.escape(name)}\b")
        return InvalidRDF(f"{place}: check {name} {problem}. Mend it there.")

    def _place(self, pattern: str) -> str:
        found = re.search(pattern, self.text, flags=re.MULTILINE)
        line = f", line {self.text.count(chr(10), 0, found.start()) + 1}" if found else ""
        return f"{self.path}{line}"

    def refuse_unknown_terms(self, subjects: Container[Term]) -> None:
        """Raise InvalidRDF for a term in the audit namespace that is neither of its vocabulary nor among the subjects.

        A misspelt predicate says nothing and a misspelt target has no nodes, so that the check would pass everything.
        """
        known = AUDIT.all()
        for held in self.index.values():
            for predicate, objects in held.items():
                for term in (ox.NamedNode(predicate), *objects):
                    name = plain(term).removeprefix(AUDIT.prefix)
                    is_audit = isinstance(term, ox.NamedNode) and term.value.startswith(AUDIT.prefix)
                    if is_audit and name not in known and term not in subjects:
                        place = self._place(rf"[:#]{re.escape(name)}(?![\w-])")
                        raise InvalidRDF(f"{place}: there is no term aud:{name}. {closest(name, known)}")

    def _texts(self, node: Term, name: ox.NamedNode) -> list[str]:
        return [plain(term) for term in self.index.get(node, {}).get(name.value, ())]

    def _one(self, node: Term, name: ox.NamedNode) -> str:
        found = self._texts(node, name)
        if len(found) != 1:
            raise self.error(local_name(plain(node)), f"has {len(found)} values of {_short(name)}, and needs one")
        return found[0]

    def _check(self, node: Term) -> Check:
        name = local_name(plain(node))
        identifier = self._one(node, DCTERMS.identifier)
        if identifier != name or not re.fullmatch(r"[A-Z]+-\d+[a-z]?", identifier):
            raise self.error(name, f"has the identifier '{identifier}', which should be its local name, as in ANN-01")
        shapes, query, step, fix = (
            self._texts(node, term) for term in (AUDIT.shape, AUDIT.query, AUDIT.step, AUDIT.fix)
        )
        if (bool(shapes), len(query), len(step)) not in {(True, 0, 0), (False, 1, 0), (False, 0, 1)}:
            raise self.error(name, "should be decided by aud:shape, or by one aud:query, or by one aud:step")
        self._refuse_unknown(name, shapes)
        examples = {term: self._texts(node, term) for term in (AUDIT.violating, AUDIT.conforming)}
        for term, texts in examples.items():
            if not texts and not step:
                raise self.error(name, f"has no {_short(term)}; its examples are its tests")
        return Check(
            identifier=identifier,
            label=self._one(node, RDFS.label),
            severity=self._level(name, local_name(self._one(node, AUDIT.severity))),
            file=self.path,
            severities=self._severities(name, self._texts(node, AUDIT.severityIn)),
            anchors=tuple(sorted(self._texts(node, AUDIT.anchor))),
            rationale=self._one(node, AUDIT.rationale),
            mend=self._one(node, AUDIT.mend),
            caution=" ".join(self._texts(node, AUDIT.caution)),
            shapes=tuple(sorted(shapes)),
            query="".join(query),
            step="".join(step),
            fix="".join(fix),
            violating=tuple(examples[AUDIT.violating]),
            conforming=tuple(examples[AUDIT.conforming]),
            together="".join(self._texts(node, AUDIT.together)),
            among=tuple(local_name(term) for term in self._texts(node, AUDIT.among)),
        )

    def _refuse_unknown(self, name: str, shapes: Sequence[str]) -> None:
        for shape in shapes:
            if ox.NamedNode(shape) not in self.index:
                raise self.error(name, f"names the shape {shape}, of which the file says nothing")

    def _level(self, name: str, level: str) -> str:
        if level not in _LEVELS:
            raise self.error(name, f"has the severity '{level}', and one of {', '.join(_LEVELS)} was expected")
        return level

    def _severities(self, name: str, texts: Sequence[str]) -> dict[str, str]:
        pairs = [text.partition("=") for text in texts]
        return {profile.strip(): self._level(name, level.strip()) for profile, _, level in sorted(pairs)}

    def shapes_within(self, shapes: Sequence[str]) -> Iterable[str]:
        """Yield the names of shapes and of those that they refer to in this file, through blank nodes as well."""
        waiting: list[Term] = [ox.NamedNode(shape) for shape in shapes]
        seen = set(waiting)
        while waiting:
            node = waiting.pop()
            if isinstance(node, ox.NamedNode):
                yield node.value
            held = self.index.get(node, {})
            for name, objects in held.items():
                if name.startswith((_SH, RDF.prefix)) and name != _SH + "prefixes":
                    new = [each for each in objects if each not in seen and self._is_part(each)]
                    seen.update(new)
                    waiting += new

    def _is_part(self, node: Term) -> bool:
        return isinstance(node, ox.BlankNode) or any(name.startswith(_SH) for name in self.index.get(node, {}))


def _short(name: ox.NamedNode) -> str:
    prefixes = {AUDIT.prefix: "aud:", DCTERMS.prefix: "dcterms:", RDFS.prefix: "rdfs:"}
    return next((name.value.replace(long, short) for long, short in prefixes.items() if long in name.value), name.value)
