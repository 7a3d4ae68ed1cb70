"""triton#7268: the backward pass of attention needs more shared memory from Triton 3.3 on than sm_89 has."""

import triton
import triton.language as tl


@triton.jit
def backward(
    q, k, v, dout, dq, dk, dv, lse, delta, length, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr
):
    # One program has a block of keys, and walks over the queries.
    d = tl.arange(0, D)
    keys = tl.program_id(0) * N + tl.arange(0, N)
    key = tl.load(k + keys[:, None] * D + d[None, :])
    value = tl.load(v + keys[:, None] * D + d[None, :])
    dkey = tl.zeros((N, D), tl.float32)
    dvalue = tl.zeros((N, D), tl.float32)
    for start in range(0, length, M):
        queries = start + tl.arange(0, M)
        at = queries[:, None] * D + d[None, :]
        query, gradient = tl.load(q + at), tl.load(dout + at)
        score = tl.dot(query, tl.trans(key)) * scale
        weight = tl.exp(score - tl.load(lse + queries)[:, None])
        dvalue += tl.dot(tl.trans(weight.to(tl.float16)), gradient)
        dweight = tl.dot(gradient, tl.trans(value)) - tl.load(delta + queries)[:, None]
        dscore = (weight * dweight * scale).to(tl.float16)
        dkey += tl.dot(tl.trans(dscore), query)
        tl.store(dq + at, tl.load(dq + at) + tl.dot(dscore, key))
    tl.store(dk + keys[:, None] * D + d[None, :], dkey.to(tl.float16))
    tl.store(dv + keys[:, None] * D + d[None, :], dvalue.to(tl.float16))
