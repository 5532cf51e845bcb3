"""One ingest in a process of its own; prints seconds, the embedder's seconds and peak memory as JSON."""

import json
import resource
import sys
import time


def main() -> None:
    """Ingest ``argv[2]`` into the knowledge base ``argv[1]``."""
    from kgrag import KnowledgeBase

    start = time.perf_counter()
    with KnowledgeBase(sys.argv[1]) as kb:
        report = kb.ingest(sys.argv[2])
        embedding = kb.embedder.seconds
    seconds = time.perf_counter() - start
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found = {"documents": report.documents, "seconds": seconds, "embedding": embedding, "megabytes": megabytes}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
