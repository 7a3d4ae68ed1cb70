"""Runs another program in this process, as python would, with the CPU (or what was asked for) as Triton's
device."""

from __future__ import annotations

import atexit
import contextlib
import dataclasses
import functools
import importlib.util
import itertools
import multiprocessing.spawn
import os
import runpy
import subprocess
import sys
import traceback
import types
from concurrent import futures

from triton_runner import _pretend, _settings
from triton_runner._base import commands, releases
from triton_runner._base.errors import (
    DiagnosticError,
    KernelTrap,
    fail,
    is_of_library,
    package_folders,
    with_source,
)
from triton_runner._base.paths import check_program
from triton_runner._launch import launchers
from triton_runner._pipeline.failures import failure_of
from triton_runner._pretend.ending import ending
from triton_runner._pretend.misuse import misuse_of
from triton_runner._settings import devices

# Signals by which a program fails; others come from outside.
CRASHES = ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGTRAP")
_STARTED = "TRITON_RUNNER_STARTED"  # how Pythons that the program starts are prepared: "cuda", "plain"
_INTERPRETED = os.environ.get("TRITON_INTERPRET", "0") != "0"  # outside of the program
_held = contextlib.ExitStack()  # what stays for the rest of the process
atexit.register(_held.close)  # while torch is whole


@dataclasses.dataclass(frozen=True)
class Ended:
    """How a program ended. how: "returned" from its last line, "exited" by sys.exit(), "raised" an exception,
    "refused" (the front end does not take a kernel), "uncompiled" (the compiler fails on one), "failed aside"
    (a check in a thread or an exit function, which leaves the status 0), or "interrupted" by Ctrl-C; of a
    process that another one watches (_programs/watched.py) also "left" by
    os._exit() or for another program, or "killed" by a signal. error, message: of an exception; file, line:
    where the program raised it or called sys.exit(), or the line of the kernel."""

    status: int
    how: str = "returned"
    error: str | None = None
    message: str | None = None
    file: str | None = None
    line: int | None = None


def run_program(
    program: str, arguments: list[str], is_module: bool, pretend_cuda: bool, whole_traceback: bool = False,
    look=(), explained=lambda error: [],
) -> int:  # fmt: skip
    """Runs a script or module as __main__ and returns its exit status: ended(), for who asks no more."""
    return ended(program, arguments, is_module, pretend_cuda, whole_traceback, look, explained).status


def ended(
    program: str, arguments: list[str], is_module: bool, pretend_cuda: bool, whole_traceback: bool = False,
    look=(), explained=lambda error: [], is_check=lambda error, frames: False,
) -> Ended:  # fmt: skip
    """Runs a script or module as __main__. A fault of a kernel is shown with its line and the line that
    launched it, and a kernel that was not compiled with the lines of explained(error); whole_traceback: as
    python shows an exception. look: notes for a kernel's trap. is_check(error, frames): says whether an
    exception of a thread or an exit function is a check that failed. Ctrl-C is the caller's."""
    if not is_module:
        check_program(program)
    prepare(pretend_cuda)
    sys.argv = [program, *arguments]

    def show(error: BaseException) -> Ended:
        return _raised(error, pretend_cuda, whole_traceback, look, explained(error))

    aside: list[BaseException] = []
    try:
        with ending(show) as aside:
            if is_module:
                sys.path.insert(0, os.getcwd())
                runpy.run_module(program, run_name="__main__", alter_sys=True)
            else:
                sys.path.insert(0, os.path.dirname(os.path.abspath(program)))
                runpy.run_path(program, run_name="__main__")
    except SystemExit as stop:
        explained(stop)
        at = _place(_of_program(stop.__traceback__))
        if stop.code is None or isinstance(stop.code, int):
            status = (stop.code or 0) & 255
            return Ended(status, "exited", **at) if status else _aside(aside, is_check, "exited", at)
        print(stop.code, file=sys.stderr)
        return Ended(1, "exited", message=str(stop.code), **at)
    except KeyboardInterrupt:
        if whole_traceback:
            traceback.print_exc()
        raise
    except BaseException as error:  # printed as python prints it, without our own frames
        return show(error)
    finally:
        _tell_of_interpreter()
    return _aside(aside, is_check, "returned", {})


def _aside(raised: list[BaseException], is_check, how: str, at: dict) -> Ended:
    """The end with status 0 of a program whose threads and exit functions raised these."""
    for error in raised:
        frames = _of_program(error.__traceback__)
        if is_check(error, frames):
            place = _place(own_frames(frames, True) or frames)
            return Ended(0, "failed aside", type(error).__name__, str(error), **place)
    return Ended(0, how, **at)


