"""Triples out of sentences, given an ontology: precision, recall, F1 and ontology conformance on Text2KGBench.

    python -m benchmarks.poly_rag_extraction [--sample N] [--set NAME] [--split NAME] [--json]

The metrics are those of the published evaluation (cenguix/Text2KGBench, src/evaluation/run_eval.py): a triple counts by
subject, relation and object without spaces and case; triples whose relation the sentence's gold does not have are left
out of precision; a sentence without triples scores 0; conformance is the share of triples whose relation the ontology
has, 1 where there is none; hallucination is the share of triples whose subject or object does not stand in the
sentence, by stems. Means over the sentences of an ontology, then over ontologies. The test sentences alone are read;
``--split train`` reads those that rules may be tuned on. Two more columns are ours: "f1 of all" counts every triple
found, also of relations that the gold has not, and "f1 by value" compares dates and numbers as values, and names
without quotation marks, "the" and what the gold adds in brackets, which no sentence says. The ontology is that of
ontology.json, which the metrics are counted by: some ontology.ttl have more relations. Deviation: words are found by a
pattern, not by NLTK's tokenizer. The model is that of the settings (KGRAG_MODEL).
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
from calendar import month_name
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import Stemmer

from benchmarks import data_folder
from kgrag import KnowledgeBase, mapping
from kgrag.methods.poly_rag import triple_extraction
from kgrag.methods.poly_rag.layer_files import load_schema
from kgrag.methods.poly_rag.triple_extraction import Paragraph, Request

__all__ = ["Triple", "main", "measured", "plain", "valued"]

Triple = tuple[str, str, str]
METRICS = (
    "precision",
    "recall",
    "f1",
    "conformance",
    "subject hallucination",
    "object hallucination",
    "f1 of all",
    "f1 by value",
)
_MONTHS = {name.casefold(): number for number, name in enumerate(month_name) if name}
_SPELLED = re.compile(
    r"(?:(\d{1,2})(?:st|nd|rd|th)?(?:\s+of)?\s+)?([a-z]+),?\s+(?:(\d{1,2})(?:st|nd|rd|th)?,?\s+)?(\d{4})"
)


def plain(triple: Triple) -> str:
    """Return a triple as it is compared: without spaces and underscores, lower case.

    >>> plain(("Ann Lee", "birth place", "Bath"))
    'annleebirthplacebath'
    """
    return "".join(re.sub(r"_|\s+", "", part).lower() for part in triple)


def valued(part: str) -> str:
    """Return an end of a triple as a value: a date in ISO form, a number, a name without what is only spelling.

    Numbers keep every digit, since many are identifiers: 318875313 is not 318875400.

    >>> valued("July 4, 1928"), valued("1,095.0 (metres)"), valued("The_Quine_Tapes"), valued("318875313")
    ('1928-07-04', '1095', 'quinetapes', '318875313')
    """
    text = re.sub(r"\s*\([^()]*\)$", "", part.replace("_", " ").strip().strip('"').strip()).casefold()
    if (spelled := _SPELLED.fullmatch(text)) and spelled[2] in _MONTHS:
        return f"{spelled[4]}-{_MONTHS[spelled[2]]:02}-{int(spelled[1] or spelled[3] or 1):02}"
    if re.fullmatch(r"[-+−]?\d[\d,]*(?:\.\d+)?", text):
        digits = f"{Decimal(text.replace(',', '').replace('−', '-')):f}"
        return digits.rstrip("0").rstrip(".") if "." in digits else digits
    return re.sub(r"^the\s+|\s+", "", text)


def _f1(found: set[str], gold: set[str]) -> float:
    return 2 * len(found & gold) / (len(found) + len(gold)) if found and gold else 0.0


def measured(
    found: Sequence[Triple], gold: Sequence[Triple], sentence: str, ontology: Mapping[str, Any]
) -> list[float]:
    """Return the metrics of one sentence, in the order of ``METRICS``."""
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
    every = _f1({plain(triple) for triple in found}, {plain(triple) for triple in gold})
    by_value = _f1({_by_value(one) for one in found if _underscored(one[1]) in relations}, set(map(_by_value, gold)))
    return [precision, recall, f1, conformant / len(found) if found else 1.0, *away, every, by_value]


def _by_value(triple: Triple) -> str:
    return " ".join([valued(triple[0]), plain(("", triple[1], "")), valued(triple[2])])


def _underscored(relation: str) -> str:
    return relation.replace(" ", "_")


def _stemmed(text: str) -> str:
    stems = Stemmer.Stemmer("porter").stemWords(re.findall(r"\w+|[^\w\s]", text.replace("_", " ").lower()))
    return "".join(stems)


def _ontology(folder: Path, sample: int, split: str) -> dict[str, float]:
    ontology = json.loads((folder / "ontology.json").read_text(encoding="utf-8"))
    packed = (folder / "sentences.jsonl.gz").read_bytes()
    rows = [json.loads(line) for line in gzip.decompress(packed).decode("utf-8").split("\n") if line.strip()]
    tested = [row for row in rows if row["split"] == split and _golds(row)]
    if sample:
        tested = random.Random(1).sample(tested, min(sample, len(tested)))
    with KnowledgeBase() as kb:
        load_schema([folder / "ontology.ttl"], store=kb.store)
        known = _restricted(mapping.read_ontology(kb.store), ontology)
        requests = [Request((Paragraph(row["id"], "", row["sent"]),), triples=False) for row in tested]
        taken: dict[str, list[Triple]] = {}
        for _, _, facts, _ in triple_extraction.answered(requests, known, model=kb.model, embedder=kb.embedder):
            for chunk, stated in facts.items():
                taken[chunk] = [(fact.subject, fact.relation, fact.value) for fact in stated.instances]
    scores = [measured(taken.get(row["id"], []), _golds(row), row["sent"], ontology) for row in tested]
    means = {name: sum(row[place] for row in scores) / len(scores) for place, name in enumerate(METRICS)}
    triples = sum(map(len, taken.values()))
    return {"sentences": len(tested), "completions": len(tested), "triples": triples, **means}


def _golds(row: Mapping[str, Any]) -> list[Triple]:
    """Return the gold triples of a sentence; training sentences of Wikidata have one, in fields of their own."""
    if "sub_label" in row:
        return [(row["sub_label"], row["rel_label"], row["obj_label"])]
    return [(triple["sub"], triple["rel"], triple["obj"]) for triple in row.get("triples") or ()]


def _restricted(known: mapping.Ontology, ontology: Mapping[str, Any]) -> mapping.Ontology:
    labels = {relation["label"].strip() for relation in ontology["relations"]}
    kept = {iri: one for iri, one in known.properties.items() if one.label.strip() in labels}
    return replace(known, properties=kept)


def _mean(rows: Iterable[Mapping[str, float]], name: str) -> float:
    values = [row[name] for row in rows]
    return sum(values) / max(len(values), 1)


def main() -> None:
    """Extract from every ontology's test sentences and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", choices=("dbpedia_webnlg", "wikidata_tekgen", "all"), default="all")
    parser.add_argument("--sample", type=int, default=0, help="so many sentences an ontology, drawn with seed 1")
    parser.add_argument("--split", choices=("train", "validation", "test"), default="test")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    sets = ("dbpedia_webnlg", "wikidata_tekgen") if given.set == "all" else (given.set,)
    folders = [folder for name in sets for folder in sorted((data_folder() / "text2kgbench" / name).iterdir())]
    rows = {f"{folder.parent.name}/{folder.name}": _ontology(folder, given.sample, given.split) for folder in folders}
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
