"""One knowledge base for the parts of all frameworks."""

import os
from collections.abc import Iterator

import pytest

from kgrag import KnowledgeBase
from kgrag.model import Document
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder

collect_ignore = [] if "LANGCHAIN_STANDARD_TESTS" in os.environ else ["langchain_standard.py"]

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"  # read when Haystack is imported; no test sends anything


@pytest.fixture(scope="module")
def mills() -> Iterator[KnowledgeBase]:
    """Three documents with what their sources say of them."""
    with KnowledgeBase(settings=Settings(model="extractive", completions="off"), embedder=HashEmbedder()) as kb:
        kb.add_many(
            [
                Document(
                    "The mill of Ostrel was built in 1820.", id="mill", title="Mill", url="https://ostrel.example/mill"
                ),
                Document(
                    "The bridge of Ostrel was finished in 1907.", id="bridge", title="Bridge", metadata={"tenant": "a"}
                ),
                Document("The quarry of Ostrel opened in 1911.", id="quarry", title="Quarry", metadata={"tenant": "b"}),
            ]
        )
        yield kb
