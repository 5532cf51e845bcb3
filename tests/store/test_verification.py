"""A store with a damaged file: opening it ends with what to do, and needs no more memory than another opening."""

import shutil
import subprocess
import sys
from pathlib import Path

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


def test_a_damaged_store_is_opened_or_refused_with_what_to_do(tmp_path: Path) -> None:
    sound = tmp_path / "sound"
    for number in range(2):  # at its end a writer puts what it wrote into files of its own
        with OxigraphStore.open(sound) as store:
            store.update(f"INSERT DATA {{ GRAPH <urn:g> {{ <urn:s> <urn:p> {number} }} }}")
    OxigraphStore.open(sound).close()
    folders = [_damaged(sound, path.name) for path in sorted(sound.glob("*.sst"))]
    command = [sys.executable, "-c", OPENING, *map(str, folders)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    lines = done.stdout.splitlines()
    assert (done.returncode, len(lines)) == (0, len(folders)), done.stderr
    refused = [line for line in lines if line != "opened"]
    assert refused
    assert all("damaged" in line and "backup" in line for line in refused), refused


def _damaged(sound: Path, name: str) -> Path:
    """Return a copy of a store in which a bit of a file, within its first block, is another one."""
    folder = sound.with_name(f"damaged-{name}")
    shutil.copytree(sound, folder)
    path = folder / name
    content = bytearray(path.read_bytes())
    content[20] ^= 1
    path.write_bytes(content)
    return folder
