"""Short answers of the reader without a model, asked as a user asks: exact match, wrong, unknown, calibration.

``python -m benchmarks.reader_values [SET …] [--third dev|unseen] [--work FOLDER] [--words]``. A question is in the
unseen third when the SHA-256 of ``SET:ID`` (ID of PubMedQA: the PubMed number) is divisible by three; weights and
thresholds were fitted on the other two thirds (``benchmarks.reader_routes``).

Two rows a set: ``asked`` is ``kb.ask`` with the default method and k = 5; ``gold passages`` hands the passages over
that carry the answer, which is as far as this reader comes. Knowledge bases stay in ``--work``. ``--words`` retrieves
by BM25 alone, without embedding the corpus.

*exact*: the first short answer equals a right one after normalisation (SQuAD's). *sentence*: it does not, and a
sentence that was given contains one. *wrong*: neither. *calibration*: expected calibration error of ``confidence`` over
the answers that were given, ten bins, right being exact (where there is no short answer: a sentence that contains one).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyoxigraph as ox

from benchmarks import data_folder
from kgrag import KnowledgeBase, Settings, queries
from kgrag.answering.passage_hits import passage_hits
from kgrag.evaluation.datasets import json_lines
from kgrag.evaluation.intervals import bootstrap
from kgrag.evaluation.metrics import contains_answer, exact_match, token_f1
from kgrag.llm.embedders import CachedEmbedder, SentenceTransformerEmbedder
from kgrag.llm.extractive import ExtractiveModel
from kgrag.model import Answer, Document, Hit
from kgrag.testing import HashEmbedder
from kgrag.text import ingestion

__all__ = ["SETS", "Asked", "main", "passages", "questions"]

SETS: Final = {
    "2wiki_6119": "multihop/2wiki_6119",
    "2wiki_dev": "multihop/2wiki_dev",
    "hotpot_dev": "multihop/hotpot_dev",
    "hotpot_train100": "multihop/hotpot_train100",
    "musique_dev": "multihop/musique_dev",
    "musique_train100": "multihop/musique_train100",
    "popqa": "popqa",
    "pubmedqa": "pubmedqa",
}
_BINS = 10
_PASSAGES = 5
_WHOLE = 100_000  # tokens of a chunk: no passage is cut


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, its right answers, and the numbers of the passages that carry them."""

    id: str
    text: str
    answers: tuple[str, ...]
    supporting: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Outcome:
    """How an answer is: ``confidence`` and ``is_right`` count for calibration where it was given."""

    exact: float
    sentence: float
    wrong: float
    unknown: float
    f1: float
    confidence: float
    is_right: float


def is_unseen(name: str, identifier: str) -> bool:
    """Return whether a question is in the third that no weight or threshold was fitted on."""
    return int(hashlib.sha256(f"{name}:{identifier}".encode()).hexdigest(), 16) % 3 == 0


def questions(name: str, third: str) -> list[Asked]:
    """Return the questions of a third ("dev" is the other two, "all") whose gold is whole."""
    found = []
    for _, row in json_lines(data_folder() / SETS[name] / "questions.jsonl"):
        identifier = str(row.get("id", row.get("pmid")))
        if row.get("gold") == "partial" or (third != "all" and is_unseen(name, identifier) != (third == "unseen")):
            continue
        listed = [row["answer"]] if "answer" in row else []
        answers = (*listed, *row.get("answers", ()), *row.get("answer_aliases", ()))
        supporting = tuple(map(str, row.get("supporting", [row.get("pmid")])))
        found.append(Asked(identifier, row["question"], tuple(dict.fromkeys(answers)), supporting))
    return found


def passages(name: str) -> dict[str, tuple[str, str]]:
    """Return title and text of each passage of a set by its number."""
    found = {}
    for _, row in json_lines(data_folder() / SETS[name] / "corpus.jsonl.gz"):
        text = row["text"] if "text" in row else "\n\n".join(part["text"] for part in row["chunks"])
        found[str(row.get("idx", row.get("pmid")))] = (str(row.get("title", "")), str(text))
    return found


def _knowledge_base(name: str, work: Path, *, words: bool) -> KnowledgeBase:
    """Return the knowledge base of a set, filled where it was not; by words alone the reader still has its embedder."""
    path = work / f"{name}{'-words' if words else ''}.kb"
    reader = CachedEmbedder(SentenceTransformerEmbedder(), work / "embeddings.sqlite")
    embedder = HashEmbedder() if words else reader
    opened = KnowledgeBase(path, settings=Settings(), embedder=embedder, model=ExtractiveModel(lambda: reader))
    corpus = (Document(text=text, title=title, id=key) for key, (title, text) in passages(name).items())
    ingestion.ingest(corpus, store=opened.store, chunk_tokens=_WHOLE)
    opened.build("passages")
    return opened


