"""Launches that were seen before go straight to their launcher: by keys that tell calls apart as Triton's own
do, and only as long as Triton would choose the same code."""

import gc
import random
import sys
import threading
import weakref

import pytest
import triton
import triton.language as tl
import triton_runner

torch = pytest.importorskip("torch")
TensorDescriptor = pytest.importorskip("triton.tools.tensor_descriptor").TensorDescriptor
pytestmark = pytest.mark.skipif(not hasattr(triton, "knobs"), reason="Triton before 3.4 is asked each time")


def _plain(x, y, n, flag, BLOCK: tl.constexpr):
    pass


def _typed(x: "*fp32", n: "i32", r: "fp32", b: "u1", w: tl.int64, C: tl.constexpr):  # noqa: F722, F821
    pass


def _defaults(x, n=16, scale=1.0, other=None, A: tl.constexpr = 4, B: tl.constexpr = "relu"):
    pass


KERNELS = {
    "plain": triton_runner.jit(_plain),
    "unspecialised": triton_runner.jit(_plain, do_not_specialize=["n", "x"]),
    "unaligned": triton_runner.jit(_plain, do_not_specialize_on_alignment=["x", "n"]),
    "typed": triton_runner.jit(_typed),
    "defaults": triton_runner.jit(_defaults),
}
BASE = torch.zeros(256, dtype=torch.uint8)


