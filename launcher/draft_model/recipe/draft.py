"""The EAGLE-3 draft: one decoder layer on the target's hidden states, and its file format. Trains nothing.

Architecture: EAGLE-3 (Li et al. 2025, "EAGLE-3: Scaling up Inference Acceleration of Large Language Models via
Training-Time Test"), in the form that vLLM serves as `LlamaForCausalLMEagle3`. Every parameter is named as in
model.safetensors, so the state dictionary is the file.

Letters in shapes: B rows, T positions, H hidden size, V draft vocabulary, A attention heads, K key/value heads,
D size of a head. The draft's step k (0, 1, ...) proposes the token k + 2 places after the position it stands on.
"""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn import functional

INITIAL_STD = 0.02

LayerCache = list[tuple[torch.Tensor, torch.Tensor]]
"""Keys and values [B, A, T, D] of each step so far, step 0 first."""


@dataclass(frozen=True, slots=True)
class DraftShape:
    """Sizes of the draft's layer; all are the target's own, so that the draft can share its embeddings."""

    hidden_size: int
    """H."""

    intermediate_size: int
    """Width of the MLP."""

    attention_heads: int
    """A."""

    key_value_heads: int
    """K; divides A."""

    head_size: int
    """D."""

    rope_theta: float
    """Base of the rotary frequencies."""

    norm_epsilon: float
    """Added to the mean square in RMSNorm."""

    @classmethod
    def of(cls, config: Any) -> "DraftShape":  # noqa: ANN401 - transformers' config classes share no useful type
        """Read the sizes from a transformers config of the Llama kind."""
        return cls(
            hidden_size=config.hidden_size,
            intermediate_size=config.intermediate_size,
            attention_heads=config.num_attention_heads,
            key_value_heads=config.num_key_value_heads,
            head_size=config.head_dim,
            rope_theta=config.rope_parameters["rope_theta"],
            norm_epsilon=config.rms_norm_eps,
        )


def linear(inputs: int, outputs: int) -> nn.Linear:
    """A projection without bias, as Llama's are."""
    return nn.Linear(inputs, outputs, bias=False)


class RMSNorm(nn.Module):
    """x / sqrt(mean(x²) + ε) · weight, computed in float32 (Zhang and Sennrich 2019)."""

    def __init__(self, shape: DraftShape) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(shape.hidden_size))
        self._epsilon = shape.norm_epsilon

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """[..., H] to [..., H], in the input's dtype."""
        wide = x.float()
        normed = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self._epsilon)
        return (normed * self.weight).to(x.dtype)


def rotate(x: torch.Tensor, positions: torch.Tensor, theta: float) -> torch.Tensor:
    """Rotary position embedding (Su et al. 2021) in Llama's half-split layout.

    Args:
        x: Queries or keys [B, heads, T, D].
        positions: Integer positions [T].
        theta: Base of the frequencies.

    Returns:
        [B, heads, T, D]: x · cos(pθ) + (-x₂, x₁) · sin(pθ).
    """
    size = x.shape[-1]
    frequencies = 1.0 / (theta ** (torch.arange(0, size, 2, device=x.device).float() / size))
    angles = positions[:, None].float() * frequencies
    cosine = torch.cat([angles.cos()] * 2, -1).to(x.dtype)
    sine = torch.cat([angles.sin()] * 2, -1).to(x.dtype)
    first, second = x.chunk(2, -1)
    return x * cosine + torch.cat([-second, first], -1) * sine


class ChainedAttention(nn.Module):
    """Attention over step 0's keys in causal order, and over each later step's key at its own position only.

    This is what makes training-time test cheap (Li et al. 2025, figure 6): a draft chain that starts at position t
    sees the verified past up to t and its own earlier steps, and never another position's chain.
    """

    def __init__(self, shape: DraftShape) -> None:
        super().__init__()
        self._shape = shape
        query_size = shape.attention_heads * shape.head_size
        key_size = shape.key_value_heads * shape.head_size
        # The input is twice as wide as the layer: the token's embedding beside the hidden state.
        self.q_proj = linear(2 * shape.hidden_size, query_size)
        self.k_proj = linear(2 * shape.hidden_size, key_size)
        self.v_proj = linear(2 * shape.hidden_size, key_size)
        self.o_proj = linear(query_size, shape.hidden_size)

    def forward(self, x: torch.Tensor, step: int, cache: LayerCache, mask: torch.Tensor) -> torch.Tensor:
        """Attend for one step of the chain and append its keys and values to `cache`.

        Args:
            x: [B, T, 2H].
            step: k; positions are shifted by it.
            cache: Steps 0 to k - 1; gains step k.
            mask: [T, T], 0 where step 0 may be seen and -inf elsewhere.

        Returns:
            [B, T, H].
        """
        shape = self._shape
        batch, length, _ = x.shape
        positions = torch.arange(length, device=x.device) + step
        groups = shape.attention_heads // shape.key_value_heads

        def heads(projected: torch.Tensor, count: int) -> torch.Tensor:
            return projected.view(batch, length, count, shape.head_size).transpose(1, 2)

        query = rotate(heads(self.q_proj(x), shape.attention_heads), positions, shape.rope_theta)
        key = rotate(heads(self.k_proj(x), shape.key_value_heads), positions, shape.rope_theta)
        value = heads(self.v_proj(x), shape.key_value_heads)
        cache.append((key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)))

        scale = math.sqrt(shape.head_size)
        (first_key, first_value), *later = cache
        scores = (query @ first_key.transpose(-1, -2)) / scale + mask
        if later:
            own_scores = [(query * later_key).sum(-1, keepdim=True) / scale for later_key, _ in later]
            scores = torch.cat([scores, *own_scores], -1)
        weights = torch.softmax(scores.float(), -1).to(query.dtype)
        mixed = weights[..., :length] @ first_value
        for number, (_, later_value) in enumerate(later):
            mixed = mixed + weights[..., length + number : length + number + 1] * later_value
        return self.o_proj(mixed.transpose(1, 2).reshape(batch, length, -1))


