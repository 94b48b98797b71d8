"""Whether two servers can be compared, and what of the comparison is not speculation. Knows what they said, no more."""

from urllib.parse import urlsplit

from specchat.core.comparison.plan import Plan
from specchat.core.errors import ConfigurationError
from specchat.core.harmless import one_line
from specchat.core.server import ServerInfo

_NO_TRUE_BASELINE = (
    "Off was switched by the hook in the same server, which has its draft loaded: that is no server without a draft,"
    " and the ratio may be larger than against one. A true baseline is a second server: --baseline-url."
)
SETTLE_SECONDS = 1.25
"""Rest before another server of the same machine is asked: the processes of a vLLM server look for work without a pause
for one second after their last message (`busy_loop_s` in vLLM's shm_broadcast), and the threads of OpenMP for 0.2 s."""
_SHARED_CACHE = (
    "What the first reply of a pair leaves in the server's prefix cache helps the second to its first token; the order"
    " alternates, and decode rates leave first tokens out."
)


def refuse_pair(on: ServerInfo, off: ServerInfo, *, model_was_named: bool, allow_speculating: bool) -> None:
    """Refuse two servers that it makes no sense to compare.

    Args:
        on: The speculating one.
        off: The baseline.
        model_was_named: Did the user say which of the baseline's models is the same, whatever its name?
        allow_speculating: May the baseline speculate too?

    Raises:
        ConfigurationError: If the baseline speculates or serves another model, with the reason.
    """
    if off.speculates and not allow_speculating:
        k = f", k = {off.draft_length}" if off.draft_length else ""
        raise ConfigurationError(
            f"The baseline at {off.url} speculates too (its /metrics counts drafts{k}), so it is no baseline.",
            "Start it without --speculative-config, or compare two ways of speculating with"
            " --allow-speculating-baseline.",
        )
    if on.url == off.url and on.model == off.model and not allow_speculating:
        raise ConfigurationError(
            f"Both addresses are the same server, {on.url}.",
            "Leave --baseline-url out to switch in that server by its hook, or measure the noise of the comparison with"
            " --allow-speculating-baseline.",
        )
    if not model_was_named and _last_part(on.model) != _last_part(off.model):
        raise ConfigurationError(
            f"The servers serve different models: {_shown(on.model)} at {on.url}, {_shown(off.model)} at {off.url}.",
            "Serve both under one name, or say that they are the same with --baseline-model NAME.",
        )


def share_a_machine(on: ServerInfo, off: ServerInfo) -> bool:
    """Are these two servers, and on one machine, as far as their addresses tell?"""
    return on.url != off.url and urlsplit(on.url).hostname == urlsplit(off.url).hostname


def notes_of_pair(on: ServerInfo, off: ServerInfo, plan: Plan) -> list[str]:
    """What a reader should know of two servers, a sentence each."""
    notes = []
    if on.speculates is False:
        notes.append(f"The server at {on.url} does not speculate, so neither side does.")
    elif on.speculates is None:
        notes.append(f"Whether the server at {on.url} speculates cannot be seen: it has no counters of drafts.")
    if off.speculates:
        notes.append(f"The baseline at {off.url} speculates too, as was allowed: two ways of speculating are compared.")
    elif off.speculates is None:
        notes.append(f"Whether the baseline at {off.url} speculates cannot be seen: it has no counters of drafts.")
    lengths = on.max_model_len, off.max_model_len
    if None not in lengths and lengths[0] != lengths[1]:
        notes.append(
            f"The servers have different maximum lengths, {lengths[0]} and {lengths[1]} tokens: what needs more than"
            f" {min(filter(None, lengths))} is refused by one of them, and its prompt is in no ratio."
        )
    if on.version != off.version and on.version and off.version:
        notes.append(f"The servers are of different versions, {_shown(on.version)} and {_shown(off.version)}.")
    if share_a_machine(on, off) and plan.together:
        notes.append(
            "Both servers are on one machine and were asked at the same time: each slows the other, so neither rate is"
            " what that server reaches alone."
        )
    elif share_a_machine(on, off):
        rest = f", with {plan.settle_s:g} s of rest in between" if plan.settle_s else ""
        notes.append(
            f"Both servers are on one machine and are never asked at the same time{rest}; what the idle one holds of"
            " memory is missing to the other all the same."
        )
    return [*notes, *_of_plan(plan)]


def notes_of_switch(server: ServerInfo, plan: Plan, meant: str) -> list[str]:
    """What a reader should know where both sides are one server, switched by its hook.

    Args:
        server: The one.
        plan: What is done.
        meant: What a trace showed of the switch; "" without one.
    """
    hook = server.hook
    notes = [_NO_TRUE_BASELINE]
    if meant:
        notes.append(f"In the warm-up, {one_line(meant, 500)}.")
    elif hook is not None and hook.off_draft_forwards:
        many = "one draft forward remains" if hook.off_draft_forwards == 1 else f"{hook.off_draft_forwards} remain"
        why = f" ({one_line(hook.off_why.rstrip('. '), 200)})" if hook.off_why else ""
        notes.append(f"The hook says that in a step that is off {many}{why}.")
    return [*notes, _SHARED_CACHE, *_of_plan(plan)]


def _of_plan(plan: Plan) -> list[str]:
    count, notes = plan.concurrency, []
    if plan.together:
        notes.append("Both sides of a pair were asked at the same time.")
    shared = f"{count} requests ran beside each other: decode rates are those of single replies, throughput is of all."
    return [*notes, shared] if count > 1 else notes


def _last_part(name: str | None) -> str:
    """A model's name without owner or folder, which servers are free to choose."""
    return (name or "").rstrip("/").rsplit("/", 1)[-1].lower()


def _shown(text: str | None) -> str:
    return one_line(text or "an unnamed one", 120)
