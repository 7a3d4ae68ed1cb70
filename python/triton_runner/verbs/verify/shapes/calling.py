"""Calls the function once with the arguments of a case, and compares what came of it with the reference
(compared.py)."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import time
import traceback

import numpy

from triton_runner import _settings
from triton_runner._base.errors import DiagnosticError, KernelTrap, in_a_line, package_folders
from triton_runner._memory import tracking, uninit_torch
from triton_runner.verbs.verify.shapes import compared, inputs
from triton_runner.verbs.verify.shapes.cases import Case, Tried
from triton_runner.verbs.verify.shapes.compared import Different
from triton_runner.verbs.verify.shapes.domain import Domain
from triton_runner.verbs.verify.shapes.launching import UNJUDGED, Launching, Watch, tuned
from triton_runner.verbs.verify.shapes.ran import Ran, paired, perform, same
from triton_runner.verbs.verify.shapes.results import JUDGED, NO_FAULT, Called, Fault

REFUSALS = (ValueError, AssertionError, TypeError, RuntimeError)
_PERTURBED = (1, 2, 3)
_ELSEWHERE = 8  # sets of tensors that are held while others are made


@dataclasses.dataclass
class Outcome:
    """The outcome of a case."""

    state: str
    why: str = ""
    faults: list = dataclasses.field(default_factory=list)
    watch: Watch | None = None
    ran: Ran | None = None
    seconds: float = 0.0

    def called(self, number: int, case: Case) -> Called:
        launches = self.watch.launches if self.watch else []
        fields = {field.name: getattr(case, field.name) for field in dataclasses.fields(case)}
        return Called(
            number, str(case), **fields, state=self.state, why=self.why, faults=self.faults,
            launches=launches, seconds=round(self.seconds, 3),
        )  # fmt: skip


class Calling:
    """Calls of one function. reference: None, its results are compared with nothing; leaves: which part of
    their results the usual calls leave unwritten, as others then may."""

    def __init__(self, function, reference, domains: list[Domain], seed: int, launching: Launching):
        self.function, self.reference = function, reference
        self.domains, self.seed, self.launching = domains, seed, launching
        self.tried = Tried()
        self.leaves = ""
        self.is_usual = True
        name = getattr(function, "__name__", "")
        self._may_write = name.endswith("_") and not name.endswith("__")  # add_(), as torch names it

    def inout(self, case: Case) -> list[str]:
        """The arguments that the function is meant to write to, as far as somebody says so."""
        tensors = self.domains[case.form].tensors().items()
        return [path for path, tensor in tensors if tensor.inout or self._may_write]

    def outcome(self, case: Case) -> Outcome:
        started = time.perf_counter()
        outcome = self._huge(case) if case.huge else self._outcome(case)
        outcome.seconds = time.perf_counter() - started
        if outcome.state not in JUDGED:
            self.tried.unjudged.add(str(case))
        return outcome

    def _outcome(self, case: Case) -> Outcome:
        want = None
        if self.reference is not None:
            try:
                want = perform(self.reference, self.made(case))
            except Exception as error:
                return Outcome("outside", f"the reference refuses it: {_first_line(error)}")
            self.tried.written_by_reference |= {*want.written}
        outcome = self._run(case)
        if outcome.ran is None:
            return outcome
        self.tried.written |= {*outcome.ran.written}
        faults = [*outcome.watch.faults, *outcome.faults]
        if want is not None and not outcome.faults:
            faults += self._compared(case, want, outcome.ran)
        if case.repeated:
            faults += self._repeated(case, outcome)
        outcome.faults = faults
        fine = "right" if want is not None else NO_FAULT
        outcome.state = "wrong" if faults else "not judged" if outcome.watch.unjudged else fine
        outcome.why = outcome.watch.unjudged
        return outcome

    def made(self, case: Case, **options) -> inputs.Made:
        return inputs.made(self.domains[case.form], case, self.seed, **options)

    def _run(self, case: Case) -> Outcome:
        """The call itself, its launches watched."""
        made = self.made(case)
        with self.launching.watching(case) as watch, poisoned():
            try:
                ran = perform(self.function, made)
            except Exception as error:
                return self._ended(error, watch, case)
            left = _unwritten(ran.returned)
        outcome = Outcome(NO_FAULT, watch=watch, ran=ran)
        if self.is_usual:
            self.leaves = self.leaves or left
        elif left and not self.leaves:
            outcome.faults.append(Fault("unwritten", left))
        return outcome

    def _ended(self, error: Exception, watch: Watch, case: Case) -> Outcome:
        """Returns what an exception means: a refusal, a fault, or nothing that can be judged."""
        if isinstance(error, KernelTrap) and error.kind == "interrupted":
            raise KeyboardInterrupt from None
        text = f"{type(error).__name__}: {_first_line(error)}"
        if isinstance(error, KernelTrap) and error.kind in UNJUDGED and not watch.faults:
            return Outcome("not judged", text, [], watch)
        if isinstance(error, KernelTrap):
            faults = watch.faults or [
                Fault("oob" if error.kind == "out of bounds" else "trap", _first_line(error), error.kernel,
                      error.file, error.line)
            ]  # fmt: skip
            return Outcome("wrong", text, faults, watch)
        if watch.faults:
            return Outcome("wrong", text, watch.faults, watch)
        in_launch = _is_in_launch(error)
        if isinstance(error, DiagnosticError):
            return Outcome("not judged", text, [], watch)
        if isinstance(error, REFUSALS) and not in_launch and not watch.launches:
            return Outcome("refused", text, [], watch)
        domain = self.domains[case.form]
        if domain.declared and domain.sizes and not case.dtypes and not case.layouts:
            where = "at a launch" if in_launch else "in the function"
            place = traceback.extract_tb(error.__traceback__)
            own = [frame for frame in place if not frame.filename.startswith((*package_folders(), "<"))]
            frame = own[-1] if own else place[-1]
            message = f"it raises {text}, {where}, for sizes that are declared"
            return Outcome("wrong", text, [Fault("error", message, "", frame.filename, frame.lineno)], watch)
        return Outcome("error", text, [], watch)

    # --- comparisons

    def _compared(self, case: Case, want: Ran, got: Ran) -> list[Fault]:
        faults, inout = [], self.inout(case)
        odd = [path for path in got.written if path not in want.written and path not in inout]
        if got.returns and odd and want.returns:
            faults.append(
                Fault(
                    "writes",
                    f"it writes to its argument {odd[0]!r}, and the reference does not; if it is meant to, "
                    f"say so: --dims '{odd[0].partition('[')[0]}=inout'",
                )
            )
        if different := self.differ(case, want, got, functools.partial(self._moved, case)):
            faults.append(Fault("result", different.text))
        return faults

    def differ(self, case: Case, want: Ran, got: Ran, moved=list, again: int = 0) -> Different | None:
        """How what two calls gave differs; None: it does not."""
        pairs = paired(want, got, self.inout(case), self.tried)
        if isinstance(pairs, str):
            return Different(pairs)
        opinions = compared.Opinions(
            self._kinds(case, self.domains[case.form]),
            functools.cache(lambda: self._exact(case, again)),
            functools.cache(lambda: [_named(one, pairs) for one in moved()]),
            self.launching.narrow and not again,
        )
        wanted = {theirs: want.everything[theirs] for theirs, _ in pairs}
        different = compared.compare(wanted, _named(got, pairs), opinions)
        return different and dataclasses.replace(different, ours=dict(pairs)[different.theirs])

    def _kinds(self, case: Case, domain: Domain) -> set:
        kinds = {case.dtype(tensor) for tensor in domain.tensors().values()}
        return kinds | ({"f16"} if self.launching.tf32 else set())

    def _exact(self, case: Case, again: int = 0) -> dict | None:
        """The reference's results in f64; None where it does not take that."""
        if self.reference is None:
            return None
        try:
            return perform(self.reference, self.made(case, exact=True, again=again)).everything
        except Exception:  # whatever the reference raises of types that it does not know
            return None

    def _moved(self, case: Case) -> list[Ran]:
        if self.launching.narrow:
            return []
        runs = []
        for seed in _PERTURBED:
            with _settings.using(perturb=seed, threads=1), _tuned(case), poisoned():
                try:
                    runs.append(perform(self.function, self.made(case)))
                except (KernelTrap, *REFUSALS):
                    return []
        return runs

    def reference_ran(self, case: Case) -> Ran:
        return perform(self.reference, self.made(case))

    def without_kernels(self, case: Case) -> dict | None:
        """The results where launches do nothing; None where the function does not get to its end."""
        with self.launching.watching(case, skip=True), poisoned():
            try:
                return perform(self.function, self.made(case)).results
            except Exception:  # it finds out that nothing was computed
                return None

    # --- calls that are made again

    def _repeated(self, case: Case, first: Outcome) -> list[Fault]:
        """Calls again with other elements in the same tensors, and compares with a call that has these
        elements in tensors of its own."""
        elsewhere = [self.made(case) for _ in range(_ELSEWHERE)]
        other = self.made(case, again=1)  # where no earlier call had its tensors
        del elsewhere
        kept = compared.arrays(compared.results(first.ran.returned))
        with _settings.using(threads=1), _tuned(case), poisoned():
            try:
                fresh = perform(self.reference or self.function, other)
                reused = first.ran.made
                _put(reused.tensors, self.made(case, again=1).tensors)
                again = perform(self.function, reused)
            except Exception:  # the first call went well: what differs is judged by its results alone
                return []
        now = compared.arrays(compared.results(first.ran.returned))
        faults = []
        if different := self.differ(case, fresh, again, again=1):
            text = different.text
            if self.reference is None:
                text = text.replace("the reference", "a first call")
            faults.append(
                Fault("repeat", f"called again with other numbers in the same tensors, it is wrong: {text}")
            )
        changed = [path for path, array in kept.items() if not same(array, now[path])]
        if changed and not first.ran.shared:
            faults.append(Fault("repeat", f"a later call changes {changed[0]} of an earlier one"))
        return faults

    # --- sizes that are too large to have

    def _huge(self, case: Case) -> Outcome:
        """A call with ghosts, of whose launches the last programs run."""
        with self.launching.watching(case) as watch:
            try:
                made = self.made(case)
                with _ghosts():
                    self.function(*made.positional, **made.named)
            except DiagnosticError as error:
                if watch.faults or not watch.launches:
                    return Outcome(
                        "wrong" if watch.faults else "not judged", error.message, watch.faults, watch
                    )
            except Exception as error:
                return self._ended(error, watch, case)
        return Outcome("wrong" if watch.faults else NO_FAULT, "", watch.faults, watch)


