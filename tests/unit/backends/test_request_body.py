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
