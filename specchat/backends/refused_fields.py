"""Which fields of a request a server refuses, by the words of its error. Goes by the field that is named alone.

A 400 also means a prompt that is too long or a value out of range, and dropping a field would hide those.
"""

import re

from specchat.backends.error_body import ErrorBody

KNOWN_FIELDS = (
    "return_token_ids",
    "stream_options",
    "continuous_usage_stats",
    "include_usage",
    "max_completion_tokens",
    "max_tokens",
    "temperature",
    "top_p",
    "seed",
    "stop",
    "top_k",
    "min_p",
    "presence_penalty",
    "frequency_penalty",
    "repetition_penalty",
    "chat_template_kwargs",
    "chat_template",
    "continue_final_message",
    "add_generation_prompt",
    "vllm_xargs",
    "specchat_trace",
    "specchat_k",
)
"""Names that a refusal may blame. `max_completion_tokens` is what `max_tokens` is sent as where that is refused."""

_INSIDE = {
    "continuous_usage_stats": "stream_options",
    "include_usage": "stream_options",
    # vLLM with a Mistral tokenizer says "chat_template is not supported" to this field.
    "chat_template": "chat_template_kwargs",
    "specchat_trace": "vllm_xargs",
    "specchat_k": "vllm_xargs",
}
"""Fields of fields: only the outer one can be left out."""

_REFUSAL = re.compile(
    r"extra_forbidden|extra (inputs?|fields?|parameters?|keys?) |not (?:\w+ )?(supported|permitted|allowed|"
    r"recogni[sz]ed|valid for|implemented|available)|unsupported|unrecogni[sz]ed|unknown|unexpected|cannot find field|"
    r"(does|do|can)( not|n't) (support|accept|allow|recogni[sz]e)|no such (field|parameter|argument)|"
    r"additional propert|invalid (argument|parameter|field|key|property)|not a valid (argument|parameter|field)",
    re.IGNORECASE,
)
_ALTERNATIVE = re.compile(r"(use|try|in favou?r of|instead of using)\s+['\"`]?(\w+)['\"`]?(\s+instead)?", re.IGNORECASE)


def named_fields(error: ErrorBody) -> tuple[str, ...]:
    """The fields that the server says it does not take, in the order of KNOWN_FIELDS; empty if it says nothing so."""
    if not _REFUSAL.search(f"{error.text} {error.kind.replace('_', ' ')} {error.kind}"):
        return ()
    if error.param in KNOWN_FIELDS:
        return (error.param,)
    text = _ALTERNATIVE.sub(" ", error.text.split("expected one of")[0])
    return tuple(name for name in KNOWN_FIELDS if re.search(rf"\b{name}\b", text) and _is_field(name, text))


def to_leave_out(fields: tuple[str, ...]) -> tuple[str, ...]:
    """The fields of the request itself that hold these."""
    return tuple(dict.fromkeys(_INSIDE.get(name, name) for name in fields))


def _is_field(name: str, text: str) -> bool:
    """Words such as `stop` and `seed` are also plain English: they count only where they stand as a name."""
    if "_" in name:
        return True
    noun = rf"(argument|parameter|field|property|key|option|name|supplied|input)s?:? {name}\b"
    forms = (rf"['\"`]{name}['\"`]", rf"\bbody\W+{name}\b", noun, rf"^\W*{name} (is|are) ", rf"^{name}: ")
    return any(re.search(form, text, re.IGNORECASE) for form in forms)
