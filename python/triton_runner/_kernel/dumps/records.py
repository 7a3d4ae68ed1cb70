"""Holds the result of a dump: the records of each value as arrays, and what a person asks of them first:
statistics, the first NaN, the difference from another dump, a file, a picture."""

from __future__ import annotations

import dataclasses
import json
import math
import re

import numpy

from triton_runner._base.errors import fail
from triton_runner._code.names import answers_to, check_single
from triton_runner._kernel.dumps import picture
from triton_runner._kernel.dumps.axes import program_of
from triton_runner._memory.difference import difference as array_difference
from triton_runner._memory.difference import differing
from triton_runner._memory.files import dtype_named, numpy_named, save_arrays
from triton_runner._worker.spelling import option

# Element types of the IR that no argument has; NumPy's or ml_dtypes' names, stored one an element.
_NUMPY = {
    "ptr": "int64", "tf32": "float32", "f8E4M3B11FNUZ": "float8_e4m3b11fnuz",
    "f6E2M3FN": "float6_e2m3fn", "f6E3M2FN": "float6_e3m2fn", "f4E2M1FN": "float4_e2m1fn",
}  # fmt: skip


def numpy_type(name: str):
    """The NumPy type of the IR's "f32", "bf16", ...; pointers are int64."""
    return numpy_named(_NUMPY[name]) if name in _NUMPY else dtype_named(name)


