"""Tests launches on a GPU that go straight to the driver: programs on tests/gpu/fake_cuda.cpp in place of
libcuda.so.1, with Triton's own driver and launchers beside ours."""

import json
import re
import struct
import textwrap
from pathlib import Path

import pytest
from test_device_fake import fake, run_program  # noqa: F401  (fake is a fixture)

pytest.importorskip("torch")

PRELUDE = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[1] / "helpers")!r})
import gc, threading, weakref
import torch
import fake_gpu
from fake_gpu import Pointer, Tensor
import triton, triton.language as tl
import triton_runner

@triton_runner.jit
def mixed(x, y, n, scale, flag, FIRST: tl.constexpr, m=7, LAST: tl.constexpr = 1):
    i = tl.program_id(0) * 128 + tl.arange(0, 128)
    tl.store(y + i, tl.load(x + i) * scale + n + m + flag + FIRST + LAST)

runs = 0
def counted(launch):
    "How many launches went through Python."
    own, seen = triton_runner._jit.jit.JITFunction.run, []
    def run(*args, **kwargs):
        seen.append(args)
        return own(*args, **kwargs)
    triton_runner._jit.jit.JITFunction.run = run
    try:
        launch()
    finally:
        triton_runner._jit.jit.JITFunction.run = own
    return len(seen)

x, y = Tensor(4096), Tensor(8192)
def go(x=x, y=y, n=5, scale=0.5, flag=True, grid=(3, 2), **more):
    return mixed[grid](x, y, n, scale, flag, FIRST=2, **more)
"""
# x, y, n, scale, flag, m and the pointers of Triton's own.
PARAMS = "8,8,4,4,1,4,8,8"


def on_fake(fake, tmp_path, body, **environment):  # noqa: F811
    """(what the body printed, what the driver saw)."""
    log = tmp_path / "log.json"
    result = run_program(
        PRELUDE + textwrap.dedent(body), LD_LIBRARY_PATH=str(fake), TRITON_LIBCUDA_PATH=str(fake),
        FAKE_CUDA_LOG=str(log),
        TRITON_RUNNER_DEVICE="cuda", TRITON_RUNNER_PROD="1", **{
            "FAKE_CUDA_MEMORY": "4096=0,8192=0,12288=0,16384=1,20480=-1", "FAKE_CUDA_PARAMS": PARAMS,
            **environment})  # fmt: skip
    return result.stdout.split("\n")[:-1], json.loads(log.read_text())


def words(launch) -> list:
    return [int.from_bytes(bytes.fromhex(p), "little") for p in launch["params"]]


def test_the_third_launch_is_ours_and_equal_to_tritons(fake, tmp_path):  # noqa: F811
    said, seen = on_fake(fake, tmp_path, """
        print(counted(go), counted(go), counted(go), counted(lambda: go(n=3, m=9)), counted(lambda: go(n=1)))
        with_pointers = lambda: go(Pointer(4096), Pointer(8192))
        print(counted(with_pointers), counted(with_pointers))
    """)  # fmt: skip
    # A kernel's first launch is not learned.
    assert said == ["1 1 0 0 1", "1 0"]
    first, *others = seen["launches"]
    expected = [4096, 8192, 5, struct.unpack("I", struct.pack("f", 0.5))[0], 1, 7, 0, 0]
    assert words(first) == expected
    for launch in (*others[:2], *others[4:]):
        assert launch == first
    assert words(others[2])[2] == 3 and words(others[2])[5] == 9
    assert first["grid"] == [3, 2, 1]


STREAMS = """
    for _ in range(3): go()
    fake_gpu.STREAM[0] = 77
    print(counted(go))
    fake_gpu.set_device(1)
    fake_gpu.STREAM[1] = 78
    far = lambda: go(Tensor(16384, place=1), Tensor(16384, place=1))
    print(counted(far), counted(far))
    fake_gpu.set_device(0)
    print(counted(go))
