"""The guide is true: its code runs, its links lead somewhere, and what it names exists."""

import ast
import contextlib
import importlib
import importlib.util
import json
import posixpath
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer.main

from kgrag import cli, errors, prompting, queries
from kgrag.server.pages.guide_page import render
from tests.conftest import QUICK
from tests.guide.pages import GUIDE, PAGES, Block, Reader, blocks, call, commands, matches
from tests.plugins.conftest import install  # noqa: F401 - a fixture

ROOT = GUIDE.parents[1]
TEXTS = {page: (GUIDE / page).read_text(encoding="utf-8") for page in PAGES}
PROSE = {page: re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE) for page, text in TEXTS.items()}
BLOCKS = {page: blocks(page, TEXTS[page]) for page in PAGES}
SPANS = {page: re.findall(r"`+ ?([^`].*?)`+", PROSE[page]) for page in PAGES}
COMMANDS = typer.main.get_command(cli.app).commands  # type: ignore[attr-defined]
FOLDERS = ("kgrag", "queries", "shapes", "ontologies", "tests", "benchmarks")
EXTRAS = {"dspy", "haystack", "langchain_core", "llama_index", "mcp"}
STARTING = {page for page in PAGES if any("[sys.executable" in block.text for block in BLOCKS[page])}
NOTEBOOKS = sorted(path.name for path in (GUIDE / "notebooks").glob("*.ipynb"))


# --- what runs ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The demonstration's knowledge base, made once, and what making it printed."""
    folder = tmp_path_factory.mktemp("guide") / "demo.kb"
    with pytest.MonkeyPatch.context() as patch:
        _embed_quickly(patch)
        code, out, err = call("demo", "--keep", str(folder))
    assert code == 0, err
    return folder, out


def _embed_quickly(patch: pytest.MonkeyPatch) -> None:
    """Put an embedder without weights in the place of the default one; the demonstration's answers are the same."""
    from kgrag.knowledge_base import KnowledgeBase
    from kgrag.settings import MINILM
    from kgrag.testing import HashEmbedder

    named = KnowledgeBase._configured_embedder
    patch.setattr(
        KnowledgeBase,
        "_configured_embedder",
        lambda self: HashEmbedder() if self.settings.embedder == MINILM else named(self),
    )


