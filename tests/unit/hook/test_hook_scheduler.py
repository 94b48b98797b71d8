# ruff: noqa: ANN401 - stand-ins for objects of vLLM, which is not here
"""The scheduler's part: what is proposed is cut down to what is asked, and each step of a traced request has a row."""

from types import SimpleNamespace
from typing import Any

import pytest

import fake_vllm
from fake_vllm import KEY, OTHER_KEY, ModelRunnerOutput, Request, SchedulerOutput, asking, config, sampled
from specchat_vllm import scheduler as part
from specchat_vllm.fuse import Fuse, Unsupported
from specchat_vllm.rows import Row, rows_of


def patched(*requests: Request, **options: Any) -> Any:
    """A scheduler with the hook, and some requests."""
    cls = type("Scheduler", (fake_vllm.Scheduler,), {})
    part.patch(SimpleNamespace(Scheduler=cls))
    scheduler = cls(config(**options))
    for request in requests:
        assert scheduler.add_request(request) == "added"
    return scheduler


def rows(result: dict[int, Any]) -> list[Row]:
    """The rows on the outputs of a step."""
    headers = [output.trace_headers for one in result.values() for output in one.outputs if output.trace_headers]
    return [row for header in headers if part.HEADER in header for row in rows_of(header[part.HEADER])]


def step(scheduler: Any, seen: dict[str, Any] | None = None, **ids: list[int]) -> list[Row]:
    """Schedule, sample these ids, and take them in."""
    output = scheduler.schedule()
    model_output = sampled(**ids)
    if seen is not None:
        setattr(model_output, part.SEEN, seen)
    return rows(scheduler.update_from_output(output, model_output))


def saw(width: int | None = 3, graph: str | None = "FULL", **drafts: list[int]) -> dict[str, Any]:
    """What a worker saw."""
    return {"drafts": drafts, "width": width, "graph": graph}


# Rows


def test_a_traced_request_has_a_row_for_each_step_in_order() -> None:
    scheduler = patched(asking("a"))
    (first,) = step(scheduler, saw(), a=[100])
    scheduler.update_draft_token_ids({"a": [1, 2, 3]})
    (second,) = step(scheduler, saw(), a=[1, 2, 9])
    (third,) = step(scheduler, saw(0, "NONE"), a=[4])
    assert (first.key, first.number, first.drafted, first.accepted, first.proposed, first.emitted) == (
        KEY, 0, 0, 0, [], [100],
    )  # fmt: skip
    assert (second.key, second.number, second.drafted, second.accepted) == ("", 1, 3, 2)
    assert (second.proposed, second.rejected, second.emitted) == ([1, 2, 3], [3], [1, 2, 9])
    assert (third.number, third.drafted, third.proposed, third.width, third.graph) == (2, 0, [], 0, "NONE")
    assert first.at <= second.at <= third.at


def test_what_is_emitted_is_cut_where_the_request_ends_and_what_was_accepted_is_not() -> None:
    scheduler = patched(asking("a", max_tokens=3))
    step(scheduler, a=[100])
    scheduler.update_draft_token_ids({"a": [1, 2, 3]})
    (row,) = step(scheduler, a=[1, 2, 3, 4])
    assert (row.drafted, row.accepted, row.proposed, row.emitted) == (3, 3, [1, 2, 3], [1, 2])


def test_asynchronous_scheduling_takes_the_proposals_from_the_worker() -> None:
    scheduler = patched(asking("a"), asynchronous=True)
    step(scheduler, a=[100])
    (row,) = step(scheduler, saw(a=[5, 6, 7]), a=[5, 8])
    assert (row.proposed, row.accepted) == ([5, 6, 7], 1)


def test_without_the_workers_record_the_placeholders_are_not_taken_for_proposals() -> None:
    scheduler = patched(asking("a"), asynchronous=True)
    step(scheduler, a=[100])
    (row,) = step(scheduler, a=[5, 8])
    assert row.proposed is None
    assert row.rejected == []
    assert (row.drafted, row.accepted, row.width, row.graph) == (3, 1, None, None)


def test_a_record_that_is_too_short_or_has_holes_is_not_believed() -> None:
    scheduler = patched(asking("a"), asynchronous=True)
    step(scheduler, a=[100])
    assert step(scheduler, saw(a=[5, 6]), a=[5])[0].proposed is None
    assert step(scheduler, saw(a=[5, -1, 7]), a=[5])[0].proposed is None


def test_a_surplus_step_of_a_request_that_has_ended_has_no_row() -> None:
    scheduler = patched(asking("a", max_tokens=2), asking("b", key=OTHER_KEY), asynchronous=True)
    step(scheduler, a=[100], b=[200])
    ahead = scheduler.schedule()
    assert [row.number for row in step(scheduler, saw(a=[1, 2, 3], b=[4, 5, 6]), a=[1, 2], b=[4])] == [1, 1]
    late = scheduler.update_from_output(ahead, sampled(a=[7], b=[8]))
    assert [(row.request_id, row.number, row.emitted) for row in rows(late)] == [("b", 2, [8])]


