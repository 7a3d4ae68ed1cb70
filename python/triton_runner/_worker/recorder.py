"""Records the passes of Triton's compiler, each run by a pass manager of its own.

A backend builds its pipelines from parts of Triton's extension, which its module names `ir`, `passes`,
`nvidia`, `amd`, and in Meta's fork `tlx`. While a stage runs, stand-ins take their place: ir.pass_manager()
gives a list of steps, and running it runs the steps one by one, with the module printed between them. The
code that comes out is the plain compilation's.

A plan changes what runs: start at a pass, stop after one, leave passes out, put a text in the place of what
a pass made.

Works inside every known Triton release and needs nothing but the standard library: the same file serves the
installed release and worker processes of others.


It is described in doc/guide/passes.md#how-it-works-and-its-limits."""

import contextlib
import hashlib
import os
import re
import sys
import tempfile
import threading
import time


def _parts(scope):
    """The parts of Triton's extension among a module's names."""
    modules = {name: value for name, value in scope.items() if isinstance(value, type(os))}
    return {name: value for name, value in modules.items() if "._C.libtriton." in value.__name__}


# Triton 3.2 to 3.4 print the debug information that this pass makes in a way that changes what LLVM makes of
# the module afterwards, or crashes it: there nothing is printed after it.
_LAST_PRINTED = "passes.llvmir.add_di_scope"
_UNPRINTABLE = ((3, 2), (3, 3), (3, 4))


class PassError(Exception):
    """Says what went wrong, and at which pass (a dict as in Recorder.passes, or None)."""

    def __init__(self, message, step=None):
        super().__init__(message)
        self.step = step


class _Replaced(Exception):
    """The module that takes the place of what pass `number` made: its stage starts again after it."""

    def __init__(self, module, number):
        super().__init__()
        self.module = module
        self.number = number


class _Stopped(Exception):
    """The plan ends here, with this module."""

    def __init__(self, module):
        super().__init__()
        self.module = module


class Selector:
    """Which passes are meant.

    {"number": n} of the whole run, from 1 (0, of a stop or a replacement: before the first); or
    {"adds": [names], "nth": n}, n from 1, without "nth" all of these names. "stage" limits the names to one
    stage function ("make_ttgir").
    """

    def __init__(self, fields):
        self.number = fields.get("number")
        self.adds = frozenset(fields.get("adds", ()))
        self.nth = fields.get("nth")
        self.stage = fields.get("stage")
        self.said = fields.get("said")  # as a person put it
        self.met = False

    def _has(self, stage, add):
        named = add in self.adds or add.rpartition(".")[2] in self.adds
        return named and self.stage in (None, stage)

    def matches(self, seen):
        """Returns whether the last of the passes seen so far ([(stage, add), ...]) is one."""
        if self.number is not None:
            is_next = len(seen) == self.number
        else:
            is_next = self._has(*seen[-1])
            if is_next and self.nth is not None:
                is_next = sum(self._has(*each) for each in seen) == self.nth
        self.met = self.met or is_next
        return is_next