def _tensors():
    types = [torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.bool, torch.uint8, torch.int8]
    types += [torch.int16, torch.int32, torch.int64, torch.uint32, torch.float8_e4m3fn, torch.float8_e5m2]
    for kind in types:
        whole = BASE.view(kind)
        yield from (whole, whole[64 // kind.itemsize :], whole[8 // kind.itemsize :])


NUMBERS = [0, 1, 2, 15, 16, 17, -1, -16, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**32, 2**63 - 1, 2**63]
NUMBERS += [2**64 - 1, 2**64 - 16, -(2**63), True, False, 0.0, 1.0, -2.5, None]
TENSORS = list(_tensors())
WHOLE = torch.zeros(64, 32)
DESCRIPTORS = [
    TensorDescriptor.from_tensor(base, block)
    for base in (WHOLE, WHOLE[1:], WHOLE.half())
    for block in ([16, 16], (16, 16), [8, 16])
]
VALUES = [*NUMBERS, *TENSORS, *DESCRIPTORS]
VALUES += [(), (1,), (16, True), (TENSORS[0], 2), ((1, 2), 3), (1, (2, 3)), (None, 1.0), (DESCRIPTORS[0], 1)]
CONSTANTS = [0, 1, 16, -1, 2**40, True, False, None, 0.0, -0.0, 1.0, "", "1", "relu", "(1, 2)", "fp32"]
CONSTANTS += [torch.float32, torch.float16, tl.float32, tl.float16]
CONSTANTS += [(1, 2), (1, (2,)), ((1,), 2), (True, 2), ("a", None)]
OPTIONS = [{}, {}, {"num_warps": 4}, {"num_warps": 8}, {"num_warps": 4, "num_stages": 2}, {"debug": True}]


def calls(kernel, count: int, seed: int, values=VALUES):
    """(args, kwargs) of random calls, among them many that are alike."""
    choose = random.Random(seed)
    for _ in range(count):
        args, kwargs = [], dict(choose.choice(OPTIONS))
        for param, said in zip(kernel.params, kernel.signature.parameters.values(), strict=True):
            if said.default is not said.empty and choose.random() < 0.3:
                kwargs["?"] = None  # the rest goes by name
                continue
            value = choose.choice(CONSTANTS if param.is_constexpr else choose.choice([NUMBERS, values]))
            if "?" in kwargs or choose.random() < 0.1:
                kwargs["?"] = None
                kwargs[param.name] = value
            else:
                args.append(value)
        kwargs.pop("?", None)
        yield args, kwargs


@pytest.mark.parametrize("name", KERNELS)
def test_keys_are_equal_where_tritons_are(name):
    compare_keys(name, VALUES)


def compare_keys(name: str, values: list) -> set:
    """Compares with Triton's specialisation: its keys of random calls, of which ours are equal where they
    are."""
    kernel = KERNELS[name]
    binder = kernel.device_caches[triton.runtime.driver.active.get_current_device()][-1]
    ours, theirs = {}, {}
    for args, kwargs in calls(kernel, 8000, 1, values):
        key = kernel._known.key(*args, **kwargs)
        odd = any(isinstance(value, (tuple, TensorDescriptor)) for value in (*args, *kwargs.values()))
        if key is None and odd and name == "typed":
            continue  # annotated, they go through Python
        assert key is not None, (args, kwargs)
        _, specialization, options = binder(*args, **kwargs)
        said = str(specialization) + str({k: options[k] for k in sorted(options)})
        assert ours.setdefault(key, said) == said
        assert theirs.setdefault(said, key) == key
    assert len(ours) > 1000
    return set(theirs)


def test_calls_that_only_python_understands_have_no_key():
    kernel, x = KERNELS["plain"], torch.zeros(4)
    key = kernel._known.key
    assert key(x, x, 1, True, 4) is not None
    assert key(x, x, 1, True) is None  # one is missing
    assert key(x, x, 1, True, 4, 5) is None
    assert key(x, x, 1, True, 4, n=1) is None
    assert key(x, x, 2**64, True, 4) is None
    assert key(x.numpy()[::2], x, 1, True, 4) is None  # not in one piece
    assert key(x, x, 1, True, 4, device="cpu") is None
    assert key(x, x, 1, True, 4, ttir_dir=5) is None
    assert key(x, x, 1, True, KERNELS["typed"]) is None


FACTOR = tl.constexpr(2)


@triton_runner.jit
def scale(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * FACTOR, mask=i < n)


class Counted:
    """How many launches go through Python."""

    def __init__(self, monkeypatch):
        self.runs = 0
        own = triton_runner._jit.jit.JITFunction.run

        def run(*args, **kwargs):
            self.runs += 1
            return own(*args, **kwargs)

        monkeypatch.setattr(triton_runner._jit.jit.JITFunction, "run", run)

    def __call__(self, launch) -> int:
        before = self.runs
        launch()
        return self.runs - before


@pytest.fixture
def counted(monkeypatch):
    scale._known.forget()
    return Counted(monkeypatch)


@pytest.fixture
def x():
    return torch.arange(64, dtype=torch.float32)


def launched(x, grid=(4,), n=64, **more):
    out = torch.zeros(64)
    kernel = scale[grid](x, out, n, BLOCK=16, **more)
    assert (out[:n] == 2 * x[:n]).all() and not out[n:].any() and kernel.name == "scale"


def test_the_second_launch_goes_straight(counted, x):
    assert counted(lambda: launched(x)) == 1
    assert counted(lambda: launched(x)) == 0
    assert counted(lambda: launched(x, grid=[4, 1])) == 0
    assert counted(lambda: launched(x, grid=lambda meta: (meta["n"] // meta["BLOCK"],))) == 0
    assert counted(lambda: launched(x, n=48)) == 0  # divisible by 16 as well
    assert counted(lambda: launched(x, n=47)) == 1
    assert counted(lambda: launched(x, n=1)) == 1
    assert counted(lambda: launched(x, num_warps=8)) == 1
    assert counted(lambda: launched(x, num_warps=8)) == 0
    assert [counted(lambda: launched(x.numpy())) for _ in range(3)] == [1, 0, 0]


def test_settings_are_part_of_it(counted, x):
    for expected in (1, 0):
        for level in ("ttir", "ttgir"):
            with triton_runner.using(level=level):
                assert counted(lambda: launched(x)) == expected
    large, out = torch.full((64,), 3e38), torch.zeros(64)
    for _ in range(2):
        scale[(4,)](large, out, 64, BLOCK=16)
        with (
            triton_runner.using(check="oob,inf"),
            pytest.raises(triton_runner.KernelTrap, match="the result is inf"),
        ):
            scale[(4,)](large, out, 64, BLOCK=16)
    assert counted(lambda: launched(x, level="ttir")) == 1  # our keywords are Python's


@triton_runner.jit
def of_both(descriptor, both, BLOCK: tl.constexpr):
    value = descriptor.load([BLOCK]) * both[1]
    tl.store(both[0] + tl.arange(0, BLOCK), value)


def test_descriptors_and_tuples(counted, x):
    for expected, factor in ((1, 2), (1, 3), (0, 4)):
        out = torch.zeros(16)
        descriptor = TensorDescriptor.from_tensor(x, [16])
        assert counted(lambda: of_both[(1,)](descriptor, (out, factor), 16)) == expected  # noqa: B023
        assert (out == factor * x[16:32]).all()


def test_what_triton_looks_at_is_looked_at(counted, x, monkeypatch):
    def again(expected):
        assert [counted(lambda: launched(x)), counted(lambda: launched(x))] == expected

    again([1, 0])
    scale.device_caches[triton.runtime.driver.active.get_current_device()][0].clear()
    again([1, 0])
    monkeypatch.setattr(scale, "debug", True)
    again([1, 0])
    seen = []
    scale.pre_run_hooks.append(lambda *args, **kwargs: seen.append(len(args)))
    again([1, 1])
    scale.pre_run_hooks.clear()
    assert seen == [3, 3]
    again([0, 0])
    with monkeypatch.context() as hooked:
        if triton.knobs.runtime.launch_enter_hook is None:  # 3.4 takes one function
            hooked.setattr(triton.knobs.runtime, "launch_enter_hook", seen.append)
        else:
            hooked.setattr(triton.knobs.runtime.launch_enter_hook, "calls", [seen.append])
        again([1, 0])  # Triton's launcher calls the hook
    assert len(seen) == 4
    launched(x)
    again([0, 0])
    monkeypatch.setitem(globals(), "FACTOR", tl.constexpr(3))
    with pytest.raises(RuntimeError, match="Global variable FACTOR has changed"):
        launched(x)


def test_a_dump_sees_launches_that_went_straight(counted, x):
    for _ in range(3):
        launched(x)
    with triton_runner.dumping(scale, "%0") as dump:
        assert counted(lambda: [launched(x) for _ in range(20)]) == 20
    assert len(dump.launches) == 20
    assert counted(lambda: launched(x)) == 0
    scale._known.forget()
    with triton_runner.dumping(scale, "%0"):
        for _ in range(20):  # none of them is known, which is no reason to give up
            launched(x)
    assert [counted(lambda: launched(x)) for _ in range(2)] == [1, 0]


def test_statements_are_asked_for_at_each_launch(counted, x):
    import triton_runner.language as dl

    @triton_runner.jit
    def stated(x, BLOCK: tl.constexpr):
        value = tl.load(x + tl.arange(0, BLOCK))
        dl.dump(value)

    triton_runner.dumps()
    for _ in range(3):
        stated[(1,)](x, BLOCK=16)
    assert len(triton_runner.dumps()) == 3


def test_wrong_arguments_are_still_caught(counted, x):
    out = torch.zeros(64)
    for _ in range(2):
        launched(x)
        with pytest.raises(triton_runner.KernelTrap, match="out of bounds"):
            scale[(4,)](x, torch.zeros(16), 64, BLOCK=16)
        with pytest.raises(triton_runner.DiagnosticError, match=r"bad grid|grid"):
            scale[(0,)](x, out, 64, BLOCK=16)
        with pytest.raises(triton_runner.DiagnosticError, match="missing"):
            scale[(4,)](x, out, BLOCK=16)
        with pytest.raises(ValueError, match="my grid"):
            scale[_raise](x, out, 64, BLOCK=16)


def _raise(meta):
    raise ValueError("my grid")


def test_a_launch_within_a_launch(counted, x):
    launched(x)

    def grid(meta):
        scale._known.forget()
        launched(x)
        return (4,)

    launched(x, grid=grid)


def test_from_several_threads(counted, x):
    launched(x)
    failed = []

    def work():
        try:
            for _ in range(50):
                launched(x)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed and counted.runs == 1


def _used(jit, x, out):
    """A kernel of this function's own that was launched, weakly."""

    @jit
    def local(x, out, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        tl.store(out + i, tl.load(x + i))

    for _ in range(20):
        local[(1,)](x, out, BLOCK=64)
    return weakref.ref(local)


def test_kernels_and_arguments_are_let_go(counted, x):
    out = torch.zeros(64)
    before = sys.getrefcount(x), sys.getrefcount(out)
    ours, theirs = (_used(jit, x, out) for jit in (triton_runner.jit, triton.jit))
    _used(triton.jit, x, out)  # Triton keeps the last kernel of a name
    assert (sys.getrefcount(x), sys.getrefcount(out)) == before and counted.runs == 2
    gc.collect()
    assert ours() is None or theirs() is not None


def test_copies_know_nothing(x):
    import copy

    launched(x)
    again = copy.copy(scale)
    assert again._known is not scale._known
