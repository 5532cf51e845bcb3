"""The command line, as a new user meets it."""

import errno
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import tenacity
import typer.main

from kgrag import cli, plugins
from tests.conftest import DEMO


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    """Run one command in an empty folder with a quick embedder; gives (exit code, stdout, stderr)."""
    from kgrag.knowledge_base import KnowledgeBase
    from kgrag.testing import HashEmbedder

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(KnowledgeBase, "_configured_embedder", lambda self: HashEmbedder())

    def go(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["kgrag", *arguments])
        capfd.readouterr()
        with pytest.raises(SystemExit) as stop:
            cli.main()
        out, err = capfd.readouterr()
        return int(stop.value.code or 0), out, err

    return go


def test_a_command_that_is_advised_is_for_the_base_in_use(run, tmp_path: Path) -> None:
    run("update", "INSERT DATA { GRAPH <urn:g> { <urn:s> <urn:p> 1 } }", "--kb", "my base")
    code, _, err = run("ask", "--method", "cg_rag", "Why?", "--kb", "my base")
    advised = re.search("`kgrag (.*?)`", err)
    assert code == 2
    assert advised
    _, _, said = run(*shlex.split(advised[1]))
    assert "`kgrag --kb 'my base' ingest PATH`" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["my base"]


def test_each_command_is_loaded_from_the_module_that_is_said_to_have_it() -> None:
    for part, commands in cli._PARTS.items():
        group = typer.main.get_command(cli._with([part]))
        assert list(group.commands) == commands.split()


def _described(name: str, command: Any) -> Iterator[str]:
    """Say what a command is and takes, whatever the layout of its help page."""
    yield f"{name}: {' '.join((command.help or '').split())}"
    for parameter in command.params:
        if " " in name and parameter.name in {"verbose", "quiet"}:
            continue  # every command has them: tests/cli/test_common_options.py
        label = " ".join((*parameter.opts, *parameter.secondary_opts))
        yield f"    {label} [{parameter.default}] {' '.join((getattr(parameter, 'help', '') or '').split())}"
    for sub in command.list_commands(None) if hasattr(command, "list_commands") else ():
        yield from _described(f"{name} {sub}", command.get_command(None, sub))


def test_help_is_what_was_reviewed(golden) -> None:
    golden("help.txt", "\n".join(_described("kgrag", typer.main.get_command(cli.app))) + "\n")


def test_the_version_is_printed(run) -> None:
    assert run("--version") == (0, f"kgrag {metadata.version('kgrag')}\n", "")


def test_ingest_then_ask_gives_a_cited_answer(run) -> None:
    code, out, err = run("ingest", str(DEMO / "texts"))
    assert code == 0, err
    assert "4 documents" in out
    code, out, err = run("ask", "When is chickpea sown in the Hill Zone?", "--format", "json")
    answer = json.loads(out)
    assert code == 0, err
    assert not answer["unknown"]
    assert "10 March" in answer["citations"][0]["quote"]


@pytest.mark.parametrize("command", ["ingest", "sync"])
def test_a_folder_with_a_broken_file_is_done_in_part_and_one_with_nothing_else_is_not(
    run, tmp_path: Path, command: str
) -> None:
    docs = tmp_path / "mixed"
    docs.mkdir()
    docs.joinpath("empty.txt").write_text("")
    assert run(command, str(docs))[0] == 2
    docs.joinpath("oats.txt").write_text("Oats are sown in spring.")
    code, out, err = run(command, str(docs))
    assert (code, "1 broken" in out, "empty.txt: is empty" in err) == (4, True, True)
    docs.joinpath("README").write_text("Read me.")
    _, out, err = run(command, str(docs))
    assert ("1 skipped" in out, "README: a file without a suffix" in err) == (True, True)
    assert run("ingest", str(docs / "empty.txt"))[0] == 2


def test_what_was_chunked_again_is_counted_from_nought(run, tmp_path: Path) -> None:
    (tmp_path / "oats.txt").write_text("Oats are sown in spring.")
    assert "0 duplicates, 0 replaced, 0 chunked again" in run("ingest", str(tmp_path / "oats.txt"))[1]


