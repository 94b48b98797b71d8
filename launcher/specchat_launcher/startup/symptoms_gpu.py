"""The known signs in a server's log that have to do with graphics cards and speculation, and what to do. Pure.

Owns the words of these diagnoses. Most come from reports of MI300X and MI355X machines, none was run on one here.
"""

from specchat_launcher.startup.symptoms import Symptom, fatal, noted

SPECULATION: tuple[Symptom, ...] = (
    fatal(
        "target-without-eagle3-support",
        r"Model does not support EAGLE3 interface",
        "The target model of this version of vLLM cannot work with an EAGLE-3 draft on this hardware.",
        "Take a newer version or image, for MiniMax M3 on AMD 0.24 or later; or start the profile without speculation.",
    ),
    fatal(
        "draft-attention-backend",
        r"FlashAttention version not detected",
        "The draft model was given FlashAttention, which vLLM does not have on ROCm.",
        'Put "attention_backend": "TRITON_ATTN" into the speculative config.',
    ),
    fatal(
        "attention-backend-unfit",
        r"Unsupported attention metadata type for speculative decoding with num_speculative_tokens > 1",
        "This attention backend can check only one proposal a step.",
        "Set --attention-backend TRITON_ATTN for the target, and TRITON_ATTN for the draft as well.",
    ),
    fatal(
        "no-common-block-size",
        r"No common block size for 16\b",
        "The KV cache has blocks of 16 tokens, and this model's attention needs 128.",
        "Add --block-size 128.",
    ),
    fatal(
        "no-common-block-size",
        r"No common block size for (?P<size>\d+)",
        "No attention backend in use takes KV-cache blocks of {size} tokens.",
        "ROCM_AITER_FA takes 16 or 32 only: choose TRITON_ATTN for the target and for the draft.",
    ),
    fatal(
        "draft-schedule-crash",
        r"File .* in make_dummy",
        "This version of vLLM cannot capture graphs for a schedule of draft lengths.",
        "Leave num_speculative_tokens_per_batch_size out, or take 0.32 or later.",
        frame=True,
    ),
)

MOE: tuple[Symptom, ...] = (
    fatal(
        "moe-backend-unfit",
        r"(?P<kind>\w+) MoE backend '(?P<name>[\w ]+)' does not support the deployment configuration"
        r"(?: since (?P<reason>.+?))?\.?$",
        "The MoE backend {name} cannot run this model here: {reason}",
        "Leave --moe-backend out, or choose another; on an MI355X: aiter, with VLLM_ROCM_USE_AITER=1.",
        reason="it gives no reason.",
    ),
    fatal(
        "kernel-missing",
        r"does not support this GEMM problem",
        "AITER has no kernel for a matrix shape of this model.",
        "Set VLLM_ROCM_USE_AITER_MOE=0, or take an image with a newer AITER.",
    ),
    fatal(
        "aiter-build-failed",
        r"failed jit build \[(?P<module>[\w.-]+)\]",
        "AITER could not compile its module {module}.",
        "Look at the compiler's lines above it in the log; without AITER: VLLM_ROCM_USE_AITER=0.",
    ),
)