def test_a_part_of_a_prompt_has_no_row() -> None:
    scheduler = patched(asking("a"))
    assert step(scheduler, saw(), a=[]) == []
    assert [row.number for row in step(scheduler, saw(), a=[100])] == [0]


def test_a_step_that_samples_nothing_has_no_rows() -> None:
    scheduler = patched(asking("a"))
    output = scheduler.schedule()
    assert rows(scheduler.update_from_output(output, ModelRunnerOutput({}, []))) == []


def test_requests_that_ask_for_no_trace_have_no_rows() -> None:
    scheduler = patched(asking("a"), Request("b"), asking("c", key=None, k=0))
    assert [row.request_id for row in step(scheduler, saw(), a=[1], b=[2], c=[3])] == ["a"]


def test_each_front_end_gets_the_rows_of_its_own_requests_on_its_first_traced_output() -> None:
    scheduler = patched(
        Request("a"),
        asking("b", trace_headers={"traceparent": "kept"}),
        asking("c", key=OTHER_KEY, client_index=1),
        asking("d", key="d" * 32),
    )
    result = scheduler.update_from_output(scheduler.schedule(), sampled(a=[1], b=[2], c=[3], d=[4]))
    headers = [[output.trace_headers for output in result[client].outputs] for client in (0, 1)]
    assert headers[0][0] is None
    assert headers[0][1]["traceparent"] == "kept"
    assert [row.request_id for row in rows_of(headers[0][1][part.HEADER])] == ["b", "d"]
    assert headers[0][2] is None
    assert [row.request_id for row in rows_of(headers[1][0][part.HEADER])] == ["c"]


def test_proposals_that_a_grammar_forbids_do_not_count_as_drafted() -> None:
    scheduler = patched(asking("a"))
    step(scheduler, a=[100])
    scheduler.update_draft_token_ids({"a": [1, 2, -1]})
    output = scheduler.schedule()
    output.num_invalid_spec_tokens = {"a": 1}
    (row,) = rows(scheduler.update_from_output(output, sampled(a=[1, 5])))
    assert (row.drafted, row.proposed, row.accepted) == (2, [1, 2], 1)


def test_a_request_that_vllm_fills_up_to_the_shape_of_others_has_proposed_nothing() -> None:
    scheduler = patched(asking("a"))
    output = scheduler.schedule()
    output.scheduled_spec_decode_tokens["a"] = [-1, -1, -1]
    (row,) = rows(scheduler.update_from_output(output, sampled(a=[100])))
    assert (row.padded, row.drafted, row.accepted, row.proposed) == (3, 0, 0, [])


def test_what_held_of_such_filling_counts_as_vllm_counts_it() -> None:
    scheduler = patched(asking("a"))
    output = scheduler.schedule()
    output.scheduled_spec_decode_tokens["a"] = [-1, -1, -1]
    model_output = sampled(a=[7, 100])
    setattr(model_output, part.SEEN, saw(a=[7, 0, 0]))
    (row,) = rows(scheduler.update_from_output(output, model_output))
    assert (row.padded, row.drafted, row.accepted, row.proposed, row.emitted) == (3, 1, 1, [7], [7, 100])


def test_a_request_that_was_preempted_may_be_filled_up_when_it_comes_back() -> None:
    scheduler = patched(asking("a"))
    step(scheduler, a=[100])
    output = SchedulerOutput(
        {"a": 4}, {"a": [-1, -1, -1]}, scheduled_cached_reqs=SimpleNamespace(resumed_req_ids={"a"})
    )
    (row,) = rows(scheduler.update_from_output(output, sampled(a=[101])))
    assert (row.number, row.padded, row.drafted, row.proposed) == (1, 3, 0, [])


# The switch


def test_off_means_that_nothing_is_proposed_for_that_request_and_others_keep_theirs() -> None:
    scheduler = patched(asking("off", k=0), asking("one", key=OTHER_KEY, k=1), Request("plain"))
    scheduler.schedule()
    scheduler.update_draft_token_ids({"off": [1, 2, 3], "one": [4, 5, 6], "plain": [7, 8, 9]})
    output = scheduler.schedule()
    assert output.scheduled_spec_decode_tokens == {"one": [4], "plain": [7, 8, 9]}
    assert output.num_spec_tokens_to_schedule == 3


def test_the_list_of_placeholders_that_all_requests_share_is_not_cut_for_all() -> None:
    scheduler = patched(asking("off", k=0), asking("one", key=None, k=1), Request("plain"), asynchronous=True)
    scheduler.schedule()
    output = scheduler.schedule()
    assert output.scheduled_spec_decode_tokens == {"one": [-1], "plain": [-1, -1, -1]}


