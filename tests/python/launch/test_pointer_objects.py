"""Tests whatever Triton's launcher takes as a pointer: objects with data_ptr() and dtype, and any of device,
shape, stride() and untyped_storage()."""

import ctypes
import itertools
import types

import numpy as np
import pytest
import triton_runner
from kernels_for_tests import reverse

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

N = 64
FIELDS = ("device", "shape", "stride", "untyped_storage")
SUBSETS = [subset for n in range(len(FIELDS) + 1) for subset in itertools.combinations(FIELDS, n)]
LEVELS = ("ttir", "ttgir", "ptx")


def pointer_to(tensor, fields=(), address=None, strides=None):
    """An object with data_ptr(), dtype and some fields of a tensor; nothing else of it can be reached."""

    class Pointer:
        def __init__(self):
            self.dtype = tensor.dtype
            if "device" in fields:
                self.device = tensor.device
            if "shape" in fields:
                self.shape = tensor.shape

        def data_ptr(self):
            return tensor.data_ptr() if address is None else address

    if "stride" in fields:
        Pointer.stride = lambda self: tensor.stride() if strides is None else strides
    if "untyped_storage" in fields:
        Pointer.untyped_storage = lambda self: tensor.untyped_storage()
    return Pointer()


def reversed_by(way: str, level: str, tmp_path, values, out):
    """out = values backwards: `values` points at the last element."""
    with triton_runner.using(level=level):
        if way == "jit":
            reverse[(1,)](values, out, N=N)
            return
        compiled = reverse.warmup(values, out, N=N, grid=(1,))
        if way == "compiled":
            compiled[(1, 1, 1)](values, out, N)
            return
        path = tmp_path / f"{compiled.name}.{level}"
        path.write_text(compiled.asm[level])
        triton_runner.load(str(path), compiled.metadata)[(1,)](values, out)


# Fields are read before a level and a way of launching matter: the rest has the fewest and the most.
WAYS = [("jit", LEVELS[0], fields) for fields in SUBSETS]
WAYS += [
    (way, level, fields)
    for way in ("jit", "compiled", "load")
    for level in LEVELS
    for fields in (SUBSETS[0], SUBSETS[-1])
    if (way, level) != ("jit", LEVELS[0])
]


@pytest.mark.parametrize(("way", "level", "fields"), WAYS)
def test_any_fields_of_a_tensor(fields, level, way, tmp_path):
    x, out = torch.arange(N, dtype=torch.float32), torch.zeros(N)
    last = x.data_ptr() + 4 * (N - 1)
    values = pointer_to(x, fields, last, (-1,))
    reversed_by(way, level, tmp_path, values, pointer_to(out, fields))
    assert torch.equal(out, x.flip(0))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("fields", [f for f in SUBSETS if {"shape", "stride"} - {*f}], ids="+".join)
def test_nothing_outside_is_touched(fields, level):
    x, out = torch.arange(N, dtype=torch.float32), torch.zeros(N)
    beside = pointer_to(x, fields, x.data_ptr() + 4 * (N - 2))  # one element too few in front of it
    with triton_runner.using(level=level), pytest.raises(triton_runner.KernelTrap, match="out of bounds"):
        reverse[(1,)](beside, out, N=N)


@pytest.mark.parametrize("level", LEVELS)
def test_a_view_without_storage_is_what_its_strides_reach(level):
    x, out = np.arange(N + 2, dtype=np.float32), torch.zeros(N)
    last = x.ctypes.data + 4 * N
    elements = types.SimpleNamespace(data_ptr=lambda: last, dtype="float32", shape=(N,), stride=lambda: (-1,))
    with triton_runner.using(level=level):
        reverse[(1,)](elements, out, N=N)
        assert np.array_equal(out.numpy(), x[N:0:-1])
        elements.shape = (N - 1,)
        with pytest.raises(triton_runner.KernelTrap, match="out of bounds"):
            reverse[(1,)](elements, out, N=N)


class Holder:
    """An object with an address and an element type, whose memory something else owns."""

    def __init__(self, address, owner=None, dtype="float32"):
        self.address, self.owner, self.dtype = address, owner, dtype

    def data_ptr(self):
        return self.address


def test_memory_is_found_that_the_object_holds():
    x, out = np.arange(N, dtype=np.float32), torch.zeros(N)
    inside = Holder(x.ctypes.data + 4 * (N - 1), {"deep": [x]})
    reverse[(1,)](inside, Holder(out.data_ptr(), (out,)), N=N)
    assert np.array_equal(out.numpy(), x[::-1])


class Swizzled:
    """Its shape is what people see and its strides are those of the memory, whose elements have another
    order: together they lead out of the memory, or not to its end (as in `triton_kernels.tensor.Tensor`)."""

    def __init__(self, data, shape, strides):
        self.storage = types.SimpleNamespace(data=data)
        self.shape, self.strides, self.dtype = shape, strides, data.dtype

    def stride(self):
        return self.strides

    def data_ptr(self):
        return self.storage.data.data_ptr()


