"""The keys by which launches are found again: equal where those of this release are, for numbers and
constants (tests/python/test_dispatch.py has torch's tensors)."""

import random

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
    if kernel.binder is None:
        backend = triton.compiler.make_backend(triton.runtime.driver.active.get_current_target())
        try:
            kernel.create_binder(backend)
        except TypeError:
            kernel.create_binder()  # 3.0, 3.1
    _, sig_and_spec, constexprs, _, rest = kernel.binder(*args, **options)
    return "".join(sig_and_spec) + str((constexprs, rest))


@pytest.mark.parametrize("name", KERNELS)
def test_keys(name):
    kernel = KERNELS[name]
    if kernel is None:
        pytest.skip("this release has no do_not_specialize_on_alignment")
    has_tuples = hasattr(kernel, "device_caches") and not name.startswith("typed")
    values = NUMBERS + TUPLES if has_tuples else NUMBERS
    choose, ours, theirs = random.Random(1), {}, {}
    for _ in range(6000):
        args = [choose.choice(values) for _ in range(4)]
        args += [choose.choice(CONSTANTS) for _ in range(choose.choice((1, 2)))]
        options = choose.choice([{}, {"num_warps": 8}])
        key = kernel._known.key(*args, **options)
        said = said_by_triton(kernel, args, options)
        assert key is not None
        assert ours.setdefault(key, said) == said
        assert theirs.setdefault(said, key) == key
    assert len(ours) > 1000
