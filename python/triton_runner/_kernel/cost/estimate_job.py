"""Estimates in a worker how long one launch of machine code takes on a chip, by the replay of an SM.

A request: text, level "cubin", metadata, target, arguments (of cells.arguments), grid; chip. The answer:
estimate, an Estimate; or unrun, why there is none."""


def run(request, note=lambda stage: None):
    # The package's driver is Triton's from here on.
    from triton_runner import _settings
    from triton_runner._artifact.loading import load
    from triton_runner._base.errors import DiagnosticError, KernelTrap
    from triton_runner._base.typed import as_json
    from triton_runner._kernel.cells import arguments
    from triton_runner._kernel.cells.launch_job import file_of
    from triton_runner._kernel.cost.replay import estimate
    from triton_runner._kernel.lockstep.subject import launch_of, shaped

    note("estimate")
    values = [arguments.decoded(value) for value in request["arguments"]]
    try:
        with file_of(request) as path, _settings.using(device="cpu", target=request["target"]):
            kernel = load(path, request["metadata"], "cpu", target=request["target"])
            launch = shaped(launch_of(kernel, values, {}, tuple(request["grid"])), kernel)
            return {"estimate": as_json(estimate(launch, chip=request["chip"]))}
    except (DiagnosticError, KernelTrap) as error:
        return {"unrun": str(error)}
