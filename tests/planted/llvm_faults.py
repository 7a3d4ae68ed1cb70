"""Faults inside LLVM: a pass that makes something else of the IR than it should.

The stage around the pass is edited: what it makes has the fault, and so has what LLVM prints after the pass
and after all later ones. With the pass switched off there is no fault.
"""

import os
import sys
import tempfile

from triton.backends.nvidia.compiler import CUDABackend
from triton_runner._worker import llvm_passes


def plant(level, argument, nth, edit, printed=None, switch="1"):
    """The fault of the nth pass of a name, in make_llir ("llir") or make_ptx ("ptx").

    edit: (old, new) in what the stage makes; printed: in what LLVM prints, the same unless said; switch: what
    DISABLE_LLVM_OPT holds where the pass does not run.
    """
    stage = getattr(CUDABackend, f"make_{level}")
    printed = printed or edit

    def faulty(*args, **kwargs):
        if switch in os.environ.get("DISABLE_LLVM_OPT", "").split(","):
            return stage(*args, **kwargs)
        with tempfile.TemporaryFile() as file:
            with llvm_passes.standard_error(file):
                made = stage(*args, **kwargs)
            file.seek(0)
            sys.stderr.write(_edited(file.read().decode(), argument, nth, printed))
        assert edit[0] in made, made
        return made.replace(*edit)

    setattr(CUDABackend, f"make_{level}", faulty)


def _edited(dump, argument, nth, edit):
    """A dump with the edit after the pass on."""
    headers = list(llvm_passes._HEADER.finditer(dump))
    names = [header["argument"] or llvm_passes.argument_of(header["name"] or "") for header in headers]
    places = [header.end() for header, name in zip(headers, names, strict=True) if name == argument]
    if len(places) < nth:
        return dump
    start = places[nth - 1]
    return dump[:start] + dump[start:].replace(*edit)
