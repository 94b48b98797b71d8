"""The known signs in a server's log, with their cause and what to do: of models, arguments and the machine. Pure.

Owns the words of these diagnoses; those of graphics cards are in `symptoms_gpu`. Matches nothing itself.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from specchat_launcher.startup.findings import Severity


@dataclass(frozen=True, slots=True)
class Symptom:
    """One sign and its meaning.

    Attributes:
        cause: The name of the cause; several signs may share one.
        severity: How bad it is.
        pattern: What a line of the log holds, without the names of processes.
        title: What is wrong, as a sentence; may use the pattern's named groups, `port` and `phase`.
        remedy: What to do, alike.
        is_weak: Whether it counts only where nothing better is found, since it also follows from other causes.
        is_clipped: Whether the line is quoted only as far as the pattern goes.
        is_frame: Whether it is looked for in the frames of a traceback.
        defaults: Words for groups that the line does not fill.
    """

    cause: str
    severity: Severity
    pattern: re.Pattern[str]
    title: str
    remedy: str
    is_weak: bool = False
    is_clipped: bool = False
    is_frame: bool = False
    defaults: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


def fatal(
    cause: str,
    pattern: str,
    title: str,
    remedy: str,
    *,
    weak: bool = False,
    clipped: bool = False,
    frame: bool = False,
    **defaults: str,
) -> Symptom:
    """A sign that the server cannot start, or ended; see `Symptom` for the arguments."""
    return Symptom(cause, "fatal", re.compile(pattern), title, remedy, weak, clipped, frame, MappingProxyType(defaults))


def noted(cause: str, severity: Severity, pattern: str, title: str, remedy: str) -> Symptom:
    """A sign that a server lives with."""
    return Symptom(cause, severity, re.compile(pattern), title, remedy)


ARGUMENTS: tuple[Symptom, ...] = (
    fatal(
        "bad-argument",
        r"error: argument (?P<flag>--[\w-]+)[^:]*: Value (?P<value>.*\\[\"{].*) cannot be converted",
        "The value of {flag} is not valid JSON: its quotes were escaped twice.",
        "Give it as JSON in one pair of single quotes; in a profile write it as a table. The server received: {value}",
    ),
    fatal(
        "bad-argument",
        r"error: argument (?P<flag>--[\w-]+)[^:]*: (?P<reason>.+)",
        "The server does not accept the value of {flag}: {reason}",
        "Change it in the profile or with --set arguments.NAME=VALUE; false leaves it out.",
    ),
    fatal(
        "bad-argument",
        r"error: unrecognized arguments: (?P<flags>.+)",
        "This version of the server does not know {flags}.",
        "Leave it out with --set arguments.NAME=false, or take a version that has it.",
    ),
    fatal(
        "bad-argument",
        r"invalid (?P<what>tool call|reasoning) parser: (?P<value>\S+) \(chose from ",
        "This version of the server has no {what} parser {value}.",
        "Choose one of those that the line below lists, or take a newer version.",
    ),
    fatal(
        "bad-argument",
        r"Unknown attention backend: '(?P<value>[^']+)'\. Valid options are: ",
        "This version of the server has no attention backend {value}.",
        "Choose one of those that the line below lists.",
    ),
    fatal(
        "max-model-len-too-long",
        r"User-specified max_model_len \((?P<asked>\d+)\) is greater than the derived max_model_len "
        r"\(.*?=(?P<most>\d+)",
        "The model takes at most {most} tokens, and {asked} were asked for.",
        "Set --max-model-len to {most} or less: --set arguments.max-model-len={most}.",
        clipped=True,
    ),
    fatal(
        "too-few-gpus",
        r"World size \((?P<asked>\d+)\) is larger than the number of available GPUs \((?P<found>\d+)\)",
        "The profile wants {asked} GPUs and the server sees {found}.",
        "Lower --tensor-parallel-size, or check HIP_VISIBLE_DEVICES and the devices that the container was given.",
    ),
    fatal(
        "tensor-parallel-does-not-divide",
        r"attention heads \((?P<heads>\d+)\) must be divisible by tensor parallel size \((?P<size>\d+)\)",
        "The model's {heads} attention heads cannot be spread over {size} GPUs.",
        "Set --tensor-parallel-size to a number that divides {heads}.",
    ),
    fatal(
        "port-in-use",
        r"(?i)address already in use",
        "{port} is taken by another program.",
        "Attach to the server that runs there (`specchat servers` shows it), or choose another port: --port NUMBER.",
        port="The port",
    ),
    fatal(
        "file-missing",
        r"chat template string \((?P<path>[^)]+)\) appears path-like, but doesn't exist",
        "The chat template {path} does not exist.",
        "Correct the path, or leave --chat-template out.",
        clipped=True,
    ),
)

MODELS: tuple[Symptom, ...] = (
    fatal(
        "hf-gated",
        r"GatedRepoError|Cannot access gated repo|You are trying to access a gated repo",
        "The model's repository is gated, and no token with access to it was given.",
        "Accept the licence on the model's page and set HF_TOKEN; or give the local folder if the weights are there.",
    ),
    fatal(
        "model-not-found",
        r"Invalid repository ID or local directory specified: '(?P<path>[^']*)'|(?P<repo>\S+) is not a local folder "
        r"and is not a valid model identifier|RepositoryNotFoundError|"
        r"HFValidationError: Repo id must .*?: '(?P<other>[^']+)'",
        "The model {path}{repo}{other} is neither a local folder with a config.json nor a repository of the hub.",
        "Check the spelling and the folder; a private repository needs HF_TOKEN as well.",
        path="",
        repo="",
        other="",
    ),
    fatal(
        "hub-unreachable",
        r"Max retries exceeded with url|Temporary failure in name resolution|Name or service not known|"
        r"couldn't connect to 'https://huggingface|LocalEntryNotFoundError|OfflineModeIsEnabled|"
        r"Cannot reach https?://huggingface",
        "The model hub cannot be reached.",
        "Give the model's local folder, or set HF_HUB_OFFLINE=1 if its files were downloaded before.",
        weak=True,
    ),
    fatal(
        "tokenizer-unknown",
        r"Tokenizer class (?P<name>\w+) does not exist or is not currently imported",
        "The model was saved with a newer transformers than this server has: it does not know {name}.",
        "Take a newer version of the server, or give the tokenizer of the base model with --tokenizer.",
    ),
    fatal(
        "tokenizer-missing",
        r"Couldn't instantiate the backend tokenizer|Can't load tokenizer for '(?P<path>[^']+)'",
        "The model {path} has no tokenizer that this server can read.",
        "Download the model again with its tokenizer files, or give the tokenizer of the base model with --tokenizer.",
        path="",
    ),
    fatal(
        "model-unknown",
        r"Model architectures \[(?P<name>[^\]]+)\] (?:are not supported|failed to be inspected)|"
        r"model type `(?P<type>[^`]+)` but Transformers does not recognize",
        "This version of the server does not know the model's architecture {name}{type}.",
        "Take a newer version of the server.",
        clipped=True,
        name="",
        type="",
    ),
    fatal(
        "remote-code-refused",
        r"contains custom code which must be executed|set the option `?trust_remote_code=True",
        "The model brings code of its own, which the server does not run unasked.",
        "If you trust its author, add --trust-remote-code: --set arguments.trust-remote-code=true.",
    ),
    fatal(
        "weights-incomplete",
        r"Following weights were not initialized from checkpoint: (?P<names>\{.{0,200})",
        "Every file was loaded, and the checkpoint still lacks weights: {names}",
        "Download it again, since half a download looks like this, or check that it is meant for this model class.",
    ),
    fatal(
        "weights-incomplete",
        r"SafetensorError|HeaderTooLarge|[Ii]ncomplete metadata, file not fully covered",
        "A weight file is damaged or was not downloaded whole.",
        "Delete the file and download it again.",
    ),
    fatal(
        "weights-missing",
        r"Cannot find any model weights with `(?P<path>[^`]+)`",
        "There are no weights in {path}.",
        "Download the model again, or give the folder that holds its .safetensors files.",
    ),
)

MACHINE: tuple[Symptom, ...] = (
    fatal(
        "out-of-memory",
        r"(?:^|\.)MemoryError\b|DefaultCPUAllocator: .*(?:not enough|can't allocate) memory|"
        r"\[Errno 12\] Cannot allocate",
        "The computer's memory is used up.",
        "Close other programs, or lower --max-model-len and --max-num-seqs.",
    ),
    fatal(
        "disk-full",
        r"\[Errno 28\]|No space left on device",
        "There is no space left on a disk, or in /dev/shm.",
        "Free some (`df -h` shows where); in a container without --ipc=host give it --shm-size=16g.",
    ),
    fatal(
        "too-many-files",
        r"\[Errno 24\] Too many open files",
        "The server may not open as many files as it needs.",
        "Raise the limit before the start: ulimit -n 65535.",
    ),
    fatal(
        "no-permission",
        r"PermissionError: \[Errno 13\] Permission denied: '?(?P<path>[^']+)'?",
        "The server may not read or write {path}.",
        "Give yourself access to it, or choose another folder for the cache.",
    ),
    fatal(
        "wrong-wheel",
        r"libcud(?:art|a)[\w.]*\.so[\w.]*: cannot open shared object file|libnvidia-ml",
        "This vLLM was built for NVIDIA, and there is no CUDA here.",
        "Install the ROCm wheel: Python 3.12, glibc 2.35 or newer, and vLLM's own ROCm index.",
    ),
    fatal(
        "engine-damaged",
        r"ModuleNotFoundError: No module named '?(?P<name>[\w.]+)'?|No module named (?P<module>[\w.]+)$|"
        r"error while loading shared libraries: (?P<library>\S+?):|ImportError: (?P<what>.+)",
        "The server's Python environment lacks something: {name}{module}{library}{what}.",
        "Install it again; for the CPU engine: `specchat engine remove VERSION`, then start again.",
        weak=True,
        name="",
        module="",
        library="",
        what="",
    ),
    fatal(
        "container-daemon",
        r"Cannot connect to the Docker daemon|Is the docker daemon running|unable to connect to Podman socket",
        "The container service does not answer.",
        "Start it: sudo systemctl start docker.",
    ),
    fatal(
        "container-permission",
        r"permission denied while trying to connect to the [Dd]ocker",
        "You may not use Docker.",
        "Join its group and log in again: sudo usermod -aG docker $USER; or use Podman.",
    ),
    fatal(
        "image-not-found",
        r"manifest (?:unknown|for \S+ not found)|pull access denied|repository does not exist",
        "The container image does not exist, or you may not pull it.",
        "Check the name and the tag of the image in the profile.",
    ),
    fatal(
        "container-name-taken",
        r"Conflict\. The container name \"?/?(?P<name>[\w.-]+)\"?|"
        r"container name \"?(?P<other>[\w.-]+)\"? is already in",
        "There is a container {name}{other} already, left by an earlier start.",
        "Remove it: docker rm -f {name}{other}.",
        name="",
        other="",
    ),
    fatal(
        "file-missing",
        r"FileNotFoundError: \[Errno 2\] No such file or directory: '(?P<path>[^']+)'|"
        r"can't open file '(?P<script>[^']+)'",
        "A file is missing: {path}{script}.",
        "Check the paths in the profile.",
        weak=True,
        path="",
        script="",
    ),
)

GENERAL_SYMPTOMS = ARGUMENTS + MODELS + MACHINE
