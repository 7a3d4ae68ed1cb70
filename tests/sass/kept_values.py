"""How many values of the TTGIR have registers in machine code: five kernels for cuda:90 (those of
tests/gpu/dump_gdb.py), by the lines of the PTX in the SASS, and by running PTX and machine code.

    python tests/sass/kept_values.py [add softmax row_squares mma wgmma]
"""

import contextlib
import os
import sys
import warnings
from pathlib import Path

import torch
import triton_runner
from triton_runner import _core
from triton_runner._artifact.compiled_kernel import compiled_of
from triton_runner._kernel.dumps import cubin_values, instrument, requests

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python" / "helpers"))
from kernels_for_dumps import add, matmul, row_squares, softmax

os.environ.setdefault("TRITON_RUNNER_PROD", "1")
warnings.simplefilter("ignore")
TOGETHER = 32  # values of one dump


def products(m, n, k):
    return torch.randn(m, k).half(), torch.randn(k, n).half(), torch.zeros(m, n).half(), m, n, k


LAUNCHES = {
    "add": (add, (torch.randn(1000), torch.randn(1000), torch.zeros(1000), 1000), {"B": 256}, (4,)),
    "softmax": (softmax, (torch.randn(3, 500), torch.zeros(3, 500), 500), {"B": 512}, (3,)),
    "row_squares": (
        row_squares, (torch.randn(3, 300).half(), torch.zeros(3), 300), {"B": 128, "num_warps": 1}, (3,),
    ),
    "mma": (
        matmul, products(32, 64, 128), {"BM": 32, "BN": 32, "BK": 32, "num_warps": 2, "num_stages": 2}, (2,),
    ),
    "wgmma": (
        matmul, products(64, 64, 256), {"BM": 64, "BN": 64, "BK": 64, "num_warps": 4, "num_stages": 3}, (1,),
    ),
}  # fmt: skip


def kept(function, arguments, options, grid) -> tuple[int, int, int]:
    """(values that are neither addresses nor buffers, those found by lines, those found by running)."""
    with triton_runner.using(level="cubin"):
        compiled = compiled_of(instrument.launcher_of(function)(None, arguments, options, grid, True))
    ttgir = _core.ir.parse(compiled.asm["ttgir"], f"{compiled.name}.ttgir")
    sites = [site for site, _ in _core.probe.select(ttgir, compiled.name, ["*"])]
    names = [site.value for site in sites if "ptr" not in site.type_text and "memdesc" not in site.type_text]
    by_lines, by_running = set(), set()
    for first in range(0, len(names), TOGETHER):
        some = names[first : first + TOGETHER]
        with contextlib.suppress(triton_runner.DiagnosticError):  # none of them
            plan = cubin_values.plan(requests.request(some, function, level="cubin"), compiled).plan
            by_lines |= {*plan.values}
        with contextlib.suppress(triton_runner.DiagnosticError):
            with triton_runner.dumping(function, *some, level="cubin", every_iteration=True) as dump:
                function[grid](*arguments, **options)
            by_running |= {value.name for value in dump.values}
    return len(names), len(by_lines), len(by_running)


def main() -> int:
    torch.manual_seed(7)
    total = [0, 0, 0]
    with triton_runner.using(device="cpu", target="cuda:90"):
        for name in sys.argv[1:] or LAUNCHES:
            found = kept(*LAUNCHES[name])
            total = [a + b for a, b in zip(total, found, strict=True)]
            print(f"{name}: of {found[0]} values {found[1]} by lines, {found[2]} by running", flush=True)
    print(f"of {total[0]} values {total[1]} by lines, {total[2]} by running")
    return 0


if __name__ == "__main__":
    sys.exit(main())
