"""A store with a damaged file: opening and reading it through end with what to do, and in the memory of a sound one."""

import shutil
import subprocess
import sys
from pathlib import Path

import pyoxigraph as ox

from kgrag.store.oxigraph import OxigraphStore

MOST_BYTES = 6_000_000_000
OPENING = f"""
import resource, sys
from pathlib import Path
from kgrag.errors import StorageFailed
from kgrag.store.oxigraph import OxigraphStore
resource.setrlimit(resource.RLIMIT_AS, ({MOST_BYTES}, {MOST_BYTES}))
for folder in sys.argv[1:]:
    try:
        OxigraphStore.open(Path(folder)).close()
        print("opened")
    except StorageFailed as error:
        print(" ".join(str(error).split()))
"""

READING = f"""
import resource, sys
import pyoxigraph as ox
from kgrag.errors import StorageFailed
from kgrag.store.engine import engine
from kgrag.store.verification import damage
resource.setrlimit(resource.RLIMIT_AS, ({MOST_BYTES}, {MOST_BYTES}))
for folder in sys.argv[1:]:
    try:
        with engine():
            store = ox.Store.read_only(folder)
        print(*damage(store) or ["sound"])
    except StorageFailed as error:
        print(error)
"""


def test_a_damaged_store_is_opened_or_refused_with_what_to_do(tmp_path: Path) -> None:
    sound = tmp_path / "sound"
    for number in range(2):  # at its end a writer puts what it wrote into files of its own
        with OxigraphStore.open(sound) as store:
            store.update(f"INSERT DATA {{ GRAPH <urn:g> {{ <urn:s> <urn:p> {number} }} }}")
    OxigraphStore.open(sound).close()
    lines = _lines(OPENING, [_damaged(sound, path.name) for path in sorted(sound.glob("*.sst"))])
    refused = [line for line in lines if line != "opened"]
    assert refused
    assert all("damaged" in line and "backup" in line for line in refused), refused


def test_a_damaged_block_is_found_in_whichever_file_it_is(tmp_path: Path) -> None:
    sound = tmp_path / "sound"
    store = ox.Store(str(sound))
    store.bulk_extend(_quad(graph, number) for graph in range(40) for number in range(200))
    store.optimize()  # one file for each order and for terms, with several blocks
    store.flush()
    del store
    files = sorted(path.name for path in sound.glob("*.sst"))
    assert len(files) >= 7  # six orders and the terms
    assert _lines(READING, [sound]) == ["sound"]
    found = _lines(READING, [_damaged(sound, name) for name in files])
    assert all("damaged" in line and "backup" in line for line in found), found


def _quad(graph: int, number: int) -> ox.Quad:
    subject, predicate = ox.NamedNode(f"urn:s{number % 70}-{graph}"), ox.NamedNode(f"urn:p{number % 9}")
    value = ox.Literal(f"a text of more than sixteen bytes, {number} of {graph}") if number % 3 else ox.Literal(number)
    name = ox.NamedNode(f"urn:g{graph}") if graph else ox.BlankNode("g")
    return ox.Quad(subject, predicate, value, name)


def _lines(program: str, folders: list[Path]) -> list[str]:
    """Return what a process with little memory prints of each folder."""
    command = [sys.executable, "-c", program, *map(str, folders)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    lines = done.stdout.splitlines()
    assert (done.returncode, len(lines)) == (0, len(folders)), done.stderr
    return lines


def _damaged(sound: Path, name: str) -> Path:
    """Return a copy of a store in which a bit of a file, within its first block, is another one."""
    folder = sound.with_name(f"damaged-{name}")
    shutil.copytree(sound, folder)
    path = folder / name
    content = bytearray(path.read_bytes())
    content[20] ^= 1
    path.write_bytes(content)
    return folder
