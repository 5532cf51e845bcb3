"""Datasets of Hugging Face as sources, met by the package ``datasets``, whole and streamed."""

import pytest

from kgrag import InputError, KnowledgeBase
from kgrag.integrations.hugging_face import dataset_documents
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder

ROWS = [
    {"idx": 7, "passage": "Oats are sown in spring.", "kind": 1, "region": "north"},
    {"idx": 8, "passage": " ", "kind": 0, "region": "north"},
    {"idx": 9, "passage": "Rye is sown in autumn.", "kind": 0, "region": "south"},
]


def test_rows_are_documents_and_those_without_text_are_left_out() -> None:
    found = list(dataset_documents(ROWS, text="passage", id="idx"))
    assert [(one.id, one.text) for one in found] == [("7", "Oats are sown in spring."), ("9", "Rye is sown in autumn.")]
    assert found[0].metadata == {"kind": 1, "region": "north"}
    assert [one.id for one in dataset_documents(ROWS, text="passage")] == ["0", "2"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"train": ROWS, "test": ROWS}, r"has splits \(train, test\)"),
        (ROWS, "no column 'pasage' of text. Did you mean"),
    ],
)
def test_a_dataset_that_cannot_be_read_so_is_refused(given: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        list(dataset_documents(given, text="pasage"))  # type: ignore[arg-type]


@pytest.mark.parametrize("streamed", [False, True])
def test_a_dataset_goes_in_whole_or_streamed_and_labels_have_their_names(streamed: bool) -> None:
    datasets = pytest.importorskip("datasets", reason="datasets is not installed: pip install '.[datasets]'")
    features = datasets.Features(
        {
            "idx": datasets.Value("int64"),
            "passage": datasets.Value("string"),
            "kind": datasets.ClassLabel(names=["winter", "summer"]),
            "region": datasets.Value("string"),
        }
    )
    dataset = datasets.Dataset.from_list(ROWS, features=features)
    source = dataset.to_iterable_dataset() if streamed else dataset
    with KnowledgeBase(settings=Settings(completions="off"), embedder=HashEmbedder()) as kb:
        report = kb.add_many(dataset_documents(source, text="passage", id="idx"), feed="crops")
        assert report.documents == 2
        (hit,) = kb.retrieve("sown", method="passages:signal=bm25", where={"kind": "winter"})
        assert hit.text == "Rye is sown in autumn."
