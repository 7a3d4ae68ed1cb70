"""Flash attention, backward: scores computed again from each row's saved log-sum (tutorial 06)."""

import numpy as np
import triton.language as tl
import triton_runner


@triton_runner.jit
def attention_delta(out_ptr, dout_ptr, delta_ptr, length, HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr):
    """delta = row sums of out * dout: what the softmax's own derivative subtracts."""
    rows = tl.program_id(1) * length + tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    places = rows[:, None] * HEAD_DIM + tl.arange(0, HEAD_DIM)[None, :]
    out = tl.load(out_ptr + places).to(tl.float32)
    dout = tl.load(dout_ptr + places).to(tl.float32)
    tl.store(delta_ptr + rows, tl.sum(out * dout, axis=1))


@triton_runner.jit
def attention_dkdv(q_ptr, k_ptr, v_ptr, dout_ptr, dk_ptr, dv_ptr, lse_ptr, delta_ptr, scale, length,
                   HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):  # fmt: skip
    """A program: BLOCK_N keys; walks the queries from the diagonal down."""
    head = tl.program_id(1) * length
    start_n = tl.program_id(0) * BLOCK_N
    dims = tl.arange(0, HEAD_DIM)
    cols = start_n + tl.arange(0, BLOCK_N)
    places = (head + cols)[:, None] * HEAD_DIM + dims[None, :]
    k = tl.load(k_ptr + places)
    v = tl.load(v_ptr + places)
    dk = tl.zeros([BLOCK_N, HEAD_DIM], dtype=tl.float32)
    dv = tl.zeros([BLOCK_N, HEAD_DIM], dtype=tl.float32)
    for start_m in range(start_n, length, BLOCK_M):
        rows = start_m + tl.arange(0, BLOCK_M)
        q = tl.load(q_ptr + (head + rows)[:, None] * HEAD_DIM + dims[None, :])
        dout = tl.load(dout_ptr + (head + rows)[:, None] * HEAD_DIM + dims[None, :])
        lse = tl.load(lse_ptr + head + rows)
        delta = tl.load(delta_ptr + head + rows)
        # Transposed: keys go down, queries across.
        p = tl.math.exp2(tl.dot(k, tl.trans(q)) * (scale * 1.4426950408889634) - lse[None, :])
        p = tl.where(rows[None, :] >= cols[:, None], p, 0.0)
        dv += tl.dot(p.to(tl.float16), dout)
        ds = p * (tl.dot(v, tl.trans(dout)) - delta[None, :])
        dk += tl.dot(ds.to(tl.float16), q)
    tl.store(dk_ptr + places, dk * scale)
    tl.store(dv_ptr + places, dv)


@triton_runner.jit
def attention_dq(q_ptr, k_ptr, v_ptr, dout_ptr, dq_ptr, lse_ptr, delta_ptr, scale, length,
                 HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):  # fmt: skip
    """A program: BLOCK_M queries; walks the keys up to the diagonal."""
    head = tl.program_id(1) * length
    start_m = tl.program_id(0) * BLOCK_M
    dims = tl.arange(0, HEAD_DIM)
    rows = start_m + tl.arange(0, BLOCK_M)
    places = (head + rows)[:, None] * HEAD_DIM + dims[None, :]
    q = tl.load(q_ptr + places)
    dout = tl.load(dout_ptr + places)
    lse = tl.load(lse_ptr + head + rows)
    delta = tl.load(delta_ptr + head + rows)
    dq = tl.zeros([BLOCK_M, HEAD_DIM], dtype=tl.float32)
    for start_n in range(0, start_m + BLOCK_M, BLOCK_N):
        cols = start_n + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + (head + cols)[:, None] * HEAD_DIM + dims[None, :])
        v = tl.load(v_ptr + (head + cols)[:, None] * HEAD_DIM + dims[None, :])
        p = tl.math.exp2(tl.dot(q, tl.trans(k)) * (scale * 1.4426950408889634) - lse[:, None])
        p = tl.where(rows[:, None] >= cols[None, :], p, 0.0)
        ds = p * (tl.dot(dout, tl.trans(v)) - delta[:, None])
        dq += tl.dot(ds.to(tl.float16), k)
    tl.store(dq_ptr + places, dq * scale)


def run(device, **level):
    heads, length, dim, block_m, block_n, scale = 2, 128, 64, 32, 32, 0.125
    q, k, v, dout = (device.normal(heads, length, dim, dtype="float16") for _ in range(4))
    xp, (hq, hk, hv, hdout) = device.xp, (device.host(tensor) for tensor in (q, k, v, dout))
    visible = device.host(device.array(np.tril(np.ones((length, length)))))
    scores = xp.exp(hq @ hk.swapaxes(1, 2) * scale) * visible
    total = scores.sum(2, keepdims=True)
    p = scores / total
    # These the forward pass leaves behind: the output, and log2 of each row's sum.
    out = device.array(np.asarray(p @ hv).astype("float16"))
    lse = device.array(np.asarray(xp.log2(total)[:, :, 0]).astype("float32"))

    delta = device.zeros(heads, length)
    dq, dk, dv = (device.zeros(heads, length, dim) for _ in range(3))
    blocks = {"HEAD_DIM": dim, "BLOCK_M": block_m, "BLOCK_N": block_n}
    attention_delta[(length // block_m, heads)](
        out, dout, delta, length, HEAD_DIM=dim, BLOCK_M=block_m, **level
    )
    attention_dkdv[(length // block_n, heads)](
        q, k, v, dout, dk, dv, lse, delta, scale, length, **blocks, num_stages=1, **level
    )
    attention_dq[(length // block_m, heads)](
        q, k, v, dout, dq, lse, delta, scale, length, **blocks, num_stages=1, **level
    )

    dp = hdout @ hv.swapaxes(1, 2)
    ds = p * (dp - (p * dp).sum(2, keepdims=True))
    return [
        ("dq", dq, ds @ hk * scale, 2e-3),
        ("dk", dk, ds.swapaxes(1, 2) @ hq * scale, 2e-3),
        ("dv", dv, p.swapaxes(1, 2) @ hdout, 2e-3),
    ]
