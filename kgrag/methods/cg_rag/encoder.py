"""The trained graph encoder of LeSeGR (CG-RAG, section 4.3), the only module that imports torch and PyTorch Geometric.

Equations 4 to 6 and 9: h_i^l = W' g_i h_i^{l-1} + AGG_j(phi(c_i, c_j) W g_j h_j^{l-1}), and the score is d_q . h_i^L.
The gate g is f(q, c) ** (learned exponent, at first 1 / L), so that a chunk without neighbours keeps f(q, c) (d_q . d_c)
when training begins, as Proposition 4.1 has it. phi is equation 8.

Deviations:
    W and W' begin as identity, so training departs from what needs no training. Messages pass in the ``hidden`` leading
    principal directions of the texts (all of them when hidden is not below d); what lies outside keeps its own gate.
    Attention also sees the relation of an edge and the gate of its sender, and what is heard is scaled by a learned
    power of the number of messages: the mean at first, the sum is within reach (the proof of Proposition 4.1 allows both).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch_geometric.nn import GATConv, GCNConv, TransformerConv
from torch_geometric.utils import degree, softmax

from kgrag.methods.cg_rag.mirror import RELATIONS

__all__ = ["Architecture", "Batch", "Encoder"]

_PHI = 32  # hidden units of the MLP of equation 8
_LEAST = 1e-6  # a gate of 0 has no derivative under a power


@dataclass(frozen=True, slots=True)
class Architecture:
    """What an encoder is made of.

    Args:
        dimension: d, of the embeddings.
        hidden: width of a layer, a multiple of ``heads``; the paper has 1,024.
        layers: L, as in the paper.
        heads: of attention, as in the paper.
        kind: "transformer" as in the paper; "gat" and "gcn" for comparison (Table 5).
    """

    dimension: int
    hidden: int = 128
    layers: int = 2
    heads: int = 4
    kind: Literal["gat", "gcn", "transformer"] = "transformer"


@dataclass(frozen=True, slots=True)
class Batch:
    """Subgraphs of several questions side by side.

    ``dense`` (n, d), ``gates`` (n,) 0 to 1, ``questions`` (n, d) the vector of each node's question, ``senders``,
    ``receivers`` and ``relations`` (m,).
    """

    dense: Tensor
    gates: Tensor
    questions: Tensor
    senders: Tensor
    receivers: Tensor
    relations: Tensor


class Encoder(nn.Module):
    """Scores chunks by their entangled representations."""

    def __init__(self, architecture: Architecture, basis: Tensor) -> None:
        """Begin as what needs no training; ``basis`` has orthonormal rows, shape (min(hidden, d), d)."""
        super().__init__()
        self.architecture = architecture
        self.register_buffer("basis", basis)
        layer = {"gat": _Gat, "gcn": _Gcn, "transformer": _Transformer}[architecture.kind]
        self.layers = nn.ModuleList(layer(architecture) for _ in range(architecture.layers))
        self.relevance = _Relevance(architecture.dimension)
        self.exponents = nn.Parameter(torch.full((architecture.layers,), 1.0 / architecture.layers))
        self.own = nn.Parameter(torch.tensor(1.0))
        self.temperature = nn.Parameter(torch.tensor(math.log(20.0)))

    def forward(self, batch: Batch) -> Tensor:
        """Give the score of every node, shape (n,): equation 9."""
        gates = batch.gates.clamp_min(_LEAST)
        pairs = torch.stack([batch.senders, batch.receivers])
        phi = self.relevance(batch.dense, pairs, batch.relations)
        inside = batch.dense @ self.basis.T
        outside = (batch.dense - inside @ self.basis) * gates.unsqueeze(1)
        state = nn.functional.pad(inside, (0, self.architecture.hidden - inside.shape[1]))
        for layer, exponent in zip(self.layers, self.exponents, strict=True):
            gated = gates.pow(exponent).unsqueeze(1)
            state = layer(state * gated, pairs, phi=phi, relations=batch.relations, heard=gated[batch.senders])
        entangled = state[:, : inside.shape[1]] @ self.basis + self.own * outside
        return (batch.questions * entangled).sum(dim=1)


class _Relevance(nn.Module):
    """phi(c_i, c_j) = sigmoid(MLP(d_i - d_j)), equation 8, for each relation; it begins as a function of the cosine."""

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.difference = nn.Sequential(nn.Linear(dimension, _PHI), nn.ReLU(), nn.Linear(_PHI, 1))
        nn.init.zeros_(self.difference[2].weight)
        self.slope = nn.Parameter(torch.tensor(4.0))
        self.relation = nn.Embedding(RELATIONS, 1)
        nn.init.constant_(self.relation.weight, -2.0)

    def forward(self, dense: Tensor, pairs: Tensor, relations: Tensor) -> Tensor:
        """Give phi of every message, shape (m, 1)."""
        difference = dense[pairs[1]] - dense[pairs[0]]
        cosine = 1 - difference.square().sum(dim=1, keepdim=True) / 2
        return torch.sigmoid(self.difference(difference) + self.slope * cosine + self.relation(relations))


class _Scaling(nn.Module):
    """Between the mean and the sum: what is heard, times a learned power of the number of messages; 0 at first."""

    def __init__(self) -> None:
        super().__init__()
        self.power = nn.Parameter(torch.tensor(0.0))

    def forward(self, heard: Tensor, receivers: Tensor) -> Tensor:
        """Scale a mean, shape (n, c)."""
        count = degree(receivers, heard.shape[0]).clamp_min(1.0)
        return heard * count.pow(self.power).unsqueeze(1)


class _Transformer(TransformerConv):  # type: ignore[misc]
    """Attention as in Shi et al. (2020), with gated messages."""

    def __init__(self, architecture: Architecture) -> None:
        hidden, heads = architecture.hidden, architecture.heads
        super().__init__(hidden, hidden // heads, heads=heads, bias=False, root_weight=False)
        _as_identity(self.lin_value)
        for part in (self.lin_query, self.lin_key):
            nn.init.normal_(part.weight, std=0.02)
        self.own = nn.Linear(hidden, hidden, bias=False)
        _as_identity(self.own)
        self.relation = nn.Embedding(RELATIONS, heads)
        nn.init.zeros_(self.relation.weight)
        self.loudness = nn.Parameter(torch.zeros(heads))
        self.scaling = _Scaling()
        self._phi: Any = None
        self._bias: Any = None

    def forward(self, state: Tensor, pairs: Tensor, *, phi: Tensor, relations: Tensor, heard: Tensor) -> Tensor:
        """Give the next state, shape (n, hidden)."""
        self._phi, self._bias = phi, self.relation(relations) + self.loudness * heard
        try:
            messages = super().forward(state, pairs)
        finally:
            self._phi = self._bias = None
        return self.own(state) + self.scaling(messages, pairs[1])

    def message(  # noqa: PLR0913, PLR0917 - the names are what PyTorch Geometric passes
        self,
        query_i: Tensor,
        key_j: Tensor,
        value_j: Tensor,
        edge_attr: Tensor | None,  # noqa: ARG002
        index: Tensor,
        ptr: Tensor | None,
        size_i: int | None,
    ) -> Tensor:
        """Give phi times attention times value for every message, shape (m, heads, hidden / heads)."""
        logits = (query_i * key_j).sum(dim=-1) / math.sqrt(self.out_channels) + self._bias
        attention = softmax(logits, index, ptr, size_i)
        return value_j * (attention * self._phi).unsqueeze(-1)


class _Gat(GATConv):  # type: ignore[misc]
    """Attention as in Velickovic et al. (2017), with gated messages."""

    def __init__(self, architecture: Architecture) -> None:
        hidden, heads = architecture.hidden, architecture.heads
        super().__init__(hidden, hidden // heads, heads=heads, bias=False, add_self_loops=False)
        _as_identity(self.lin)
        self.own = nn.Linear(hidden, hidden, bias=False)
        _as_identity(self.own)
        self.scaling = _Scaling()
        self._phi: Any = None

    def forward(self, state: Tensor, pairs: Tensor, *, phi: Tensor, relations: Tensor, heard: Tensor) -> Tensor:  # noqa: ARG002
        """Give the next state, shape (n, hidden)."""
        self._phi = phi
        try:
            messages = super().forward(state, pairs)
        finally:
            self._phi = None
        return self.own(state) + self.scaling(messages, pairs[1])

    def message(self, x_j: Tensor, alpha: Tensor) -> Tensor:
        """Give phi times attention times value for every message."""
        return x_j * (alpha * self._phi).unsqueeze(-1)


class _Gcn(nn.Module):
    """Convolution as in Kipf and Welling (2016), with gated messages."""

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        hidden = architecture.hidden
        self.convolution = GCNConv(hidden, hidden, add_self_loops=False, normalize=False, bias=False)
        _as_identity(self.convolution.lin)
        self.own = nn.Linear(hidden, hidden, bias=False)
        _as_identity(self.own)

    def forward(self, state: Tensor, pairs: Tensor, *, phi: Tensor, relations: Tensor, heard: Tensor) -> Tensor:  # noqa: ARG002
        """Give the next state, shape (n, hidden); a message is divided by the root of both degrees."""
        count = state.shape[0]
        sent, received = degree(pairs[0], count).clamp_min(1.0), degree(pairs[1], count).clamp_min(1.0)
        weights = phi.squeeze(1) / (sent[pairs[0]] * received[pairs[1]]).sqrt()
        messages: Tensor = self.convolution(state, pairs, weights)
        return self.own(state) + messages


def _as_identity(part: Any) -> None:
    with torch.no_grad():
        part.weight.copy_(torch.eye(*part.weight.shape))