MEMORY: tuple[Symptom, ...] = (
    fatal(
        "gpu-memory-taken",
        r"Free memory on device (?P<device>\S*) ?\((?P<free>[\d.]+)/(?P<total>[\d.]+) GiB\) on startup is less than "
        r".*?\((?P<share>[\d.]+), (?P<need>[\d.]+) GiB\)",
        "Only {free} of {total} GiB are free on {device}, and the server was told to take {need} GiB.",
        "`specchat doctor PROFILE` shows who holds the memory; or lower --gpu-memory-utilization below {share}.",
        device="the GPU",
    ),
    fatal(
        "gpu-memory-taken",
        r"Free memory on device .* on startup is less than",
        "Too little memory is free on a GPU.",
        "`specchat doctor PROFILE` shows who holds it; or lower --gpu-memory-utilization.",
    ),
    fatal(
        "kv-cache-too-small",
        r"max seq len \((?P<asked>\d+)\).*?\((?P<need>[\d.]+) GiB KV cache is needed.*?KV cache memory "
        r"\((?P<free>[\d.]+) GiB\).*estimated maximum model length is (?P<length>\d+)",
        "The KV cache has room for {length} tokens of one request, and {asked} were asked for.",
        "Set --max-model-len {length} (--set arguments.max-model-len={length}); or give the server more memory, or "
        "use --kv-cache-dtype fp8.",
    ),
    fatal(
        "kv-cache-too-small",
        r"max seq len \((?P<asked>\d+)\).*?\((?P<need>[\d.]+) GiB KV cache is needed.*?KV cache memory "
        r"\((?P<free>[\d.]+) GiB\)",
        "One request of {asked} tokens needs {need} GiB of KV cache, and {free} GiB are there.",
        "Lower --max-model-len, raise --gpu-memory-utilization, or use --kv-cache-dtype fp8.",
    ),
    fatal(
        "kv-cache-too-small",
        r"max seq len \((?P<asked>\d+)\) is larger than the maximum number of tokens that can be stored in KV cache "
        r"\((?P<length>\d+)\)",
        "The KV cache has room for {length} tokens of one request, and {asked} were asked for.",
        "Set --max-model-len {length} (--set arguments.max-model-len={length}); or give the server more memory.",
    ),
    fatal(
        "kv-cache-too-small",
        r"No available memory for the cache blocks",
        "The weights leave no memory for the KV cache.",
        "Raise --gpu-memory-utilization, spread the model over more GPUs, or use --kv-cache-dtype fp8.",
    ),
    fatal(
        "gpu-out-of-memory",
        r"(?:HIP|CUDA) out of memory\. Tried to allocate (?P<size>[\d.]+ \w+)\..*? and (?P<idle>[1-9][\d.]* GiB) is "
        r"reserved by PyTorch but unallocated",
        "A GPU ran out of memory while {size} were asked for; {idle} are reserved in pieces that are too small.",
        "Set PYTORCH_ALLOC_CONF=expandable_segments:True, or lower --gpu-memory-utilization.",
    ),
    fatal(
        "gpu-out-of-memory",
        r"(?:HIP|CUDA) out of memory\. Tried to allocate (?P<size>[\d.]+ \w+)"
        r"(?:.*? of which (?P<free>[\d.]+ \w+) is free)?(?:.*?unallocated\.)?",
        "A GPU ran out of memory while {size} were asked for; {free} were free.",
        "Lower --gpu-memory-utilization (0.85 is common) or --max-num-batched-tokens, or spread the model over more "
        "GPUs.",
        clipped=True,
        free="less",
    ),
    fatal(
        "gpu-out-of-memory",
        r"OutOfMemoryError|hipErrorOutOfMemory|Failed to load model - not enough GPU memory",
        "A GPU ran out of memory.",
        "Lower --gpu-memory-utilization or --max-num-batched-tokens, or spread the model over more GPUs.",
        clipped=True,
    ),
)

DEVICES: tuple[Symptom, ...] = (
    fatal(
        "gpu-memory-fault",
        r"Memory access fault by GPU (?P<node>node-\d+)",
        "GPU {node} hit a memory fault in the phase {phase}; the process was ended by the driver.",
        "Try --enforce-eager, another attention backend, or VLLM_ROCM_USE_AITER=0; for a report add `sudo dmesg`.",
    ),
    fatal(
        "gpu-memory-fault",
        r"hipErrorLaunchFailure|hipErrorIllegalAddress|an illegal memory access was encountered",
        "A program on a GPU failed in the phase {phase}; the stack trace need not show where.",
        "Try --enforce-eager, another attention backend, or VLLM_ROCM_USE_AITER=0; AMD_SERIALIZE_KERNEL=3 names the "
        "kernel.",
    ),
    fatal(
        "gpu-arch-unsupported",
        r"One of GPU archs of \['?(?P<arch>[\w', ]+?)'?\] is invalid or not supported",
        "AITER does not support {arch}.",
        "Start without it: VLLM_ROCM_USE_AITER=0.",
    ),
    fatal(
        "image-without-this-gpu",
        r"no kernel image is available for execution|hipErrorNoBinaryForGpu",
        "This build of the server has no program for this GPU's architecture; the stack trace below it is not to be "
        "trusted.",
        "Take an image or a wheel that was built for it (an MI355X is gfx950 and needs ROCm 7 or later).",
    ),
    fatal(
        "kfd-permission",
        r"Unable to open /dev/kfd read-write: Permission denied",
        "You may not use the GPUs: /dev/kfd is closed to you.",
        "Join the groups and log in again: sudo usermod -aG render,video $USER; in a container give --group-add the "
        "number of the render group.",
    ),
    fatal(
        "kfd-missing",
        r"Unable to open /dev/kfd read-write: No such file|custom device \"/dev/kfd\": no such file",
        "There is no /dev/kfd here: the amdgpu driver is not loaded, or the container was not given it.",
        "Load the driver (sudo modprobe amdgpu), or start the container with --device /dev/kfd --device /dev/dri.",
    ),
    fatal(
        "kfd-unusable",
        r"Unable to open /dev/kfd read-write: (?P<reason>.+)",
        "/dev/kfd is there and cannot be opened ({reason}): the driver and this container or virtual machine do not "
        "fit together.",
        "Compare the driver's version with the ROCm of the image, and check namespaces, cgroups and pass-through of "
        "the devices.",
    ),
    fatal(
        "no-gpu",
        r"No (?:HIP|CUDA) GPUs are available|Failed to infer device type|no ROCm-capable device is detected",
        "The server sees no GPU.",
        "`specchat doctor PROFILE` says why; check HIP_VISIBLE_DEVICES and the devices of the container.",
        weak=True,
    ),
    fatal(
        "gpu-error",
        r"(?:HIP|CUDA) error: (?P<what>.+)",
        "A GPU reported an error in the phase {phase}: {what}.",
        "The stack trace need not show where. Try --enforce-eager or another attention backend; for a report add "
        "`sudo dmesg`.",
        weak=True,
    ),
    fatal(
        "collective-timeout",
        r"Watchdog caught collective operation timeout: WorkNCCL\(SeqNum=1, OpType=(?P<operation>\w+)",
        "The GPUs could not talk to each other: the very first {operation} never ended (RCCL, which logs as NCCL).",
        "Check the links between the GPUs, IOMMU and ACS settings; NCCL_DEBUG=INFO shows where it waits.",
    ),
    fatal(
        "collective-timeout",
        r"Watchdog caught collective operation timeout",
        "One GPU waited for another in vain (RCCL, which logs as NCCL).",
        "Look for an earlier failure of one worker in the log; NCCL_DEBUG=INFO shows who is missing.",
    ),
    fatal(
        "collective-failed",
        r"ncclSystemError|ncclUnhandledCudaError|ncclInternalError|NCCL error in:",
        "The GPUs could not be connected to each other (RCCL, which logs as NCCL).",
        "NCCL_DEBUG=INFO shows why; in a container it needs --ipc=host or --shm-size=16g.",
        weak=True,
    ),
)

