"""The demonstration: packaged texts, an ontology and mapped data, asked with every method."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import typer

from kgrag import demo, plugins
from kgrag.cli.printing import answer_text, note
from kgrag.knowledge_base import KnowledgeBase
from kgrag.resources import folder
from kgrag.settings import EXTRACTIVE, Settings

__all__ = ["run"]


def run(keep: Path | None) -> None:
    """Build the demonstration, ask its questions and print the cited answers."""
    if keep is not None:
        _tour(keep)
        return
    with tempfile.TemporaryDirectory(prefix="kgrag-demo-") as temporary:
        _tour(Path(temporary) / "demo.kb")


def _tour(path: Path) -> None:
    packaged = Path(demo.__file__).parent
    # the packaged demonstration asks nobody but this process, whatever the environment configures
    with KnowledgeBase(path, settings=Settings(model=EXTRACTIVE, completions="off")) as kb:
        note("Loading an ontology, four texts and one mapped record …")
        kb.load(folder("ontologies") / "crops.ttl")
        kb.ingest(packaged / "texts")
        questions = json.loads((packaged / "questions.json").read_text(encoding="utf-8"))
        for name in dict.fromkeys(item["method"] for item in questions):
            options: dict[str, Any] = {option: packaged / path for option, path in plugins.method(name).example.items()}
            report = kb.build(name, **options)
            note(f"{name}: {', '.join(f'{label} {count:,}' for label, count in report.counts.items())}")
        note(f"{len(kb.store):,} quads in named graphs")
        for item in questions:
            answer = kb.ask(item["question"], method=item["method"])
            typer.echo(f"\n{item['method']}> {item['question']}")
            typer.echo(answer_text(answer))
            if answer.sparql:
                typer.echo("\n" + "\n".join(f"  | {line}" for line in answer.sparql.splitlines()))
        typer.echo("")
    if path.parent.name.startswith("kgrag-demo-"):
        note("`kgrag demo --keep demo.kb` keeps it, so that you can query it.")
    else:
        note(f"Kept in {path}. Try: kgrag --kb {path} stats")
