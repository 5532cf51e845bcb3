"""The trained graph encoder of LeSeGR (CG-RAG, section 4.3), the only module that imports torch and PyTorch Geometric.

Equations 4 to 6 and 9: h_i^l = W' g_i h_i^{l-1} + AGG_j(phi(c_i, c_j) W g_j h_j^{l-1}), and the score is d_q . h_i^L.
The gate g is f(q, c) ** (learned exponent, at first 1 in the first layer and 0 in the others), so that a chunk without
neighbours begins with f(q, c) (d_q . d_c), as Proposition 4.1 has it. phi is equation 8.

Deviations:
    W and W' begin as identity, and at first messages count in the first layer only: training departs from what needs
    none. Messages pass in the ``hidden`` leading principal directions of the texts (all when hidden is not below d);
    what lies outside keeps its own gate.
    Attention also sees the relation of an edge and the gate of its sender, and the mean of the messages is scaled by a
    learned power of their number: 0 for the mean, 1 for the sum (the proof of Proposition 4.1 allows both). It begins
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
from kgrag.methods.cg_rag.citation_arrays import RELATIONS, QuestionView
from kgrag.methods.cg_rag.training_examples import TrainingExample, TrainingRecipe

__all__ = [
    "EncoderArchitecture",
    "FittedEncoder",
    "GraphEncoder",
    "SubgraphBatch",
    "dumped",
    "fit",
    "restored",
    "scores",
]

_PHI_HIDDEN_UNITS = 32  # of the MLP of equation 8
_START_POWERS = (0.0, 0.25, 0.5, 0.75, 1.0)
_MAX_START_QUESTIONS = 200  # each power is tried on these before the first epoch
_MAX_BASIS_QUESTIONS, _BASIS_STEP = 400, 8  # a sample: every eighth chunk that these questions reach
_EXACT_CHUNK_WEIGHT = 0.3  # in the loss, where the right document has 1
_SINGLE_NUMBER_RATE = 20  # times the step size of matrices, which begin as identity and need small steps
_MIN_GATE = 1e-6  # a gate of 0 has no derivative under a power
_SCORING = threading.Lock()  # a layer keeps phi as an attribute while PyTorch Geometric passes its messages


@dataclass(frozen=True, slots=True)
class EncoderArchitecture:
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
class SubgraphBatch:
    """The subgraphs of several questions as one graph.

    ``dense`` (n, d), ``gates`` (n,) 0 to 1, ``questions`` (n, d) the vector of each node's question, ``senders``,
    ``receivers`` and ``relations`` (m,).
    """

    dense: Tensor
    gates: Tensor
    questions: Tensor
    senders: Tensor
    receivers: Tensor
    relations: Tensor


class GraphEncoder(nn.Module):
    """Scores chunks by their entangled representations."""

    basis: Tensor

    def __init__(self, architecture: EncoderArchitecture, basis: Tensor) -> None:
        """Start with weights that score as untrained; ``basis`` has orthonormal rows, shape (min(hidden, d), d)."""
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

    def forward(self, batch: SubgraphBatch) -> Tensor:
        """Return the score of every node, shape (n,): equation 9."""
        gates = batch.gates.clamp_min(_MIN_GATE)
        pairs = torch.stack([batch.senders, batch.receivers])
        phi = self.relevance(batch.dense, pairs, batch.relations)
        inside = batch.dense @ self.basis.T
        outside = (batch.dense - inside @ self.basis) * gates.unsqueeze(1)
        state = nn.functional.pad(inside, (0, self.architecture.hidden - inside.shape[1]))
        for layer, exponent, volume in zip(self.layers, self.exponents, self.volumes, strict=True):
            gated = gates.pow(exponent).unsqueeze(1)
            state = layer(
                state * gated,
                pairs,
                phi=phi * volume,
                relations=batch.relations,
                sender_gates=gated[batch.senders],
            )
        entangled = state[:, : inside.shape[1]] @ self.basis + self.own * outside
        relevance: Tensor = (batch.questions * entangled).sum(dim=1)
        return relevance


class _Relevance(nn.Module):
    """phi(c_i, c_j) = sigmoid(MLP(d_i - d_j)), equation 8, for each relation; it begins as a function of the cosine."""

    def __init__(self, dimension: int) -> None:
        super().__init__()
        last = nn.Linear(_PHI_HIDDEN_UNITS, 1)
        nn.init.zeros_(last.weight)
        self.difference = nn.Sequential(nn.Linear(dimension, _PHI_HIDDEN_UNITS), nn.ReLU(), last)
        self.slope = nn.Parameter(torch.tensor(4.0))
        self.relation = nn.Embedding(RELATIONS, 1)
        nn.init.constant_(self.relation.weight, -2.0)

    def forward(self, dense: Tensor, pairs: Tensor, relations: Tensor) -> Tensor:
        """Return phi of every message, shape (m, 1)."""
        difference = dense[pairs[1]] - dense[pairs[0]]
        cosine = 1 - difference.square().sum(dim=1, keepdim=True) / 2
        logits: Tensor = self.difference(difference) + self.slope * cosine + self.relation(relations)
        return logits.sigmoid()


class _Scaling(nn.Module):
    """Between the mean and the sum: a mean of messages, times a learned power of their number; 0 at first."""

    def __init__(self) -> None:
        super().__init__()
        self.power = nn.Parameter(torch.tensor(0.0))

    def forward(self, mean: Tensor, receivers: Tensor) -> Tensor:
        """Return a mean of messages, shape (n, c), scaled by their number."""
        count = degree(receivers, mean.shape[0]).clamp_min(1.0)
        scaled: Tensor = mean * count.pow(self.power).unsqueeze(1)
        return scaled


class _Transformer(TransformerConv):
    """Attention as in Shi et al. (2020), with gated messages."""

    def __init__(self, architecture: EncoderArchitecture) -> None:
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

    def forward(self, state: Tensor, pairs: Tensor, *, phi: Tensor, relations: Tensor, sender_gates: Tensor) -> Tensor:
        """Return the next state, shape (n, hidden)."""
        self._phi, self._bias = phi, self.relation(relations) + self.loudness * sender_gates
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
        """Return phi times attention times value for every message, shape (m, heads, hidden / heads)."""
        logits = (query_i * key_j).sum(dim=-1) / math.sqrt(self.out_channels) + self._bias
        attention = softmax(logits, index, ptr, size_i)
        gated: Tensor = value_j * (attention * self._phi).unsqueeze(-1)
        return gated


class _Gat(GATConv):
    """Attention as in Velickovic et al. (2017), with gated messages."""

    def __init__(self, architecture: EncoderArchitecture) -> None:
        hidden, heads = architecture.hidden, architecture.heads
        super().__init__(hidden, hidden // heads, heads=heads, bias=False, add_self_loops=False)
        _as_identity(self.lin)
        self.own = nn.Linear(hidden, hidden, bias=False)
        _as_identity(self.own)
        self.scaling = _Scaling()
        self._phi: Any = None

    def forward(self, state: Tensor, pairs: Tensor, *, phi: Tensor, relations: Tensor, sender_gates: Tensor) -> Tensor:  # noqa: ARG002
        """Return the next state, shape (n, hidden)."""
        self._phi = phi
        try:
            messages = super().forward(state, pairs)
        finally:
            self._phi = None
        following: Tensor = self.own(state) + self.scaling(messages, pairs[1])
        return following

    def message(self, x_j: Tensor, alpha: Tensor) -> Tensor:
        """Return phi times attention times value for every message."""
        gated: Tensor = x_j * (alpha * self._phi).unsqueeze(-1)
        return gated


class _Gcn(nn.Module):
    """Convolution as in Kipf and Welling (2016), with gated messages."""

    def __init__(self, architecture: EncoderArchitecture) -> None:
        super().__init__()
        hidden = architecture.hidden
        self.convolution = GCNConv(hidden, hidden, add_self_loops=False, normalize=False, bias=False)
        _as_identity(self.convolution.lin)
        self.own = nn.Linear(hidden, hidden, bias=False)
        _as_identity(self.own)

    def forward(self, state: Tensor, pairs: Tensor, *, phi: Tensor, relations: Tensor, sender_gates: Tensor) -> Tensor:  # noqa: ARG002
        """Return the next state, shape (n, hidden); a message is divided by the root of both degrees."""
        count = state.shape[0]
        sent, received = degree(pairs[0], count).clamp_min(1.0), degree(pairs[1], count).clamp_min(1.0)
        weights = phi.squeeze(1) / (sent[pairs[0]] * received[pairs[1]]).sqrt()
        messages: Tensor = self.convolution(state, pairs, weights)
        following: Tensor = self.own(state) + messages
        return following


def _as_identity(linear: nn.Linear) -> None:
    with torch.no_grad():
        linear.weight.copy_(torch.eye(*linear.weight.shape))


@dataclass(frozen=True, slots=True)
class FittedEncoder:
    """A trained encoder, and its mean reciprocal rank on the held-out part: untrained, at the start, and by epoch."""

    encoder: GraphEncoder
    figures: list[float]


def fit(
    learned: Sequence[TrainingExample],
    held_out: Sequence[TrainingExample],
    recipe: TrainingRecipe,
    *,
    progress: Progress = None,
) -> FittedEncoder:
    """Train an encoder; the same examples and recipe give the same weights on a processor.

    It computes on one thread: subgraphs are small, and threads that wait for each other on two busy cores made training
    ten times slower.

    Args:
        learned: to learn from, at least one.
        held_out: to choose the epoch by, of other documents.
        recipe: how.
        progress: called after each epoch.
    """
    with _one_thread():
        torch.manual_seed(recipe.seed)
        encoder = _untrained(learned, recipe).to("cuda" if torch.cuda.is_available() else "cpu")
        optimiser = torch.optim.AdamW(_parameter_groups(encoder, recipe))
        generator = np.random.default_rng(recipe.seed)
        figures = [_mean_reciprocal_rank(encoder, held_out)]
        _choose_start_powers(encoder, learned[:_MAX_START_QUESTIONS])
        figures.append(_mean_reciprocal_rank(encoder, held_out))
        best_epoch, best_state = 1, _copied_state(encoder)
        for epoch in range(2, recipe.epochs + 2):  # figures 0 and 1 are of the encoder before any epoch
            order = generator.permutation(len(learned))
            for first in range(0, len(order), recipe.batch):
                _step(encoder, optimiser, [learned[i] for i in order[first : first + recipe.batch]])
            figures.append(_mean_reciprocal_rank(encoder, held_out))
            if progress:
                progress("cg_rag training", epoch - 1, recipe.epochs)
            if figures[-1] > figures[best_epoch]:
                best_epoch, best_state = epoch, _copied_state(encoder)
            elif epoch - best_epoch >= recipe.patience:
                break
        encoder.load_state_dict(best_state)
        return FittedEncoder(encoder.cpu().eval(), figures)


@contextmanager
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _untrained(examples: Sequence[TrainingExample], recipe: TrainingRecipe) -> GraphEncoder:
    """Return a new encoder whose messages pass in the leading principal directions of the examples' texts."""
    dimension = examples[0].view.dense.shape[1]
    architecture = EncoderArchitecture(dimension, recipe.hidden, recipe.layers, recipe.heads, recipe.kind)
    if recipe.hidden >= dimension:
        return GraphEncoder(architecture, torch.eye(dimension))
    texts = np.concatenate([example.view.dense[::_BASIS_STEP] for example in examples[:_MAX_BASIS_QUESTIONS]])
    directions = np.linalg.eigh(texts.T.astype(np.float64) @ texts)[1][:, ::-1][:, : recipe.hidden]
    return GraphEncoder(architecture, torch.from_numpy(np.ascontiguousarray(directions.T, dtype=np.float32)))


