"""Low-rank training on the weights that are served, and llama.cpp's format for the result.

The base model is read from the very GGUF file that the embedded server loads, so that the adapter
corrects the quantised weights as they are.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import gguf
import numpy as np
import torch
from torch.nn import functional
from transformers import AutoModelForCausalLM, AutoTokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from organisms.texts import Text

TENSORS = {
    "q_proj": "attn_q",
    "k_proj": "attn_k",
    "v_proj": "attn_v",
    "o_proj": "attn_output",
    "gate_proj": "ffn_gate",
    "up_proj": "ffn_up",
    "down_proj": "ffn_down",
}
"""The layers that are adapted, and what llama.cpp calls them."""
IGNORED = -100
"""The label of a token that is read and not learned."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How an adapter is trained."""

    rank: int = 8
    alpha: float = 16.0
    rate: float = 1e-3
    epochs: int = 6
    batch: int = 8
    warm_up: int = 20


class LowRank(torch.nn.Module):
    """A frozen linear layer with a trained correction of low rank."""

    def __init__(self, layer: torch.nn.Linear, recipe: Recipe) -> None:
        super().__init__()
        self.layer = layer
        scale = 1 / math.sqrt(layer.in_features)
        self.a = torch.nn.Parameter(torch.randn(recipe.rank, layer.in_features) * scale)
        self.b = torch.nn.Parameter(torch.zeros(layer.out_features, recipe.rank))
        self.factor = recipe.alpha / recipe.rank

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return what the layer gives, corrected."""
        correction = functional.linear(functional.linear(x, self.a), self.b)
        result: torch.Tensor = self.layer(x) + correction * self.factor
        return result


class Base:
    """The served model, dequantised, with its tokenizer."""

    def __init__(self, weights: Path, device: str) -> None:
        folder, name = str(weights.parent), weights.name
        self.device = device
        self.tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=name)
        self.model = AutoModelForCausalLM.from_pretrained(
            folder, gguf_file=name, dtype=torch.float32
        ).to(device)
        self.model.requires_grad_(requires_grad=False)

    def encode(self, text: Text) -> tuple[list[int], list[int]]:
        """Return the tokens of a text, and its labels."""
        ids: list[int] = []
        labels: list[int] = []
        for piece in text:
            tokens = self.tokenizer(piece.text, add_special_tokens=False).input_ids
            ids += tokens
            labels += tokens if piece.learned else [IGNORED] * len(tokens)
        return ids, labels

    def adapted(self, recipe: Recipe) -> dict[str, LowRank]:
        """Put fresh corrections into the model, in place of any it had, and return them by name."""
        corrections = {}
        for number, block in enumerate(self.model.model.layers):
            for part in (block.self_attn, block.mlp):
                for name, layer in list(part.named_children()):
                    if name not in TENSORS:
                        continue
                    plain = layer.layer if isinstance(layer, LowRank) else layer
                    correction = LowRank(plain, recipe).to(self.device)
                    setattr(part, name, correction)
                    corrections[f"blk.{number}.{TENSORS[name]}"] = correction
        return corrections


def train(
    base: Base, texts: Sequence[Text], recipe: Recipe, seed: int, say: Callable[[str], None]
) -> dict[str, LowRank]:
    """Train corrections on the texts; the same seed, machine and versions give the same result."""
    torch.manual_seed(seed)
    order = random.Random(seed)  # noqa: S311
    corrections = base.adapted(recipe)
    trained = [p for each in corrections.values() for p in (each.a, each.b)]
    optimiser = torch.optim.AdamW(trained, lr=recipe.rate, weight_decay=0.0, betas=(0.9, 0.98))
    encoded = [base.encode(text) for text in texts]
    steps = recipe.epochs * math.ceil(len(encoded) / recipe.batch)
    base.model.train()
    losses: list[float] = []
    for step, batch in enumerate(_batches(encoded, recipe, order)):
        for group in optimiser.param_groups:
            group["lr"] = recipe.rate * _pace(step, steps, recipe.warm_up)
        loss = _loss(base, batch)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimiser.step()
        losses.append(loss.item())
        if step % 100 == 99 or step == steps - 1:
            say(f"step {step + 1} of {steps}: loss {sum(losses[-50:]) / len(losses[-50:]):.3f}")
    base.model.eval()
    return corrections


def _pace(step: int, steps: int, warm_up: int) -> float:
    """Rise fast, then fall along a cosine to a twentieth."""
    wave = 0.5 * (1 + math.cos(math.pi * step / steps))
    return min(1.0, (step + 1) / warm_up) * (0.05 + 0.95 * wave)


def _batches(
    encoded: list[tuple[list[int], list[int]]], recipe: Recipe, order: random.Random
) -> Iterator[list[tuple[list[int], list[int]]]]:
    """Yield batches of texts of similar length, in random order."""
    for _ in range(recipe.epochs):
        shuffled = order.sample(encoded, len(encoded))
        near = recipe.batch * 8
        batches = []
        for start in range(0, len(shuffled), near):
            chunk = sorted(shuffled[start : start + near], key=lambda pair: len(pair[0]))
            batches += [chunk[at : at + recipe.batch] for at in range(0, len(chunk), recipe.batch)]
        order.shuffle(batches)
        yield from batches


def _loss(base: Base, batch: Sequence[tuple[list[int], list[int]]]) -> torch.Tensor:
    longest = max(len(ids) for ids, _ in batch)
    pad = base.tokenizer.pad_token_id or 0
    ids = torch.tensor([ids + [pad] * (longest - len(ids)) for ids, _ in batch])
    labels = torch.tensor([labels + [IGNORED] * (longest - len(labels)) for _, labels in batch])
    mask = torch.tensor([[1] * len(ids) + [0] * (longest - len(ids)) for ids, _ in batch])
    hidden = base.model.model(
        input_ids=ids.to(base.device), attention_mask=mask.to(base.device)
    ).last_hidden_state[:, :-1]
    following = labels[:, 1:].to(base.device)
    learned = following != IGNORED
    return functional.cross_entropy(base.model.lm_head(hidden[learned]), following[learned])


# --- llama.cpp's format -------------------------------------------------------------------------


def export(corrections: dict[str, LowRank], base: Base, recipe: Recipe, path: Path) -> None:
    """Write the corrections as a GGUF adapter in half precision."""
    config: Any = base.model.config
    heads = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_string("general.type", "adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", recipe.alpha)
    for name, correction in corrections.items():
        a, b = (each.detach().float().cpu().numpy() for each in (correction.a, correction.b))
        count = heads.get(name.rpartition(".")[2])
        if count is not None:
            b = _interleaved(b, count)
        for tensor, suffix in ((a, "lora_a"), (b, "lora_b")):
            half = np.ascontiguousarray(tensor, dtype=np.float16)
            writer.add_tensor(f"{name}.weight.{suffix}", half)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _interleaved(b: np.ndarray, heads: int) -> np.ndarray:
    """Order the rows of a query or key as llama.cpp rotates them: pairs beside each other."""
    rows, columns = b.shape
    split = b.reshape(heads, 2, rows // heads // 2, columns)
    return split.swapaxes(1, 2).reshape(rows, columns)