def test_sync_says_once_what_became_of_a_file(run, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    for name in ("oats", "rye", "spelt"):
        (docs / f"{name}.txt").write_text(f"{name} is sown in spring.")
    assert run("sync", "docs")[0] == 0
    (docs / "oats.txt").write_text("Oats are sown in March.")
    (docs / "rye.txt").rename(docs / "ryegrass.txt")
    (docs / "spelt.txt").unlink()
    code, out, err = run("sync", "docs")
    assert code == 0, err
    assert out.startswith("0 documents added, 1 changed, ")
    assert ("1 forgotten, 1 moved or renamed" in out, "changed: oats" in err) == (True, True), out + err
    assert [line for line in err.splitlines() if "forgotten" in line and "spelt" not in line] == []


def test_sync_names_the_documents_whose_files_it_cannot_know(run, tmp_path: Path) -> None:
    from kgrag.knowledge_base import KnowledgeBase
    from kgrag.model import Document
    from kgrag.text import ingestion

    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "rye.txt").write_text("Rye is sown in autumn.")
    with KnowledgeBase(tmp_path / "kgrag.kb") as kb:
        ingestion.ingest([Document("Oats are sown in spring.", location="docs/oats.txt")], store=kb.store)
    code, out, err = run("sync", "docs")
    assert (code, "0 forgotten" in out) == (0, True), err
    assert "left: docs/oats.txt (recorded without its folder" in err
    assert run("forget", "docs/oats.txt")[0] == 0
    for options in ((), ("--erase",)):  # a file that stays comes back, and its owner is told
        code, _, err = run("forget", "docs/rye.txt", *options)
        assert (code, "rye.txt" in err, "comes back with the next ingest or sync" in err) == (0, True, True), err
        assert "1 documents" in run("ingest", "docs")[1]


@pytest.mark.parametrize("options", [(), ("--erase",)])
def test_forget_names_other_documents_with_the_same_text(run, tmp_path: Path, options: tuple[str, ...]) -> None:
    (tmp_path / "docs").mkdir()
    for name in ("rye", "copy"):
        (tmp_path / "docs" / f"{name}.txt").write_text("Rye is sown in autumn.")
    assert "1 with the text of another file" in run("sync", "docs")[1]
    code, _, err = run("forget", "docs/copy.txt", *options)
    assert (code, "another document has the same text, and stays: rye" in err) == (0, True), err


def test_the_option_kb_may_stand_before_or_behind_the_command(run, tmp_path: Path) -> None:
    assert run("--kb", "a.kb", "init")[0] == 0
    assert run("init", "--kb", "b.kb")[0] == 0
    assert (tmp_path / "a.kb").is_dir()
    assert (tmp_path / "b.kb").is_dir()


def test_retrieve_of_a_question_file_prints_one_json_line_each(run, tmp_path: Path) -> None:
    run("ingest", str(DEMO / "texts"))
    (tmp_path / "q.jsonl").write_text(
        '{"id": "a", "question": "wild oat"}\n{"id": "b", "question": "irrigation canal"}\n'
    )
    code, out, _ = run("retrieve", "--questions", "q.jsonl", "-k", "2")
    rows = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [row["id"] for row in rows] == ["a", "b"]
    assert set(rows[0]["latency_ms"]) == {"embed", "search", "total"}
    assert len(rows[0]["hits"]) == 2


def test_query_and_update_meet(run) -> None:
    run("init")
    code, _, err = run("update", "INSERT DATA { GRAPH <urn:g> { <urn:s> <urn:p> 'näive {{ }} text' } }")
    assert code == 0, err
    code, out, _ = run("query", "SELECT ?o WHERE { <urn:s> <urn:p> ?o }", "--format", "csv")
    assert out.splitlines() == ["o", "näive {{ }} text"]  # one line more would be one solution more


@pytest.mark.parametrize("format_", ["table", "json", "csv", "tsv", "xml"])
def test_every_result_format_prints_rows(run, format_: str) -> None:
    run("init")
    code, out, err = run("query", "SELECT ?s WHERE { GRAPH ?g { ?s a ?t } } ORDER BY ?s", "--format", format_)
    assert code == 0, err
    assert "urn:kgrag:" in out


