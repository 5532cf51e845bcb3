"""The program of ``EmbeddingProcess``: reads texts from standard input and writes their rows to standard output."""

from __future__ import annotations

import json
import os
import sys
from typing import cast

import numpy as np

from kgrag.llm.embedders import Precision, SentenceTransformerEmbedder
from kgrag.llm.embedding_process import DONE, FAILED, read_frame, write_frame

__all__ = ["main"]


def main() -> None:
    """Answer requests until standard input ends."""
    requests, replies = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no reply
    embedder = SentenceTransformerEmbedder(cast("Precision", sys.argv[1]))
    while True:
        try:
            texts = json.loads(read_frame(requests))
        except EOFError:
            return
        try:
            reply = DONE + np.ascontiguousarray(embedder.rows(texts), "<f4").tobytes()
        except Exception as error:
            reply = FAILED + f"{type(error).__name__}: {error}".encode()
        write_frame(replies, reply)


if __name__ == "__main__":
    main()
