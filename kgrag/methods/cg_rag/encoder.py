"""The trained graph encoder of LeSeGR (CG-RAG, section 4.3), the only module that imports torch and PyTorch Geometric.

Equations 4 to 6 and 9: h_i^l = W' g_i h_i^{l-1} + AGG_j(phi(c_i, c_j) W g_j h_j^{l-1}), and the score is d_q . h_i^L.
The gate g is f(q, c) ** (learned exponent, at first 1 in the first layer and 0 in the others), so that a chunk without
neighbours begins with f(q, c) (d_q . d_c), as Proposition 4.1 has it. phi is equation 8.

Deviations:
    W and W' begin as identity, and only the first layer listens: training departs from what needs none. Messages pass
    in the ``hidden`` leading principal directions of the texts (all when hidden is not below d); what lies outside
    keeps its own gate.
    Attention also sees the relation of an edge and the gate of its sender, and what is heard is scaled by a learned
    power of the number of messages: 0 for the mean, 1 for the sum (the proof of Proposition 4.1 allows both). It begins
    with whichever ranks the questions to be learned from best.
"""

from __future__ import annotations

import io
import math
import pickle
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch_geometric.nn import GATConv, GCNConv, TransformerConv
from torch_geometric.utils import degree, softmax

from kgrag.index.vector_spaces import Progress
from kgrag.methods.cg_rag.graph_mirror import RELATIONS
from kgrag.methods.cg_rag.training import Example, Recipe, Seen

__all__ = ["Architecture", "Batch", "Encoder", "Fitted", "dumped", "fit", "restored", "scores"]

_PHI = 32  # hidden units of the MLP of equation 8
_POWERS = (0.0, 0.25, 0.5, 0.75, 1.0)
_SAMPLE = 200  # questions that the start is chosen by
_EXACT = 0.3  # what the very chunk counts beside its document
_TURN = threading.Lock()  # a layer keeps what its messages are gated by while it passes them
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

    basis: Tensor

    def __init__(self, architecture: Architecture, basis: Tensor) -> None:
        """Begin as what needs no training; ``basis`` has orthonormal rows, shape (min(hidden, d), d)."""
        super().__init__()
        self.architecture = architecture
        self.register_buffer("basis", basis)
        layer: Any = {"gat": _Gat, "gcn": _Gcn, "transformer": _Transformer}[architecture.kind]
        self.layers = nn.ModuleList(layer(architecture) for _ in range(architecture.layers))
        first = torch.zeros(architecture.layers)
        first[0] = 1.0
        self.relevance = _Relevance(architecture.dimension)
        self.exponents = nn.Parameter(first.clone())
        self.volumes = nn.Parameter(first.clone())
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
        for layer, exponent, volume in zip(self.layers, self.exponents, self.volumes, strict=True):
            gated = gates.pow(exponent).unsqueeze(1)
            loud = gated[batch.senders]
            state = layer(state * gated, pairs, phi=phi * volume, relations=batch.relations, heard=loud)
        entangled = state[:, : inside.shape[1]] @ self.basis + self.own * outside
        relevance: Tensor = (batch.questions * entangled).sum(dim=1)
        return relevance


class _Relevance(nn.Module):
    """phi(c_i, c_j) = sigmoid(MLP(d_i - d_j)), equation 8, for each relation; it begins as a function of the cosine."""

    def __init__(self, dimension: int) -> None:
        super().__init__()
        last = nn.Linear(_PHI, 1)
        nn.init.zeros_(last.weight)
        self.difference = nn.Sequential(nn.Linear(dimension, _PHI), nn.ReLU(), last)
        self.slope = nn.Parameter(torch.tensor(4.0))
        self.relation = nn.Embedding(RELATIONS, 1)
        nn.init.constant_(self.relation.weight, -2.0)

    def forward(self, dense: Tensor, pairs: Tensor, relations: Tensor) -> Tensor:
        """Give phi of every message, shape (m, 1)."""
        difference = dense[pairs[1]] - dense[pairs[0]]
        cosine = 1 - difference.square().sum(dim=1, keepdim=True) / 2
        known: Tensor = self.difference(difference) + self.slope * cosine + self.relation(relations)
        return known.sigmoid()


