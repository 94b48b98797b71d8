"""Why a server ended: the first real error, the way its process ended, and what is quoted."""

import pytest

from specchat_launcher.spec import Expected
from specchat_launcher.startup import StartWatcher, acceptance_health, diagnose, read_acceptance

ENGINE = "(EngineCore pid=3867) ERROR 11-30 11:19:12 [core.py:1254] "
READY = "INFO:     Application startup complete."


def test_the_word_error_alone_is_no_error() -> None:
    line = (
        "(APIServer pid=1) WARNING 11-30 11:18:48 [system_utils.py:255] Found ulimit of 20000 and failed to "
        "automatically increase with error current limit exceeds maximum limit. This can cause fd limit errors like "
        "`OSError: [Errno 24] Too many open files`."
    )
    assert diagnose([line]).cause == "no-reason"


def test_the_first_process_to_fail_is_believed_and_not_those_that_report_it() -> None:
    found = diagnose(
        [
            f"{ENGINE}Traceback (most recent call last):",
            f"{ENGINE}ZeroDivisionError: division by zero",
            "RuntimeError: WorkerProc initialization failed due to an exception in a background process.",
            "Traceback (most recent call last):",
            "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",
        ],
        1,
    )
    assert found.cause == "unknown"
    assert found.title == "The engine failed while starting: ZeroDivisionError: division by zero."
    assert found.lines == ("ZeroDivisionError: division by zero",)


def test_a_worker_that_only_lost_its_peer_is_not_blamed() -> None:
    found = diagnose(
        [
            "(Worker_TP6 pid=7) ERROR 11-30 11:19:12 [m.py:8] EOFError",
            "(Worker_TP1 pid=2) ERROR 11-30 11:19:12 [m.py:8] RuntimeError: Connection closed by peer [127.0.0.1]",
            "(Worker_TP3 pid=4) ERROR 11-30 11:19:13 [m.py:8] RuntimeError: shapes differ",
        ]
    )
    assert found.title == "The worker Worker_TP3 failed while starting: RuntimeError: shapes differ."


def test_an_error_that_the_process_outlived_is_not_blamed() -> None:
    found = diagnose(
        [
            f"{ENGINE}ImportError: cannot import name 'x'",
            "(EngineCore pid=3867) INFO 11-30 11:19:13 [core.py:1] Initializing a V1 LLM engine (v0.32.0)",
            f"{ENGINE}ValueError: the real one",
        ]
    )
    assert "the real one" in found.title


def test_the_last_error_of_a_chain_explains_it() -> None:
    found = diagnose(
        [
            f"{ENGINE}KeyError: 'a'",
            f"{ENGINE}The above exception was the direct cause of the following exception:",
            f"{ENGINE}ValueError: the table has no a",
        ]
    )
    assert "the table has no a" in found.title


def test_a_reason_that_follows_a_wrapper_is_found_too() -> None:
    lines = ["RuntimeError: Engine core initialization failed. See root cause above.", "ValueError: later"]
    assert "later" in diagnose(lines).title


def test_a_validation_error_is_given_with_its_reason() -> None:
    lines = ["pydantic_core.ValidationError: 1 validation error for ModelConfig", "config", "  Value error, no such k"]
    assert "Value error, no such k" in diagnose(lines).title


def test_a_message_quoted_by_a_frame_was_not_raised() -> None:
    lines = [
        "Traceback (most recent call last):",
        '  File "/x.py", line 1, in f',
        '    raise ValueError("No available memory for the cache blocks.")',
        "IndexError: out of range",
    ]
    assert "IndexError" in diagnose(lines).title


def test_the_exception_that_is_only_called_exception_counts() -> None:
    assert "Exception: the tokenizer broke" in diagnose(["Exception: the tokenizer broke"]).title