class Values:
    """The records of one value: one for each program and each execution that was kept.

    values[program] is the last record of a program, values[program, iteration] the record of one iteration (a
    tuple where loops are nested). A program is a number or a tuple (x, y, z). For values outside of loops,
    values[x, y] also names a program.
    """

    def __init__(self, series):
        self._series = series
        site = self.site = series.site
        self.name, self.op, self.level, self.kernel = site.value, site.op, site.level, site.kernel
        self.variable, self.file, self.line, self.column = site.variable, site.file, site.line, site.column
        self.stack = site.stack
        self.location, self.type, self.layout, self.loops = site.location, site.type, site.layout, site.loops
        self.shape = tuple(site.shape)
        self.dtype = numpy_type(site.type)
        if site.marker.endswith(".unsigned"):  # what dl.dump knows and the IR does not
            self.dtype = numpy.dtype(f"u{self.dtype}")
        self.dropped = series.dropped
        self._index = None

    @property
    def programs(self):
        """int64[records, 3]: the program of each record, x first."""
        return self._series.programs

    @property
    def iterations(self):
        """int64[records, loops]: the iterations of the enclosing loops, outermost first, counted from 0."""
        return self._series.iterations

    @property
    def order(self):
        """int64[records]: the position of each record in the execution order of the whole dump, or None."""
        return self._series.order

    @property
    def mask(self):
        """bool[records, *shape]: False for elements that do not exist (their thread was inactive); None where
        all elements exist."""
        mask = self._series.mask
        return None if mask is None else mask.view(bool).reshape(len(self), *self.shape)

    @property
    def registers(self) -> list[tuple[int, str]]:
        """The registers of machine code, as (address of the instruction, register) of each that holds a part
        of the value."""
        name, hash_, address = self.name.partition("#0x")
        named = [(int(address, 16), name)] if hash_ and self.level == "cubin" else []  # R10#0x1a0
        return self._series.registers or named

    def copies(self, record: int):
        """An element may be held in registers of several threads. Returns (elements, blocks, threads, values)
        for the copies of a record whose bits differ from the recorded ones."""
        places = self._series.copies
        mine = places[:, 0] == record
        values = self._series.copy_data.view(self.dtype)[mine]
        return places[mine, 1], places[mine, 2], places[mine, 3], values

    def __len__(self):
        return len(self._series)

    def to_numpy(self):
        """Returns an array [records, *shape] in the value's type (for bf16 and fp8 a type of ml_dtypes)."""
        return self._series.data.view(self.dtype).reshape(len(self), *self.shape)

    def to_torch(self):
        """Returns a copy of to_numpy() as a torch tensor."""
        import torch

        values = self.to_numpy()
        name = str(self.dtype)
        if not hasattr(torch, name):
            raise fail(f"torch has no type for {self.type}", "to_numpy() gives the values")
        bits = values.view(f"i{self.dtype.itemsize}").copy()
        return torch.from_numpy(bits).view(getattr(torch, name))

    def __getitem__(self, key):
        is_pair = self.loops and isinstance(key, tuple) and len(key) == 2
        return self.to_numpy()[self.find(*(key if is_pair else (key, None)))]

    def find(self, program, iteration=None) -> int:
        """Returns the number of the record for a program and iteration; without an iteration, the program's
        last record."""
        program = program_of(program)
        if iteration is not None:
            iteration = iteration if isinstance(iteration, tuple) else (iteration,)
        index = self._index
        if index is None:
            index = self._index = {}
            for i, (p, its) in enumerate(zip(self.programs.tolist(), self.iterations.tolist(), strict=True)):
                index.setdefault(tuple(p), {})[tuple(its)] = i
        records = index.get(program)
        if records is None:
            programs = ", ".join(str(p) for p in list(index)[:6])
            raise fail(
                f"{self.name} was not recorded in program {program}",
                f"programs with records: {programs}{', ...' if len(index) > 6 else ''}",
            )
        if iteration is None:
            return next(reversed(records.values()))
        if iteration not in records:
            programs = ", ".join(str(i[0] if len(i) == 1 else i) for i in list(records)[:8])
            raise fail(
                f"{self.name} of program {program} has no iteration {iteration}",
                f"iterations with records: {programs}{', ...' if len(records) > 8 else ''}",
                *(
                    []
                    if len(records) > 1
                    else [f"{option('every_iteration', code='True')} keeps all of them"]
                ),
            )
        return records[iteration]

    def floats(self):
        """Returns the values as float64, with NaN for elements that do not exist."""
        values = self.to_numpy().astype("float64")
        if self.mask is not None:
            values[~self.mask] = math.nan
        return values

    @property
    def origin(self) -> str:
        """For pointers: the name of the argument that they are derived from, or "" if it is not known."""
        return self.site.origin if self.site.origin_bytes > 0 and self.site.origin_address else ""

    def offsets(self):
        """For pointers with an origin: their distance from it, in elements of the pointee type."""
        distance = self.to_numpy().astype("int64") - self.site.origin_address
        return distance // self.site.origin_bytes

    def stats(self) -> dict:
        """Returns records, nan and inf (how many), and min, max and mean of the finite elements that exist.
        For pointers with an origin it describes the offsets."""
        values = self.offsets().astype("float64") if self.origin else self.floats()
        values = values if self.mask is None else values[self.mask]
        nan, inf = int(numpy.isnan(values).sum()), int(numpy.isinf(values).sum())
        finite = values[numpy.isfinite(values)]
        some = finite.size > 0
        return {
            "records": len(self), "nan": nan, "inf": inf,
            "min": float(finite.min()) if some else None,
            "max": float(finite.max()) if some else None,
            "mean": float(finite.mean()) if some else None,
        }  # fmt: skip

    def heat_map(self, path: str, program=None, iteration=None) -> None:
        """Writes a picture of one record (PNG, SVG or PDF); without program and iteration, of the last
        one."""
        picture.heat_map(self, path, program, iteration)

    def __repr__(self):
        shape = "x".join(map(str, (*self.shape, self.type)))
        named = f" '{self.variable}'" if self.variable else ""
        where = f" {self.file.rpartition('/')[2]}:{self.line}" if self.file else ""
        return f"<{self.name}{named} = {self.op} {shape}, {len(self)} records at {self.level}{where}>"


class Place:
    """One element of one record: the position of a result such as first_nan()."""

    def __init__(self, values: Values, record: int, element: tuple, **numbers):
        self.name, self.op, self.variable = values.name, values.op, values.variable
        self.file, self.line, self.level = values.file, values.line, values.level
        self.program = tuple(values.programs[record].tolist())
        self.iteration = tuple(values.iterations[record].tolist())
        self.element = tuple(int(i) for i in element)
        self.numbers = numbers
        self.__dict__.update(numbers)

    def __repr__(self):
        named = f" ('{self.variable}')" if self.variable else ""
        where = f"{self.file}:{self.line}: " if self.file else ""
        loop = f", iteration {', '.join(map(str, self.iteration))}" if self.iteration else ""
        numbers = ", ".join(f"{name} {value}" for name, value in self.numbers.items())
        return (
            f"{where}{self.name}{named} = {self.op} at {self.level}, program {self.program}{loop}, "
            f"element {list(self.element)}: {numbers}"
        )