"""


def check_streams(said: list, seen: dict) -> None:
    assert said == ["0", "1 0", "0"]
    assert [launch["stream"] for launch in seen["launches"]] == [0, 0, 0, 77, 78, 78, 77]


def test_streams_and_devices_are_torchs(fake, tmp_path):  # noqa: F811
    check_streams(*on_fake(fake, tmp_path, STREAMS))


def test_grids_and_hooks(fake, tmp_path):  # noqa: F811
    said, seen = on_fake(fake, tmp_path, """
        for _ in range(2): go()
        of_arguments = lambda meta: (meta["n"], meta["FIRST"])
        print(counted(lambda: go(grid=of_arguments)), counted(lambda: go(grid=[4])))
        heard = []
        hook = lambda metadata: heard.append(metadata.get()["name"])
        hooks = getattr(triton.knobs.runtime, "launch_enter_hook")
        hooks.add(hook)
        print(counted(go), heard)
        hooks.remove(hook)
        print(counted(go), heard)
        mixed.add_pre_run_hook(lambda *a, **k: heard.append("pre"))
        print(counted(go), heard)
    """)  # fmt: skip
    assert said == ["0 0", "0 ['mixed']", "0 ['mixed']", "1 ['mixed', 'pre']"]
    assert all(launch["params"] == seen["launches"][0]["params"] for launch in seen["launches"][-3:])
    assert [launch["grid"] for launch in seen["launches"][2:4]] == [[5, 2, 1], [4, 1, 1]]


def test_scratch_memory_is_the_allocators(fake, tmp_path):  # noqa: F811
    """A kernel that makes a tensor descriptor gets memory from the program at each launch."""
    said, seen = on_fake(fake, tmp_path, """
        asked = []
        def allocate(size, align, stream):
            asked.append((size, align, stream))
            return Pointer(4096 * len(asked), torch.int8)
        triton.set_allocator(allocate)

        @triton_runner.jit
        def described(x, n, BLOCK: tl.constexpr):
            block = tl.make_tensor_descriptor(x, [n, BLOCK], [BLOCK, 1], [16, BLOCK])
            block.store([0, 0], tl.zeros([16, BLOCK], tl.float32))

        fake_gpu.STREAM[0] = 77
        launch = lambda grid=(2,): described[grid](x, 64, BLOCK=16)
        print(counted(launch), counted(launch), counted(lambda: launch((2, 2))))
        print(*asked)
    """, FAKE_CUDA_PARAMS="8,4,8,8")  # fmt: skip
    counts, asked = said
    assert counts.startswith("1 ") and counts.endswith(" 0")
    assert asked.count("77)") == 3
    first, second, third = seen["launches"]
    assert [words(launch)[2] for launch in seen["launches"]] == [4096, 8192, 12288]
    assert words(first)[:2] == words(second)[:2] == words(third)[:2] == [4096, 64]
    assert third["grid"] == [2, 2, 1] and third["stream"] == 77


def test_launchers_of_other_backends_launch(fake, tmp_path):  # noqa: F811
    """AMD's, and those of plug-ins: the key is known, and the launcher is theirs."""
    said, seen = on_fake(fake, tmp_path, """
        active = triton.runtime.driver.active
        class HIPLauncher(active.launcher_cls):
            calls = 0
            def __call__(self, *args, **kwargs):
                HIPLauncher.calls += 1
                return super().__call__(*args, **kwargs)
        active.launcher_cls = HIPLauncher
        of_n = lambda meta: (meta["n"],)
        print(counted(go), counted(go), counted(lambda: go(n=7)), counted(lambda: go(grid=of_n)))
        fake_gpu.set_device(1)
        far = lambda: go(Tensor(16384, place=1), Tensor(16384, place=1))
        print(counted(far), counted(far), HIPLauncher.calls)
    """)  # fmt: skip
    assert said == ["1 1 0 0", "1 0 6"]
    assert [launch["grid"] for launch in seen["launches"]] == [[3, 2, 1]] * 3 + [[5, 1, 1]] + [[3, 2, 1]] * 2
    assert words(seen["launches"][2])[2] == 7


def test_wrong_arguments_are_caught_as_tritons_launcher_does(fake, tmp_path):  # noqa: F811
    said, seen = on_fake(fake, tmp_path, """
        def error(launch):
            try:
                launch()
            except BaseException as error:
                return f"{type(error).__name__}: {error}".split("\\n")[0]
        for _ in range(2):
            go()
        for _ in range(2):
            print(error(lambda: go(Pointer(99 * 16))))
            print(error(lambda: go(Tensor(99 * 16, place=-1))))
            print(error(lambda: mixed[(1,)](x, y, 5, 0.5)))
            print(error(lambda: go(grid=("a",))))
        print(error(lambda: go(Pointer(20480))), error(lambda: go(None, scale=2)))
    """)  # fmt: skip
    assert said[:4] == said[4:8]
    assert "cannot be accessed from Triton" in said[0] and "cannot be accessed from Triton" in said[1]
    assert "missing" in said[2] and "Error" in said[3]
    assert said[8].startswith("None")  # pinned memory of the host
    assert len(seen["launches"]) == 3 or words(seen["launches"][2])[0] == 20480


