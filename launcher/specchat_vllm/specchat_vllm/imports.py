"""Runs a patch once vLLM has imported the module that it changes. Imports nothing of vLLM itself."""

import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from specchat_vllm.fuse import FUSE

Patch = Callable[[Any], None]
"""Changes a module. Raises Unsupported if it lacks what is needed, before it has changed anything."""

_seen: set[str] = set()


class _AfterImport(MetaPathFinder):
    """Lets the other finders find a module, and patches it when it has run."""

    def __init__(self) -> None:
        self.waiting: dict[str, tuple[str, Patch]] = {}
        self._asking: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self.waiting or fullname in self._asking:
            return None
        self._asking.add(fullname)
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._asking.discard(fullname)
        if spec is None or spec.loader is None:
            return spec
        run = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            run(module)
            waiting = self.waiting.pop(fullname, None)
            if waiting is not None:  # a spec may be run a second time
                FUSE.try_patch(*waiting, module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


_finder = _AfterImport()


def after_import(name: str, part: str, patch: Patch) -> None:
    """Patch a module when it is imported, or now if it is; once in a process.

    Args:
        name: Of the module.
        part: What the patch is for, for the log.
        patch: Changes the module.
    """
    if name in _seen:
        return
    _seen.add(name)
    module = sys.modules.get(name)
    if module is not None and not getattr(getattr(module, "__spec__", None), "_initializing", False):
        FUSE.try_patch(part, patch, module)
        return
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    _finder.waiting[name] = (part, patch)
