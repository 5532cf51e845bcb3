"""The build that ``benchmarks.build_kills`` kills: of a method, by two workers, with a model behind a service.

``python -m benchmarks.killed_build KNOWLEDGE_BASE METHOD URL TRACE``; without a trace it builds without workers.
Each line of the trace has the number of a process and the place that it has come to.
"""

from __future__ import annotations

import faulthandler
import sys
from functools import partial

from benchmarks.killed_intake import HashedWords, NotingWords, announced_at, note, watched

__all__ = ["CONCURRENCY", "built", "main"]

CONCURRENCY = 4
"""How many requests a build has under way at once."""

_MAX_SECONDS = 300


def main(path: str, method: str, url: str, trace: str) -> None:
    """Build in small tables and publications, and report each place that is reached.

    What hangs for five minutes ends itself, with what each thread is at.
    """
    # the workers import this module too, and need none of this
    from kgrag.methods.og_rag import facts_stage
    from kgrag.methods.poly_rag import triple_extraction
    from kgrag.methods.sire_rag import propositions
    from kgrag.workers import port_stages

    faulthandler.dump_traceback_later(_MAX_SECONDS, exit=True)
    note(trace, "starting")
    triple_extraction._REQUESTS_PER_PUBLISH, propositions._CHUNKS_PER_PUBLICATION = 4, 8
    facts_stage._REPLIES_PER_TABLE = port_stages._FEW_TEXTS = 2
    port_stages._TEXTS_PER_TABLE = 8
    built(path, method, url, trace)


def built(path: str, method: str, url: str, trace: str = "") -> None:
    """Build a method; with a trace by two workers, reporting each place that is reached."""
    from kgrag import KnowledgeBase
    from kgrag.llm.openai_chat import OpenAIModel
    from kgrag.settings import Settings

    settings = Settings(model="scripted", base_url=url, api_key="none", concurrency=CONCURRENCY)  # type: ignore[arg-type]
    embedder = NotingWords(trace) if trace else HashedWords()
    with KnowledgeBase(path, settings=settings, embedder=embedder) as kb:
        if not trace:
            kb.build(method)
            return
        note(trace, "opened")
        vars(kb.store)["publish"] = announced_at(trace, kb.store.publish, "publishing", "published")
        OpenAIModel._completion = announced_at(trace, OpenAIModel._completion, "asking", "answered")  # type: ignore[method-assign]
        kb.build(method, runner=partial(watched, trace))
        note(trace, "closing")


if __name__ == "__main__":
    main(*sys.argv[1:])
