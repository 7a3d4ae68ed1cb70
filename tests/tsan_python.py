"""Runs the Python bindings under ThreadSanitizer: eight threads launch known and new kernels on the fake
driver; blocks of kernels for AMD's GPUs run on eight threads, at AMDGCN and hsaco.

    python tests/tsan_python.py BUILD [gpu|amd]    the folder with an extension that was built with
                                                   -fsanitize=thread; one of the two programs alone

Python itself is not instrumented, but its lock is a mutex that the sanitizer sees. A control comes first: two
threads that add to one number of an instrumented library, without the lock, have to be reported.
"""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
CXX = os.environ.get("CXX", "c++")
FLAGS = ["-std=c++20", "-g", "-fsanitize=thread", "-shared", "-fPIC"]
CONTROL = """
import ctypes, sys, threading
library = ctypes.CDLL(sys.argv[1])
threads = [threading.Thread(target=library.count) for _ in range(2)]
for t in threads: t.start()
for t in threads: t.join()
"""
# They wait for each other, in a way that orders nothing: else the first may be done before the second begins,
# and Python's lock lies between them.
COUNTER = """
#include <atomic>
extern "C" void count() {
  static std::atomic<int> here;
  static int n;
  here.fetch_add(1, std::memory_order_relaxed);
  while (here.load(std::memory_order_relaxed) < 2) {}
  for (int i = 0; i < 100000; ++i) ++n;
}
"""
BODY = """
for _ in range(2):
    go()
failed = []
def work(i):
    try:
        for k in range(200):
            go(n=5 + 2 * (k % 3), m=i + 2)
            if k % 50 == 0:
                go(Pointer(4096), Pointer(8192), n=100 + i)
            if k % 70 == 0:
                mixed._known.forget()
    except BaseException as error:
        failed.append(error)
threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
for t in threads: t.start()
for t in threads: t.join()
print("launched", failed, triton_runner._core.__file__)
"""
# Sums that cross wavefronts (LDS and barriers), a product (MFMA, or WMMA), a sum that all blocks add to;
# without checks and with those that remember what other blocks did. Two threads of Python launch at once.
ON_AMD = """
import threading, time, numpy as np, triton, triton.language as tl, triton_runner

@triton_runner.jit
def rows(x, y, total, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    v = tl.load(x + i)
    e = tl.exp(v - tl.max(v, 0))
    tl.store(y + i, e / tl.sum(e, 0))
    tl.atomic_add(total, 1)

@triton_runner.jit
def product(a, b, c, K: tl.constexpr, B: tl.constexpr):
    m = tl.program_id(0) * B + tl.arange(0, B)
    n = tl.program_id(1) * B + tl.arange(0, B)
    k = tl.arange(0, B)
    sums = tl.zeros((B, B), tl.float32)
    for s in range(0, K, B):
        sums = tl.dot(tl.load(a + m[:, None] * K + (s + k)), tl.load(b + (s + k)[:, None] * K + n), sums)
    tl.store(c + m[:, None] * K + n, sums)

def go(level, target, check):
    some = lambda *shape: np.random.randn(*shape).astype(np.float32)
    zeros = lambda *shape: np.zeros(shape, np.float32)
    x, y, total = some(64, 256), zeros(64, 256), np.zeros(1, np.int32)
    a, b, c = some(128, 128).astype(np.float16), some(128, 128).astype(np.float16), zeros(128, 128)
    with triton_runner.using(device="cpu", level=level, target=target, check=check, threads=8):
        rows[(64,)](x, y, total, 256)
        product[(4, 4)](a, b, c, 128, 32)
    e = np.exp(x - x.max(1, keepdims=True))
    assert total[0] == 64 and np.allclose(y, e / e.sum(1, keepdims=True), atol=1e-6)
    assert np.allclose(c, a.astype(np.float32) @ b.astype(np.float32), atol=1e-2)

failed = []
def work(*words):
    try:
        go(*words)
    except BaseException as error:
        failed.append(repr(error)[:500])
for target in ("hip:gfx942", "hip:gfx950", "hip:gfx1201"):
    for check in ("", "all"):
        threads = [threading.Thread(target=work, args=(l, target, check)) for l in ("amdgcn", "hsaco")]
        for t in threads: t.start()
        for t in threads: t.join()
        print(target, check, f"{time.process_time():.0f} s of CPU time", flush=True)
print("launched", failed, triton_runner._core.__file__)
"""


