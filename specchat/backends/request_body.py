"""The body of a chat request, and what is lost with each field that a server refuses."""

from collections.abc import Collection

from specchat.backends.deltas import well_formed
from specchat.session.ports import ChatRequest

_REPLACEMENTS = {"max_tokens": "max_completion_tokens"}

_LOSSES = {
    "return_token_ids": "token origins cannot be known; vLLM has it from 0.10.2 on",
    "stream_options": "the token counts of its usage and its own report on speculation are missing",
    "seed": "the reply cannot be repeated",
    "top_p": "its own value is used",
    "temperature": "its own value is used",
    "top_k": "its own value is used",
    "min_p": "its own value is used",
    "presence_penalty": "its own value is used",
    "frequency_penalty": "its own value is used",
    "repetition_penalty": "its own value is used",
    "chat_template_kwargs": "the model thinks, or does not, as it was set up to",
    "max_completion_tokens": "the reply ends where the server ends it",
    "vllm_xargs": "no trace can be had, and speculation cannot be switched for one reply",
}
"""Fields that a reply can do without. Those that ask for a continuation are none: it would be another reply."""


def request_body(request: ChatRequest, model: str, left_out: Collection[str] = ()) -> dict[str, object]:
    """What to send.

    Args:
        request: The messages and the sampler's parameters; unset ones are not sent.
        model: The model's name.
        left_out: Fields that the server has refused.
    """
    sampling = request.sampling
    fields: dict[str, object] = {
        "model": model,
        # A lone surrogate, from a file name or a clipboard, cannot be sent as UTF-8.
        "messages": [{"role": m.role, "content": well_formed(m.content)} for m in request.messages],
        "stream": True,
        "stream_options": {"include_usage": True},
        "return_token_ids": True,
        "max_tokens": sampling.max_tokens,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "seed": sampling.seed,
        "stop": list(sampling.stop) or None,
        "top_k": sampling.top_k,
        "min_p": sampling.min_p,
        "presence_penalty": sampling.presence_penalty,
        "frequency_penalty": sampling.frequency_penalty,
        "repetition_penalty": sampling.repetition_penalty,
        # Without it a reply would have another length, so it is none of the fields that can be left out.
        "ignore_eos": sampling.ignore_eos,
        "chat_template_kwargs": None if sampling.thinking is None else _thinking(model, on=sampling.thinking),
        # vLLM's names. With a generation prompt the message would be closed and a new one begun.
        "continue_final_message": True if request.continues else None,
        "add_generation_prompt": False if request.continues else None,
        "vllm_xargs": _for_hook(request),
    }
    for name, other in _REPLACEMENTS.items():
        if name in left_out and other not in left_out:
            fields[other] = fields.get(name)
    return {name: value for name, value in fields.items() if value is not None and name not in left_out}


def _for_hook(request: ChatRequest) -> dict[str, object] | None:
    """What the specchat hook in the server is asked for; None where that is nothing."""
    wanted = {"specchat_trace": request.trace_key, "specchat_k": request.limit}
    return {name: value for name, value in wanted.items() if value is not None} or None


def _thinking(model: str, *, on: bool) -> dict[str, object]:
    """What tells a chat template to think or not: each family has its own word, and ignores those of the others.

    A server may serve a model under any name, so only a name that says its family narrows the words down.
    """
    name = model.lower().replace("_", "-")
    minimax: dict[str, object] = {"thinking_mode": "enabled" if on else "disabled"}
    if "minimax-m3" in name:
        return minimax
    if any(family in name for family in ("qwen", "glm", "smollm3")):
        return {"enable_thinking": on}
    if "deepseek" in name:
        return {"thinking": on}
    return {**minimax, "enable_thinking": on, "thinking": on}


def can_leave_out(fields: Collection[str], body: dict[str, object]) -> tuple[str, ...]:
    """Which of these fields the body holds and a reply can do without."""
    return tuple(name for name in fields if name in body and (name in _LOSSES or name in _REPLACEMENTS))


def loss_note(name: str) -> str:
    """What it means that the server refuses this field; "" where nothing is lost."""
    if name in _REPLACEMENTS:
        return ""
    return f"this server refuses {name}: {_LOSSES[name]}"
