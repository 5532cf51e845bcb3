r"""LLM Repair: a query is checked, mended, repaired by the model at most three times, and run only when it is valid.

OBQC, section 4, with what is beyond the paper: deterministic mends come first and cost no call; a repeated query ends
the cycles; a repair that passes because it left patterns out is refused; an error or an empty result of the run is one
more piece of feedback, within the same three cycles; the best version is kept. Prompts read: ``obqc/repair``,
``obqc/repair_paper``. Nothing is written.

``query_in`` finds the query in what a model wrote: fenced, after a chain of thought, or in the middle of prose.

>>> query_in("Sure!\n```sparql\nASK { ?s ?p ?o }\n```\nHope this helps.")
'ASK { ?s ?p ?o }'
>>> query_in("I cannot answer that.")
''
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import pyoxigraph as ox

from kgrag import prompting
from kgrag.errors import InvalidSPARQL, ReplyCut, ReplyUnusable
from kgrag.late_patterns import late_re
from kgrag.llm import structured_output
from kgrag.model import Prompt, Usage
from kgrag.ports import LanguageModel
from kgrag.querying.ontology_check import Check, Finding
from kgrag.querying.text_to_sparql.empty_results import CANNOT_COMPUTE, EmptyResult
from kgrag.querying.text_to_sparql.row_evidence import Execution
from kgrag.querying.text_to_sparql.schema_slices import Slice
from kgrag.sparql.query_reader import read
from kgrag.vocab import digest

__all__ = [
    "CYCLES",
    "Issue",
    "Outcome",
    "Repair",
    "Version",
    "query_in",
]

CYCLES = 3
_MAX_MENDS = 5
_BLOCKING = ("error", "refused")
_MAX_ISSUES_SHOWN = 12
_MAX_EARLIER_SHOWN = 3

Origin = Literal["model", "stored", "given", "mended", "repaired"]


@dataclass(frozen=True, slots=True)
class Issue:
    """A fault of a version: a rule of the check, or one of what became of it.

    These are ``prose``, ``execution``, ``empty``, ``valueless`` and ``deletion``.
    """

    rule: str
    message: str
    hint: str = ""
    place: str = ""


@dataclass(frozen=True, slots=True)
class Version:
    """A query on its way: where it came from, what the check found, and what running it returned.

    ``execution`` is None when it was not run, because it is not valid. ``note`` says what was left out of it because
    the data do not state it. ``warnings`` are findings that do not keep it from being run.
    """

    sparql: str
    origin: Origin
    issues: tuple[Issue, ...] = ()
    execution: Execution | None = None
    refused: bool = False
    note: str = ""
    warnings: tuple[Issue, ...] = ()

    @property
    def valid(self) -> bool:
        """Whether it may be run: it is a query, and the check found no error in it."""
        return bool(self.sparql) and not self.refused and not any(issue.rule not in _AFTER for issue in self.issues)

    @property
    def answers(self) -> bool:
        """Whether it ran and found something, with a value for all that it computes."""
        found = self.execution is not None and not self.execution.problem and not self.execution.empty
        return found and not any(issue.rule == "valueless" for issue in self.issues)

    @property
    def rank(self) -> tuple[bool, bool, bool, int]:
        """How good it is: larger is better."""
        ran = self.execution is not None and not self.execution.problem
        return (self.answers, ran, self.valid, -len(self.issues))


_AFTER = ("execution", "empty", "valueless")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a question: every version in order, the best one, and what it cost.

    ``stopped`` is why the cycles ended early, "" when they did not; ``failure`` is why a reply could not be used.
    """

    versions: tuple[Version, ...]
    cycles: int = 0
    usage: Usage = field(default_factory=Usage)
    stopped: str = ""
    failure: str = ""

    @property
    def best(self) -> Version:
        """The best version; the first among equals."""
        return max(self.versions, key=lambda version: version.rank)

    @property
    def known(self) -> bool:
        """Whether a valid query was found and ran."""
        return self.best.execution is not None and not self.best.execution.problem

    @property
    def reasons(self) -> tuple[str, ...]:
        """What is wrong with the best version, and why there is no better one."""
        issues = [f"{issue.rule}: {issue.message}" for issue in self.best.issues]
        return (*issues, *([self.stopped] if self.stopped else []))


