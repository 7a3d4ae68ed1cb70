"""Gathers the kernels that a Python program launches, for the page. The program runs once on the device in
force. Each kernel is then compiled again as it was launched, pass by pass."""

from __future__ import annotations

import dataclasses
import gc
import os

from triton_runner._base.errors import DiagnosticError, KernelTrap, fail
from triton_runner._kernel.cases.bundle import trace_of
from triton_runner._kernel.dumps.dumping import dumping
from triton_runner._kernel.material import Material, gather
from triton_runner._launch.launchers import Call, axes_of, constants_of, observing
from triton_runner._memory import fault_log
from triton_runner._programs.options import check_settings
from triton_runner._programs.programs import Program as Words
from triton_runner.verbs.dump.run import is_program

__all__ = ["PageContents", "is_program", "run"]

_MOST_ROWS = 500  # distinct launches in the table of the page
_TUNED_OPTIONS = ("num_warps", "num_ctas", "num_stages", "maxnreg")


@dataclasses.dataclass
class PageContents:
    """The parts of a program that the page shows: its kernels in the order of their first launch, its
    launches, the choices of autotuning, and what was recorded and found."""

    materials: list[Material]
    dumps: list
    findings: list
    launches: list[dict]
    tunings: list[dict]


class _Observer:
    """Notes each launch. Launches of a kernel with equal grids and arguments are one row with a count."""

    def __init__(self, name: str):
        self._name = name
        self.kernels: dict = {}  # by hash, as they were compiled
        self.traps: list[KernelTrap] = []
        self.rows: dict[tuple, dict] = {}
        self.dump: dumping | None = None
        self.dumps: dict = {}  # the last of each kernel: a tuned kernel is launched a thousand times

    def __call__(self, call: Call, go) -> None:
        if self._name not in ("", call.name):
            return go()
        key = getattr(call.kernel, "hash", None) or id(call.kernel)
        self.kernels.setdefault(key, call.kernel)
        grid, arguments = list(axes_of(call.grid)), [f"{n}: {_text(value)}" for n, value in call.named]
        at = (key, *grid, *arguments)
        if at not in self.rows and len(self.rows) >= _MOST_ROWS:
            at = (key,)  # the rest of this kernel's launches
            arguments = ["further launches, with other arguments"]
        row = self.rows.setdefault(
            at, {"kernel": key, "grid": grid, "arguments": arguments, "count": 0, "trap": "", "faults": []}
        )
        row["count"] += 1
        before = [fault.launches for fault in fault_log.faults()]
        try:
            go()
        except KernelTrap as trap:
            self.traps.append(trap)
            row["trap"] = f"{trap.kind}: {trap.message}"
            raise
        finally:
            row["faults"] += [text for text in _new_faults(before) if text not in row["faults"]]
            self.keep_last()
        return None

    def keep_last(self) -> None:
        """Keeps the last dump of each kernel and drops the others."""
        launches = self.dump.launches if self.dump is not None else []
        for launch in launches:
            self.dumps |= {values.kernel: launch for values in launch}
        launches.clear()


def _new_faults(before: list[int]) -> list[str]:
    """Returns what launches noted and went on after. before: how many launches had had each fault."""
    counts = [*before, *[0] * (len(faults := fault_log.faults()) - len(before))]
    return [
        f"{fault.kind}: {fault.message}"
        for fault, count in zip(faults, counts, strict=False)
        if fault.launches != count
    ]


def _text(value) -> str:
    """An argument as the table of launches shows it: "float32[64, 64]", "1024"."""
    if (shape := getattr(value, "shape", None)) is None or not hasattr(value, "dtype"):
        return str(value)[:60]
    return f"{str(value.dtype).removeprefix('torch.')}[{', '.join(map(str, shape))}]"