TIME: tuple[Symptom, ...] = (
    fatal(
        "engine-start-timeout",
        r"Timed out waiting for engine core processes to start.*?Waited (?P<waited>\d+)s",
        "vLLM gave up waiting for its own engine after {waited} seconds; a first start compiles for longer.",
        "Set VLLM_ENGINE_READY_TIMEOUT_S=3600.",
    ),
    fatal(
        "engine-start-timeout",
        r"Timed out waiting for engine core processes to start",
        "vLLM gave up waiting for its own engine; a first start compiles for longer.",
        "Set VLLM_ENGINE_READY_TIMEOUT_S=3600.",
    ),
    fatal(
        "engine-call-timeout",
        r"RPC call to (?P<method>\w+) timed out",
        "A worker did not answer the call {method} in time.",
        "Set VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=1800; kernels that are compiled in the middle take that long.",
    ),
    fatal(
        "worker-killed",
        r"(?:Worker proc|Engine core proc) (?P<name>\S+) died unexpectedly \(exit code: -9\)|"
        r"Failed core proc\(s\): \{'(?P<core>[\w-]+)': -9\b",
        "The process {name}{core} was killed (signal 9), most likely because the computer's memory ran out.",
        "`sudo dmesg | grep -i oom` shows whether it was that; then close other programs or load less at once.",
        weak=True,
        name="",
        core="",
    ),
)

NOTES: tuple[Symptom, ...] = (
    noted(
        "slow-moe-backend",
        "warning",
        r"Using '?(?P<name>EMULATION|TRITON_UNFUSED)'? Mxfp4 MoE backend",
        "The experts run on {name}, a slow stand-in.",
        "Set --moe-backend aiter and VLLM_ROCM_USE_AITER=1; AITER_MXFP4_MXFP4 is what an MI355X should show.",
    ),
    noted(
        "graphs-cut-by-schedule",
        "warning",
        r"Dynamic speculative decoding changes the target verification length at runtime\. Overriding cudagraph_mode",
        "The schedule of draft lengths costs this version its full graphs, and with them speed.",
        "Leave num_speculative_tokens_per_batch_size out unless you need it.",
    ),
    noted(
        "kernel-not-tuned",
        "warning",
        r"\[aiter\] Fmoe tuning not support for",
        "AITER has no tuned kernel for a shape of this model and takes a slower one.",
        "Take an image with a newer AITER, or compare with VLLM_ROCM_USE_AITER_MOE=0.",
    ),
    noted(
        "unsupported-blas",
        "warning",
        r"Attempting to use hipBLASLt on an unsupported architecture",
        "The matrix library was built without this GPU's architecture.",
        "Take an image whose ROCm supports it.",
    ),
    noted(
        "uncalibrated-kv-scales",
        "info",
        r"Using uncalibrated q_scale",
        "The KV cache is kept in 8 bits without calibrated scales; answers may suffer a little.",
        "Leave --kv-cache-dtype out if exactness matters more than room.",
    ),
    noted(
        "numa-balancing",
        "info",
        r"NUMA balancing is enabled",
        "The system moves memory between processors on its own, which slows GPUs down.",
        "Switch it off: sudo sh -c 'echo 0 > /proc/sys/kernel/numa_balancing'.",
    ),
    noted(
        "sampling-limits",
        "info",
        r"min_p and logit_bias parameters won't work with speculative decoding",
        "min_p and logit_bias have no effect while this server speculates.",
        "",
    ),
)

GPU_SYMPTOMS = SPECULATION + MOE + MEMORY + DEVICES + TIME