@pytest.mark.parametrize(
    ("wishes", "width"), [((0, 0), 0), ((0, 2), 2), ((1, 1), 1), ((0, 9), 3), ((0, None), 3), ((None, None), 3)]
)
def test_the_whole_step_computes_as_much_as_the_most_that_is_wanted(wishes: tuple[Any, Any], width: int) -> None:
    scheduler = patched(*(asking(f"r{i}", key=str(i) * 32, k=k) for i, k in enumerate(wishes)))
    assert scheduler.schedule().num_spec_tokens_to_schedule == width


def test_a_request_that_asks_for_nothing_keeps_the_step_at_the_servers_k() -> None:
    assert patched(asking("off", k=0), Request("plain")).schedule().num_spec_tokens_to_schedule == 3


@pytest.mark.parametrize("options", [{"data_parallel": 2}, {"method": "medusa"}])
def test_a_step_keeps_its_width_where_vllm_itself_would_not_vary_it(options: dict[str, Any], fresh_fuse: Fuse) -> None:
    scheduler = patched(asking("off", k=0), **options)
    assert scheduler.schedule().num_spec_tokens_to_schedule == 3
    scheduler.update_draft_token_ids({"off": [1, 2, 3]})
    assert scheduler.schedule().scheduled_spec_decode_tokens == {}
    assert not fresh_fuse.problems


def test_a_server_that_does_not_speculate_takes_wishes_without_harm(fresh_fuse: Fuse) -> None:
    scheduler = patched(asking("off", k=0), k=0)
    (row,) = step(scheduler, a=[], off=[1])
    assert (row.drafted, row.proposed) == (0, [])
    assert not fresh_fuse.problems


def test_the_worker_is_asked_for_its_record_only_where_a_traced_request_runs() -> None:
    scheduler = patched(asking("off", key=None, k=0))
    assert not hasattr(scheduler.schedule(), part.WANTED)
    scheduler.add_request(asking("traced"))
    assert getattr(scheduler.schedule(), part.WANTED)


# Whoever asks for nothing, and whatever fails


def test_where_nobody_asks_nothing_is_kept_or_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the hook has work where nobody asked")

    for name in ("_limit", "_cut", "_read_step", "_write_rows"):
        monkeypatch.setattr(part, name, refuse)
    scheduler = patched(Request("a"), Request("b", fake_vllm.Params({"someone": "else"})))
    assert step(scheduler, a=[1], b=[2]) == []
    scheduler.update_draft_token_ids({"a": [1]})
    assert part._STATES not in scheduler.__dict__


def test_a_request_that_is_gone_is_forgotten() -> None:
    scheduler = patched(asking("a", max_tokens=1), asking("b", key=OTHER_KEY))
    step(scheduler, a=[1], b=[2])
    scheduler.schedule()
    assert list(scheduler.__dict__[part._STATES]) == ["b"]
    del scheduler.requests["b"]
    scheduler.schedule()
    assert not scheduler.__dict__[part._STATES]


@pytest.mark.parametrize("broken", ["_note_request", "_limit", "_cut", "_read_step", "_write_rows"])
def test_a_failure_of_the_hook_never_reaches_vllm(
    broken: str, monkeypatch: pytest.MonkeyPatch, fresh_fuse: Fuse
) -> None:
    def fail(*_: object) -> None:
        raise KeyError("a surprise")

    monkeypatch.setattr(part, broken, fail)
    scheduler = patched(asking("a", k=1))
    for _ in range(3):
        output = scheduler.schedule()
        result = scheduler.update_from_output(output, sampled(a=[1]))
        assert result[0].outputs[0].new_token_ids == [1]
        scheduler.update_draft_token_ids({"a": [1, 2, 3]})
    assert fresh_fuse.problems == ["the scheduler: KeyError: 'a surprise'"]
    assert rows(scheduler.update_from_output(scheduler.schedule(), sampled(a=[1]))) == []


def test_what_vllm_itself_raises_is_passed_on(fresh_fuse: Fuse) -> None:
    scheduler = patched(asking("a"))
    with pytest.raises(KeyError):
        scheduler.update_from_output(scheduler.schedule(), sampled(b=[1]))
    assert fresh_fuse.problems[0].startswith("the scheduler: KeyError")


def test_an_unknown_scheduler_is_left_as_it_is() -> None:
    class Other(fake_vllm.Scheduler):
        def update_from_output(self, *args: Any) -> dict[int, Any]:
            return super().update_from_output(*args)

    before = dict(vars(Other))
    with pytest.raises(Unsupported, match="takes no scheduler_output"):
        part.patch(SimpleNamespace(Scheduler=Other))
    assert dict(vars(Other)) == before


def test_an_output_without_room_for_rows_is_found_before_anything_is_changed() -> None:
    fake_vllm.install("vllm.v1.engine", EngineCoreOutput=SimpleNamespace(__name__="EngineCoreOutput"))
    cls: Any = type("Scheduler", (fake_vllm.Scheduler,), {})
    with pytest.raises(Unsupported, match=r"EngineCoreOutput\.trace_headers"):
        part.patch(SimpleNamespace(Scheduler=cls))
    assert cls.schedule is fake_vllm.Scheduler.schedule
