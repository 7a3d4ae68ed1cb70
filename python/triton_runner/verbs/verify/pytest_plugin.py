"""Implements pytest --triton: it sees the launches of each test, judges each by checks, and makes a test fail
whose kernels have a fault. The module triton_runner_pytest, which pytest loads, registers it.

With pytest-xdist the tests run in several processes: what a test's launches gave travels with its reports.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os

import pytest

from triton_runner import __version__, _settings
from triton_runner._artifact.relaunch import of_call
from triton_runner._base import ci_files
from triton_runner._base.ci_files import Check, Issue, Suite
from triton_runner._base.errors import DiagnosticError, KernelTrap, fail, in_a_line, source_line
from triton_runner._base.paths import write_file
from triton_runner._base.typed import as_json, of_json
from triton_runner._kernel.cases import judge
from triton_runner._kernel.cases.results import Judged
from triton_runner._kernel.compiling import failures
from triton_runner._launch import launchers
from triton_runner._launch.launchers import observing
from triton_runner._memory import uninit
from triton_runner._pipeline import stages
from triton_runner._pretend import running
from triton_runner._pretend.misuse import misuse_of
from triton_runner._settings import devices
from triton_runner._worker import llvm_passes
from triton_runner.verbs.prove import ci as prove_ci
from triton_runner.verbs.prove.results import Proof
from triton_runner.verbs.prove.text import verdicts_of
from triton_runner.verbs.verify import ci as ci_checks
from triton_runner.verbs.verify import comparisons, program, unwritten

# Those that need no thought about what a kernel is for: NaNs, infinities and divisions may be meant.
DEFAULT_CHECKS = "oob,uninit,race,overflow"
_KEY = "triton_runner"  # of what a report carries
_THREADS = "TRITON_RUNNER_THREADS"
_CUDA = "the kernels run on the CPU: with --triton-pretend-cuda, tests that say cuda get CPU tensors"
_LEAVES = "os.{}() would end pytest: neither this test nor those after it would have a result"


@dataclasses.dataclass(frozen=True)
class Unjudged:
    """A launch that could not be judged."""

    kernel: str
    why: str


@dataclasses.dataclass(frozen=True)
class Seen:
    """The result of a test's launches. kernels: the names of those launched; left_out: launches beyond
    --triton-launches."""

    test: str
    launches: int
    judged: int
    left_out: int
    kernels: list[str]
    issues: list[Issue]
    unjudged: list[Unjudged]
    proofs: list[Proof] = dataclasses.field(default_factory=list)


class _Test:
    """The launches of a test that runs now. selection: None where they are not judged."""

    def __init__(self, name: str, selection: program.Selection | None, is_strict: bool, proving=None):
        self.name, self.selection, self._is_strict = name, selection, is_strict
        self._proving = proving  # Kernels of which something is proved
        self.launches = 0
        self.kernels: dict[str, None] = {}
        self.unjudged: list[Unjudged] = []
        self.is_told = 0  # how many of its launches' verdicts were reported
        self.comparisons = (
            comparisons.Comparisons(selection.compared, selection.differed) if selection else None
        )

    def see(self, call, go) -> None:
        """A launch, which go() does."""
        self.launches += 1
        self.kernels[call.name] = None
        number = self._judged(call) if self.selection is not None else None
        go()
        if number is not None:
            program.follow(self.comparisons, self.selection.judged[number], call, number)

    def _judged(self, call) -> int | None:
        try:
            with uninit.paused():
                return self.selection.see(call)
        except Exception as error:  # whatever a compiler raises: the test's own launch will tell
            self.unjudged.append(Unjudged(call.name, in_a_line(error)))
            return None

    @contextlib.contextmanager
    def watching(self):
        """Sees what the test compares, and how its sizes belong together, inside of the block."""
        with contextlib.ExitStack() as held:
            if self.comparisons:
                held.enter_context(self.comparisons.watching())
            if self._proving:
                held.enter_context(self._proving.looking())
            yield

    def proofs(self) -> list[Proof]:
        return self._proving.proofs() if self._proving else []

    def judged(self) -> list[Judged]:
        return self.selection.judged if self.selection else []

    def ended(self, strict: bool) -> None:
        """A phase of it ended: what its launches left unwritten is known."""
        found = uninit.finish(ends=False)
        if self.selection:
            self.selection.judged = unwritten.added(self.selection.judged, found, strict)

    def passed(self) -> None:
        """Its own checks passed, which says of what they compared what values may be meant."""
        if self.selection:
            self.selection.settled(True, self._is_strict)

    def news(self) -> str:
        """The faults that were not told yet, as a person reads them."""
        new = self.judged()[self.is_told :]
        self.is_told = len(self.judged())
        return _shown(new)

    def seen(self) -> Seen:
        judged = self.judged()
        issues = [ci_checks.issue_of(finding, one) for one in judged for finding in one.findings]
        proofs = self.proofs()
        issues += _refutations(proofs)
        unjudged = self.unjudged + [
            Unjudged(one.kernel, ci_checks.check_of(one).why) for one in judged if one.verdict == "unknown"
        ]
        left_out = self.selection.left_out if self.selection else 0
        return Seen(
            self.name, self.launches, len(judged), left_out, [*self.kernels], issues, unjudged, proofs
        )


@contextlib.contextmanager
def _staying():
    """Turns what would end this process inside of the block, and with it the tests without a verdict, into a
    failure of the test. Processes that the test forks end as ever."""
    process, calls = os.getpid(), []

    def refusing(name: str, own):
        @functools.wraps(own)
        def call(*args, **kwargs):
            if os.getpid() != process:
                return own(*args, **kwargs)
            calls.append(name)
            raise pytest.fail.Exception(_LEAVES.format(name), pytrace=True)

        return call

    with contextlib.ExitStack() as held:
        for name in ("_exit", "execv", "execve"):
            own = getattr(os, name)
            setattr(os, name, refusing(name, own))
            held.callback(setattr, os, name, own)
        yield
    if calls:  # in another thread, or the test went on
        pytest.fail(_LEAVES.format(calls[0]), pytrace=False)


def _shown(judged: list[Judged]) -> str:
    lines = []
    for one in judged:
        for finding in one.findings:
            if finding.is_fault:
                place = f"{finding.file}:{finding.line}:{finding.column or 1}: " if finding.file else ""
                first, *rest = finding.text.splitlines()
                first = first.replace(f" at {place[:-2]}", "", 1) if place else first
                lines.append(f"{place}{finding.check} at {', '.join(finding.levels)}: {first}")
                lines += source_line(finding.file, finding.line, finding.column or 1) if place else []
                lines += rest
    return "\n".join(lines)


class Plugin:
    """The hooks. One for each process of pytest; the one that prints gathers what all tests gave."""

    def __init__(self, options):
        self._options = options
        self._held = contextlib.ExitStack()
        self._test: _Test | None = None
        self._seen: list[Seen] = []
        self._proofs: dict = {}  # those of tests before
        try:
            self._settle()
        except DiagnosticError as error:
            self._held.close()
            raise pytest.UsageError(str(error)) from None

    def _settle(self) -> None:
        given = {"device": self._options.triton, "level": self._options.triton_level,
                 "target": self._options.triton_target}  # fmt: skip
        # Processes and threads that tests start have them from the environment. More threads would only be in
        # the way of pytest-xdist's other processes.
        variables = {f"TRITON_RUNNER_{name.upper()}": value for name, value in given.items() if value}
        threads = {_THREADS: os.environ.get(_THREADS, "1")}
        self._held.enter_context(llvm_passes.variables(**{**threads, **variables}))
        self._held.enter_context(_settings.using(**given))
        self._device = devices.resolved_device()
        self._level = devices.cpu_target()[1]
        asked = self._options.triton_check
        self._checks = _listed(DEFAULT_CHECKS if asked is None else asked, self._level)
        self._held.enter_context(program.tracking(self._checks))
        self._held.enter_context(stages.apart())
        if self._options.triton_prove:
            from triton_runner.verbs.prove.solver import z3  # without the option nobody needs it

            z3()
        running.prepare(self._options.triton_pretend_cuda)
        self._held.enter_context(observing(self._see))

    @launchers.sees_empty
    def _see(self, call, go) -> None:
        if self._test is None:
            go()
        else:
            self._test.see(call, go)

    def _judged_of(self, checks: tuple):
        strict = self._options.triton_strict
        return lambda call: judge.check(of_call(call), self._level, checks, strict)

    def _selection(self, item) -> program.Selection | None:
        marker = item.get_closest_marker("triton_check")
        checks = self._checks if marker is None else _listed(",".join(marker.args), self._level)
        names, most = self._options.triton_kernel or (), self._options.triton_launches
        return program.Selection(self._judged_of(checks), names, most) if checks else None

    def _proving(self):
        from triton_runner.verbs.prove.tests import Kernels  # without it nobody needs Z3

        return Kernels(self._options.triton_kernel or (), self._options.triton_launches, self._proofs)

    # --- hooks

    def pytest_configure(self, config):
        # On the CPU nothing is fused that the settings do not say.
        config.addinivalue_line("filterwarnings", "ignore:TRITON_DEFAULT_FP_FUSION is unset")

    def pytest_unconfigure(self):
        self._held.close()

    def pytest_report_header(self):
        return f"triton-runner {__version__}: {self._how()}"

    def _how(self) -> str:
        where = "the CPU" if self._device == "cpu" else f"the GPU ({self._device})"
        level = f" at {self._level}" if self._device == "cpu" else f", checked at {self._level}"
        pretends = "; torch.cuda reports a CUDA device" if self._options.triton_pretend_cuda else ""
        return f"kernels run on {where}{level}{pretends}; checks: {', '.join(self._checks)}"

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item):
        wrong = None
        try:
            proving = self._proving() if self._options.triton_prove else None
            self._test = _Test(item.nodeid, self._selection(item), self._options.triton_strict, proving)
        except DiagnosticError as error:
            self._test, wrong = _Test(item.nodeid, None, False), error
        result = yield
        if wrong is not None:
            pytest.fail(f"its marker triton_check: {wrong}", pytrace=False)
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item):
        result = yield from self._failing(item, "call")
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item):
        result = yield from self._failing(item, "teardown")
        return result

    def _failing(self, item, when: str):
        """A phase of a test, which fails if its launches have faults."""
        test = self._test
        try:
            with _staying(), test.watching() if test is not None else contextlib.nullcontext():
                result = yield
        except pytest.skip.Exception:
            raise
        except BaseException:
            if test is not None:
                test.ended(self._options.triton_strict)
            if test is not None and (faults := test.news()):
                item.add_report_section(when, "kernels", faults)
            raise
        if test is not None:
            test.ended(self._options.triton_strict)
            test.passed()
            refuted = _refuted(test.proofs()) if when == "call" else ""
            if faults := "\n".join(filter(None, [test.news(), refuted])):
                pytest.fail(faults, pytrace=False)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        asks_for_cuda = bool(call.excinfo) and self._asks_for_cuda(call.excinfo.value)
        if call.excinfo:
            self._shorten(call, asks_for_cuda)
        report = yield
        if report.failed and asks_for_cuda:
            report.longrepr.addsection("triton-runner", _CUDA)
        if report.failed and call.excinfo and (lines := failures.explained(call.excinfo.value)):
            report.longrepr = "\n".join(lines)  # a kernel was not compiled: no traceback says more
        if call.when == "teardown" and self._test is not None:
            setattr(report, _KEY, as_json(self._test.seen()))
            self._test = None
        return report

    def pytest_exception_interact(self, call, report):
        """Names the option below a file of tests that cannot be imported without a GPU."""
        if isinstance(report, pytest.CollectReport) and self._asks_for_cuda(call.excinfo.value):
            report.sections.append(("triton-runner", _CUDA))

    def _asks_for_cuda(self, error: BaseException) -> bool:
        is_there = self._options.triton_pretend_cuda or self._device != "cpu"
        return not is_there and running.asks_for_cuda(error)

    def _shorten(self, call, is_told: bool) -> None:
        """Takes our frames out of a test's traceback; where the message tells all, every frame below the
        test's own line."""
        frames = call.excinfo.value.__traceback__
        error = misuse_of(call.excinfo.value) or call.excinfo.value
        frames = running.own_frames(frames, is_told or isinstance(error, (DiagnosticError, KernelTrap)))
        if frames is not None:
            call.excinfo = pytest.ExceptionInfo.from_exception(error.with_traceback(frames))

    def pytest_runtest_logreport(self, report):
        if seen := getattr(report, _KEY, None):
            self._seen.append(of_json(Seen, seen))

    def pytest_terminal_summary(self, terminalreporter, config):
        if config.option.collectonly:
            return
        terminalreporter.section("kernels of Triton")
        for line in _summary(self._seen, self._how()):
            terminalreporter.write_line(line)
        suite = _suite(self._seen)
        for line in ci_files.annotations(suite) if self._options.triton_github else ():
            terminalreporter.write_line(line)
        if file := self._options.triton_sarif:
            write_file(file, ci_files.sarif(suite))


