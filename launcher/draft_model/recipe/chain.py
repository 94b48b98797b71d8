"""Training-time test: the draft runs its chain at every position of a batch at once, against the target's own choices.

Owns the loss and what counts as accepted. Knows nothing of files, optimisers or clocks.

Step k at position t reads the token t + 1 + k and has to predict the target's choice for token t + 2 + k, which is the
target's distribution at t + 1 + k. Tokens come from the row (the target's answer), so a chain is only judged while its
proposals agree with the target.
"""

from dataclasses import dataclass

import torch
from draft import EagleDraft, LayerCache
from rows import Rows
from target import Target, feature_layers
from torch.nn import functional

LATER_STEP_WEIGHT = 0.9
"""Each further step counts this much less in the loss: what comes after a rejected proposal is never used."""


@dataclass(frozen=True, slots=True)
class ChainResult:
    """What one pass over a batch gave; lists have one entry per step."""

    loss: torch.Tensor
    """Scalar, with gradients."""

    judged: list[torch.Tensor]
    """bool [B, T]: positions where the step's token lies inside the answer."""

    kept: list[torch.Tensor]
    """bool [B, T]: judged positions where this step and all before it chose the target's token (greedily)."""

    def acceptance(self) -> list[float]:
        """Chain acceptance: share of judged positions kept, for each step."""
        return [float(kept.sum() / judged.sum()) for kept, judged in zip(self.kept, self.judged, strict=True)]


@torch.no_grad()
def target_view(target: Target, ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The target's features [B, T, 3H] and logits [B, T, vocabulary] for rows of ids [B, T]."""
    output = target.model(ids, output_hidden_states=True)
    layers = feature_layers(target.model.config.num_hidden_layers)
    return torch.cat([output.hidden_states[layer] for layer in layers], -1), output.logits


def shifted(x: torch.Tensor, places: int) -> torch.Tensor:
    """Move [B, T, ...] left along T; the end is filled with column 0, which is never judged."""
    return torch.cat([x[:, places:], x[:, :1].expand(-1, places, *x.shape[2:])], 1)


def causal_mask(length: int, device: torch.device) -> torch.Tensor:
    """bfloat16 [T, T]: 0 up to the diagonal, -inf above it."""
    return torch.full((length, length), float("-inf"), device=device).triu(1).to(torch.bfloat16)


def run_chain(draft: EagleDraft, target: Target, batch: Rows, steps: int) -> ChainResult:
    """Run `steps` chained draft steps over a batch on the target's device, in bfloat16 autocast.

    The loss is the sum over k of 0.9^k · cross-entropy(target, draft), the target's distribution taken over the
    draft's vocabulary. Positions whose target token the draft cannot propose give no loss, and count as rejected.
    """
    device = target.device
    features, target_logits = target_view(target, batch.ids)
    embeddings = target.model.get_input_embeddings().weight
    tokens = draft.draft_tokens
    can_propose = torch.zeros(embeddings.shape[0], dtype=torch.bool, device=device)
    can_propose[tokens] = True
    positions = torch.arange(batch.ids.shape[1], device=device)[None]
    mask = causal_mask(batch.ids.shape[1], device)
    cache: LayerCache = []
    loss = torch.zeros((), device=device)
    judged_steps: list[torch.Tensor] = []
    kept_steps: list[torch.Tensor] = []
    with torch.autocast(device.type, torch.bfloat16):
        hidden = draft.fuse(features)
        for step in range(steps):
            token_embedding = functional.embedding(shifted(batch.ids, 1 + step), embeddings)
            hidden = draft.advance(token_embedding, hidden, step, cache, mask)
            wanted = shifted(target_logits, 1 + step)
            choice = wanted.argmax(-1)
            judged = (positions + 2 + step < batch.lengths[:, None]) & (
                positions + 1 >= batch.prompt_lengths[:, None] - 1
            )
            learned = judged & can_propose[choice]
            log_draft = torch.log_softmax(draft.logits(hidden[learned]).float(), -1)
            probabilities = torch.softmax(wanted[learned][:, tokens].float(), -1)
            loss = loss + (LATER_STEP_WEIGHT**step) * -(probabilities * log_draft).sum(-1).mean()
            with torch.no_grad():
                proposed = torch.full_like(choice, -1)
                proposed[learned] = tokens[log_draft.argmax(-1)]
                hit = (proposed == choice) & judged
                kept_steps.append(kept_steps[-1] & hit if kept_steps else hit)
                judged_steps.append(judged)
    return ChainResult(loss=loss, judged=judged_steps, kept=kept_steps)


def mean_acceptance(results: list[list[float]]) -> list[float]:
    """Mean of the batches' chain acceptances, for each step."""
    return [sum(step) / len(results) for step in zip(*results, strict=True)]