# Prints a line for each call: its name and what came of it with triton.jit and thrice with ours; then how
# many of the right calls went through Python.
EVERY_KIND = """
import numpy as np
theirs = triton.jit(mixed.fn)
odd = {
    "f64": Tensor(4096, torch.float64), "freed": Tensor(99 * 16, place=-1),
    "far": Tensor(16384, place=1), "freed object": Pointer(99 * 16), "host": Pointer(20480),
    "None": None, "negative": -3, "2**31": 2**31, "2**32": 2**32, "2**63": 2**63,
    "2**64": 2**64, "-2**63-1": -2**63 - 1, "True": True, "real": 2.5, "nan": float("nan"),
    "text": "x", "bytes": b"x", "list": [1], "tuple": (1,), "dict": {}, "complex": 1j,
    "object": object(), "dtype": torch.float32, "tl": tl.float16, "class": int,
    "np.int32": np.int32(7), "np.float32": np.float32(2.5), "np.bool": np.bool_(True),
    "array": np.zeros(4, np.float32), "tensor": torch.zeros(4),
}
calls = {f"{at}={name}": {at: value} for at in ("x", "n", "scale", "m")
         for name, value in odd.items()}
calls |= {"keyword": {"nosuch": 1}, "few": {"drop": 1},
          "many": {"more": (1, 2, 3)}, "twice": {"more": (5, 6)}}

def outcome(kernel, change):
    values = {"x": x, "y": y, "n": 5, "scale": 0.5, "flag": True, **change}
    dropped, more = values.pop("drop", 0), values.pop("more", ())
    given = [values.pop(name) for name in ("x", "y", "n", "scale", "flag")][: 5 - dropped]
    keywords = {"FIRST": 2, **values}
    if more:
        given += [2, *more]
    try:
        kernel[(3, 2)](*given, **keywords)
    except Exception as error:
        text = str(error).split("\\n")[0]
        return f"{type(error).__name__}: {text.replace('dynamic_func()', '').strip()}"
    return "launched"
for kernel in (theirs, mixed, mixed, mixed):
    kernel[(3, 2)](x, y, 5, 0.5, True, FIRST=2)
print(counted(go))
for name, change in calls.items():
    print(name, *(outcome(kernel, change) for kernel in (theirs, mixed, mixed, mixed)), sep="|")
    print(counted(go))
"""


def compare_kinds(said: list, launched: list, same_words=False) -> None:
    """same_words: errors have Triton's text but for numbers, if they are not said before Triton is asked."""
    assert said[0] == "0" and len(said) > 200
    launches = iter(launched)
    for line, after in zip(said[1::2], said[2::2], strict=True):
        name, theirs, *ours = line.split("|")
        assert after == "0", name  # the right call is still known
        if theirs == "launched":
            assert ours == [theirs] * 3, line
            first = next(launches)
            assert all(next(launches) == first for _ in ours), name
        else:
            assert "launched" not in ours, line
            without = [re.sub(r"\d+", "", text) for text in (theirs, *ours)]
            assert not same_words or len(set(without)) == 1 or "Diagnostic" in line or "=array" in name, line
        next(launches)
    assert not list(launches)


