"""Machine gives what is around a stop: shared and tensor memory, barriers, copies, descriptors, registers;
and finds the part that a person names."""

from __future__ import annotations

import collections
import dataclasses
import re

import numpy

from triton_runner._base.errors import fail
from triton_runner.verbs.debug.results import Barrier, Buffer

_LANES = 128  # of tensor memory


@dataclasses.dataclass(frozen=True)
class Memory:
    """Bytes that are watched. space: "global", "shared", or "barrier" for the phase of the mbarrier there."""

    space: str
    at: int
    bytes: int


class Machine:
    """The state of the machine, as a part of a State (state.py)."""

    def barriers(self) -> list[Barrier]:
        """The mbarriers of the program that have been set up."""
        names = {
            b.at: b.name
            for b in self.buffers()
            if b.space == "shared" and b.bytes == 8 and (self.has_values or not b.name.startswith("%"))
        }
        return [
            Barrier(at, text, waiting, block, names.get(at, ""))
            for block, at, text, waiting in self._debugger.barriers
        ]

    def paths(self) -> list[str]:
        """Says what each task of the program, or each path of a block, a set of its threads, does."""
        return self._debugger.paths

    def copies(self) -> list[str]:
        """Asynchronous copies and products under way, oldest first."""
        return self._debugger.copies

    def descriptors(self) -> list[tuple[str, str]]:
        """(name, text) of the tensor descriptors in sight, and of those among the parameters."""
        return [(f"%{n}" if self.has_values else n, text) for n, text in self._debugger.descriptors]

    def descriptor(self, name: str) -> str | None:
        """The text of a tensor descriptor by its name, or None."""
        held = dict(self.descriptors())
        return held.get(name, held.get(f"%{name}"))

    def buffers(self) -> list[Buffer]:
        """The buffers in sight, and the variables of a module, in shared and tensor memory, by address; at
        PTX and cubin all buffers of the TTGIR, of which some may take turns."""
        held: dict = {}
        for number, name, is_tensor, at, nbytes in self._debugger.buffers:
            site = None if number is None else self.sites[number]
            names = (name, name) if site is None else (site.variable or site.value, site.value)
            held.setdefault(("tensor" if is_tensor else "shared", at, nbytes), names)
        if not self.has_values and held:  # code has one variable for all of them
            first = min(at for space, at, _ in held if space == "shared")
            for a in self._variables.allocations if self._variables is not None else ():
                held.setdefault(("shared", first + a.offset, a.bytes), (a.name, a.value))
        count = collections.Counter(name for name, _ in held.values())
        out = [  # of several with the name of a variable each has its own
            Buffer(name if count[name] == 1 else own, *place) for place, (name, own) in held.items()
        ]
        return sorted(out, key=lambda b: (b.space, b.at, -b.bytes))

    def shared(self, at: int = 0, nbytes: int | None = None) -> bytes:
        """Bytes of the block's shared memory; by default all of it, below the IR."""
        if nbytes is None:
            nbytes = self._of_lanes("shared_bytes") - at
        data = self._debugger.shared(at, nbytes) if at >= 0 and nbytes >= 0 else None
        if data is None:
            raise fail(f"the block's shared memory has no {nbytes} bytes at {at:#x}")
        return data

    def tensor_memory(self):
        """Tensor memory as 128 lanes of columns of 32 bits, and the ranges of columns that are allocated."""
        data = self._of_lanes("tensor_memory")
        return numpy.frombuffer(data, "uint32").reshape(-1, _LANES).T, self._debugger.tensor_columns

    def registers(self, prefix: str = "", predicates: bool = False) -> list[tuple]:
        """(name, array over the threads that are here, mask or None) of the registers that begin so."""
        self._of_lanes("threads")
        out = []
        for number, site in enumerate(self.sites):
            if site.value.startswith(prefix) and (site.type == "i1") == predicates:
                out.append((site.value, *self.read(number)))
        return out

    @property
    def has_values(self) -> bool:
        """Returns whether values of the IR stand here, and no registers."""
        return self._debugger.threads is None

    def _of_lanes(self, name: str):
        held = getattr(self._debugger, name)
        if held is None and self.has_values:
            raise fail(
                f"level {self._places.level} has no threads to show",
                "--level ptx, --level cubin and --level amdgcn have",
            )
        if held is None:
            raise fail("the block has allocated no tensor memory")
        return held

    # ---- as a person names it

    def address(self, text: str, buffers: bool = True) -> int:
        """The number that an expression stands for; of the same in all threads. Names of buffers stand for
        where they begin."""
        named = {b.name: b.at for b in self.buffers()} if buffers else {}
        words = re.sub(
            r"%?[A-Za-z_][\w.$#]*", lambda m: str(named.get(m[0], m[0])), text
        )  # the longest first: a name is a word
        value = numpy.asarray(self.evaluate(words))
        if value.size == 0 or value.dtype.kind not in "iu" or (value != value.flat[0]).any():
            raise fail(
                f"{text!r} is not one address: it has {value.size} elements of {value.dtype}",
                "as in x_ptr + 40, or %rd4[3] + 8",
            )
        return int(value.flat[0])

    def watched(self, text: str) -> Memory | None:
        """Returns what a watchpoint is of: "*x_ptr + 40 bytes 8", "shared 0x40", "barrier full"; None:
        values."""
        head, _, size = text.partition(" bytes ")
        nbytes = int(size) if size.strip().isdigit() else 0 if size else 4
        if not 1 <= nbytes <= 1 << 16:
            raise fail(f"{text!r}: bytes is a number from 1 to 65536", "as in watch *x_ptr + 40 bytes 8")
        if head.startswith("*"):
            return Memory("global", self.address(head[1:], buffers=False), nbytes)
        if match := re.match(r"(shared|barrier)\s+(.+)", head):
            at = self.address(match[2])
            self.shared(at, 8 if match[1] == "barrier" else nbytes)
            return Memory(match[1], at, 8 if match[1] == "barrier" else nbytes)
        return None


def is_memory(text: str) -> bool:
    """Returns whether a watchpoint is of memory, and not of a value."""
    return text.startswith("*") or re.match(r"(shared|barrier)\s", text) is not None
