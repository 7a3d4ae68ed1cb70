"""Is the broker's process, which keeps an answer's calls and does each again in several ways (replay.py)."""

from __future__ import annotations

import contextlib
import dataclasses

import numpy
import torch

from triton_runner._base.typed import as_json
from triton_runner._memory import registry
from triton_runner.verbs.judge import estimates, sandbox, wire, worth
from triton_runner.verbs.judge.replay import Kernels, Refused, Replay, ReplayedCall, Way, tensors_in


def main(read: int, write: int, scratch: str, seconds: float, memory: int) -> None:
    """Does the steps of calls until its judge has heard enough."""
    sandbox.enter(scratch, seconds, memory)
    broker = Broker()
    while True:
        request, parts = wire.receive(read)
        if request["say"] == "end":
            return
        try:
            if request["say"] == "time":
                wire.send(write, broker.time(request["chip"]))
                continue
            wire.send(write, *broker.answered(request, parts))
        except Refused as error:
            wire.send(write, {"say": "refused", "why": str(error)})
        except (MemoryError, RecursionError) as error:
            wire.send(write, {"say": "refused", "why": f"{type(error).__name__}: {error}"})


class Broker:
    """All calls of an answer, each done in several ways. A way continues with what its last call left."""

    def __init__(self):
        self._calls: list[ReplayedCall] = []
        self._kernels: Kernels | None = None  # of the last call
        self._values: dict = {}  # by way: (calls that were done, tensors by number)
        self._seen: dict = {}

    def _replay(self, name: str, way: Way, kernels: Kernels) -> Replay:
        values = self._before(name, way, kernels)
        one = Replay(self._calls[-1], kernels, way, values, self._seen).run()
        if not way.spoil:
            self._values[name] = len(self._calls), values
        return one

    def _before(self, name: str, way: Way, kernels: Kernels, calls: int = -1) -> dict:
        """The tensors by number before the last call, or after the first `calls`."""
        done, values = self._values.get(name, (0, {}))
        # Launches of the last call alone are spoiled, timed and compared.
        before = Way(fill=0xFF) if way.spoil or way.times is not None else way
        for asked in self._calls[done:calls]:
            if way.other_past and asked.has_inputs_of(self._calls[-1]):
                first = self._calls[0]
                asked = dataclasses.replace(asked, given=first.given, given_parts=first.given_parts)
            Replay(asked, kernels, before, values, self._seen).run()
        if calls == -1 and self._calls[-1].overwrites:
            self._overwrite(values)
        return values

    def _left(self, kernels: Kernels, there: dict | None) -> dict:
        """Returns what depends on what earlier calls with the same inputs left in memory: on bytes that are
        others with another past (there), or, where there is none, that those calls have written. Empty:
        nothing."""
        last = self._calls[-1]
        here = self._before("left", Way(fill=0xFF), kernels)
        if there is None:
            calls = next(i for i, one in enumerate(self._calls) if one.has_inputs_of(last))
            there = self._before("first", Way(fill=0xFF), kernels, calls)
        left = {}
        for number in _numbers_in([last.call["steps"], last.call["result"]]):
            if number not in here or worth.address(here[number]) in left:
                continue
            now = _bytes_of(here[number])
            other = _bytes_of(there[number]) if number in there else None
            is_alike = other is not None and other.size == now.size
            flags = now != other if is_alike else numpy.ones(now.size, bool)
            if flags.any():
                left[worth.address(here[number])] = registry.storage_of(here[number]), flags
        return self._depending(kernels, here, left)

    def _depending(self, kernels: Kernels, here: dict, left: dict) -> dict:
        """Returns what of the last call depends on these bytes. left: by address, (a storage, flags)."""
        if not left:
            return {}
        one = Replay(self._calls[-1], kernels, Way(left=[*left.values()]), here, self._seen).run()
        return {"what": one.depends, "line": one.line or None} if one.depends else {}

    def _needs(self, kernels: Kernels, numbers: list[int]) -> bool:
        """Whether anything of the last call depends on what tensors of earlier calls hold."""
        here = self._before("left", Way(fill=0xFF), kernels)
        left = {}
        for number in numbers:
            flags = numpy.ones(_bytes_of(here[number]).size, bool)
            left[worth.address(here[number])] = registry.storage_of(here[number]), flags
        return bool(self._depending(kernels, here, left))

    def _overwrite(self, values: dict) -> None:
        """Overwrites what earlier calls have returned, which is their caller's, but for memory that was there
        before any step."""
        kept = {worth.address(values[key[1]]) for key in values if isinstance(key, tuple)}
        for asked in self._calls[:-1]:
            for number in _numbers_of(asked.call["result"]):
                if number in values and worth.address(values[number]) not in kept:
                    _overwrite(values[number])

    def time(self, chip: str) -> dict:
        """Returns the estimated time of the launches of the last call."""
        summed = estimates.Summed(chip)
        self._replay("time", Way(fill=0xFF, times=summed), self._kernels)
        return {"say": "time", "time": as_json(summed.time())}

    def answered(self, request: dict, parts: list) -> tuple:
        """Does a call in all ways that are asked for."""
        call, count = request["call"], request["given_parts"]
        asked = ReplayedCall(call, parts[count:], request["given"], parts[:count], request["seed"])
        if request["is_again"]:
            self._calls.pop()
        if request["refill"] and self._calls:
            asked.before = self._calls[-1].call["inputs"]
        asked.overwrites = request["repeats"]
        self._calls.append(asked)
        if not request["looks"]:
            return {"say": "noted"}, []
        kernels, replays = Kernels(call["kernels"]), {}
        self._kernels = kernels
        has_empty = any(_makes_empty(step) for one in self._calls for step in one.call["steps"])
        out: list = []
        text: dict = {"say": "replayed"}
        if not request["is_again"]:
            way = Way(checked=request["checked"], fill=0xFF, strict=True)
            replays["plain"] = first = self._replay("plain", way, kernels)
            text["facts"] = kernels.facts
            text |= {"findings": first.findings, "kinds": first.kinds, "items": first.items}
            text["unchecked"] = sorted(first.unchecked)
            if (trap := first.trap) is not None:
                told = {"message": str(trap), "line": trap.line, "kernel": trap.kernel, "advice": trap.advice}
                return {**text, "trap": told}, out
            if has_empty:
                replays["other fill"] = self._replay("other fill", Way(fill=0x3C), kernels)
            if (exact := kernels.in_f32()) is not None:
                replays["f32"] = self._replay("f32", Way(fill=0xFF), exact)
            text["inputs"] = [wire.packed(tensor, out) for tensor in first.inputs]
            if call.get("state"):
                kept = {name: one["tensor"] for name, one in call["state"]["dict"]}
                kept = {name: n for name, n in kept.items() if not first.is_as_at_first(n)}
                text["state"] = wire.packed(
                    {name: first.result({"tensor": n}) for name, n in kept.items()}, out
                )
            results = [*tensors_in(first.result())] if call["result"] is not None else []
            text["torch"] = first.torch.share(results)
            text["moved"] = first.torch.has_moved(results, first.inputs)
            # One that changes nothing may write once more what an earlier one computed, as tuning does.
            computing = frozenset(i for i, kind in enumerate(first.kinds) if kind in ("computed", "nothing"))
            is_mixed = "computed" in first.kinds and len(computing) < len(first.kinds)
        for number in (1, 2) if request["spoiled"] else ():
            # A launch that computes the same numbers again over the old ones changes nothing to spoil.
            ways = {f"spoiled {number}": Way(spoil=number, other_past=request["repeats"])}
            if is_mixed:
                ways[f"without {number}"] = dataclasses.replace(ways[f"spoiled {number}"], of=computing)
            for name, way in ways.items():
                try:
                    replays[name] = self._replay(name, way, kernels)
                except Refused:
                    replays[name] = None
        if request["repeats"]:
            way, there, replays["other past"] = Way(fill=0xFF, other_past=True), None, None
            with contextlib.suppress(Refused):  # steps that fit the values of their inputs alone
                there = self._before("other past", way, kernels)
            text["left"] = self._left(kernels, there)
            if request["kept"]:
                with contextlib.suppress(Refused):
                    text["needs kept"] = self._needs(kernels, request["kept"])
            with contextlib.suppress(Refused):
                if there is not None:
                    last = Replay(asked, kernels, way, there, self._seen)
                    replays["other past"] = last.run()
        for seed in request["perturb"]:
            replays[f"perturb {seed}"] = self._replay(f"perturb {seed}", Way(perturb=seed), kernels)
        for name, one in replays.items():
            is_there = one is not None and one.trap is None and call["result"] is not None
            text[name] = wire.packed(one.result(), out) if is_there else None
        return text, out


