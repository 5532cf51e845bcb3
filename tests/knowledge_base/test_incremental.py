"""A knowledge base that changed, step by step, is the one that its documents alone give: same graphs, same answers.

Each seed is a sequence of twelve steps; ``KGRAG_SEQUENCES=500`` runs so many of them.
"""

import json
import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kgrag import Document
from kgrag.errors import StorageFailed, UnreadableDocument
from tests.cut_short import killed_after
from tests.final_states import METHODS, build_all, created, opened, state

SEQUENCES = int(os.environ.get("KGRAG_SEQUENCES", "8"))
STEPS = 12
PASSAGES = (
    "Barley is sown in March in the Hill Zone. Barley takes 60 kg of nitrogen per hectare.",
    "Barley is sown in April in the Coastal Zone. Ida Vask compared it with chickpea.",
    "Chickpea is not grown in the Coastal Zone. Blight of chickpea is controlled with the fungicide Coprena.",
    "Ida Vask leads the trial station of Ostrel. The canal of Ostrel serves the River Zone.",
    "The Quarry farm lets barley follow lentil [1]. Compost is given in May.\n\n## References\n\n1. Barley.\n",
    "Lentil is sown in June in the River Zone. Ben Oake leads the trial station of Ostrel since 2020.",
)
FILES = ("a.txt", "b.md", "sub/c.txt")
RECORD_FILES = ("r.jsonl", "t.csv")
Record = tuple[str, str, str]
"""Text, title and tenant."""


class Changes:
    """A folder, a feed and a knowledge base that follows them, and what the knowledge base should have of them.

    ``disk`` is what the files contain, ``held`` what the knowledge base was shown of them, ``feed`` its other documents. A
    file contains a text, or records by their ids. ``unsettled`` is what a death left either as it was or as it was to be.
    """

    def __init__(self, root: Path) -> None:
        self.root, self.docs = root, root / "docs"
        self.docs.mkdir()
        self.disk: dict[str, Any] = {}
        self.held: dict[str, Any] = {}
        self.feed: dict[str, Record] = {}
        self.unsettled = False
        self.kb = created(root / "kb")

    def step(self, chance: Random) -> str:
        """Make one change and return its name."""
        choices: list[Any] = [self.write, self.write_records, self.add_many, self.reopen]
        choices += [self.delete, self.rename, self.ingest, self.ingest, self.sync, self.die] if self.disk else []
        choices += [self.forget, self.build, self.build, self.build] if self.kb.documents() else []
        chosen = chance.choice(choices)
        chosen(chance)
        return str(chosen.__name__)

    # --- files

    def write(self, chance: Random) -> None:
        self._write(chance.choice(FILES), chance.choice(PASSAGES))

    def write_records(self, chance: Random) -> None:
        self._write(chance.choice(RECORD_FILES), records(chance))

    def delete(self, chance: Random) -> None:
        self._delete(chance.choice(sorted(self.disk)))

    def _delete(self, name: str) -> None:
        (self.docs / name).unlink()
        del self.disk[name]

    def rename(self, chance: Random) -> None:
        name = chance.choice(sorted(self.disk))
        to = f"sub/{chance.choice('de')}{Path(name).suffix}"
        if to != name:
            self._write(to, self.disk[name])
            self._delete(name)

    def _write(self, name: str, content: Any) -> None:
        file = self.docs / name
        file.parent.mkdir(parents=True, exist_ok=True)
        self.disk[name] = content
        if isinstance(content, str):
            file.write_text(content)
        elif name.endswith(".jsonl"):
            rows = ({"id": i, "text": text, "title": t, "tenant": x} for i, (text, t, x) in content.items())
            file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        else:
            rows = (f"{json.dumps(text)},{title},{tenant}\n" for text, title, tenant in content.values())
            file.write_text("".join(["text,title,tenant\n", *rows]))

    # --- the knowledge base

    def ingest(self, chance: Random) -> None:
        name = chance.choice([*sorted(self.disk), ""])
        self.kb.ingest(self.docs / name)
        self.held |= {name: self.disk[name]} if name else self.disk

    def sync(self, chance: Random) -> None:
        self.kb.sync(self.docs)
        self.held = dict(self.disk)

    def add_many(self, chance: Random) -> None:
        added = records(chance)
        self.feed |= added
        self.kb.add_many(documents(added))

    def forget(self, chance: Random) -> None:
        """Forget a document, at all its places; not one with a place in a table, whose rows have no names."""
        document = chance.choice(sorted(self.kb.documents(), key=lambda one: one.locations))
        if any(".csv#" in place for place in document.locations):
            return
        self.kb.forget(document.locations[0])
        for place in document.locations:
            file, _, record = place.partition("#")
            if file == "api":
                self.feed.pop(record, None)
                continue
            name = str(Path(file).relative_to(self.docs))
            kept = {key: value for key, value in self.held.get(name, {}).items() if key != record} if record else {}
            self.held |= {name: kept}

    def build(self, chance: Random) -> None:
        self.kb.build(chance.choice(METHODS))

    def reopen(self, chance: Random) -> None:
        self.kb.close()
        self.kb = opened(self.root / "kb")

    def die(self, chance: Random) -> None:
        """Die in the midst of something, and open again."""
        with killed_after(chance.randint(1, 4)), suppress(StorageFailed):
            chance.choice([self.ingest, self.sync, self.add_many, *([self.build] if self.kb.documents() else [])])(
                chance
            )
        self.unsettled = True
        self.reopen(chance)

    # --- the end

    def differences(self) -> list[str]:
        """Return what differs from a knowledge base that had these documents from the beginning."""
        if self.unsettled:
            self._write("a.txt", PASSAGES[0])  # an empty folder is refused
            self.kb.sync(self.docs)
            self.held = dict(self.disk)
        if self.unsettled:
            self.kb.add_many(documents(self.feed))
        build_all(self.kb)
        shutil.rmtree(self.docs)
        for name, content in self.held.items():
            if content:
                self._write(name, content)
        with created() as fresh:
            with suppress(UnreadableDocument):
                fresh.ingest(self.docs)
            fresh.add_many(documents(self.feed))
            build_all(fresh)
            return state(fresh).differences(state(self.kb))


def records(chance: Random) -> dict[str, Record]:
    def record() -> Record:
        return chance.choice(PASSAGES), chance.choice(["Barley", "Chickpea", "Station"]), chance.choice("xy")

    return {i: record() for i in chance.sample("123", chance.randint(1, 3))}


def documents(feed: dict[str, Record]) -> Iterable[Document]:
    for i, (text, title, tenant) in feed.items():
        yield Document(text, id=i, title=title, metadata={"tenant": tenant})


@pytest.mark.parametrize("seed", range(SEQUENCES))
def test_after_any_changes_graphs_and_answers_are_those_of_a_fresh_knowledge_base(tmp_path: Path, seed: int) -> None:
    changes = Changes(tmp_path)
    steps = [changes.step(Random(f"{seed}-{number}")) for number in range(STEPS)]
    assert changes.differences() == [], steps
    changes.kb.close()
