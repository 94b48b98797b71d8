"""What fails is switched off for good, and said once."""

import logging
from types import SimpleNamespace

import pytest

from specchat_vllm.fuse import Fuse, Unsupported, guarded, need, need_parameters


def fail(*_: object) -> None:
    raise ValueError("boom")


def test_a_patch_that_works_is_noted() -> None:
    fuse, module = Fuse(), SimpleNamespace(value=1)
    fuse.try_patch("a part", lambda found: setattr(found, "value", 2), module)
    assert module.value == 2
    assert fuse.patched == {"a part"}
    assert not fuse.problems


def test_a_patch_that_fails_leaves_its_part_out_with_one_line(caplog: pytest.LogCaptureFixture) -> None:
    fuse = Fuse()
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            fuse.try_patch("a part", fail, None)
    assert not fuse.is_whole("a part")
    assert fuse.is_whole("another part")
    assert fuse.problems == ["a part: ValueError: boom"]
    assert [record.getMessage() for record in caplog.records] == [
        "specchat: the hook is off in a part: ValueError: boom; vLLM serves on without it"
    ]


def test_what_blows_later_is_no_longer_among_the_parts_that_work() -> None:
    fuse = Fuse()
    fuse.try_patch("a part", lambda _: None, None)
    fuse.blow("a part", Unsupported("gone"))
    assert not fuse.patched
    assert fuse.problems == ["a part: gone"]


def test_guarded_work_runs_until_it_fails_once(fresh_fuse: Fuse) -> None:
    assert guarded("a part", lambda value: value + 1, 1) == 2
    assert guarded("a part", fail) is None
    assert guarded("a part", lambda: "not run any more") is None
    assert fresh_fuse.problems == ["a part: ValueError: boom"]


class Owner:
    def method(self, wanted: int) -> int:
        return wanted


def test_what_is_needed_and_there_passes() -> None:
    need(Owner, "method")
    need_parameters(Owner.method, "wanted")


def test_what_is_needed_and_missing_is_named() -> None:
    with pytest.raises(Unsupported, match=r"this vLLM has no Owner\.other"):
        need(Owner, "method", "other")
    with pytest.raises(Unsupported, match=r"this vLLM's Owner\.method takes no missing"):
        need_parameters(Owner.method, "wanted", "missing")
