"""Has the commands of the terminal (terminal.py) about the machine: its memory, barriers, copies, registers;
which threads it is about, and which get no turn."""

from __future__ import annotations

import re

import numpy

from triton_runner._base.errors import fail
from triton_runner._base.typed import as_json
from triton_runner.verbs.debug import show, tables
from triton_runner.verbs.debug.commands import whole

KINDS = ("u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8")


class MachineCommands:
    """A part of Terminal."""

    def do_shared(self, rest: str):
        """shared [ADDRESS or NAME [TYPE] [COUNT]]: shows the buffers in shared memory, or what is in it:
        shared 0x400 f4 16"""
        state = self.session.state
        if not rest:
            return self._buffers()
        words = rest.split()
        kind = next((w for w in words[1:] if w in KINDS), "u4")
        counts = [whole(w) for w in words[1:] if w not in KINDS]
        at = state.address(words[0])
        held = next((b for b in state.buffers() if b.space == "shared" and b.at <= at < b.at + b.bytes), None)
        size = numpy.dtype(kind).itemsize
        most = (held.at + held.bytes - at) // size if held else 32
        count = counts[0] if counts else min(most, 32)
        lines = show.memory(state.shared(at, count * size), 0, kind, count, at, self.width)
        return self._answer({"at": at, "type": kind, "lines": lines}, lines)

    def do_x(self, rest: str):
        """x OFFSET [TYPE] [COUNT]: the same as shared: x 0x400 f4 16"""
        if not rest.strip("/ "):
            raise fail("x: which offset?", "as in x 0x400 f4 16")
        self.do_shared(rest.lstrip("/"))

    def do_tmem(self, rest: str):
        """tmem [COLUMN [COUNT]] [TYPE]: shows the allocated columns of tensor memory, or what is in them
        (ptx, cubin): tmem 0 8 f4"""
        words, columns = self.session.state.tensor_memory()
        if not rest:
            lines = [f"columns {a} to {b - 1}" for a, b in columns] or ["no columns are allocated"]
            return self._answer({"columns": columns}, lines)
        given = rest.split()
        kind = next((w for w in given if w in KINDS), "u4")
        numbers = [whole(w) for w in given if w not in KINDS]
        if numpy.dtype(kind).itemsize != 4:
            raise fail(f"tmem: a column has 32 bits, and {kind} has another size", "as in tmem 0 8 f4")
        first, count = numbers[0] if numbers else 0, numbers[1] if len(numbers) > 1 else 8
        if not 0 <= first < words.shape[1] or count < 1:
            raise fail(f"tmem: there are columns 0 to {words.shape[1] - 1}")
        array = numpy.ascontiguousarray(words[:, first : first + count]).view(kind)
        lines = [
            f"128 lanes, columns {first} to {first + array.shape[1] - 1}",
            *tables.table(array, None, self.width),
        ]
        return self._answer({"first": first, "type": kind, "value": array.tolist()}, lines)

    def do_registers(self, rest: str):
        """registers [PREFIX]: shows all registers over all lanes, a line each (ptx, cubin, amdgcn)"""
        held = self.session.state.registers(rest)
        self._registers(held, [show.register(*one) for one in held])

    def do_predicates(self, rest: str):
        """predicates [PREFIX]: shows all predicates, a digit a lane (ptx, cubin; scc of amdgcn)"""
        held = self.session.state.registers(rest, predicates=True)
        here = self.session.where()
        self._registers(held, [line for one in held for line in show.predicate(*one, here)])

    def _registers(self, held: list, lines: list[str]) -> None:
        data = [
            {"name": name, "value": array.tolist(), "mask": None if mask is None else mask.tolist()}
            for name, array, mask in held
        ]
        self._answer({"registers": data}, lines or ["none"])

    # ---- info

    def machine_info(self) -> dict:
        """Returns what info shows of the machine, by name."""
        return {
            "barriers": self._barriers, "paths": self._paths, "copies": self._copies, "descriptors":
            self._descriptors, "shared": self._buffers, "focus": self._focus, "registers":
            lambda: self.do_registers(""),
        }  # fmt: skip

    def _barriers(self) -> None:
        barriers = self.session.state.barriers()
        lines = [show.barrier(b) for b in barriers] or ["no mbarrier is set up"]
        self._answer({"barriers": [as_json(b) for b in barriers]}, lines)

    def _paths(self) -> None:
        paths = self.session.state.paths()
        self._answer({"paths": paths}, paths)

    def _copies(self) -> None:
        copies = self.session.state.copies()
        self._answer({"copies": copies}, copies or ["nothing is under way"])

    def _descriptors(self) -> None:
        held = self.session.state.descriptors()
        data = [{"name": name, "text": text} for name, text in held]
        self._answer({"descriptors": data}, [f"{n}: {t}" for n, t in held] or ["no descriptors"])

    def _buffers(self) -> None:
        buffers = self.session.state.buffers()
        lines = [show.buffer(b) for b in buffers] or ["no buffers"]
        self._answer({"buffers": [as_json(b) for b in buffers]}, lines)

    # ---- which of them

    def do_focus(self, rest: str):
        """focus [program 3,0] [warp 2] [lane 5] | all: stops in these alone, and shows their registers"""
        words = {"warp" if name == "wave" else name: what for name, what in _TARGET.findall(rest)}
        left = _TARGET.sub("", rest).strip()
        if left == "all":
            self.session.focus_on()
        elif left or (not words and rest):
            raise fail(f"focus {rest}: on what?", "as in focus program 3,0 warp 2 lane 5, focus all")
        elif words:
            self.session.focus_on(
                words.get("program"), *(whole(words[n]) if n in words else None for n in _PARTS)
            )
        self._focus()

    def _focus(self) -> None:
        focus = self.session.focused()
        shown = {
            show.warp_word(self.session.level) if name == "warp" else name: focus[name] for name in focus
        }
        text = ", ".join(f"{name} {value}" for name, value in shown.items()) or "all programs and threads"
        self._answer({"focus": focus}, [text])

    def do_freeze(self, rest: str):
        """freeze [block 1] WARP ...: gives a warp no turn until it is thawed: freeze 2, freeze 0-3; at
        ttgir a partition"""
        self._freeze(rest, True)

    def do_thaw(self, rest: str):
        """thaw [block 1] [WARP ...]: lets a frozen warp or partition go on; without a number all of them"""
        self._freeze(rest, False)

    def _freeze(self, rest: str, on: bool) -> None:
        head, block = rest, 0
        if match := re.match(r"block\s+(\d+)\s*(.*)", rest):
            block, head = int(match[1]), match[2]
        words = re.sub(r"\b(warps?|waves?|partitions?)\b|,", " ", head).split()
        if on and not words:
            raise fail(
                "freeze: which warp or partition?", "as in freeze 2, freeze 0-3, freeze block 1 warp 2"
            )
        changed = self.session.freeze([n for word in words for n in _range(word)] or None, block, on)
        word = "frozen" if on else "thawed"
        self._answer({word: changed}, [f"{word}: {', '.join(map(str, changed)) or 'none'}"])


_PARTS = ("warp", "lane", "partition")
_TARGET = re.compile(r"\b(program|warp|wave|lane|partition)\s+(-?\d[\d,\-]*)")


def _range(text: str) -> range:
    """2 to 5 of "2-5"."""
    first, _, last = text.partition("-")
    return range(whole(first), whole(last or first) + 1)
