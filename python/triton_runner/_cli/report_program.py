"""The kernel that a Python program launches, for the page: run once on the device in force, then compiled
pass by pass as it was launched."""

from __future__ import annotations

import gc
import os

from triton_runner._base.errors import DiagnosticError, fail
from triton_runner._cli.dump_command import is_program
from triton_runner._compiler import passes as tracing
from triton_runner._dump.dumping import dumping
from triton_runner._memory import fault_log
from triton_runner._pretend import running
from triton_runner._see.material import gather, last_compiled
from triton_runner._settings.options import check_settings

__all__ = ["is_program", "kernel_of"]


def kernel_of(program: str, arguments, name: str, selectors, target, pretend_cuda: bool):
    """(material, dumps, findings) of the kernel of that name, or of the only one that was launched."""
    if target:
        os.environ["TRITON_RUNNER_TARGET"] = target
        check_settings()
    dumps = []
    if selectors:
        with dumping(name or None, *selectors) as dump:
            status = running.run_program(program, list(arguments), False, pretend_cuda)
        dumps = dump.launches[-1:]
        if not dumps:
            raise fail(f"nothing of {', '.join(selectors)} was recorded, and no page is written")
    else:
        status = running.run_program(program, list(arguments), False, pretend_cuda)
    launched = {made.name: made for made in _launched()}
    if not launched:
        raise fail(
            f"{program} launched no kernel (it ended with status {status})",
            f"a kernel alone is compiled first: compile {program}:NAME -s TYPES --save DIR, then report DIR",
        )
    if name and name not in launched:
        raise fail(f"{program} launched no kernel {name!r}", f"it launched {', '.join(launched)}")
    if not name and len(launched) > 1:
        raise fail(f"{program} launched {len(launched)} kernels: {', '.join(launched)}", "name one: --kernel")
    kernel = launched[name or next(iter(launched))]
    faults = [fault for fault in fault_log.faults() if fault.kernel == kernel.name]
    return _traced(kernel), dumps, faults


def _launched() -> list:
    """What Triton compiled for the JIT functions of this process, as far as they were launched."""
    from triton.runtime.jit import JITFunction  # a page of artifacts is made without Triton

    functions = [thing for thing in gc.get_objects() if issubclass(type(thing), JITFunction)]
    return [kernel for function in functions if (kernel := last_compiled(function)) is not None]


def _traced(kernel):
    """The material of a launched kernel with all its passes, where they can be had."""
    material = gather(kernel)
    source = kernel.src
    try:
        names = source.fn.arg_names
        constexprs = {_named(key, names): value for key, value in source.constants.items()}
        signature = {
            n: kind for n, kind in source.signature.items() if kind != "constexpr" and n not in constexprs
        }
        attrs = {_named(key, names): list(value) for key, value in (source.attrs or {}).items()}
        options = {
            k: material.metadata[k] for k in ("num_warps", "num_stages", "num_ctas") if k in material.metadata
        }
        trace = tracing.passes(
            source.fn,
            signature,
            constexprs,
            target=material.target,
            options=options,
            attrs=attrs,
            check=False,
        )
    except (DiagnosticError, AttributeError, TypeError, KeyError) as error:
        material.notes.append(f"no passes: {getattr(error, 'message', error)}")
        return material
    return gather(trace)


def _named(key, names) -> str:
    """The name of an argument as Triton's sources count it: by name, number or path."""
    if isinstance(key, tuple):
        if len(key) != 1:
            raise KeyError(f"an argument within a tuple, {key}")
        key = key[0]
    return names[key] if isinstance(key, int) else key