def _raised(error: BaseException, pretend_cuda: bool, whole_traceback: bool, look, lines) -> Ended:
    """Shows an exception that ended the program. lines: why a kernel was not compiled, if it says that."""
    frames = _of_program(error.__traceback__)
    error = misuse_of(error) or error
    if lines and not whole_traceback:
        failure = failure_of(error)
        place = f"{failure.file}:{failure.line}:{failure.column}: " if failure.line else ""
        notes = (f"note: {note}" for note in _called_at(frames))
        print(f"{place}error: {lines[0]}", *lines[1:], *notes, sep="\n", file=sys.stderr)
    elif isinstance(error, (KernelTrap, DiagnosticError)) and not whole_traceback:
        notes = look if isinstance(error, KernelTrap) else ()
        print(with_source(error, *_called_at(frames), *notes), file=sys.stderr)
    else:
        traceback.print_exception(type(error), error, frames)
    if not pretend_cuda and asks_for_cuda(error) and devices.resolved_device() == "cpu":
        print(
            "triton-runner: a program that asks torch for CUDA runs on the CPU with --pretend-cuda",
            file=sys.stderr,
        )
    if lacks_driver(error):
        print(
            "triton-runner: this program asks for NVIDIA's driver, which is not here: "
            f"`{commands.shell('cuda', 'PROGRAM')}` gives it one that runs on the CPU",
            file=sys.stderr,
        )
    if isinstance(error, ModuleNotFoundError) and (build := _build_of(error.name or "")):
        own, then = (commands.shell("versions", *words) for words in (("add", build), ("run", build, "run")))
        print(
            f"triton-runner: {error.name} is the Triton `{build}` of others: `{own}` fetches it, and "
            f"`{then}` in place of `{commands.shell('run')}` runs the program with it",
            file=sys.stderr,
        )
    at = _place(frames)
    if lines:
        failure = failure_of(error)
        how = "refused" if failure.is_kernels else "uncompiled"
        at = {"file": failure.file, "line": failure.line} if failure.line else at
        return Ended(1, how, failure.how, lines[0], **at)
    return Ended(1, "raised", type(error).__name__, str(error), **at)


def _build_of(module: str) -> str:
    """The name of a distribution of Triton whose module is called so, and not `triton`; ""."""
    rows = releases.DISTRIBUTIONS.items()
    return next((name for name, row in rows if row.module == module.partition(".")[0] != "triton"), "")


def asks_for_cuda(error: BaseException) -> bool:
    """Returns whether torch raised an error because it was asked for CUDA, which is not here."""
    cuda = sys.modules.get("torch.cuda")
    frames = traceback.extract_tb(error.__traceback__)
    return bool(cuda and frames and frames[-1].filename.startswith(os.path.dirname(cuda.__file__) + os.sep))


def lacks_driver(error: BaseException) -> bool:
    """Returns whether an error says that libcuda.so.1 is missing: in the words of the loader, of numba and
    of NVIDIA's packages."""
    words = ("libcuda.so", "CUDA driver library cannot be found", '"cuda" is an NVIDIA driver library')
    return any(word in str(error) for word in words)


def own_frames(frames, is_cut: bool):
    """The frames of a traceback that are neither ours nor Triton's; is_cut: down to the last one of the
    program. None: there are no such frames."""
    kept = []
    while frames is not None:
        if not frames.tb_frame.f_code.co_filename.startswith(package_folders()):
            kept.append(frames)
        frames = frames.tb_next
    while is_cut and kept and is_of_library(kept[-1].tb_frame.f_code.co_filename):
        kept.pop()
    for at in reversed(kept):
        frames = types.TracebackType(frames, at.tb_frame, at.tb_lasti, at.tb_lineno)
    return frames


def _of_program(frames):
    """The frames of a traceback below those of this module and of runpy."""
    ours = (__file__, runpy.__file__, "<frozen runpy>")
    while frames is not None and frames.tb_frame.f_code.co_filename in ours:
        frames = frames.tb_next
    return frames


def _place(frames) -> dict:
    """The line of the program in a traceback, as Ended has it: the last that no library made."""
    at = [frame for frame in traceback.extract_tb(frames) if not is_of_library(frame.filename)]
    return {"file": at[-1].filename, "line": at[-1].lineno} if at else {}


def prepare(pretend_cuda: bool) -> None:
    """Puts in place what programs need in this process and in those that they spawn."""
    if pretend_cuda and devices.resolved_device() != "cpu":
        raise fail(
            "--pretend-cuda is for the CPU, and a GPU is in use",
            "add --device cpu, or leave --pretend-cuda out",
        )
    _prepare(pretend_cuda)
    _prepare_spawned(pretend_cuda)
    _prepare_started(pretend_cuda)
    _tell_of_others()


def _prepare(pretend_cuda: bool) -> None:
    """Puts in place what a process needs that runs a program, or a part of one."""
    if pretend_cuda:
        _pretend.install()
    if _settings.quick():
        from triton_runner._pretend import quick_install  # it changes triton.testing

        quick_install.install()
    if "uninit" in _settings.current().check.split(",") and importlib.util.find_spec("torch") is not None:
        from triton_runner._memory.tracking import track_empty  # with torch

        _held.enter_context(track_empty())