class GatedMLP(nn.Module):
    """Llama's MLP: down(silu(gate(x)) · up(x)) (SwiGLU, Shazeer 2020)."""

    def __init__(self, shape: DraftShape) -> None:
        super().__init__()
        self.gate_proj = linear(shape.hidden_size, shape.intermediate_size)
        self.up_proj = linear(shape.hidden_size, shape.intermediate_size)
        self.down_proj = linear(shape.intermediate_size, shape.hidden_size)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """[B, T, H] to [B, T, H]."""
        return self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))


class DraftLayer(nn.Module):
    """The decoder layer: embedding and hidden state are normed apart and enter the attention side by side."""

    def __init__(self, shape: DraftShape) -> None:
        super().__init__()
        self.self_attn = ChainedAttention(shape)
        self.mlp = GatedMLP(shape)
        self.input_layernorm = RMSNorm(shape)
        self.hidden_norm = RMSNorm(shape)
        self.post_attention_layernorm = RMSNorm(shape)

    def forward(
        self, embedding: torch.Tensor, hidden: torch.Tensor, step: int, cache: LayerCache, mask: torch.Tensor
    ) -> torch.Tensor:
        """Hidden state [B, T, H] of the next step from a token's embedding and the hidden state before it."""
        x = torch.cat([self.input_layernorm(embedding), self.hidden_norm(hidden)], -1)
        attended = self.self_attn(x, step, cache, mask) + hidden
        return self.mlp(self.post_attention_layernorm(attended)) + attended


class EagleDraft(nn.Module):
    """The whole draft model."""

    d2t: torch.Tensor
    """int64 [V]: a draft token's id plus its entry is the token's id in the target's vocabulary."""

    def __init__(self, shape: DraftShape, draft_tokens: torch.Tensor) -> None:
        """Build with random weights.

        Args:
            shape: Sizes of the layer.
            draft_tokens: int64 [V], ascending: the target's ids of the tokens that the draft can propose.
        """
        super().__init__()
        # The order of construction is the order in which random numbers are drawn: a run repeats only if it stays.
        self.fc = linear(3 * shape.hidden_size, shape.hidden_size)
        self.midlayer = DraftLayer(shape)
        self.norm = RMSNorm(shape)
        self.lm_head = linear(shape.hidden_size, len(draft_tokens))
        self.register_buffer("d2t", draft_tokens - torch.arange(len(draft_tokens), device=draft_tokens.device))

    @property
    def draft_tokens(self) -> torch.Tensor:
        """The target's ids of the draft's tokens, int64 [V]."""
        return self.d2t + torch.arange(len(self.d2t), device=self.d2t.device)

    @torch.no_grad()
    def initialise(self, target_embedding: torch.Tensor) -> None:
        """Start the head from the target's (tied) embeddings [vocabulary, H] and the projections from N(0, 0.02²)."""
        self.lm_head.weight.copy_(target_embedding[self.draft_tokens].float())
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2 and not name.startswith("lm_head"):
                nn.init.normal_(parameter, std=INITIAL_STD)

    def fuse(self, features: torch.Tensor) -> torch.Tensor:
        """The target's three hidden states [B, T, 3H] to the draft's first hidden state [B, T, H]."""
        return self.fc(features)

    def advance(
        self, embedding: torch.Tensor, hidden: torch.Tensor, step: int, cache: LayerCache, mask: torch.Tensor
    ) -> torch.Tensor:
        """One step of the chain at every position: the next hidden state [B, T, H], before the final norm."""
        return self.midlayer(embedding, hidden, step, cache, mask)

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """Scores over the draft's vocabulary: [..., H] to [..., V]."""
        return self.lm_head(self.norm(hidden))


def save_draft(draft: EagleDraft, target_folder: Path, output_folder: Path) -> None:
    """Write model.safetensors (bfloat16, d2t as int64) and config.json as vLLM reads them.

    The embeddings are absent on purpose: vLLM shares the target's when a draft brings none.
    """
    output_folder.mkdir(parents=True, exist_ok=True)
    tensors = {
        name: (tensor.to(torch.bfloat16) if tensor.is_floating_point() else tensor).contiguous().cpu()
        for name, tensor in draft.state_dict().items()
    }
    save_file(tensors, output_folder / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((target_folder / "config.json").read_text(encoding="utf-8"))
    config.update(
        architectures=["LlamaForCausalLMEagle3"],
        num_hidden_layers=1,
        draft_vocab_size=len(draft.d2t),
        tie_word_embeddings=False,
    )
    config.pop("_model_name_or_path", None)
    (output_folder / "config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")


def load_draft(folder: Path, shape: DraftShape, device: str) -> EagleDraft:
    """Read a draft that `save_draft` wrote; a missing, surplus or misshapen tensor is an error."""
    tensors = load_file(folder / "model.safetensors")
    draft = EagleDraft(shape, tensors["d2t"] + torch.arange(len(tensors["d2t"])))
    draft.load_state_dict(tensors)
    return draft.to(device)
