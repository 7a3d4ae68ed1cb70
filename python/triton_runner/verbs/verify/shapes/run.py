"""Runs `verify --shapes`: is a function right for other sizes, strides, types and values than it was tried
with?

It runs the program once and looks at the calls of the function, calls it in other ways, and makes the call
that shows a fault as small as it gets."""

from __future__ import annotations

import dataclasses
import importlib.util
import itertools
import os
import random
import sys
import time

import numpy

from triton_runner._base.errors import DiagnosticError, fail, in_a_line
from triton_runner._kernel.cases import fingerprint
from triton_runner._kernel.cases.results import NO_FAULT
from triton_runner._pretend import running
from triton_runner._programs.replaced import Names
from triton_runner._worker import program_file
from triton_runner.verbs.verify.shapes import declared, hints
from triton_runner.verbs.verify.shapes.calling import Calling, Outcome
from triton_runner.verbs.verify.shapes.calls import Recorder
from triton_runner.verbs.verify.shapes.cases import FAMILIES, MOST_ELEMENTS, Case, cases
from triton_runner.verbs.verify.shapes.domain import Domain
from triton_runner.verbs.verify.shapes.generalised import domains, moderate
from triton_runner.verbs.verify.shapes.launching import CHECKS, Launching, tuned
from triton_runner.verbs.verify.shapes.lines import line_of
from triton_runner.verbs.verify.shapes.results import SCHEMA, Called, Found, Hint, Shapes
from triton_runner.verbs.verify.shapes.smaller import Smaller

_FORMS = 4  # of calls, at most
_nothing = lambda text: None  # noqa: E731


@dataclasses.dataclass
class Options:
    """The options of a request. dims: of --dims; vary: families of cases; most: cases; seconds: after which
    no other case is begun, 0 for no limit; calls: a program that calls the function, "" for its own."""

    reference: str = ""
    dims: tuple = ()
    vary: tuple = ()
    most: int = 60
    seconds: float = 0.0
    seed: int = 0
    calls: str = ""
    checks: tuple = CHECKS
    pretend_cuda: bool = False
    strict: bool = False


def split(text: str, option: str = "") -> tuple[str, str]:
    """(file, function) of "program.py:fn"."""
    file, colon, name = text.rpartition(":")
    if not colon or not name or not file.endswith(".py"):
        raise fail(f"{option}{text}: expected program.py:function", "as in ops.py:matmul")
    if not os.path.isfile(file):
        raise fail(f"no such file: {file}")
    return file, name


