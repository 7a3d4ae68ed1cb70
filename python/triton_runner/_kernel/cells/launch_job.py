"""Launches a compiled kernel once, in a worker, and answers what its arrays hold after it.

A request: text, level, metadata, target, arguments (of _kernel.cells.arguments), grid; gpu: the content is a
binary, which is launched and timed on this machine's GPU; counts: it is machine code, which the CPU counts.
The answer: outputs, [dtype, shape, bytes] of each array, in order; trap; or unrun, why it cannot be launched;
milliseconds, on a GPU; counts, the sums of what was executed by name."""

import contextlib


def run(request, note=lambda stage: None):
    # The package's driver is Triton's from here on.
    from triton_runner import _core, _settings
    from triton_runner._artifact.loading import load
    from triton_runner._base.errors import DiagnosticError, KernelTrap
    from triton_runner._kernel.cells import arguments
    from triton_runner._memory.arguments import packed

    note("launch")
    values = [arguments.decoded(value) for value in request["arguments"]]
    grid = tuple(request["grid"])
    if request.get("gpu"):
        return _on_gpu(request, values, grid)
    observer = _core.probe.CountObserver() if request.get("counts") else None
    try:
        with file_of(request) as path:
            kernel = load(path, request["metadata"], "cpu", target=request["target"])
            with _settings.using(recorder=observer):
                kernel[grid](*values)
    except KernelTrap as trap:
        return {"trap": str(trap)}
    except DiagnosticError as error:
        return {"unrun": str(error)}
    if observer is not None:
        sums = observer.instructions.sum(0)
        return {"counts": {row[0]: int(n) for row, n in zip(_core.probe.COUNTS, sums, strict=True)}}
    return {"outputs": [packed(value) for value in values if hasattr(value, "tobytes") and value.shape]}


def file_of(request):
    """A context manager: the path of a file with a binary, or the text itself."""
    from triton_runner._base.paths import in_a_file  # with the package, as in run()

    text = request["text"]
    is_text = isinstance(text, str)
    return contextlib.nullcontext(text) if is_text else in_a_file(text, "kernel." + request["level"])


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

    with file_of(request) as path:
        kernel = load(path, request["metadata"])
    tensors = [on_device(value) for value in values]
    return {"milliseconds": testing.do_bench(lambda: kernel[grid](*tensors), return_mode="median")}
