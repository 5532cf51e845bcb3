"""What every command takes: -h, -v, -q; completion; messages in the words of the command line."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

from kgrag import KnowledgeBase, cli
from kgrag.testing import HashEmbedder

COMMANDS = typer.main.get_command(cli.app).commands  # type: ignore[attr-defined]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    """Run one command in an empty folder; returns (exit code, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(KnowledgeBase, "_configured_embedder", lambda self: HashEmbedder())

    def go(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["kgrag", *arguments])
        capfd.readouterr()
        with pytest.raises(SystemExit) as stop:
            cli.main()
        return int(stop.value.code or 0), *capfd.readouterr()

    return go


@pytest.fixture
def texts(tmp_path: Path) -> str:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "oats.txt").write_text("Oats are sown in spring.")
    return str(tmp_path / "docs")


@pytest.mark.parametrize("command", ["", *COMMANDS, "build og_rag"])
def test_a_short_h_prints_the_help(run, command: str) -> None:
    words = command.split()
    code, out, _ = run(*words, "-h")
    assert (code, out) == run(*words, "--help")[:2]
    assert (code, out.startswith("Usage: ")) == (0, True)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_takes_the_common_options(command: str) -> None:
    flags = [flag for option in COMMANDS[command].params for flag in option.opts]
    assert {"-v", "--verbose", "-q", "--quiet"} <= set(flags)
    assert len(flags) == len(set(flags))


def test_quiet_leaves_the_result_and_nothing_on_standard_error(run, texts: str) -> None:
    loud, quiet = run("ingest", texts, "--no-embed"), run("ingest", texts, "--no-embed", "-q", "--kb", "b.kb")
    assert loud[2] == "documents: 1 so far\n"
    assert quiet == (0, loud[1], "")
    assert run("build", "passages", "-q")[::2] == (0, "")
    assert run("-q", "query", "SELECT ?s WHERE { ?s ?p ?o }")[2] == ""
    assert "rows" in run("query", "SELECT ?s WHERE { ?s ?p ?o }")[2]


def test_quiet_still_names_what_could_not_be_read(run, texts: str) -> None:
    Path(texts, "broken.pdf").write_bytes(b"%PDF-1.7 no more than this")
    for command in ("ingest", "sync"):
        code, _, error = run(command, texts, "-q", *(["--no-embed"] if command == "ingest" else []))
        assert (code, error.count("broken: "), "broken.pdf" in error) == (4, 1, True)


def test_quiet_still_reports_errors(run) -> None:
    assert "there is no knowledge base" in run("stats", "-q")[2]


@pytest.mark.parametrize("arguments", [("-v", "stats"), ("stats", "-v")])
def test_verbose_names_what_is_opened(run, arguments: tuple[str, ...]) -> None:
    run("init")
    code, out, err = run(*arguments, "--format", "json")
    assert (code, json.loads(out)["documents"]) == (0, 0)
    assert "knowledge base kgrag.kb, model extractive" in err
    assert run("stats")[2] == ""


def test_a_message_names_an_option_as_it_was_typed(run) -> None:
    code, _, err = run("audit", "--kb", "none.kb", "--write-baseline", "x.json", "none.ttl")
    assert (code, "_" in err) == (2, False)
    assert cli._as_typed("chunk_tokens is 2; 'limit' too", ["--chunk-tokens=2"]) == "--chunk-tokens is 2; 'limit' too"


@pytest.mark.parametrize(("words", "expected"), [("kgrag inge", "ingest"), ("kgrag ask --exp", "--explain")])
def test_the_shell_completes_commands_and_options(words: str, expected: str) -> None:
    code = "import sys; sys.argv = ['kgrag']; from kgrag.cli import main; main()"  # as the installed script does
    asked = {"_KGRAG_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, **asked}, capture_output=True, text=True)
    assert done.stdout.split() == [expected], done.stderr


def test_the_options_of_completion_are_offered(run) -> None:
    out = run("--help")[1]
    assert "--install-completion" in out
    assert "--show-completion" in out
