"""What a program hands over as model and embedder: objects, functions, names, folders."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from kgrag import Document, InputError, KnowledgeBase
from kgrag.errors import EmbeddingMismatch
from kgrag.llm.function_models import FunctionModel
from kgrag.model import Completion, Prompt
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder

MILL = Document("The mill of Ostrel was built in 1820.", id="mill")
QUESTION = "When was the mill of Ostrel built?"


def quoting(text: str) -> str:
    """A model that finds the year."""
    assert QUESTION in text
    return json.dumps({"sentences": [{"text": "In 1820.", "citations": [{"evidence": 1, "quote": "built in 1820"}]}]})


def letters(texts: list[str]) -> list[list[int]]:
    """An embedder that counts letters."""
    return [[text.lower().count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts]


def test_a_function_is_a_language_model_and_its_answer_is_cited() -> None:
    with KnowledgeBase(settings=Settings(), embedder=HashEmbedder(), model=quoting) as kb:
        kb.add(MILL)
        answer = kb.ask(QUESTION, method="passages")
    assert (answer.text, answer.citations[0].quote) == ("In 1820. [1]", MILL.text)


def test_a_function_whose_reply_is_no_json_makes_an_answer_unknown() -> None:
    with KnowledgeBase(settings=Settings(), embedder=HashEmbedder(), model=lambda _: "In 1820, I think.") as kb:
        kb.add(MILL)
        assert kb.ask(QUESTION, method="passages").unknown


def test_a_function_that_returns_no_text_is_named() -> None:
    with KnowledgeBase(settings=Settings(), embedder=HashEmbedder(), model=lambda _: None) as kb:
        kb.add(MILL)
        with pytest.raises(InputError, match=r"<lambda> returned NoneType. Return the reply as a str"):
            kb.ask(QUESTION, method="passages")


def test_models_of_other_code_do_not_share_their_replies() -> None:
    one, two = FunctionModel(lambda _: "one"), FunctionModel(lambda _: "two")
    assert one.identity != two.identity
    quoting_again = FunctionModel(quoting)
    assert quoting_again.identity == FunctionModel(quoting).identity


def test_a_function_is_an_embedder_and_its_vectors_are_kept_under_its_name(tmp_path: Path) -> None:
    with KnowledgeBase(tmp_path / "kb", settings=Settings(), embedder=letters) as kb:
        kb.add_many([MILL, Document("Zzz zz zzz.", id="z")])
        assert kb.retrieve("zz z", method="passages:signal=dense", k=1)[0].text == "Zzz zz zzz."
        assert (kb.embedder.identity, kb.embedder.dimension) == (f"{__name__}.letters", 26)
        assert np.allclose(np.linalg.norm(kb.embedder.embed(["abc"], "query"), axis=1), 1)
    with (
        KnowledgeBase(tmp_path / "kb", settings=Settings(), embedder=HashEmbedder()) as other,
        pytest.raises(EmbeddingMismatch, match="letters"),
    ):
        other.retrieve("zz z", method="passages:signal=dense")


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda texts: [1.0, 2.0], r"an array of shape \(2,\) for 1 texts"),
        (lambda texts: [[0.0, 0.0] for _ in texts], "a row of zeros"),
        (lambda texts: "no", "no rows of numbers"),
    ],
)
def test_an_embedder_that_returns_no_vectors_is_refused(function: object, said: str) -> None:
    with KnowledgeBase(settings=Settings(), embedder=function) as kb, pytest.raises(InputError, match=said):
        _ = kb.embedder.dimension


class Half:
    """What a user wrote after the port, and forgot a part."""

    identity = "half"

    def complete(self, prompts: Sequence[Prompt]) -> list[Completion]:
        return [Completion("") for _ in prompts]


class Whole(Half):
    def as_completed(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        yield from enumerate(self.complete(prompts))


class Behind:
    """Passes everything on."""

    def __getattr__(self, name: str) -> object:
        return getattr(Whole(), name)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"model": Half()},
            r"model= got a Half, which lacks as_completed\. An object for model has identity, complete",
        ),
        ({"model": Whole}, r"model=Whole is a class\. Hand over an object of it: model=Whole\(…\)"),
        ({"model": "gpt-4o"}, r"Settings\(model='gpt-4o'\)"),
        ({"model": lambda: ""}, "model= got a function, which lacks identity, complete, as_completed"),
        ({"model": 7}, "model= got a int, which lacks"),
        ({"embedder": object()}, "embedder= got a object, which lacks identity, dimension, embed"),
        ({"embedder": "all-MiniLM-L6-v3"}, "Did you mean 'all-MiniLM-L6-v2'"),
        ({"embedder": Path("no/such/folder")}, "is no folder"),
        ({"embedder": "./no-such-folder"}, "is no folder"),
        ({"embedder": "/"}, r"a folder without a model: it has none of modules\.json, config\.json"),
    ],
)
def test_what_cannot_work_is_refused_when_the_knowledge_base_is_made(
    given: dict[str, object], said: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=said):
        KnowledgeBase(tmp_path / "kb", settings=Settings(), **given)
    assert not (tmp_path / "kb").exists()


@pytest.mark.parametrize("model", [Whole(), Behind()])
def test_an_object_with_all_parts_is_taken_as_it_is(model: object) -> None:
    with KnowledgeBase(settings=Settings(completions="off"), embedder=HashEmbedder(), model=model) as kb:
        assert kb.model.identity == "half"
