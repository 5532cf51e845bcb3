"""The pages of the guide cut into blocks, and the blocks run as a reader would run them.

A block of a language is run; a ``text`` block behind it is what it prints, with ``…`` for anything. A comment
``<!-- not run: reason -->`` in front of a block keeps it from running.

==========  ===========================================================================================
language    how it is run
==========  ===========================================================================================
sh          lines that begin with ``kgrag`` by ``kgrag.cli.main`` in this process, others by bash;
            ``export NAME=VALUE`` holds for the page; ``… | kgrag …`` on one line is a pipe
python      by ``exec``, all of a page in one namespace
sparql      against ``demo.kb``; it has to have a result
turtle      parsed; likewise ``toml``, ``json`` and ``jsonl``
==========  ===========================================================================================
"""

import contextlib
import io
import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyoxigraph as ox
from markdown_it import MarkdownIt

from kgrag import KnowledgeBase, cli

GUIDE = Path(__file__).parents[2] / "kgrag" / "guide"
PAGES = sorted(path.relative_to(GUIDE).as_posix() for path in GUIDE.rglob("*.md"))
_DEMO = ["demo", "--keep", "demo.kb"]
_CODE = re.compile(r"exit code (\d)")


@dataclass(frozen=True)
class Block:
    """A fenced block: ``skipped`` is the reason why it is not run, ``printed`` what it prints, None where that is open."""

    page: str
    line: int
    language: str
    text: str
    skipped: str = ""
    printed: str | None = None

    def __str__(self) -> str:
        return f"{self.page}, line {self.line}"


def blocks(page: str, text: str) -> list[Block]:
    """Return the fenced blocks of a page."""
    found: list[Block] = []
    reason = ""
    for token in MarkdownIt("commonmark").parse(text):
        if token.type == "html_block" and (match := re.match(r"<!-- not run: (.+?) -->", token.content)):
            reason = match[1]
        elif token.type == "fence":
            language = token.info.strip()
            if language == "text" and not reason and found:
                found[-1] = replace(found[-1], printed=token.content)
            else:
                found.append(Block(page, (token.map or [0])[0] + 1, language, token.content, reason))
            reason = ""
    return found


@dataclass
class Reader:
    """Somebody who works through a page in an empty folder, which is the current one.

    ``demo`` returns the demonstration's folder and what making it printed; ``install`` puts a package on the path, where
    the page says ``pip install -e FOLDER``.
    """

    folder: Path
    demo: Callable[[], tuple[Path, str]]
    setenv: Callable[[str, str], None]
    install: Callable[[Path], None]
    namespace: dict[str, Any] = field(default_factory=lambda: {"__name__": "guide"})

    def run(self, block: Block) -> str:
        """Run a block and return what it prints to standard output."""
        if block.skipped:
            if package := re.fullmatch(r"pip install -e (\w+)\n", block.text):
                self.install(self.folder / package[1])
            return ""
        work = {"sh": self._shell, "python": self._python, "sparql": self._sparql}.get(block.language)
        if work is not None:
            if "demo.kb" in block.text or block.language == "sparql":
                self._have_demo()
            return work(block.text)
        parsers: dict[str, Callable[[str], object]] = {
            "turtle": lambda text: list(ox.parse(text, format=ox.RdfFormat.TURTLE)),
            "toml": tomllib.loads,
            "json": json.loads,
            "jsonl": lambda text: [json.loads(line) for line in text.splitlines()],
        }
        parsers[block.language](block.text)
        return ""

    def _have_demo(self) -> None:
        if not (self.folder / "demo.kb").exists():
            shutil.copytree(self.demo()[0], self.folder / "demo.kb")

    def _shell(self, text: str) -> str:
        return "".join(self._command(lines) for lines in commands(text))

    def _command(self, text: str) -> str:
        if setting := re.fullmatch(r"export (\w+)=(\S+)", text):
            self.setenv(setting[1], setting[2])
            return ""
        piped = ""
        if pipe := re.fullmatch(r"(.+) \| (kgrag .+)", text):
            piped, text = self._command(pipe[1]), pipe[2]
        if not text.startswith("kgrag "):
            done = subprocess.run(["bash", "-euc", text], cwd=self.folder, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{text}\n{done.stderr}"
            return done.stdout
        words = shlex.split(text, comments=True)[1:]
        words, target = (words[:-2], words[-1]) if words[-2:-1] == [">"] else (words, "")
        if words == _DEMO:
            return self.demo()[1]
        expected = int(match[1]) if (match := _CODE.search(text)) else 0
        code, out, err = call(*words, piped=piped)
        assert code == expected, f"{text}\nexit code {code}\n{out}\n{err}"
        if target:
            (self.folder / target).write_text(out, encoding="utf-8")
        return "" if target else out

    def _python(self, text: str) -> str:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(text, "guide", "exec"), self.namespace)
        return out.getvalue()

    def _sparql(self, text: str) -> str:
        with KnowledgeBase(self.folder / "demo.kb", read_only=True) as kb:
            found = kb.query(text)
        assert found is True or len(found) > 0, "the query has no result"
        return ""


def commands(text: str) -> Iterator[str]:
    """Yield a shell block in pieces: each command of kgrag, and what is between them."""
    other: list[str] = []
    lines = iter(text.splitlines())
    for line in lines:
        if not line.startswith(("kgrag ", "export ")):
            other.append(line)
            continue
        if any(other):
            yield "\n".join(other)
        other = []
        while not _complete(line):
            line = line.removesuffix("\\") + "\n" + next(lines)
        yield line
    if any(other):
        yield "\n".join(other)


def _complete(line: str) -> bool:
    try:
        shlex.split(line, comments=True)
    except ValueError:
        return False
    return not line.endswith("\\")


def call(*words: str, piped: str = "") -> tuple[int, str, str]:
    """Run ``kgrag WORDS`` in this process; returns exit code, standard output and standard error.

    With ``piped`` that text is its standard input.
    """
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    before, sys.argv = sys.argv, ["kgrag", *words]
    given, sys.stdin = sys.stdin, io.StringIO(piped) if piped else sys.stdin
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            cli.main()
        code = 0
    except SystemExit as stop:
        code = int(stop.code or 0)
    finally:
        sys.argv, sys.stdin = before, given
    return code, *(stream.buffer.getvalue().decode() for stream in (out, err))  # type: ignore[attr-defined]


def matches(expected: str, printed: str) -> bool:
    """Return whether a text is what a page shows: blanks at line ends do not count, ``…`` stands for anything."""
    want, have = (
        "\n".join(line.rstrip() for line in text.strip("\n").splitlines()).rstrip() for text in (expected, printed)
    )
    return re.fullmatch(".*?".join(map(re.escape, want.split("…"))), have, flags=re.DOTALL) is not None
