"""What is no question is refused in words, whichever call it comes to."""

from typing import Any

import pytest

from kgrag import KnowledgeBase
from kgrag.errors import InputError
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder


@pytest.mark.parametrize("call", ["ask", "retrieve", "stream", "forecast", "conversation"])
@pytest.mark.parametrize("question", [None, 5, b"When?", ["When?"]])
def test_what_is_no_text_is_no_question(call: str, question: Any) -> None:
    with KnowledgeBase(settings=Settings(), embedder=HashEmbedder()) as kb:
        asked = kb.conversation().ask if call == "conversation" else getattr(kb, call)
        with pytest.raises(InputError, match=f"the question is a {type(question).__name__}, and has to be text"):
            list(asked(question))


def test_a_count_of_hits_that_is_none_is_refused() -> None:
    wrong: Any = "5"
    with (
        KnowledgeBase(settings=Settings(), embedder=HashEmbedder()) as kb,
        pytest.raises(InputError, match="k is a str"),
    ):
        kb.retrieve("When?", k=wrong)
