"""The network all-MiniLM-L6-v2: a BERT of six layers whose states are averaged over the word pieces of a text.

It is written out here because sentence-transformers and transformers import 2,500 modules for it: until the first
question was embedded took 12 s of a processor, and takes 3, nearly all of them to import torch.

Sentence-BERT (Reimers and Gurevych 2019), section 3, pooling "mean"; BERT (Devlin et al. 2019), section 3. The
operations and their order are those of transformers, so that the rows are the same to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch.nn import functional

__all__ = ["MiniLM"]

_LAYERS = 6
_HEADS = 12
_EPSILON = 1e-12  # of a layer's normalisation
_MAX_PIECES = 256  # of a text, its two marks included


class MiniLM:
    """The network with its weights from a folder, in one precision. Reads ``tokenizer.json``, ``model.safetensors``.

    Safe to use from one thread at a time.
    """

    def __init__(self, folder: Path, dtype: torch.dtype) -> None:
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(_MAX_PIECES)
        self._tokenizer.enable_padding()
        weights = load_file(folder / "model.safetensors")
        self._weights = {name: value.to(dtype) for name, value in weights.items() if value.is_floating_point()}

    def rows(self, texts: Sequence[str]) -> torch.Tensor:
        """Return rows of length one, of shape (len(texts), 384), of at least one text."""
        with torch.inference_mode():
            return self._rows(texts)

    def _rows(self, texts: Sequence[str]) -> torch.Tensor:
        encoded = self._tokenizer.encode_batch(list(texts))
        pieces = torch.tensor([one.ids for one in encoded])
        read = torch.tensor([one.attention_mask for one in encoded])
        states = self._embedded(pieces)
        mask = None if read.all() else read.bool()[:, None, None, :].expand(-1, -1, pieces.shape[1], -1)
        for number in range(_LAYERS):
            states = self._layer(f"encoder.layer.{number}.", states, mask)
        counted = read.unsqueeze(-1).to(states.dtype)
        sums = (states * counted).sum(1, dtype=torch.float32)
        return functional.normalize((sums / read.sum(1, keepdim=True)).to(states.dtype), dim=1)

    def _embedded(self, pieces: torch.Tensor) -> torch.Tensor:
        words, kinds, places = (
            self._weights[f"embeddings.{of}_embeddings.weight"] for of in ("word", "token_type", "position")
        )
        states = functional.embedding(pieces, words) + kinds[0]
        return self._normalised("embeddings.LayerNorm", states + places[: pieces.shape[1]])

    def _layer(self, name: str, states: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        split = (*states.shape[:2], _HEADS, -1)
        query, key, value = (
            self._linear(f"{name}attention.self.{part}", states).view(split).transpose(1, 2)
            for part in ("query", "key", "value")
        )
        seen = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        seen = self._linear(f"{name}attention.output.dense", seen.transpose(1, 2).reshape(states.shape))
        states = self._normalised(f"{name}attention.output.LayerNorm", seen + states)
        inner = functional.gelu(self._linear(f"{name}intermediate.dense", states))
        return self._normalised(f"{name}output.LayerNorm", self._linear(f"{name}output.dense", inner) + states)

    def _linear(self, name: str, states: torch.Tensor) -> torch.Tensor:
        return functional.linear(states, self._weights[f"{name}.weight"], self._weights[f"{name}.bias"])

    def _normalised(self, name: str, states: torch.Tensor) -> torch.Tensor:
        weight, bias = self._weights[f"{name}.weight"], self._weights[f"{name}.bias"]
        return functional.layer_norm(states, weight.shape, weight, bias, _EPSILON)
