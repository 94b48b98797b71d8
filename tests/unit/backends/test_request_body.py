import pytest

from specchat.backends.refused_fields import to_leave_out
from specchat.backends.request_body import can_leave_out, loss_note, request_body
from specchat.session.ports import ChatRequest, Message, Sampling

REQUEST = ChatRequest((Message("user", "Hi"),), Sampling(max_tokens=5, seed=1, stop=("x",)))


def test_unset_parameters_are_not_sent() -> None:
    assert request_body(ChatRequest((Message("user", "Hi"),)), "m") == {
        "model": "m",
        "messages": [{"role": "user", "content": "Hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "return_token_ids": True,
    }


def test_zero_is_sent() -> None:
    request = ChatRequest((Message("user", "Hi"),), Sampling(temperature=0.0, seed=0))
    assert request_body(request, "m").items() >= {"temperature": 0.0, "seed": 0}.items()


def test_refused_fields_are_left_out_and_max_tokens_gets_its_other_name() -> None:
    body = request_body(REQUEST, "m", {"seed", "max_tokens"})
    assert "seed" not in body
    assert "max_tokens" not in body
    assert body["max_completion_tokens"] == 5
    assert "max_completion_tokens" not in request_body(REQUEST, "m", {"max_tokens", "max_completion_tokens"})


def test_only_fields_that_were_sent_and_are_not_vital_can_be_left_out() -> None:
    body = request_body(REQUEST, "m")
    assert can_leave_out(["stop", "top_p", "seed", "max_tokens", "model"], body) == ("seed", "max_tokens")


def test_the_loss_is_said_where_there_is_one() -> None:
    assert "origins cannot be known" in loss_note("return_token_ids")
    assert not loss_note("max_tokens")


def test_half_a_character_in_a_prompt_can_still_be_sent() -> None:
    body = request_body(ChatRequest((Message("user", "a\udcffb"),)), "m")
    assert body["messages"] == [{"role": "user", "content": "a\ufffdb"}]


def test_a_continuation_is_asked_for_in_vllms_words_and_never_dropped() -> None:
    request = ChatRequest((Message("user", "Hi"), Message("assistant", "Hel")), continues=True)
    body = request_body(request, "m")
    assert (body["continue_final_message"], body["add_generation_prompt"]) == (True, False)
    assert can_leave_out(["continue_final_message", "add_generation_prompt"], body) == ()
    assert "add_generation_prompt" not in request_body(ChatRequest(request.messages), "m")


@pytest.mark.parametrize(
    ("model", "kwargs"),
    [
        ("amd/MiniMax-M3-MXFP4", {"thinking_mode": "disabled"}),
        ("Qwen/Qwen3-8B", {"enable_thinking": False}),
        ("deepseek-ai/DeepSeek-V3.1", {"thinking": False}),
        ("chat", {"thinking_mode": "disabled", "enable_thinking": False, "thinking": False}),
    ],
)
def test_thinking_is_asked_for_in_the_words_of_the_model(model: str, kwargs: dict[str, object]) -> None:
    messages = (Message("user", "Hi"),)
    assert request_body(ChatRequest(messages, Sampling(thinking=False)), model)["chat_template_kwargs"] == kwargs
    assert "chat_template_kwargs" not in request_body(ChatRequest(messages), model)


def test_every_sampling_parameter_is_sent_under_its_own_name_and_can_be_left_out() -> None:
    sampling = Sampling(
        top_k=0, min_p=0.1, presence_penalty=-1, frequency_penalty=0.5, repetition_penalty=1.1, thinking=True
    )
    body = request_body(ChatRequest((), sampling), "m")
    names = [name for name in sampling.given() if name != "thinking"]
    assert {name: body[name] for name in names} == {name: sampling.given()[name] for name in names}
    for name in (*names, "chat_template_kwargs"):
        assert can_leave_out([name], body) == (name,)
        assert loss_note(name)


def test_a_refused_chat_template_is_the_field_that_asks_to_think() -> None:
    assert to_leave_out(("chat_template",)) == ("chat_template_kwargs",)
