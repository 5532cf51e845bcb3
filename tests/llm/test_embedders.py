"""The built-in embedder, and the cache by content around any embedder."""

import gzip
import hashlib
import json
import logging
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgrag.errors import ServiceUnavailable
from kgrag.llm import embedders
from kgrag.llm.embedders import CachedEmbedder, SentenceTransformerEmbedder
from kgrag.ports import Embedder, Vectors
from kgrag.testing import HashEmbedder

PASSAGES = [
    "Soybean is sown five centimetres deep in warm soil.",
    "The film was directed by his daughter in 1957.",
    "Chickpea tolerates drought and is harvested in spring.",
]


class CountingEmbedder(HashEmbedder):
    """Lists the texts of each call; fails where told to."""

    def __init__(self, fail_on: str = "") -> None:
        super().__init__(16)
        self.calls: list[list[str]] = []
        self._fail_on = fail_on

    def embed(self, texts: Sequence[str], kind: str) -> Vectors:  # type: ignore[override]
        if self._fail_on and self._fail_on in texts:
            raise ServiceUnavailable("no answer")
        self.calls.append(list(texts))
        return super().embed(texts, kind)  # type: ignore[arg-type]

    @property
    def asked(self) -> list[str]:
        return [text for call in self.calls for text in call]


@pytest.fixture(scope="module")
def minilm() -> SentenceTransformerEmbedder:
    return SentenceTransformerEmbedder()


def test_name_and_dimension_are_known_without_loading() -> None:
    script = (
        "import sys; from kgrag.llm.embedders import SentenceTransformerEmbedder as E;"
        "print(E().identity, E().dimension, 'torch' in sys.modules, 'transformers' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["all-MiniLM-L6-v2", "384", "False", "False"]


def test_vectors_are_float32_of_length_one(minilm: SentenceTransformerEmbedder) -> None:
    vectors = minilm.embed(PASSAGES, "passage")
    assert (vectors.shape, vectors.dtype) == ((3, 384), np.float32)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-6)


def test_the_pace_is_that_of_full_batches_of_passages_after_the_first(tmp_path: Path) -> None:
    cached = CachedEmbedder(HashEmbedder(16), tmp_path / "embeddings.sqlite")
    assert cached.pace() == (0, 0.0)
    assert not (tmp_path / "embeddings.sqlite").exists()
    passages = [f"passage {number}" for number in range(300)]
    cached.embed(passages, "passage")
    cached.embed([*passages, "one more"], "passage")
    cached.embed(passages, "query")
    cached.close()
    texts, seconds = CachedEmbedder(HashEmbedder(16), tmp_path / "embeddings.sqlite").pace()
    assert (texts, seconds > 0) == (44, True)
    assert CachedEmbedder(HashEmbedder(8), tmp_path / "embeddings.sqlite").pace() == (0, 0.0)


def test_no_texts_give_no_rows(minilm: SentenceTransformerEmbedder) -> None:
    assert minilm.embed([], "passage").shape == (0, 384)


def test_question_is_nearest_to_its_passage(minilm: SentenceTransformerEmbedder) -> None:
    question = minilm.embed(["How deep are soybeans planted?"], "query")[0]
    assert int(np.argmax(minilm.embed(PASSAGES, "passage") @ question)) == 0


@pytest.mark.parametrize("text", ["", " ", "\x00", "\ud800", "a" * 5000, "🌾" * 600])
def test_odd_texts_have_a_vector(minilm: SentenceTransformerEmbedder, text: str) -> None:
    assert np.linalg.norm(minilm.embed([text], "query")) == pytest.approx(1.0, abs=1e-6)


def test_order_of_texts_does_not_matter(minilm: SentenceTransformerEmbedder) -> None:
    texts = ["word " * count for count in (1, 200, 3, 90)]
    assert np.sum(minilm.embed(texts, "passage") * minilm.embed(texts[::-1], "passage")[::-1], axis=1) == pytest.approx(
        1.0, abs=1e-3
    )


