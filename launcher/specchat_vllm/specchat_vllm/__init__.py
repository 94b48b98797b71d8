"""Loaded into vLLM's processes by its public entry points: tells what the draft proposed, switches it per request.

vLLM calls `register` in every one of its processes, and on every call of its command line, so this imports nothing
heavy: each part waits until vLLM itself imports the module it belongs to. A part that does not find what it needs is
left out with one log line; vLLM then serves as if it were not there.
"""

from specchat_vllm.imports import after_import

VERSION = "1.0"
PROTOCOL = 1


def register() -> None:
    """VLLM's `vllm.general_plugins` entry point; may be called any number of times."""
    from specchat_vllm import engine, front, old_server, scheduler, worker_v1, worker_v2

    after_import("vllm.v1.core.sched.scheduler", "the scheduler", scheduler.patch)
    after_import("vllm.v1.engine.core", "the engine's status", engine.patch_core)
    after_import("vllm.v1.worker.worker_base", "the worker's status", engine.patch_worker)
    after_import("vllm.v1.worker.gpu_model_runner", "model runner V1", worker_v1.patch)
    after_import("vllm.v1.worker.gpu.async_utils", "model runner V2's output", worker_v2.patch_output)
    after_import("vllm.v1.worker.gpu.model_runner", "model runner V2", worker_v2.patch_runner)
    after_import("vllm.v1.engine.output_processor", "the front end", front.patch)
    after_import("vllm.entrypoints.serve", "the routes", old_server.patch)