def verify_shapes(what: str, arguments=(), options: Options | None = None, say=_nothing) -> Shapes:
    """The verdict on a function, "program.py:fn"."""
    options = options or Options()
    started = time.perf_counter()
    file, name = split(what)
    reference = split(options.reference, "--reference ") if options.reference else None
    run = _Program(file, name, arguments, options, say)
    function = run.function
    if reference is None:
        compared_with = None
    else:
        same = os.path.realpath(reference[0]) == os.path.realpath(file)
        compared_with = run.named(reference[1], reference[0]) if same else _imported(*reference)
    forms, source = _forms(run, function, options, compared_with is not None)
    launching = Launching(options.checks, full=max(4, options.most // 8), say=say)
    calling = Calling(function, compared_with, forms, options.seed, launching)
    judging = _Judging(calling, options, say, started)
    with numpy.errstate(all="ignore"):  # infinities and NaNs are what the calls are about
        judging.all_cases()
        found = judging.smallest()
    replaced = [Hint(*one) for one in run.names.replaced()]
    more = [*replaced, *judging.hints, *hints.without_launch(judging.calls)]
    more = list({(hint.kind, hint.message): hint for hint in more}.values())
    verdict = judging.verdict(found, more if options.strict else [])
    return Shapes(
        SCHEMA, verdict, what, options.reference or None, source, [_form_as_json(one) for one in forms],
        options.seed, found, more, judging.calls, {"name": run.program, "status": run.status},
        round(time.perf_counter() - started, 3), fingerprint.taken(), _compared(options),
        _why(verdict, run, calling), options.strict,
    )  # fmt: skip


def unfinished(what: str, options: Options, status: int, signal: str) -> Shapes:
    """The verdict where the program ended its process while it ran. status, signal: how it ended."""
    how = f"was killed by {signal}" if signal else f"ended this process by itself, with status {status}"
    program = options.calls or split(what)[0]
    return Shapes(
        SCHEMA, "unknown", what, options.reference or None, program, [], options.seed, [], [], [],
        {"name": program, "status": status}, 0.0, fingerprint.taken(), "none",
        [f"{program} {how}, before its calls of {split(what)[1]}() were judged"], options.strict,
    )  # fmt: skip


def _compared(options: Options) -> str:
    return "reference" if options.reference else "none"


def _why(verdict: str, run: _Program, calling: Calling) -> list[str]:
    """The lines on what a verdict does not rest on."""
    lines = []
    if run.status:
        lines.append(f"{run.program} ended with status {run.status}: a check of its own may have failed")
    if calling.reference is None and calling.leaves:
        lines.append(f"the usual call leaves a part of its result as it was: {calling.leaves}")
    if verdict == NO_FAULT:
        lines.append("nothing here compares the results: --reference FILE:FUNCTION")
    return lines


class _Program:
    """The program, which has run: its function, the calls that it made of it."""

    def __init__(self, file: str, name: str, arguments, options: Options, say):
        self.file, self.name = file, name
        self.program = options.calls or file
        say(f"running {self.program}")
        running.prepare(options.pretend_cuda)
        self.names = Names()
        _seed(options.seed)
        with Recorder(file, name) as recorder, tuned(0):
            if options.calls and os.path.basename(options.calls).startswith("test_"):
                self.status = _run_tests(options.calls, arguments)
            else:
                self.status = running.run_program(self.program, list(arguments), False, options.pretend_cuda)
        self.calls, self.namespace = recorder.calls, recorder.namespace
        self.function = self.named(name, file)

    def named(self, name: str, file: str):
        """A function of the file by its name."""
        if self.namespace is None:
            return _imported(file, name)
        return _attribute(self.namespace, file, name)


def _seed(seed: int) -> None:
    """Programs that draw numbers without a seed of their own draw the same each time."""
    random.seed(seed)
    numpy.random.seed(seed)
    if torch := sys.modules.get("torch"):
        torch.manual_seed(seed)


def _attribute(namespace: dict, file: str, name: str):
    first, *rest = name.split(".")
    value = namespace.get(first)
    for part in rest:
        value = getattr(value, part, None)
    if value is None:
        names = [n for n, v in namespace.items() if callable(v) and not hasattr(v, "run") and n[0] != "_"]
        own = [n for n in names if getattr(namespace[n], "__module__", "") == namespace.get("__name__")]
        raise fail(f"{file} has no function {name!r}", f"its functions: {', '.join(own) or 'none'}")
    if not callable(value) or (hasattr(value, "fn") and hasattr(value, "run")):
        raise fail(
            f"{name} of {file} is a kernel, and no function that launches one"
            if hasattr(value, "run") else f"{name} of {file} is a {type(value).__name__}, and no function",
            "name the Python function whose arguments vary; its grid is its own",
        )  # fmt: skip
    return value


def _imported(file: str, name: str):
    """A function of another file, which is imported."""
    sys.path.insert(0, os.path.dirname(os.path.abspath(file)))
    module_name = os.path.splitext(os.path.basename(file))[0]
    module = sys.modules.get(module_name)
    if module is None or os.path.realpath(getattr(module, "__file__", None) or "") != os.path.realpath(file):
        spec = program_file.spec_of(module_name, file)
        module = importlib.util.module_from_spec(spec)
        sys.modules[module_name] = module
        try:
            spec.loader.exec_module(module)
        except Exception as error:
            raise fail(f"{file} cannot be imported: {in_a_line(error)}") from None
    return _attribute(vars(module), file, name)


def _run_tests(file: str, arguments) -> int:
    """Runs the tests of a file."""
    import pytest

    status = pytest.main(["-q", "-p", "no:cacheprovider", file, *arguments])
    if status == pytest.ExitCode.INTERRUPTED:
        raise KeyboardInterrupt
    return int(status)


def _forms(run: _Program, function, options: Options, is_checked: bool) -> tuple[list[Domain], str]:
    """The forms of calls that the function takes, and where they come from."""
    device = "cuda" if options.pretend_cuda else "cpu"
    said = declared.together(declared.of_function(function), declared.of_texts(options.dims))
    seen = domains(run.calls, is_checked)[:_FORMS]
    if not said and not seen:
        raise fail(
            f"nothing says what {run.name}() takes: {run.program} makes no call of it"
            + (f" (it ended with status {run.status})" if run.status else ""),
            'declare it: @triton_runner.testing.dims(M=(0, 5000), x="f32[M, 64]"), annotations of that form, '
            "or --dims; or name a program that calls it: --calls",
        )  # fmt: skip
    source = f"{len(run.calls)} calls of {run.program}" if len(run.calls) != 1 else f"a call of {run.program}"
    if said:
        seen = [declared.domain(function, said, one, device) for one in seen or [None]]
        source = f"what is declared, and {source}" if run.calls else "what is declared"
    return [moderate(one, MOST_ELEMENTS) for one in seen], source


def _form_as_json(domain: Domain) -> dict:
    return {
        "arguments": {name: str(value) for name, value in domain.arguments.items()},
        "sizes": {name: str(size) for name, size in domain.sizes.items()},
        "frozen": domain.frozen,
    }


class _Judging:
    """The calls of all cases, and what they show."""

    def __init__(self, calling: Calling, options: Options, say, started: float):
        self.calling, self._options, self._say, self._started = calling, options, say, started
        self.calls: list[Called] = []
        self.hints: list[Hint] = []
        self._shown: dict[tuple, list[tuple[Case, object]]] = {}  # cases by the fault that they show

    @property
    def _is_late(self) -> bool:
        limit = self._options.seconds
        return bool(limit) and time.perf_counter() - self._started > limit

    def all_cases(self) -> None:
        calling, forms = self.calling, self.calling.domains
        vary = self._options.vary
        drawn = cases(forms, vary or FAMILIES, self._options.seed, calling.tried, "huge" in vary)
        for number, case in enumerate(itertools.islice(drawn, self._options.most)):
            if self._is_late:
                break
            self._say(f"call {number}: {case}")
            calling.is_usual = number < len(forms)
            outcome = calling.outcome(case)
            if calling.is_usual:
                self._usual(case, outcome)
            self.calls.append(outcome.called(number, case))
            for fault in outcome.faults:
                self._shown.setdefault(fault.same, []).append((case, fault))

    def _usual(self, case: Case, outcome: Outcome) -> None:
        if outcome.state == "outside":
            raise fail(
                f"the reference does not take what the function is called with: {outcome.why}",
                "it is called with the same arguments",
            )
        self.hints += hints.of_usual(self.calling, case, outcome)

    def smallest(self) -> list[Found]:
        """Each fault with the smallest call that shows it."""
        found = []
        for same, shown in self._shown.items():
            case, fault = shown[0]
            self._say(f"making smaller: {case}")
            last = {}

            def fails(tried: Case, same=same, last=last) -> bool:
                if self._is_late:
                    return False
                faults = [fault for fault in self.calling.outcome(tried).faults if fault.same == same]
                last[str(tried)] = faults[:1]
                return bool(faults)

            smaller = Smaller(self.calling.domains[case.form], case, fails)
            small = smaller.case
            fault = (last.get(str(small)) or [fault])[0]
            if fault.kind == "result" and not self._is_late:
                line = line_of(self.calling, small)
                fault = line.of(fault) if line is not None else fault
            found.append(
                Found(fault, str(small), small.sizes, small.layouts, small.dtypes, small.values, str(case),
                      len(shown), smaller.tries)
            )  # fmt: skip
        return found

    def verdict(self, found: list[Found], strict_hints: list[Hint]) -> str:
        if found or strict_hints:
            return "wrong"
        states = {call.state for call in self.calls if call.launches}
        return next((state for state in ("right", NO_FAULT) if state in states), "unknown")


__all__ = ["DiagnosticError", "Options", "split", "verify_shapes"]