class Recorder:
    """The passes of one compilation.

    plan: {"start": selector, "stop": selector, "skip": [selector], "replace": [[selector, text]], "edit":
    [[selector, old, new]], "instead": {level: text}, "metadata": {}, "without_hints": True}, all optional; an
    edit replaces within the text of what a pass made, "instead" takes the place of what a stage made;
    metadata is what stages before a replaced text would have noted of it; hints are what tl.multiple_of,
    tl.assume and their like leave on ops.
    keep: "text", "hash" or "none": what is kept of the module before and after each pass.
    on_pass: called with the dict of each pass before it runs, and with None after the last of a pass
    manager, so that a crash can be named.
    on_call: on_call(path, function, args, kwargs) runs a function of the bindings ("llvm.to_module") that
    adds no pass, and returns what it returns.

    passes: a dict each: number, stage, level, add, arguments, pipeline, ran, seconds, before, after, changed,
    bytes. before and after are numbers into `texts` (a text, or its hash); None where nothing was kept.
    """

    def __init__(self, plan=None, keep="text", on_pass=None, on_call=None):
        self.follow(plan or {})
        self.keep = keep
        self.on_pass = on_pass
        self.on_call = on_call
        self.passes = []
        self.texts = []
        self.stopped = None  # the module where the plan stopped
        self._behind = set()  # the levels whose stages did not end as they do
        self._seen = []
        self._resume = 0
        self._level = None
        self._thread = threading.get_ident()
        self._printable = True
        self._release = None

    def follow(self, plan):
        """Takes a plan, before the first pass."""
        self.start = Selector(plan["start"]) if plan.get("start") else None
        self.stop = Selector(plan["stop"]) if plan.get("stop") else None
        self.skip = [Selector(each) for each in plan.get("skip", ())]
        self.replace = [(Selector(each), text) for each, text in plan.get("replace", ())]
        self.edit = [(Selector(each), old, new) for each, old, new in plan.get("edit", ())]
        self.instead = plan.get("instead") or {}
        self.metadata = plan.get("metadata") or {}
        self.without_hints = bool(plan.get("without_hints"))
        self._waiting = self.start is not None

    def unmet(self):
        """The selectors of the plan that met no pass."""
        selectors = [self.start, self.stop, *self.skip, *(each for each, _ in self.replace)]
        selectors += [each for each, _, _ in self.edit]
        return [each for each in selectors if each is not None and not each.met]

    def made(self, level):
        """Returns whether what the stage of a level gave back is of that level: it ran whole or in part, and
        not beyond where the plan stops."""
        if level in self._behind:
            return False
        steps = [step for step in self.passes if step["level"] == level]
        return not steps or any(step["ran"] for step in steps)

    def wrap(self, stages, backend):
        """Puts the recorder around each stage of {level: function}."""
        functions = [f for base in type(backend).__mro__ for f in vars(base).values()]
        functions = [getattr(f, "__func__", f) for f in functions] + list(stages.values())
        scopes = {id(f.__globals__): f.__globals__ for f in functions if hasattr(f, "__globals__")}
        scopes = [scope for scope in scopes.values() if hasattr(scope.get("ir"), "pass_manager")]
        for level, stage in list(stages.items()):
            stages[level] = self._stage(level, stage, scopes)

    def _stage(self, level, stage, scopes):
        def run(source, metadata):
            if self.stopped is not None:
                self._behind.add(level)
                return source
            self._level = level
            first = len(self._seen)
            if self.without_hints and hasattr(source, "context"):
                source = self._parsed(without_hints(str(source)), source.context)
                self.without_hints = False  # what is made of it has none
            with self._stand_ins(scopes):
                while True:
                    try:
                        result = stage(source, metadata)
                        if level not in self.instead:
                            return result
                        metadata.update(self.metadata)
                        return self.instead[level]
                    except _Replaced as event:
                        source = event.module
                        metadata.update(self.metadata)
                        self._resume = event.number
                        del self._seen[first:]
                    except _Stopped as event:
                        self.stopped = event.module
                        self._behind.add(level)
                        return event.module

        return run

    @contextlib.contextmanager
    def _stand_ins(self, scopes):
        kept = [_parts(scope) for scope in scopes]
        for scope, names in zip(scopes, kept, strict=True):
            scope.update({name: _StandIn(self, name, value) for name, value in names.items()})
        try:
            yield
        finally:
            for scope, names in zip(scopes, kept, strict=True):
                scope.update(names)

    def _keep(self, module):
        """The number of the module's text among those kept, and its length."""
        if self.keep == "none" or not self._printable:
            return None, None
        text = str(module)
        size = len(text)
        if self.keep == "hash":
            text = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
        if not self.texts or self.texts[-1] != text:
            self.texts.append(text)
        return len(self.texts) - 1, size

    def _run(self, manager, module, more):
        """The steps of a pass manager, one at a time."""
        self._printable = True
        before = None
        if self.stop is not None and self.stop.number == 0:
            self.stop.met = True
            raise _Stopped(module)
        for selector, text in self.replace:
            if selector.number == 0 and not selector.met:
                selector.met = True
                raise _Replaced(self._parsed(text, module.context), 0)
        for step in manager.steps:
            self._seen.append((manager.stage, step.add))
            number = len(self._seen)
            skipped = sum(each.matches(self._seen) for each in self.skip) > 0
            if self._waiting and self.start.matches(self._seen):
                self._waiting = False
            if number <= self._resume:  # ran before its output was replaced
                if number == self._resume:
                    self._stop_at(module)
                continue
            record = {
                "number": number,
                "stage": manager.stage,
                "level": self._level,
                "add": step.add,
                "arguments": step.arguments,
                "pipeline": step.pipeline(),
                "ran": not (self._waiting or skipped),
                **dict.fromkeys(("seconds", "before", "after", "changed", "bytes")),
            }
            self.passes.append(record)
            if not record["ran"]:
                record["changed"] = False if skipped else None
                self._end_of(module, False)
                continue
            if self.on_pass:
                self.on_pass(record)
            if before is None:
                before, _ = self._keep(module)
            record["before"] = before
            begin = time.perf_counter()
            try:
                step.manager.run(module, *more)
            except RuntimeError as error:
                raise PassError(str(error), record) from error
            record["seconds"] = time.perf_counter() - begin
            if step.add == _LAST_PRINTED and self._has_printing_fault():
                self._printable = False
            before, record["bytes"] = self._keep(module)
            record["after"] = before
            if before is not None and record["before"] is not None:
                record["changed"] = self.texts[before] != self.texts[record["before"]]
            self._end_of(module, True)
        if self.on_pass:
            self.on_pass(None)

    def _has_printing_fault(self):
        if self._release is None:
            import triton

            self._release = tuple(int(part) for part in triton.__version__.split(".")[:2])
        return self._release in _UNPRINTABLE

    def _parsed(self, text, context):
        try:
            return parse(text, context)
        except RuntimeError:
            place = "the front end"
            if self._seen:
                place = f"pass {len(self._seen)} ({self._seen[-1][1].rpartition('.')[2]})"
            raise PassError(f"Triton does not accept the IR that is to replace what {place} makes") from None

    def _replaced(self, text, module, number):
        parsed = self._parsed(text, module.context)
        self.passes[-1]["after"], self.passes[-1]["bytes"] = self._keep(parsed)
        return _Replaced(parsed, number)

    def _end_of(self, module, ran):
        """Does what the plan says about the module after the last pass seen."""
        number = len(self._seen)
        for selector, text in self.replace:
            if not self._waiting and selector.matches(self._seen):
                raise self._replaced(text, module, number)
        for selector, old, new in self.edit:
            if ran and selector.matches(self._seen):
                raise self._replaced(str(module).replace(old, new), module, number)
        self._stop_at(module)

    def _stop_at(self, module):
        if self.stop is not None and self.stop.matches(self._seen):
            raise _Stopped(module)


