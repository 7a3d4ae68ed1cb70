"""triton_runner.compile with this release, in process and in a worker: it is what triton.compile makes, and a
compiler that ends its process ends a worker only."""

import importlib
import sys
from pathlib import Path

import pytest
import triton_runner

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import compile_example
import triton
from triton.runtime.jit import JITFunction
from triton_runner._jit.jit import JITFunction as OurJITFunction

RELEASE = compile_example.RELEASE
FIRST_DIFFERS = ((3, 2), (3, 3))  # the first kernel of a process gets other code there than later ones
KERNELS = ["vector_add", "softmax", "matmul"]


@pytest.fixture
def launched(monkeypatch):
    """Collects what an example launches, in place of running it: (function, arguments, options)."""

    def launches(kernel):
        found = []

        def note(function, *args, grid, warmup=False, **options):
            found.append((function, compile_example.bound(function, args, options), options))

        monkeypatch.setattr(JITFunction, "run", note)
        monkeypatch.setattr(OurJITFunction, "run", note)
        module = importlib.import_module(f"kernels.{kernel}")
        module.run(importlib.import_module("kernels.harness").Device())
        return found

    return launches


@pytest.mark.parametrize("kernel", KERNELS)
def test_it_is_what_triton_compiles(kernel, launched, tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    target = compile_example.gpu_target("cuda:80")
    for function, arguments, options in launched(kernel):
        if RELEASE in FIRST_DIFFERS:
            triton.compile(
                compile_example.source(function, arguments), target=target, options={"num_warps": 1}
            )
        types, constants, attributes = compile_example.described(function, arguments)
        own = triton.compile(compile_example.source(function, arguments), target=target, options=options)
        form = {"target": "cuda:80", "options": options, "attrs": attributes}
        here = triton_runner.compile(function, types, constants, **form)
        there = triton_runner.compile(function, types, constants, **form, isolate=True)
        for level in ("ttir", "ttgir", "llir", "ptx", "cubin"):
            assert here.asm[level] == own.asm[level], level
            if RELEASE not in FIRST_DIFFERS:
                assert there.asm[level] == own.asm[level], level


def test_a_compiler_that_aborts_ends_a_worker_only(launched):
    from triton_runner._kernel.compiling.compile import request_of, run
    from triton_runner._pipeline.workers import WorkerError

    [(function, arguments, options)] = launched("matmul")
    types, constants, attributes = compile_example.described(function, arguments)
    request = request_of(function, types, constants, "cuda:100", None, None, options, attributes)
    version = triton.__version__
    if RELEASE >= (3, 3):
        assert "cubin" in run("job", request, version, isolate=True)["asm"]
        return
    with pytest.raises(triton_runner.DiagnosticError, match="do not know sm_100"):
        run("job", request, version, isolate=True)
    with pytest.raises(WorkerError, match=r"died of SIGABRT in pass TritonGPUAccelerateMatmul") as caught:
        run("job", {**request, "checked": False}, version, isolate=True)
    assert (caught.value.stage, caught.value.pass_name) == ("ttgir", "TritonGPUAccelerateMatmul")
    assert Path(caught.value.reproducer, "run.sh").exists()
