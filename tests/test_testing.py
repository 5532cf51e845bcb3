"""The fakes that ship behave like the ports they stand in for."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgrag.errors import CompletionMissing, UnsupportedTask
from kgrag.model import Prompt, Usage
from kgrag.testing import HashEmbedder, ScriptedModel, toy_documents

CROP = {"type": "object", "required": ["crop"]}


def crop(text="Which crop is it?"):
    return Prompt("test/crop", text, schema=CROP)


def test_one_text_is_said_every_time():
    model = ScriptedModel({"test/crop": '{"crop": "rye"}'})
    assert [completion.data for completion in model.complete([crop(), crop()])] == [{"crop": "rye"}] * 2


def test_several_texts_are_said_in_turn_and_then_run_out():
    model = ScriptedModel({"test/crop": ['{"crop": "rye"}', '{"crop": "maize"}']})
    assert [completion.data["crop"] for completion in model.complete([crop(), crop()])] == ["rye", "maize"]
    with pytest.raises(CompletionMissing, match="asked 3 times, and 2 replies"):
        model.complete([crop()])


@pytest.mark.parametrize("by_name", [True, False])
def test_a_function_sees_the_prompt(by_name):
    def shout(prompt):
        return prompt.text.upper()

    model = ScriptedModel({"test/free": shout} if by_name else shout)
    assert model.complete([Prompt("test/free", "rye")])[0].text == "RYE"


def test_a_prompt_without_a_reply_is_unsupported():
    with pytest.raises(UnsupportedTask, match=r"'test/pest'\. Scripted: test/crop"):
        ScriptedModel({"test/crop": "x"}).complete([Prompt("test/pest", "")])


def test_a_reply_off_its_schema_is_a_problem_and_asked_once():
    model = ScriptedModel({"test/crop": "no idea"})
    [completion] = model.complete([crop()])
    assert completion.data is None
    assert "no JSON" in completion.problem
    assert len(model.prompts) == 1


def test_prompts_are_recorded_in_order_and_words_counted():
    model = ScriptedModel({"test/crop": '{"crop": 1}'})
    [completion] = model.complete([crop("a b c")])
    assert model.prompts == [crop("a b c")]
    assert completion.usage == Usage(1, 3, 2)
    assert model.identity == completion.model == "scripted"


@given(st.lists(st.text(), max_size=5), st.integers(1, 100))
def test_vectors_are_finite_unit_rows_for_any_text(texts, dimension):
    vectors = HashEmbedder(dimension).embed(texts, "passage")
    assert vectors.shape == (len(texts), dimension)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_texts_that_share_stems_are_near_and_others_far():
    near, like, far = HashEmbedder().embed(
        ["growing soybeans on loam", "Soybean grows on a loam.", "fall armyworm in the whorl"], "query"
    )
    assert near @ like > 0.99
    assert abs(near @ far) < 0.5


def test_query_and_passage_share_one_space():
    embedder = HashEmbedder()
    assert (embedder.embed(["rye"], "query") == embedder.embed(["rye"], "passage")).all()
    assert (embedder.identity, embedder.dimension) == ("hash-64", 64)


def test_vectors_are_the_same_in_every_process():
    code = "from kgrag.testing import HashEmbedder; print(HashEmbedder().embed(['rye straw'], 'query').tobytes().hex())"
    runs = {subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout for _ in range(2)}
    assert {HashEmbedder().embed(["rye straw"], "query").tobytes().hex()} == {run.decode().strip() for run in runs}


def test_toy_documents_are_distinct_and_plain():
    documents = toy_documents()
    assert len({document.title for document in documents}) == len(documents) == 3
    assert all(document.text.isascii() and "\n\n" in document.text for document in documents)
