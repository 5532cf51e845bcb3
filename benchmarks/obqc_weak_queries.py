"""What becomes of faulty queries: 40 of ten kinds on development questions of ACME and CK25, by a scripted weak model.

Run ``python -m benchmarks.obqc_weak_queries [--half tuning|held] [--verbose]``. Each query of
``obqc_weak_queries.jsonl`` is what a scripted model replies to the question, and it never has a better one. An answer
is *right* when its rows are those of the gold query (further columns are allowed), *unknown* when no answer is given or
it says that nothing was found and why, *flagged* when it is wrong and says what to doubt, and *silent* when it is wrong
and says nothing. Beside it the gold queries, in the same way: those that are no longer right, and those that are right
and flagged, which are false alarms.

The queries were written, and their halves fixed, before any rule was changed. Half of them (``held``) was not run until
the rules were done. One author wrote queries and rules.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from benchmarks import data_folder
from kgrag import KnowledgeBase
from kgrag.model import Answer
from kgrag.querying.text_to_sparql import Asker, Execution
from kgrag.testing import HashEmbedder, ScriptedModel
from kgrag.vocab import PREFIXES

__all__ = ["FILE", "MergedFacts", "judged", "opened", "questions"]

FILE = Path(__file__).with_suffix(".jsonl")
_SETS = {
    "acme": ("acme_insurance", "inquiries.jsonl", ("ontology.ttl", "acme.ttl")),
    "ck25": ("ck25", "questions.jsonl", ("prod-vocab.ttl", "prod-inst.ttl.gz")),
}
_MAX_ROWS = 10_000
CAUTION = "Caution: "


class MergedFacts:
    """Runs queries over files merged into one graph, in this process: a ``QueryProcess`` without its limits."""

    def __init__(self, files: Sequence[Path]) -> None:
        self._store = ox.Store()
        for path in files:
            data = path.read_bytes()
            if path.suffix == ".gz":
                import gzip

                data = gzip.decompress(data)
            self._store.bulk_load(data, format=ox.RdfFormat.TURTLE)

    def __call__(self, sparql: str, *, rows: int = _MAX_ROWS, seconds: float = 0) -> Execution:
        """Return the rows of a query."""
        try:
            found = self._store.query(sparql, prefixes=PREFIXES)
        except (SyntaxError, ValueError, RuntimeError) as error:
            return Execution(problem=str(error))
        if isinstance(found, ox.QueryBoolean):
            return Execution(("answer",), ((ox.Literal(bool(found)),),))
        if not isinstance(found, ox.QuerySolutions):
            return Execution(problem="neither SELECT nor ASK")
        table = [tuple(row) for row in found]
        names = tuple(variable.value for variable in found.variables)
        return Execution(names, tuple(table[:rows]), truncated=len(table) > rows)


def questions(name: str, data: Path) -> dict[str, tuple[str, str]]:
    """Return the identifier of each question (ACME: its last six characters) -> the question and its gold query."""
    folder, file, _ = _SETS[name]
    found = {}
    for line in (data / folder / file).read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        key = row["id"][-6:] if name == "acme" else row["id"]
        gold = row.get("sparql_repaired") or row.get("sparql_standalone") or row.get("sparql")
        found[key] = (row["question"], gold)
    return found


def opened(name: str, data: Path) -> tuple[KnowledgeBase, MergedFacts]:
    """Return a knowledge base in memory with a set's ontology and data, and what runs queries over them."""
    folder, _, files = _SETS[name]
    paths = [data / folder / file for file in files]
    kb = KnowledgeBase(embedder=HashEmbedder())
    for path in paths:
        kb.load(path)
    return kb, MergedFacts(paths)


def judged(kb: KnowledgeBase, facts: MergedFacts, question: str, sparql: str, gold: str) -> tuple[str, Answer]:
    """Return what became of a query ("right", "unknown", "flagged" or "silent"), and the answer that was given."""
    model = ScriptedModel(lambda _: sparql)
    method = kb.method("obqc")
    assert isinstance(method, Asker)
    answer = replace(method, model=model, runner=facts).answer(question, _MAX_ROWS)
    if answer.unknown:
        return "unknown", answer
    if _same(facts(answer.sparql), facts(gold)):
        return ("flagged right" if _cautions(answer) else "right"), answer
    return ("flagged" if _cautions(answer) else "silent"), answer


def _cautions(answer: Answer) -> list[str]:
    return [line for line in answer.text.splitlines() if line.startswith(CAUTION)]


def _same(ours: Execution, gold: Execution) -> bool:
    """Return whether some columns have the rows of the gold query, in any order."""
    width = len(gold.variables)
    wanted = Counter(tuple(map(_plain, row)) for row in gold.rows)
    columns = list(zip(*[tuple(map(_plain, row)) for row in ours.rows], strict=True)) or [()] * len(ours.variables)
    if len(ours.rows) != len(gold.rows) and len(set(ours.rows)) != len(set(gold.rows)):
        return False
    needed = [Counter(column) for column in zip(*wanted.elements(), strict=True)]
    fitting = [[i for i, column in enumerate(columns) if Counter(column) == each] for each in needed]
    if len(ours.variables) < width or any(not each for each in fitting):
        return False
    return any(
        Counter(zip(*(columns[i] for i in choice), strict=True)) == wanted
        for choice in permutations(range(len(columns)), width)
        if all(i in allowed for i, allowed in zip(choice, fitting, strict=True))
    )


def _plain(term: object) -> str:
    value = getattr(term, "value", "")
    try:
        return f"{float(value):.9g}"
    except ValueError:
        return str(value)


def _rows(half: str) -> Iterator[Mapping[str, Any]]:
    for line in FILE.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if half in ("both", row["half"]):
            yield row


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="What becomes of faulty queries.")
    parser.add_argument("--data", type=Path, default=data_folder(), help="folder of real data [KGRAG_DATA]")
    parser.add_argument("--half", choices=("tuning", "held", "both"), default="both")
    parser.add_argument("--verbose", action="store_true", help="print each answer that is wrong or flagged")
    asked = parser.parse_args()
    outcomes: Counter[tuple[str, str]] = Counter()
    for name in _SETS:
        kb, facts = opened(name, asked.data)
        known = questions(name, asked.data)
        for row in _rows(asked.half):
            if row["set"] == name:
                question, gold = known[row["question"]]
                outcome, answer = judged(kb, facts, question, row["sparql"], gold)
                outcomes[row["kind"], outcome] += 1
                print(f"{outcome:14}{name:6}{row['kind']:16}{row['half']:8}{row['question']}")
                if asked.verbose and outcome in ("silent", "flagged", "unknown"):
                    print("   ", "\n    ".join(answer.text.splitlines()[:6]))
        for key, (question, gold) in known.items():
            if facts(gold).empty or facts(gold).problem:
                continue
            outcome, answer = judged(kb, facts, question, gold, gold)
            outcomes["gold", outcome] += 1
            if outcome != "right":
                print(f"{outcome:14}{name:6}{'gold':16}{key}: {'; '.join(_cautions(answer)) or answer.text[:200]}")
        kb.close()
    kinds = list(dict.fromkeys(kind for kind, _ in outcomes))
    names = ("right", "flagged right", "unknown", "flagged", "silent")
    print(f"\n{'':16}" + "".join(f"{name:>15}" for name in names))
    for kind in kinds:
        print(f"{kind:16}" + "".join(f"{outcomes[kind, name]:15}" for name in names))


if __name__ == "__main__":
    main()
