"""Methods as objects with typed hyper-parameters, beside their names as text."""

import subprocess
import sys

import pytest

from kgrag import Document, InputError, KnowledgeBase, methods, plugins
from kgrag.methods.typed_method_generator import FILE, generated
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder
from kgrag.typed_method import TypedMethod, tunable

KINDS = {kind.name: kind for kind in TypedMethod.__subclasses__()}


def test_what_is_stored_is_what_the_methods_have() -> None:
    formatted = subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--stdin-filename", FILE, "-"],
        input=generated(),
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert formatted == FILE.read_text(encoding="utf-8"), (
        "python -m kgrag.methods.typed_method_generator && ruff format"
    )


def test_every_method_of_ours_has_one_and_by_default_it_is_the_plain_name() -> None:
    assert sorted(KINDS) == sorted(name for name, plugin in plugins.registered("kgrag.methods").items() if plugin.own)
    assert [kind() for kind in KINDS.values()] == list(KINDS)
    assert sorted(methods.__all__) == sorted(kind.__name__ for kind in KINDS.values())


def test_a_typed_method_is_asked_as_its_name_is() -> None:
    with KnowledgeBase(settings=Settings(completions="off"), embedder=HashEmbedder()) as kb:
        kb.add_many(
            [Document(f"Mill {year} of Ostrel was built in {year}.", id=str(year)) for year in range(1820, 1826)]
        )
        typed = methods.Passages(signal="bm25", depth=2)
        assert typed == "passages:signal=bm25,depth=2"
        question = "When was mill 1823 of Ostrel built?"
        assert kb.retrieve(question, method=typed) == kb.retrieve(question, method="passages:signal=bm25,depth=2")
        assert kb.ask(question, method=typed).citations
        assert kb.method(typed) is kb.method(str(typed))
        assert kb.build(methods.Passages()).method == "passages"


def test_it_shows_how_it_was_made() -> None:
    made = methods.OgRag(nodes=5, inverse_degree=True, edges=5)
    assert (repr(made), str(made)) == ("OgRag(nodes=5, inverse_degree=True)", "og_rag:nodes=5,inverse_degree=true")
    assert dict(made.values) == {"nodes": 5, "inverse_degree": True}
    assert methods.SireRag(novelty=0).values == {"novelty": 0.0}


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: methods.OgRag(nodes=0), "nodes, edges, depth and window_tokens are at least 1"),
        (lambda: methods.OgRag(nodes="5"), r"OgRag: nodes got '5', a str, and is a int\. Default: 10"),
        (lambda: methods.OgRag(inverse_degree=1), "inverse_degree got 1, a int, and is a bool"),
        (lambda: methods.Passages(signal="bm52"), "signal 'bm52' is unknown"),
        (lambda: methods.PolyRag(layers="graph,text"), "layers 'graph,text' is unknown"),
        (lambda: methods.Passages(weight=True), "weight got True, a bool"),
    ],
)
def test_a_value_that_cannot_be_is_refused_when_it_is_made(made: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        made()  # type: ignore[operator]


def test_a_hyper_parameter_that_does_not_exist_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="nodse"):
        methods.OgRag(nodse=5)  # type: ignore[call-arg]


@pytest.mark.parametrize("name", KINDS)
def test_every_value_that_may_be_written_is_read_back(name: str) -> None:
    defaults = tunable(plugins.implementation(name))
    with KnowledgeBase(settings=Settings(completions="off"), embedder=HashEmbedder()) as kb:
        for key, default in defaults.items():
            if isinstance(default, bool):
                made = kb.method(KINDS[name](**{key: not default}))
                assert getattr(made, key) is not default
            elif isinstance(default, int) and key != "hops":
                made = kb.method(KINDS[name](**{key: default + 1}))
                assert getattr(made, key) == default + 1
