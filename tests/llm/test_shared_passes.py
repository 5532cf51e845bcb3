"""Threads that share a model: what they get, what they wait for, and what becomes of a failure."""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgrag.llm.shared_passes import SharedPasses
from kgrag.ports import Vectors

LONG = "word " * 200


class Model:
    """Gives a text its length and its first character, notes every pass, and fails at the text ``bad``."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.passes: list[list[str]] = []
        self._seconds = seconds
        self._busy = threading.Lock()

    def __call__(self, texts: list[str]) -> Vectors:
        assert self._busy.acquire(blocking=False), "two threads at once"
        try:
            self.passes.append(texts)
            time.sleep(self._seconds)
            if "bad" in texts:
                raise ValueError("a bad text")
            return rows(texts)
        finally:
            self._busy.release()


def rows(texts: Sequence[str]) -> Vectors:
    return np.array([[len(text), ord(text[:1] or "-")] for text in texts], np.float32)


def together(model: Model, *asked: Sequence[str]) -> list[Callable[[], Vectors]]:
    """Ask all at once, while the model is busy with another text, and return what gives each result."""
    shared, pool = SharedPasses(model), ThreadPoolExecutor(len(asked) + 1)
    first = pool.submit(shared, ["first"])
    while not model.passes:
        time.sleep(0.001)
    results = [pool.submit(shared, texts) for texts in asked]
    first.result()
    pool.shutdown(wait=True)
    return [result.result for result in results]


@settings(deadline=None, max_examples=50)
@given(st.lists(st.lists(st.text(max_size=3) | st.just(LONG), min_size=1, max_size=99), min_size=1, max_size=5))
def test_each_thread_gets_the_rows_of_its_texts_in_their_order(asked: list[list[str]]) -> None:
    shared = SharedPasses(Model())
    with ThreadPoolExecutor(len(asked)) as pool:
        for texts, found in zip(asked, pool.map(shared, asked), strict=True):
            assert np.array_equal(found, rows(texts))


def test_questions_that_wait_together_go_through_together() -> None:
    model = Model(0.1)
    together(model, *([f"question {number}"] for number in range(8)))
    assert sorted(map(len, model.passes)) == [1, 8]


def test_a_question_waits_for_one_pass_of_a_thousand_documents_and_documents_go_on_beside_questions() -> None:
    model = Model(0.005)
    shared = SharedPasses(model)
    documents = threading.Thread(target=shared, args=([f"{number} {LONG}" for number in range(200)],))
    documents.start()
    while not model.passes:
        time.sleep(0.001)
    for number in range(10):
        before = len(model.passes)
        shared([f"question {number}"])
        assert [f"question {number}"] in model.passes[before : before + 3]  # one under way, one of documents, its own
    assert documents.is_alive()
    documents.join()
    assert max(map(len, model.passes)) <= 4


def test_a_failure_is_that_of_the_thread_whose_text_it_is() -> None:
    good, bad = together(Model(0.1), ["good"], ["bad"])
    assert np.array_equal(good(), rows(["good"]))
    with pytest.raises(ValueError, match="a bad text"):
        bad()


def test_after_a_failure_the_model_is_asked_again() -> None:
    shared = SharedPasses(Model())
    with pytest.raises(ValueError, match="a bad text"):
        shared(["bad"])
    assert np.array_equal(shared(["good"]), rows(["good"]))
