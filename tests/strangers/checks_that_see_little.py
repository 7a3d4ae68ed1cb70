"""Checks of programs that see little of a result, or nothing, beside such as see all of it. Without a second
word the kernel is right.

$ verify FILE numpy_allclose
status  0
says  verdict: right
$ verify FILE numpy_allclose wrong
status  1
says  verdict: wrong
$ verify FILE norm
status  0
says  verdict: right
$ verify FILE norm wrong
status  1
says  verdict: wrong
$ verify FILE cosine wrong
status  0
says  multiplied by 1.5
says  verdict: no fault found
$ verify FILE bound wrong
status  0
says  with other numbers in all elements of 'o'
says  verdict: no fault found
$ verify FILE sign wrong
status  0
says  multiplied by 1.5
says  verdict: no fault found
$ verify FILE magnitudes wrong_sign
status  0
says  with the other sign in half of the elements of 'o'
says  verdict: no fault found
$ verify FILE magnitudes
status  0
says  verdict: no fault found
$ verify FILE any_element wrong
status  0
says  verdict: no fault found
$ verify FILE subset
status  0
says  with another number in one element of 'o' (number 999)
says  verdict: no fault found
$ verify FILE but_the_last
status  0
says  (number 999)
says  verdict: no fault found
$ verify FILE mean
status  0
says  with the elements of 'o' at other places
says  verdict: no fault found
$ verify FILE sorted_elements
status  0
says  with the elements of 'o' at other places
says  verdict: no fault found
$ verify FILE most_elements
status  0
says  in one element of 'o'
says  verdict: no fault found
$ verify FILE one_of_two_outputs
status  0
says  elements of 'p'
says  verdict: no fault found
$ verify FILE both_outputs
status  0
says  verdict: right
$ verify FILE both_outputs wrong
status  1
says  verdict: wrong
$ verify FILE two_configurations wrong
status  0
says  only with what other launches wrote
says  verdict: no fault found
$ verify FILE two_configurations_of_numpy wrong
status  0
says  verdict: no fault found
$ verify FILE two_configurations_and_torch
status  0
says  verdict: right
$ verify FILE overwritten_input wrong
status  0
says  verdict: no fault found
$ verify FILE overwritten_input_of_numpy wrong
status  0
says  with other numbers in all elements of 'x'
says  verdict: no fault found
$ verify FILE reference_before
status  0
says  verdict: right
$ verify FILE reference_before wrong
status  1
says  verdict: wrong
$ verify FILE overwritten_by_another_launch
status  0
says  verdict: no fault found
$ verify FILE two_kernels
status  0
says  verdict: right
$ verify FILE repeated
status  0
says  verdict: right
$ verify FILE again_and_again
status  0
says  verdict: right
$ verify FILE in_a_thread
status  0
says  verdict: right
$ verify FILE asserted_in_a_thread
status  0
says  verdict: right
$ verify FILE asserted_in_a_thread wrong
status  1
says  the program's assertion failed at
says  which leaves the exit status 0
says  compared with
says  verdict: wrong
$ verify FILE asserted_in_a_thread_that_goes_on
status  0
says  verdict: right
$ verify FILE asserted_in_a_thread_that_goes_on wrong
status  1
says  verdict: wrong
$ verify FILE raised_in_a_thread wrong
status  1
says  the program's check (ValueError) failed at
says  verdict: wrong
$ verify FILE exits_in_a_thread wrong
status  1
says  verdict: wrong
$ verify FILE thread_that_fails
status  0
says  verdict: right
$ verify FILE launched_in_a_thread
status  0
says  verdict: right
$ verify FILE bound_of_a_launch_in_a_thread wrong
status  0
says  verdict: no fault found
$ verify FILE at_exit
status  0
says  verdict: right
$ verify FILE at_exit wrong
status  1
says  verdict: wrong
$ verify FILE once FOLDER
status  0
says  does not repeat the launch
says  verdict: no fault found
$ verify FILE counted
status  0
says  verdict: right
$ verify FILE counted wrong
status  1
says  verdict: wrong
$ verify FILE autotuned
status  0
says  verdict: right
$ verify FILE autotuned wrong
status  1
says  verdict: wrong
$ verify FILE asserting_kernel
status  0
says  verdict: right
$ verify FILE idle_kernel
status  0
says  verdict: no fault found
$ verify FILE ends_abruptly
status  0
says  verdict: no fault found
"""