def run(program: str, arguments, name: str, selectors, level, target, pretend_cuda: bool) -> PageContents:
    """Runs a program and gathers its kernels, or those called `name`."""
    for variable, value in (("TARGET", target), ("LEVEL", level)):
        if value:
            os.environ[f"TRITON_RUNNER_{variable}"] = value
            check_settings()
    if level and selectors:
        from triton_runner._jit.jit import configure_jit_backend  # it needs Triton

        configure_jit_backend()  # registers are recorded by our jit alone
    observer, words = _Observer(name), Words(program, tuple(arguments), pretend_cuda=pretend_cuda)
    with observing(observer):
        if selectors:
            with dumping(name or None, *selectors, every_iteration=True, level=level) as observer.dump:
                status = words.run()
            observer.keep_last()
            if not observer.dumps:
                notes = [] if name else ["where only one of several kernels has it, --kernel names that one"]
                raise fail(f"nothing of {', '.join(selectors)} was recorded, and no page is written", *notes)
        else:
            status = words.run()
    if not observer.kernels:
        raise fail(
            f"{program} launched no kernel {f'{name!r} ' if name else ''}(it ended with status {status})",
            f"a kernel alone is compiled first: compile {program}:NAME -s TYPES --save DIR, then report DIR",
            ended=status,
        )
    tunings = _tunings()
    shown = {key: kernel for key, kernel in observer.kernels.items() if _is_chosen(kernel, tunings)}
    numbers = {key: number for number, key in enumerate(shown)}
    launches = [
        {**row, "kernel": numbers[row["kernel"]]}
        for row in observer.rows.values()
        if row["kernel"] in numbers
    ]
    names = {kernel.name for kernel in shown.values()}
    findings = [*observer.traps, *(fault for fault in fault_log.faults() if fault.kernel in names)]
    materials = [_traced(kernel) for kernel in shown.values()]
    dumps = [*dict.fromkeys(observer.dumps.values())]
    tuned = [_as_data(tuner) for tuner in tunings if tuner.base_fn.__name__ in names]
    return PageContents(materials, dumps, findings, launches, tuned)


def _tunings() -> list:
    """The Autotuners of this process that have chosen a configuration."""
    from triton.runtime.autotuner import Autotuner  # a page of artifacts is made without Triton

    tuners = [thing for thing in gc.get_objects() if issubclass(type(thing), Autotuner)]
    return [tuner for tuner in tuners if tuner.cache]


def _is_chosen(kernel, tunings: list) -> bool:
    """Returns whether a kernel is what autotuning chose, or was not tuned."""
    function = getattr(getattr(getattr(kernel, "src", None), "fn", None), "fn", None)
    tuner = next((tuner for tuner in tunings if tuner.base_fn is function), None)
    if tuner is None:
        return True
    values = {
        **{option: getattr(kernel.metadata, option, None) for option in _TUNED_OPTIONS},
        **constants_of(kernel.src),
    }
    return any(
        all(values.get(name) == value for name, value in config.all_kwargs().items())
        for config in tuner.cache.values()
    )


def _as_data(tuner) -> dict:
    """Returns a tuner's choice for each key, and the times of configurations for the last key that it
    timed."""
    timings = getattr(tuner, "configs_timings", None) or {}
    last = [*tuner.cache][-1]
    rows = [{"config": _config(config), "ms": None} for config in tuner.configs]
    if timings:
        rows = [
            {"config": _config(config), "ms": times[0] if isinstance(times, (list, tuple)) else times}
            for config, times in timings.items()
        ]
    for row in rows:
        row["isChosen"] = row["config"] == _config(tuner.cache[last])
        if row["ms"] == float("inf"):
            row["ms"] = None  # it did not compile, or did not fit
    chosen = [{"key": ", ".join(map(str, key)), "config": _config(c)} for key, c in tuner.cache.items()]
    return {
        "kernel": tuner.base_fn.__name__,
        "chosen": chosen,
        "timed": ", ".join(map(str, last)),
        "configs": rows,
    }


def _config(config) -> str:
    return ", ".join(f"{name}={value}" for name, value in config.all_kwargs().items())


def _traced(kernel) -> Material:
    """The material of a launched kernel with all its passes, where they can be had."""
    material = gather(kernel)
    variant = ""
    if hasattr(kernel, "src"):
        constants = {k: v for k, v in constants_of(kernel.src).items() if v is not None}
        variant = ", ".join(f"{name}={value}" for name, value in constants.items())
        try:
            material = gather(trace_of(kernel))
        except (DiagnosticError, AttributeError, TypeError, KeyError) as error:
            material.notes.append(f"no passes: {getattr(error, 'message', error)}")
    return dataclasses.replace(material, variant=variant)