def run(arguments: list[str], **environment: str) -> tuple[str, int]:
    """Returns what it printed, and how many reports are in it. -S: no editable install in the way."""
    runtime = subprocess.run([CXX, "-print-file-name=libtsan.so"], capture_output=True, text=True, check=True)
    options = "halt_on_error=0:exitcode=0:ignore_noninstrumented_modules=1"
    settings = {"LD_PRELOAD": runtime.stdout.strip(), "TSAN_OPTIONS": options, "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [sys.executable, "-S", *arguments],
        env=os.environ | settings | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return done.stdout, len(re.findall("WARNING: ThreadSanitizer", done.stdout))


def control(folder: pathlib.Path) -> str:
    """Returns what a program with a race printed, or nothing where it was reported."""
    (folder / "count.cpp").write_text(COUNTER)
    subprocess.run([CXX, *FLAGS, f"{folder}/count.cpp", "-o", f"{folder}/count.so"], check=True)
    (folder / "control.py").write_text(CONTROL)
    output, reports = run([f"{folder}/control.py", f"{folder}/count.so"])
    return "" if reports else f"{output}FAILED the sanitizer did not report the control\n"


def on_gpu(folder: pathlib.Path) -> dict[str, str]:
    import fake_build
    import test_gpu_launch

    fake_build.build("fake_cuda", folder / "libcuda.so.1", *FLAGS)
    (folder / "gpu.py").write_text(test_gpu_launch.PRELUDE + BODY)
    return {
        "LD_LIBRARY_PATH": str(folder),
        "TRITON_LIBCUDA_PATH": str(folder),
        "FAKE_CUDA_LOG": f"{folder}/log.json",
        "FAKE_CUDA_PARAMS": test_gpu_launch.PARAMS,
        "FAKE_CUDA_MEMORY": "4096=0,8192=0,12288=0,16384=1,20480=-1",
        "TRITON_RUNNER_DEVICE": "cuda",
    }


def on_amd(folder: pathlib.Path) -> dict[str, str]:
    (folder / "amd.py").write_text(ON_AMD)
    return {"TRITON_CACHE_DIR": f"{folder}/cache", "OMP_NUM_THREADS": "1"}


def main() -> int:
    [extension] = (pathlib.Path(sys.argv[1]) / "python" / "bindings").glob("_core*.so")
    sys.path[:0] = [str(ROOT / "tests" / "python" / name) for name in ("helpers", "launch")]
    programs = {"gpu": on_gpu, "amd": on_amd}
    passed = 1
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        if problem := control(folder):
            print(f"{problem}0 passed, 1 failed")
            return 1
        site = folder / "site" / "triton_runner"
        site.mkdir(parents=True)
        packages = pathlib.Path(importlib.util.find_spec("triton").origin).parents[1]
        for path in (*(ROOT / "python" / "triton_runner").iterdir(), extension):
            (site / path.name).symlink_to(path.resolve())
        for name in sys.argv[2:] or programs:
            output, reports = run(
                [f"{folder}/{name}.py"],
                PYTHONPATH=os.pathsep.join((str(site.parent), str(packages))),
                TRITON_RUNNER_PROD="1",
                **programs[name](folder),
            )
            if reports or f"launched [] {site}" not in output:
                print(f"{output}\nFAILED {name}: {reports} reports\n{passed} passed, 1 failed")
                return 1
            passed += 1
    print(f"{passed} passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
