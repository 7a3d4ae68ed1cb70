"""Finds where a tiled TMA copy may begin: a process for each case, since a fault takes the GPU's context.

python tests/gpu/tma_edges.py        a line a case: load, store: ok or fault (Triton 3.6 or later with Gluon)
"""

import concurrent.futures
import subprocess
import sys

SHAPES = {2: ((8, 256), (4, 64)), 3: ((3, 5, 48), (2, 4, 32)), 5: ((2, 3, 3, 5, 48), (2, 2, 2, 4, 32))}
BYTES = {"int8": 1, "int16": 2, "float32": 4}
CASES = [("int8", at) for at in ((-4, 0), (0, -16), (5, 0), (8, 0), (0, 256), (0, -1))]
CASES += [("int8", at) for at in ((-2, 0, 0), (0, 0, -16), (1, 1, 32), (-1, 0, 0, 0, 0), (0, 0, 0, 0, -32))]
CASES += [("int8", at) for at in ((1, 2, 2, 4, 32), (0, 3, 0, 0, 0))]
CASES += [
    (dtype, (0, n // size)) for dtype, size in BYTES.items() for n in (1, 2, 4, 8, 16, 24) if n % size == 0
]


def inside(dtype: str, at: tuple, is_store: bool) -> None:
    import torch
    from triton.experimental import gluon
    from triton.experimental.gluon import language as gl
    from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma
    from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

    @gluon.jit
    def load(desc, at):
        buffer = gl.allocate_shared_memory(desc.dtype, desc.block_type.shape, desc.layout)
        here = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
        mbarrier.init(here, count=1)
        mbarrier.expect(here, desc.block_type.nbytes)
        tma.async_copy_global_to_shared(desc, at, here, buffer)
        mbarrier.wait(here, 0)

    @gluon.jit
    def store(desc, at):
        buffer = gl.allocate_shared_memory(desc.dtype, desc.block_type.shape, desc.layout)
        tma.async_copy_shared_to_global(desc, at, buffer)
        tma.store_wait(0)

    shape, block = SHAPES[len(at)]
    block = (*block[:-1], block[-1] // BYTES[dtype])
    tensor = torch.zeros(shape, device="cuda", dtype=getattr(torch, dtype))
    layout = gl.NVMMASharedLayout(0, 8 * BYTES[dtype], rank=len(shape))
    desc = TensorDescriptor.from_tensor(tensor, list(block), layout)
    (store if is_store else load)[(1,)](desc, at, num_warps=1)
    torch.cuda.synchronize()


def outcome(case: tuple) -> str:
    command = [sys.executable, __file__, repr(case)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    if done.returncode == 0:
        return "ok"
    return "fault" if "illegal instruction" in done.stdout else done.stdout.strip().splitlines()[-1]


def main() -> None:
    pairs = [(*case, is_store) for case in CASES for is_store in (False, True)]
    with concurrent.futures.ThreadPoolExecutor(14) as pool:
        found = dict(zip(pairs, pool.map(outcome, pairs), strict=True))
    for dtype, at in CASES:
        print(f"{dtype:8} {at!s:20} load {found[dtype, at, False]:6} store {found[dtype, at, True]}")


if __name__ == "__main__":
    import ast

    if len(sys.argv) > 1:
        inside(*ast.literal_eval(sys.argv[1]))
    else:
        main()