def _makes_empty(step: list) -> bool:
    return step[0] == "op" and bool(wire.EMPTY.match(step[1]))


def _bytes_of(tensor) -> numpy.ndarray:
    """The memory that a tensor lies in."""
    empty = torch.empty(0, dtype=torch.uint8)
    storage = tensor.untyped_storage()
    return empty.set_(storage, 0, (storage.nbytes(),), (1,)).numpy()


def _overwrite(tensor) -> None:
    """Puts another number into all elements of a tensor."""
    with contextlib.suppress(RuntimeError), torch.no_grad():  # elements that share memory cannot be
        is_number = tensor.is_floating_point() or tensor.is_complex()
        tensor.detach().fill_(float("nan") if is_number else 1)


def _numbers_of(result: dict | None) -> list[int]:
    """The numbers of the tensors in a result as a message has it."""
    if result is None:
        return []
    ((kind, of),) = result.items()
    if kind == "tensor":
        return [of]
    items = of if kind == "list" else [one for _, one in of] if kind == "dict" else []
    return [number for item in items for number in _numbers_of(item)]


def _numbers_in(value) -> set[int]:
    """The numbers of the tensors that a part of a message names."""
    if isinstance(value, dict):
        own = {one for key, one in value.items() if key in ("t", "tensor") and isinstance(one, int)}
        return own.union(*map(_numbers_in, value.values()))
    if not isinstance(value, list):
        return set()
    own = {value[2]} if value[:1] == ["view"] else set()
    return own.union(*map(_numbers_in, value))
