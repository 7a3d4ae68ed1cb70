"""Describes compilations that fail: where the compiler was and what it said, or the line of the kernel that
its front end refuses.

    kernel.py:12:9: error: ...            the front end refuses the kernel: the kernel is at fault
    make_ttgir, pass add_pipeline: ...    a stage fails: the compiler is at fault"""

from __future__ import annotations

import dataclasses
import inspect
import sys

from triton_runner._base.errors import DiagnosticError, source_line

# The level of what the front end makes; and what a process is at that runs what was compiled.
SOURCE, RUNNING = "source", "run"
_SHOWN = 8  # lines of what a compiler said


@dataclasses.dataclass(frozen=True)
class Failure:
    """A compilation that failed.

    - `level`: what was being made; SOURCE: the TTIR of the front end.
    - `add`: the function of Triton that adds the pass, or the function of its bindings that ran.
    - `how`: the exception's type, the signal's name, or "timeout"; `message`: all that was said.
    - `is_kernels`: the front end refuses the kernel, at `file`, `line` and `column`.
    """

    level: str
    add: str | None
    how: str
    message: str
    kernel: str = ""
    file: str = ""
    line: int = 0
    column: int = 0
    is_kernels: bool = False

    @property
    def first_line(self) -> str:
        return self.message.splitlines()[0]

    @property
    def stage(self) -> str:
        """The stage as Triton calls it."""
        return "the front end" if self.level == SOURCE else f"make_{self.level}"


class CompilerError(DiagnosticError):
    """Triton's own stages failed on an IR. failure: where; request: what they were asked for, as
    compile_onward() takes it."""

    def __init__(self, failure: Failure, request: dict):
        message = headline(failure, request["target"])
        super().__init__(f"error: {message}", message=message)
        self.triton_runner_failure = failure
        self.triton_runner_request = request


def headline(failure: Failure, target: str = "") -> str:
    """A failure in a line."""
    import triton

    release, what = (
        f"Triton {triton.__version__}",
        f"kernel '{failure.kernel}'" if failure.kernel else "this IR",
    )
    if failure.is_kernels:
        return f"the front end of {release} refuses {what}: {failure.first_line}"
    where = f"{what} for {target}" if target else what
    return f"the compiler of {release} fails on {where} in {failure.stage}: {failure.first_line}"


def lines(failure: Failure) -> list[str]:
    """Returns what a person is told of a failure that ended a program: a line, and then the line of the
    kernel with a caret, or what the compiler said."""
    if failure.is_kernels:
        shown = source_line(failure.file, failure.line, failure.column) if failure.line else []
        return [headline(failure), *shown, *failure.message.splitlines()[1:]]
    return [headline(failure), *(f"  {line}" for line in failure.message.splitlines()[1:_SHOWN])]


def request_of(error: BaseException) -> dict | None:
    """Returns what the failed stages were asked for, as compile_onward() takes it; None: nobody kept it."""
    requests = (getattr(one, "triton_runner_request", None) for one in _chain(error))
    return next(filter(None, requests), None)


def noted(
    level: str, kernel: str, error: Exception, add: str | None = None, request: dict | None = None
) -> None:
    """Leaves with an exception of a stage where the compiler was, and what it was asked for; the innermost
    stage counts."""
    if not hasattr(error, "triton_runner_failure"):
        message = str(error).strip() or type(error).__name__
        error.triton_runner_failure = Failure(level, add, type(error).__name__, message, kernel)
        error.triton_runner_request = request


def failure_of(error: BaseException) -> Failure | None:
    """Why a kernel was not compiled, if an exception, or one that caused it, says so."""
    if "triton" not in sys.modules:
        return None
    refused = _refusal(error)
    if refused is not None:
        return refused
    for one in _chain(error):
        if (failure := getattr(one, "triton_runner_failure", None)) is not None:
            return failure if failure.kernel else dataclasses.replace(failure, kernel=_kernel_name(error))
        if _is_of_front_end(one):  # not of the kernel: what was made of it does not verify, for example
            message = str(one).strip() or type(one).__name__
            return Failure(SOURCE, None, type(one).__name__, message, _kernel_name(error))
    return None