@pytest.fixture
def reader(
    demo: tuple[Path, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, request: pytest.FixtureRequest
) -> Reader:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    _embed_quickly(monkeypatch)
    if request.node.callspec.params.get("page") in STARTING:
        for name, value in QUICK.items():
            monkeypatch.setenv(name, value)

    def put_on_path(folder: Path) -> None:
        project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        modules = {
            path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in folder.rglob("*.*")
        }
        request.getfixturevalue("install")(project["name"], project["entry-points"], modules)

    return Reader(tmp_path, lambda: demo, monkeypatch.setenv, put_on_path)


@pytest.mark.parametrize("page", [page for page in PAGES if any(not block.skipped for block in BLOCKS[page])])
def test_every_block_of_a_page_runs_and_prints_what_the_page_shows(page: str, reader: Reader) -> None:
    for block in BLOCKS[page]:
        try:
            printed = reader.run(block)
        except ModuleNotFoundError as error:
            if error.name and error.name.partition(".")[0] in EXTRAS:
                pytest.skip(f"{block} needs an extra that is not installed: {error.name}")
            raise
        assert block.printed is None or block.skipped or matches(block.printed, printed), f"{block} prints\n{printed}"


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_runs_from_top_to_bottom(name: str, reader: Reader) -> None:
    for cell in json.loads((GUIDE / "notebooks" / name).read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            reader.run(Block(name, 0, "python", "".join(cell["source"])))


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_keeps_no_output(name: str) -> None:
    notebook = json.loads((GUIDE / "notebooks" / name).read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(cells) >= 5
    assert [cell for cell in cells if cell["outputs"] or cell["execution_count"] is not None] == []


def test_few_blocks_are_not_run_and_each_has_a_reason() -> None:
    every = [block for page in PAGES for block in BLOCKS[page]]
    skipped = [block for block in every if block.skipped]
    assert len(skipped) <= 18, [str(block) for block in skipped]
    assert len(every) >= 60
    assert [str(block) for block in every if not block.language] == []


# --- what is named ------------------------------------------------------------------------------------------------


def _lines() -> list[tuple[str, list[str]]]:
    """Return page and words of every command line: of shell blocks, those that are not run too, and of code in prose."""
    found = [
        (str(block), line)
        for page in PAGES
        for block in BLOCKS[page]
        if block.language == "sh"
        for line in commands(block.text)
        if line.startswith("kgrag ")
    ]
    found += [(page, span) for page in PAGES for span in SPANS[page] if span.startswith("kgrag ")]
    return [(where, re.sub(r"\s#.*", "", line).split()[1:]) for where, line in found]


def test_every_command_line_names_a_command_and_options_that_exist() -> None:
    wrong = []
    for where, words in _lines():
        rest = words[2:] if words[0] == "--kb" else words
        if rest[0].startswith("-") or rest[0].isupper():
            continue  # kgrag -v, kgrag COMMAND -h
        command = COMMANDS.get(rest[0])
        known = _flags(command, rest) if command else set()
        flags = {word for word in rest if re.fullmatch(r"--[a-z-]+", word)} - {"--help"}
        if command is None or not (flags <= known or where.startswith("extending/")):
            wrong.append((where, " ".join(words)))
    assert len(_lines()) >= 120
    assert wrong == []


def _flags(command: Any, words: list[str]) -> set[str]:
    """Return the options of a command and of its subcommands; of ``build``, those of the method that is named."""
    inner = [command, *getattr(command, "commands", {}).values()]
    if hasattr(command, "get_command") and words[1:] and not words[1].startswith("-") and not words[1].isupper():
        with contextlib.suppress(errors.UnknownName):  # a method that the page itself has written
            inner.append(command.get_command(None, words[1]))
    return {flag for each in inner if each for option in each.params for flag in (*option.opts, *option.secondary_opts)}


def test_every_option_in_prose_is_one_of_some_command() -> None:
    out = "".join(call(*name.split(), "--help")[1] for name in ["", *COMMANDS, *_built()])
    known = set(re.findall(r"--[a-z][a-z-]*", out)) | {"--rewrite-golden"}
    named = {
        (page, flag) for page in PAGES for span in SPANS[page] for flag in re.findall(r"(?<!\S)--[a-z][a-z-]*", span)
    }
    assert sorted((page, flag) for page, flag in named if flag not in known and not _foreign(page, flag)) == []


def _built() -> list[str]:
    """Return ``GROUP COMMAND`` for the commands of every group: ``build METHOD``, ``shards split``."""
    groups = {name: command for name, command in COMMANDS.items() if hasattr(command, "list_commands")}
    return [f"{name} {inner}" for name, group in groups.items() for inner in group.list_commands(None)]


def _foreign(page: str, flag: str) -> bool:
    """Return whether an option belongs to another program, which is named in the same span."""
    return any(flag in span and re.match(r"(pip|pytest|python -m|xcode-select)", span) for span in SPANS[page])


def test_the_page_of_commands_has_a_row_for_every_command_with_options_of_it() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", TEXTS["commands.md"], flags=re.MULTILINE))
    assert set(rows) == set(COMMANDS)
    wrong = [
        (name, flag)
        for name, row in rows.items()
        for flag in re.findall(r"`(--[a-z-]+)", row)
        if flag not in _flags(COMMANDS[name], [name, "passages"] if name == "build" else [name])
    ]
    assert wrong == []


def test_every_path_that_a_page_names_exists() -> None:
    wrong = []
    for page, spans in SPANS.items():
        for span in spans:
            if re.fullmatch(rf"({'|'.join(FOLDERS)})/[\w./-]*|\.[a-z][\w./-]+", span) and not (ROOT / span).exists():
                wrong.append((page, span))
    assert wrong == []


def test_every_module_class_and_function_that_a_page_names_exists() -> None:
    named = {(page, name) for page, spans in SPANS.items() for name in _dotted(spans)}
    named |= {("reference.md", name) for name in re.findall(r"^::: (\S+)$", TEXTS["reference.md"], flags=re.MULTILINE)}
    assert len(named) >= 60
    assert sorted((page, name) for page, name in named if not _exists(name)) == []


def _dotted(spans: list[str]) -> set[str]:
    pattern = r"(?<![\w./<#-])(?:kgrag|benchmarks)\.[\w.]+"
    return {name.rstrip(".") for span in spans for name in re.findall(pattern, span)}


@cache
def _exists(name: str) -> bool:
    if name in _groups() or name in ("kgrag.toml", "kgrag.kb"):
        return True
    parts = name.split(".")
    end = len(parts)
    while end and not _is_module(".".join(parts[:end])):
        end -= 1
    if end == len(parts):
        return True
    found = importlib.import_module(".".join(parts[:end])) if end else None
    for part in parts[end:]:
        found = getattr(found, part, None)
    return found is not None


def _is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def _groups() -> set[str]:
    """Return the groups of entry points, which look like modules."""
    try:
        return set(importlib.import_module("kgrag.plugins").GROUPS)
    except ImportError:
        return set()


def test_every_stored_query_and_prompt_that_a_page_names_exists() -> None:
    known = {*queries.names(), *prompting.names()}
    tops = {name.split("/")[0] for name in known}
    named = {(page, span) for page, spans in SPANS.items() for span in spans if re.fullmatch(r"[a-z_]+/[\w-]+", span)}
    named = {(page, span) for page, span in named if span.split("/")[0] in tops}
    assert len(named) >= 50
    assert sorted((page, span) for page, span in named if span not in known) == []


def test_every_hyper_parameter_of_a_method_is_on_its_page() -> None:
    from dataclasses import fields

    missing = []
    for page in (page for page in PAGES if page.startswith("methods/")):
        name = Path(page).stem
        module = importlib.import_module(f"kgrag.methods.{name}.method")
        method = next(
            each for each in vars(module).values() if getattr(each, "name", None) == name and hasattr(each, "retrieve")
        )
        ports = {
            "store",
            "spaces",
            "embedder",
            "model",
            "lexical",
            "weights",
            "read_only",
            "runner",
            "open_scratch",
            "workers",
        }
        named = " ".join(SPANS[page])
        missing += [
            (page, field.name)
            for field in fields(method)
            if field.name not in ports and not re.search(rf"\b{field.name}\b", named)
        ]
    assert missing == []


def test_every_kind_of_graph_is_on_the_page_about_the_store() -> None:
    vocabulary = (ROOT / "ontologies" / "kgrag.ttl").read_text(encoding="utf-8")
    kinds = set(re.findall(r"^kg:([A-Z]\w*Graph)$", vocabulary, flags=re.MULTILINE))
    assert len(kinds) >= 15
    assert sorted(kind for kind in kinds if f"`kg:{kind}`" not in TEXTS["store.md"]) == []


def test_every_exception_is_on_its_page_with_the_exit_code_that_it_has() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (\d) \|", TEXTS["exceptions.md"], flags=re.MULTILINE))
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.KgragError)]
    codes = {kind.__name__: str(cli._exit_code(kind())) for kind in kinds}
    assert rows == codes


def test_every_message_on_the_page_about_trouble_is_one_of_kgrag() -> None:
    messages = re.findall(r"^### `+ ?(.*?)`+$", TEXTS["troubleshooting.md"], flags=re.MULTILINE)
    known = "\n".join(_templates())
    foreign = ["Unsupported compiler"]
    unknown = [
        message
        for message in messages
        for part in message.split("…")
        if len(part.strip()) > 12 and part.strip(" `") not in known and not message.startswith(tuple(foreign))
    ]
    assert len(messages) >= 20
    assert unknown == []


@cache
def _templates() -> list[str]:
    """Return every text of the code of kgrag, values of f-strings as ``…``."""
    found = []
    for path in sorted((ROOT / "kgrag").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                found.append(
                    "".join(str(each.value) if isinstance(each, ast.Constant) else "…" for each in node.values)
                )
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
    return found


@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith("methods/")])
def test_every_figure_of_a_method_is_one_that_a_benchmark_printed(page: str) -> None:
    printed = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8").replace("**", "")
    measured = TEXTS[page].partition("## Measured")[2]
    figures = re.findall(r"(?<![\w.])\d\.\d{3,4}(?![\d.])", measured)
    assert figures or page == "methods/obqc.md"
    assert [figure for figure in figures if figure not in printed] == []


