"""A fixture that writes files to be read."""

from pathlib import Path

import pytest

from tests.text.readers.checks import Make


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Write a file of the test's own folder."""

    def written(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return written
