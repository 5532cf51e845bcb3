"""What replies grow with: the prompts of rounds with readers, and each document planned by what the others took.

Run ``python -m benchmarks.reply_growth FOLDER …``, folders of rounds (``inbox/KEY.json``, ``outbox/KEY.txt``). For each
measure of what a prompt was asked about, the tokens of a reply per unit are taken from all documents but one, and that
one is planned: printed is how far its sum is off, and the mean of how far its single replies are. Documents are told by
their titles; questions, which have none, by the round. Measures: characters; characters with a run of white space as
one, which headers go by (``kgrag.llm.costs``); statements (ends of sentences and half of the commas); numbers;
capitalised words; the same for each prompt.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import regex

from kgrag.llm.costs import CHARACTERS_PER_TOKEN

__all__ = ["left_out", "main", "replies"]

PROMPTS = {
    "og_rag/map": ("Here is a context definition", r"Data:\n-----\n(.*?)\n-----"),
    "poly_rag/facts": ("List what the numbered paragraphs", r"=== \w+ === paragraph \d+\n(.*?)(?=\n=== )"),
    "sire_rag/facts": ("Extract all facts from the numbered", r"=== \w+ === paragraph \d+\n(.*?)(?=\n=== )"),
    "sire_rag/summary": ("Summarize the provided text", r"Text:\n-----\n(.*)\n-----"),
    "answering/answer": ("Answer the question at the end", r"\nQuestion:\s+(.*?)\s*$"),
}
"""How prompts begin, and where they have what they ask about."""
_TITLE = r"names of things alone; data as well:\n-----\n(.*?)\n-----|=== \w+ === title\n(.*?)\n==="
_MEASURES: dict[str, Callable[[str], float]] = {
    "characters": len,
    "white space once": lambda text: len(" ".join(text.split())),
    "statements": lambda text: len(regex.findall(r"[.;:?!](?=\s|$)", text)) + text.count(",") / 2,
    "numbers": lambda text: len(regex.findall(r"\d+", text)),
    "capitals": lambda text: len(regex.findall(r"\b\p{Lu}\w+", text)),
    "each the same": lambda _: 1.0,
}

Reply = tuple[str, float]
"""What a prompt asked about, and the tokens of its reply."""


def replies(desk: Path) -> Iterator[tuple[str, str, Reply]]:
    """Yield prompt, document and reply of a round with readers."""
    for file in sorted((desk / "outbox").glob("*.txt")):
        asked = json.loads((desk / "inbox" / f"{file.stem}.json").read_text(encoding="utf-8"))
        text = "\n".join(str(message["content"]) for message in asked["messages"])
        for name, (begin, pattern) in PROMPTS.items():
            if text.startswith(begin):
                titles = regex.findall(_TITLE, text, flags=regex.DOTALL)
                about = "\n".join(regex.findall(pattern, text, flags=regex.DOTALL))
                tokens = len(file.read_text(encoding="utf-8")) / CHARACTERS_PER_TOKEN
                yield name, "".join(titles[0]) if titles else desk.name, (about, tokens)


def left_out(
    documents: Mapping[str, Sequence[Reply]], measure: Callable[[str], float]
) -> Iterator[tuple[str, float, float]]:
    """Yield each document with how far its sum is off, planned by the others, and the mean of its single replies."""
    sizes = {name: [max(measure(text), 1.0) for text, _ in found] for name, found in documents.items()}
    for name, found in documents.items():
        others = [other for other in documents if other != name]
        taken = sum(tokens for other in others for _, tokens in documents[other])
        per_unit = taken / sum(sum(sizes[other]) for other in others)
        real = sum(tokens for _, tokens in found)
        offs = [abs(per_unit * size / tokens - 1) for size, (_, tokens) in zip(sizes[name], found, strict=True)]
        yield name, per_unit * sum(sizes[name]) / real - 1, sum(offs) / len(offs)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table for each prompt of which two documents are recorded."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("desks", type=Path, nargs="+")
    found: dict[str, dict[str, list[Reply]]] = defaultdict(lambda: defaultdict(list))
    seen: set[tuple[str, Reply]] = set()  # a round may hold those of one before
    for desk in parser.parse_args(arguments).desks:
        for name, document, reply in replies(desk):
            if (name, reply) not in seen:
                found[name][document].append(reply)
            seen.add((name, reply))
    for name, documents in found.items():
        if len(documents) > 1:
            print("\n".join(_table(name, documents)), end="\n\n")


def _table(name: str, documents: Mapping[str, Sequence[Reply]]) -> Iterator[str]:
    yield f"| {name} | {' | '.join(f'{each[:30]} ({len(found)})' for each, found in documents.items())} | single ones |"
    yield "|---" + "|--:" * (len(documents) + 1) + "|"
    for measure, counted in _MEASURES.items():
        rows = list(left_out(documents, counted))
        count = sum(map(len, documents.values()))
        single = sum(mean * len(documents[each]) for each, _, mean in rows) / count
        yield f"| {measure} | {' | '.join(f'{off:+.0%}' for _, off, _ in rows)} | {single:.0%} |"


if __name__ == "__main__":
    main()
