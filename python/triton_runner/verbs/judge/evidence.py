"""Declares the evidence of one call of an answer: what its process said, what its steps gave in the broker,
and what the reference gives; and the faults that follow."""

from __future__ import annotations

import dataclasses
import hashlib
import math
import re

import numpy

from triton_runner import _core
from triton_runner._memory import compared
from triton_runner._memory.difference import plain
from triton_runner._memory.files import numpy_named
from triton_runner.verbs.judge import narrow, script, wire, worth
from triton_runner.verbs.judge.reference import is_move
from triton_runner.verbs.judge.results import Fault

_PRODUCT = re.compile(r"mm|dot|mv$|conv|linear|attention|cdist|lstm|gru|rnn")
IN_KERNELS = "compute in kernels, not in Python or NumPy"
_MOST_PIECES = 0.25  # of a result's elements, by operators that the task does not have
NUMBER = 16  # bytes that are looked at as numbers
_WIDE = ("float32", "float64")


_MEND = "mend the line"
_FIRST = ("own", "again", "third")  # calls that the task had as many of as the answer
AT_THAT_ELEMENT = "compare the values at that element with the task's"
IN_ITS_TYPE = "keep the task's type in loads, products, sums and results"


class Call:
    """A call. said, parts: of the answer's process; wanted: of the reference; replayed: of the broker."""

    def __init__(self, name, said, parts, wanted, wanted_parts, given, given_parts, is_refilled):
        self.name, self.said, self.parts = name, said, parts
        self.wanted, self.wanted_parts = wanted, wanted_parts
        self.given, self.given_parts, self.is_refilled = given, given_parts, is_refilled
        self.replayed, self.replayed_parts, self._skeleton, self.rule = None, [], [], None

    def is_well_formed(self) -> bool:
        """Whether a message of the answer's process has the form of a call."""
        kinds = {"steps": list, "kernels": list, "inputs": list, "seen_parts": int, "replaced": list}
        return all(isinstance(self.said.get(name), kind) for name, kind in kinds.items()) and all(
            isinstance(step, list) and step and step[0] in ("op", "launch", "view", "bytes", "item", "seed")
            for step in self.said["steps"]
        )

    # --- results

    def _of_broker(self, name: str) -> dict | None:
        text = (self.replayed or {}).get(name)
        return None if text is None else compared.arrays(text, self.replayed_parts)

    @property
    def own(self) -> dict:
        return compared.arrays(self.wanted["own"], self.wanted_parts)

    @property
    def exact(self) -> dict:
        return compared.arrays(self.wanted.get("exact"), self.wanted_parts)

    @property
    def seen(self) -> dict:
        """The result as the answer's own process gave it."""
        try:
            seen = compared.arrays(self.said.get("seen"), self.parts)
            return seen if compared.has_form(seen, self.own) else {}
        except compared.MALFORMED:
            return {}

    @property
    def result(self) -> dict:
        """The result as its steps give it in the broker."""
        return self._of_broker("plain") or {}

    @property
    def launches(self) -> int:
        return sum(step[0] == "launch" for step in self.said["steps"])

    @property
    def choices(self) -> int:
        """How many configurations an autotuner of it chooses from."""
        said = self.said.get("choices")
        return said if isinstance(said, int) else 1

    def kernel_names(self) -> list[str]:
        return [str(it.get("name")) for it in self.said["kernels"]]

    def _facts(self) -> list[dict]:
        """Returns what the broker has read in the texts of the kernels so far (facts.py)."""
        return (self.replayed or {}).get("facts", [])

    def is_tf32(self) -> bool:
        """Whether a product of its kernels rounds f32 operands to tf32, while the task has products, none by
        kernels of its own that keep f32, and no kernel has a narrower type."""
        if self.wanted.get("has_f32_products"):
            return False
        wanted = [name for name, _ in self.wanted["operators"]]
        has_products = not wanted or any(_PRODUCT.search(name) for name in wanted)
        return has_products and not self._narrows() and any(one["tf32"] for one in self._facts())

    def needs_spread(self, rule) -> bool:
        """Whether rounding may explain what differs: no kernel computes in a narrower type."""
        if "plain" not in (self.replayed or {}):
            return False
        wrong = compared.compare(self.result, self.own, self.exact, rule)
        is_f32 = all(str(getattr(one, "dtype", "float32")) in _WIDE for one in self.own.values())
        if wrong is None or wrong.far > 1000 or wrong.is_own_rule:
            return False
        return not (is_f32 and self._narrows())

    def _narrows(self) -> bool:
        given = str(self.given["given"])
        is_narrow = any(one["narrow"] for one in self._facts())
        return is_narrow and "float16" not in given and "float8" not in given

    def add_spread(self, rule, replayed, parts, seeds) -> None:
        """Learns how far other roundings move the result."""
        if replayed.get("say") != "replayed":
            return
        others = [compared.arrays(replayed.get(f"perturb {seed}"), parts) for seed in seeds]
        rule.spread = compared.spread(self.result, others)

    # --- faults

    def trap(self, file: str) -> Fault:
        trap = self.replayed["trap"]
        first = trap["message"].splitlines()[0]
        return Fault(
            "unsafe", first, trap["advice"] or _MEND, self.name, trap["line"] or None, kernel=trap["kernel"]
        )

    def _findings(self) -> list[Fault]:
        found = []
        for one in self.replayed["findings"]:
            if one["severity"] == "fault":
                advice = one.get("advice") or _MEND
                line, element = one.get("line") or None, one.get("element")
                text = one["text"].splitlines()[0]
                found.append(Fault("unsafe", text, advice, self.name, line, element, check=one["check"]))
        return found

    def notes(self) -> list[str]:
        """Returns what is no fault and may be of interest."""
        found = [
            f"launches of {name} differ in too many ways: not all of them were checked"
            for name in (self.replayed or {}).get("unchecked", [])
        ]
        if names := self._left_as_it_was():
            found.append(f"it leaves its module's {', '.join(names)} as it was, and the task's changes it")
        for path, times in compared.coarser(self.result, self.own, self.exact).items():
            found.append(
                f"{path} is {times:.1f} times as far from the exact one as the reference's: "
                "it rounds more often, as sums in 16 bits do"
            )
        for one in (self.replayed or {}).get("findings", []):
            if one["severity"] == "warning":
                why = f": {one['why']}" if one.get("why") else ""
                found.append(
                    f"{one['check']}, line {one.get('line')}: {one['text'].splitlines()[0]}{why}"[:400]
                )
        return found

    def weights_unread(self, equal: dict) -> list[str]:
        """A note on the weights of the task that hold one number everywhere (by name: elements, number) and
        of whose size the call reads no memory: a result without them is as right."""
        read = {math.prod(shape) for _, shape, _ in self.bytes_of_others()}
        of = {name: one for name, one in equal.items() if one[0] not in read}
        if not of:
            return []
        names = ", ".join(f"{name} ({number:g} everywhere)" for name, (_, number) in of.items())
        return [f"it reads no weights of the size of the task's {names}: with others its result may be wrong"]

    def _fault(self, verdict: str, message: str, advice: str, **more) -> Fault:
        return Fault(verdict, message, advice, self.name, **more)

    def faults(self, rule) -> list[Fault]:
        """All that is wrong with the call by itself."""
        found = [
            self._fault("tampered", f"{text}", "leave what measures and compares as it is")
            for text in map(str, self.said["replaced"])
        ]
        if stopped := self.refused():
            return [*found, *stopped]
        found += self._findings()
        found += self._unwritten()
        wrong = compared.compare(self.result, self.own, self.exact, rule)
        if wrong is not None:
            there = {"element": wrong.element} if wrong.element else {}
            if self.seen and compared.compare(self.seen, self.own, self.exact, rule) is None and not found:
                told = "it returns what its launches and operators do not give from its inputs"
                advice = "compute the result with kernels, in the call"
                return [*found, self._fault("tampered", told, advice)]
            return [*found, self._fault("wrong", wrong.message, AT_THAT_ELEMENT, **there)]
        found += self._wrong_without_tf32(rule)
        if told := narrow.without_low_bits(self.result, self.own, self.exact):
            found.append(self._fault("wrong", told, IN_ITS_TYPE))
        if compared.compare(self.seen, self.own, self.exact, rule) is not None and not found:
            told = "the bytes that it returned are not those that its launches and operators give"
            advice = "finish all work before the call returns, and change nothing outside of kernels"
            found.append(self._fault("tampered", told, advice))
        found += self._on_another_device()
        found += self._wrong_state(rule)
        found += self._changed_inputs(rule)
        found += self._without_kernels(rule)
        return found

    def refused(self) -> list[Fault]:
        """The fault where its steps could not be done again to their end."""
        if self.replayed["say"] == "refused":
            advice = "use operators of torch and kernels of Triton alone"
            return [self._fault("not_judged", self.replayed["why"], advice)]
        return [self.trap("")] if "trap" in self.replayed else []

    def _wrong_without_tf32(self, rule) -> list[Fault]:
        """A fault where what differs is not the rounding of products to tf32, which alone is allowed for."""
        result = self._of_broker("f32") if rule.is_tf32 else None
        wrong = result and compared.compare(result, self.own, {}, dataclasses.replace(rule, is_tf32=False))
        if not wrong:
            return []
        told = f"with products that keep f32, {wrong.message}"
        return [self._fault("wrong", told, "compute the rest of it in f32", element=wrong.element)]

    def _on_another_device(self) -> list[Fault]:
        wanted = compared.devices(self.wanted["own"])
        try:
            seen = compared.devices(self.said.get("seen"))
        except compared.MALFORMED:
            return []
        for path, device in seen.items():
            if device == "cpu" and wanted.get(path) == "cuda":
                told = f"{path} is on the CPU, and the task's is on the GPU"
                return [self._fault("wrong", told, "return the tensor on the device of the inputs")]
        return []

    def _wrong_state(self, rule) -> list[Fault]:
        """A fault where the answer changes what its module keeps for the next call, and not as the task's
        does. What it leaves as it was is told in a note: no result depends on it."""
        if self.name not in _FIRST:
            return []
        kept = compared.arrays((self.replayed or {}).get("state"), self.replayed_parts, "state")
        texts = (self.wanted.get(name) for name in ("state", "exact state"))
        own, exact = (compared.arrays(text, self.wanted_parts, "state") for text in texts)
        names = sorted(kept.keys() & own.keys())
        kept, own = ({name: one[name] for name in names} for one in (kept, own))
        wrong = compared.compare(kept, own, exact, rule)
        if wrong is None:
            return []
        told = f"what its module keeps for the next call is wrong: {wrong.message}"
        return [self._fault("wrong", told, "update it as the task's module does")]

    def _left_as_it_was(self) -> list[str]:
        """The names of what the reference's module changes, and the answer's has and does not change."""
        changed = compared.arrays(self.wanted.get("state"), self.wanted_parts, "")
        touched = compared.arrays((self.replayed or {}).get("state"), self.replayed_parts, "")
        names = self.said.get("keeps") if isinstance(self.said.get("keeps"), list) else []
        return [str(name) for name in names if f"[{name!r}]" in changed.keys() - touched.keys()]

    def _unwritten(self) -> list[Fault]:
        other = self._of_broker("other fill")
        if (
            other is None
            or not compared.has_form(other, self.own)
            or not (count := compared.differing(self.result, other))
        ):
            return []
        told = f"{count} elements of the result depend on memory that nothing wrote"
        return [self._fault("unsafe", told, _core.advice_on("uninitialized value"), check="uninit")]

    def _changed_inputs(self, rule) -> list[Fault]:
        before = compared.arrays(self.given["given"], self.given_parts)
        before = [value for value in before.values() if hasattr(value, "dtype")]
        after = [
            value
            for text in self.replayed["inputs"]
            for value in compared.arrays(text, self.replayed_parts).values()
        ]
        for number, (x, y) in enumerate(zip(before, after, strict=True)):
            may_change = number < len(self.wanted["changed"]) and self.wanted["changed"][number]
            if not may_change and x.tobytes() != y.tobytes():
                advice = "write to memory of its own: the task does not change its inputs"
                return [self._fault("tampered", f"it changes input {number}", advice)]
            if not may_change or (returned := self.wanted["returned"][number]) is None:
                continue
            own = compared.arrays(returned, self.wanted_parts, f"input {number}")
            if (wrong := compared.compare(dict.fromkeys(own, y), own, {}, rule)) is not None:
                told = f"the task changes input {number} and returns it: {wrong.message}"
                advice = "write the result into that input, as the task does"
                return [self._fault("wrong", told, advice, element=wrong.element)]
        return []

    def _without_kernels(self, rule) -> list[Fault]:
        if not any(getattr(one, "size", 1) for one in self.own.values()):
            told = "the task's result has no element, which any answer gives"
            return [self._fault("not_judged", told, "choose another task")]
        if not any(step[0] == "launch" for step in self.said["steps"]):
            told = "it gives the right result and launches no kernel"
            return [self._fault("no_kernel", told, "compute the result in a Triton kernel")]
        if "spoiled 1" not in self.replayed:
            return []  # of a call that was not looked at so
        why = self._why_idle(rule)
        return [self._fault("idle", why[:300], "compute the result in the kernels")] if why else []

    def _is_right_without(self, way: str, rule) -> bool:
        """Whether the result stays right when launches leave something else, in two ways."""
        results = [self._of_broker(f"{way} {number}") for number in (1, 2)]
        return all(
            one is not None and compared.compare(one, self.own, self.exact, rule) is None for one in results
        )

    def _why_idle(self, rule) -> str | None:
        """Why the kernels do not count: torch does what the task is about."""
        if self._is_right_without("spoiled", rule):
            return "its result is right whatever its kernels leave in their results"
        theirs = [
            step[1].removeprefix("aten::").rstrip("_")
            for step in self.said["steps"]
            if step[0] == "op" and not is_move(step[1].removeprefix("aten::"))
        ]
        wanted = [name for name, _ in self.wanted["operators"]]
        kinds = {kind for kind in self.replayed["kinds"] if kind != "nothing"}
        if self.wanted["is_script"] and self.wanted["launches"]:
            return self._why_idle_in_a_script(kinds, worth.missing(theirs, wanted), rule)
        if not wanted and self.replayed["moved"] and kinds == {"copied"}:
            return "its kernels only copy what torch has moved"
        if not wanted or not theirs:
            return None
        missing = worth.missing(wanted, theirs)
        is_more = not worth.is_minor(missing)
        if kinds == {"copied"} and not worth.is_ordering(missing):
            return "its kernels only copy what torch has computed"
        if is_more and "computed" not in kinds:
            return "its kernels only copy, scale or set what torch has computed"
        if is_more and self._is_right_without("without", rule):
            return "those of its kernels that compute something do not matter for the result"
        exact, near, among, pieces = self.replayed["torch"]
        if (exact > 0.9 and not worth.is_ordering(missing)) or (is_more and near > 0.9):
            return "torch has computed the result without its kernels"
        if among > 0.9 and not worth.is_selecting(missing):
            return "torch has computed the result without its kernels, among other numbers"
        if is_more and sum(share for name, share in pieces.items() if name not in wanted) > _MOST_PIECES:
            return "torch has computed pieces of the result, which its kernels leave out"
        if is_more and self._share() < 0.1:
            return "kernels compute less than a tenth of the elements of its result, and torch the others"
        if all(theirs.count(name) >= wanted.count(name) for name in wanted):
            return f"torch computes all of the task in it: {', '.join(dict.fromkeys(wanted))}"
        return None

    def _why_idle_in_a_script(self, kinds: set, more: set, rule) -> str | None:
        """The same of tests, which do much with torch themselves, around functions whose own work is kernels.
        more: operators that torch does more often than with the benchmark's functions."""
        if not more:
            return None
        told = ", ".join(sorted(more))
        if "computed" not in kinds:
            return f"its kernels only copy, scale or set what torch has computed: {told}"
        if self._is_right_without("without", rule):
            return "those of its kernels that compute something do not matter for the result"
        exact, *_ = self.replayed["torch"]
        return f"torch has computed the result without its kernels: {told}" if exact > 0.9 else None

    def why_kept(self, before: Call) -> str | None:
        """Why the result of the call, which has the inputs of an earlier one, does not count as computed
        anew. What earlier calls had returned was overwritten before its steps were done."""
        if self.launches < before.launches:
            return f"it launches {self.launches} kernels, and {before.launches} at first"
        if self.replayed["say"] != "replayed" or "trap" in self.replayed:
            return None
        rule = before.rule
        if compared.compare(self.result, before.own, before.exact, rule) is not None:
            return "it returns memory that it has returned before, without writing all of it again"
        past = self._of_broker("other past")
        if past is not None and compared.compare(past, before.own, before.exact, rule) is not None:
            return "its result follows from the inputs of an earlier call"
        if self._is_right_without("spoiled", rule):
            return "its result is right whatever its kernels leave in their results"
        if self.replayed["left"]:
            return f"it uses what an earlier call has left in memory: {self.replayed['left']['what']}"
        kinds = {*self.replayed["kinds"]}
        if "computed" in {*before.replayed["kinds"]} - kinds and kinds & {"copied", "scaled"}:
            return "its kernels only copy or scale what was computed before"
        known = {*before.bytes_of_others()}
        if any(one not in known and len(one[2]) > NUMBER for one in self.bytes_of_others()):
            return "its result comes from memory that no kernel and no operator has made"
        return None

    def _share(self) -> float:
        """Which part of the result's elements changes with what launches leave."""
        sizes = [one.size for one in self.result.values() if isinstance(one, numpy.ndarray)]
        others = [self._of_broker(f"spoiled {number}") for number in (1, 2)]
        if any(one is None or not compared.has_form(one, self.own) for one in others) or not sum(sizes):
            return 1.0
        return max(compared.differing(self.result, one) for one in others) / sum(sizes)

    # --- what a trial compares between calls

    def bytes_of_others(self) -> list[tuple]:
        """The memory that no step has made: (type, shape, bytes)."""
        base = self.said["seen_parts"]
        steps = [step[2] for step in self.said["steps"] if step[0] == "bytes"]
        return [(one["dtype"], tuple(one["shape"]), self.parts[base + one["part"]]) for one in steps]

    def small_numbers(self) -> list:
        """The numbers in tensors so small that Python may have made them of numbers that it read."""
        small = [one for one in self.bytes_of_others() if len(one[2]) <= NUMBER]
        arrays = (numpy.frombuffer(data, numpy_named(dtype)) for dtype, _, data in small)
        return [plain(number) for one in arrays for number in one]

    def kept(self) -> list[int]:
        """The numbers of the tensors in its steps that an earlier call has made or was given."""
        names = {word for _, words in self.skeleton() for word in words if isinstance(word, Name)}
        return sorted(int(name.removeprefix("kept ")) for name in names if name.startswith("kept "))

    def without_memory(self) -> list[tuple]:
        """Its skeleton without the steps that only make memory, with tensors named by their first use: what
        it is where memory of earlier calls holds nothing that counts."""
        names: dict = {}

        def name(word):
            is_memory = isinstance(word, Name) and word.startswith(("kept ", "made "))
            return Name(f"memory {names.setdefault(word, len(names))}") if is_memory else word

        def is_of_memory(what, words) -> bool:
            is_name = what == "aten::detach" and isinstance(words[0], Name)
            return bool(wire.EMPTY.match(what)) or (is_name and words[0].startswith(("kept ", "made ")))

        steps = [step for step in self.skeleton() if not is_of_memory(*step)]
        return [(what, [name(word) for word in words]) for what, words in steps]

    def is_like(self, other: Call) -> bool:
        """Whether another call did the same steps with the same tensors, numbers aside."""
        mine, theirs = (
            [(name, [word for word in words if isinstance(word, Name)]) for name, words in call.skeleton()]
            for call in (self, other)
        )
        return mine == theirs

    def novelty(self, other: Call) -> int:
        """How many numbers are in its steps and its kernels that another call did not have."""
        known = {repr(one) for one in other.skeleton()}
        new = [numbers for name, numbers in self.skeleton() if repr((name, numbers)) not in known]
        before = {op for one in other._facts() for op in one["numbers"]}
        constants = {op: count for one in self._facts() for op, count in one["numbers"].items()}
        more = sum(count for op, count in constants.items() if op not in before)
        return len(self.skeleton()) + sum(map(len, new)) + more

    def skeleton(self) -> list[tuple]:
        """The steps: what is done, and the numbers and the names of tensors that it is done with."""
        return self._skeleton

    def follow(self, names: dict) -> None:
        """Names its tensors by where they are from. names: by number, those of earlier calls, to which its
        own are added."""
        now = names | {number: f"input {i}" for i, number in enumerate(self.said["inputs"])}
        made: list = []

        def make(number):
            if number is not None and number not in now:
                now[number] = f"made {len(made)}"
                made.append(number)

        found = self._skeleton = []
        for kind, *step in self.said["steps"]:
            if kind == "op":
                found.append((step[0], _words([step[2], step[3]], now)))
                for number in step[4]:
                    make(number)
            elif kind == "launch":
                found.append((f"launch {step[0]}", _words(step[1:], now)))
            elif kind == "view":
                found.append(("view", [*_words({"t": step[1]}, now), *_words(step[2:], now)]))
                make(step[0])
            elif kind == "bytes":
                now[step[0]] = self._name_of(step[1])
            elif kind == "item":
                found.append((f"item {step[0]}", _words(step[2], now)))
            else:
                found.append(("seed", [self._as_set(*step)]))
        if self.said.get("result") is not None:
            found.append(("result", _words(self.said["result"], now)))
        names |= now | {number: f"kept {number}" for number in (*made, *self.said["inputs"])}

    def _as_set(self, seed):
        """The seed as the tests set it, before script.py moved it."""
        is_moved = self.wanted["is_script"] and isinstance(seed, int)
        return script.moved(seed, -self.wanted["seed"]) if is_moved else seed

    def _name_of(self, text: dict):
        """Names memory that no step has made by its contents, or by the few numbers in it."""
        data = self.parts[self.said["seen_parts"] + text["part"]]
        form = [text[name] for name in ("dtype", "shape", "strides", "offset")]
        if len(data) <= NUMBER:
            return [*map(str, form), *(plain(one) for one in numpy.frombuffer(data, numpy_named(form[0])))]
        return f"memory {hashlib.sha256(repr(form).encode() + data).hexdigest()}"


def _words(value, names: dict) -> list:
    """The numbers and texts of a part of a step, with the names of tensors."""
    if isinstance(value, dict):
        if [*value] in (["t"], ["tensor"]):
            (number,) = value.values()
            name = names.get(number, "unknown")
            return name if isinstance(name, list) else [Name(name)]
        return [word for key in value for word in _words(value[key], names)]
    if isinstance(value, list):
        return [word for item in value for word in _words(item, names)]
    return [value]


class Name(str):
    """The name of a tensor in a step."""