def _listed(text: str, level: str) -> tuple:
    """The checks that a text names. Raises DiagnosticError for one that does not look at the level."""
    if text == "all":
        return tuple(check for check in judge.CHECKS if judge.looks(check, level))
    checks = judge.checks_of(text) if text else ()
    for check in checks:
        if not judge.looks(check, level):
            raise fail(f"check {check!r} does not exist at {level}", "leave it out, or choose another level")
    return checks


def _summary(seen: list[Seen], how: str) -> list[str]:
    """Says what ran, and what was found."""
    launching = [one for one in seen if one.launches]
    kernels = {name for one in launching for name in one.kernels}
    judged, launches = sum(one.judged for one in seen), sum(one.launches for one in seen)
    lines = [how]
    if not launching:
        return [*lines, f"no kernel was launched in {_counted(len(seen), 'test')}"]
    lines.append(
        f"{_counted(len(kernels), 'kernel')}, {_counted(launches, 'launch')} in {len(launching)} of "
        f"{_counted(len(seen), 'test')}; {judged} different ones judged"
    )
    issues: dict[Issue, list[str]] = {}
    for one in seen:
        for issue in one.issues:
            issues.setdefault(dataclasses.replace(issue, message="", column=0), [issue.message]).append(
                one.test
            )
    for issue, (message, *tests) in issues.items():
        tests = [*dict.fromkeys(tests)]
        place = f"{ci_files.shown_path(issue.file)}:{issue.line}" if issue.file else issue.kernel
        more = f" and {len(tests) - 1} more" if len(tests) > 1 else ""
        lines.append(f"{'fault' if issue.level == 'error' else issue.level}, {issue.rule} at {place}")
        first, *rest = message.splitlines()
        reason = [f"  {rest[-1]}"] if rest and issue.level != "error" else []  # why it is not a fault
        lines += [f"  {first}", *reason, f"  {tests[0]}{more}"]
    if left_out := sum(one.left_out for one in seen):
        lines.append(f"not judged: {_counted(left_out, 'launch')} more (--triton-launches)")
    whys: dict[Unjudged, int] = {}
    for one in seen:
        for unjudged in one.unjudged:
            whys[unjudged] = whys.get(unjudged, 0) + 1
    lines += [f"could not be judged: {_counted(n, 'launch')} of {u.kernel}: {u.why}" for u, n in whys.items()]
    lines += _proved(seen)
    faults = sum(issue.level == "error" for issue in issues)
    lines.append(f"{_counted(faults, 'fault')}, {_counted(len(issues) - faults, 'warning')}")
    return lines