class _Scaling(nn.Module):
    """Between the mean and the sum: what is heard, times a learned power of the number of messages; 0 at first."""

    def __init__(self) -> None:
        super().__init__()
        self.power = nn.Parameter(torch.tensor(0.0))

    def forward(self, heard: Tensor, receivers: Tensor) -> Tensor:
        """Scale a mean, shape (n, c)."""
        count = degree(receivers, heard.shape[0]).clamp_min(1.0)
        scaled: Tensor = heard * count.pow(self.power).unsqueeze(1)
        return scaled


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
        following: Tensor = self.own(state) + self.scaling(messages, pairs[1])
        return following

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
        gated: Tensor = value_j * (attention * self._phi).unsqueeze(-1)
        return gated


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
        following: Tensor = self.own(state) + self.scaling(messages, pairs[1])
        return following

    def message(self, x_j: Tensor, alpha: Tensor) -> Tensor:
        """Give phi times attention times value for every message."""
        gated: Tensor = x_j * (alpha * self._phi).unsqueeze(-1)
        return gated


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
        following: Tensor = self.own(state) + messages
        return following


def _as_identity(part: Any) -> None:
    with torch.no_grad():
        part.weight.copy_(torch.eye(*part.weight.shape))


@dataclass(frozen=True, slots=True)
class Fitted:
    """A trained encoder, and its mean reciprocal rank on the held-out part: untrained, at the start, and by epoch."""

    encoder: Encoder
    figures: list[float]


def fit(
    learned: Sequence[Example], held_out: Sequence[Example], recipe: Recipe, *, progress: Progress = None
) -> Fitted:
    """Train an encoder; the same examples and recipe give the same weights on a processor.

    It computes on one thread: subgraphs are small, and threads that wait for each other on two busy cores made training
    ten times slower.

    Args:
        learned: to learn from, at least one.
        held_out: to choose the epoch by, of other documents.
        recipe: how.
        progress: told after each epoch.
    """
    with _one_thread():
        return _fit(learned, held_out, recipe, progress)


@contextmanager
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _fit(learned: Sequence[Example], held_out: Sequence[Example], recipe: Recipe, progress: Progress) -> Fitted:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(recipe.seed)
    encoder = _begun(learned, recipe).to(device)
    optimiser = torch.optim.AdamW(_groups(encoder, recipe))
    generator = np.random.default_rng(recipe.seed)
    figures = [_figure(encoder, held_out)]
    _start(encoder, learned[:_SAMPLE])
    figures.append(_figure(encoder, held_out))
    best, kept = 1, _copied(encoder)
    for epoch in range(2, recipe.epochs + 2):
        order = generator.permutation(len(learned))
        for first in range(0, len(order), recipe.batch):
            _step(encoder, optimiser, [learned[i] for i in order[first : first + recipe.batch]])
        figures.append(_figure(encoder, held_out))
        if progress:
            progress("cg_rag training", epoch - 1, recipe.epochs)
        if figures[-1] > figures[best]:
            best, kept = epoch, _copied(encoder)
        elif epoch - best >= recipe.patience:
            break
    encoder.load_state_dict(kept)
    return Fitted(encoder.cpu().eval(), figures)


def _begun(examples: Sequence[Example], recipe: Recipe) -> Encoder:
    dimension = examples[0].seen.dense.shape[1]
    architecture = Architecture(dimension, recipe.hidden, recipe.layers, recipe.heads, recipe.kind)
    if recipe.hidden >= dimension:
        return Encoder(architecture, torch.eye(dimension))
    texts = np.concatenate([example.seen.dense[::8] for example in examples[:400]])
    directions = np.linalg.eigh(texts.T.astype(np.float64) @ texts)[1][:, ::-1][:, : recipe.hidden]
    return Encoder(architecture, torch.from_numpy(np.ascontiguousarray(directions.T, dtype=np.float32)))


def _start(encoder: Encoder, examples: Sequence[Example]) -> None:
    """Set what is between mean and sum to what ranks the examples best."""
    powers = [part.power for part in encoder.modules() if isinstance(part, _Scaling)]
    figures = []
    for value in _POWERS if powers else ():
        _set(powers, value)
        figures.append((_figure(encoder, examples), -value))
    if figures:
        _set(powers, -max(figures)[1])


def _set(powers: Sequence[nn.Parameter], value: float) -> None:
    with torch.no_grad():
        for power in powers:
            power.fill_(value)


