"""Faults inside LLVM: a pass that makes something else of the IR than it should.

The stage around the pass is edited: what it makes has the fault, and so has what LLVM prints after the pass
and after all later ones. With the pass switched off there is no fault.
"""

import os
import sys
import tempfile

from triton.backends import backends
from triton_runner._worker import llvm_passes


def plant(level, argument, nth, edit, printed=None, switch="1", backend="nvidia"):
    """The fault of the nth pass of a name, in make_llir ("llir"), make_ptx ("ptx") or make_amdgcn ("amdgcn").

    edit: (old, new) in what the stage makes; printed: in what LLVM prints, the same unless said; switch: what
    DISABLE_LLVM_OPT holds where the pass does not run.
    """
    compiler = backends[backend].compiler
    stage = getattr(compiler, f"make_{level}")
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

    setattr(compiler, f"make_{level}", faulty if backend == "nvidia" else staticmethod(faulty))


def _edited(dump, argument, nth, edit):
    """A dump with the edit after the pass on."""
    headers = list(llvm_passes._HEADER.finditer(dump))
    names = [header["argument"] or llvm_passes.argument_of(header["name"] or "") for header in headers]
    places = [header.end() for header, name in zip(headers, names, strict=True) if name == argument]
    if len(places) < nth:
        return dump
    start = places[nth - 1]
    return dump[:start] + dump[start:].replace(*edit)
