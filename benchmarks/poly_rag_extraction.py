"""Triples out of sentences, given an ontology: precision, recall, F1 and ontology conformance on Text2KGBench.

    python -m benchmarks.poly_rag_extraction [--sample N] [--set dbpedia_webnlg|wikidata_tekgen|all] [--json]

The metrics are those of the published evaluation (cenguix/Text2KGBench, src/evaluation/run_eval.py): a triple counts by
subject, relation and object without spaces and case; triples whose relation the sentence's gold does not have are left
out of precision; a sentence without triples scores 0; conformance is the share of triples whose relation the ontology
has, 1 where there is none; hallucination is the share of triples whose subject or object does not stand in the
sentence, by stems. Means over the sentences of an ontology, then over ontologies. The test sentences alone are read.
Deviation: words are found by a pattern, not by NLTK's tokenizer. The model is that of the settings (KGRAG_MODEL).
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import Stemmer

from benchmarks import data_folder
from kgrag import KnowledgeBase
from kgrag.methods.poly_rag.loading import load_schema
from kgrag.stages import cascade, mapping
from kgrag.stages.cascade import Paragraph

__all__ = ["Triple", "main", "measured", "plain"]

Triple = tuple[str, str, str]
METRICS = ("precision", "recall", "f1", "conformance", "subject hallucination", "object hallucination")


def plain(triple: Triple) -> str:
    """Give a triple as it is compared: without spaces and underscores, lower case.

    >>> plain(("Ann Lee", "birth place", "Bath"))
    'annleebirthplacebath'
    """
    return "".join(re.sub(r"_|\s+", "", part).lower() for part in triple)


def measured(
    found: Sequence[Triple], gold: Sequence[Triple], sentence: str, ontology: Mapping[str, Any]
) -> list[float]:
    """Give the metrics of one sentence, in the order of ``METRICS``."""
    relations = {_underscored(relation) for _, relation, _ in gold}
    kept = {plain(triple) for triple in found if _underscored(triple[1]) in relations}
    right = len(kept & {plain(triple) for triple in gold})
    precision = right / len(kept) if kept else 0.0
    recall = right / len({plain(triple) for triple in gold}) if kept else 0.0
    f1 = 2 * precision * recall / (precision + recall) if right else 0.0
    known = {_underscored(relation["label"]) for relation in ontology["relations"]}
    conformant = sum(_underscored(relation) in known for _, relation, _ in found)
    held = _stemmed(f"{sentence} {' '.join(concept['label'] for concept in ontology['concepts'])}")
    away = [sum(_stemmed(triple[end]) not in held for triple in found) / len(found) if found else 0.0 for end in (0, 2)]
    return [precision, recall, f1, conformant / len(found) if found else 1.0, *away]


def _underscored(relation: str) -> str:
    return relation.replace(" ", "_")


def _stemmed(text: str) -> str:
    stems = Stemmer.Stemmer("porter").stemWords(re.findall(r"\w+|[^\w\s]", text.replace("_", " ").lower()))
    return "".join(stems)


def _ontology(folder: Path, sample: int) -> dict[str, float]:
    ontology = json.loads((folder / "ontology.json").read_text(encoding="utf-8"))
    packed = (folder / "sentences.jsonl.gz").read_bytes()
    rows = [json.loads(line) for line in gzip.decompress(packed).decode("utf-8").split("\n") if line.strip()]
    tested = [row for row in rows if row["split"] == "test" and row.get("triples")]
    if sample:
        tested = random.Random(1).sample(tested, min(sample, len(tested)))
    with KnowledgeBase() as kb:
        load_schema([folder / "ontology.ttl"], store=kb.store)
        known = mapping.read_ontology(kb.store)
        paragraphs = [Paragraph(row["id"], "", row["sent"]) for row in tested]
        found = cascade.evidence(paragraphs, known, embedder=kb.embedder)
        taken = cascade.instances_of(paragraphs, found, known, model=kb.model)
        asked = sum(len(each) for each in found)
    scores = [
        measured(one.triples, [_gold(triple) for triple in row["triples"]], row["sent"], ontology)
        for row, one in zip(tested, taken, strict=True)
    ]
    means = {name: sum(row[place] for row in scores) / len(scores) for place, name in enumerate(METRICS)}
    triples = sum(len(one.triples) for one in taken)
    return {"sentences": len(tested), "completions": asked, "triples": triples, **means}


def _gold(triple: Mapping[str, str]) -> Triple:
    return triple["sub"], triple["rel"], triple["obj"]


def _mean(rows: Iterable[Mapping[str, float]], name: str) -> float:
    values = [row[name] for row in rows]
    return sum(values) / max(len(values), 1)


def main() -> None:
    """Extract from every ontology's test sentences and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", choices=("dbpedia_webnlg", "wikidata_tekgen", "all"), default="all")
    parser.add_argument("--sample", type=int, default=0, help="so many sentences an ontology, drawn with seed 1")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    sets = ("dbpedia_webnlg", "wikidata_tekgen") if given.set == "all" else (given.set,)
    folders = [folder for name in sets for folder in sorted((data_folder() / "text2kgbench" / name).iterdir())]
    rows = {f"{folder.parent.name}/{folder.name}": _ontology(folder, given.sample) for folder in folders}
    for name in sets:
        own = [row for key, row in rows.items() if key.startswith(name)]
        counts = {key: sum(row[key] for row in own) for key in ("sentences", "completions", "triples")}
        rows[f"**{name}**"] = {**counts, **{key: _mean(own, key) for key in METRICS}}
    print(json.dumps(rows, indent=2) if given.json else _printed(rows))


def _printed(rows: Mapping[str, Mapping[str, float]]) -> str:
    names = ("sentences", "completions", "triples", *METRICS)
    lines = ["| ontology | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for name, row in rows.items():
        cells = [f"{row[key]:.0f}" if key in names[:3] else f"{row[key]:.3f}" for key in names]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
