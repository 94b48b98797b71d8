"""The frozen target: loading it, its chat format, and continuing texts with it. Knows nothing of the draft."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

# SmolLM2's chat template with its default system prompt, which is what a server renders for one user message.
SYSTEM_PREFIX = (
    "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
    "<|im_start|>user\n"
)
ANSWER_PREFIX = "<|im_end|>\n<|im_start|>assistant\n"
TURN_END = "<|im_end|>"


@dataclass(frozen=True, slots=True)
class Target:
    """A loaded target model with its tokenizer."""

    model: PreTrainedModel
    """bfloat16 weights, in evaluation mode, without gradients."""

    tokenizer: PreTrainedTokenizerBase
    """Pads on the left, so that all rows of a batch end where generation begins."""

    folder: Path
    """Where it was read from; the draft's config.json starts from the target's."""

    @property
    def end_token(self) -> int:
        """Id that ends an answer, also used as padding."""
        return int(self.model.config.eos_token_id)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.model.device


def load_target(folder: Path, device: str) -> Target:
    """Read a target as the launcher's conversion writes it (config, safetensors, tokenizer).

    Args:
        folder: A transformers model folder.
        device: A torch device such as "cuda" or "cpu".
    """
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16, attn_implementation="sdpa")
    model = model.to(device).eval().requires_grad_(requires_grad=False)
    tokenizer.padding_side = "left"
    tokenizer.pad_token_id = int(model.config.eos_token_id)
    return Target(model=model, tokenizer=tokenizer, folder=folder)


def feature_layers(layer_count: int) -> tuple[int, int, int]:
    """Indices into `hidden_states` whose rows the draft sees: a low, a middle and a high layer.

    EAGLE-3 fuses three depths (Li et al. 2025, section 3.1). These are the ones that vLLM takes for a draft whose
    config.json names none, so the draft must be trained on them.
    """
    return (2, layer_count // 2, layer_count - 3)


def chat_prompt(user_text: str) -> str:
    """Text that makes the target answer `user_text`."""
    return SYSTEM_PREFIX + user_text + ANSWER_PREFIX


@torch.inference_mode()
def continue_texts(target: Target, texts: list[str], new_tokens: int, **sampling: Any) -> torch.Tensor:  # noqa: ANN401 - handed to transformers as they are
    """Let the target continue a batch of texts.

    Args:
        target: The model.
        texts: B texts, taken literally: no chat template is applied.
        new_tokens: Upper limit of tokens for each text.
        sampling: Options of transformers' `generate`, such as `do_sample` and `temperature`.

    Returns:
        int64 [B, up to new_tokens] on the CPU, filled with the end token after an answer's end.
    """
    encoded = target.tokenizer(texts, return_tensors="pt", padding=True, add_special_tokens=False).to(target.device)
    output = target.model.generate(
        **encoded,
        max_new_tokens=new_tokens,
        eos_token_id=target.end_token,
        pad_token_id=target.end_token,
        **sampling,
    )
    return output[:, encoded.input_ids.shape[1] :].cpu()
