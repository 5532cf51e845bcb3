"""Killed at any write, renaming, deletion or fsync, a knowledge base loses nothing, doubles nothing, and answers right.

After each kill something else than the same command is done. Then the knowledge base is compared with a fresh one that
has the documents of before the command, or those of after it. ``KGRAG_KILLS=300`` makes so many kills.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

from kgrag import Document, KnowledgeBase
from kgrag.errors import NotBuilt
from kgrag.server.document_intake import DocumentIntake, IntakeOptions
from kgrag.store import migrations
from kgrag.text.json_documents import document_json
from kgrag.text.readers import read_paths
from kgrag.vocab import KG, number
from tests.cut_short import killed_at
from tests.final_states import METHODS, QUESTIONS, State, build_all, created, opened, state

KILLS = int(os.environ.get("KGRAG_KILLS", "14"))
BEFORE: dict[str, Any] = {
    "a.md": "# Barley\n\nBarley is sown in March in the Hill Zone. Barley takes 60 kg of nitrogen per hectare.",
    "b.md": "# Canal\n\nIda Vask leads the trial station of Ostrel. The canal of Ostrel serves the River Zone.",
    "c.txt": "Chickpea is not grown in the Coastal Zone. Blight of chickpea is controlled with Coprena.",
    "r.jsonl": {"1": "Lentil is sown in June in the River Zone.", "2": "Ben Oake leads the station of Marl."},
}
AFTER: dict[str, Any] = {
    "a.md": "# Barley\n\nBarley is sown in April in the Hill Zone [1].\n\n## References\n\n1. Canal.",
    "sub/b.md": BEFORE["b.md"],  # moved; the document is the same
    "d.txt": "Compost is given in May on the Quarry farm.",
    "r.jsonl": {"1": "Lentil is sown in July in the River Zone.", "3": "Ben Oake left the station of Marl in 2020."},
}
FEED = {"1": "The seed store of Ostrel keeps seed of lentil.", "2": "Wild oat is the worst weed of barley."}
NEW_FEED = {"1": "The seed store of Ostrel keeps seed of barley.", "3": "Oats are sown in May."}
MIGRATIONS = {0: lambda store, names: ([], [])}
OTHER = "Rye is sown in October in the Hill Zone by Ann Lee."


@dataclass(frozen=True)
class Holding:
    """What a knowledge base should have: files, documents of a feed, and perhaps an ontology."""

    files: dict[str, Any] = field(default_factory=lambda: BEFORE)
    feed: dict[str, str] = field(default_factory=lambda: FEED)
    ontology: bool = True


def write(docs: Path, files: dict[str, Any]) -> None:
    shutil.rmtree(docs, ignore_errors=True)
    for name, content in files.items():
        (docs / name).parent.mkdir(parents=True, exist_ok=True)
        rows = content.items() if isinstance(content, dict) else ()
        lines = "".join(json.dumps({"id": i, "text": text}) + "\n" for i, text in rows)
        (docs / name).write_text(lines or content)


def documents(feed: dict[str, str]) -> list[Document]:
    return [Document(text, id=i, title=f"Note {i}") for i, text in feed.items()]


# --- what is killed -------------------------------------------------------------------------------------------------


def ingest(kb: KnowledgeBase, root: Path) -> None:
    kb.ingest(root / "docs")


def sync(kb: KnowledgeBase, root: Path) -> None:
    kb.sync(root / "docs")


def add_many(kb: KnowledgeBase, root: Path) -> None:
    kb.add_many(documents(NEW_FEED))


def upload(kb: KnowledgeBase, root: Path) -> None:
    """Take in the folder as a server does that was sent it."""
    lines, docs = root / "lines.jsonl", root / "docs"
    lines.write_text("".join(json.dumps(document_json(each)) + "\n" for each in read_paths([docs])))
    taking = DocumentIntake(kb, lines, IntakeOptions(replaces="folder", folder=str(docs)))
    for batch, last in taking.batches():
        taking.add(batch, last)


def forget(kb: KnowledgeBase, root: Path) -> None:
    kb.forget("Note 1")


def forget_many(kb: KnowledgeBase, root: Path) -> None:
    kb.forget("Note 1", "Note 2", str(root / "docs" / "c.txt"))


def erase(kb: KnowledgeBase, root: Path) -> None:
    kb.erase("Note 1")


def vacuum(kb: KnowledgeBase, root: Path) -> None:
    kb.vacuum()


def build(kb: KnowledgeBase, root: Path) -> None:
    build_all(kb)


def backup(kb: KnowledgeBase, root: Path) -> None:
    kb.backup(root / "backup")


def export(kb: KnowledgeBase, root: Path) -> None:
    kb.export(root / "all.nq")


def import_(kb: KnowledgeBase, root: Path) -> None:
    kb.import_(root / "all.nq")


def nothing(kb: KnowledgeBase, root: Path) -> None:
    """Only open and close, which migrates what an earlier version wrote."""


@dataclass(frozen=True)
class Operation:
    """Something long, what there is before and after it, and what it finds: the files, and a kind of folder (World).

    ``middle`` is the point at half of those that it passed when this was written; it only saves a run that counts them.
    """

    run: Callable[[KnowledgeBase, Path], None]
    middle: int
    after: Holding = Holding()
    disk: dict[str, Any] = field(default_factory=lambda: BEFORE)
    before: Holding = Holding()
    folder: str = "built"


OPERATIONS = {
    "ingest": Operation(ingest, 35, Holding(AFTER | {name: BEFORE[name] for name in ("b.md", "c.txt")}), AFTER),
    "sync": Operation(sync, 37, Holding(AFTER), AFTER),
    "add_many": Operation(add_many, 32, Holding(feed=FEED | NEW_FEED)),
    "upload": Operation(upload, 36, Holding(AFTER), AFTER),
    "forget_many": Operation(forget_many, 26, Holding({n: t for n, t in BEFORE.items() if n != "c.txt"}, {})),
    "forget": Operation(forget, 20, Holding(feed={"2": FEED["2"]})),
    "erase": Operation(erase, 68, Holding(feed={"2": FEED["2"]})),
    "vacuum": Operation(vacuum, 58),
    "build": Operation(build, 80, folder="plain"),
    "rebuild": Operation(build, 81, Holding(AFTER), AFTER, Holding(AFTER), folder="changed"),
    "backup": Operation(backup, 4),
    "export": Operation(export, 5),
    "import": Operation(import_, 5, before=Holding({}, {}, ontology=False), folder="empty"),
    "migrate": Operation(nothing, 5, folder="earlier"),
}
_UNCHANGING = ("backup", "export", "vacuum")
TOGETHER = (
    *((name,) for name in OPERATIONS if name not in _UNCHANGING),
    _UNCHANGING,
)
"""What is killed before one comparison: each by itself, but for those that leave everything as it was."""


def work(operation: str, path: Path, root: Path) -> None:
    """Run an operation; what the killed process does."""
    migrations.MIGRATIONS = MIGRATIONS
    with opened(path) as kb:
        OPERATIONS[operation].run(kb, root)


# --- what is done next ----------------------------------------------------------------------------------------------


def ask(kb: KnowledgeBase, root: Path) -> None:
    for method in METHODS:
        try:
            kb.ask(QUESTIONS[0], method=method)
        except NotBuilt:
            continue


def doctor(kb: KnowledgeBase, root: Path) -> None:
    assert [finding.message for finding in kb.doctor() if finding.fault] == []


def add_another(kb: KnowledgeBase, root: Path) -> None:
    kb.add(Document(OTHER, id="other"), feed="other")
    kb.remove("other", feed="other")


def sync_another(kb: KnowledgeBase, root: Path) -> None:
    other = root / "other"
    other.mkdir(exist_ok=True)
    (other / "rye.txt").write_text(OTHER)
    kb.sync(other)
    kb.forget(str(other / "rye.txt"))


def build_one(kb: KnowledgeBase, root: Path) -> None:
    if kb.documents():
        kb.build("sire_rag")


NEXT = (ask, doctor, add_another, sync_another, build_one)


# --- the test -------------------------------------------------------------------------------------------------------


class World:
    """Folders with the documents of before, and the states of fresh knowledge bases, each made once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._states: dict[str, State] = {}
        for kind in ("plain", "built", "changed", "earlier"):
            kb = self._fresh(Holding(), root / kind)
            if kind != "plain":
                build_all(kb)
            if kind == "changed":
                write(root / "docs", AFTER)
                kb.sync(root / "docs")
            if kind == "built":
                kb.export(root / "all.nq")
            kb.close()
        opened(root / "empty").close()
        store = ox.Store(str(root / "earlier" / "store"))
        (stated,) = store.quads_for_pattern(None, KG.schemaVersion, None, None)
        store.remove(stated)
        store.add(ox.Quad(stated.subject, stated.predicate, number(0), stated.graph_name))

    def _fresh(self, holding: Holding, path: Path | None = None) -> KnowledgeBase:
        write(self.root / "docs", holding.files)
        kb = created(path) if holding.ontology else opened(path)
        if holding.files:
            kb.ingest(self.root / "docs")
        kb.add_many(documents(holding.feed))
        return kb

    def state(self, holding: Holding) -> State:
        key = json.dumps([holding.files, holding.feed, holding.ontology])
        if key not in self._states:
            with self._fresh(holding) as kb:
                build_all(kb)
                self._states[key] = state(kb)
        return self._states[key]

    def copy(self, operation: Operation) -> Path:
        path = self.root / "kb"
        for leftover in (path, self.root / "other", self.root / "backup"):
            shutil.rmtree(leftover, ignore_errors=True)
        return Path(shutil.copytree(self.root / operation.folder, path))

    def points(self, name: str) -> int:
        """Return how many points an operation passes that nobody kills."""
        operation = OPERATIONS[name]
        path = self.copy(operation)
        write(self.root / "docs", operation.disk)
        return killed_at(1_000_000, work, name, path, self.root)

    def kill(self, *kills: tuple[str, int]) -> tuple[list[int], list[str]]:
        """Kill operations one after the other, each at a point, do something else, and compare.

        Several start from the same folder, and leave what was.

        Returns:
            The points that each passed, and what is wrong then.
        """
        operations = [OPERATIONS[name] for name, _ in kills]
        first, last = operations[0], operations[-1]
        path = self.copy(first)
        passed = []
        for (name, point), operation in zip(kills, operations, strict=True):
            write(self.root / "docs", operation.disk)
            passed.append(killed_at(point, work, name, path, self.root))
        holdings = [last.before, last.after][passed[-1] < kills[-1][1] :]
        with opened(path) as kb:
            NEXT[kills[-1][1] % len(NEXT)](kb, self.root)
            build_all(kb)
            found = state(kb)
        wrong = []
        for holding in holdings:  # mostly it is what was; what was to be is made where it is not
            wrong.append(self.state(holding).differences(found))
            if not wrong[-1]:
                return passed, []
        return passed, min(wrong, key=len)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(migrations, "MIGRATIONS", MIGRATIONS)
        yield World(tmp_path_factory.mktemp("kills"))


@pytest.mark.parametrize("names", TOGETHER, ids="-".join)
def test_a_killed_operation_leaves_what_was_or_what_was_to_be(world: World, names: tuple[str, ...]) -> None:
    number = max(1, KILLS // len(OPERATIONS))
    if number == 1:
        middles = [OPERATIONS[name].middle for name in names]
        passed, wrong = world.kill(*zip(names, middles, strict=True))
        assert wrong == []
        if passed == middles:
            return  # else one came to its end, and each is killed at half of what it passes
    for name in names:
        points = world.points(name)  # what is not killed ends right, as other tests see it too
        assert number == 1 or world.kill((name, points + 1))[1] == []
        for point in sorted({1 + (points - 1) * (2 * part + 1) // (2 * number) for part in range(number)}):
            assert world.kill((name, point))[1] == [], f"killed at point {point} of {points}"