import atexit
import os
import sys
import threading
import time

import numpy
import torch
import triton
import triton.language as tl


@triton.jit
def scale(x, o, n, factor, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + at, tl.load(x + at, mask=at < n) * factor, mask=at < n)


@triton.jit
def scale_in_place(x, n, factor, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + at, tl.load(x + at, mask=at < n) * factor, mask=at < n)


@triton.jit
def scale_twice(x, o, p, n, factor, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    value = tl.load(x + at, mask=at < n)
    tl.store(o + at, value * 2, mask=at < n)
    tl.store(p + at, value * factor, mask=at < n)


@triton.jit
def sums(x, o, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + tl.program_id(0), tl.sum(tl.load(x + at, mask=at < n, other=0.0), 0))


@triton.jit
def asserts(x, B: tl.constexpr):
    value = tl.load(x + tl.arange(0, B))
    tl.device_assert(value == value)


@triton.jit
def does_nothing(x, o, n, factor, B: tl.constexpr):
    pass


FACTOR = {"wrong": 3.0, "wrong_sign": -2.0}.get(sys.argv[-1], 2.0)
torch.manual_seed(0)
x = torch.randn(1000)
want = x * 2


def scaled(x, kernel=scale, B=128):
    o = torch.zeros_like(x)
    kernel[(triton.cdiv(x.numel(), B),)](x, o, x.numel(), FACTOR, B=B)
    return o


def numpy_allclose():
    assert numpy.allclose(scaled(x).numpy(), want.numpy())


def norm():
    assert (scaled(x) - want).norm() / want.norm() < 1e-3


def cosine():
    assert torch.nn.functional.cosine_similarity(scaled(x), want, dim=0) > 0.999


def bound():
    assert (scaled(x) - want).abs().max() < 1e9


def sign():
    assert (scaled(x.abs()) >= 0).all()


def magnitudes():
    assert (scaled(x).abs() - want.abs()).abs().max() < 1e-5


def any_element():
    assert torch.isclose(scaled(x), x * FACTOR).any()


def subset():
    o = scaled(x)
    assert all(o[i].item() == want[i].item() for i in range(0, 1000, 97))


def but_the_last():
    assert torch.equal(scaled(x)[:-1], want[:-1])


def mean():
    assert abs(scaled(x).mean().item() - want.mean().item()) < 1e-5


def sorted_elements():
    assert torch.equal(scaled(x).sort().values, want.sort().values)


def most_elements():
    assert torch.isclose(scaled(x), want).float().mean() > 0.99


def outputs():
    o, p = torch.empty_like(x), torch.empty_like(x)
    scale_twice[(8,)](x, o, p, 1000, FACTOR, B=128)
    return o, p


def one_of_two_outputs():
    torch.testing.assert_close(outputs()[0], want)


def both_outputs():
    o, p = outputs()
    torch.testing.assert_close(o, want)
    assert (p - want).abs().max() < 1e-5


def two_configurations():
    torch.testing.assert_close(scaled(x), scaled(x, B=256))


def two_configurations_of_numpy():
    numpy.testing.assert_array_equal(scaled(x).numpy(), scaled(x, B=256).numpy())


def two_configurations_and_torch():
    o = scaled(x)
    torch.testing.assert_close(o, scaled(x, B=256))
    torch.testing.assert_close(o, want)


def overwritten_input():
    scale_in_place[(8,)](x, 1000, FACTOR, B=128)
    torch.testing.assert_close(x, x * 1)


def overwritten_input_of_numpy():
    scale_in_place[(8,)](x, 1000, FACTOR, B=128)
    numpy.testing.assert_array_equal(x.numpy(), x.clone().numpy() * 1)


def reference_before():
    scale_in_place[(8,)](x, 1000, FACTOR, B=128)
    torch.testing.assert_close(x, want)


def overwritten_by_another_launch():
    o = torch.empty_like(x)
    for factor, B in ((3.0, 128), (2.0, 256)):
        scale[(triton.cdiv(1000, B),)](x, o, 1000, factor, B=B)
    torch.testing.assert_close(o, want)


def two_kernels():
    """The sums of blocks, in any order."""
    parts, total = torch.empty(8), torch.empty(1)
    sums[(8,)](x, parts, 1000, B=128)
    sums[(1,)](parts, total, 8, B=8)
    torch.testing.assert_close(total[0], x.sum(), rtol=1e-4, atol=1e-4)


def repeated():
    o = torch.empty_like(x)
    for _ in range(3):
        scale[(8,)](x, o, 1000, FACTOR, B=128)
    assert (o - want).abs().max() < 1e-5


def again_and_again():
    for _ in range(2):
        scale_in_place[(8,)](x, 1000, FACTOR, B=128)
    assert (x - want * 2).abs().max() < 1e-5


def in_a_thread():
    o = scaled(x)
    thread = threading.Thread(target=lambda: torch.testing.assert_close(o, want))
    thread.start()
    thread.join()


def started(function):
    thread = threading.Thread(target=function)
    thread.start()
    return thread


def asserted_in_a_thread():
    """The program ends with status 0 even if it fails."""
    o = scaled(x)

    def check():
        assert (o - want).abs().max() < 1e-5

    started(check).join()


def asserted_in_a_thread_that_goes_on():
    o = scaled(x)

    def check():
        time.sleep(0.1)
        assert (o - want).abs().max() < 1e-5

    started(check)


def raised_in_a_thread():
    o = scaled(x)

    def check():
        if not torch.allclose(o, want):
            raise ValueError("the result is not the expected one")

    started(check).join()


def exits_in_a_thread():
    o = scaled(x)
    started(lambda: sys.exit((o - want).abs().max() > 1e-5)).join()


def thread_that_fails():
    """This has nothing to do with the kernel."""
    started(lambda: {}["key"]).join()
    torch.testing.assert_close(scaled(x), want)


def launched_in_a_thread():
    found = {}
    started(lambda: found.update(o=scaled(x))).join()
    assert (found["o"] - want).abs().max() < 1e-5


def bound_of_a_launch_in_a_thread():
    found = {}
    started(lambda: found.update(o=scaled(x))).join()
    assert (found["o"] - want).abs().max() < 1e9


def once():
    """The second run finds nothing to do."""
    with open(os.path.join(sys.argv[2], "done"), "a") as file:
        is_first = file.tell() == 0
        file.write("done")
    if is_first:
        assert (scaled(x) - want).abs().max() < 1e9


def at_exit():
    atexit.register(lambda: torch.testing.assert_close(scaled(x), want))


def counted():
    passed = sum(torch.allclose(scaled(x[:n]), want[:n]) for n in (100, 500, 1000))
    print(passed, "of 3 passed")
    sys.exit(passed != 3)


def autotuned():
    configs = [triton.Config({"B": 64}), triton.Config({"B": 128})]
    o = torch.empty_like(x)
    tuned = triton.autotune(configs, key=["n"])(scale)
    tuned[lambda meta: (triton.cdiv(1000, meta["B"]),)](x, o, 1000, FACTOR)
    assert (o - want).abs().max() < 1e-5


def asserting_kernel():
    asserts[(1,)](x, B=64)
    torch.testing.assert_close(scaled(x), want)


def idle_kernel():
    assert torch.equal(scaled(x, does_nothing), torch.zeros_like(x))


def ends_abruptly():
    assert (scaled(x) - want).abs().max() < 1e9
    os._exit(0)


globals()[sys.argv[1]]()
