"""Session is what a test, a terminal or an editor drives.

The program runs on a thread of its own (driver.py), which waits wherever a launch stands; whoever drives the
session looks at the values from his own thread meanwhile. Going back is running the launch again up to an
earlier moment, with its arguments put back (replays.py)."""

from __future__ import annotations

import dataclasses
import re

from triton_runner import _settings
from triton_runner._artifact import relaunch
from triton_runner._base.errors import DiagnosticError, fail, in_a_line
from triton_runner._base.levels import MLIR
from triton_runner._code import sources
from triton_runner._core import probe
from triton_runner._kernel.compiling.of_release import of_release
from triton_runner._kernel.dumps.axes import program_of
from triton_runner._launch import launchers
from triton_runner.verbs.debug import comparing, machine, names, stage
from triton_runner.verbs.debug import target as targets
from triton_runner.verbs.debug.back import Back
from triton_runner.verbs.debug.breakpoints import Breakpoints
from triton_runner.verbs.debug.driver import Driver
from triton_runner.verbs.debug.focus import Focus
from triton_runner.verbs.debug.places import Places, line_of
from triton_runner.verbs.debug.replays import Replays
from triton_runner.verbs.debug.results import Compared, Exited, Frame, Stopped
from triton_runner.verbs.debug.show import is_within
from triton_runner.verbs.debug.state import State
from triton_runner.verbs.debug.variables import Variables