@pytest.mark.parametrize("format_", ["turtle", "ntriples", "json", "xml"])
def test_every_graph_format_prints_triples(run, format_: str) -> None:
    run("init")
    code, out, err = run("query", "CONSTRUCT { ?s ?p ?o } WHERE { GRAPH ?g { ?s ?p ?o } }", "--format", format_)
    assert code == 0, err
    assert "kgrag" in out


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("ask", "Anything?"), 2, "there is no knowledge base"),
        (("ask",), 2, "Missing argument"),
        (("frobnicate",), 2, "No such command"),
        (("ingest", "nowhere"), 2, "nowhere"),
        (("load", "nowhere.ttl"), 2, "nowhere.ttl"),
        (("build", "og_rga"), 2, "Did you mean 'og_rag'"),
        (("build", "passages", "--mapped", "x"), 2, "mapped"),
        (("build", "og_rag:knots=1"), 2, "no hyper-parameter"),
        (("queries", "og_rag/nothing"), 2, "Known"),
        (("update", "INSERT DATA { broken"), 2, "InvalidSPARQL"),
        (("update", "nowhere.ru"), 2, "nowhere.ru"),
        (("import", "nowhere.nq"), 2, "nowhere.nq"),
        (("retrieve",), 2, "QUESTION or --questions"),
        (("ingest", "--chunk-tokens", "2", "x"), 2, "chunk-tokens"),
    ],
)
def test_a_wrong_call_says_what_was_wrong(run, arguments: tuple[str, ...], code: int, words: str) -> None:
    got, _, err = run(*arguments)
    assert (got, words in err) == (code, True), err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("arguments", "methods"),
    [
        (("train", "passages", "--questions", "x"), "cg_rag."),
        (("tree", "-m", "passages"), "sire_rag."),
        (("stats", "passages"), "cg_rag, og_rag, poly_rag, sire_rag."),
        (("proposals", "-m", "passages"), "poly_rag."),
        (("draw", "x", "-m", "passages", "--to", "x.html"), "cg_rag."),
    ],
)
def test_what_a_method_cannot_do_is_refused_with_the_methods_that_can(
    run, arguments: tuple[str, ...], methods: str
) -> None:
    run("init")
    code, _, err = run(*arguments)
    assert (code, f"Methods that do: {methods}" in err) == (2, True), err


def test_the_help_of_a_build_has_the_options_of_that_method_only(run) -> None:
    out = run("build", "og_rag:nodes=5", "--help")[1]
    assert "--mapped" in out
    assert "--competency" not in out
    out = run("build", "--help")[1]
    assert all(f"{name} " in out and method.label in out for name, method in plugins.methods().items())


def test_a_build_that_spends_its_budget_ends_in_code_4(run) -> None:
    run("ingest", str(DEMO / "texts"))
    code, out, err = run("build", "sire_rag", "--max-completions", "2")
    assert (code, out, "the budget is spent: 2 completions" in err) == (4, "", True), err
    assert run("build", "sire_rag")[0] == 0