# --- form ---------------------------------------------------------------------------------------------------------


def test_every_link_leads_to_a_page_or_file_and_to_an_anchor_of_it() -> None:
    anchors = {page: set(re.findall(r'<h\d id="([^"]+)"', render(page, "/guide").body)) for page in PAGES}
    wrong = []
    for page, text in PROSE.items():
        for target, anchor in re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)\)", text):
            if target.startswith("https://"):
                continue
            place = posixpath.normpath(posixpath.join(posixpath.dirname(page), target)) if target else page
            if not (GUIDE / place).is_file() or (anchor and anchor not in anchors[place]):
                wrong.append((page, target, anchor))
    assert wrong == []


def test_every_page_can_be_reached_from_the_index() -> None:
    reached, waiting = set(), ["index.md"]
    while waiting:
        page = waiting.pop()
        reached.add(page)
        targets = re.findall(r"\]\(([^)#\s:]+\.md)", TEXTS[page])
        found = {posixpath.normpath(posixpath.join(posixpath.dirname(page), target)) for target in targets}
        waiting += sorted(found - reached)
    assert reached == set(PAGES)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_short_and_has_one_title(page: str) -> None:
    lines = TEXTS[page].splitlines()
    assert len(lines) <= 250
    assert lines[0].startswith("# ")
    assert len(re.findall(r"^# ", PROSE[page], flags=re.MULTILINE)) == 1


