"""Known launches of kernels that are compiled for AMD's GPUs. There a key has whether the storage of a tensor
is within 2 GiB: such a kernel has 32-bit offsets, and would be wrong for a larger one. Storages beyond are
mapped, and no page of them is there before it is used."""

import mmap

import pytest
import test_dispatch as dispatch
import triton
import triton.language as tl
import triton_runner
from test_dispatch import Counted

torch = pytest.importorskip("torch")
pytestmark = dispatch.pytestmark


def mapped(size: int):
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return torch.frombuffer(memory, dtype=torch.uint8)


class Ranged(torch.Tensor):
    """One that says how far its pointer reaches, which goes before its storage."""

    size = 0

    def ptr_range(self):
        return self.size


def ranged(tensor, size):
    made = tensor.as_subclass(Ranged)
    made.size = size
    return made


class Derived(torch.Tensor):
    pass


LARGE = mapped(2**31)
LARGEST_SMALL = mapped(2**31 - 1)
SMALL = torch.zeros(64, dtype=torch.uint8)
TENSORS = [
    *(LARGE, LARGE[:64], LARGE[8:], LARGE[64:128].view(torch.float32), LARGE[-64:]),
    *(LARGEST_SMALL, LARGEST_SMALL[:64], LARGEST_SMALL[8:72].view(torch.float32), LARGEST_SMALL[:0]),
    *(SMALL, SMALL[8:], SMALL.view(torch.float32), SMALL.view(torch.float32)[2:]),
    *(torch.nn.Parameter(t, requires_grad=False) for t in (LARGE[:64], SMALL)),
    *(t.as_subclass(Derived) for t in (LARGE[:64], SMALL)),
    *(ranged(t, size) for t in (SMALL, LARGE) for size in (0, 2**31 - 1, 2**31)),
]
WITH_RANGE = SMALL[:32]
WITH_RANGE.ptr_range = lambda: 2**31
DESCRIPTORS = [
    dispatch.TensorDescriptor.from_tensor(t.view(torch.float16).view(-1, 16), [16, 16])
    for t in (LARGE, SMALL)
]
TUPLES = [(t, n) for t in (LARGE[:64], SMALL) for n in (1, 2)] + [((SMALL, LARGE[8:]), 1)]
VALUES = [*TENSORS, WITH_RANGE, *DESCRIPTORS, *TUPLES, *dispatch.VALUES]


@pytest.fixture
def amd():
    with triton_runner.using(device="cpu", target="hip:gfx942"):
        yield


@pytest.mark.parametrize("name", dispatch.KERNELS)
def test_keys_are_equal_where_tritons_are(amd, name):
    dispatch.KERNELS[name]._known.forget()
    said = dispatch.compare_keys(name, VALUES)
    assert any("'DS'" in key for key in said) and any("'S'" in key for key in said)


@pytest.mark.parametrize("name", dispatch.KERNELS)
def test_storages_do_not_count_without_buffer_instructions(amd, name, monkeypatch):
    monkeypatch.setenv("AMDGCN_USE_BUFFER_OPS", "0")
    dispatch.KERNELS[name]._known.forget()
    said = dispatch.compare_keys(name, VALUES)
    assert not any("S'" in key for key in said)
    dispatch.KERNELS[name]._known.forget()


def test_storages_do_not_count_elsewhere():
    key = dispatch.KERNELS["plain"]._known.key
    with triton_runner.using(device="cpu", target="cuda:90"):
        assert key(SMALL, SMALL, 1, True, 4) == key(LARGE[:64], SMALL, 1, True, 4)
    with triton_runner.using(device="cpu", target="hip:gfx942"):
        assert key(SMALL, SMALL, 1, True, 4) != key(LARGE[:64], SMALL, 1, True, 4)


def test_a_tensor_that_cannot_be_asked_has_no_key(amd):
    class Broken(torch.Tensor):
        def ptr_range(self):
            raise ValueError("no range")

    key, broken = dispatch.KERNELS["plain"]._known.key, SMALL.as_subclass(Broken)
    assert key(broken, SMALL, 1, True, 4) is None
    assert dispatch.KERNELS["unspecialised"]._known.key(broken, SMALL, 1, True, 4) is not None


@triton_runner.jit
def picked(x, out, n: tl.int64, end: tl.int64):
    i = n + tl.arange(0, 16)
    tl.store(out + tl.arange(0, 16), tl.load(x + i, mask=i < end, other=7))


@pytest.fixture
def counted(monkeypatch):
    picked._known.forget()
    return Counted(monkeypatch)


@pytest.mark.parametrize("level", ["ttir", "ttgir"])
def test_a_larger_storage_is_another_kernel(amd, counted, level):
    """One that has 32-bit offsets would read before the beginning of the storage."""
    out, far = torch.zeros(16, dtype=torch.uint8), 2**31 + 64
    large = mapped(3 << 30)
    large[far : far + 16] = torch.arange(16, dtype=torch.uint8) + 100

    def launch(x, n, end):
        out.zero_()
        with triton_runner.using(device="cpu", target="hip:gfx942", level=level):
            return picked[(1,)](x, out, n, end)

    for _ in range(3):
        small = launch(SMALL, far, 64)
        assert (out == 7).all()
    assert counted.runs == 1
    for _ in range(2):
        other = launch(large, far, 3 << 30)
        assert (out == torch.arange(16) + 100).all()
    assert counted.runs == 2 and other is not small
    assert ("pointer_range" in small.asm["ttir"]) and small.asm["ttir"].count("pointer_range") == 2
    assert other.asm["ttir"].count("pointer_range") == 1


def test_a_change_of_the_knob_is_noticed(amd, counted, monkeypatch):
    out = torch.zeros(16, dtype=torch.uint8)

    def again():
        return [counted(lambda: picked[(1,)](SMALL, out, 0, 64)) for _ in range(3)]

    def ranges(kernel):
        return kernel.asm["ttir"].count("pointer_range")

    assert again() == [1, 0, 0] and ranges(picked[(1,)](SMALL, out, 0, 64)) == 2
    with triton.knobs.amd.scope():
        triton.knobs.amd.use_buffer_ops = False
        assert again() == [1, 1, 0]  # the key is another one from the second on
        assert ranges(picked[(1,)](SMALL, out, 0, 64)) == 0
        assert [counted(lambda: picked[(1,)](LARGE, out, 0, 64)) for _ in range(2)] == [0, 0]
    with monkeypatch.context() as changed:
        changed.setenv("AMDGCN_USE_BUFFER_OPS", "0")
        assert ranges(picked[(1,)](SMALL, out, 0, 64)) == 0
    assert again() == [1, 1, 0] and ranges(picked[(1,)](SMALL, out, 0, 64)) == 2