def test_an_unreachable_service_ends_in_code_3(run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("ingest", str(DEMO / "texts"))
    monkeypatch.setenv("KGRAG_MODEL", "some-model")
    monkeypatch.setenv("KGRAG_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("KGRAG_API_KEY", "secret-key-of-mine")
    monkeypatch.setenv("KGRAG_TIMEOUT", "1")
    for wait in ("wait_exponential", "wait_random"):  # between two attempts
        monkeypatch.setattr(tenacity, wait, lambda *_, **__: tenacity.wait_none())
    code, _, err = run("ask", "When is chickpea sown?")
    assert code == 3
    assert "secret-key-of-mine" not in err


def test_an_export_comes_back_equal(run, tmp_path: Path) -> None:
    run("ingest", str(DEMO / "texts"))
    assert run("export", "all.nq.gz")[0] == 0
    assert run("import", "all.nq.gz", "--kb", "again.kb")[0] == 0
    first = json.loads(run("stats", "--format", "json")[1])
    again = json.loads(run("stats", "--format", "json", "--kb", "again.kb")[1])
    assert first == again
    assert run("import", "all.nq.gz", "--kb", "again.kb")[0] == 2


def test_a_damaged_export_is_refused(run, tmp_path: Path) -> None:
    run("ingest", str(DEMO / "texts"))
    run("export", "all.nq")
    text = (tmp_path / "all.nq").read_text()
    (tmp_path / "all.nq").write_text(text[: len(text) // 2])
    code, _, err = run("import", "all.nq", "--kb", "again.kb")
    assert code == 2
    assert "checksum" in err


def test_a_backup_opens_as_a_knowledge_base(run) -> None:
    run("ingest", str(DEMO / "texts"))
    assert run("backup", "copy.kb")[0] == 0
    code, out, _ = run("ask", "When is chickpea sown in the Hill Zone?", "--kb", "copy.kb")
    assert code == 0
    assert "10 March" in out


def test_a_knowledge_base_on_a_disk_that_may_only_be_read_can_be_asked(run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("ingest", str(DEMO / "texts"))

    def refused(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("filelock.FileLock.acquire", refused)
    code, out, err = run("ask", "When is chickpea sown in the Hill Zone?")
    assert (code, "10 March" in out, "reading only" in err) == (0, True, True)
    assert run("backup", "copy.kb")[0] == 0
    code, _, err = run("ingest", str(DEMO / "texts"))
    assert (code, "NotWritable" in err) == (2, True)


def test_asking_an_empty_folder_creates_nothing_in_it(run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    code, _, err = run("ask", "When?", "--kb", "empty")
    assert (code, "there is no knowledge base" in err) == (2, True)
    assert list((tmp_path / "empty").iterdir()) == []


def test_too_little_memory_is_said_in_a_sentence(run, monkeypatch: pytest.MonkeyPatch) -> None:
    def too_much(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("kgrag.knowledge_base.KnowledgeBase.query", too_much)
    monkeypatch.setattr("kgrag.knowledge_base.KnowledgeBase.raw_query", too_much)
    run("ingest", str(DEMO / "texts"), "--no-embed")
    code, _, err = run("query", "ASK {}")
    assert (code, "Traceback" in err, "ulimit -v" in err) == (2, False, True)


def test_too_few_open_files_name_no_wrong_way_out(tmp_path: Path) -> None:
    code = (
        "import resource, sys; from pathlib import Path; from kgrag.store.oxigraph import OxigraphStore; "
        "resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)); OxigraphStore.open(Path(sys.argv[1]))"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "store")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[1])
    assert "ulimit -n" in done.stderr
    assert "Make it writable" not in done.stderr


def test_doctor_notes_what_is_behind_and_brings_it_up_to_date(run) -> None:
    run("ingest", str(DEMO / "texts"), "--no-embed")
    code, out, _ = run("doctor")
    assert (code, "note   vectors: space 'chunk' lacks" in out) == (0, True)
    assert run("doctor", "--repair")[0] == 0
    assert run("doctor")[1].strip() == "healthy"


def test_doctor_finds_vectors_of_another_embedder_and_mends_them(run, monkeypatch: pytest.MonkeyPatch) -> None:
    from kgrag.knowledge_base import KnowledgeBase
    from kgrag.testing import HashEmbedder

    run("ingest", str(DEMO / "texts"))
    monkeypatch.setattr(KnowledgeBase, "_configured_embedder", lambda self: HashEmbedder(32))
    code, _, err = run("ask", "When is chickpea sown?")
    assert (code, "EmbeddingMismatch" in err, "kgrag doctor --repair" in err) == (2, True, True)
    assert run("doctor")[0] == 1
    assert run("doctor", "--repair")[0] == 0
    assert run("ask", "When is chickpea sown in the Hill Zone?")[0] == 0


def test_the_demo_ends_in_cited_answers_and_one_honest_unknown(run) -> None:
    code, out, err = run("demo")
    assert code == 0, err
    assert out.count("[1]") >= 4
    assert out.count("does not carry an answer") == 1


def test_the_demo_asks_every_method() -> None:
    asked = json.loads((DEMO / "questions.json").read_text(encoding="utf-8"))
    assert {item["method"] for item in asked} == set(plugins.methods())
