"""Which layer of the pyramid answers, and how well: the form of PolyRAG's Table 3, for each layer, pair, and all three.

    python -m benchmarks.poly_rag_pyramid [--set pyramid|popqa] [--sample N] [--kb FOLDER] [--json]

``pyramid``: ready-made instances and triples, the sentences as text; each question says which is the highest layer that
holds its answer. ``popqa``: paragraphs as text, and what the model of the settings takes from them as triples. The
answer set of a row or a triple are its values; that of the text layer are the names in the sentences of the answer that
the question does not name itself. Precision and recall are means over all questions, 0 where nothing is answered;
``contains`` is the share of questions whose answer has a right answer somewhere in its words. The model is that of the
settings (KGRAG_MODEL; the extractive one without a key).
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from benchmarks import data_folder
from kgrag import KnowledgeBase
from kgrag.adapters.extractive.propositions import facts
from kgrag.model import Answer
from kgrag.stages.entity_names import entity_key

__all__ = ["Asked", "Told", "f1_of", "main", "names_in", "scored", "told"]

LAYERS = ("ontology", "graph", "text")
NONE = "none"


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, its gold answers (each with its other names), and the layer that holds them, "" where not known."""

    text: str
    gold: tuple[frozenset[str], ...]
    layer: str = ""


@dataclass(frozen=True, slots=True)
class Told:
    """What was answered: the layer, the answer set in normal form, and the words of the answer."""

    layer: str
    values: frozenset[str]
    words: str


def names_in(text: str, question: str) -> set[str]:
    """Give the names in a text that a question does not hold, in normal form.

    >>> sorted(names_in("Auron was created by Marv Wolfman.", "Who created Auron?"))
    ['marv wolfman']
    """
    asked = entity_key(question)
    found = (name for fact in facts({"title": "", "text": text})["facts"] for name in fact["entities"])
    return {entity_key(name) for name in found if entity_key(name) not in asked}


def told(answer: Answer) -> Told:
    """Read an answer: which layer gave it, and its answer set."""
    if answer.unknown or not answer.hits:
        return Told(NONE, frozenset(), "")
    layer = {"row": "ontology", "triple": "graph"}.get(answer.hits[0].kind, "text")
    if layer == "text":
        found = {name for sentence in answer.sentences for name in names_in(sentence, answer.question)}
    else:
        found = {entity_key(str(hit.attributes.get("value", hit.text))) for hit in answer.hits}
    return Told(layer, frozenset(found), entity_key(answer.text))


def f1_of(values: Iterable[str], gold: Sequence[frozenset[str]]) -> tuple[float, float, float]:
    """Give precision, recall and F1 of an answer set; a gold answer counts once, by whichever of its names.

    >>> f1_of({"a", "b"}, [frozenset({"a"})])
    (0.5, 1.0, 0.6666666666666666)
    """
    known = frozenset().union(*gold) if gold else frozenset()
    found = set(values)
    precision = len(found & known) / len(found) if found else 0.0
    recall = sum(bool(names & found) for names in gold) / len(gold) if gold else 0.0
    total = precision + recall
    return precision, recall, 2 * precision * recall / total if total else 0.0


def scored(asked: Sequence[Asked], answers: Sequence[Told]) -> dict[str, float]:
    """Give the means over all questions, and the share that was answered."""
    rows = [f1_of(one.values, question.gold) for question, one in zip(asked, answers, strict=True)]
    contains = [
        any(name in one.words for names in question.gold for name in names)
        for question, one in zip(asked, answers, strict=True)
    ]
    count = max(len(asked), 1)
    means = {name: sum(row[place] for row in rows) / count for place, name in enumerate(("precision", "recall", "f1"))}
    return {
        **means,
        "contains": sum(contains) / count,
        "answered": sum(one.layer != NONE for one in answers) / count,
    }


def _waterfall(single: Mapping[str, Sequence[Told]], layers: Sequence[str]) -> list[Told]:
    """Give what asking some layers from the top gives: of each question the first that answers."""
    columns = zip(*(single[layer] for layer in layers), strict=True)
    return [next((one for one in row if one.layer != NONE), row[-1]) for row in columns]


def _questions(folder: Path, name: str) -> list[Asked]:
    lines = (folder / name / "questions.jsonl").read_text(encoding="utf-8").strip().split("\n")
    records = [json.loads(line) for line in lines]
    if name == "popqa":
        return [Asked(one["question"], (frozenset(map(entity_key, one["answers"])),)) for one in records]
    layers = {"kg": "graph"}
    return [
        Asked(
            one["question"],
            tuple(frozenset({entity_key(answer)}) for answer in one["answers"]),
            layers.get(one["layer"], one["layer"]),
        )
        for one in records
    ]