def reason_of(error: BaseException) -> str:
    """The reason that an exception tells; Triton's own texts begin with the source of the kernel."""
    failure = failure_of(error)
    return failure.message if failure is not None else str(error)


def _is_of_front_end(error: BaseException) -> bool:
    """Returns whether an exception comes out of the front end, which makes the IR."""
    from triton.compiler.compiler import ASTSource

    frames = error.__traceback__
    while frames is not None:
        if frames.tb_frame.f_code is ASTSource.make_ir.__code__:
            return True
        frames = frames.tb_next
    return False


def _chain(error: BaseException | None):
    """An exception and those that caused it, the outermost first."""
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _refusal(error: BaseException) -> Failure | None:
    """The innermost error of Triton's front end, at its place in the file."""
    from triton.compiler.errors import CompilationError

    refusals = [one for one in _chain(error) if isinstance(one, CompilationError)]
    if not refusals:
        return None
    innermost = refusals[-1]
    cause = innermost.__cause__ or innermost.__context__
    said = getattr(cause, "message", None)  # of an error of ours, which Triton has the repr of
    said = said or getattr(innermost, "error_message", None) or (str(cause) if cause else "")
    said = said or type(innermost).__name__
    kernel = _kernel(error)
    function = _function_of(kernel, getattr(innermost, "src", None))
    name = _kernel_name(error)
    how = type(innermost).__name__
    return Failure(SOURCE, None, how, said.strip(), name, *_place(function, innermost), is_kernels=True)


def _kernel_name(error: BaseException) -> str:
    return getattr(_kernel(error), "__name__", "")


def _kernel(error: BaseException):
    """The JIT function that was being compiled, as the frames of the traceback know it."""
    found = None
    for one in _chain(error):
        frames = one.__traceback__
        while frames is not None:
            found = _kernel_of(frames.tb_frame) or found
            frames = frames.tb_next
    return found


def kernel_at_work() -> str:
    """The name of the kernel that this thread compiles; "" if it compiles none."""
    frame = sys._getframe(1)
    while frame is not None:
        if (kernel := _kernel_of(frame)) is not None:
            return kernel.__name__
        frame = frame.f_back
    return ""


def _kernel_of(frame):
    """The JIT function that a frame knows; None if it knows none."""
    from triton.runtime.jit import JITFunction

    known = frame.f_locals
    values = (getattr(known.get("src"), "fn", None), known.get("self"))
    return next((value for value in values if isinstance(value, JITFunction)), None)


def _function_of(kernel, source: str | None):
    """The JIT function of a source: the kernel, or one that it calls."""
    from triton.runtime.jit import JITFunction

    waiting, seen = [kernel], set()
    while waiting:
        function = waiting.pop(0)
        if not isinstance(function, JITFunction) or id(function) in seen:
            continue
        seen.add(id(function))
        if function.src == source:
            return function
        names = function.fn.__globals__
        used = {name for code in _codes(function.fn.__code__) for name in code.co_names}
        values = [names[name] for name in used if name in names]
        modules = [value for value in values if inspect.ismodule(value)]
        waiting += values + [vars(module).get(name) for module in modules for name in used]
    return None


def _codes(code):
    """A code object and those within it."""
    yield code
    for constant in code.co_consts:
        if inspect.iscode(constant):
            yield from _codes(constant)


def _place(function, error) -> tuple[str, int, int]:
    """The file, line and column of an error's node, which counts them from the function's "def"."""
    node = getattr(error, "node", None)
    if function is None or not hasattr(node, "lineno"):
        return "", 0, 0
    try:
        lines, first = inspect.getsourcelines(function.fn)
    except OSError:  # the source is gone
        return "", 0, 0
    define = next((i for i, line in enumerate(lines) if line.lstrip().startswith("def ")), 0)
    indent = len(lines[define]) - len(lines[define].lstrip())
    file = function.fn.__code__.co_filename
    return file, first + define + node.lineno - 1, node.col_offset + indent + 1