@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith("decisions/")])
def test_a_decision_has_a_date_a_choice_its_reason_and_what_would_change_it(page: str) -> None:
    form = r"# .+\n\nDate: \d{4}-\d{2}\n\n\*\*Choice\.\*\* .+\*\*Why\.\*\* .+\*\*What would change it\.\*\* .+"
    assert re.match(form, TEXTS[page], flags=re.DOTALL)


def test_the_layers_of_the_architecture_are_those_that_the_linter_holds(golden) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    listed = "".join(f"{number}. {_rooms(layer)}\n" for number, layer in enumerate(layers, 1))
    marks = r"(<!-- layers:begin -->\n).*?(<!-- layers:end -->)"
    text = re.sub(marks, rf"\g<1>{listed}\g<2>", TEXTS["architecture.md"], flags=re.DOTALL)
    golden(GUIDE / "architecture.md", text)


def _rooms(layer: str) -> str:
    return ", ".join(f"`{room.strip()}`" for room in layer.split("|"))


def test_the_static_site_builds_and_loads_nothing_from_another_host(tmp_path: Path) -> None:
    pytest.importorskip("material", reason="the static site needs the extra: pip install '.[docs]'")
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "-q",
        "-f",
        str(ROOT / ".mkdocs.yml"),
        "-d",
        str(tmp_path / "site"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    pages = {
        path.relative_to(tmp_path / "site").as_posix(): path.read_text(encoding="utf-8")
        for path in (tmp_path / "site").rglob("*.html")
    }
    assert len(pages) > len(PAGES)
    assert "KnowledgeBase" in pages["reference/index.html"]
    loaded = r"<(?:script|img|iframe)[^>]+src=\"?(https?:)?//|<link[^>]+rel=\"?(?:stylesheet|preconnect|icon)\"?[^>]+href=\"?(https?:)?//"
    assert [name for name, text in pages.items() if re.search(loaded, text)] == []
