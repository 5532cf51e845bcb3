import base64
import hashlib
import io
import tarfile
from pathlib import Path

import pytest

from kgrag.errors import InputError
from kgrag.server.pages.page_rendering import STATIC
from kgrag.server.pages.vendoring import FILES, LICENCE_FILES, unpack


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "package.tgz"
    with tarfile.open(path, "w:gz") as packed:
        member = tarfile.TarInfo("package/build/one.js")
        member.size = 3
        packed.addfile(member, io.BytesIO(b"one"))
    return path


def digest(path: Path) -> str:
    return base64.b64encode(hashlib.sha512(path.read_bytes()).digest()).decode()


def test_the_named_files_of_the_expected_archive_are_written(archive: Path, tmp_path: Path) -> None:
    unpack(archive, digest(archive), {"package/build/one.js": "one.min.js"}, tmp_path / "static")
    assert [path.name for path in (tmp_path / "static").iterdir()] == ["one.min.js"]
    assert (tmp_path / "static" / "one.min.js").read_bytes() == b"one"


def test_another_archive_is_refused_and_nothing_is_written(archive: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is expected"):
        unpack(archive, "AAAA", {"package/build/one.js": "one.min.js"}, tmp_path / "static")
    assert not (tmp_path / "static").exists()


def test_the_bundled_files_stand_beside_their_licence() -> None:
    bundled = {path.name for path in (STATIC / "yasgui").iterdir()}
    assert bundled == {*FILES.values(), *LICENCE_FILES.values(), "NOTICE.txt"}
