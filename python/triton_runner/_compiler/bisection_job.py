"""One run of a program by a worker of a release: at a level, under a plan of passes, judged by how it ends.

A request: program, arguments, is_module, pretend_cuda; plan, or None. The environment says device, level and
target. The answer: verdict ("right", "wrong" or "unknown"), why, and the passes of each kernel compiled.
"""

import runpy
import sys


def run(request, note=lambda stage: None):
    # The package's driver is Triton's from the first of these on.
    from triton_runner._errors import KernelTrap
    from triton_runner._pipeline import plans

    note("run")
    if request.get("pretend_cuda"):
        from triton_runner import _pretend  # it changes torch

        _pretend.install()
    plans.in_force = request.get("plan") or {}
    sys.argv = [request["program"], *request["arguments"]]
    sys.path.insert(0, request["folder"])
    verdict, why = "right", ""
    try:
        if request["is_module"]:
            runpy.run_module(request["program"], run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(request["program"], run_name="__main__")
    except SystemExit as stop:
        verdict, why = _of_status(stop.code)
    except AssertionError as error:
        verdict, why = "wrong", "AssertionError: %s" % error
    except KernelTrap as error:
        verdict, why = "wrong", str(error)
    except Exception as error:
        verdict, why = "unknown", "%s: %s" % (type(error).__name__, error)
    kernels = [
        [[step["stage"], step["add"], step["ran"]] for step in recorder.passes] for recorder in plans.recorded
    ]
    return {"verdict": verdict, "why": why, "kernels": kernels}


def _of_status(code):
    """As `git bisect run` reads an exit status: 125 cannot tell, other ones up to 127 are wrong."""
    if code in (None, 0):
        return "right", ""
    if code == 125 or not isinstance(code, int) or not 0 < code < 128:
        return "unknown", "it exited with %r" % (code,)
    return "wrong", "it exited with %d" % code
