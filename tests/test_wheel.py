"""The wheel carries queries, shapes, ontologies, prompts and the demonstration."""

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("hatchling", reason="hatchling builds the wheel")
    target = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)], cwd=ROOT, check=True)
    return next(target.glob("*.whl"))


def test_every_data_file_of_the_checkout_is_in_the_wheel(wheel: Path) -> None:
    inside = set(zipfile.ZipFile(wheel).namelist())
    missing = []
    for folder, suffixes in (("queries", (".rq", ".ru", ".part")), ("shapes", (".ttl",)), ("ontologies", (".ttl",))):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in suffixes and f"kgrag/data/{path.relative_to(ROOT).as_posix()}" not in inside:
                missing.append(path)
    for path in (
        *(ROOT / "kgrag" / "prompts").rglob("*.j2"),
        *(ROOT / "kgrag" / "demo").rglob("*.*"),
        *(ROOT / "kgrag" / "server" / "pages").rglob("*.*"),
        ROOT / "kgrag" / "py.typed",
    ):
        if "__pycache__" not in path.parts and path.relative_to(ROOT).as_posix() not in inside:
            missing.append(path)
    assert missing == []


def test_an_installed_wheel_runs_a_stored_query_outside_the_checkout(wheel: Path, tmp_path: Path) -> None:
    environment = tmp_path / "venv"
    venv.create(environment, with_pip=False, symlinks=True)
    site = next((environment / "lib").glob("python*")) / "site-packages"
    zipfile.ZipFile(wheel).extractall(site)
    own = Path(pytest.__file__).parents[1]
    (site / "dependencies.pth").write_text(f"{own}\n")
    code = (
        "import kgrag, kgrag.queries, pyoxigraph as ox, pathlib; assert 'venv' in kgrag.__file__, kgrag.__file__; "
        "query = kgrag.queries.bind('catalogue/kinds', catalogue=ox.NamedNode('urn:c')); "
        "print(len(list(ox.Store().query(query))), len(kgrag.queries.names()))"
    )
    done = subprocess.run(
        [environment / "bin" / "python", "-I", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[1]) == len(list((ROOT / "queries").rglob("*.r[qu]")))
