"""Runs in the process of an answer. It gets the answer's text and inputs, and gives back what a call did,
step by step (record.py). It holds no reference, no expected value and nothing that compares; whatever it
says, another process does the steps again, and a third one compares.
"""

from __future__ import annotations

import importlib.util
import inspect
import os
import sys
import threading
import traceback

import torch
from triton.runtime.autotuner import Autotuner

from triton_runner import _settings
from triton_runner._base.errors import KernelTrap
from triton_runner._pipeline.failures import failure_of
from triton_runner._programs.replaced import Names
from triton_runner.verbs.judge import sandbox, script, wire
from triton_runner.verbs.judge.record import Known, OtherTensor, Recorder

FILE = "answer.py"  # the name of an answer in its scratch folder


def main(read: int, write: int, scratch: str, seconds: float, memory: int) -> None:
    """Runs an answer until its judge has heard enough."""
    is_shut = sandbox.enter(scratch, seconds, memory, is_alone=True)
    wire.send(write, {"say": "here", "sandboxed": is_shut})
    task, parts = wire.receive(read)
    names = Names()
    _Tuning.begin()
    try:
        function = _loaded(task, parts, scratch)
    except BaseException as error:
        wire.send(write, {"say": "error", **_told(error)})
        return
    wire.send(write, {"say": "ready"})
    known = Known()
    target = {"target": task["target"]} if task.get("target") else {}
    while True:
        call, parts = wire.receive(read)
        if call["say"] == "end":
            return
        _Tuning.number = call["choice"]
        with _settings.using(**target):
            text, out = _called(function, call, parts, known)
        text["replaced"] = [text for _, text in names.replaced()]
        text["choices"] = _Tuning.most
        text["threads"] = threading.active_count() - 1
        wire.send(write, text, out)


class _Tuning:
    """Autotuners take the configuration of the number that a call asks for, and measure none: which of them
    is the quickest is the matter of another machine."""

    number, most = 0, 1  # the configuration, and how many one of them had to choose from

    @classmethod
    def begin(cls) -> None:
        own = Autotuner.run

        def run(self, *args, **named):
            self.nargs = dict(zip(self.arg_names, args, strict=False))
            kept = self.configs
            choices = [*self.prune_configs(named)] if len(kept) > 1 else kept
            cls.most = max(cls.most, len(choices))
            self.configs = [choices[cls.number % len(choices)]]
            try:
                return own(self, *args, **named)
            finally:
                self.configs = kept

        Autotuner.run = run


def _loaded(task: dict, parts: list, scratch: str):
    """Returns what a call of the answer calls: function(*args, **kwargs)."""
    path = os.path.join(scratch, FILE)
    with open(path, "w") as file:
        file.write(task["source"])
    torch.manual_seed(task["seed"])
    spec = importlib.util.spec_from_file_location("answer", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["answer"] = module
    spec.loader.exec_module(module)
    if task["kind"] == "module":
        given, named = wire.unpacked(task["given"], parts)
        torch.manual_seed(task["seed"])
        made = getattr(module, task["name"])(*given, **named)
        return made.cuda() if isinstance(made, torch.nn.Module) else made
    if task["kind"] == "script":
        return _Script(module, task["script"], scratch)
    function = getattr(module, task["name"], None)
    if function is None:
        function = next((getattr(module, name) for name in task["others"] if hasattr(module, name)), None)
    if function is None:
        raise NameError(f"the answer defines no {task['name']}()")
    return function


class _Script:
    """The tests of a task of TritonBench, which call the answer's functions and keep what they gave."""

    def __init__(self, module, text: str, scratch: str):
        self._module = module
        self._code = script.code_of(text, os.path.join(scratch, "tests.py"))

    def __call__(self):
        return script.results(self._code, self._module)


def _called(function, call: dict, parts: list, known) -> tuple[dict, list]:
    """Does a call and returns its steps, its result, and the bytes of both."""
    recorder, inputs = Recorder(known), []

    before, known.given = known.given, []

    def tensor(text, parts):
        made = wire.made(text, parts)
        if call["refill"] and len(inputs) < len(before):
            made = wire.refilled(before[len(inputs)], made)
        known.given.append(made.requires_grad_(bool(text.get("grad"))))
        inputs.append(recorder.add(made))
        return made

    given, named = wire.unpacked(call["given"], parts, tensor)
    told, result, state, out, kept = {}, None, None, [], {}
    torch.manual_seed(call["seed"])
    try:
        with _settings.using(device="cpu", threads=1), torch.set_grad_enabled(call["grad"]):
            with recorder.recording():
                value = function(*given, **named)
                if inspect.isgenerator(value):
                    value = list(value)
                kept = _buffers(function)
                result = recorder.result(value)
                state = recorder.result({k: v for k, v in kept.items() if recorder.knows(v)})
            seen = wire.packed(_plain(value), out)
    except BaseException as error:  # whatever it raises, SystemExit too, is what it did
        told, seen = _told(error), None
        if isinstance(error, OtherTensor):
            told["class"] = error.name
    count = len(out)
    text = {
        "say": "called", "steps": recorder.steps, "result": result, "state": state, "seen": seen,
        "keeps": list(kept),
        "inputs": inputs,
        "kernels": known.sent, "seen_parts": count, **told,
    }  # fmt: skip
    return text, [*out, *recorder.parts]


def _buffers(function) -> dict:
    """The floats that a module keeps from call to call beside its weights: running means."""
    found = function.named_buffers() if isinstance(function, torch.nn.Module) else ()
    return {name: one for name, one in found if one.is_floating_point()}


def _plain(value):
    """Returns what a call gave, with tensors whose bytes can be taken."""
    if isinstance(value, torch.Tensor):
        return value.detach()
    if isinstance(value, (list, tuple)):
        return type(value)(_plain(item) for item in value) if type(value) in (list, tuple) else [*value]
    return {str(k): _plain(v) for k, v in value.items()} if isinstance(value, dict) else value


def _told(error: BaseException) -> dict:
    """The error of an answer, with its line."""
    file = os.path.realpath(FILE)  # in the scratch folder, where this process is
    frames = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    message = str(error)
    if isinstance(error, SyntaxError):
        frames.append((error.filename, error.lineno))
        message = error.msg
    lines = [line for name, line in frames if name and os.path.realpath(name) == file]
    failure = failure_of(error)
    line = (failure.line if failure is not None else 0) or (lines[-1] if lines else 0)
    message = failure.message if failure is not None else message
    told = {"error": type(error).__name__, "message": message[:2000], "line": line or 0}
    return {**told, "kind": error.kind, "race": error.race} if isinstance(error, KernelTrap) else told