def _groups(encoder: Encoder, recipe: Recipe) -> list[dict[str, Any]]:
    parameters = list(encoder.parameters())
    return [
        {"params": [each for each in parameters if each.ndim > 1], "lr": recipe.rate, "weight_decay": recipe.decay},
        {"params": [each for each in parameters if each.ndim <= 1], "lr": 20 * recipe.rate, "weight_decay": 0.0},
    ]


def _step(encoder: Encoder, optimiser: torch.optim.Optimizer, examples: Sequence[Example]) -> None:
    encoder.train()
    batch, owner = _batch([example.seen for example in examples], encoder.own.device)
    logits = encoder(batch) * encoder.temperature.exp()
    loss = _surprise(logits, owner, [example.right for example in examples])
    exact = [example.exact if example.exact is not None else np.zeros_like(example.right) for example in examples]
    if any(each.any() for each in exact):
        loss = loss + _EXACT * _surprise(logits, owner, exact)
    optimiser.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    nn.utils.clip_grad_norm_(encoder.parameters(), 1.0)
    optimiser.step()


def _surprise(logits: Tensor, owner: Tensor, right: Sequence[npt.NDArray[np.bool_]]) -> Tensor:
    """Give the cross-entropy of the right nodes, taken together, among all of their question; without any, nothing."""
    marked = torch.from_numpy(np.concatenate(right)).to(logits.device)
    asked = [number for number, each in enumerate(right) if each.any()]
    losses = [
        torch.logsumexp(logits[owner == number], 0) - torch.logsumexp(logits[(owner == number) & marked], 0)
        for number in asked
    ]
    return torch.stack(losses).mean() if losses else logits.sum() * 0


def _figure(encoder: Encoder, examples: Sequence[Example]) -> float:
    """Give the mean reciprocal rank of the first right document, each ranked by its best chunk."""
    found = []
    for example in examples:
        values = scores(encoder, example.seen)
        if not example.right.any():
            found.append(0.0)
            continue
        best = values[example.right].max()
        found.append(1 / (1 + len(np.unique(example.documents[(values > best) & ~example.right]))))
    return float(np.mean(found)) if found else 0.0


def scores(encoder: Encoder, seen: Seen) -> npt.NDArray[np.float64]:
    """Give the score of every node, shape (n,)."""
    if not len(seen.gates):
        return np.zeros(0)
    encoder.eval()
    with _TURN, _one_thread(), torch.inference_mode():
        batch, _ = _batch([seen], encoder.own.device)
        return np.asarray(encoder(batch).cpu().numpy(), dtype=np.float64)


def _batch(several: Sequence[Seen], device: torch.device) -> tuple[Batch, Tensor]:
    """Put subgraphs side by side, and say which question each node belongs to."""
    sizes = [len(seen.gates) for seen in several]
    shifts = np.cumsum([0, *sizes[:-1]])

    def joined(parts: Iterator[npt.NDArray[Any]]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(np.concatenate(list(parts)))).to(device)

    owner = torch.from_numpy(np.repeat(np.arange(len(sizes)), sizes)).to(device)
    questions = joined(seen.question[None, :] for seen in several)
    batch = Batch(
        dense=joined(seen.dense for seen in several),
        gates=joined(seen.gates for seen in several),
        questions=questions[owner],
        senders=joined(seen.subgraph.senders + shift for seen, shift in zip(several, shifts, strict=True)),
        receivers=joined(seen.subgraph.receivers + shift for seen, shift in zip(several, shifts, strict=True)),
        relations=joined(seen.subgraph.relations.astype(np.int64) for seen in several),
    )
    return batch, owner


def _copied(encoder: Encoder) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in encoder.state_dict().items()}


def dumped(encoder: Encoder, record: dict[str, Any]) -> bytes:
    """Write weights, architecture and record as bytes."""
    buffer = io.BytesIO()
    torch.save({"architecture": asdict(encoder.architecture), "state": _copied(encoder), "record": record}, buffer)
    return buffer.getvalue()


def restored(data: bytes) -> tuple[Encoder, dict[str, Any]] | None:
    """Read what ``dumped`` wrote, as tensors and plain values only; None for anything else."""
    try:
        held = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
        encoder = Encoder(Architecture(**held["architecture"]), held["state"]["basis"])
        encoder.load_state_dict(held["state"])
        return encoder.eval(), dict(held["record"])
    except (pickle.UnpicklingError, RuntimeError, KeyError, TypeError, ValueError, EOFError, OSError):
        return None
