import pytest

from specchat.backends.metrics import is_vllm_page, parse_counters
from specchat.exports.reply_json import counters_object

PAGE = """# HELP vllm:spec_decode_num_drafts_total Number of spec decoding drafts.
# TYPE vllm:spec_decode_num_drafts_total counter
vllm:spec_decode_num_drafts_total{engine="0",model_name="a b"} 5.0 1796736798733
vllm:spec_decode_num_drafts_total{engine="1",model_name="a b"} 7.0
vllm:spec_decode_num_drafts_created{engine="0",model_name="a b"} 1.79e+09
vllm:spec_decode_num_draft_tokens_total{engine="0",model_name="a b"} 36.0
vllm:spec_decode_num_accepted_tokens_total{engine="0",model_name="a b"} 12.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="a b",position="1"} 1.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="a b",position="0"} 6.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="1",model_name="a b",position="0"} 2.0
vllm:num_requests_running{engine="0",model_name="a b"} 1.0
vllm:num_requests_waiting{engine="0",model_name="a b"} NaN
vllm:request_success_total{engine="0",finished_reason="stop",model_name="a b"} 3.0
vllm:request_success_total{engine="0",finished_reason="length",model_name="a b"} 4.0
vllm:generation_tokens_total{engine="0",model_name="a b"} 99.0
vllm:num_requests_running{engine="0",model_name="other"} 50.0
vllm:spec_decode_num_drafts_total{broken
"""


def test_counters_are_summed_over_engines_and_reasons_for_one_model() -> None:
    reading = parse_counters(PAGE, "a b")
    assert reading is not None
    assert (reading.drafts, reading.drafted, reading.accepted) == (12, 36, 12)
    assert reading.per_position == (8, 1)
    assert (reading.running, reading.waiting, reading.finished, reading.generated) == (1, None, 7, 99)


def test_a_page_of_other_models_is_no_reading() -> None:
    assert parse_counters(PAGE, "c") is None
    assert parse_counters(PAGE, None) is None
    assert parse_counters("", "a b") is None
    assert parse_counters("<html>vllm:num_requests_running</html>", "a b") is None


def test_a_page_without_model_labels_is_read_for_any_model() -> None:
    page = "llamacpp:spec_decode_num_drafts_total 87\nllamacpp:requests_processing 1\n"
    reading = parse_counters(page, "any")
    assert reading is not None
    assert (reading.drafts, reading.running, reading.per_position) == (87, 1, ())
    assert not is_vllm_page(page)


def test_a_server_without_speculation_has_no_drafts_instead_of_none_yet() -> None:
    reading = parse_counters('vllm:generation_tokens_total{model_name="m"} 5.0\n', "m")
    assert reading is not None
    assert (reading.drafts, reading.speculates, reading.generated) == (None, False, 5)
    assert is_vllm_page('vllm:generation_tokens_total{model_name="m"} 5.0\n')


def test_sglang_gauges_say_who_is_running() -> None:
    reading = parse_counters(
        'sglang:num_running_reqs{model_name="m"} 2.0\nsglang:gen_throughput{model_name="m"} 9\n', "m"
    )
    assert reading is not None
    assert (reading.running, reading.drafts, reading.tokens_per_second) == (2, None, 9.0)


def spec_page(prefix: str = "vllm:", total: str = "_total", lead: str = "") -> str:
    values = [("drafts", 10), ("draft_tokens", 30), ("accepted_tokens", 15)]
    return "".join(f'{lead}{prefix}spec_decode_num_{name}{total}{{model_name="m"}} {value}\n' for name, value in values)


def of_position(position: object, value: int) -> str:
    return f'vllm:spec_decode_num_accepted_tokens_per_pos_total{{model_name="m",position="{position}"}} {value}\n'


@pytest.mark.parametrize(
    "page",
    [
        "\ufeff" + spec_page(),
        spec_page(lead="  "),
        spec_page().replace("\n", "\r\n"),
        spec_page(prefix="vllm_"),
        spec_page(total=""),
        spec_page() + spec_page(),
    ],
    ids=["mark", "indented", "crlf", "underscore", "without total", "every series twice"],
)
def test_a_page_that_a_collector_has_bent_says_the_same(page: str) -> None:
    reading = parse_counters(page, "m")
    assert reading is not None
    assert (reading.drafts, reading.drafted, reading.accepted) == (10, 30, 15)


def test_positions_are_in_order_of_their_numbers() -> None:
    page = "".join(of_position(i, 100 - i) for i in (10, 2, 0, 11, 1, *range(3, 10)))
    reading = parse_counters(spec_page() + page, "m")
    assert reading is not None
    assert reading.per_position == tuple(range(100, 88, -1))


@pytest.mark.parametrize("positions", [(0, 2), (1, 2), ("0.0", 1)])
def test_positions_with_a_gap_are_no_positions(positions: tuple[object, ...]) -> None:
    reading = parse_counters(spec_page() + "".join(of_position(p, 5) for p in positions), "m")
    assert reading is not None
    assert reading.per_position == ()


def test_a_count_below_0_is_no_count() -> None:
    reading = parse_counters(spec_page().replace(" 10\n", " -1\n"), "m")
    assert reading is not None
    assert reading.drafts is None


def test_a_server_that_counts_drafted_tokens_but_no_steps_speculates_and_has_a_rate() -> None:
    page = "".join(spec_page().splitlines(keepends=True)[1:])
    reading = parse_counters(page, "m")
    assert reading is not None
    assert reading.speculates
    said = counters_object(reading)
    assert (said["acceptance_rate"], said["acceptance_length"], said["num_drafts"]) == (0.5, None, None)


@pytest.mark.parametrize(
    "page",
    [
        'vllm:kv_cache_usage_perc{engine="0"} 0.5\nvllm:kv_cache_usage_perc{engine="1"} 0\n',
        'vllm:gpu_cache_usage_perc{model_name="m"} 0.25\n',
        'vllm:gpu_cache_usage_perc{model_name="m"} 0.9\nvllm:kv_cache_usage_perc{model_name="m"} 0.25\n',
        "llamacpp:kv_cache_usage_ratio 0.25\n",
        'sglang:token_usage{model_name="m"} 0.25\n',
    ],
    ids=["mean of engines", "older name", "newer name before the older", "llama.cpp", "SGLang"],
)
def test_the_share_of_the_cache_in_use_has_a_name_on_every_server(page: str) -> None:
    reading = parse_counters(page, "m")
    assert reading is not None
    assert reading.kv_cache_usage == 0.25


def test_requests_that_wait_are_not_counted_again_by_their_reason() -> None:
    page = 'vllm:num_requests_waiting 3\nvllm:num_requests_waiting_by_reason{reason="capacity"} 3\n'
    reading = parse_counters(page, "m")
    assert reading is not None
    assert (reading.waiting, reading.kv_cache_usage) == (3, None)
