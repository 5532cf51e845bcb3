"""The sources of a knowledge base: what documents come from, each with a name, a kind and a root.

==========  =========================================  ===========================================
kind        root                                       its documents
==========  =========================================  ===========================================
``folder``  a folder that was ingested or synced       those of all its files
``files``   a folder of which files were ingested      those of these files
``feed``    the name of a feed (``KnowledgeBase.add``)  those that were added with an id, also with a location
==========  =========================================  ===========================================

A place belongs to the source with the longest root that it is in, so no two sources have one. A folder inside of a
folder that is a source is part of that one; a folder takes over the sources inside of it.

Queries read: ``sources/registered``, ``documents/places``. Updates run: ``sources/record``, ``sources/move``.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyoxigraph as ox

from kgrag import queries
from kgrag.errors import InputError, UnknownName, UnreadableDocument
from kgrag.ports import TripleStore
from kgrag.resources import closest
from kgrag.store.publication_plan import now
from kgrag.text import documents
from kgrag.text.readers.sources import cleaned

__all__ = [
    "Source",
    "absent",
    "counted",
    "entry",
    "folder_of",
    "in_feed",
    "left_empty",
    "move",
    "named",
    "note_folder",
    "note_places",
    "planned",
    "register_earlier",
    "registered",
    "rename",
]

FOLDER, FILES, FEED = "folder", "files", "feed"


@dataclass(frozen=True, slots=True)
class Source:
    """What documents come from.

    Attributes:
        name: what it is called; no two have one name.
        kind: "folder", "files" or "feed".
        root: the real path of a folder, or the name of a feed; no two of a kind have one.
        documents: how many documents have a place in it; 0 where that was not asked.
        created: when it was first known, as xsd:dateTime.
        synced: when a sync of it last changed anything, "" for never synced.
    """

    name: str
    kind: str
    root: str
    documents: int = 0
    created: str = ""
    synced: str = ""

    def has(self, place: str) -> bool:
        """Return whether a place is in the source, unless another one with a longer root has it."""
        if self.kind == FEED:
            return place.partition("#")[0] == self.root and "#" in place
        return place.startswith(_inside(self.root))


def registered(store: TripleStore) -> list[Source]:
    """Return the sources by name, without the counts of their documents."""
    query = queries.bind("sources/registered", catalogue=store.names.catalogue)
    return [
        Source(name, kind, root, created=created, synced=synced)
        for _, name, kind, root, created, synced in store.select(query).values()
    ]


def counted(store: TripleStore) -> tuple[list[Source], int]:
    """Return the sources with the counts of their documents, and how many documents are of none of them."""
    sources = registered(store)
    counts: Counter[str] = Counter()
    without = 0
    for locations in documents.places(store).values():
        names = {owner.name for place in locations if (owner := _owner(place, sources))}
        counts.update(names)
        without += not names
    return [replace(source, documents=counts[source.name]) for source in sources], without


def left_empty(store: TripleStore, going: Collection[str]) -> tuple[list[Source], list[Source]]:
    """Return the sources that have no document but these (their IRIs), and those that have none at all."""
    sources = registered(store)
    before, after = set(), set()
    for document, locations in documents.places(store).items():
        names = {owner.name for place in locations if (owner := _owner(place, sources))}
        before |= names
        after |= set() if document in going else names
    emptied = [source for source in sources if source.name in before - after]
    return emptied, [source for source in sources if source.name not in before]


def entry(source: Source, store: TripleStore) -> ox.NamedNode:
    """Return the IRI of a source in the catalogue."""
    return store.names.mint("source", source.name)


def planned(store: TripleStore, folder: Path, name: str = "") -> Source | None:
    """Return the source that a folder is, or is to be; None for a part of another one.

    Raises:
        InputError: the name is another source's, or the folder is a part of another one and can have no name.
    """
    root, sources = _real(folder), registered(store)
    around = next((each for each in sources if each.kind == FOLDER and each.has(root)), None)
    if around is not None:
        if name:
            raise InputError(
                f"{root} is a part of the source '{around.name}' ({around.root}), so it has no name of its own. "
                f"Leave out the name, or sync '{around.name}'."
            )
        return None
    own = next((each for each in sources if each.kind != FEED and each.root == root), None)
    other = next((each for each in sources if each.name == name and each != own), None)
    if other is not None:
        raise InputError(f"the name '{name}' is that of another source ({other.root}). Take another one.")
    left = {each.name for each in sources if each.kind == FEED or not _contains(root, each.root)}
    chosen = name or (own.name if own else _free(Path(root).name, left))
    return replace(own or Source("", FOLDER, root), name=_checked(chosen), kind=FOLDER)


def folder_of(store: TripleStore, path: Path) -> Path:
    """Return a path, or the folder of the source that it is the name of where there is no such path.

    Raises:
        InputError: the source is a feed.
        UnreadableDocument: it is a source whose folder is not there.
    """
    known = [] if path.exists() else registered(store)
    source = next((one for one in known if one.name == str(path) or one.root == _real(path)), None)
    if source is None:
        return path
    if source.kind == FEED:
        raise InputError(f"'{source.name}' is a feed: its documents come by `add`, and there is no folder to read.")
    if not Path(source.root).is_dir():
        raise UnreadableDocument(
            f"{source.root}: there is no such folder. If that of the source '{source.name}' was moved or renamed: "
            f"`kgrag sources --move {source.name} --to FOLDER`."
        )
    return Path(source.root)


def absent(store: TripleStore) -> list[Source]:
    """Return the sources whose folders are not there: moved, renamed, deleted, or on a drive that is not mounted."""
    return [each for each in registered(store) if each.kind != FEED and not Path(each.root).is_dir()]


def note_folder(store: TripleStore, source: Source, *, synced: bool, since: int = -1) -> None:
    """Record a folder that was ingested or synced, as it was planned; sources inside of it become its parts.

    A sync that changed nothing since a revision leaves the time of the one that did.
    """
    time = now()
    again = synced and not (source.synced and store.revision == since)
    stamped = replace(source, created=source.created or time.value, synced=time.value if again else source.synced)
    known = registered(store)
    if stamped not in known:
        gone = [each for each in known if each.kind != FEED and _contains(source.root, each.root)]
        _record(store, stamped, gone)


def note_places(store: TripleStore, places: Iterable[str]) -> list[Source]:
    """Record the feeds and folders of places that are in no source yet; returns what is new.

    Files of one folder, with the folders in it, are one source. A place that is neither in a feed nor the path of a
    file belongs to none.
    """
    sources = registered(store)
    feeds, folders = set(), set()
    for place in places:
        if _owner(place, sources) is None:
            before = place.partition("#")[0]
            if Path(before).is_absolute():
                folders.add(before.rpartition(os.sep)[0] or os.sep)
            elif in_feed(place):
                feeds.add(before)
    outer = [each for each in sorted(folders) if not any(_contains(other, each) for other in folders - {each})]
    new = []
    for kind, root in [*((FILES, each) for each in outer), *((FEED, each) for each in sorted(feeds))]:
        inside = [each for each in sources if each.kind == kind == FILES and _contains(root, each.root)]
        left = {each.name for each in sources if each not in inside}
        source = Source(_free(Path(root).name, left), kind, root, created=now().value)
        _record(store, source, inside)
        sources = [*(each for each in sources if each not in inside), source]
        new.append(source)
    return new


def in_feed(place: str) -> bool:
    """Return whether a place is that of an id in a feed, and not a file, an address or a relative path."""
    before, mark, _ = place.partition("#")
    return bool(mark and before) and os.sep not in before and ":" not in before


def rename(store: TripleStore, name: str, new: str) -> str:
    """Give a source another name, and return that; its root stays, also that of a feed.

    Raises:
        UnknownName: there is no such source.
        InputError: the name is none, or that of another source.
    """
    sources = registered(store)
    source = named(sources, name)
    if new == name:
        return new
    if any(each.name == new for each in sources):
        raise InputError(f"the name '{new}' is that of another source. Take another one.")
    _record(store, replace(source, name=_checked(new)), [source])
    return new


def move(store: TripleStore, name: str, root: Path, *, elsewhere: bool = False) -> int:
    """Say that the folder of a source is another one now, with all that is in it; returns the count of its documents.

    A source that the other folder has become meanwhile, by a sync of it, becomes part of this one. With ``elsewhere``
    the folder is on another machine, where it may be that it is there.

    Raises:
        UnknownName: there is no such source.
        InputError: it is a feed, the other folder is none, or is inside of a source, or has one in it.
    """
    sources = registered(store)
    source = named(sources, name)
    if source.kind == FEED:
        raise InputError(f"'{source.name}' is a feed and has no folder. Only folders can be moved.")
    if elsewhere and not (root.is_absolute() and str(root).isprintable()):
        raise InputError(f"{str(root)[:200]!r} is no real path of a folder. Send the whole path.")
    if not (elsewhere or root.is_dir()):
        raise InputError(f"{root} is no folder. Move '{source.name}' to where its files are now.")
    new = _real(root)
    moving = [each for each in sources if each.kind != FEED and _contains(source.root, each.root)]
    renamed = not elsewhere and not Path(source.root).is_dir()
    for each in sources:
        crossing = _contains(each.root, new) or _contains(new, each.root)
        if each.kind != FEED and each not in moving and crossing and not (renamed and each.root == new):
            raise InputError(f"{new} crosses the source '{each.name}' ({each.root}). No two sources have one place.")
    if new != source.root:
        roots = {"old": source.root, "inside": _inside(source.root), "new": new, "within": _inside(new)}
        values = {key: ox.Literal(value) for key, value in roots.items()}
        store.update(queries.bind("sources/move", catalogue=store.names.catalogue, **values))
        if same := [each for each in sources if each.kind != FEED and each.root == new]:
            _record(store, replace(source, root=new, synced=max(source.synced, same[0].synced)), same)
    return next(each.documents for each in counted(store)[0] if each.name == name)


def named(sources: Sequence[Source], name: str) -> Source:
    """Return the source of a name. Raises UnknownName."""
    found = next((each for each in sources if each.name == name), None)
    if found is None:
        known = [each.name for each in sources]
        raise UnknownName(f"there is no source '{name}'. {closest(name, known)} `kgrag sources` lists them.")
    return found


def register_earlier(store: TripleStore) -> list[Source]:
    """Record the sources of documents that an earlier version took in, and return them; [] where there are sources."""
    if registered(store):
        return []
    return note_places(store, {place for locations in documents.places(store).values() for place in locations})


def _record(store: TripleStore, source: Source, replaced: Iterable[Source]) -> None:
    names = store.names
    gone = [names.mint("source", name) for name in sorted({source.name, *(each.name for each in replaced)})]
    time = now().datatype
    update = queries.bind(
        "sources/record",
        catalogue=names.catalogue,
        replaced=gone,
        source=names.mint("source", source.name),
        name=ox.Literal(source.name),
        kind=ox.Literal(source.kind),
        root=ox.Literal(source.root),
        created=ox.Literal(source.created, datatype=time),
        synced=[ox.Literal(source.synced, datatype=time)] if source.synced else [],
    )
    store.update(update, graphs=[])


def _owner(place: str, sources: Iterable[Source]) -> Source | None:
    return max((each for each in sources if each.has(place)), key=lambda each: len(each.root), default=None)


def _contains(root: str, other: str) -> bool:
    """Return whether a folder is another one, or has it in it."""
    return _inside(other).startswith(_inside(root))


def _inside(root: str) -> str:
    return root.rstrip(os.sep) + os.sep


def _real(folder: Path) -> str:
    return cleaned(os.path.realpath(folder))


def _free(name: str, taken: Iterable[str]) -> str:
    """Return a name that is not taken: this one, or with a number behind it."""
    wanted, used, count = name or "root", set(taken), 1
    found = wanted
    while found in used:
        count += 1
        found = f"{wanted}-{count}"
    return found


def _checked(name: str) -> str:
    if not name.strip() or os.sep in name or not name.isprintable() or name != name.strip():
        raise InputError(f"{name!r} is no name of a source. Take a word without '{os.sep}'.")
    return name