@dataclass(frozen=True, slots=True)
class Repair:
    """Brings a query from its first version to its best.

    Args:
        question: what was asked.
        slice: what the model is shown of the schema.
        check: checks a query against the ontology.
        mend: returns a checked query with what can be mended without a model changed, or None.
        run: runs a valid query, with limits.
        explain: returns why a valid query finds nothing.
        model: repairs; None leaves it to the deterministic mends.
        prompt: "default", or "paper" for the paper's own words.
        cycles: how often the model may repair, at most.
    """

    question: str
    slice: Slice
    check: Callable[[str], Check]
    mend: Callable[[Check], str | None]
    run: Callable[[str], Execution]
    explain: Callable[[str], EmptyResult]
    model: LanguageModel | None = None
    prompt: Literal["default", "paper"] = "default"
    cycles: int = CYCLES

    def outcome(self, first: str, origin: Origin, *, usage: Usage = Usage()) -> Outcome:  # noqa: B008 - frozen
        """Return what becomes of a first query, or of "" when a reply held none.

        Raises:
            ServiceError: the model could not be reached or refused.
        """
        versions = self._assessed(first, origin)
        base, cycle, asked, failure = versions[-1], 0, set[str](), ""
        while not base.answers and cycle < self.cycles and self.model is not None:
            prompt = self._repair_prompt(base, versions)
            if prompt.text in asked:
                return Outcome(tuple(versions), cycle, usage, "The model had no other query to offer.", failure)
            asked.add(prompt.text)
            cycle += 1
            completion = self.model.complete([prompt])[0]
            usage += completion.usage
            try:
                text, failure = query_in(structured_output.text_of(completion)), ""
            except ReplyCut as error:
                stopped = f"The model's query of cycle {cycle} could not be used: {error}"
                return Outcome(tuple(versions), cycle, usage, stopped, stopped)
            except ReplyUnusable as error:
                text, failure = "", f"The model's query of cycle {cycle} could not be used: {error}"
            if text and _key(text) in {_key(version.sparql) for version in versions}:
                stopped = f"The model repeated a query in cycle {cycle}, so the repair was stopped."
                return Outcome(tuple(versions), cycle, usage, stopped)
            tried = self._assessed(text, "repaired", earlier=versions)
            versions += tried
            base = self._next(base, tried[-1])
        return Outcome(tuple(versions), cycle, usage, failure=failure)

    def _next(self, base: Version, tried: Version) -> Version:
        """Give what the next cycle starts from: the new version, or the old one where the new one is none."""
        if tried.refused or not tried.sparql:
            kept = tuple(issue for issue in base.issues if issue.rule not in ("deletion", "prose"))
            return replace(base, issues=(*kept, *(i for i in tried.issues if i.rule in ("deletion", "prose"))))
        return tried

    def _assessed(self, text: str, origin: Origin, *, earlier: Sequence[Version] = ()) -> list[Version]:
        """Check a query, mend it as long as that changes it, and run it when it is valid."""
        if not text:
            return [Version("", origin, (_PROSE,))]
        checked, versions = self._checked(text, origin), []
        seen = {_key(text), *(_key(version.sparql) for version in earlier)}
        for _ in range(_MAX_MENDS):
            version, mended = checked
            versions.append(version)
            if version.valid or mended is None or _key(mended) in seen:
                break
            seen.add(_key(mended))
            checked = self._checked(mended, "mended")
        if versions[-1].valid:
            versions[-1] = self._run(versions[-1], [*earlier, *versions[:-1]])
        if versions[-1].execution is not None and versions[-1].execution.empty:
            versions[-1:] = self._explained(versions[-1])
        return versions

    def _explained(self, version: Version) -> list[Version]:
        """Return a version that found nothing with the reasons, and the one that is certain to be meant, if any."""
        result = self.explain(version.sparql)
        message = " ".join((_EMPTY, *result.reasons))
        why = replace(version, issues=(Issue("empty", message, "" if result.reasons else _EMPTY_HINT),))
        if not result.mended:
            return [why]
        mended, _ = self._checked(result.mended, "mended")
        mended = replace(mended, execution=self.run(mended.sparql), note=result.note)
        return [why, mended] if mended.valid and mended.answers else [why]

    def _checked(self, text: str, origin: Origin) -> tuple[Version, str | None]:
        try:
            check = self.check(text)
        except InvalidSPARQL as error:
            return Version(text, origin, (Issue("syntax", str(error)),)), None
        blocking = [finding for finding in check.findings if finding.severity in _BLOCKING]
        warnings = tuple(_issue(each) for each in check.findings if each.severity == "warning")
        version = Version(text, origin, tuple(map(_issue, blocking)), warnings=warnings)
        return version, self.mend(check) if blocking else None

    def _run(self, version: Version, earlier: Sequence[Version]) -> Version:
        left_out = _left_out(version.sparql, [other.sparql for other in earlier if not other.valid])
        if left_out:
            message = (
                f"This repair passes because it leaves out {left_out}, which the check had flagged. Correct it instead."
            )
            return replace(version, issues=(Issue("deletion", message),), refused=True)
        execution = self.run(version.sparql)
        return replace(version, execution=execution, issues=tuple(_run_issues(execution, version.sparql)))

    def _repair_prompt(self, version: Version, tried: Sequence[Version]) -> Prompt:
        issues = version.issues[:_MAX_ISSUES_SHOWN]
        if self.prompt == "paper":
            messages = "\n".join(issue.message for issue in issues)
            return prompting.render("obqc/repair_paper", query=version.sparql, issues=messages)
        shown = [{"message": issue.message, "hint": issue.hint, "place": issue.place} for issue in issues]
        earlier = [one for one in tried if one.sparql and _key(one.sparql) != _key(version.sparql)]
        before = [
            {"query": " ".join(one.sparql.split()), "result": " ".join(issue.message for issue in one.issues[:1])}
            for one in earlier[-_MAX_EARLIER_SHOWN:]
        ]
        content = (self.question, version.sparql, self.slice.text, *(str(issue) for issue in [*shown, *before]))
        return prompting.render(
            "obqc/repair",
            question=self.question,
            query=version.sparql,
            issues=shown,
            tried=before,
            declarations=self.slice.declarations,
            slice=self.slice.text,
            boundary=f"=== {digest(*content)[:12]} ===",
        )