def _choose_start_powers(encoder: GraphEncoder, examples: Sequence[TrainingExample]) -> None:
    """Set the powers between mean and sum to what ranks the examples best, of equal ones to the smallest."""
    powers = [part.power for part in encoder.modules() if isinstance(part, _Scaling)]
    if not powers:
        return
    figures = []
    for value in _START_POWERS:
        _fill(powers, value)
        figures.append((_mean_reciprocal_rank(encoder, examples), -value))
    _fill(powers, -max(figures)[1])


def _fill(parameters: Sequence[nn.Parameter], value: float) -> None:
    with torch.no_grad():
        for parameter in parameters:
            parameter.fill_(value)


def _parameter_groups(encoder: GraphEncoder, recipe: TrainingRecipe) -> list[dict[str, Any]]:
    matrices = [parameter for parameter in encoder.parameters() if parameter.ndim > 1]
    numbers = [parameter for parameter in encoder.parameters() if parameter.ndim <= 1]
    return [
        {"params": matrices, "lr": recipe.rate, "weight_decay": recipe.decay},
        {"params": numbers, "lr": _SINGLE_NUMBER_RATE * recipe.rate, "weight_decay": 0.0},
    ]


def _step(encoder: GraphEncoder, optimiser: torch.optim.Optimizer, examples: Sequence[TrainingExample]) -> None:
    encoder.train()
    batch, owner = _batched([example.view for example in examples], encoder.own.device)
    logits = encoder(batch) * encoder.temperature.exp()
    loss = _cross_entropy(logits, owner, [example.right for example in examples])
    exact = [np.zeros_like(example.right) if example.exact is None else example.exact for example in examples]
    if any(marks.any() for marks in exact):
        loss = loss + _EXACT_CHUNK_WEIGHT * _cross_entropy(logits, owner, exact)
    optimiser.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(encoder.parameters(), 1.0)
    optimiser.step()