def test_torchs_tensors_are_read_anew_at_each_launch(fake, tmp_path):  # noqa: F811
    """Tensors that torch made, in every shape they take, and objects that stand for another tensor than
    before: each launch has the address that data_ptr() gives, and the code for the element type."""
    said, seen = on_fake(fake, tmp_path, f"""
        import ctypes
        ctypes.CDLL("{fake}/gpu_tensors.so", mode=ctypes.RTLD_GLOBAL)
        made = [torch.zeros(64) for _ in range(8)]
        parameters = [torch.nn.Parameter(tensor) for tensor in made]
        t = torch.zeros(64)

        class Own(torch.Tensor):
            pass

        def launched(x):
            print(counted(lambda: mixed[(3, 2)](x, x, 5, 0.5, True, FIRST=2)), x.data_ptr())

        for tensor in made + parameters:
            launched(tensor)
        print("known")
        kinds = {{
            "plain": t, "view": t[16:], "odd view": t[1:], "strided": t[::2], "reshaped": t.view(2, 32)[1],
            "parameter": parameters[0], "of a parameter": parameters[1].detach()[4:],
            "with a gradient": torch.zeros(64, requires_grad=True), "scalar": torch.zeros(()),
            "negated": torch.zeros(8, dtype=torch.complex64).conj().imag, "empty": torch.zeros(0),
            "expanded": torch.zeros(1).expand(64), "transposed": torch.zeros(8, 8).T,
            "subclass": t.as_subclass(Own),
        }}
        for name, tensor in kinds.items():
            launched(tensor)
            launched(tensor)
        print("changed")
        launched(t)
        t.data = torch.zeros(4096)[8:]
        launched(t)
        t.set_(torch.zeros(64))
        launched(t)
        t.resize_(1 << 16)
        launched(t)
        other = torch.zeros(32)
        launched(other)
        torch.utils.swap_tensors(other, torch.zeros(32))
        launched(other)
        t.data = torch.zeros(64, dtype=torch.float16)
        launched(t)
        t.data = torch.zeros(64)
        launched(t)
    """, FAKE_CUDA_MEMORY="*")  # fmt: skip
    launches = [line.split() for line in said if " " in line]
    for (_, address), launch in zip(launches, seen["launches"], strict=True):
        assert words(launch)[:2] == [int(address)] * 2
    known = said.index("known")
    assert [line.split()[0] for line in said[known - 3 : known]] == ["0"] * 3
    changed = [line.split()[0] for line in said[said.index("changed") + 1 :]]
    assert changed == ["0", "0", "0", "0", "0", "0", "1", "0"]  # another element type is other code


def test_every_kind_of_value_does_as_with_triton(fake, tmp_path):  # noqa: F811
    """Each kind of value for each parameter, after launches that are known: an error where triton.jit has
    one, else the same words are launched."""
    said, seen = on_fake(fake, tmp_path, EVERY_KIND)
    compare_kinds(said, seen["launches"][5:])


# As EVERY_KIND, of numbers that are and that are not of their parameters' types.
EVERY_WIDTH = """
TYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "int1")
TYPES += ("float16", "bfloat16", "float32", "float64")

def wide(p, a: tl.int8, b: tl.int16, c: tl.int32, d: tl.int64, e: tl.uint8, f: tl.uint16, g: tl.uint32,
         h: tl.uint64, i: tl.int1, j: tl.float16, k: tl.bfloat16, l: tl.float32, m: tl.float64):
    tl.store(p, a + b + c + d + e + f + g + h + i + j + k + l + m)

names = "abcdefghijklm"
kernels = [jit(wide, do_not_specialize=list(names)) for jit in (triton.jit, triton_runner.jit)]
kernels += kernels[1:] * 2
integers = {0, 1, True, False, 2.5, None, *(s * 2**b + d for b in (7, 8, 15, 16, 31, 32, 63, 64)
            for s in (-1, 1) for d in (-1, 0, 1))}
reals = [0.0, -0.0, 1.5, 1 / 3, 65504.0, 65519.9, 65520.0, -65520.0, 1e6, 1e39, -1e300, 1e-8, 1e-45, 3,
         2**24 + 1, 2**53 + 1, -7, True, float("inf"), float("-inf"), float("nan"), 2**70, None, "x"]

def outcome(kernel, at, value):
    values = [x, *([5] * 8), True, *([0.5] * 4)]
    values[at + 1] = value
    try:
        kernel[(3, 2)](*values)
    except Exception as error:
        return f"{type(error).__name__}: {error}".split("\\n")[0]
    return "launched"
for kernel in kernels:
    outcome(kernel, 0, 5)
print(counted(lambda: outcome(kernels[1], 0, 5)))
for at, name in enumerate(names):
    for value in integers if at < 9 else reals:
        print(f"{TYPES[at]}={value}", *(outcome(kernel, at, value) for kernel in kernels), sep="|")
        print(counted(lambda: outcome(kernels[1], 0, 5)))
"""
WIDTHS = "8,1,2,4,8,1,2,4,8,1,2,2,4,8,8,8"


