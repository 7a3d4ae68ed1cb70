"""ptxas 12.8 drops the constant of an addition: a random kernel (tests/differential, seed 5,004,139)."""

import triton
import triton.language as tl


@triton.jit
def f1(a, b):
    return (a >> (b & 63)).to(tl.int64)


@triton.jit
def kernel(x0, x1, x2, out0, out1, out2, out3, out4, out5, trips, delta, limit):
    v1 = (
        tl.load(
            x0 + tl.program_id(0) * 1024 + (tl.arange(0, 32)[:, None] * 32 + tl.arange(0, 32)[None, :]),
            mask=(tl.arange(0, 32)[:, None] * 32 + tl.arange(0, 32)[None, :]) < limit,
            other=3,
        )
    ).to(tl.float32)
    v2 = (tl.minimum(tl.maximum(v1, -100.0), 100.0)).to(tl.int16)
    v5 = (tl.load(x1 + tl.program_id(0) * 1024 + tl.arange(0, 32))).to(tl.int32)
    v6 = (tl.histogram(v5 & 31, 32)).to(tl.int32)
    v10 = (v2).to(tl.int32)
    v11 = (tl.load(x2 + (v10 & 63))).to(tl.int64)
    v12 = (v10).to(tl.int64)
    v13 = (f1(v11, v12)).to(tl.int64)
    v14 = (tl.cumprod(v6, axis=0)).to(tl.int32)
    v15 = (v13).to(tl.uint16)
    v16 = (v15 % ((v15 & 7) + 1)).to(tl.uint16)
    v17 = (tl.max(v15, axis=0)).to(tl.uint16)
    v18 = (v5).to(tl.uint16)
    v19 = v17 != v18
    v20 = (v5).to(tl.uint16)
    v21 = (v14).to(tl.uint16)
    v22 = (tl.where(v19, v20, v21)).to(tl.uint16)
    v23 = (tl.minimum(v20, v17)).to(tl.uint16)
    v24 = (v13).to(tl.uint16)
    v25 = (tl.trans(tl.reshape(v16, (32, 32)))).to(tl.uint16)
    tl.store(out0 + tl.program_id(0) * 32 + tl.arange(0, 32), v20)
    tl.store(out1 + tl.program_id(0) * 32 + tl.arange(0, 32), v21)
    tl.store(out2 + tl.program_id(0) * 32 + tl.arange(0, 32), v22)
    tl.store(out3 + tl.program_id(0) * 32 + tl.arange(0, 32), v23)
    tl.store(
        out4 + tl.program_id(0) * 1024 + (tl.arange(0, 32)[:, None] * 32 + tl.arange(0, 32)[None, :]), v24
    )
    v26 = v25 != 0
    tl.store(
        out5 + tl.program_id(0) * 1024 + (tl.arange(0, 32)[:, None] * 32 + tl.arange(0, 32)[None, :]),
        v25,
        mask=v26,
    )
