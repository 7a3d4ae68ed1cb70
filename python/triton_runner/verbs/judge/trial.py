"""Runs one trial: an answer to a task, judged in the parent from bytes.

answer's process     gets inputs, gives steps and its own result        holds no reference, may lie
broker               does the steps from the same inputs                holds no reference, holds no answer
reference's process  gives inputs, and what they should give            sees no answer
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
import secrets

from triton_runner import _core
from triton_runner._base import scratch
from triton_runner._base.typed import of_json
from triton_runner._kernel.cost.chips import chip_named
from triton_runner._kernel.cost.timing import TIMINGS
from triton_runner._memory import compared
from triton_runner.verbs.judge import answer as answering
from triton_runner.verbs.judge import between, broker, evidence, processes, reference, wire
from triton_runner.verbs.judge.results import (
    RANK,
    STATUS,
    VERSION,
    Case,
    Cost,
    Fault,
    Generated,
    Row,
    Speed,
    Time,
)


@dataclasses.dataclass(frozen=True)
class Options:
    """The options of trials. seconds: CPU time of an answer; inputs, memory: bytes; sandbox: "auto" or
    "require"; generated: whether the second verdict is made."""

    seconds: float = 60.0
    memory: int = 8 << 30
    inputs: int = 32 << 20
    sandbox: str = "auto"
    generated: bool = True
    seed: int | None = None
    format: str | None = None
    chip: str | None = None


_REFILLED = ("again", "third", "late")  # calls whose inputs come in the memory of those before
# Calls with the same inputs: at least so many, at most, CPU seconds and bytes beyond which no more than the
# least follow. How many there are is drawn, as an answer may be right as often as it is called here.
_FEW, _MANY, _MOST_SECONDS, _MOST_BYTES = (3, 6), (16, 80), 1.0, 256 << 20
_MOST_CHOICES = 8  # configurations of an autotuner that are tried
_MOST_NEW = 2  # of them that are looked at as their steps are new, beside the last one
_OF_A_CALL = ("steps", "result", "state", "kernels", "inputs")  # what the broker gets


class NoTask(Exception):
    """The task cannot be judged by, whatever the answer is."""


class _Stopped(Exception):
    """A fault after which an answer gives nothing more."""

    def __init__(self, fault: Fault):
        super().__init__(fault.message)
        self.fault = fault


class Trial:
    """An answer to a task, and what is known of it so far."""

    def __init__(self, task: str, answer: str, options: Options):
        self._task, self._answer, self._options = task, answer, options
        self.seed = -1  # until the answer has its process, whose memory is a copy of this one's
        self.faults: list[Fault] = []
        self.notes: list[str] = []
        self._tensors: dict = {}  # of the answer, by number: what they are called
        self.launches, self.kernels, self.sandboxed, self.scaled = 0, [], False, {}
        self._own: evidence.Call | None = None  # the first call
        self._generated: Generated | None = None
        self._speed: Speed | None = None

    def row(self) -> Row:
        """Judges the answer. Raises NoTask."""
        with contextlib.ExitStack() as stack:
            self._start(stack)
            try:
                self._prepare()
                for _ in self._parts():
                    if self.faults:
                        self._explain()
                        break
                self._doubt_the_reference()
            except _Stopped as stop:
                self.faults.append(stop.fault)
            except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
                told = f"its process sent steps that cannot be followed ({type(error).__name__}: {error})"
                self.faults.append(
                    Fault("not_judged", told[:300], "leave triton_runner's modules as they are")
                )
        own = self._processes
        cost = Cost(*(round(one.seconds, 2) for one in own), self._options.seconds)
        self.faults = [self._shown(fault) for fault in _once(self.faults)]
        self.notes = [printable(self._with_path(note)) for note in self.notes]
        self.kernels = [printable(name)[:200] for name in self.kernels]
        verdict = self.faults[0].verdict if self.faults else "verified"
        why = self.faults[0].message if self.faults else self._why()
        return Row(
            VERSION, self._task, self._answer, verdict, STATUS[verdict], why, self.faults,
            list(dict.fromkeys(self.notes)), self.launches, self.kernels, self.seed, self.sandboxed,
            self.scaled, cost, self._generated, self._speed,
        )  # fmt: skip

    def _parts(self):
        """Calls the answer, part by part; the next one is for an answer in which nothing was found."""
        own, again = self._call("own"), self._call("again")
        self._own = own
        self.notes += own.weights_unread(self._equal_weights)
        self.faults += between.with_others(own, again)
        yield
        if not own.is_like(again):  # the first call may have prepared something
            again, before = self._call("third"), again
            self.faults += between.with_others(before, again, is_last=True)
            yield
        if self._options.chip:
            self._speed = self._estimated()
        if again is not None:
            self._repeat(again)
            yield
            self.faults += between.with_others(again, self._call("late"))
            yield
            self._choose(own)
            yield
            if not self._is_script:
                self._look_at_low_bits()
                yield
        if self._options.generated:
            self._generated = self._second_verdict()

    def _explain(self) -> None:
        """Looks whether numbers that are further off than the task allows were rounded to a narrower type."""
        is_far = all(fault.advice == evidence.AT_THAT_ELEMENT for fault in self.faults)
        if is_far and not self._is_script:
            with contextlib.suppress(_Stopped):
                self._look_at_low_bits()

    def _look_at_low_bits(self) -> None:
        """Calls the answer with inputs that differ in their last bits. What it does not see says more than an
        element of this call that is off."""
        low = self._call("low bits", is_generated=True)
        self.faults = between.narrowed(self._own, low) + self.faults

    def _with_path(self, text: str) -> str:
        """A text that names the answer's own file, and not the copy that ran."""
        return text.replace(os.path.join(self._folder, answering.FILE), self._answer)

    def _shown(self, fault: Fault) -> Fault:
        return dataclasses.replace(fault, message=printable(self._with_path(fault.message)))

    def _why(self) -> str:
        many = f"{self.launches} launch{'es' * (self.launches != 1)} of {', '.join(self.kernels)}"
        return f"what {many} and their inputs give is what the task wants, for two sets of inputs"

    # --- the processes

    def _start(self, stack) -> None:
        options = self._options
        folders = [stack.enter_context(scratch.folder("judge")) for _ in range(2)]
        self._folder = folders[0]
        wall = 3 * options.seconds + 60
        make = processes.Process
        self._child = make(
            "answer", answering.main, folders[0], options.seconds, options.memory, patience=wall
        )
        self._broker = make(
            "broker", broker.main, folders[1], 20 * options.seconds, 2 * options.memory, patience=20 * wall
        )
        self._reference = make(
            "reference", reference.main, os.path.abspath(self._task), options.inputs, options.format,
            10 * options.seconds, 2 * options.memory, patience=10 * wall,
        )  # fmt: skip
        self._processes = (self._child, self._broker, self._reference)
        for one in self._processes:
            stack.callback(one.end)
        self.seed = secrets.randbits(48) if options.seed is None else options.seed

    def _seed_of(self, what: str) -> int:
        """A seed that follows from the trial's, and from which no other one follows."""
        return int.from_bytes(hashlib.sha256(f"{self.seed} {what}".encode()).digest()[:6], "little")

    def _prepare(self) -> None:
        text, parts = self._of_reference({"say": "setup", "seed": self._seed_of("setup")})
        if text["say"] != "setup":
            raise NoTask(text["why"])
        self.scaled = text["scaled"]
        self._rule = compared.Rule(own=tuple(text["rule"]) if text["rule"] else None)
        self._is_script = text["is_script"]
        self._equal_weights = text["equal weights"]
        here, _ = self._of_answer()
        self.sandboxed = here.get("sandboxed") is True
        if not self.sandboxed:
            self.notes.append("the answer ran without a sandbox: this machine gives none")
            if self._options.sandbox == "require":
                told = (
                    "this machine gives no sandbox (user namespaces and Landlock), "
                    "and --sandbox require is on"
                )
                raise _Stopped(Fault("not_judged", told, "judge on a machine with both, or leave it out"))
        try:
            with open(self._answer, encoding="utf-8") as file:
                source = file.read()
        except UnicodeDecodeError as error:
            raise _Stopped(
                Fault("error", f"it is no text in UTF-8: {error}", "write Python's text")
            ) from error
        more = {"seed": self._seed_of("setup"), "target": self._target}
        self._child_tell({"source": source, **more, **text["task"]}, parts)
        ready, _ = self._of_answer()
        if ready.get("say") != "ready":
            raise _Stopped(self._raised(ready, "own"))

    def _of_reference(self, request: dict) -> tuple:
        try:
            return self._reference.ask(request)
        except wire.Gone as gone:
            self._reference.end()
            raise NoTask(f"the task's own process gave nothing: {self._reference.how_ended}") from gone

    def _child_tell(self, text: dict, parts) -> None:
        try:
            self._child.tell(text, parts)
        except wire.Gone:
            self._of_answer()

    def _of_answer(self) -> tuple:
        try:
            text, parts = self._child.hear()
            if isinstance(text, dict):
                return text, parts
        except wire.Gone:
            pass
        was_silent = self._child.is_silent
        self._child.end(gently=False)
        limit = self._options.seconds
        if self._child.seconds >= limit or (self._child.is_out_of_time and self._child.seconds > 0.9 * limit):
            told = f"it took all of its {limit:g} s of CPU time"
            raise _Stopped(Fault("too_slow", told, "make it do less work, or give more time with --seconds"))
        if was_silent:
            told = f"it took {self._child.seconds:.1f} s of CPU time and then said nothing more"
            raise _Stopped(Fault("too_slow", told, "do not sleep or wait for what does not come"))
        told = f"{self._child.how_ended} before its call returned"
        raise _Stopped(Fault("error", told, "return the result: how a process ends is no answer"))

    def _raised(self, text: dict, call: str) -> Fault:
        error, message, line = (text.get(name) for name in ("error", "message", "line"))
        first = str(message).strip().splitlines()[0] if str(message).strip() else ""
        told, line = f"{error}: {first}"[:600], line if isinstance(line, int) and line > 0 else None
        if "class" in text:
            advice = "return plain tensors, whose elements are there when the call returns"
            told = f"its result is a tensor of the class {text['class']}"
            return Fault("tampered", told, advice, call, line)
        if error == "KernelTrap":
            advice = _core.advice_on(str(text.get("kind")), str(text.get("race"))) or "mend the line"
            return Fault("unsafe", told, advice, call, line)
        return Fault("error", told, "mend the line that raises it", call, line)

    # --- calls

    def _call(self, name: str, is_generated: bool = False, choice: int = 0) -> evidence.Call | None:
        """Calls the answer with inputs of that name, and adds what is wrong with it. None: there are none.
        choice: the configuration that autotuners take."""
        seed = self._seed_of("call own" if name == "low bits" else f"call {name}")
        of_inputs = self._seed_of(f"inputs {name}")
        given, parts = self._of_reference({"say": "inputs", "name": name, "seed": of_inputs})
        if given["say"] == "none":
            return None
        if given["say"] != "inputs":
            raise NoTask(given["why"])
        wanted, wanted_parts = self._of_reference({"say": "expected", "name": name, "seed": seed})
        if wanted["say"] != "expected":
            if is_generated:
                return None
            raise NoTask(f"the reference fails: {wanted['why']}")
        said, own = self._asked(given["given"], parts, seed, is_refilled := name in _REFILLED, choice)
        call = evidence.Call(name, said, own, wanted, wanted_parts, given, parts, is_refilled)
        if "error" in said or not call.is_well_formed():
            told = said if "error" in said else {"error": "its process", "message": "sends no call"}
            raised = self._raised(told, name)
            if call.is_well_formed() and any(step[0] == "launch" for step in said["steps"]):
                call.replayed, call.replayed_parts = self._replay(call, seed, checked=True, spoiled=False)
                if "trap" in (call.replayed or {}):
                    raise _Stopped(call.trap(self._answer))
            raise _Stopped(raised)
        call.replayed, call.replayed_parts = self._replay(call, seed, checked=True, spoiled=not is_generated)
        if call.replayed["say"] == "replayed":
            call.follow(self._tensors)
        rule = dataclasses.replace(self._rule, is_tf32=call.is_tf32())
        if call.needs_spread(rule):
            seeds = [1, 2, 3]
            again, again_parts = self._replay(call, seed, checked=False, spoiled=False, perturb=seeds)
            call.add_spread(rule, again, again_parts, seeds)
        call.rule = rule
        if call.is_tf32() and not is_generated:
            self.notes.append(
                "its products round their operands to tf32, which is tl.dot's default and was allowed for: "
                "input_precision='ieee' keeps f32"
            )
        if not is_generated:
            self.launches = max(self.launches, call.launches)
            self.kernels = list(dict.fromkeys([*self.kernels, *call.kernel_names()]))
        self.notes += call.notes()
        self.faults += call.faults(rule)
        return call

    def _asked(self, given: dict, parts: list, seed: int, is_refilled: bool, choice: int = 0) -> tuple:
        """Calls the answer, and returns what its process says."""
        request = {
            "say": "call",
            "given": given,
            "seed": seed,
            "grad": self._is_script,
            "refill": is_refilled,
            "choice": choice,
        }
        self._child_tell(request, parts)
        return self._of_answer()

    def _doubt_the_reference(self) -> None:
        """Takes back what follows from a result of the reference's that depends on what its memory held, or
        on numbers that it draws."""
        if not {fault.verdict for fault in self.faults} & {"wrong", "cached"}:
            return
        if self._gives_other(self._own, "call own", fill=0x3C):
            told = "the task's own result depends on memory that nothing wrote, or changes from run to run"
            self.faults = [Fault("not_judged", told, "choose another task")]
        elif not self._is_script and self._gives_other(self._own, "other"):
            told = "the task draws random numbers in its call, and the answer draws others"
            advice = "draw them with torch as the task does, or choose a task that draws none"
            found = [fault for fault in self.faults if fault.verdict not in ("wrong", "cached")]
            self.faults = [*found, Fault("not_judged", told, advice)]

    def _gives_other(self, call: evidence.Call, seed: str, **more) -> bool:
        """Whether the reference does not fail and gives something else for the inputs of a call."""
        given = self._given_again(call, self._seed_of(seed), **more)
        return given is not None and not compared.same(given, call.own)

    def _given_again(self, call: evidence.Call, seed: int, **more) -> dict | None:
        """Returns what the reference gives for the inputs of a call once more. None: it fails."""
        wanted, parts = self._of_reference({"say": "expected", "name": call.name, "seed": seed, **more})
        return compared.arrays(wanted["own"], parts) if wanted["say"] == "expected" else None

    def _choose(self, own: evidence.Call) -> None:
        """Calls the answer with each configuration of its autotuners, of which a GPU's clock would choose."""
        for number in range(1, min(own.choices, _MOST_CHOICES)):
            self._call(f"configuration {number + 1}", choice=number)
            if self.faults:
                told = f"with configuration {number + 1} of an autotuner's {own.choices}, "
                self.faults = [dataclasses.replace(one, message=told + one.message) for one in self.faults]
                return

    def _drawn(self, what: str, ends: tuple) -> int:
        """A number between two that nobody knows before."""
        return ends[0] + self._seed_of(what) % (ends[1] - ends[0] + 1)

    def _repeat(self, call: evidence.Call) -> None:
        """Calls the answer with the inputs of a call again and again: it has to compute the result each
        time. What is looked at are the last of these calls, and the first ones with steps of their own."""
        few, many = self._drawn("few", _FEW), self._drawn("many", _MANY)
        began, before, new = self._child.used, [], 0
        is_large = sum(map(len, (*call.given_parts, *call.wanted_parts))) * many > _MOST_BYTES
        for number in range(1, many + 1):
            if self._child.used + 2 * (self._child.used - began) / number > 0.8 * self._options.seconds:
                told = "it takes too long to see whether it computes its result each time that it is called"
                self.faults.append(Fault("not_judged", told, "give more time with --seconds", "repeated"))
                return
            again = self._called_again(call)
            if again is None:
                return
            is_enough = number >= few and (is_large or self._child.used - began > _MOST_SECONDS)
            is_last = is_enough or number == many
            is_new = new < _MOST_NEW and not any(
                again.skeleton() == one.skeleton() for one in (call, *before)
            )
            new += is_new
            before.append(again)
            if is_last or is_new:
                self._look_again(call, before)
            if is_last or self.faults:
                return

    def _called_again(self, call: evidence.Call) -> evidence.Call | None:
        """A call with the inputs of another one. None: it is a fault."""
        said, own = self._asked(
            call.given["given"], call.given_parts, self._seed_of(f"call {call.name}"), False
        )
        wanted = call.wanted, call.wanted_parts, call.given, call.given_parts
        again = evidence.Call("repeated", said, own, *wanted, False)
        if "error" in said or not again.is_well_formed():
            told = said if "error" in said else {"error": "its process", "message": "sends no call"}
            self.faults.append(self._raised(told, "repeated"))
            return None
        again.follow(self._tensors)
        return again

    def _look_again(self, call: evidence.Call, calls: list) -> None:
        """Looks at the last of the calls that had the inputs of a call. The broker does those before it
        where it needs what they have left."""
        seed, again = self._seed_of(f"call {call.name}"), calls[-1]
        for one in calls[:-1] if again.kept() else ():
            if one.replayed is None:
                one.replayed, _ = self._replay(
                    one, seed, checked=False, spoiled=False, looks=False, repeats=True
                )
        kept = [] if again.is_like(call) else again.kept()
        again.replayed, again.replayed_parts = self._replay(
            again, seed, checked=True, spoiled=True, repeats=True, kept=kept
        )
        if (why := again.why_kept(call)) and not self._changes(call, seed):
            told = f"for the same inputs again, {why}"
            line = again.replayed.get("left", {}).get("line")
            self.faults.append(Fault("cached", told, "compute the result in each call", "repeated", line))
        elif not why:
            self.faults += between.repeated(call, again)

    def _changes(self, call: evidence.Call, seed: int) -> bool:
        """Whether the task's own result changes from call to call with the same inputs."""
        for _ in range(2):
            given = self._given_again(call, seed)
        return given is None or not compared.same(given, call.own)

    def _replay(
        self, call, seed: int, checked: bool, spoiled: bool, perturb=(), looks=True, repeats=False, kept=()
    ) -> tuple:
        said = call.said
        request = {
            "say": "replay", "call": {name: said.get(name) for name in _OF_A_CALL},
            "given": call.given["given"], "given_parts": len(call.given_parts), "seed": seed,
            "checked": checked, "spoiled": spoiled, "perturb": list(perturb), "is_again": bool(perturb),
            "refill": call.is_refilled, "looks": looks, "repeats": repeats, "kept": [*kept],
        }  # fmt: skip
        parts = [*call.given_parts, *call.parts[said["seen_parts"] :]]
        try:
            return self._broker.ask(request, parts)
        except wire.Gone:
            self._broker.end(gently=False)
            told = f"its steps could not be done again: {self._broker.how_ended}"
            raise _Stopped(Fault("not_judged", told, "give more time with --seconds", call.name)) from None

    @property
    def _target(self) -> str | None:
        """The architecture of the chip."""
        return f"cuda:{chip_named(self._options.chip, TIMINGS).capability}" if self._options.chip else None

    def _estimated(self) -> Speed:
        """The estimated times of the answer's last call, and of the reference's."""
        chip, times = self._options.chip, []
        for process, name in ((self._broker, {}), (self._reference, {"name": "again"})):
            try:
                said, _ = process.ask({"say": "time", "chip": chip, **name})
                why = said.get("why", "")
                times.append(
                    of_json(Time, said["time"]) if said["say"] == "time" else Time(None, None, 0, why)
                )
            except wire.Gone:
                times.append(Time(None, None, 0, f"no estimate came: {process.how_ended}"))
        return Speed(chip, *times)

    def _second_verdict(self) -> Generated:
        """The second verdict."""
        cases, before = [], (self.faults, self.notes)
        names = [*reference.WAYS, *reference.SIZES] if not self._is_script else []
        for name in names:
            self.faults, self.notes = [], []
            try:
                call = self._call(name, is_generated=True)
                if call is None:
                    cases.append(Case(name, "left out"))
                    continue
            except _Stopped as stop:
                self.faults.append(stop.fault)
            except NoTask:
                cases.append(Case(name, "left out"))
                continue
            self.faults.sort(key=lambda fault: RANK.index(fault.verdict))
            state = self.faults[0].verdict if self.faults else "right"
            told = self._shown(self.faults[0]).message if self.faults else None
            cases.append(Case(name, state, told))
            if self._child.status is not None or self._broker.status is not None:
                break
        self.faults, self.notes = before
        found = {case.state for case in cases}
        worst = next((verdict for verdict in RANK if verdict in found), "verified")
        return Generated(worst if "right" in found or worst != "verified" else "not_judged", cases)


def printable(text: str) -> str:
    """A text of an answer's without what moves a terminal's cursor or turns the direction of writing."""
    return "".join(
        one if one.isprintable() or one == "\n" else one.encode("unicode_escape").decode() for one in text
    )


def _once(faults: list[Fault]) -> list[Fault]:
    """The faults, that of the verdict first; what two calls show is told once."""
    known = {(fault.verdict, fault.line, fault.check): fault for fault in reversed(faults)}
    return sorted(known.values(), key=lambda fault: (RANK.index(fault.verdict), fault.line is None))
