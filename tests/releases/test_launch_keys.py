"""The keys by which launches are found again: equal where those of this release are (numbers and constants;
tests/python/test_dispatch.py has tensors). Before 3.4 each launch asks Triton."""

import random

import pytest
import triton
import triton.language as tl
import triton_runner


def _plain(a, b, n, flag, BLOCK: tl.constexpr, NAME: tl.constexpr = "relu"):
    pass


KERNELS = {
    "plain": triton_runner.jit(_plain),
    "unspecialised": triton_runner.jit(_plain, do_not_specialize=["n"]),
    "unaligned": triton_runner.jit(_plain, do_not_specialize_on_alignment=["a", "n"])
    if hasattr(triton, "knobs")
    else None,
}
NUMBERS = [0, 1, 2, 16, 17, -1, -16, 2**31 - 1, 2**31, -(2**31) - 1, 2**63 - 1, 2**63, 2**64 - 16]
NUMBERS += [True, False, 0.0, 1.0, -2.5, None, (1,), (16, True), ((1, 2), 3)]
CONSTANTS = [0, 1, 16, -1, True, False, None, 0.0, -0.0, "", "1", "relu", tl.float32, tl.float16]
CONSTANTS += [(1, 2), (True, 2)]


@pytest.mark.parametrize("name", KERNELS)
def test_keys(name):
    kernel = KERNELS[name]
    if not hasattr(triton, "knobs"):
        assert kernel is None or kernel._known is None
        return
    binder = kernel.device_caches[triton.runtime.driver.active.get_current_device()][-1]
    choose, ours, theirs = random.Random(1), {}, {}
    for _ in range(4000):
        args = [choose.choice(NUMBERS) for _ in range(4)]
        args += [choose.choice(CONSTANTS) for _ in range(choose.choice((1, 2)))]
        options = choose.choice([{}, {"num_warps": 8}])
        key = kernel._known.key(*args, **options)
        _, specialization, rest = binder(*args, **options)
        said = str(specialization) + str(rest)
        assert key is not None
        assert ours.setdefault(key, said) == said
        assert theirs.setdefault(said, key) == key
    assert len(ours) > 1000
