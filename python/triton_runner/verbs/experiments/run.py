"""Runs a program that is wrong again with one feature of the compiler switched off at a time, to tell which
of them makes the fault go away."""

from __future__ import annotations

import contextlib
import dataclasses

from triton_runner import _settings
from triton_runner._base.errors import fail
from triton_runner._base.paths import check_program
from triton_runner.verbs.bisect.runs import BisectedProgram, Release
from triton_runner.verbs.bisect.splice import steps_of
from triton_runner.verbs.bisect.trial import Trial

# Name, what it switches off; variables of the environment, options of every kernel. Targets that it is for.
_GRID = (
    ("num_stages=1", "software pipelining", {}, {"num_stages": 1}, ""),
    ("enable_fp_fusion=False", "products and sums as FMAs", {}, {"enable_fp_fusion": False}, ""),
    ("TRITON_F32_DEFAULT=ieee", "tf32 in f32 products", {"TRITON_F32_DEFAULT": "ieee"}, {}, ""),
    ("DISABLE_LLVM_OPT=1", "LLVM's optimisation", {"DISABLE_LLVM_OPT": "1"}, {}, ""),
    ("DISABLE_MMA_V3=1", "wgmma", {"DISABLE_MMA_V3": "1"}, {}, "cuda:9"),
    ("DISABLE_MMA_V5=1", "tcgen05", {"DISABLE_MMA_V5": "1"}, {}, "cuda:10"),
    ("DISABLE_FAST_REDUCTION=1", "faster reductions", {"DISABLE_FAST_REDUCTION": "1"}, {}, ""),
    ("AMDGCN_USE_BUFFER_OPS=0", "buffer operations", {"AMDGCN_USE_BUFFER_OPS": "0"}, {}, "hip"),
    ("TRITON_HIP_USE_ASYNC_COPY=0", "asynchronous copies", {"TRITON_HIP_USE_ASYNC_COPY": "0"}, {}, "hip"),
    ("TRITON_HIP_USE_BLOCK_PINGPONG=0", "ping-pong", {"TRITON_HIP_USE_BLOCK_PINGPONG": "0"}, {}, "hip"),
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Experiment:
    """`name`: the setting; `off`: what it switches off; `verdict`: "right", "wrong", "unknown", and `why`."""

    name: str
    off: str
    verdict: str
    why: str


def experiments(
    program: BisectedProgram, version: str, passes: bool, told=lambda one: None
) -> list[Experiment]:
    """The program as it is, and, where that is not right, under each setting of the grid; with passes also
    without each pass that ran. told(experiment) as they are done."""
    _settings.using(target=program.target).settings()  # raises for an unknown target
    if not program.is_module:
        check_program(program.name)
    experiments_done: list[Experiment] = []

    def note(name: str, off: str, trial: Trial) -> None:
        experiments_done.append(Experiment(name, off, trial.verdict, trial.first_why))
        told(experiments_done[-1])

    with contextlib.closing(Release(version, program)) as release:
        plain = release.at(program.lowest)
        if plain.verdict == "right" and not plain.kernels:
            raise fail(
                f"{program.name} compiles no kernel: there is nothing to switch off",
                "a program for experiments launches kernels, and fails where a result is wrong",
            )
        note("as it is", "nothing", plain)
        if plain.verdict == "right":
            return experiments_done
        for name, off, variables, options, target in _GRID:
            if program.target.startswith(target):
                plan = {"options": options} if options else None
                note(name, off, release.at(program.lowest, plan, variables=variables))
        for step in steps_of(plain.kernels) if passes else ():
            # Without conversions nothing is compiled.
            if step.stage in ("make_ttir", "make_ttgir") and "convert" not in str(step):
                trial = release.at(program.lowest, {"skip": [step.selector]})
                nth = f"#{step.nth}" if step.nth > 1 else ""
                note(f"without {step}{nth}", f"a pass of {step.stage}", trial)
    return experiments_done
