"""Layer normalisation, forward and backward, the weights' gradients summed under locks (tutorial 05)."""

import triton
import triton.language as tl
import triton_runner


@triton_runner.jit
def layer_norm_forward(
    x_ptr, y_ptr, w_ptr, b_ptr, mean_ptr, rstd_ptr, stride, cols, eps, BLOCK: tl.constexpr
):
    row = tl.program_id(0)
    x_ptr += row * stride
    y_ptr += row * stride
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + at, mask=at < cols, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / cols
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < cols, other=0.0).to(tl.float32)
        x = tl.where(at < cols, x - mean, 0.0)
        squares += x * x
    rstd = 1 / tl.sqrt(tl.sum(squares, axis=0) / cols + eps)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at < cols
        x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
        w = tl.load(w_ptr + at, mask=inside)
        b = tl.load(b_ptr + at, mask=inside)
        tl.store(y_ptr + at, (x - mean) * rstd * w + b, mask=inside)


@triton_runner.jit
def layer_norm_backward(
    dx_ptr, dy_ptr, dw_ptr, db_ptr, x_ptr, w_ptr, mean_ptr, rstd_ptr, lock_ptr, stride, cols,
    GROUP: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < cols
    x = tl.load(x_ptr + row * stride + at, mask=inside, other=0.0).to(tl.float32)
    dy = tl.load(dy_ptr + row * stride + at, mask=inside, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + at, mask=inside).to(tl.float32)
    rstd = tl.load(rstd_ptr + row)
    xhat = tl.where(inside, (x - tl.load(mean_ptr + row)) * rstd, 0.0)
    wdy = tl.where(inside, w * dy, 0.0)
    c1 = tl.sum(xhat * wdy, axis=0) / cols
    c2 = tl.sum(wdy, axis=0) / cols
    tl.store(dx_ptr + row * stride + at, (wdy - (xhat * c1 + c2)) * rstd, mask=inside)

    # Rows that share a partial sum take turns under its lock; a flag says whether it holds a sum yet.
    mine = row % GROUP
    lock_ptr += mine
    count_ptr = lock_ptr + GROUP
    dw_ptrs = dw_ptr + mine * cols + at
    db_ptrs = db_ptr + mine * cols + at
    dw = (dy * xhat).to(w.dtype)
    db = dy.to(w.dtype)
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    count = tl.load(count_ptr)
    if count == 0:
        tl.atomic_xchg(count_ptr, 1)
    else:
        dw += tl.load(dw_ptrs, mask=inside)
        db += tl.load(db_ptrs, mask=inside)
    tl.store(dw_ptrs, dw, mask=inside)
    tl.store(db_ptrs, db, mask=inside)
    tl.debug_barrier()  # all stores of the program before its lock is released
    tl.atomic_xchg(lock_ptr, 0)


@triton_runner.jit
def layer_norm_weights(
    dw_ptr, db_ptr, total_dw_ptr, total_db_ptr, groups, cols, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr
):
    at = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    dw = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    db = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, groups, BLOCK_M):
        rows = start + tl.arange(0, BLOCK_M)
        inside = (rows[:, None] < groups) & (at[None, :] < cols)
        places = rows[:, None] * cols + at[None, :]
        dw += tl.load(dw_ptr + places, mask=inside, other=0.0)
        db += tl.load(db_ptr + places, mask=inside, other=0.0)
    tl.store(total_dw_ptr + at, tl.sum(dw, axis=0), mask=at < cols)
    tl.store(total_db_ptr + at, tl.sum(db, axis=0), mask=at < cols)


def run(device, **level):
    rows, cols, eps, groups = 151, 600, 1e-5, 16
    block = triton.next_power_of_2(cols)
    x, dy = device.normal(rows, cols), device.normal(rows, cols)
    y, dx = device.zeros(rows, cols), device.zeros(rows, cols)
    w, b, mean, rstd = device.normal(cols), device.normal(cols), device.zeros(rows), device.zeros(rows)
    partial_dw, partial_db = device.zeros(groups, cols), device.zeros(groups, cols)
    dw, db, locks = device.zeros(cols), device.zeros(cols), device.zeros(2 * groups, dtype="int32")
    layer_norm_forward[(rows,)](x, y, w, b, mean, rstd, cols, cols, eps, BLOCK=256, num_warps=4, **level)
    layer_norm_backward[(rows,)](
        dx,
        dy,
        partial_dw,
        partial_db,
        x,
        w,
        mean,
        rstd,
        locks,
        cols,
        cols,
        GROUP=groups,
        BLOCK=block,
        num_warps=4,
        **level,
    )
    layer_norm_weights[(triton.cdiv(cols, 128),)](
        partial_dw, partial_db, dw, db, groups, cols, BLOCK_M=16, BLOCK_N=128, **level
    )

    x, w, b, dy = (device.host(tensor) for tensor in (x, w, b, dy))
    centred = x - x.mean(1, keepdims=True)
    scale = ((centred * centred).mean(1, keepdims=True) + eps) ** -0.5
    xhat, wdy = centred * scale, w * dy
    expected_dx = (wdy - xhat * (xhat * wdy).mean(1, keepdims=True) - wdy.mean(1, keepdims=True)) * scale
    return [
        ("y", y, xhat * w + b, 1e-5),
        ("dx", dx, expected_dx, 1e-5),
        ("dw", dw, (dy * xhat).sum(0), 1e-4),
        ("db", db, dy.sum(0), 1e-4),
    ]
