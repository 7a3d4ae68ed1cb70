"""One launch of a compiled kernel by a worker: what its arrays hold behind it.

A request: text, level, metadata, target, arguments (of _compare.arguments), grid; gpu: the content is a
binary, which is launched and timed on this machine's GPU. The answer: outputs, [dtype, shape, bytes] of each
array, in order; trap; or unrun, why it cannot be launched; milliseconds, on a GPU.
"""

import os
import tempfile


def run(request, note=lambda stage: None):
    # The package's driver is Triton's from here on.
    from triton_runner._artifact.loading import load
    from triton_runner._base.errors import DiagnosticError, KernelTrap
    from triton_runner._compare import arguments
    from triton_runner._memory.arguments import packed

    note("launch")
    values = [arguments.decoded(value) for value in request["arguments"]]
    grid = tuple(request["grid"])
    if request.get("gpu"):
        return _on_gpu(request, values, grid)
    try:
        load(request["text"], request["metadata"], "cpu", target=request["target"])[grid](*values)
    except KernelTrap as trap:
        return {"trap": str(trap)}
    except DiagnosticError as error:
        return {"unrun": str(error)}
    return {"outputs": [packed(value) for value in values if hasattr(value, "tobytes") and value.shape]}


def _on_gpu(request, values, grid):
    """The time of a launch between CUDA events, as triton.testing.do_bench takes it."""
    import torch

    # A launch on the CPU does without them.
    from triton_runner import testing
    from triton_runner._artifact.loading import load

    def on_device(value):
        if not getattr(value, "shape", ()):
            return value
        flat = torch.from_numpy(value.reshape(-1).view("uint8")).cuda()
        return flat.view(getattr(torch, str(value.dtype))).reshape(value.shape)

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "kernel." + request["level"])
        with open(path, "wb") as file:
            file.write(request["text"])
        kernel = load(path, request["metadata"])
    tensors = [on_device(value) for value in values]
    return {"milliseconds": testing.do_bench(lambda: kernel[grid](*tensors), return_mode="median")}
