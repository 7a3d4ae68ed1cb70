"""dump_tensor=: what a launch recorded, written into the caller's tensor as the original does it, with its
bounds and types checked: no element is written beyond the tensor, and no value changes on its way."""

from __future__ import annotations

import math

import numpy

from triton_runner._base.errors import fail, warn
from triton_runner._base.markers import EVERY, MARKER, UNSIGNED
from triton_runner._kernel.dumps.records import numpy_type


def _is_float(dtype: numpy.dtype) -> bool:
    return dtype.kind not in "biu"


def _range(dtype: numpy.dtype):
    import ml_dtypes

    info = (numpy if dtype.kind == "f" else ml_dtypes).finfo(dtype)
    return int(info.nmant), float(info.max), float(info.smallest_subnormal)


def check_type(source: str, target: numpy.dtype, who: str) -> None:
    """Refuses a dump_tensor whose type cannot hold values of the IR's type `source`. Whole numbers in floats
    are checked one by one when they are written."""
    own = numpy_type(source)
    if own == target or not _is_float(own):
        return
    if _is_float(target):
        (bits, largest, smallest), (room, highest, lowest) = _range(own), _range(target)
        if bits <= room and largest <= highest and smallest >= lowest:
            return
    wider = "torch.float64" if source == "f64" else "torch.float32"
    raise fail(
        f"{who} is of type {source}, and dump_tensor of type {target.name}, which would lose bits",
        f"make dump_tensor of {wider}, or of the value's own type",
    )


class Target:
    """dump_tensor as a row of elements: a torch tensor on any device, or a NumPy array, contiguous.

    elements: a NumPy array of the tensor's type, whatever torch calls it.
    """

    def __init__(self, tensor):
        self.is_torch = hasattr(tensor, "data_ptr") and hasattr(tensor, "is_contiguous")
        if not self.is_torch and not isinstance(tensor, numpy.ndarray):
            raise fail(f"dump_tensor={type(tensor).__name__}: expected a tensor")
        if not (tensor.is_contiguous() if self.is_torch else tensor.flags.c_contiguous):
            raise fail(
                "dump_tensor is not contiguous, and a dump fills it in the order of its memory",
                "pass dump_tensor.contiguous()",
            )
        self._tensor = (tensor.detach() if self.is_torch else tensor).reshape(-1)
        if not self.is_torch:
            self.elements = self._tensor
            return
        import ml_dtypes
        import torch

        name = str(tensor.dtype).removeprefix("torch.")
        if not hasattr(numpy, name) and not hasattr(ml_dtypes, name):
            raise fail(f"dump_tensor of type {tensor.dtype} is not supported")
        dtype = numpy.dtype(getattr(ml_dtypes, name, None) or name)
        # For a tensor on a GPU it is a copy, which done() brings back.
        bits = self._tensor.view(getattr(torch, f"int{8 * dtype.itemsize}")).cpu()
        self.elements = bits.numpy().view(dtype)
        self._bits = bits

    @property
    def size(self) -> int:
        return len(self.elements)

    @property
    def dtype(self) -> numpy.dtype:
        return self.elements.dtype

    def done(self) -> None:
        """Call it when all elements are written: those of a tensor on a GPU are copied there."""
        if self.is_torch and self._tensor.device.type != "cpu":
            self._tensor.view(self._bits.dtype).copy_(self._bits)


def _converted(values: numpy.ndarray, target: Target, who: str) -> numpy.ndarray:
    if values.dtype == target.dtype:
        return values
    with numpy.errstate(all="ignore"):
        converted = values.astype(target.dtype)
        if not _is_float(values.dtype):
            wrong = numpy.flatnonzero(converted.astype(values.dtype) != values)
            if target.dtype.kind == "u":
                wrong = numpy.flatnonzero(values < 0) if not len(wrong) else wrong
            if len(wrong):
                raise fail(
                    f"{who}: the whole number {values[wrong[0]]} does not fit into dump_tensor of type "
                    f"{target.dtype.name}",
                    "make dump_tensor of torch.int64 or torch.float64",
                )
    return converted


def statement(marker: str, file: str, line: int) -> str:
    """A marker's prefix and place as a message calls it."""
    where = f" at {file.rpartition('/')[2]}:{line}" if file else ""
    return f"dl.{marker.removeprefix(f'{MARKER}.').removesuffix(UNSIGNED)}{where}"


def describe(site) -> str:
    """Returns the name of a dumped value in messages: "dl.dump at kernel.py:42", "%13"."""
    if not site.marker:
        return site.value
    return statement(site.marker, site.file, site.line)


def place(site) -> tuple:
    """Returns what tells a value from others: names are used again in other regions."""
    return site.value, site.location, site.line, site.column


def elements(site) -> int:
    return math.prod(site.shape)


def fill(target: Target, dump, starts: dict, program: tuple, grid: tuple) -> None:
    """Writes the records of a Dump, in the order of their execution: a later record of the same place stays.
    starts: where the values of dump_value= begin, of which `program` is recorded. What does not fit is left
    out and warned of."""
    for values, series in zip(dump.values, dump.recording.series, strict=True):
        site = values.site
        if not site.marker and place(site) not in starts:
            continue
        who, count, records = describe(site), elements(site), values.to_numpy()
        for i, of in enumerate(values.programs.tolist()):
            if site.marker:
                start, *axes = series.extra[i].tolist()
                if axes == [EVERY] * 3:
                    start += ((of[0] * grid[1] + of[1]) * grid[2] + of[2]) * count
            elif tuple(of) == program:
                start = starts[place(site)]
            else:
                continue
            low, high = max(start, 0), min(start + count, target.size)
            if low != start or high != start + count:
                warn(
                    f"{who} of program {tuple(of)} takes the elements {start} to {start + count - 1} of "
                    f"dump_tensor, which has {target.size}: only those were written"
                )
            if low < high:
                flat = records[i].reshape(-1)[low - start : high - start]
                target.elements[low:high] = _converted(flat, target, who)
    target.done()
