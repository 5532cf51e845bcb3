"""A process to be killed: ``python crash_worker.py ingest|build KB [URL]``; prints what it has been told is done."""

import sys
from pathlib import Path


def main() -> None:
    """Do one piece of long work, in small batches so that there are many moments to be killed in."""
    from kgrag import KnowledgeBase
    from kgrag.settings import Settings
    from kgrag.testing import HashEmbedder
    from kgrag.text import ingestion

    task, path, source = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
    ingestion._BATCH_DOCUMENTS = 25
    settings = Settings()
    if task == "build":
        settings = Settings(model="fake", base_url=source, api_key="none", concurrency=2)

    def say(stage: str, done: int, total: int) -> None:
        print(f"{stage} {done} {total}", flush=True)

    print("start", flush=True)
    with KnowledgeBase(path, settings=settings, embedder=HashEmbedder()) as kb:
        if task == "ingest":
            kb.ingest(source, progress=say)
        else:
            kb.build("og_rag", progress=say)
    print("finished", flush=True)


if __name__ == "__main__":
    main()