_PROSE = Issue("prose", "The reply held no SPARQL query.", "Reply with the query alone.")


_COMPUTED = late_re(r"\bAS\s+[?$](\w+)", flags=re.IGNORECASE)
_EMPTY = "The query is valid, and it finds nothing in the data."
_EMPTY_HINT = "Look for a constant that is spelt differently, a filter that is too narrow, or a path that no data has."


def _issue(finding: Finding) -> Issue:
    place = f"line {finding.line}, column {finding.column}" if finding.line else ""
    return Issue(finding.rule, finding.message, finding.hint or "", place)


def _run_issues(execution: Execution, sparql: str) -> Iterable[Issue]:
    if execution.problem:
        yield Issue("execution", f"The query is valid, and running it failed: {execution.problem}")
    elif execution.empty:
        yield Issue("empty", _EMPTY, _EMPTY_HINT)
    elif nameless := [f"?{name}" for name in _valueless(execution, sparql)]:
        yield Issue("valueless", f"{', '.join(nameless)} has no value in any row.", CANNOT_COMPUTE)


def _valueless(execution: Execution, sparql: str) -> list[str]:
    """Return the columns that a query computes and that have no value in any of its rows."""
    computed = set(_COMPUTED.findall(sparql))
    return [
        name
        for at, name in enumerate(execution.variables)
        if name in computed and all(row[at] is None for row in execution.rows)
    ]