def test_numbers_of_every_width_are_passed_as_by_triton(fake, tmp_path):  # noqa: F811
    said, seen = on_fake(fake, tmp_path, EVERY_WIDTH, FAKE_CUDA_PARAMS=WIDTHS)
    compare_kinds(said, seen["launches"][5:])


def test_a_driver_that_refuses(fake, tmp_path):  # noqa: F811
    said, _ = on_fake(fake, tmp_path, """
        for _ in range(3):
            try:
                go()
            except Exception as error:
                print(type(error).__name__, str(error).split("\\n")[0])
    """, FAKE_CUDA_FAIL="cuLaunchKernel=700,cuLaunchKernelEx=700")  # fmt: skip
    assert len(said) == 3


THREADS = """
for _ in range(2): go()
failed = []
def work(i):
    try:
        for k in range(200):
            go(n=5 + 2 * (k % 3), m=i + 2)
    except BaseException as error:
        failed.append(error)
threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
for t in threads: t.start()
for t in threads: t.join()
print(failed)
"""


def check_threads(said, launches):
    assert said == ["[]"]
    known = [(words(launch)[5], words(launch)[2]) for launch in launches[2:]]
    assert len(known) == 1600 and set(known) == {(i, n) for i in range(2, 10) for n in (5, 7, 9)}


def test_threads_share_known_launches(fake, tmp_path):  # noqa: F811
    said, seen = on_fake(fake, tmp_path, THREADS)
    check_threads(said, seen["launches"])


def test_a_launch_within_a_launch_and_in_a_finalizer(fake, tmp_path):  # noqa: F811
    said, seen = on_fake(fake, tmp_path, """
        for _ in range(2): go()
        def grid(meta):
            mixed._known.forget()
            go()
            return (1,)
        go(grid=grid)
        class Relaunching(Pointer):
            def data_ptr(self):
                go()
                gc.collect()
                return self.address
        odd = Relaunching(4096)
        go(odd), go(odd)
        print("done")
    """)  # fmt: skip
    assert said == ["done"] and len(seen["launches"]) > 6


def test_kernels_are_let_go(fake, tmp_path):  # noqa: F811
    said, _ = on_fake(fake, tmp_path, """
        def used():
            @triton_runner.jit
            def local(x, BLOCK: tl.constexpr):
                tl.store(x + tl.arange(0, BLOCK), 1.0)
            for _ in range(4):
                local[(1,)](x, BLOCK=16)
            return weakref.ref(local)
        before = sys.getrefcount(x)
        first = used()
        used(), gc.collect()
        print(sys.getrefcount(x) - before)
    """, FAKE_CUDA_PARAMS="8")  # fmt: skip
    assert said == ["0"]


A_MILLION = """
for _ in range(10_000): go()
before = fake_gpu.resident_bytes()
for _ in range(1_000_000): go()
print(fake_gpu.resident_bytes() - before)
"""


def check_nothing_left(said, seen):
    assert int(said[0]) < 1 << 20
    assert seen["launched"] == 1_010_000


@pytest.mark.long
def test_a_million_launches_leave_nothing(fake, tmp_path):  # noqa: F811
    check_nothing_left(*on_fake(fake, tmp_path, A_MILLION, FAKE_CUDA_QUIET="1"))


def test_winners_of_autotuning_are_cubins(fake, tmp_path):  # noqa: F811
    body = f"""
        timed = []
        def bench(launch, quantiles=None, **_):
            timed.append(launch())
            return [float(len(timed))] * 3
        configs = [triton.Config({{"BLOCK": block}}) for block in (16, 32)]
        @triton_runner.autotune(configs, key=["n"], do_bench=bench,
                                autotune_cubin_dir={str(tmp_path / "winners")!r})
        @triton_runner.jit
        def fill(x, n, BLOCK: tl.constexpr):
            tl.store(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), 1.0)
        for _ in range(3):
            fill[lambda meta: (meta["n"] // meta["BLOCK"],)](x, 64)
        print(len(timed))
    """
    assert on_fake(fake, tmp_path, body, FAKE_CUDA_PARAMS="8,4")[0] == ["2"]
    said, seen = on_fake(fake, tmp_path, body, FAKE_CUDA_PARAMS="8,4")
    assert said == ["0"] and [launch["grid"] for launch in seen["launches"]] == [[4, 1, 1]] * 3
    assert seen["binary"] and len(list(tmp_path.glob("winners/*/fill.cubin"))) == 1