def _named(ran: Ran, pairs: list) -> dict:
    """Returns what a call of the function gave, by the paths of the reference's."""
    return {theirs: ran.everything[ours] for theirs, ours in pairs if ours in ran.everything}


def _tuned(case: Case):
    return tuned(case.config)


def _put(tensors: dict, others: dict) -> None:
    """Other elements in the same memory."""
    for path, tensor in tensors.items():
        if hasattr(tensor, "untyped_storage"):
            source = others[path].detach()
            target = tensor.detach()
            for dim, stride in enumerate(target.stride()):
                if stride == 0 and target.shape[dim] > 1:
                    target, source = target.narrow(dim, 0, 1), source.narrow(dim, 0, 1)
            target.copy_(source)
        else:
            tensor[...] = others[path]


def _first_line(error: BaseException) -> str:
    while type(error).__name__ == "CompilationError" and error.__cause__ is not None:
        error = error.__cause__
    return in_a_line(error).removeprefix(f"{type(error).__name__}: ")[:300] or type(error).__name__


def _is_in_launch(error: BaseException) -> bool:
    """Returns whether it comes out of Triton or of this package."""
    frames = traceback.extract_tb(error.__traceback__)
    folders = package_folders()
    return any(frame.filename.startswith(folders) and frame.name == "run" for frame in frames)


