"""Lexical-semantic graph retrieval without training (CG-RAG, section 4.3): weights identity, phi the clipped cosine.

With W = W' = I every step of equations 4 to 6 is linear, so instead of h the numbers r = d_q . h are passed on:
r_i^l = g_i r_i^{l-1} + AGG_j(phi_ij g_j r_j^{l-1}), where g = f(q, c) ** (1 / L). Without neighbours the result is
f(q, c) R_d(d_q, d_c) after L layers, whose logarithm is the additive fusion of Proposition 4.1.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from kgrag.methods.cg_rag.citation_arrays import FloatArray, Subgraph
from kgrag.ports import Vectors

__all__ = ["MIN_GATE", "Aggregation", "gates", "scores"]

Aggregation = Literal["mean", "sum"]

MIN_GATE = 0.1
"""f(q, c) of a chunk that shares no word with the question: the logarithm of Proposition 4.1 needs f > 0."""

_MIN_COSINE = 1e-3  # as MIN_GATE: R_d needs a logarithm too


def gates(relevance: FloatArray) -> FloatArray:
    """Return f(q, c) of equation 7, mapped to (0, 1].

    Args:
        relevance: R_s(s_q, s_c) of every chunk, BM25, at least 0; shape (n,).

    Returns:
        ``MIN_GATE`` for no common word up to 1 for the best chunk, shape (n,); 1 for all when no chunk shares a word,
        so that the semantic half decides alone.

    >>> [round(float(gate), 2) for gate in gates(np.array([0.0, 2.0, 4.0], np.float32))]
    [0.1, 0.55, 1.0]
    """
    best = float(relevance.max(initial=0.0))
    if best <= 0:
        return np.ones_like(relevance, dtype=np.float32)
    return (MIN_GATE + (1 - MIN_GATE) * (relevance / best)).astype(np.float32)


def scores(
    subgraph: Subgraph, gated: FloatArray, dense: Vectors, question: Vectors, *, layers: int, aggregation: Aggregation
) -> npt.NDArray[np.float64]:
    """Return R(q, c) of equation 9 for every node of a subgraph, shape (n,).

    Args:
        subgraph: n nodes and the messages between them.
        gated: f(q, c) of the nodes, shape (n,), 0 to 1.
        dense: unit vectors of the nodes, shape (n, d).
        question: the unit vector of the question, shape (d,).
        layers: L, at least 1.
        aggregation: whether messages are averaged or added up; the proof of Proposition 4.1 allows both.

    Deviations:
        The default is one layer, and messages are averaged over the neighbours alone and added to the chunk's own
        message, so that a chunk with many irrelevant neighbours is not worth less than one without any. A cosine is cut
        off just above 0, since a product of two negative relevances would count as relevance.
    """
    phi = np.clip(np.einsum("ij,ij->i", dense[subgraph.receivers], dense[subgraph.senders]), 0.0, 1.0)
    state: npt.NDArray[np.float64] = np.clip(dense @ question, _MIN_COSINE, 1.0).astype(np.float64)
    gate = gated.astype(np.float64) ** (1.0 / layers)
    message_counts = np.bincount(subgraph.receivers, minlength=len(state))
    for _ in range(layers):
        own = gate * state
        received = np.bincount(subgraph.receivers, phi * own[subgraph.senders], len(state))
        state = own + (received / np.maximum(message_counts, 1) if aggregation == "mean" else received)
    return state
