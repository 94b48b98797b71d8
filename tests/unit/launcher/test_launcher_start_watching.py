"""A start that is followed while it happens: its phases, their seconds, and when it takes too long."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from launch_logs import LOGS, text_of
from specchat_launcher.progress import Phase
from specchat_launcher.startup import StartPhase, StartState, StartWatcher, as_progress

ENGINE = "(EngineCore pid=2) INFO 11-30 11:19:12 [core.py:133] "
WORKER = "(Worker_TP0 pid=3) INFO 11-30 11:19:13 [x.py:1] "


class Clock:
    """Seconds that a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def watcher_at(clock: Clock, **arguments: object) -> StartWatcher:
    return StartWatcher(clock, **arguments)  # type: ignore[arg-type]


def after(text: str) -> StartState:
    watcher = StartWatcher(lambda: 0.0)
    watcher.feed(text)
    return watcher.state()


@pytest.mark.parametrize(
    ("line", "phase"),
    [
        ("(APIServer pid=1) INFO 11-30 11:18:48 [api_utils.py:286] non-default args: {'port': 1}", StartPhase.STARTING),
        (f"{ENGINE}Initializing a V1 LLM engine (v0.32.0) with config", StartPhase.STARTING),
        (
            "(Worker pid=3) INFO 11-30 11:19:13 [cpu_model_runner.py:68] Starting to load model /x...",
            StartPhase.LOADING,
        ),
        ("(Worker pid=3) INFO 11-30 11:19:13 [cpu_model_runner.py:75] Loading drafter model...", StartPhase.DRAFT),
        (f"{ENGINE}CPU KV cache size: 45,056 tokens, Maximum concurrency", StartPhase.MEMORY),
        (f"{ENGINE}GPU KV cache size: 45,056 tokens", StartPhase.MEMORY),
        (f"{ENGINE}init engine (profile, create kv cache, warmup model) took 1.58 s", StartPhase.OPENING),
        ("(APIServer pid=1) INFO:     Application startup complete.", StartPhase.READY),
        ("INFO:     Application startup complete.", StartPhase.READY),
        ("[2026-08-24 09:04:40] The server is fired up and ready to roll!", StartPhase.READY),
    ],
)
def test_the_line_that_begins_a_phase_is_recognised(line: str, phase: StartPhase) -> None:
    assert after(f"{line}\n").phase is phase


def test_a_start_does_not_fall_back_when_a_slower_worker_says_the_same_later() -> None:
    state = after(
        f"{WORKER}Loading drafter model...\n(Worker_TP7 pid=9) INFO 11-30 11:19:14 [x.py:1] Starting to load model\n"
    )
    assert state.phase is StartPhase.DRAFT


def test_a_dump_of_a_crash_is_no_start_of_an_engine() -> None:
    state = after(
        f"{WORKER}Loading drafter model...\n(EngineCore pid=2) ERROR 11-30 11:19:15 [d.py:7] init engine (profile\n"
    )
    assert state.phase is StartPhase.DRAFT


def test_shards_are_counted_with_the_rate_that_the_size_on_disk_gives() -> None:
    state = after(
        f"{WORKER}Starting to load model /x...\n{WORKER}Filesystem type: EXT4. Checkpoint size: 231.40 GiB. Available\n"
        "\nLoading safetensors checkpoint shards:  42% Completed | 21/50 [01:24<01:56,  3.97s/it]\n"
    )
    assert (state.phase, state.detail, state.fraction) == (StartPhase.LOADING, "shard 21 of 50, 1.2 GB/s", 0.42)


def test_without_a_size_the_seconds_of_a_shard_are_shown() -> None:
    state = after("Loading safetensors checkpoint shards:  42% Completed | 21/50 [01:24<01:56,  3.97s/it]\n")
    assert state.detail == "shard 21 of 50, 4.0 s each"