@pytest.mark.parametrize("strides", ((4 * N, 1), (1, 0)), ids=("beyond", "within"))
@pytest.mark.parametrize("check", ("race", "oob", "oob,view"))
@pytest.mark.parametrize("level", LEVELS)
def test_a_wrapper_s_memory_is_that_of_the_tensor_in_it(level, check, strides):
    memory = torch.arange(3 * N, dtype=torch.float32)
    out = torch.zeros(N)
    with triton_runner.using(level=level, check=check):
        reverse[(1,)](Swizzled(memory[N - 1 :], (N, 2), strides), out, N=N)
        assert torch.equal(out, memory[:N].flip(0))
        if check != "race":
            with pytest.raises(triton_runner.KernelTrap, match="out of bounds"):
                reverse[(1,)](Swizzled(memory[N - 2 :], (N, 2), strides), out, N=N)


def test_memory_is_found_that_only_others_hold():
    x, out = np.arange(N, dtype=np.float32), torch.zeros(N)
    kept = {"x": x, "out": out}
    last = x.ctypes.data + 4 * (N - 1)
    del x
    for _ in range(3):
        reverse[(1,)](Holder(last), Holder(out.data_ptr()), N=N)
    assert np.array_equal(kept["out"].numpy(), kept["x"][::-1])


def test_what_was_found_is_not_used_after_its_death():
    out = torch.zeros(N)
    x = torch.arange(N, dtype=torch.float32)
    last = Holder(x.data_ptr() + 4 * (N - 1))
    reverse[(1,)](last, out, N=N)
    x.untyped_storage().resize_(0)
    with pytest.raises(triton_runner.KernelTrap, match="out of bounds"):
        reverse[(1,)](last, out, N=N)
    y = np.arange(N, dtype=np.float32)
    last = Holder(y.ctypes.data + 4 * (N - 1))
    reverse[(1,)](last, out, N=N)
    del y
    with pytest.raises(triton_runner.KernelTrap, match="out of bounds"):
        reverse[(1,)](last, out, N=N)


def test_memory_of_nobody_is_registered_or_refused():
    block = (ctypes.c_float * N)(*range(N))
    out = torch.zeros(N)
    last = Holder(ctypes.addressof(block) + 4 * (N - 1))
    with pytest.raises(triton_runner.KernelTrap, match="register_memory"):
        reverse[(1,)](last, out, N=N)
    triton_runner.register_memory(ctypes.addressof(block), ctypes.sizeof(block), "a block of ctypes")
    try:
        reverse[(1,)](last, out, N=N)
    finally:
        triton_runner.register_memory(ctypes.addressof(block), 0)
    assert out.tolist() == list(reversed(range(N)))


def test_a_null_pointer_is_one():
    with pytest.raises(triton_runner.KernelTrap, match="null"):
        reverse[(1,)](Holder(0), torch.zeros(N), N=N)


def test_fields_of_the_instance_count_too():
    x, out = torch.arange(N, dtype=torch.float32), torch.zeros(N)
    last = types.SimpleNamespace(
        data_ptr=lambda: x.data_ptr() + 4 * (N - 1), dtype=torch.float32, untyped_storage=x.untyped_storage
    )
    with pytest.raises(triton_runner.DiagnosticError):
        reverse.warmup(x, out, N=N, grid=(1,))[(1, 1, 1)](types.SimpleNamespace(dtype=torch.float32), out, N)
    reverse[(1,)](last, out, N=N)
    assert torch.equal(out, x.flip(0))


@pytest.mark.parametrize("device", ["cuda", "cuda:0", torch.device("cuda", 0), torch.device("meta")])
def test_another_device_is_refused(device):
    x = torch.arange(N, dtype=torch.float32)
    values = pointer_to(x, FIELDS)
    values.device = device
    with pytest.raises(triton_runner.DiagnosticError, match="and the kernel runs on cpu"):
        reverse[(1,)](values, x, N=N)


@pytest.mark.parametrize("device", ["cpu", "cpu:0", None, 7])
def test_no_other_device_is_taken(device):
    x, out = torch.arange(N, dtype=torch.float32), torch.zeros(N)
    values = pointer_to(x, FIELDS, x.data_ptr() + 4 * (N - 1))
    values.device = device
    reverse[(1,)](values, out, N=N)
    assert torch.equal(out, x.flip(0))


def test_triton_s_own_view_with_another_type():
    import triton

    x, out = torch.arange(N, dtype=torch.int32), torch.zeros(N, dtype=torch.int32)
    view = triton.reinterpret(x[N - 1 :], triton.language.int32)
    reverse[(1,)](view, triton.reinterpret(out, triton.language.int32), N=N)
    assert torch.equal(out, x.flip(0))


def test_an_argument_that_is_wrong_about_itself_is_looked_up():
    x, out = torch.arange(N, dtype=torch.float32), torch.zeros(N)

    class Odd:
        dtype, shape = torch.float32, "unknown"

        def data_ptr(self):
            return x.data_ptr() + 4 * (N - 1)

        def stride(self):
            raise NotImplementedError

        def untyped_storage(self):
            raise RuntimeError("no storage")

    reverse[(1,)](Odd(), out, N=N)
    assert torch.equal(out, x.flip(0))