def _shown(value):
    """An argument of a pass; of an object its type, as its address tells nothing."""
    return repr(value) if isinstance(value, (int, float, str, type(None))) else type(value).__name__


class _Step:
    """One recorded pass: its own pass manager with the pass in it."""

    def __init__(self, manager, add, function, args, kwargs):
        self.add = add
        self.arguments = [_shown(each) for each in args] + [f"{k}={_shown(v)}" for k, v in kwargs.items()]
        self.manager = manager
        function(manager, *args, **kwargs)

    def pipeline(self):
        """The pass as mlir-opt takes it, with all its options; None in releases that do not tell."""
        tell = getattr(self.manager, "get_pipeline_str", None)
        return tell() if tell else None


class _Manager:
    """In place of ir.pass_manager."""

    def __init__(self, recorder, make, context, stage):
        self.recorder = recorder
        self.make = make
        self.context = context
        self.stage = stage
        self.steps = []
        self.debug = False

    def enable_debug(self):
        self.debug = True
        return self.make(self.context).enable_debug()

    def add(self, name, function, args, kwargs):
        manager = self.make(self.context)
        if self.debug:
            manager.enable_debug()
        self.steps.append(_Step(manager, name, function, args, kwargs))

    def run(self, module, *more):
        steps, self.steps = self.steps, []
        done = _Manager(self.recorder, self.make, self.context, self.stage)
        done.steps = steps
        self.recorder._run(done, module, more)


class _StandIn:
    """In place of a module of Triton's bindings: functions that are given a recorded pass manager are
    recorded, all else is the module's own."""

    def __init__(self, recorder, path, real):
        self._recorder = recorder
        self._path = path
        self._real = real

    def __getattr__(self, name):
        value = getattr(self._real, name)
        path = f"{self._path}.{name}"
        recorder = self._recorder
        if path == "ir.pass_manager":

            def pass_manager(context):
                if threading.get_ident() != recorder._thread:
                    return value(context)
                return _Manager(recorder, value, context, sys._getframe(1).f_code.co_name)

            return pass_manager
        if path == "llvm.to_module" and recorder._waiting:
            raise PassError(f"no pass of this compilation is {recorder.start.said}, the one to start at")
        if isinstance(value, type(os)):
            return _StandIn(recorder, path, value)
        if isinstance(value, type) or not callable(value):
            return value

        def call(*args, **kwargs):
            if args and isinstance(args[0], _Manager):
                return args[0].add(path, value, args[1:], kwargs)
            if recorder.on_call is not None and threading.get_ident() == recorder._thread:
                return recorder.on_call(path, value, args, kwargs)
            return value(*args, **kwargs)

        return call


_HINT = r"tt\.(?:divisibility|contiguity|constancy) = dense<[^>]*> : tensor<\d+xi32>"
_HINTS = re.compile(rf" ?\{{{_HINT}(?:, {_HINT})*\}}|{_HINT}, |, {_HINT}")


def without_hints(text):
    """An MLIR text without the hints on its ops and without assumptions. Those of the arguments stay: they
    are Triton's own, of what it was launched with."""
    lines = (line for line in text.splitlines(True) if not line.lstrip().startswith("llvm.intr.assume"))
    return _HINTS.sub("", "".join(lines))


def parse(text, context):
    """The module of an MLIR text, by Triton's own parser, which reads files only."""
    from triton._C.libtriton import ir

    with tempfile.TemporaryFile("w") as file:  # one without a name, which nobody has to remove
        file.write(text)
        file.flush()
        module = ir.parse_mlir_module(f"/proc/self/fd/{file.fileno()}", context)
    module.context = context
    return module