def test_a_bar_is_followed_while_its_line_has_not_ended() -> None:
    bar = "\rCapturing CUDA graphs (decode, FULL):  {}%|####      | {}/35 [00:05<00:05,  4.1it/s]"
    state = after("".join(bar.format(share, share // 3) for share in (10, 20, 60)))
    assert (state.phase, state.detail, state.fraction) == (StartPhase.CAPTURING, "graph 20 of 35", 0.6)
    assert len(state.last_lines) == 1


def test_bars_of_a_draft_belong_to_the_draft() -> None:
    bar = "Loading safetensors checkpoint shards:  50% Completed | 1/2 [00:01<00:01,  1.00s/it]"
    state = after(f"{WORKER}Loading drafter model...\n{bar}\n")
    assert (state.phase, state.detail) == (StartPhase.DRAFT, "shard 1 of 2, 1.0 s each")


def test_a_download_comes_before_the_loading_goes_on() -> None:
    watcher = StartWatcher(lambda: 0.0)
    watcher.feed(f"{WORKER}Starting to load model acme/demo...\n")
    watcher.feed("\rmodel-00001-of-00004.safetensors:  40%|####      | 2.0G/5.0G [00:10<00:15, 200MB/s]\n")
    assert watcher.state().phase is StartPhase.DOWNLOADING
    assert watcher.state().detail == "model-00001-of-00004.safetensors, 2.0G of 5.0G, 200MB/s"
    watcher.feed(f"{WORKER}Time spent downloading weights for acme/demo: 25.1 seconds\n")
    assert watcher.state().phase is StartPhase.LOADING


def test_kernels_are_compiled_in_the_middle_of_another_phase() -> None:
    watcher = StartWatcher(lambda: 0.0)
    watcher.feed(
        f"{WORKER}Starting to load model /x...\n(Worker_TP2 pid=5) [aiter] start build [module_rmsnorm] under /r\n"
    )
    watcher.feed("(Worker_TP1 pid=4) [aiter] waiting for baton release at /r/lock_module_rmsnorm\n")
    state = watcher.state()
    assert state.phase is StartPhase.JIT
    assert state.detail == "module_rmsnorm, 1 process waits; this is normal, about 15 minutes the first time"
    watcher.feed("(Worker_TP2 pid=5) [aiter] finish build [module_rmsnorm], cost 225.4s\n")
    assert watcher.state().detail == "module_rmsnorm took 225 s, 1 built"
    watcher.feed("Loading safetensors checkpoint shards:  50% Completed | 1/2 [00:01<00:01,  1.00s/it]\n")
    assert watcher.state().phase is StartPhase.LOADING


def test_a_later_start_that_only_imports_kernels_compiles_nothing() -> None:
    state = after(
        f"{WORKER}Starting to load model /x...\n(Worker_TP2 pid=5) [aiter] import [module_rmsnorm] under /r/x.so\n"
    )
    assert state.phase is StartPhase.LOADING


def test_every_phase_is_timed_and_the_total_goes_on() -> None:
    clock = Clock()
    watcher = watcher_at(clock)
    clock.now += 20
    watcher.feed(f"{WORKER}Starting to load model /x...\n")
    clock.now += 7
    state = watcher.state()
    assert (state.phase_seconds, state.seconds, state.passed) == (7.0, 27.0, ((StartPhase.STARTING, 20.0),))


def test_a_phase_that_takes_too_long_says_how_to_wait_longer() -> None:
    clock = Clock()
    watcher = watcher_at(clock, timeouts={"loading weights": 60.0})
    watcher.feed("Loading safetensors checkpoint shards:  42% Completed | 21/50 [01:24<01:56,  3.97s/it]\n")
    clock.now += 60
    assert watcher.overdue() is None
    clock.now += 1
    said = watcher.overdue()
    assert said is not None
    assert "--set timeouts.loading=120" in said


def test_weights_that_may_still_be_downloading_have_the_time_of_a_download() -> None:
    clock = Clock()
    watcher = watcher_at(clock, timeouts={"loading": 60.0, "downloading": 600.0})
    watcher.feed(f"{WORKER}Starting to load model acme/demo...\n")
    clock.now += 600
    assert watcher.overdue() is None
    clock.now += 1
    assert "timeouts.downloading=1200" in str(watcher.overdue())


@pytest.mark.parametrize("key", ["compiling kernels", "jit"])
def test_time_outs_are_given_by_either_name_of_a_phase(key: str) -> None:
    clock = Clock()
    watcher = watcher_at(clock, timeouts=((key, 5.0),))
    watcher.feed("[aiter] start build [module_x] under /r\n")
    clock.now += 6
    assert watcher.overdue() is not None


def test_a_first_start_may_compile_for_an_hour() -> None:
    clock = Clock()
    watcher = watcher_at(clock)
    watcher.feed("[aiter] start build [module_x] under /r\n")
    clock.now += 3599
    assert watcher.overdue() is None


def test_a_server_that_is_ready_is_never_overdue() -> None:
    clock = Clock()
    watcher = watcher_at(clock)
    watcher.feed("INFO:     Application startup complete.\n")
    clock.now += 1e6
    assert watcher.overdue() is None


def test_a_start_that_was_found_later_is_timed_by_the_stamps_of_its_log() -> None:
    clock = Clock()
    watcher = watcher_at(clock, age=600.0)
    watcher.feed("(APIServer pid=1) INFO 11-30 11:00:00 [x.py:1] non-default args: {}\n")
    watcher.feed("(Worker pid=3) INFO 11-30 11:01:00 [x.py:1] Starting to load model /x...\n")
    state = watcher.state()
    assert (state.seconds, state.phase_seconds) == (600.0, 540.0)


def test_a_lock_that_nobody_works_on_is_a_warning_after_twenty_quiet_minutes() -> None:
    clock = Clock()
    watcher = watcher_at(clock)
    watcher.feed("(Worker_TP2 pid=5) [aiter] waiting for baton release at /r/tuned.csv.lock\n")
    clock.now += 19 * 60
    assert watcher.state().warnings == ()
    clock.now += 61
    assert [found.cause for found in watcher.state().warnings] == ["aiter-lock-stuck"]


def test_workers_that_wait_for_a_build_are_no_warning_however_long_it_takes() -> None:
    clock = Clock()
    watcher = watcher_at(clock)
    watcher.feed("(Worker_TP1 pid=4) [aiter] start build [module_x] under /r\n")
    watcher.feed("(Worker_TP2 pid=5) [aiter] waiting for baton release at /r/lock_module_x\n")
    clock.now += 3000
    assert watcher.state().warnings == ()


def test_an_engine_that_stalls_after_it_was_ready_is_a_warning() -> None:
    notice = f"{ENGINE}No available shared memory broadcast block found in 60 seconds. This typically happens\n"
    watcher = StartWatcher(lambda: 0.0)
    watcher.feed(notice * 5)
    assert watcher.state().warnings == ()
    watcher.feed("INFO:     Application startup complete.\n")
    watcher.feed(notice * 2)
    assert watcher.state().warnings == ()
    watcher.feed(notice)
    assert [found.cause for found in watcher.state().warnings] == ["engine-stalled"]


def test_progress_of_a_start_never_falls_back_from_phase_to_phase() -> None:
    def progress(phase: StartPhase, seconds: float) -> float:
        state = StartState(phase, "x", None, seconds, seconds, (), ())
        share = as_progress(state).fraction
        assert share is not None
        return share

    shares = [progress(phase, seconds) for phase in StartPhase for seconds in (0.0, 5.0, 1e6)]
    assert shares == sorted(shares)
    assert 0 <= shares[0] < shares[-1] < 1


def test_progress_says_what_happens_and_for_how_long() -> None:
    found = as_progress(StartState(StartPhase.LOADING, "shard 1 of 2", 0.5, 3.0, 21.4, (), ()))
    assert (found.phase, found.detail) == (Phase.LOADING, "loading weights: shard 1 of 2, 21 s")


def shown(watcher: StartWatcher) -> tuple[object, ...]:
    return (watcher.state(), watcher.diagnosis(1), watcher.health(), watcher.acceptance)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_log_means_the_same_however_it_is_split(data: st.DataObject) -> None:
    text = text_of(data.draw(st.sampled_from(LOGS)))
    start = data.draw(st.integers(0, max(0, len(text) - 4000)))
    text = text[start : start + 4000]
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=30)))
    whole, parts = StartWatcher(lambda: 0.0), StartWatcher(lambda: 0.0)
    whole.feed(text)
    for begin, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        parts.feed(text[begin:end])
    assert shown(whole) == shown(parts)


PIECES = st.one_of(
    st.text(max_size=60),
    st.sampled_from(
        [
            "\r",
            "\n",
            "\x1b[",
            "\x1b[31m",
            "(Worker pid=",
            "[aiter] start build [",
            "] under",
            "100%|",
            "| 1/2 [",
            "ERROR ",
        ]
    ),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(PIECES, max_size=40), st.one_of(st.none(), st.integers(-70, 300)))
def test_garbage_is_lived_with(pieces: list[str], exit_code: int | None) -> None:
    watcher = StartWatcher(lambda: 0.0)
    for piece in pieces:
        watcher.feed(piece)
        watcher.state()
    assert watcher.diagnosis(exit_code).title
    assert len(watcher.state().last_lines) <= 200


def test_a_log_without_an_end_takes_no_more_memory() -> None:
    watcher = StartWatcher(lambda: 0.0)
    for number in range(300):
        watcher.feed("x" * 100_000 + f"{number}")
    assert watcher.state().last_lines == ()
    for number in range(6000):
        watcher.feed(f"\n{number} " + "y" * 2000)
    kept = list(watcher._record)
    assert sum(len(entry.line.shown) for entry in kept) <= 2_000_000
    assert len(watcher.state().last_lines) == 200
