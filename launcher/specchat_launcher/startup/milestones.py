"""The lines and bars that show which phase a start is in. Pure.

Owns their wording over the versions of vLLM from 0.7 to 0.33, of SGLang, and of container tools. Holds no state.
"""

import re
from dataclasses import dataclass

from specchat_launcher.startup.phases import StartPhase

P = StartPhase


@dataclass(frozen=True, slots=True)
class Milestone:
    """A line that every start, or most, passes.

    Attributes:
        pattern: What the line holds.
        phase: The phase that begins there, or goes on.
        detail: What the server does from there on, as words for the user; may use the pattern's named groups.
    """

    pattern: re.Pattern[str]
    phase: StartPhase
    detail: str


def _mark(pattern: str, phase: StartPhase, detail: str) -> Milestone:
    return Milestone(re.compile(pattern), phase, detail)


MILESTONES: tuple[Milestone, ...] = (
    _mark(r"^Unable to find image '(?P<what>[^']+)' locally", P.DOWNLOADING, "the image {what}"),
    _mark(r"^Trying to pull (?P<what>\S+?)(?:\.\.\.)?$", P.DOWNLOADING, "the image {what}"),
    _mark(r"^Status: Downloaded newer image", P.STARTING, "starting the container"),
    _mark(r"^non-default args|^vLLM API server version|\bversion 0\.\d+\.\d", P.STARTING, "reading the configuration"),
    _mark(r"Initializing an? (?:V1 |V0 )?LLM engine", P.STARTING, "starting the engine"),
    _mark(r"world_size=\d+ rank=\d+", P.STARTING, "starting the workers"),
    _mark(r"^Starting to load model|^Load weight begin", P.LOADING, "the target model"),
    _mark(r"^Loading model from scratch", P.LOADING, "the target model"),
    _mark(
        r"^Prefetching checkpoint files: \d+% \((?P<done>\d+)/(?P<all>\d+)\)",
        P.LOADING,
        "reading files ahead, {done} of {all}",
    ),
    _mark(r"^Time spent downloading weights", P.LOADING, "the weights are downloaded"),
    _mark(r"^Loading (?:drafter|draft|speculator) model|^Load draft", P.DRAFT, "the draft model"),
    _mark(r"^Dynamo bytecode transform time", P.COMPILING, "the graph is traced"),
    _mark(r"^Compiling a graph for (?P<what>[^,]+?)(?: takes|$)", P.COMPILING, "the graph for {what}"),
    _mark(r"^Directly load (?:the|AOT)", P.COMPILING, "taken from the cache"),
    _mark(r"^(?:torch\.compile|torch\.compile and initial profiling/warmup run) took", P.COMPILING, "compiled"),
    _mark(r"^Warming up model for the compilation", P.COMPILING, "warming up"),
    _mark(r"^Initial profiling/warmup run took", P.MEMORY, "measuring what is left for the KV cache"),
    _mark(
        r"^Available KV cache memory: (?P<size>[\d.]+ GiB)|^Explicitly set \((?P<set>[\d.]+)/",
        P.MEMORY,
        "the KV cache",
    ),
    _mark(r"KV cache size: (?P<tokens>[\d,]+) tokens", P.MEMORY, "a KV cache for {tokens} tokens"),
    _mark(r"^KV Cache is allocated|^Memory profiling takes|^# \w+ blocks: \d", P.MEMORY, "the KV cache"),
    _mark(r"^Graph capturing started|^Capture cuda graph begin|^Capturing cudagraphs", P.CAPTURING, "graphs"),
    _mark(r"^Capturing model for (?:\S+ )?speculator", P.CAPTURING, "graphs of the draft"),
    _mark(r"^Graph capturing finished|^Capture cuda graph end", P.CAPTURING, "captured"),
    _mark(r"^init engine \(", P.OPENING, "the engine is up"),
    _mark(r"^Starting vLLM (?:API )?server", P.OPENING, "starting the web server"),
    _mark(r"^Waiting for application startup", P.OPENING, "starting the web server"),
    _mark(r"^Application startup complete|^The server is fired up and ready", P.READY, "the server is up"),
)

BARS: tuple[tuple[re.Pattern[str], StartPhase, str], ...] = (
    (re.compile(r"^Fetching \d+ files|\.(?:safetensors|bin|gguf|json)$|^Download", re.IGNORECASE), P.DOWNLOADING, ""),
    (re.compile(r"^(?:Multi-thread )?[Ll]oading .*(?:shards|safetensors)"), P.LOADING, "shard"),
    (re.compile(r"^(?:JIT kernel|DeepGEMM) warmup"), P.JIT, "kernel"),
    (re.compile(r"^Capturing"), P.CAPTURING, "graph"),
    (re.compile(r"^Compiling"), P.COMPILING, "graph"),
)
"""Name of a bar, its phase, and what one item of it is."""

CHECKPOINT_SIZE = re.compile(r"Checkpoint size: (?P<gib>[\d.]+) GiB")
QUIET_LEVELS = frozenset({"ERROR", "CRITICAL"})


def milestone(text: str, level: str = "") -> Milestone | None:
    """The milestone that the text of a log line marks; None for all other lines."""
    if level in QUIET_LEVELS:
        # A dump of a crash repeats the engine's configuration under the same words.
        return None
    return next((mark for mark in MILESTONES if mark.pattern.search(text)), None)
