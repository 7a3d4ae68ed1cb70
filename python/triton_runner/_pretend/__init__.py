"""Makes CPU tensors say that they are CUDA tensors, for programs that ask for device="cuda" (triton-runner
run --pretend-cuda); and makes programs that measure end soon (--quick).

All tensors stay on the CPU, and torch's C++ knows them as such. What Python asks is answered for one CUDA
device: where a tensor is, the functions below torch.cuda and torch.accelerator, its streams, events and
types, and what torch.compile asks, so that Inductor writes Triton kernels. What cannot be had raises its
reason.

It is described in doc/guide/without-a-gpu.md, and tested by tests/python/pretend/test_pretend_cuda.py."""

from __future__ import annotations

import functools

from triton_runner._settings import devices


@functools.cache
def install() -> None:
    """From here on torch has one CUDA device, which is the CPU; for the rest of the process."""
    # With the extension and torch, which the command line does not load before it needs them.
    from triton_runner import _core
    from triton_runner._launch import graphs
    from triton_runner._pretend import compiling, cublas, lowlevel, missing, objects, operators, tensors

    devices.pretends_cuda = True
    devices.first_device = 0
    _core.set_pretend_cuda(True)
    for part in (lowlevel, objects, missing, cublas, graphs, operators, tensors, compiling):
        part.install()
