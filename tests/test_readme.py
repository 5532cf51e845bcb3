"""The README's commands and examples are real."""

import re
import shlex
from pathlib import Path

import typer.main

from kgrag import cli, plugins
from kgrag.declarations import table_of_methods

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = typer.main.get_command(cli.app).commands  # type: ignore[attr-defined]


def _lines() -> list[list[str]]:
    blocks = re.findall(r"```sh\n(.*?)```", README, flags=re.DOTALL)
    texts = [re.sub(r"\n +", " ", block) for block in blocks]
    lines = [line for text in texts for line in text.splitlines() if line.startswith("kgrag ")]
    return [shlex.split(line, comments=True)[1:] for line in lines]


def test_every_command_line_names_a_command_and_options_that_exist() -> None:
    wrong = []
    for words in _lines():
        words = words[2:] if words[0] == "--kb" else words
        command = COMMANDS.get(words[0])
        if words[0] == "build":
            command = command.get_command(None, words[1])
        options = {flag for parameter in command.params for flag in parameter.opts} if command else set()
        wrong += (
            [words] if command is None else [word for word in words if word.startswith("--") and word not in options]
        )
    assert len(_lines()) >= 10
    assert wrong == []


def test_it_has_at_most_200_lines() -> None:
    assert len(README.splitlines()) <= 200


def test_every_link_leads_somewhere() -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", README)
    assert len(links) >= 20
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_two_set_up_commands_are_single_lines_that_do_everything() -> None:
    assert "python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/kgrag demo\n" in README
    assert "python3 -m venv .venv && .venv/bin/pip install '.[dev]' && .venv/bin/pytest\n" in README


def test_the_table_of_methods_is_what_they_declare(golden) -> None:
    own = [plugins.methods()[name] for name, plugin in plugins.registered("kgrag.methods").items() if plugin.own]
    marks = r"(<!-- methods:begin -->\n).*?(<!-- methods:end -->)"
    text = re.sub(marks, lambda found: f"{found[1]}{table_of_methods(own)}{found[2]}", README, flags=re.DOTALL)
    golden(ROOT / "README.md", text)


def test_the_python_example_runs(tmp_path, monkeypatch) -> None:
    from kgrag.knowledge_base import KnowledgeBase
    from kgrag.testing import HashEmbedder

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(KnowledgeBase, "_configured_embedder", lambda self: HashEmbedder())
    source = re.search(r"```python\n(.*?)```", README, flags=re.DOTALL)[1]
    (tmp_path / "manuals").mkdir()
    (tmp_path / "crops.ttl").write_text((ROOT / "ontologies" / "crops.ttl").read_text())
    text = "# Crop manual\n\nCrop name: Soybean\n\nGrowing zone: Central Zone\n\nVariety name: JS 20-69\n\nThe Central Zone is the zone that sows JS 20-69 first.\n"
    (tmp_path / "manuals" / "soybean.md").write_text(text)
    exec(compile(source, "README.md", "exec"), {})