def _key(text: str) -> str:
    """Return a digest of a query's words, whatever the spacing."""
    return digest(*text.split())


def _left_out(text: str, flagged: Sequence[str]) -> str:
    """Return the patterns of an earlier, flagged query that this one leaves out and does not replace; "" for none."""
    ours = _signatures(text)
    for earlier in flagged:
        theirs = _signatures(earlier)
        missing = theirs - ours
        if missing and not ours - theirs:
            return ", ".join(sorted({" ".join([predicate, *sorted(terms)]) for predicate, terms in missing}))
    return ""


_Signature = tuple[str, frozenset[str]]


def _signatures(text: str) -> Counter[_Signature]:
    """Count what the patterns of a query are about: predicate and constants, whatever variables and direction."""
    try:
        patterns = read(text).patterns if text else ()
    except InvalidSPARQL:
        return Counter()
    signatures: Counter[_Signature] = Counter()
    for pattern in patterns:
        ends = (pattern.subject, pattern.object)
        constants = frozenset(str(term) for term in ends if isinstance(term, ox.NamedNode | ox.Literal))
        predicate = str(pattern.predicate) if isinstance(pattern.predicate, ox.NamedNode) else "?"
        signatures[predicate, constants] += 1
    return signatures


_THOUGHT = late_re(r"\A.*</think>", flags=re.DOTALL | re.IGNORECASE)
_FENCE = late_re(r"^[ \t]*(`{3,}|~{3,})[^\n`]*\n(.*?)(?:^[ \t]*\1|\Z)", flags=re.DOTALL | re.MULTILINE)
_FORM = (
    r"(?:PREFIX\s+[\w.-]*:\s*<|BASE\s*<|SELECT\b|ASK\b|CONSTRUCT\b|DESCRIBE\b|INSERT\b|DELETE\b|LOAD\b|CLEAR\b|DROP\b)"
)
_START = late_re(rf"^[ \t]*{_FORM}", flags=re.MULTILINE | re.IGNORECASE)
_WITHIN = late_re(
    r"(?:PREFIX\s+[\w.-]*:\s*<|\bSELECT\s+(?:DISTINCT\s+|REDUCED\s+)?[?$(*]|\bASK\s*\{|\bCONSTRUCT\s*\{)",
    flags=re.IGNORECASE,
)
_TAIL = late_re(r"\s*(?:(?:GROUP|ORDER)\s+BY|HAVING|LIMIT|OFFSET|VALUES)\b[^\n]*", flags=re.IGNORECASE)
_MAX_REPLY_CHARACTERS = 100_000


def query_in(text: str) -> str:
    """Return the query of a reply, "" when there is none; whether it is SPARQL is for the reader to decide.

    The last fenced block that begins like SPARQL wins, since models first quote what they were given.
    """
    reply = _THOUGHT.sub("", text)[:_MAX_REPLY_CHARACTERS].strip()
    fenced: list[str] = [block.strip() for _, block in _FENCE.findall(reply)]
    for block in reversed(fenced):
        if (start := _START.search(block)) and "{" in block:
            return block[start.start() :].strip()
    bare = re.sub(r"^[ \t]*(`{3,}|~{3,})\w*[ \t]*$", "", reply, flags=re.MULTILINE)
    start = _START.search(bare) or _WITHIN.search(bare)
    return "" if start is None or "{" not in bare else _without_prose(bare[start.start() :].strip())


def _without_prose(text: str) -> str:
    """Cut off the prose after the last closing bracket and the modifiers that follow it."""
    end = text.rfind("}") + 1
    if not end:
        return text
    while tail := _TAIL.match(text, end):
        end = tail.end()
    return text[:end].strip()