def _is_inside(v: Values, loop: Values) -> bool:
    """Whether a value is of a statement in a loop that stands on the same line."""
    body = re.sub(r"(@\d+)(\.\d+)?$", r"\1.", loop.site.path)
    return (
        (v.file, v.line) == (loop.file, loop.line)
        and v.column != loop.column
        and v.site.path.startswith(body)
    )


def _assigned(values: list[Values]) -> list[Values]:
    """Returns, of the values that a variable's statements make, those that each gives in the end (as select()
    of probe/select.h chooses)."""
    lines: dict = {}
    loops = [v for v in values if v.op in ("scf.for", "scf.while")]
    for v in values:
        inside = not v.op.startswith("scf.") and any(_is_inside(v, loop) for loop in loops)
        lines.setdefault((v.file, v.line, inside), []).append(v)
    kept = []
    for column in lines.values():
        column = [v for v in column if v.op.startswith("scf.")] or column
        column = [v for v in column if v.shape] or column
        last = column[-1]
        kept += [v for v in column if (v.op, v.shape) == (last.op, last.shape)]
    return kept


class Dump:
    """The values that were recorded during one launch, by selector or by name.

    d["acc"] is the value that the selector "acc" matched. Where it matched several, d["acc"] is the one in
    the deepest loop, and the last of these; d.all("acc") returns all of them. If several values share an SSA
    name, d[...] raises an error that lists their unique names: "%54@1", "%54@2". `values` holds all values in
    the order of the text, `notes` what was left out, and `changes` what instrumenting the kernel changed in
    it (the engines change nothing).
    """

    def __init__(self, recording, selections: dict | None = None, changes: list | None = None):
        self.values = [Values(series) for series in recording.series]
        self.notes = list(recording.notes)
        self.changes = list(changes or [])
        self._selections = selections or {}
        self._recording = recording

    @property
    def recording(self):
        """The records in the core's own form."""
        return self._recording

    def all(self, name: str) -> list[Values]:
        """Returns the values that match a selector, an SSA name or a Python variable. If sibling regions
        reuse an SSA name, all its definitions are returned."""
        chosen = self._selections.get(name, ())
        matches = [v for v in self.values if v.name in chosen and not v.site.marker]
        matches = matches or [v for v in self.values if answers_to(v.site, name)]
        matches = matches or [v for v in self.values if v.op == name]
        matches = matches or _assigned([v for v in self.values if v.variable == name])
        if matches:
            return matches
        from triton_runner._core.probe import nearest_names

        defined = {v.name for v in self.values} | {v.variable for v in self.values if v.variable}
        near = nearest_names(name, sorted(defined))
        raise fail(
            f"{name!r} is not in this dump",
            *(f"did you mean {other!r}?" for other in near),
            f"it has {', '.join(v.name for v in self.values[:12]) or 'no records'}",
        )

    def __getitem__(self, name: str) -> Values:
        found = self.all(name)
        check_single(name, [v.site for v in found])
        deepest = max(v.loops for v in found)
        return [v for v in found if v.loops == deepest][-1]

    def __contains__(self, name: str) -> bool:
        return name in self._selections or any(
            answers_to(v.site, name) or name in (v.variable, v.op) for v in self.values
        )

    def __iter__(self):
        return iter(self.values)

    def __len__(self):
        return len(self.values)

    def stats(self) -> list[dict]:
        """Returns records, nan, inf, min, max and mean for each value."""
        return [{"name": values.name, **values.stats()} for values in self.values]

    def first_nan(self) -> Place | None:
        """Returns the first element that is NaN, ordered by program and then by execution; None if there is
        none."""
        rows = []
        for number, values in enumerate(self.values):
            if not len(values) or values.dtype.kind in "biu":
                continue
            bad = numpy.isnan(values.to_numpy().astype("float64"))
            if values.mask is not None:
                bad &= values.mask
            records = numpy.flatnonzero(bad.reshape(len(values), -1).any(axis=1))
            for record in records[:1] if values.order is None else records:
                key = tuple(reversed(values.programs[record].tolist()))
                iteration = (*values.iterations[record].tolist(), number)
                order = (int(values.order[record]),) if values.order is not None else iteration
                rows.append((key, order, number, int(record)))
        if not rows:
            return None
        _, _, number, record = min(rows)
        values = self.values[number]
        array = values.to_numpy()[record]
        element = numpy.argwhere(numpy.isnan(array.astype("float64")))[0]
        return Place(values, record, tuple(element), value=float("nan"))

    def diff(self, other: Dump) -> list[dict]:
        """Compares the values that both dumps have, matching records by program and iteration. For each value
        that differs it returns how many elements differ in their bits, the largest difference, and the first
        differing element (a Place with a and b)."""
        theirs: dict = {}
        for values in other.values:
            theirs.setdefault(_same(values), []).append(values)
        pairs = [(mine, theirs[_same(mine)].pop(0)) for mine in self.values if theirs.get(_same(mine))]
        return [
            difference_ for difference_ in (difference(a, b) for a, b in pairs) if difference_ is not None
        ]

    def save(self, path: str) -> None:
        """Writes all records into a .npz or .safetensors file: "<value>" [records, *shape],
        "<value>.programs" and "<value>.iterations". A .npz file stores types that NumPy does not have (bf16,
        fp8) as unsigned integers of the same size."""
        if not path.endswith((".npz", ".safetensors")):
            raise fail(f"cannot save a dump as {path}", "as dump.npz or dump.safetensors")
        arrays, about = {}, {}
        for values in self.values:
            name = values.name
            while name in arrays:
                name += "'"
            array = values.to_numpy()
            if path.endswith(".npz") and array.dtype.isbuiltin != 1:
                array = array.view(f"u{array.dtype.itemsize}")
            arrays[name] = numpy.ascontiguousarray(array)
            arrays[f"{name}.programs"] = values.programs
            arrays[f"{name}.iterations"] = values.iterations
            about[name] = json.dumps(describe(values))
        if path.endswith(".npz"):
            arrays["about"] = numpy.array(json.dumps({k: json.loads(v) for k, v in about.items()}))
        save_arrays(path, arrays, about)

    def __repr__(self):
        lines = [f"<dump of {len(self.values)} values>"]
        lines += [f"  {values!r}" for values in self.values[:20]]
        if len(self.values) > 20:
            lines.append(f"  ... and {len(self.values) - 20} more")
        return "\n".join([*lines, *(f"  note: {note}" for note in [*self.notes, *self.changes])])


