"""Sparse wgmma on hardware: does metadata lie where the SIMT engine has it?

python tests/gpu/sparse.py      on a Hopper GPU, with torch

The products of tests/python/ptx/test_ptx_products.py.

Whole numbers, so that sums are exact; a wrong place of one element shows.
"""

import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))
import triton_runner
from test_ptx_products import WGMMA_KINDS, sparse_wgmma


def main() -> int:
    failed = 0
    for kind, selector in WGMMA_KINDS:
        for in_registers in (False, True):
            text, arguments, wanted = sparse_wgmma(kind, selector, in_registers)
            on_gpu = [torch.from_numpy(a.view("uint8").reshape(-1)).cuda() for a in arguments]
            with triton_runner.using(device="cuda"):
                triton_runner.load(text)[(1,)](*on_gpu)
            got = on_gpu[3].cpu().numpy().view(wanted.dtype).reshape(wanted.shape)
            wrong = int((got != wanted).sum())
            failed += wrong > 0
            where = "registers" if in_registers else "shared memory"
            print(f"{kind}, selector {selector}, A in {where}: {wrong} of {wanted.size} differ")
    print(f"{2 * len(WGMMA_KINDS) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
