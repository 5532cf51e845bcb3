"""A part of the W3C suites against a served scratch dataset, by a black-box runner that lies beside the test data.

The whole, which takes minutes: ``kgrag serve --scratch`` and the runner's own command (README, "Serve it over HTTP").
"""

import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.server.conftest import Server

_DATA = (
    Path(os.environ.get("KGRAG_DATA", Path(__file__).parents[3] / "shared" / "data")) / "w3c_sparql" / "suites.tar.gz"
)
_RUNNER = Path(__file__).parents[3] / "shared" / "tools" / "sparql_conformance"
_PART = ("*/protocol", "*/graph-store-protocol", "*/service-description", "*/csv-tsv-res", "*/negation", "*/version")


@pytest.mark.skipif(not _DATA.is_file(), reason=f"the W3C suites are not here: {_DATA.name}")
@pytest.mark.skipif(not _RUNNER.is_dir(), reason=f"the runner is not here: {_RUNNER.name}")
def test_no_w3c_test_of_a_part_fails_but_those_that_the_engine_fails(scratch: Server, tmp_path: Path) -> None:
    with tarfile.open(_DATA) as archive:
        archive.extractall(tmp_path, filter="data")
    base = ("--data", str(tmp_path), "--base", str(scratch.client.base_url).rstrip("/"))
    paths = ("--query", "sparql", "--update", "update", "--gsp", "graphs", "--direct")
    known = ("--known", str(_RUNNER / "known" / "oxigraph-0.5.13-engine.txt"))
    suites = [part for name in _PART for part in ("--suite", name)]
    command = [sys.executable, "-B", str(_RUNNER / "run.py"), *base, *paths, *known, *suites]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-1000:]
    for suite, count in (("protocol", 34), ("graph-store-protocol", 13), ("service-description", 3)):
        assert re.search(rf"sparql11/{suite}\s+{count}\s+0\s+0\s", run.stdout), run.stdout[-3000:]