def _refutations(proofs: list[Proof]) -> list[Issue]:
    issues = [issue for one in proofs for answer in one.answers for issue in prove_ci.issues_of(one, answer)]
    return [issue for issue in issues if issue.level == "error"]


def _refuted(proofs: list[Proof]) -> str:
    """The refutations, as a person reads them."""
    return "\n".join(f"{one.file}:{one.line}: {one.message}" for one in _refutations(proofs))


def _proved(seen: list[Seen]) -> list[str]:
    """A line for each kernel of which something was to be proved."""
    proofs = {(proof.kernel, repr(proof.assumptions)): proof for one in seen for proof in one.proofs}
    return [f"for every size, {verdicts_of(proof)}" for proof in proofs.values()]


def _counted(number: int, what: str) -> str:
    plural = f"{what}es" if what.endswith("ch") else f"{what}s"
    return f"{number} {what if number == 1 else plural}"


def _suite(seen: list[Seen]) -> Suite:
    checks = []
    for one in seen:
        faults = [issue for issue in one.issues if issue.level == "error"]
        why = faults[0].message.splitlines()[0] if faults else ""
        state = "failed" if faults else "passed"
        checks.append(Check(one.test, one.test.partition("::")[0], state, why, issues=tuple(one.issues)))
    status = int(any(check.state == "failed" for check in checks))
    rules = {**ci_checks.RULES, **prove_ci.RULES}
    return Suite("pytest", "pytest", __version__, tuple(checks), "", status, rules)
