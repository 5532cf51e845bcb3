"""Which layer of the pyramid answers, and how well: the form of PolyRAG's Table 3, for each layer, pair, and all three.

    python -m benchmarks.poly_rag_pyramid [--set pyramid|popqa] [--model settings|oracle] [--wrong SHARE] [--free]
                                          [--record FILE | --replay FILE] [--sample N] [--kb FOLDER] [--json]

``pyramid``: ready-made instances and triples, the sentences as text; each question says which is the highest layer that
holds its answer. ``popqa``: paragraphs as text, and what the extractive model takes from them as triples. Every row of
the table is a run of its own with those layers switched on, so a row counts what that descent really does. How answers
are scored: ``benchmarks.poly_rag_scores``. ``contains`` is the share of questions whose answer has a right answer
somewhere in its words; ``completions`` are those paid for a question (a recorded one costs nothing again).

The model is that of the settings (KGRAG_MODEL; the extractive one without a key). ``--record FILE`` keeps what it
says, ``--replay FILE`` runs again from that file and asks nobody. ``--model oracle`` asks a scripted reader that knows
the gold answers, over HTTP on loopback (``benchmarks.poly_rag_reader``), of whose replies the share ``--wrong`` is
wrong: these figures are an upper bound of what the pyramid allows, NOT a result. ``--free`` leaves questions of a fixed
form to the model too (``templates=false``).
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from itertools import combinations
from pathlib import Path
from typing import Any

from benchmarks import data_folder
from benchmarks.poly_rag_reader import serving
from benchmarks.poly_rag_scores import LAYERS, NONE, Asked, Told, f1_of, questions_of, scored, told
from kgrag import KnowledgeBase
from kgrag.llm.completion_cache import CachedModel
from kgrag.ports import LanguageModel
from kgrag.settings import EXTRACTIVE, read_settings

__all__ = ["main", "measured"]

CHOICES = tuple("+".join(chosen) for size in (1, 2, 3) for chosen in combinations(LAYERS, size))
COLUMNS = ("precision", "recall", "f1", "contains", "answered", "completions")


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


@contextmanager
def _model(given: argparse.Namespace, questions: Sequence[Asked]) -> Iterator[LanguageModel | None]:
    """Return the model that is asked; None for that of the settings."""
    from kgrag.llm.openai_chat import OpenAIModel

    with ExitStack() as stack:
        settings, model = read_settings(), None
        if given.model == "oracle":
            url = stack.enter_context(serving(questions, wrong=given.wrong))
            model = OpenAIModel(f"oracle-wrong-{given.wrong:g}", base_url=url, api_key="none")
        elif settings.model != EXTRACTIVE:
            key = settings.api_key.get_secret_value()
            model = OpenAIModel(settings.model, base_url=settings.base_url, api_key=key, timeout=settings.timeout)
        file = given.record or given.replay
        if model is None or file is None:
            yield model
        else:
            yield stack.enter_context(CachedModel(model, file, mode="replay" if given.replay else "record"))


def _asked(kb: KnowledgeBase, questions: Sequence[Asked], method: str) -> tuple[list[Told], float]:
    start = time.process_time()
    answers = [told(kb.ask(one.text, method=method, k=10)) for one in questions]
    return answers, (time.process_time() - start) / max(len(questions), 1)


def measured(kb: KnowledgeBase, questions: Sequence[Asked], *, free: bool = False) -> dict[str, Any]:
    """Ask every question of each choice of layers, and count."""
    table: dict[str, dict[str, float]] = {}
    whole: list[Told] = []
    for layers in CHOICES:
        whole, seconds = _asked(kb, questions, f"poly_rag:layers={layers}{',templates=false' if free else ''}")
        table[layers] = scored(questions, whole) | {"milliseconds": 1000 * seconds}
    rows = list(zip(questions, whole, strict=True))
    confusion = Counter((one.layer or "all", answer.layer) for one, answer in rows)
    right = Counter((one.layer or "all", answer.layer) for one, answer in rows if f1_of(answer.values, one.gold)[1] > 0)
    return {
        "table": table,
        "confusion": {f"{held} -> {by}": count for (held, by), count in sorted(confusion.items())},
        "right": {f"{held} -> {by}": count for (held, by), count in sorted(right.items())},
        "layers": {layer: _of_layer(rows, layer) for layer in sorted({one.layer or "all" for one in questions})},
    }


def _of_layer(rows: Sequence[tuple[Asked, Told]], layer: str) -> dict[str, float]:
    own = [(one, answer) for one, answer in rows if (one.layer or "all") == layer]
    return scored([one for one, _ in own], [answer for _, answer in own])


def main() -> None:
    """Build, ask every question of each choice of layers, print the tables."""
    given = _arguments()
    folder = data_folder()
    questions = questions_of(folder, given.set)
    if given.sample:
        questions = random.Random(1).sample(questions, min(given.sample, len(questions)))
    place = nullcontext(given.kb) if given.kb else tempfile.TemporaryDirectory()
    with place as where, _model(given, questions) as model:
        settings = read_settings(completions="off" if model else None)
        with KnowledgeBase(where, settings=read_settings(model=EXTRACTIVE)) as kb:
            _build(kb, folder, given.set)
        with KnowledgeBase(where, settings=settings, model=model) as kb:
            report = measured(kb, questions, free=given.free)
            report |= {"set": given.set, "questions": len(questions), "model": kb.model.identity}
    report["upper bound"] = given.model == "oracle"
    print(json.dumps(report, indent=2) if given.json else _printed(report))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", choices=("pyramid", "popqa"), default="pyramid")
    parser.add_argument("--model", choices=("settings", "oracle"), default="settings")
    parser.add_argument("--wrong", type=float, default=0.0, help="share of the oracle's replies that are wrong")
    parser.add_argument("--free", action="store_true", help="leave questions of a fixed form to the model")
    kept = parser.add_mutually_exclusive_group()
    kept.add_argument("--record", type=Path, help="keep the completions of the model in this file")
    kept.add_argument("--replay", type=Path, help="take them from this file and ask nobody")
    parser.add_argument("--sample", type=int, default=0, help="so many questions, drawn with seed 1")
    parser.add_argument("--kb", type=Path, help="build here, or go on with what was built")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def _printed(report: Mapping[str, Any]) -> str:
    lines = [f"{report['set']}: {report['questions']} questions, model {report['model']}"]
    if report["upper bound"]:
        lines.append("UPPER BOUND, NOT A RESULT: the reader is a script that knows the gold answers.")
    names = (*COLUMNS, "milliseconds")
    lines += ["", "| layers | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for name, row in report["table"].items():
        cells = " | ".join(f"{row[key]:.4f}" for key in COLUMNS)
        lines.append(f"| {name} | {cells} | {row['milliseconds']:.0f} |")
    lines += ["", "| held by | " + " | ".join((*LAYERS, NONE)) + " | f1 |", "|---" * (len(LAYERS) + 3) + "|"]
    for layer, row in report["layers"].items():
        counts = [
            f"{report['confusion'].get(f'{layer} -> {by}', 0)} ({report['right'].get(f'{layer} -> {by}', 0)} right)"
            for by in (*LAYERS, NONE)
        ]
        lines.append(f"| {layer} | " + " | ".join(counts) + f" | {row['f1']:.4f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