def _cross_entropy(logits: Tensor, owner: Tensor, right: Sequence[npt.NDArray[np.bool_]]) -> Tensor:
    """Return the mean cross-entropy of the right nodes, taken together, among all nodes of their question.

    A question without a right node does not count; 0 when all are such.
    """
    marked = torch.from_numpy(np.concatenate(right)).to(logits.device)
    losses = [
        torch.logsumexp(logits[owner == number], 0) - torch.logsumexp(logits[(owner == number) & marked], 0)
        for number, marks in enumerate(right)
        if marks.any()
    ]
    return torch.stack(losses).mean() if losses else logits.sum() * 0


def _mean_reciprocal_rank(encoder: GraphEncoder, examples: Sequence[TrainingExample]) -> float:
    """Return the mean reciprocal rank of the first right document, each ranked by its best chunk; 0 for no example."""
    reciprocal_ranks = []
    for example in examples:
        if not example.right.any():
            reciprocal_ranks.append(0.0)
            continue
        values = scores(encoder, example.view)
        better = (values > values[example.right].max()) & ~example.right
        reciprocal_ranks.append(1 / (1 + len(np.unique(example.documents[better]))))
    return float(np.mean(reciprocal_ranks)) if reciprocal_ranks else 0.0


def scores(encoder: GraphEncoder, view: QuestionView) -> npt.NDArray[np.float64]:
    """Return the score of every node, shape (n,)."""
    if not len(view.gates):
        return np.zeros(0)
    encoder.eval()
    with _SCORING, _one_thread(), torch.inference_mode():
        batch, _ = _batched([view], encoder.own.device)
        return np.asarray(encoder(batch).cpu().numpy(), dtype=np.float64)