class Session(Back, Focus):
    """Stops the launches of a program, and shows and changes what stands.

        with triton_runner.debug(lambda: kernel[grid](x, y, out, n), level="ttir") as session:
            session.run_until("kernel.py:42", "acc.max() > 1e4")
            session.value("acc")

    - `resume()`, `run_until(where, condition)`, `step()`, `next()`, `out()`, `next_op()`, `next_iteration()`,
      `next_program()`, `finish()` go on, and return where it stops next: a Stopped or Exited.
    - `reverse_step()`, `reverse_next()`, `reverse_op()`, `reverse_resume()`, `last_write(what)` go back,
      within a program.
    - `break_at()`, `watch()`, `delete()`, `breakpoints`: where it stops.
    - `value(name)`, `values()`, `set(name, value)`, `evaluate(expression)`, `where()`, `frames()`: what
      stands there. `compare(level, release)`: which values differ, up to here.
    - `focus_on()`, `freeze()`: which programs and threads stop, and which get no turn.
    - `interrupt()`: stops a launch that runs, from another thread. `close()` ends the program.
    """

    def __init__(
        self, target, level: str = "", kernel: str = "", program=None, check: str = "",
        start=stage.on_a_thread,
    ):  # fmt: skip
        """level: "" for the target's own. start(run): runs the program somewhere, and returns what has
        is_alive() and join() of a thread."""
        with _settings.using(check=check or None):
            pass  # a check that there is not is refused here
        self.target, self.level, self.kernel = target, target.level(level), kernel
        self.focus = [-1, -1, -1] if program is None else [*program_of(program)]
        self.breakpoints = Breakpoints()
        self.stopped: Stopped | Exited | None = None
        self.stops = 0  # how often it has stopped
        self.launches: list[str] = []  # the names of the kernels that were launched
        self.passed: list[str] = []  # of those that `kernel` leaves out
        self.grids: list[tuple] = []  # of each launch
        self._texts: list = []  # of each launch, by level
        self._call: tuple | None = None  # (Call, Relaunch) of the last launch
        self._counted: list[int] = []  # breakpoints whose hits are kept up to the next moment,
        self._visits: list[int] = []  # which are these
        self.check = check
        self.at_work = None  # the command that a thread answers (stage.at_work)
        self._driver = Driver(start)
        self._debugger = probe.Debugger(self._begin, self._stop)
        self._replays = Replays(self._debugger)
        self._places: Places | None = None
        self._stop_at_launch = False
        self._variables: Variables | None = None  # of Python, where registers stand
        self.constants: dict = {}  # constexprs of the launch, by name
        self._depth = 0  # of the step that is under way
        self._interrupting = False  # somebody waits for a stop: a launch that shows nothing may not notice
        self._thaws, self._alone = [], []

    # ---- going on

    def resume(self) -> Stopped | Exited:
        """Goes on to the next breakpoint, or the program's end."""
        return self._go(lambda debugger: debugger.go())

    def start(self) -> Stopped | Exited:
        """Goes to the first place of the next launch."""
        self._stop_at_launch = True
        return self.resume()

    def run_until(self, where: str, condition: str = "", program=None, hit: int = 1) -> Stopped | Exited:
        """Goes on to a place, or the next stop before it. hit: the how manyth time that it comes there."""
        number = self.break_at(where, condition, program=program, skip=hit - 1, temporary=True).number
        event = self.resume()
        if number in self.breakpoints:
            self.delete(number)
        return event

    def step(self) -> Stopped | Exited:
        """To the next line of Python, into functions of the program's that are called; those of Triton's own
        library are stepped over."""
        if self._driver.thread is None:
            return self.start()
        if isinstance(self.stopped, Stopped) and self.stopped.hidden:
            whole = self._frames(self.stopped.place)
            self.stopped = dataclasses.replace(self.stopped, frames=whole, hidden=0, reason="step")
            return self.stopped
        return self._step(1 << 20)

    def next(self) -> Stopped | Exited:
        """To the next line of Python, over functions that are called."""
        return self._step(self.depth())

    def out(self) -> Stopped | Exited:
        """To the line after the call of this function."""
        depth = self.depth() - 1
        return self._step(depth) if depth else self.finish()

    def _step(self, depth: int) -> Stopped | Exited:
        frames = self._standing().frames
        line = self.places.number(frames[0]) if frames and depth >= len(frames) else -1
        self._depth = depth
        return self._go(lambda debugger: debugger.step(probe.Until.LINE, depth, line))

    def next_op(self) -> Stopped | Exited:
        """To the next op or instruction."""
        self._depth = 0
        return self._go(lambda debugger: debugger.step(probe.Until.OP))

    def next_iteration(self) -> Stopped | Exited:
        """To this place in the next iteration, or the next stop before it."""
        here = self._standing()
        return self._until(places=[here.place], program=here.program, task=here.task)

    def next_barrier(self) -> Stopped | Exited:
        """To the next op or instruction of this task that waits for others."""
        here = self._standing()
        places = [i for i, p in enumerate(self.places.all) if _WAITS.search(p.name)]
        return self._until(places=places, program=here.program, task=here.task)

    def next_program(self) -> Stopped | Exited:
        """To the first place of the next program."""
        self._standing()
        return self._until(places=[0])

    def finish(self) -> Stopped | Exited:
        """To the end of this program: the last place that it comes to; of threads: to theirs."""
        here = self._standing()
        last = [i for i, p in enumerate(self.places.all) if p.name in _LAST and p.function == here.kernel]
        task = here.task if here.threads else -1
        return self._until(places=last, program=here.program, task=task)

    def interrupt(self) -> None:
        """Stops the launch that runs at the next place it comes to."""
        self._interrupting = True
        self._debugger.interrupt()

    # ---- where it stops

    def break_at(self, where: str, condition: str = "", **how):
        """Adds a breakpoint and returns it. where: "42", "kernel.py:42", an op or opcode ("tt.dot"), a value
        ("%12"), a line of the text ("@57"), a function or kernel.

        - `condition`: "acc.max() > 1e4", "k == 3 and acc[3, 5] == 0": an expression of NumPy.
        - `program`: in this one only, -1 for any on an axis; `iteration`: of the innermost loop; `task`.
        - `skip`: so many hits are left out. `temporary`: it goes after its first stop.
        """
        line = line_of(where.strip())
        note = sources.check_line(*line, self.target.name) if line else ""
        breakpoint_ = self.breakpoints.add(where, condition, note=note, **how)
        try:  # its condition may name what the kernel that stands does not have
            if self._places is not None and isinstance(self.stopped, Stopped):
                self.breakpoints.check_names([breakpoint_], self._places, self._has_name)
            self.refresh()
        except DiagnosticError:
            self.breakpoints.delete(breakpoint_.number)
            raise
        return breakpoint_

    def _has_name(self, name: str) -> list[str] | None:
        """None: the kernel has something of that name; else notes that say what it has."""
        counted = [loop[2] for loop in self._places.counted]
        return names.missing(
            name, self.level, self._texts[-1], self.launches[-1], [*self.constants, *counted], self._variables
        )

    def watch(self, what: str, condition: str = "", **how):
        """Adds a watchpoint: it stops after an op that changes "acc" or "acc[3, 5]"; memory: "*x_ptr + 40",
        "shared 0x40 bytes 8"; or the phase of an mbarrier: "barrier full", "barrier 0x230"."""
        what = what.strip()
        memory = self.state.watched(what) if machine.is_memory(what) else None
        breakpoint_ = self.breakpoints.add("", condition, watch=what, memory=memory, **how)
        self.refresh()
        return breakpoint_

    def delete(self, number: int | None = None) -> None:
        """Takes a breakpoint away, or all of them."""
        self.breakpoints.delete(number)
        self.refresh()

    def refresh(self) -> None:
        """A launch that stands takes the breakpoints as they are now."""
        if self._places is not None and isinstance(self.stopped, Stopped):
            self._locate(self.stopped.program)
            self._debugger.set_breakpoints(self.breakpoints.of_core(self._places))

    def _locate(self, program) -> None:
        """Looks for the variables of Python that breakpoints ask for, where registers stand."""
        if self._variables is not None and (asked := self.breakpoints.names()):
            self._debugger.set_variables(self._variables.locate(asked, program))
            self.breakpoints.check_there(self._places, self._variables.names, self._debugger.find_variable)

    # ---- what stands

    @property
    def state(self) -> State:
        """The values of what stands. Raises DiagnosticError where nothing does."""
        return self._state(self._standing().place, self.threads)

    def _state(self, place: int, threads=None) -> State:
        arguments = self._call[1].arguments if self._call else None
        return State(self._debugger, self._places, self.constants, threads, place, self._variables, arguments)

    @property
    def places(self) -> Places:
        """The places of the launch that stands."""
        if self._places is None:
            raise fail("no launch has begun", "go on to one first: resume(), start()")
        return self._places

    def text(self, launch: int = -1) -> str:
        """The text of a launch at the level that is executed; by default of the last one."""
        if not -len(self._texts) <= launch < len(self._texts):
            raise fail(f"there is no launch {launch}", f"launches so far: {len(self._texts)}, counted from 0")
        return self._texts[launch][self.level]

    def value(self, name: str):
        """A value as an array of NumPy, by the name of its Python variable or by its own ("%12", "%r7")."""
        return self.state.array(name)

    def values(self) -> list:
        """The Value of all that is in sight, the nearest definition first."""
        return self.state.values()

    def evaluate(self, expression: str):
        """An expression of NumPy over the values: "acc[3, :].max()"."""
        return self.state.evaluate(expression)

    def set(self, what: str, value) -> None:
        """Gives "acc" or "acc[3, 5]" another value, with which the launch goes on."""
        moment = self._standing().moment
        self._replays.edits += [
            (moment, probe.EditKind.WRITE, *change) for change in self.state.set(what, value)
        ]

    def compare(self, level: str = "", release: str = "", tolerance: float | None = None) -> Compared:
        """Returns which values of this program differ, up to here, from those of another level, or of what
        another release of Triton compiles ("3.4.0"). Both are run again, without what set() changed.
        tolerance: for floats, as for lockstep()."""
        here = self._standing()
        call, launch = self._call
        launch.arguments.keep(self._debugger.original)  # which was not copied for each launch
        sides = comparing.sides_of(
            launch, self.level, level, release, lambda own, other: of_release(call, own, other)
        )
        until = self._computed(here)
        return comparing.compared(dataclasses.replace(sides[0], until=until), sides[1], here, tolerance)

    def _computed(self, here: Stopped):
        """Returns which records of the values of this program were computed up to here."""
        if self.level in MLIR:
            calls = self._debugger.calls  # of a function: what was before its call
            at = self.places.all[calls[0]].at if calls else here.at
            return comparing.Before(self.text(), here.kernel, at, here.iterations)
        lines = comparing.places_by_line(self.places)
        visits = zip(lines, self.visits(list(lines.values())), strict=True)
        return comparing.Counted(dict(visits), here.frames)

    def visits(self, groups: list[list[int]]) -> list[int]:
        """Returns how often this program has come to each of several groups of places up to here. It is run
        again."""
        here = self._standing()
        numbers = [-(3 << 20) - number for number in range(len(groups))]
        pairs = zip(numbers, groups, strict=True)
        counters = [probe.Breakpoint(n, places, program=here.program) for n, places in pairs]

        def order(debugger) -> None:
            debugger.set_breakpoints(counters)
            debugger.search(probe.Until.NOTHING, 1 << 20, here.moment)

        self._counted = numbers
        try:
            self._run_again(order)
        finally:
            self._counted, self.stopped = [], here
        return self._visits

    def where(self) -> Stopped | Exited | None:
        """Returns where it stands; None before the start."""
        return self.stopped

    def frames(self) -> list[Frame]:
        """The lines that it stands on, innermost first."""
        return self._standing().frames

    def depth(self) -> int:
        """How deep in calls it stands."""
        return len(self._standing().frames)

    # ---- the end

    def close(self) -> None:
        """Ends the program where it stands, and the session."""
        self._driver.close(self._debugger)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()
        return False

    # ---- orders of the one who drives

    def _standing(self) -> Stopped:
        if not isinstance(self.stopped, Stopped):
            ended = isinstance(self.stopped, Exited)
            raise fail("the program has ended" if ended else "the program has not started")
        return self.stopped

    def _go(self, order) -> Stopped | Exited:
        """Hands an order to the thread of the program, and waits for its next event."""
        self._driver.check()
        if isinstance(self.stopped, Exited):
            raise fail("the program has ended", "begin another session to run it again")
        self.stopped = None
        self.stopped = self._driver.go(self._run, order, self.interrupt)
        self.stops += 1
        return self.stopped

    def aside(self, call) -> bool:
        """Has the program's thread do something while the launch stands. False: none does."""
        stands = isinstance(self.stopped, Stopped) and not self._driver.ending
        if stands:
            self._driver.order(call, is_aside=True)
        return stands

    def _until(self, **where) -> Stopped | Exited:
        number = self.breakpoints.add_inner(**where)
        self.refresh()
        try:
            return self.resume()
        finally:
            self.breakpoints.delete(number)
            self.refresh()

    # ---- on the thread of the program

    def _run(self) -> None:
        status, error = 1, None
        try:
            with (
                _settings.using(device="cpu", level=self.level, threads=1, check=self.check or None),
                launchers.observing(self._observe),
            ):
                status = self.target.run()
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
        except BaseException as raised:
            error = in_a_line(raised)
        if error is None and self.grids and not any(is_within(self.focus, grid) for grid in self.grids):
            of = dict(zip(self.launches, self.grids, strict=True))
            grids = ", ".join(f"{name} has {' x '.join(map(str, grid))}" for name, grid in of.items())
            status, error = 2, f"no launch had program ({', '.join(map(str, self.focus))}): {grids}"
        self._driver.tell(Exited(status, error))

    def _observe(self, call: launchers.Call, go) -> None:
        if self.kernel and self.kernel != call.name:
            self.passed.append(call.name)
            return go()
        again = relaunch.of_call(call)
        self.launches.append(call.name)
        constants = launchers.constants_of(getattr(call.kernel, "src", None))
        self.constants = {name: getattr(value, "value", value) for name, value in constants.items()}
        self._call = (call, again)
        self._variables = None
        if self.level not in MLIR:
            self._variables = Variables(call.kernel, self.level, again, self._debugger.original)
        self.wave = 64 if again.target.startswith("hip:gfx9") else 32
        self.grids.append(again.grid)
        if self.threads is not None:
            self.focus_on(*self._asked)  # which may have been asked before anything said how wide a warp is
        self._texts.append(again.texts)
        self._thaws, self._alone = [], []
        self._replays.run(go, self._driver)

    def _begin(self, level: str, kernel: str):
        """The core's call when a launch is about to run."""
        debugger = self._debugger
        self._places = Places(debugger.places, level, self._texts[-1])
        debugger.set_lines(self._places.lines)
        debugger.focus(self.focus, self._task)
        debugger.set_variables(self._variables.locate([]) if self._variables else {})
        debugger.set_loop_names(self._places.counted)
        if level not in MLIR:
            debugger.set_loops(self._places.loops())
        self.breakpoints.check_names(self.breakpoints.of_places(), self._places, self._has_name)
        self._locate([max(axis, 0) for axis in self.focus])
        self.breakpoints.begin()
        if self._replays.begin_run(debugger):
            return True
        debugger.set_breakpoints(self.breakpoints.of_core(self._places))
        debugger.go()
        if self._stop_at_launch:
            debugger.go_to(0)
        elif not self._interrupting and self.breakpoints.are_conditions():
            self._replays.sparse = True
            debugger.set_sparse(True)
        return not self._driver.ending

    def _stop(self, place: int, why: str, hits: list):
        """The core's call where a launch stands. False ends it."""
        debugger, replays = self._debugger, self._replays
        if self._driver.ending:
            return False
        if replays.sparse:
            replays.arrive(debugger, place, why, hits, self.breakpoints)
            return False
        if why == "statement" and replays.returning:
            return True
        replays.returning = False
        hits = self.breakpoints.holding(hits, self._state(place))
        if why == "breakpoint" and not hits:
            return True
        if why == "moment":
            self._visits = [debugger.hits(number) for number in self._counted]
            counts = {}
            if replays.arrival is not None:
                (why, hits, counts), replays.arrival = replays.arrival, None
                hits = self.breakpoints.holding(hits, None)
            debugger.set_breakpoints(self.breakpoints.of_core(self._places, counts))
        if why == "thawed":
            self._thaws.append(debugger.moment - 1)
        if why == "interrupt":
            self._interrupting, replays.arrival = False, None
        return self._driver.stand(self._event(place, why, hits), debugger)

    def _event(self, place: int, why: str, hits: list) -> Stopped:
        debugger, at = self._debugger, self._places.all[place]
        reason, trap, kind = why, None, None
        depth = self._depth
        if why not in ("step", "moment"):
            depth = self.breakpoints.depth(hits, self._places, place)
        frames, hidden = self._shown(place, depth)
        moment = debugger.moment - 1
        if why == "moment" and self._stop_at_launch:
            reason, self._stop_at_launch = "entry", False
        elif why == "moment" and (known := self._replays.trap) and moment == known[0]:
            reason, trap, kind = "trap", str(known[1]), known[1].kind
        elif hits:
            reason = "breakpoint" if max(hits) > 0 else "step"
        if self.breakpoints.stopped(hits):
            debugger.set_breakpoints(self.breakpoints.of_core(self._places))
        return Stopped(
            reason, self.launches[-1], self._places.level, len(self.launches) - 1, [*debugger.program],
            debugger.task, [*debugger.iterations], at.name, self._places.text(place), at.at, frames,
            moment, place, [number for number in hits if number > 0], [*(debugger.threads or ())], trap,
            kind, hidden, self._places.pipelined(place, [*debugger.iterations]), wave=self.wave,
        )  # fmt: skip

    def _shown(self, place: int, depth: int) -> tuple[list[Frame], int]:
        """The frames of a place down to a depth (0: all), and how many are hidden."""
        frames = self._frames(place)
        hidden = max(len(frames) - depth, 0) if depth else 0
        return frames[hidden:], hidden

    def _frames(self, place: int) -> list[Frame]:
        frames = [*self._places.frames[place]]
        for call in reversed(self._debugger.calls):
            frames += self._places.frames[call]
        return frames


_WAITS = re.compile(r"barrier|^bar\.|^BAR|^SYNCS|^DEPBAR|wait", re.IGNORECASE)
_LAST = ("tt.return", "ret", "exit", "EXIT")


def debug(
    target, *arguments, level: str = "", kernel: str = "", program=None, check: str = "", grid=None,
    pretend_cuda: bool = False,
) -> Session:  # fmt: skip
    """Debugs the launches of a program, on the CPU: a Session, which has not started yet.

    - `target`: a function that launches, or the path of a Python program, of a case (*.trcase), or of a
      kernel (x.ttir, x.ptx, ...) with `grid` and its `arguments` in the form of `triton-runner exec`.
    - `level`: what is executed and shown: "ttir" (with the lines and variables of Python), "ttgir", "ptx",
      "cubin", "amdgcn". By default it is the level of a kernel's file, or else the first level of a launch.
    - `kernel`: launches of this kernel only. `program`: stops in this program only.
    - `check`: as for using(); the launch also stops at what a check reports.
    """
    what = targets.of(target, arguments, grid=grid, kernel=kernel, pretend_cuda=pretend_cuda)
    return Session(what, level, kernel, program, check)
