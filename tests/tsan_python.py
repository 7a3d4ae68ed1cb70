"""Runs the Python bindings under ThreadSanitizer: eight threads launch known and new kernels on the fake
driver.

    python tests/tsan_python.py BUILD      the folder with an extension that was built with -fsanitize=thread

Python itself is not instrumented, but its lock is a mutex that the sanitizer sees. A control comes first: two
threads that add to one number of an instrumented library, without the lock, have to be reported.
"""

import os
import pathlib
import re
import subprocess
import sys
import sysconfig
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


def main() -> int:
    [extension] = (pathlib.Path(sys.argv[1]) / "python" / "bindings").glob("_core*.so")
    sys.path[:0] = [str(ROOT / "tests" / "python" / name) for name in ("helpers", "launch")]
    import fake_build
    import test_gpu_launch

    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        (folder / "count.cpp").write_text(COUNTER)
        subprocess.run([CXX, *FLAGS, f"{folder}/count.cpp", "-o", f"{folder}/count.so"], check=True)
        (folder / "control.py").write_text(CONTROL)
        output, reports = run([f"{folder}/control.py", f"{folder}/count.so"])
        if not reports:
            print(output + "FAILED the sanitizer did not report the control\n0 passed, 1 failed")
            return 1

        site = folder / "site" / "triton_runner"
        site.mkdir(parents=True)
        fake_build.build("fake_cuda", folder / "libcuda.so.1", *FLAGS)
        for path in (*(ROOT / "python" / "triton_runner").iterdir(), extension):
            (site / path.name).symlink_to(path.resolve())
        (folder / "launches.py").write_text(test_gpu_launch.PRELUDE + BODY)
        output, reports = run(
            [f"{folder}/launches.py"],
            PYTHONPATH=os.pathsep.join((str(site.parent), sysconfig.get_path("purelib"))),
            LD_LIBRARY_PATH=str(folder),
            TRITON_LIBCUDA_PATH=str(folder),
            FAKE_CUDA_LOG=f"{folder}/log.json",
            FAKE_CUDA_PARAMS=test_gpu_launch.PARAMS,
            FAKE_CUDA_MEMORY="4096=0,8192=0,12288=0,16384=1,20480=-1",
            TRITON_RUNNER_DEVICE="cuda",
            TRITON_RUNNER_PROD="1",
        )
        if reports or f"launched [] {site}" not in output:
            print(f"{output}\nFAILED {reports} reports\n1 passed, 1 failed")
            return 1
    print("2 passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