def _same(values: Values):
    """Returns what a value has in both dumps: registers of PTX may be written by several instructions."""
    return values.name, values.op, values.shape, values.site.marker


def describe(values: Values) -> dict:
    """Returns what is known of a value, for JSON."""
    return {
        "value": values.name, "variable": values.variable, "op": values.op, "level": values.level,
        "kernel": values.kernel, "file": values.file, "line": values.line, "column": values.column,
        "type": values.type, "shape": list(values.shape), "layout": values.layout, "loops": values.loops,
        "records": len(values), "dropped": values.dropped,
    }  # fmt: skip


def difference(a: Values, b: Values) -> dict | None:
    """How the records of a and b differ that have the same program and iteration; None where they do not."""
    where = {}
    for i, (p, its) in enumerate(zip(b.programs.tolist(), b.iterations.tolist(), strict=True)):
        where[tuple(p), tuple(its)] = i
    mine, theirs = [], []
    for i, (p, its) in enumerate(zip(a.programs.tolist(), a.iterations.tolist(), strict=True)):
        if (tuple(p), tuple(its)) in where:
            mine.append(i)
            theirs.append(where[tuple(p), tuple(its)])
    if not mine:
        return None
    x, y = a.to_numpy()[mine], b.to_numpy()[theirs]
    found = array_difference(x, y)
    if x.dtype == y.dtype:
        found = dataclasses.replace(found, where=differing(x, y))
    if not found:
        return None
    first = found.element
    numbers = {"a": float(x[first]), "b": float(y[first])}
    return {
        "name": a.name, "elements": found.elements, "of": found.of, "max_error": found.max_error,
        "first": Place(a, mine[first[0]], first[1:], **numbers), "values": (a, b),
    }  # fmt: skip
