"""The awaited calls: those of a knowledge base, side by side."""

import asyncio
import inspect

from kgrag import AsyncKnowledgeBase, Document, KnowledgeBase
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder


def test_questions_are_answered_beside_each_other_while_documents_come_in() -> None:
    async def run() -> tuple[int, set[str]]:
        async with AsyncKnowledgeBase(KnowledgeBase(settings=Settings(), embedder=HashEmbedder())) as kb:
            await kb.add(Document("The pump runs at 3 bar.", id="7"))
            tasks = [kb.retrieve("pump bar") for _ in range(8)]
            more = [kb.add(Document(f"Seal {number} is new.", id=f"s{number}")) for number in range(4)]
            results = await asyncio.gather(*tasks, *more)
            return len(await kb.documents()), {hits[0].text for hits in results[:8] if isinstance(hits, list)}

    assert asyncio.run(run()) == (5, {"The pump runs at 3 bar."})


def test_an_awaited_call_has_the_signature_of_the_call() -> None:
    own = {name for name, _ in inspect.getmembers(AsyncKnowledgeBase, inspect.iscoroutinefunction)}
    for name in own - {"__aenter__", "__aexit__", "build", "audit"}:
        expected = inspect.signature(getattr(KnowledgeBase, name))
        assert inspect.signature(getattr(AsyncKnowledgeBase, name)) == expected