def _batched(views: Sequence[QuestionView], device: torch.device) -> tuple[SubgraphBatch, Tensor]:
    """Return subgraphs as one graph, and the number of the question that each node belongs to."""
    sizes = [len(view.gates) for view in views]
    shifts = np.cumsum([0, *sizes[:-1]])

    def joined(parts: Iterator[npt.NDArray[Any]]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(np.concatenate(list(parts)))).to(device)

    owner = torch.from_numpy(np.repeat(np.arange(len(sizes)), sizes)).to(device)
    questions = joined(view.question[None, :] for view in views)
    batch = SubgraphBatch(
        dense=joined(view.dense for view in views),
        gates=joined(view.gates for view in views),
        questions=questions[owner],
        senders=joined(view.subgraph.senders + shift for view, shift in zip(views, shifts, strict=True)),
        receivers=joined(view.subgraph.receivers + shift for view, shift in zip(views, shifts, strict=True)),
        relations=joined(view.subgraph.relations.astype(np.int64) for view in views),
    )
    return batch, owner


def _copied_state(encoder: GraphEncoder) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in encoder.state_dict().items()}


def dumped(encoder: GraphEncoder, record: dict[str, Any]) -> bytes:
    """Return weights, architecture and record as bytes."""
    buffer = io.BytesIO()
    content = {"architecture": asdict(encoder.architecture), "state": _copied_state(encoder), "record": record}
    torch.save(content, buffer)
    return buffer.getvalue()


def restored(data: bytes) -> tuple[GraphEncoder, dict[str, Any]] | None:
    """Read what ``dumped`` wrote, as tensors and plain values only; None for anything else."""
    try:
        content = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
        encoder = GraphEncoder(EncoderArchitecture(**content["architecture"]), content["state"]["basis"])
        encoder.load_state_dict(content["state"])
        return encoder.eval(), dict(content["record"])
    except (pickle.UnpicklingError, RuntimeError, KeyError, TypeError, ValueError, EOFError, OSError):
        return None
