"""Launches in the ways that are Triton's own, and those of whichever package is called triton_runner.

Only Triton and torch are used, so that another interpreter runs this file too (peer.py)."""

import hashlib

_LEVELS = ("cubin", "hsaco", "ptx", "ttgir", "ttir")  # the last that was compiled is what runs


def describe(compiled) -> str:
    """Says what runs, with the digest of its code: "empty_19.cubin 1a2b3c4d, cuda:90"."""
    levels = [name for name in _LEVELS if dict.__contains__(compiled.asm, name)]
    metadata = compiled.metadata
    level = getattr(metadata, "triton_runner_level", None) or levels[0]
    code = compiled.asm[level]
    digest = hashlib.sha256(code if isinstance(code, bytes) else code.encode()).hexdigest()[:8]
    target = getattr(metadata, "target", None)
    where = f", {target.backend}:{target.arch}" if hasattr(target, "backend") else ""
    return f"{compiled.name}.{level} {digest}{where}"


def jit(problem, kernel=None):
    """(a call, what it launches) of kernel[grid](...)."""
    kernel, grid, args, keywords = kernel or problem.kernel, problem.grid, problem.args, problem.keywords
    compiled = kernel[grid](*args, **keywords)
    return (lambda: kernel[grid](*args, **keywords)), describe(compiled)


def compiled_run(problem, stream: int):
    """(a call, what it launches) of CompiledKernel.run, Triton's launcher without its front end."""
    import triton

    compiled = problem.kernel[problem.grid](*problem.args, **problem.keywords)
    grid = (*problem.grid, 1, 1)[:3]
    function, run, values = compiled.function, compiled.run, problem.all_values
    packed = getattr(compiled, "packed_metadata", None) or getattr(compiled, "metadata", None)
    if tuple(int(part) for part in triton.__version__.split(".")[:2]) < (3, 3):
        values = problem.args  # the launcher was made for what is passed
    return (lambda: run(*grid, stream, function, packed, None, None, None, *values)), describe(
        compiled
    ) + " by its launcher"


def runner_jit(problem):
    """(a call, what it launches) of triton_runner.jit, this project's or the original's."""
    import triton_runner

    return jit(problem, triton_runner.jit(problem.kernel.fn))