class _Prepared:
    """Is sent to each process that multiprocessing spawns: reading it calls _prepare()."""

    def __init__(self, pretend_cuda: bool):
        self._pretend_cuda = pretend_cuda

    def __reduce__(self):
        return _prepare, (self._pretend_cuda,)


def _prepare_spawned(pretend_cuda: bool) -> None:
    """Has the processes that the program spawns prepared as this one is. Settings reach them as variables."""
    own = multiprocessing.spawn.get_preparation_data
    own = getattr(own, "__wrapped__", own)  # of an earlier program in this process

    @functools.wraps(own)
    def get_preparation_data(name):
        if launchers.observers:
            _tell_of_another(*_APART)
        return {**own(name), "triton_runner": _Prepared(pretend_cuda)}

    multiprocessing.spawn.get_preparation_data = get_preparation_data


def _prepare_started(pretend_cuda: bool) -> None:
    """Has every Python that the program starts prepared as this one is, by started/sitecustomize.py."""
    os.environ[_STARTED] = "cuda" if pretend_cuda else "plain"
    folder = os.path.join(os.path.dirname(__file__), "started")
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    paths = [folder, *(path for path in paths if path not in ("", folder))]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)


def prepare_started(pretend_cuda: bool) -> None:
    """In a Python that a program has started: prepares it. What was noted is shown at its end, with status 1,
    as `run` does."""
    _prepare(pretend_cuda)
    _prepare_spawned(pretend_cuda)
    _tell_of_others()
    atexit.register(_end_started)


def _end_started() -> None:
    from triton_runner._memory import fault_log, uninit  # with the core

    if summary := fault_log.summary():
        print(summary, file=sys.stderr)
    left = uninit.finish()
    for it in left:
        print(f"[triton-runner] {'uninit' if it.used else 'warning'}: {it}", file=sys.stderr)
    if summary or any(it.used for it in left):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)


def _tell_of_interpreter() -> None:
    """Says of a program that runs with TRITON_INTERPRET why no launch of it was seen."""
    knobs = getattr(sys.modules.get("triton"), "knobs", None)
    if launchers.observers and knobs is not None and knobs.runtime.interpret:
        what = "triton-runner: with TRITON_INTERPRET=1 the program's kernels run in Triton's interpreter"
        how = "unset it" if _INTERPRETED else "take it out of the program's text"
        print(f"{what}, where they are not looked at; {how}", file=sys.stderr)


@functools.cache
def _tell_of_others() -> None:
    """Says of a Python which the program starts that it runs by itself, or that its launches are not looked
    at."""

    def hook(event: str, arguments: tuple) -> None:
        if event != "subprocess.Popen":
            return
        executable, words, _, env = arguments
        name = executable if isinstance(executable, (str, os.PathLike)) else words[0]
        if not os.path.basename(os.fsdecode(name)).startswith(("python", "torchrun")):
            return
        if not _is_prepared(words, env):
            why = "runs without triton-runner: its kernels run elsewhere, unchecked"
            _tell_of_another(why, f"put `{commands.shell('run')}` before its script")
        elif launchers.observers:
            _tell_of_another(*_APART)

    sys.addaudithook(hook)


_APART = "makes launches of its own", "they are not looked at here"
_STARTS = (subprocess.__file__, os.path.dirname(multiprocessing.__file__), os.path.dirname(futures.__file__))
_told: set = set()  # whether something was said of another Python


def _tell_of_another(why: str, advice: str) -> None:
    """Says once what becomes of a Python that the program starts; nothing of those that this package and
    torch start for themselves."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith((__file__, *_STARTS)):
        frame = frame.f_back
    by = frame.f_code.co_filename if frame is not None else __file__
    if _told or by.startswith(package_folders()) or "_inductor" in by:
        return
    _told.add(by)
    what = f"triton-runner: the program starts another Python ({by}:{frame.f_lineno})"
    print(f"{what}, which {why}; {advice}", file=sys.stderr)


def _is_prepared(words, env) -> bool:
    """Returns whether a Python that is started so imports started/sitecustomize.py."""
    words = [os.fsdecode(word) for word in words[1:]]
    options = itertools.takewhile(lambda word: word.startswith("-") and word not in ("-c", "-m"), words)
    if any(not option.startswith("--") and {*option} & {*"IES"} for option in options):
        return False
    return env is None or any(os.fsdecode(one) == _STARTED for one in env)


def _called_at(frames) -> list[str]:
    """The line of the program whose call raised: the last that is neither ours nor Triton's."""
    own = [frame for frame in traceback.extract_tb(frames) if not is_of_library(frame.filename)]
    return [f"called at {frame.filename}:{frame.lineno}; --traceback shows all calls" for frame in own[-1:]]