def _gold(opened: KnowledgeBase, stored: Mapping[str, str], question: Asked) -> list[Hit]:
    """Return the passages that carry the answer; ``stored`` has the IRI of each document by its identifier."""
    store = opened.store
    nodes = [ox.NamedNode(stored[one]) for one in question.supporting]
    table = store.select(queries.bind("filters/chunks", catalogue=store.names.catalogue, documents=nodes))
    return passage_hits(store, [(chunk, 1.0) for (chunk,) in table.values()])


def _outcome(answer: Answer, answers: Sequence[str]) -> _Outcome:
    if answer.unknown:
        return _Outcome(0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
    value = answer.values[0].text if answer.values else ""
    exact, contained = exact_match(value, answers) if value else 0.0, contains_answer(answer.text, answers)
    in_sentence = contained * (1 - exact)
    return _Outcome(
        exact,
        in_sentence,
        1 - exact - in_sentence,
        0.0,
        token_f1(value, answers) if value else 0.0,
        answer.confidence or 0.0,
        exact if value else contained,
    )


def calibration_error(outcomes: Sequence[_Outcome]) -> float:
    """Return the mean distance of stated and true probability over ten bins, weighed by their sizes."""
    given = [one for one in outcomes if not one.unknown]
    total = 0.0
    for place in range(_BINS):
        bin_ = [one for one in given if min(int(one.confidence * _BINS), _BINS - 1) == place]
        total += abs(sum(one.confidence - one.is_right for one in bin_))
    return total / len(given) if given else 0.0


def _rows(name: str, options: argparse.Namespace, work: Path) -> Iterator[tuple[str, list[_Outcome], float]]:
    asked = questions(name, options.third)
    with _knowledge_base(name, work, words=options.words) as opened:
        stored = {document.id: document.iri for document in opened.documents()}
        method = "passages:signal=bm25" if options.words else options.method
        for row, answered in (
            ("asked", lambda one: opened.ask(one.text, method=method, k=_PASSAGES)),
            ("gold passages", lambda one: opened.answer_from(one.text, _gold(opened, stored, one), method="passages")),
        ):
            start = time.process_time()
            outcomes = [_outcome(answered(one), one.answers) for one in asked]
            yield row, outcomes, 1000 * (time.process_time() - start) / max(1, len(asked))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", metavar="SET")
    parser.add_argument("--third", choices=("dev", "unseen", "all"), default="dev")
    parser.add_argument("--method", default="auto")
    parser.add_argument("--words", action="store_true", help="retrieve by BM25, without embedding the corpus")
    parser.add_argument("--work", type=Path, help="keeps knowledge bases and embeddings")
    parser.add_argument("--json", type=Path, help="also writes the outcomes")
    options = parser.parse_args(arguments)
    print("| set | passages | n | exact match | F1 | in the sentence only | wrong | unknown | calibration | CPU ms |")
    print("|---|---|--:|---|---|--:|--:|--:|--:|--:|")
    kept: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="kgrag-values-") as temporary:
        work = options.work or Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        for name in options.sets or SETS:
            for row, outcomes, milliseconds in _rows(name, options, work):
                print(_line(name, row, outcomes, milliseconds), flush=True)
                kept[f"{name} {row}"] = [(one.exact, one.wrong, one.confidence, one.is_right) for one in outcomes]
    if options.json:
        options.json.write_text(json.dumps(kept), encoding="utf-8")


def _line(name: str, row: str, outcomes: Sequence[_Outcome], milliseconds: float) -> str:
    exact, f1 = bootstrap([one.exact for one in outcomes]), bootstrap([one.f1 for one in outcomes])
    shares = [
        sum(values) / len(outcomes)
        for values in zip(*((o.sentence, o.wrong, o.unknown) for o in outcomes), strict=True)
    ]
    cells = [
        name,
        row,
        str(len(outcomes)),
        *(f"{each.mean:.3f} [{each.low:.3f}, {each.high:.3f}]" for each in (exact, f1)),
        *(f"{share:.3f}" for share in shares),
        f"{calibration_error(outcomes):.3f}",
        f"{milliseconds:.0f}",
    ]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
