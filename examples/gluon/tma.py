"""TMA (sm_90 and later): blocks of a matrix fetched by descriptors into shared memory, each after a barrier
that counts its bytes, scaled, and stored by a descriptor."""

import torch
from shared import described, main, whole
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier, tma
from triton_runner import gluon


@gluon.jit
def double(x_desc, out_desc):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    tile = gl.allocate_shared_memory(x_desc.dtype, x_desc.block_shape, x_desc.layout)
    loaded = mbarrier.allocate_mbarrier()
    mbarrier.init(loaded, count=1)
    at = [gl.program_id(0) * x_desc.block_shape[0], gl.program_id(1) * x_desc.block_shape[1]]
    mbarrier.expect(loaded, x_desc.nbytes_per_cta)
    tma.async_load(x_desc, at, loaded, tile)
    mbarrier.wait(loaded, 0)
    mbarrier.invalidate(loaded)
    tile.store(tile.load(layout) * 2)
    fence_async_shared()  # what the threads wrote is read by the copy engine
    tma.async_store(out_desc, at, tile)
    tma.store_wait(0)


def run(**level):
    x = whole(100, 72)  # no multiple of a block: TMA leaves out what lies outside
    out = torch.zeros_like(x)
    double[(4, 2)](described(x, [32, 64]), described(out, [32, 64]), num_warps=4, **level)
    return out, x * 2


if __name__ == "__main__":
    main(run, "cuda:90")