def _build(kb: KnowledgeBase, folder: Path, name: str) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        packed = folder / name / ("text.jsonl.gz" if name == "pyramid" else "corpus.jsonl.gz")
        plain = Path(scratch) / packed.stem
        plain.write_bytes(gzip.decompress(packed.read_bytes()))
        kb.ingest(plain)
    options: dict[str, Any] = {}
    if name == "pyramid":
        options = {
            "schema": [folder / "text2kgbench" / "dbpedia_webnlg"],
            "instances": folder / name / "ontology_instances.jsonl.gz",
            "triples": folder / name / "kg_triples.jsonl.gz",
        }
    kb.build("poly_rag", **options)


def _asked(kb: KnowledgeBase, questions: Sequence[Asked], layers: str) -> tuple[list[Told], float]:
    start = time.perf_counter()
    answers = [told(kb.ask(one.text, method=f"poly_rag:layers={layers}", k=10)) for one in questions]
    return answers, (time.perf_counter() - start) / max(len(questions), 1)


def main() -> None:
    """Build, ask every question of each layer and of all, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", choices=("pyramid", "popqa"), default="pyramid")
    parser.add_argument("--sample", type=int, default=0, help="so many questions, drawn with seed 1")
    parser.add_argument("--kb", type=Path, help="build here, or go on with what was built")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    folder = data_folder()
    questions = _questions(folder, given.set)
    if given.sample:
        questions = random.Random(1).sample(questions, min(given.sample, len(questions)))
    place = nullcontext(given.kb) if given.kb else tempfile.TemporaryDirectory()
    with place as where, KnowledgeBase(where) as kb:
        _build(kb, folder, given.set)
        report = _measured(kb, questions)
        report |= {"set": given.set, "questions": len(questions), "model": kb.model.identity}
    print(json.dumps(report, indent=2) if given.json else _printed(report))


def _measured(kb: KnowledgeBase, questions: Sequence[Asked]) -> dict[str, Any]:
    single, seconds = {}, {}
    for layer in LAYERS:
        single[layer], seconds[layer] = _asked(kb, questions, layer)
    whole, seconds["+".join(LAYERS)] = _asked(kb, questions, "+".join(LAYERS))
    table = {layer: scored(questions, single[layer]) for layer in LAYERS}
    for pair in combinations(LAYERS, 2):
        table["+".join(pair)] = scored(questions, _waterfall(single, pair))
    table["+".join(LAYERS)] = scored(questions, whole)
    confusion = Counter((one.layer or "all", answer.layer) for one, answer in zip(questions, whole, strict=True))
    right = Counter(
        (one.layer or "all", answer.layer)
        for one, answer in zip(questions, whole, strict=True)
        if f1_of(answer.values, one.gold)[1] > 0
    )
    return {
        "table": table,
        "confusion": {f"{held} -> {by}": count for (held, by), count in sorted(confusion.items())},
        "right": {f"{held} -> {by}": count for (held, by), count in sorted(right.items())},
        "seconds_a_question": seconds,
    }


def _printed(report: Mapping[str, Any]) -> str:
    lines = [f"{report['set']}: {report['questions']} questions, model {report['model']}", ""]
    lines += ["| layers | precision | recall | F1 | contains | answered |", "|---|---|---|---|---|---|"]
    for name, row in report["table"].items():
        cells = " | ".join(f"{row[key]:.4f}" for key in ("precision", "recall", "f1", "contains", "answered"))
        lines.append(f"| {name} | {cells} |")
    held = sorted({key.split(" -> ")[0] for key in report["confusion"]})
    lines += ["", "| held by | " + " | ".join((*LAYERS, NONE)) + " |", "|---" * (len(LAYERS) + 2) + "|"]
    for layer in held:
        counts = [
            f"{report['confusion'].get(f'{layer} -> {by}', 0)} ({report['right'].get(f'{layer} -> {by}', 0)} right)"
            for by in (*LAYERS, NONE)
        ]
        lines.append(f"| {layer} | " + " | ".join(counts) + " |")
    timed = ", ".join(f"{name} {1000 * seconds:.0f} ms" for name, seconds in report["seconds_a_question"].items())
    return "\n".join([*lines, "", f"a question: {timed}"])


if __name__ == "__main__":
    main()
