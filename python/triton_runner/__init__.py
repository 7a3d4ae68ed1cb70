"""Run a Triton kernel from any level of its compilation, and look inside it at every level.

Importing opens no device and does not load Triton. Once Triton is loaded, an inert driver is put in its
place, which turns into the CPU or into Triton's own GPU driver when a kernel is first used.
"""

from __future__ import annotations

import importlib

# Public name: the module that has it.
_NAMES = {
    "jit": "_jit.jit",  # in place of triton.jit: kernels from Python or from an artifact, on the CPU or a GPU
    "autotune": "verbs.tune.run",  # triton.autotune for such kernels
    # a kernel from a file or text of TTIR, TTGIR, PTX, ..., without its Python source
    "load": "_artifact.loading",
    # context manager: device=, target=, level=, check=, oob=, mma=, numerics=, fmad=, threads=, timeout=,
    # shared=, shuffle=, timing=, perturb=, substitute=, dump=
    "using": "_settings",
    # context manager: records values of the kernels that are launched inside
    "dumping": "_kernel.dumps.dumping",
    # one launch at several levels or devices: the first value that differs
    "lockstep": "_kernel.lockstep.lockstep",
    # stops launches at lines, ops and instructions; shows, changes and steps back: a session, without a GPU
    "debug": "verbs.debug.session",
    # what launches with dump_value= or dl.dump recorded, since the last call
    "dumps": "_kernel.dumps.requests",
    # context manager: check="uninit" knows the tensors of torch.empty until they are written
    "track_empty": "_memory.tracking",
    "faults": "_memory.fault_log",  # the accesses out of bounds that launches with oob="report" went on after
    # a number in the place of what checks report, for using(substitute=); its places
    "Substitution": "_memory.substitution",
    # what an encoding means: who holds which element, where it lies, which banks a warp touches
    "layout": "_kernel.layout",
    "ghost": "_memory.ghost",  # a tensor of any size that takes memory only where it is written
    # memory that kernels on the CPU may reach through pointers stored in memory
    "register_memory": "_memory.registry",
    "DiagnosticError": "_base.errors",  # bad input, with file, line, column and notes (a ValueError)
    # a fault of a kernel: kind, op, location, program, element, address (a RuntimeError)
    "KernelTrap": "_base.errors",
    # compiles a kernel, from any level to any other, for any target, with any Triton release
    "compile": "_kernel.compiling.compile",
    # writes a kernel, compiled in variants, into a folder from which C++ programs launch it
    "export": "verbs.export.run",
    # one kernel on several releases, targets and configurations: figures, results, what became worse
    "compare": "verbs.compare.run",
    # which allocation takes which bytes of shared memory, and what pins registers
    "ledger": "_kernel.compiling.ledger",
    # the passes that a compilation runs, with the IR between them; from, until, without, replaced
    "passes": "_kernel.compiling.passes",
    # which release, which level and which compiler pass made a program or a kernel wrong
    "bisect": "verbs.bisect.run",
    # one verdict on a launch: all levels, all checks, other orders, the bits between levels
    "verify": "verbs.verify.run",
    # context manager: writes launches of a running program as cases (*.trcase)
    "capture": "_kernel.cases.capture",
    "reduce": "verbs.reduce.run",  # makes IR, PTX or a kernel in Python small while a fault of it stays
    # a case: one launch with its kernel, arguments and all levels, to run again
    "open_case": "_kernel.cases.case",
    "get_file_dir": "_base.paths",  # the folder of a file, for ttir_dir=get_file_dir(__file__)
    # what a kernel's binary needs: registers, spills, memory, instructions, occupancy
    "resources": "_kernel.compiling.resources",
    # what a launch executes, counted in its machine code: instructions, sectors, bank conflicts; bounds
    "profile": "_kernel.cost.profiling",
    # which lines of TTIR, TTGIR, LLIR, PTX and SASS belong to each other and to which line of the source
    "source_map": "_kernel.source_map",
    "report": "_kernel.page.report",  # one page, to be opened offline, that shows a kernel at all levels
    "configure_jit_backend": "_jit.jit",  # makes triton.jit this package's jit
    "restore_jit_backend": "_jit.jit",  # undoes configure_jit_backend
    "configure_autotune_backend": "_jit.jit",  # makes triton.autotune this package's autotune
    "restore_autotune_backend": "_jit.jit",  # undoes configure_autotune_backend
}
# Public modules, loaded when they are first touched.
_MODULES = ("color_print", "gluon", "ir", "language", "ptx", "testing", "tlx", "torch_utils")

__all__ = sorted([*_NAMES, *_MODULES])
__version__ = "0.1.0"


def __getattr__(name: str):
    if name not in _NAMES and name not in _MODULES:
        raise AttributeError(f"module 'triton_runner' has no attribute {name!r}")
    module = _NAMES.get(name, name)
    try:
        value = importlib.import_module(f"triton_runner.{module}")
    except (ImportError, AttributeError) as error:
        from triton_runner._base import releases  # only to say what is missing

        if (reason := releases.missing(error)) is None:
            raise
        raise ImportError("; ".join(reason), name=getattr(error, "name", None)) from None
    value = getattr(value, name) if name in _NAMES else value
    globals()[name] = value
    return value


def __dir__():
    return sorted([*globals(), *__all__])


from triton_runner._jit import install  # noqa: E402  (it needs what stands above)

install.register_with_triton()