def poisoned():
    """Memory of torch.empty is full of NaN (-1 of integers), and known until something writes to it."""
    return tracking.track_empty(byte=0xFF)


def _unwritten(returned) -> str:
    """Names what of the results nothing ever wrote to; "" where all was written."""
    for path, value in compared.results(returned).items():
        if hasattr(value, "untyped_storage") and (view := uninit_torch.view_of(value)) is not None:
            where = view.undefined
            first = [int(i) for i in numpy.argwhere(where)[0]]
            return (
                f"{path}: {int(where.sum())} of {where.size} elements are never written, the first "
                f"is element {first}"
            )
    return ""


@contextlib.contextmanager
def _ghosts():
    """Tensors that the function makes are ghosts where they are large."""
    import torch
    from torch.overrides import TorchFunctionMode

    from triton_runner._memory import ghost_tensor  # with torch

    least = 1 << 30

    class Ghosts(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            name = getattr(function, "__name__", "")
            if name in ("empty", "zeros", "ones", "full", "empty_strided"):
                own = {key: value for key, value in kwargs.items() if key != "device"}
                with torch._C.DisableTorchFunction():
                    if (ghost := ghost_tensor.made_by(function, args, own, least)) is not None:
                        return ghost
            return function(*args, **kwargs)

    with Ghosts():
        yield


def tensor_subclasses(ran: Ran) -> list[str]:
    """The results that are tensors of another class than torch's own."""
    import torch

    values = compared.results(ran.returned).items()
    plain = (torch.Tensor, torch.nn.Parameter)
    return [path for path, value in values if isinstance(value, torch.Tensor) and type(value) not in plain]
