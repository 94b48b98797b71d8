"""Error answers of real servers and proxies: what is said about each, and what is never said."""

import json

import pytest

from specchat.backends.http_errors import Asked, error_of_answer
from specchat.backends.redaction import redact
from specchat.core.errors import AuthenticationRefused, FieldRefused, ModelNotServed, PromptTooLong, ServerRefused

KEY = "sk-secret/key+1"
ASKED = Asked("http://h:1", "m", ("m", "n"), KEY)


def nested(message: str, **more: object) -> str:
    return json.dumps({"error": {"message": message, **more}})


@pytest.mark.parametrize(
    ("status", "body", "fields"),
    [
        (400, nested("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."), ("max_tokens",)),
        (400, nested("'temperature' does not support 0 with this model.", param="temperature"), ("temperature",)),
        (400, nested("Unrecognized request argument supplied: seed"), ("seed",)),
        (400, nested('Unknown name "seed": Cannot find field.'), ("seed",)),
        (400, nested("property 'seed' is unsupported"), ("seed",)),
        (422, "unknown field `return_token_ids`, expected one of `model`, `seed`", ("return_token_ids",)),
        (400, nested("stream_options is not supported"), ("stream_options",)),
        (
            422,
            '{"detail":[{"type":"extra_forbidden","loc":["body","top_p"],"msg":"Extra inputs are not permitted"}]}',
            ("top_p",),
        ),
        (400, nested("return_token_ids is not supported with streaming"), ("return_token_ids",)),
    ],
)
def test_a_refused_field_is_named(status: int, body: str, fields: tuple[str, ...]) -> None:
    error = error_of_answer(status, {}, body.encode(), ASKED)
    assert isinstance(error, FieldRefused)
    assert error.fields == fields
    assert fields[0] in error.message


@pytest.mark.parametrize(
    "message",
    [
        "temperature must be in [0, 2], got 5",
        "max_tokens must be at least 1, got 0.",
        "The stop sequence was unexpected",
        "Invalid message: seed the garden",
    ],
)
def test_a_value_out_of_range_or_a_plain_word_is_no_refused_field(message: str) -> None:
    assert not isinstance(error_of_answer(400, {}, nested(message).encode(), ASKED), FieldRefused)


@pytest.mark.parametrize(
    ("status", "message", "limit", "prompt"),
    [
        (400, "maximum context length is 4096 tokens. However, you requested more (904 in the messages", 4096, 904),
        (400, "max_tokens too large: 5000. maximum context length is 2048 and it has 30 input tokens", 2048, 30),
        (400, "The decoder prompt (length 5000) is longer than the maximum model length of 4096.", 4096, 5000),
        (400, "The input (5000 tokens) is longer than the model's context length (4096 tokens).", 4096, 5000),
        (422, "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens", 4096, 5000),
        (400, "prompt is too long: 200001 tokens > 200000 maximum", 200000, 200001),
        (400, "max_tokens=5000 cannot be greater than max_model_len=2048", 2048, None),
        (500, "Context size has been exceeded.", None, None),
    ],
)  # fmt: skip
def test_a_prompt_that_is_too_long_is_told_with_its_numbers(
    status: int, message: str, limit: int | None, prompt: int | None
) -> None:
    error = error_of_answer(status, {}, nested(message).encode(), ASKED)
    assert isinstance(error, PromptTooLong)
    before_quote = error.message.split(": ")[0]
    assert limit is None or f"of {limit} tokens" in before_quote
    assert prompt is None or f"has {prompt}" in error.message
    assert "--max-tokens" in error.hint


def test_a_model_and_a_route_that_are_missing_are_told_apart() -> None:
    model = error_of_answer(404, {}, nested("The model `m` does not exist.").encode(), ASKED)
    route = error_of_answer(404, {}, b'{"detail":"Not Found"}', ASKED)
    assert isinstance(model, ModelNotServed)
    assert "m, n" in model.hint
    assert not isinstance(route, ModelNotServed)
    assert "/v1" in route.hint


@pytest.mark.parametrize("body", ["", "<html><title>401 Authorization Required</title></html>", '{"error":"no"}'])
def test_a_missing_key_is_asked_for_and_an_openai_key_is_explained(body: str) -> None:
    asked = Asked("http://h:1", "m", unsent_openai_key=True)
    error = error_of_answer(401, {}, body.encode(), asked)
    assert isinstance(error, AuthenticationRefused)
    for word in ("SPECCHAT_API_KEY", "--api-key-file", "OPENAI_API_KEY", "--openai-key"):
        assert word in error.hint
    assert "OPENAI_API_KEY" not in error_of_answer(401, {}, body.encode(), Asked("http://h:1", "m")).hint


def test_a_key_that_was_sent_is_called_wrong_and_not_missing() -> None:
    assert "does not accept the key" in error_of_answer(403, {}, b"", ASKED).message


@pytest.mark.parametrize(
    ("status", "headers", "body", "words"),
    [
        (429, {"retry-after": "20"}, nested("slow down"), ["slow down", "in 20 s"]),
        (503, {}, nested("Loading model"), ["up and still loading"]),
        (502, {}, "<html><title>502 Bad Gateway</title></html>", ["proxy", "502 Bad Gateway"]),
        (500, {}, "unable to load runner: exit status 1", ["unable to load runner", "docker model logs"]),
        (413, {}, "<html><title>413</title></html>", ["too large"]),
        (404, {}, "<html><title>Not here</title></html>", ["web page", "Not here", "no API"]),
        (307, {"location": "https://u:p@x.org/v1?token=1"}, "", ["redirects to https://x.org/v1 (307)"]),
        (400, {}, '{"detail":[{"loc":["body","messages"],"msg":"Field required"}]}', ["body.messages: Field required"]),
        (500, {}, "", ["failed (500)"]),
    ],
)
def test_an_error_says_what_happened(status: int, headers: dict[str, str], body: str, words: list[str]) -> None:
    error = error_of_answer(status, headers, body.encode(), ASKED)
    assert isinstance(error, ServerRefused)
    assert error.status == status
    for word in words:
        assert word in str(error)


def test_an_error_is_one_harmless_line_of_bearable_length_without_the_key() -> None:
    # The key stands where the text would be cut: half a key would be left if it were taken out afterwards.
    text = "x" * 290 + KEY + "\x1b[31m\u202e\n" + "y" * 5000
    error = error_of_answer(400, {}, text.encode(), ASKED)
    assert len(error.message) <= 400
    assert not set(error.message) & {"\x1b", "\n", "\u202e"}
    assert "sk-" not in error.message


def test_a_key_is_redacted_in_every_form() -> None:
    quoted = "sk-secret%2Fkey%2B1"
    assert redact(f"a {KEY} b {quoted} c", [KEY, None, ""]) == "a *** b *** c"


def test_a_refused_key_is_told_apart_from_a_refused_request() -> None:
    blocked = error_of_answer(403, {}, b'{"error":{"message":"blocked by policy"}}', ASKED)
    assert "refuses access (403): blocked by policy" in blocked.message
    assert "SPECCHAT_API_KEY" in blocked.hint
    assert "key" in error_of_answer(403, {}, b'{"error":{"message":"Invalid API key"}}', ASKED).message


def test_a_status_that_is_no_redirect_is_not_called_one() -> None:
    assert "redirects" not in error_of_answer(304, {}, b"", ASKED).message