@pytest.mark.parametrize(
    ("exit_code", "cause"),
    [(-9, "killed"), (137, "killed"), (-2, "interrupted"), (130, "interrupted"), (-15, "terminated"),
     (143, "terminated"), (-11, "crashed"), (139, "crashed"), (-4, "cpu-unsupported"), (1, "no-reason"),
     (None, "no-reason"), (250, "no-reason")],
)  # fmt: skip
def test_a_silent_end_is_told_by_its_exit_code(exit_code: int | None, cause: str) -> None:
    assert diagnose(["INFO 11-30 11:19:12 [x.py:1] hello"], exit_code).cause == cause


def test_a_kill_is_told_apart_from_a_lack_of_memory_that_the_log_shows() -> None:
    line = f"{ENGINE}torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total"
    assert diagnose([line], -9).cause == "gpu-out-of-memory"
    assert "does not say by whom" in diagnose(["hello"], 137).title


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("VllmWorker-5", "Worker proc VllmWorker-5 died unexpectedly (exit code: -9), shutting down executor."),
        (
            "EngineCore_DP0",
            "RuntimeError: Engine core initialization failed. Failed core proc(s): {'EngineCore_DP0': -9}",
        ),
    ],
)
def test_a_process_that_was_killed_is_named(name: str, line: str) -> None:
    found = diagnose([f"{ENGINE}{line}"], 1)
    assert found.cause == "worker-killed"
    assert name in found.title


def test_an_interrupt_is_no_failure_of_the_server() -> None:
    assert diagnose(["Traceback (most recent call last):", "KeyboardInterrupt"], 1).cause == "interrupted"


def test_what_fails_while_a_server_is_taken_down_is_no_reason() -> None:
    stop = "(APIServer pid=1) INFO 11-30 11:19:12 [launcher.py:254] [shutdown] API server: shutdown triggered"
    found = diagnose([READY, stop, "(APIServer pid=1) ERROR 11-30 11:19:12 [a.py:9] ValueError: queue closed"], 0)
    assert found.cause == "interrupted"


def test_an_engine_that_ended_without_a_word_is_told_as_that() -> None:
    line = (
        "(APIServer pid=1) vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace"
    )
    assert diagnose([READY, line], 1).cause == "engine-died"


def test_a_worker_that_lost_a_dead_engine_is_not_blamed_for_it() -> None:
    lost = "(Worker pid=7) ERROR 11-30 11:19:12 [m.py:8] BrokenPipeError: [Errno 32] Broken pipe"
    report = "(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above."
    assert diagnose([lost, report], 1).cause == "engine-died"
    assert "Broken pipe" in diagnose([lost], 1).title


def test_what_happened_before_it_was_ready_does_not_explain_a_later_end() -> None:
    lines = [
        f"{ENGINE}torch.OutOfMemoryError: HIP out of memory. Tried to allocate 1 GiB",
        READY,
        f"{ENGINE}ValueError: x",
    ]
    found = diagnose(lines, 1)
    assert found.cause == "unknown"
    assert "it was running" in found.title


def test_the_port_is_named_where_the_log_has_it() -> None:
    args = "(APIServer pid=1) INFO 11-30 11:18:48 [api_utils.py:286] non-default args: {'port': 8123}"
    error = "OSError: [Errno 98] Address already in use"
    assert diagnose([args, error]).title == "Port 8123 is taken by another program."
    assert diagnose([error]).title == "The port is taken by another program."


def test_a_long_line_is_quoted_in_part() -> None:
    found = diagnose([f"ValueError: {'x' * 5000}"])
    assert len(found.lines[0]) <= 600


@pytest.mark.parametrize(
    ("secret", "line"),
    [
        ("hf_abcdefghijklmnop", "ValueError: token hf_abcdefghijklmnop is bad"),
        ("sk-1234567890", "ValueError: key sk-1234567890 is bad"),
        ("topsecret", "ValueError: non-default args: {'api_key': ['topsecret']}"),
        ("topsecretvalue", "ValueError: Authorization: Bearer topsecretvalue"),
        ("abc123def", "ValueError: HF_TOKEN=abc123def"),
    ],
)
def test_secrets_are_never_shown(secret: str, line: str) -> None:
    found = diagnose([line])
    assert secret not in f"{found}"
    watcher = StartWatcher(lambda: 0.0)
    watcher.feed(f"{line}\n")
    assert secret not in f"{watcher.state()}"