def test_threads_share_one_model(minilm: SentenceTransformerEmbedder) -> None:
    results: list[Vectors] = []
    threads = [threading.Thread(target=lambda: results.append(minilm.embed(PASSAGES, "query"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    assert all(np.allclose(result, results[0], atol=1e-3) for result in results)


def test_precisions_give_the_same_space(data: Path) -> None:
    with gzip.open(data / "multihop" / "2wiki_6119" / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line, _ in zip(lines, range(8), strict=False)]
    single, half = (SentenceTransformerEmbedder(name).embed(texts, "passage") for name in ("float32", "bfloat16"))
    assert np.sum(single * half, axis=1).min() > 0.996


@pytest.mark.parametrize(
    ("precision", "processor", "expected"),
    [
        ("auto", {"avx512_bf16": True}, True),
        ("auto", {"amx_bf16": True}, True),
        ("auto", {"avx2": True, "avx512_bf16": False}, False),
        ("auto", {"neon": True}, False),
        ("float32", {"avx512_bf16": True}, False),
        ("bfloat16", {}, True),
    ],
)
def test_precision_follows_the_processor(
    precision: embedders.Precision, processor: dict[str, bool], expected: bool
) -> None:
    assert SentenceTransformerEmbedder(precision)._uses_bfloat16(processor) is expected


def test_loading_prints_nothing_and_warns_of_nothing() -> None:
    script = (
        "from kgrag.llm.embedders import SentenceTransformerEmbedder as E;print(E().embed(['crop'], 'query').shape)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert (ran.stdout.strip(), ran.stderr) == ("(1, 384)", "")


def test_cached_embedder_is_an_embedder() -> None:
    cached: Embedder = CachedEmbedder(HashEmbedder(16), None)
    assert (cached.identity, cached.dimension) == ("hash-16", 16)
    assert cached.embed([], "query").shape == (0, 16)


def test_text_is_embedded_once(tmp_path: Path) -> None:
    inner = CountingEmbedder()
    cached = CachedEmbedder(inner, tmp_path / "cache" / "e.sqlite")
    first = cached.embed(["b", "a", "b"], "passage")
    assert np.array_equal(cached.embed(["b", "a", "b"], "passage"), first)
    assert np.array_equal(first, HashEmbedder(16).embed(["b", "a", "b"], "passage"))
    assert sorted(inner.asked) == ["a", "b"]
    assert cached.misses == 2
    assert cached.seconds > 0


def test_cache_outlives_the_process(tmp_path: Path) -> None:
    path, inner = tmp_path / "e.sqlite", CountingEmbedder()
    first = CachedEmbedder(HashEmbedder(16), path).embed(PASSAGES, "passage")
    assert np.array_equal(CachedEmbedder(inner, path).embed(PASSAGES, "passage"), first)
    assert inner.calls == []


def test_questions_and_passages_are_kept_apart(tmp_path: Path) -> None:
    inner = CountingEmbedder()
    cached = CachedEmbedder(inner, tmp_path / "e.sqlite")
    cached.embed(["a"], "passage")
    cached.embed(["a"], "query")
    assert inner.asked == ["a", "a"]


def test_models_are_kept_apart(tmp_path: Path) -> None:
    CachedEmbedder(HashEmbedder(32), tmp_path / "e.sqlite").embed(["a"], "passage")
    assert CachedEmbedder(HashEmbedder(16), tmp_path / "e.sqlite").embed(["a"], "passage").shape == (1, 16)


def test_vectors_that_were_made_elsewhere_are_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedders, "_TEXTS_PER_COMMIT", 2)
    inner, texts = CountingEmbedder(), ["a", "b", "\u00e9"]
    rows = HashEmbedder(16).embed(texts, "passage")
    made = {hashlib.sha256(text.encode()).hexdigest(): row for text, row in zip(texts, rows, strict=True)}
    cached = CachedEmbedder(inner, tmp_path / "e.sqlite")
    cached.keep(made, "passage")
    assert np.array_equal(cached.embed(texts, "passage"), rows)
    assert inner.calls == []


def test_asked_question_needs_no_file(tmp_path: Path) -> None:
    inner = CountingEmbedder()
    cached = CachedEmbedder(inner, tmp_path / "e.sqlite")
    asked = cached.embed(["which crop?"], "query")
    cached.close()
    (tmp_path / "e.sqlite").unlink()
    assert np.array_equal(cached.embed(["which crop?"], "query"), asked)
    assert (len(inner.calls), (tmp_path / "e.sqlite").exists()) == (1, False)


def test_only_the_latest_questions_stay_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedders, "_MAX_RECENT_QUESTIONS", 3)
    cached = CachedEmbedder(HashEmbedder(16), None)
    for number in range(9):
        cached.embed([f"q{number}"], "query")
    assert len(cached._recent) == 3


def test_changing_a_result_does_not_change_the_cache() -> None:
    cached = CachedEmbedder(HashEmbedder(16), None)
    cached.embed(["a"], "query")[:] = 9
    assert np.array_equal(cached.embed(["a"], "query"), HashEmbedder(16).embed(["a"], "query"))


def test_failure_loses_no_batch_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedders, "_TEXTS_PER_COMMIT", 2)
    inner = CountingEmbedder(fail_on="ccc")
    with pytest.raises(ServiceUnavailable):
        CachedEmbedder(inner, tmp_path / "e.sqlite").embed(["eeeee", "dddd", "ccc", "bb", "a"], "passage")
    again = CountingEmbedder()
    CachedEmbedder(again, tmp_path / "e.sqlite").embed(["eeeee", "dddd", "ccc", "bb", "a"], "passage")
    assert again.asked == ["ccc", "dddd", "eeeee"]


@settings(max_examples=40, deadline=None)
@given(calls=st.lists(st.lists(st.text(st.characters(), max_size=6), max_size=8), max_size=4))
def test_cache_changes_no_vector(calls: list[list[str]]) -> None:
    plain, cached = HashEmbedder(16), CachedEmbedder(HashEmbedder(16), None)
    for texts in calls:
        assert np.array_equal(cached.embed(texts, "passage"), plain.embed(texts, "passage"))
    assert cached.misses == len({text for texts in calls for text in texts})


@pytest.mark.parametrize("damage", ["nonsense", "cut", "middle"])
def test_damaged_cache_is_set_aside(tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: str) -> None:
    path = tmp_path / "e.sqlite"
    texts = [f"text {number}" for number in range(600)]
    first = CachedEmbedder(HashEmbedder(16), path)
    vectors = first.embed(texts, "passage")
    first.close()
    data = path.read_bytes()
    spoilt = {
        "nonsense": b"nonsense " * 2000,
        "cut": data[: len(data) // 3],
        "middle": data[:4096] + b"\xff" * (len(data) - 4096),
    }
    path.write_bytes(spoilt[damage])
    caplog.set_level(logging.WARNING)
    assert np.array_equal(CachedEmbedder(HashEmbedder(16), path).embed(texts, "passage"), vectors)
    assert "is damaged" in caplog.text
    assert path.with_name("e.sqlite.damaged").exists()
    again = CountingEmbedder()
    CachedEmbedder(again, path).embed(texts, "passage")
    assert again.calls == []


def test_vector_of_a_wrong_length_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "e.sqlite"
    cached = CachedEmbedder(HashEmbedder(16), path)
    cached.embed(["a"], "passage")
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE vectors SET vector = x'00'")
    connection.close()
    assert np.array_equal(cached.embed(["a"], "passage"), HashEmbedder(16).embed(["a"], "passage"))


def test_cache_that_cannot_be_written_costs_no_answer(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "in the way").write_text("a file, no folder")
    cached = CachedEmbedder(HashEmbedder(16), tmp_path / "in the way" / "e.sqlite")
    caplog.set_level(logging.WARNING)
    for _ in range(3):
        assert cached.embed(["a"], "passage").shape == (1, 16)
    assert caplog.text.count("is not used") == 1


def test_threads_and_second_process_share_one_cache(tmp_path: Path) -> None:
    path, errors = tmp_path / "e.sqlite", []
    caches = [CachedEmbedder(HashEmbedder(16), path), CachedEmbedder(HashEmbedder(16), path)]

    def work(number: int) -> None:
        try:
            for start in range(0, 60, 6):
                texts = [f"t{text}" for text in range(start, start + 20)]
                found = caches[number % 2].embed(texts, "passage")
                assert np.array_equal(found, HashEmbedder(16).embed(texts, "passage"))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
