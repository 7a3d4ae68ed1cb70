"""Implements triton_runner.bisect(): which release, level and compiler pass made a program or a kernel
wrong."""

from __future__ import annotations

import os

from triton_runner import _settings
from triton_runner._artifact.shell_arguments import parse_grid
from triton_runner._base.errors import fail
from triton_runner._base.typed import as_json
from triton_runner._kernel.compiling.compile import innermost
from triton_runner._memory.arguments import host, packed
from triton_runner._pipeline import portable
from triton_runner._pipeline import versions as releases
from triton_runner._worker.spelling import listed, option
from triton_runner.verbs.bisect import kernel, search
from triton_runner.verbs.bisect.results import Found, KernelLaunch, Oracle
from triton_runner.verbs.bisect.runs import LEVELS, BisectedProgram


class Bisection:
    """The result of bisect(); str() gives a report that can be pasted into an issue.

    - `verdict`: "right", "front end", "compiler", "assembler", "kernel", "nondeterministic" (the order of
      atomics decides the result), "undefined" (the kernel has a race or breaks a promise that it makes to the
      compiler), "hardware" (the target rounds so) or "unknown".
    - `level`, `stage`: where the fault arises, such as "ttgir" and "make_ttgir"; `pass_`: the pass as
      {"name", "argument", "add", "nth"}, or None.
    - `confirmed_by`: which methods confirmed the pass: "execution", "leave-out", "splice".
    - `release`: the releases by result, {"wrong", "right", "unknown"}; `evidence`, `notes`: lists of
      sentences; `faults`: one entry for each consecutive range of wrong releases.
    """

    def __init__(self, found: Found, program: BisectedProgram):
        self._found, self._name = found, program.name
        about = self.as_dict()
        self.verdict, self.level, self.stage = found.verdict, found.level, found.stage
        self.pass_, self.confirmed_by = about["pass"], found.confirmed_by
        self.release, self.evidence = about["release"], about["evidence"]
        self.notes, self.faults = found.notes, about["faults"]

    def as_dict(self) -> dict:
        """All of it, as --json writes it."""
        return as_json(self._found)

    def __str__(self):
        return self._found.page(self._name)

    def __repr__(self):
        return f"<{self._name}: {self._found.headline}>"


def bisect(
    program, args=None, *, oracle=None, grid=(1,), constexprs: dict | None = None,
    options: dict | None = None, arguments=(), versions: str | list | None = None, target: str = "cuda:90",
    pretend_cuda: bool = False, timeout: float = 300.0, levels=None, chip: str = "", say=None,
) -> Bisection:  # fmt: skip
    """Finds the release, the level and the compiler pass that make a program or a kernel wrong, with no GPU.

    - `program`: a script with its `arguments`, which is its own oracle (exit status 0 for right, 1 for wrong,
      125 for unknown); or a kernel: "kernel.py:name", or a JIT function that a file defines.
    - `args`: for a kernel: arrays, numbers, and texts as for `exec` ("f32[64,64]=rand"); `grid`,
      `constexprs`, `options` (num_warps, ...): the rest of its launch.
    - `oracle`: for a kernel: "wrong", "shared>1536", "regs>64", "spills>0", "instr:ldmatrix<30", "slower"
      (its estimated time on `chip` is 5 % above that of the first release; "slower>1.2": 20 %), the path of a
      program, or a function that receives the list of arrays after the launch and returns whether they are
      right.
    - `versions`: "3.0.0..3.9.0", "all", or a list; by default the installed releases.
    - `levels`: the levels to execute, of "source", "ttir", "ttgir", "ptx", "cubin" (for AMD "amdgcn" in the
      place of these two); the lowest one decides whether a release is right.
    - `say`: a function that is called with a text about each step. Its keyword `done` is the pair (judged
      releases, all releases) after a release was judged, otherwise None.

    Raises DiagnosticError.
    """
    given = program_of(
        program, args, oracle=oracle, grid=grid, constexprs=constexprs, options=options, arguments=arguments,
        target=target, pretend_cuda=pretend_cuda, timeout=timeout, levels=levels, chip=chip,
    )  # fmt: skip
    return Bisection(found(given, versions, say or _silent), given)


def program_of(
    program, args, *, oracle, grid, constexprs, options, arguments, target, pretend_cuda, timeout, levels,
    is_module=False, chip="",
) -> BisectedProgram:  # fmt: skip
    """Returns what bisection runs, from the arguments of bisect()."""
    if not isinstance(program, (str, os.PathLike)):
        own = innermost(program)
        own = getattr(own, "fn", own)
        program = f"{own.__code__.co_filename}:{own.__qualname__}"
    name, launch, judge = os.fspath(program), None, None
    file, _, function = name.rpartition(":")
    unknown = [level for level in levels or () if level not in LEVELS]
    if unknown:
        raise fail(f"bisection executes no level {unknown[0]!r}", f"levels: {', '.join(LEVELS)}")
    _settings.using(target=target).settings()  # raises for an unknown target
    given = BisectedProgram("", target=target)
    if levels and not {*levels} & {*given.executed, *(("cubin",) if given.code == "ptx" else ())}:
        raise fail(
            f"no engine executes {', '.join(levels)} of {target}", f"levels: {', '.join(given.executed)}"
        )
    if file.endswith(".py") and function:
        name = f"{os.path.abspath(file)}:{function}"
        if callable(oracle):
            judge, how = oracle, Oracle("callable")
        else:
            how = kernel.oracle(oracle or "wrong", chip, target)
        constants = {key: portable.constant(v, f"constexpr {key!r}") if not isinstance(v, dict) else v
                     for key, v in (constexprs or {}).items()}  # fmt: skip
        shape = parse_grid(grid) if isinstance(grid, str) else grid
        values = [_argument(value) for value in args or ()]
        launch = KernelLaunch(values, list(shape), constants, options or {}, how)
    elif oracle is not None or args is not None:
        raise fail(
            f"{name} is a program, its own oracle",
            f"{listed('oracle', 'args')} are for a kernel: kernel.py:name",
        )
    return BisectedProgram(
        name, tuple(arguments), is_module, pretend_cuda, target, timeout, launch, tuple(levels or ()), judge
    )


def _argument(value):
    """An argument as JSON carries it: a text of `exec`, or an array packed."""
    if isinstance(value, str):
        return value
    if hasattr(value, "shape") and len(value.shape):
        return {"array": packed(host(value))}
    return repr(value) if value is not None else "null"


def found(given: BisectedProgram, wanted: str | list | None, say) -> Found:
    """The verdict."""
    if isinstance(wanted, str):
        chosen = releases.expand(wanted)
    else:
        chosen = list(wanted or dict.fromkeys(row["version"] for row in releases.listed()))
    if not chosen:
        raise fail(
            "no Triton release is here to be judged",
            f"name releases to fetch: {option('versions', '3.8.0,3.9.0')}",
        )
    return search.bisect_program(given, chosen, say)


def _silent(text: str, done: tuple | None = None) -> None:
    pass