M3 = Expected(moe_backend="AITER_MXFP4_MXFP4", draft_backend="TRITON_ATTN")
W = "(Worker_TP{} pid=3) INFO 11-30 11:19:13 [x.py:1] {}\n"


def health(*said: tuple[int, str], ready: bool = True) -> list[str]:
    watcher = StartWatcher(lambda: 0.0, expected=M3)
    for rank, text in said:
        watcher.feed(W.format(rank, text))
    if ready:
        watcher.feed(f"{READY}\n")
    return [found.cause for found in watcher.health()]


TARGET = (0, "Using TRITON_ATTN backend (selected via --attention-backend).")
DRAFTER = (0, "Loading drafter model...")
EXPERTS = (0, "Using 'AITER_MXFP4_MXFP4' Mxfp4 MoE backend.")
OTHER = "Using ROCM_ATTN backend out of potential backends: ['ROCM_ATTN', 'TRITON_ATTN']."


def test_a_draft_that_says_nothing_uses_what_the_target_uses() -> None:
    assert health(TARGET, EXPERTS, DRAFTER) == []


def test_another_backend_of_the_draft_is_a_warning() -> None:
    assert health(TARGET, EXPERTS, DRAFTER, (0, OTHER)) == ["draft-backend-unexpected"]


def test_a_target_that_a_slower_worker_loads_is_not_taken_for_the_draft() -> None:
    assert health(TARGET, EXPERTS, DRAFTER, (1, OTHER)) == []


def test_other_experts_are_a_warning() -> None:
    assert health(TARGET, (0, "Using 'MARLIN' Mxfp4 MoE backend out of potential backends: ['x']."), DRAFTER) == [
        "moe-backend-unexpected"
    ]


def test_a_log_that_does_not_tell_raises_no_warning() -> None:
    assert health() == []


def test_health_is_asked_of_servers_that_are_up() -> None:
    assert health(TARGET, DRAFTER, (0, OTHER), ready=False) == []


@pytest.mark.parametrize(
    ("length", "drafts", "cause"),
    [(2.6, 1000, None), (4.0, 1000, None), (1.05, 1000, "acceptance-collapsed"), (1.6, 1000, "acceptance-low"),
     (1.0, 99, None), (1.29, 100, "acceptance-collapsed"), (2.0, 100, None)],
)  # fmt: skip
def test_acceptance_is_judged_by_the_band_of_the_profile(length: float, drafts: int, cause: str | None) -> None:
    found = acceptance_health((2.0, 3.3), length, drafts)
    assert (found.cause if found else None) == cause


def test_a_collapse_names_what_it_usually_means() -> None:
    found = acceptance_health((2.0, 3.3), 1.02, 500)
    assert found is not None
    assert "1.02" in found.title
    assert "attention_backend" in found.remedy


LINE = (
    "SpecDecoding metrics: Mean acceptance length: 2.36, Accepted throughput: 1.36 tokens/s, Drafted throughput: 3.00 "
    "tokens/s, Accepted: 150 tokens, Drafted: 330 tokens, Per-position acceptance rate: 0.6, 0.5, 0.3, Avg Draft"
)
OLDER_LINE = (
    "SpecDecoding metrics: Draft acceptance rate: 45.5%, Per-position acceptance rate: 0.6, 0.5, 0.3, Drafted: 330 "
    "tokens, Accepted: 150 tokens, Mean acceptance length: 2.36"
)


@pytest.mark.parametrize("line", [LINE, OLDER_LINE])
def test_figures_of_speculation_are_read_in_any_order(line: str) -> None:
    found = read_acceptance(line)
    assert found is not None
    assert (found.acceptance_length, found.accepted, found.drafted, found.drafts) == (2.36, 150, 330, 110)
    assert found.by_position == (0.6, 0.5, 0.3)


def test_half_a_line_of_figures_is_none() -> None:
    assert read_acceptance("SpecDecoding metrics: Mean acceptance length: 2.36, Accepted: ") is None
    assert read_acceptance("Mean acceptance length: 2.36") is None
