"""The keys by which launches are found again: equal where those of this release are, for numbers and
constants, and compiled for AMD's GPUs for tensors too, of which such keys have more. There is no torch here:
a stand-in has what Triton asks of its tensors (tests/python/launch/test_dispatch*.py have torch's own)."""

import random
import sys
import types

import pytest
import triton
import triton.language as tl
import triton_runner


def _plain(a, b, n, flag, BLOCK: tl.constexpr, NAME: tl.constexpr = "relu"):
    pass


def _typed(a: tl.int32, b: tl.int64, n: tl.uint32, f: "bool", BLOCK: tl.constexpr, NAME: tl.constexpr = ""):
    pass


def _jit(function, **options):
    try:
        return triton_runner.jit(function, **options)
    except TypeError:
        return None  # an option of later releases


KERNELS = {
    "plain": _jit(_plain),
    "unspecialised": _jit(_plain, do_not_specialize=["n", "flag"]),
    "unaligned": _jit(_plain, do_not_specialize_on_alignment=["a", "n"]),
    "typed": _jit(_typed),
    "typed and unspecialised": _jit(_typed, do_not_specialize=["a", "f"]),
}
NUMBERS = [0, 1, 2, 16, 17, -1, -16, 2**31 - 1, 2**31, -(2**31) - 1, 2**63 - 1, 2**63, 2**64 - 16]
NUMBERS += [True, False, 0.0, 1.0, -2.5, None]
TUPLES = [(1,), (16, True), ((1, 2), 3)]
CONSTANTS = [0, 1, 16, -1, True, False, None, 0.0, -0.0, "", "1", "relu", tl.float32, tl.float16]
CONSTANTS += [(1, 2), (True, 2)]


def said_by_triton(kernel, args, options) -> str:
    """Triton's own key, without what no call here changes."""
    if hasattr(kernel, "device_caches"):  # from 3.3 on
        binder = kernel.device_caches[triton.runtime.driver.active.get_current_device()][-1]
        _, specialization, rest = binder(*args, **options)
        return str(specialization) + str(rest)
    # One binder for all targets: that of the first.
    if kernel.binder is None:
        backend = triton.compiler.make_backend(triton.runtime.driver.active.get_current_target())
        try:
            kernel.create_binder(backend)
        except TypeError:
            kernel.create_binder()  # 3.0, 3.1
    _, sig_and_spec, constexprs, _, rest = kernel.binder(*args, **options)
    return str((sig_and_spec, constexprs, rest))


@pytest.fixture
def kernel(request):
    kernel = KERNELS[request.param]
    if kernel is None:
        pytest.skip("this release has no do_not_specialize_on_alignment")
    kernel._known.forget()
    if not hasattr(kernel, "device_caches"):
        kernel.binder = None
    return kernel


def compare(kernel, values: list, count=6000) -> set:
    """Triton's keys of random calls, to which ours are compared."""
    choose, ours, theirs = random.Random(1), {}, {}
    for _ in range(count):
        args = [choose.choice(values) for _ in range(4)]
        args += [choose.choice(CONSTANTS) for _ in range(choose.choice((1, 2)))]
        options = choose.choice([{}, {"num_warps": 8}])
        key = kernel._known.key(*args, **options)
        said = said_by_triton(kernel, args, options)
        assert key is not None
        assert ours.setdefault(key, said) == said
        assert theirs.setdefault(said, key) == key
    assert len(ours) > 1000
    return set(theirs)


def takes_tuples(kernel) -> bool:
    return hasattr(kernel, "device_caches") and not any(param.annotation_type for param in kernel.params)


@pytest.mark.parametrize("kernel", KERNELS, indirect=True)
def test_keys(kernel):
    compare(kernel, NUMBERS + TUPLES if takes_tuples(kernel) else NUMBERS)


class Storage:
    def __init__(self, size):
        self.bytes = size

    def size(self):
        return self.bytes

    nbytes = size


class Dtype:
    def __init__(self, name):
        self.name = name

    def __str__(self):
        return f"torch.{self.name}"


DTYPES = [Dtype(name) for name in ("float32", "bfloat16", "int64")]  # as torch's, they live on


class Tensor:
    def __init__(self, address, size, dtype):
        self.address, self.bytes, self.dtype = address, size, dtype

    def data_ptr(self):
        return self.address

    def untyped_storage(self):
        return Storage(self.bytes)


class Parameter(Tensor):
    pass


class Ranged:
    """The object that Triton asks in place of a storage, and a pointer that has neither."""

    def __init__(self, address, size, dtype):
        self.address, self.dtype = address, dtype
        if size is not None:
            self.ptr_range = lambda: size

    def data_ptr(self):
        return self.address


@pytest.fixture
def tensors(monkeypatch):
    """Makes tensors of a torch that is not here: each kind, aligned or not, of storages around 2 GiB."""
    torch = types.ModuleType("torch")
    torch.dtype, torch.Tensor = Dtype, Tensor
    monkeypatch.setattr(Tensor, "__module__", "torch")
    monkeypatch.setattr(Parameter, "__module__", "torch.nn.parameter")
    monkeypatch.setitem(sys.modules, "torch", torch)
    backend = triton.backends.backends["amd"].compiler
    HIPBackend = getattr(backend, "runner_base", backend)
    if hasattr(HIPBackend, "_torch_available"):
        monkeypatch.setattr(HIPBackend, "_torch_available", None)
    if hasattr(HIPBackend, "use_buffer_ops"):  # 3.3 reads the environment once
        HIPBackend.use_buffer_ops.cache_clear()
    sizes = [0, 64, 2**31 - 1, 2**31, 2**40]
    made = [kind(at, size, dtype) for kind in (Tensor, Parameter, Ranged) for at in (4096, 4104)
            for size in sizes for dtype in DTYPES]  # fmt: skip
    return made + [Ranged(at, None, DTYPES[0]) for at in (4096, 4104)]


@pytest.mark.parametrize("buffers", ["1", "0"])
@pytest.mark.parametrize("kernel", KERNELS, indirect=True)
def test_keys_for_amd(kernel, tensors, buffers, monkeypatch):
    monkeypatch.setenv("AMDGCN_USE_BUFFER_OPS", buffers)
    tuples = [(tensors[0], 1), (tensors[9], 1), ((tensors[0], tensors[12]), 2.5)]
    values = [*tensors, *NUMBERS, *(tuples if takes_tuples(kernel) else ())]
    with triton_runner.using(device="cpu", target="hip:gfx942"):
        said = compare(kernel, values, 4000)
        small, large = (kernel._known.key(t, 2, 3, 4, 5) for t in (tensors[3], tensors[12]))
    release = tuple(int(part) for part in triton.__version__.split(".")[:2])
    asks = release == (3, 2) or (release > (3, 2) and buffers == "1")
    assert any("S'" in key for key in said) == asks
    assert (small == large) == (not asks or kernel.do_not_specialize == ["a", "f"])
