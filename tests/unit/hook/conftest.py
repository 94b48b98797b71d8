"""Each test has a fuse and traces of its own, and vLLM's modules as far as the hook imports them."""

import sys
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

import fake_vllm
from specchat_vllm import front, fuse, routes
from specchat_vllm.hub import Hub


@pytest.fixture(autouse=True)
def fresh_fuse() -> Iterator[fuse.Fuse]:
    """What earlier tests have blown is whole again."""
    shared, kept = fuse.FUSE, dict(fuse.FUSE.__dict__)
    shared.__dict__.update(fuse.Fuse().__dict__)
    yield shared
    shared.__dict__.update(kept)


@pytest.fixture(autouse=True)
def vllm_modules() -> Iterator[None]:
    """What the hook imports of vLLM and torch."""
    before = dict(sys.modules)
    fake_vllm.install("vllm", __version__="0.32.0")
    fake_vllm.install("vllm.v1.engine", EngineCoreOutput=fake_vllm.Output("", []))
    group = SimpleNamespace(rank_in_group=0)
    fake_vllm.install("vllm.distributed.parallel_state", get_tp_group=lambda: group, group=group)
    fake_vllm.install("torch", cuda=SimpleNamespace(stream=fake_vllm.stream))
    yield
    for name in set(sys.modules) - set(before):
        if name.partition(".")[0] in {"vllm", "torch", "fastapi"}:
            del sys.modules[name]


class Clock:
    """Monotonic seconds that a test sets."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def hub(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Hub:
    """The traces of this process, with a route by which they can be read."""
    new = Hub(clock)
    new.open = True
    monkeypatch.setattr(front, "HUB", new)
    monkeypatch.setattr(routes, "HUB", new)
    return new
