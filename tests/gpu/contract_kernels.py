"""Norms, losses and recurrences, whose sums and quotients ptxas contracts: the bytes of a GPU and the engine.

    contract_kernels.py gpu OUT      compiles the kernels with the Triton there and runs them: OUT/kernels.npz
                                     has each one's PTX, metadata, arguments and results
    contract_kernels.py compare OUT  the engine against it, with and without contraction

Needs Triton and torch on the GPU's side only.
"""

import json
import sys
from pathlib import Path

import numpy as np

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

if triton is not None:

    @triton.jit
    def rms_norm(x, w, y, rstd, N, eps, B: tl.constexpr):
        row = tl.program_id(0)
        c = tl.arange(0, B)
        v = tl.load(x + row * N + c, c < N, 0.0).to(tl.float32)
        r = 1 / tl.sqrt(tl.sum(v * v) / N + eps)
        tl.store(rstd + row, r)
        tl.store(y + row * N + c, v * r * tl.load(w + c, c < N, 0.0), c < N)

    @triton.jit
    def rms_norm_fixed(x, w, y, rstd, eps, N: tl.constexpr, B: tl.constexpr):
        row = tl.program_id(0)
        total = tl.zeros([B], tl.float32)
        for at in range(0, N, B):
            c = at + tl.arange(0, B)
            v = tl.load(x + row * N + c, c < N, 0.0).to(tl.float32)
            total += v * v
        r = tl.rsqrt(tl.sum(total) / N + eps)
        tl.store(rstd + row, r)
        for at in range(0, N, B):
            c = at + tl.arange(0, B)
            v = tl.load(x + row * N + c, c < N, 0.0).to(tl.float32)
            tl.store(y + row * N + c, v * r * (1.0 + tl.load(w + c, c < N, 0.0)), c < N)

    @triton.jit
    def rms_norm_backward(x, w, dy, rstd, dx, N, B: tl.constexpr):
        row = tl.program_id(0)
        c = tl.arange(0, B)
        v = tl.load(x + row * N + c, c < N, 0.0).to(tl.float32)
        g = tl.load(dy + row * N + c, c < N, 0.0).to(tl.float32) * tl.load(w + c, c < N, 0.0)
        r = tl.load(rstd + row)
        d = r * g - (r * r * r / N) * tl.sum(g * v) * v
        tl.store(dx + row * N + c, d, c < N)

    @triton.jit
    def centred_row(x, N: tl.constexpr, B: tl.constexpr):
        row = tl.program_id(0)
        c = tl.arange(0, B)
        v = tl.load(x + row * N + c, c < N, 0.0).to(tl.float32)
        return row, c, tl.where(c < N, v - tl.sum(v) / N, 0.0)

    @triton.jit
    def layer_norm(x, w, b, y, eps, N: tl.constexpr, B: tl.constexpr):
        row, c, d = centred_row(x, N, B)
        r = tl.rsqrt(tl.sum(d * d) / N + eps)
        out = d * r * tl.load(w + c, c < N, 0.0) + tl.load(b + c, c < N, 0.0)
        tl.store(y + row * N + c, out, c < N)

    @triton.jit
    def layer_norm_backward(x, w, dy, dx, eps, N: tl.constexpr, B: tl.constexpr):
        row, c, d = centred_row(x, N, B)
        r = 1 / tl.sqrt(tl.sum(d * d) / N + eps)
        g = tl.load(dy + row * N + c, c < N, 0.0).to(tl.float32) * tl.load(w + c, c < N, 0.0)
        h = d * r
        c1, c2 = tl.sum(h * g) / N, tl.sum(g) / N
        tl.store(dx + row * N + c, (g - (h * c1 + c2)) * r, c < N)

    @triton.jit
    def cross_entropy(x, label, loss, lse, N, smoothing, B: tl.constexpr):
        row = tl.program_id(0)
        m = float("-inf")
        total = 0.0
        smooth = 0.0
        y = tl.load(label + row)
        xy = tl.load(x + row * N + y).to(tl.float32)
        for at in range(0, N, B):
            c = at + tl.arange(0, B)
            v = tl.load(x + row * N + c, c < N, float("-inf")).to(tl.float32)
            top = tl.maximum(m, tl.max(v))
            smooth += tl.sum(tl.where(c < N, -(smoothing / N) * v, 0.0))
            total = total * tl.exp(m - top) + tl.sum(tl.exp(v - top))
            m = top
        z = m + tl.log(total)
        out = z - xy
        tl.store(loss + row, out * (1 - smoothing) + (smooth + smoothing * z) + 1e-4 * z * z)
        tl.store(lse + row, z)

    @triton.jit
    def cross_entropy_backward(x, label, lse, dx, N, smoothing, scale, B: tl.constexpr):
        row = tl.program_id(0)
        y = tl.load(label + row)
        z = tl.load(lse + row)
        for at in range(0, N, B):
            c = at + tl.arange(0, B)
            v = tl.load(x + row * N + c, c < N, 0.0).to(tl.float32)
            p = tl.exp(v - z)
            d = p + 2 * 1e-4 * z * p - smoothing / N - tl.where(c == y, 1 - smoothing, 0.0)
            tl.store(dx + row * N + c, d * scale / N, c < N)

    @triton.jit
    def recurrence(q, k, v, g, o, T, scale, D: tl.constexpr):
        b = tl.program_id(0)
        r, c = tl.arange(0, D), tl.arange(0, D)
        h = tl.zeros([D, D], tl.float32)
        for t in range(T):
            at = (b * T + t) * D
            kt, vt = tl.load(k + at + r), tl.load(v + at + c)
            gt = tl.exp(tl.load(g + at + r))
            h = h * gt[:, None] + kt[:, None] * vt[None, :]
            qt = tl.load(q + at + r) * scale
            tl.store(o + at + c, tl.sum(h * qt[:, None], 0))

    @triton.jit
    def recurrence_backward(q, k, v, g, do, dq, dk, dv, dg, T, scale, D: tl.constexpr):
        b = tl.program_id(0)
        r, c = tl.arange(0, D), tl.arange(0, D)
        h = tl.zeros([D, D], tl.float32)
        for t in range(T):
            at = (b * T + t) * D
            kt, vt = tl.load(k + at + r), tl.load(v + at + c)
            h = h * tl.exp(tl.load(g + at + r))[:, None] + kt[:, None] * vt[None, :]
            dot = tl.load(do + at + c)
            tl.store(dq + at + r, tl.sum(h * dot[None, :], 1) * scale)
        dh = tl.zeros([D, D], tl.float32)
        last = tl.zeros([D], tl.float32)
        for i in range(T):
            at = (b * T + T - 1 - i) * D
            qt, dot = tl.load(q + at + r) * scale, tl.load(do + at + c)
            kt, vt = tl.load(k + at + r), tl.load(v + at + c)
            dh += qt[:, None] * dot[None, :]
            dkt = tl.sum(dh * vt[None, :], 1)
            tl.store(dk + at + r, dkt)
            tl.store(dv + at + c, tl.sum(dh * kt[:, None], 0))
            last += tl.load(dq + at + r) * tl.load(q + at + r) - dkt * kt
            tl.store(dg + at + r, last)
            dh *= tl.exp(tl.load(g + at + r))[:, None]

    @triton.jit
    def lstm_backward(gates, cs, dh, dgates, T, H: tl.constexpr):
        b = tl.program_id(0)
        c = tl.arange(0, H)
        dc = tl.zeros([H], tl.float32)
        for s in range(T):
            t = T - 1 - s
            at = (b * T + t) * 4 * H
            i = tl.sigmoid(tl.load(gates + at + c))
            f = tl.sigmoid(tl.load(gates + at + H + c))
            o = tl.sigmoid(tl.load(gates + at + 2 * H + c))
            u = 2 * tl.sigmoid(2 * tl.load(gates + at + 3 * H + c)) - 1
            ct = tl.load(cs + (b * T + t) * H + c)
            before = tl.load(cs + (b * T + t - 1) * H + c, (c < H) & (t > 0), 0.0)
            th = 2 * tl.sigmoid(2 * ct) - 1
            d = tl.load(dh + (b * T + t) * H + c)
            dc += d * o * (1 - th * th)
            tl.store(dgates + at + c, dc * u * i * (1 - i))
            tl.store(dgates + at + H + c, dc * before * f * (1 - f))
            tl.store(dgates + at + 2 * H + c, d * th * o * (1 - o))
            tl.store(dgates + at + 3 * H + c, dc * i * (1 - u * u))
            dc = dc * f

    @triton.jit
    def wkv_backward(w, u, k, v, gy, gw, gk, gv, T, C, B: tl.constexpr):
        c = tl.program_id(0) * B + tl.arange(0, B)
        ok = c < C
        wt, ut = tl.load(w + c, ok, 0.0), tl.load(u + c, ok, 0.0)
        p = tl.zeros([B], tl.float32)
        q = tl.zeros([B], tl.float32)
        o = tl.full([B], -1e38, tl.float32)
        total = tl.zeros([B], tl.float32)
        for t in range(T):
            kt, vt = tl.load(k + t * C + c, ok, 0.0), tl.load(v + t * C + c, ok, 0.0)
            no = tl.maximum(o, ut + kt)
            a, b = tl.exp(o - no), tl.exp(ut + kt - no)
            num, den = a * p + b * vt, a * q + b
            iq = 1.0 / den
            gt = tl.load(gy + t * C + c, ok, 0.0)
            tl.store(gk + t * C + c, gt * iq * b * (vt - num * iq), ok)
            tl.store(gv + t * C + c, gt * iq * b, ok)
            total += gt * (num * iq - vt) * iq
            no = tl.maximum(wt + o, kt)
            a, b = tl.exp(wt + o - no), tl.exp(kt - no)
            p, q, o = a * p + b * vt, a * q + b, no
        tl.store(gw + c, total * wt, ok)

    @triton.jit
    def swiglu_backward(a, b, dy, da, db, N, B: tl.constexpr):
        c = tl.program_id(0) * B + tl.arange(0, B)
        ok = c < N
        x, y, d = tl.load(a + c, ok, 0.0), tl.load(b + c, ok, 0.0), tl.load(dy + c, ok, 0.0)
        s = tl.sigmoid(x)
        tl.store(db + c, d * x * s, ok)
        tl.store(da + c, d * (x * s * (1 - s) + s) * y, ok)

    @triton.jit
    def adamw(p, g, m, v, lr, b1, b2, eps, decay, step1, step2, N, B: tl.constexpr):
        c = tl.program_id(0) * B + tl.arange(0, B)
        ok = c < N
        x, d = tl.load(p + c, ok, 0.0), tl.load(g + c, ok, 0.0)
        mm = b1 * tl.load(m + c, ok, 0.0) + (1 - b1) * d
        vv = b2 * tl.load(v + c, ok, 0.0) + (1 - b2) * d * d
        x -= lr * decay * x
        x -= lr * (mm / step1) / (tl.sqrt(vv / step2) + eps)
        tl.store(p + c, x, ok), tl.store(m + c, mm, ok), tl.store(v + c, vv, ok)

    @triton.jit
    def rope(q, cos, sin, o, D: tl.constexpr):
        row = tl.program_id(0)
        c = tl.arange(0, D)
        a, b = tl.load(q + row * 2 * D + c), tl.load(q + row * 2 * D + D + c)
        x, y = tl.load(cos + row * D + c), tl.load(sin + row * D + c)
        tl.store(o + row * 2 * D + c, a * x - b * y)
        tl.store(o + row * 2 * D + D + c, b * x + a * y)

    @triton.jit
    def scaled_rows(x, w, y, scale, N, B: tl.constexpr):
        row = tl.program_id(0)
        last = tl.zeros([B], tl.float32)
        for at in range(0, N, B):
            c = at + tl.arange(0, B)
            v = tl.load(x + row * N + c, c < N, 0.0)
            s, t = v * scale, v * 0.1
            tl.store(y + row * N + c, s + last, c < N)
            g = tl.load(w + c, c < N, 0.0)
            last = s + g * 0.3 + t / 3
            tl.debug_barrier()
        tl.store(w + row * B + N + tl.arange(0, B), last)

    @triton.jit
    def softmax_grad(p, dp, d, ds, N, scale, B: tl.constexpr):
        row = tl.program_id(0)
        c = tl.arange(0, B)
        x = tl.load(p + row * N + c, c < N, 0.0)
        g = tl.load(dp + row * N + c, c < N, 0.0) * scale
        mean = tl.sum(x * g) / N
        tl.store(d + row, mean * 0.7 + tl.sum(x) / 3)
        tl.store(ds + row * N + c, x * (g - mean) + mean / 7, c < N)

    @triton.jit
    def welford(x, mean, var, N, B: tl.constexpr):
        row = tl.program_id(0)
        n = tl.zeros([B], tl.float32)
        mu = tl.zeros([B], tl.float32)
        m2 = tl.zeros([B], tl.float32)
        for at in range(0, N, B):
            c = at + tl.arange(0, B)
            ok = c < N
            v = tl.load(x + row * N + c, ok, 0.0).to(tl.float32)
            n = tl.where(ok, n + 1, n)
            d = v - mu
            mu = tl.where(ok, mu + d / n, mu)
            m2 = tl.where(ok, m2 + d * (v - mu), m2)
        count = tl.sum(n)
        all_mean = tl.sum(mu * n) / count
        tl.store(mean + row, all_mean)
        tl.store(var + row, tl.sum(m2 + n * (mu - all_mean) * (mu - all_mean)) / count)


def launches():
    """(name, kernel, grid, arguments, constexprs)"""
    import torch

    rng = np.random.default_rng(3)

    def r(*shape, dtype=torch.float32):
        return torch.from_numpy(rng.standard_normal(shape, np.float32)).to(dtype)

    def z(*shape, dtype=torch.float32):
        return torch.zeros(*shape, dtype=dtype)

    def labels(n, top):
        return torch.from_numpy(rng.integers(0, top, n))

    for dtype in (torch.float32, torch.bfloat16):
        tag = "" if dtype == torch.float32 else "_bf16"
        yield (
            "rms_norm" + tag,
            rms_norm,
            (370,),
            [r(370, 401, dtype=dtype), r(401), z(370, 401, dtype=dtype), z(370), 401, 1e-6],
            {"B": 512},
        )
        yield (
            "rms_norm_fixed" + tag,
            rms_norm_fixed,
            (240,),
            [r(240, 781, dtype=dtype), r(781), z(240, 781, dtype=dtype), z(240), 1e-5],
            {"N": 781, "B": 256},
        )
        yield (
            "layer_norm" + tag,
            layer_norm,
            (240,),
            [r(240, 600, dtype=dtype), r(600), r(600), z(240, 600, dtype=dtype), 1e-5],
            {"N": 600, "B": 1024},
        )
    yield (
        "rms_norm_backward",
        rms_norm_backward,
        (240,),
        [r(240, 401), r(401), r(240, 401), r(240).abs(), z(240, 401), 401],
        {"B": 512},
    )
    yield (
        "layer_norm_backward",
        layer_norm_backward,
        (240,),
        [r(240, 600), r(600), r(240, 600), z(240, 600), 1e-5],
        {"N": 600, "B": 1024},
    )
    yield (
        "cross_entropy",
        cross_entropy,
        (330,),
        [r(330, 1500) * 3, labels(330, 1500), z(330), z(330), 1500, 0.1],
        {"B": 512},
    )
    yield (
        "cross_entropy_backward",
        cross_entropy_backward,
        (170,),
        [r(170, 1500) * 3, labels(170, 1500), r(170) + 8, z(170, 1500), 1500, 0.1, 0.7],
        {"B": 512},
    )
    yield (
        "recurrence",
        recurrence,
        (3,),
        [r(3, 20, 32), r(3, 20, 32), r(3, 20, 32), -r(3, 20, 32).abs(), z(3, 20, 32), 20, 0.17],
        {"D": 32},
    )
    yield (
        "recurrence_backward",
        recurrence_backward,
        (3,),
        [r(3, 20, 32), r(3, 20, 32), r(3, 20, 32), -r(3, 20, 32).abs(), r(3, 20, 32)]
        + [z(3, 20, 32) for _ in range(4)]
        + [20, 0.17],
        {"D": 32},
    )
    yield (
        "lstm_backward",
        lstm_backward,
        (5,),
        [r(5, 12, 256), r(5, 12, 64), r(5, 12, 64), z(5, 12, 256), 12],
        {"H": 64},
    )
    yield (
        "wkv_backward",
        wkv_backward,
        (3,),
        [-r(300).abs(), r(300), r(16, 300), r(16, 300), r(16, 300), z(300), z(16, 300), z(16, 300), 16, 300],
        {"B": 128},
    )
    yield (
        "swiglu_backward",
        swiglu_backward,
        (4,),
        [r(2000), r(2000), r(2000), z(2000), z(2000), 2000],
        {"B": 512},
    )
    yield (
        "adamw",
        adamw,
        (4,),
        [r(2000), r(2000), r(2000), r(2000).abs(), 1e-3, 0.9, 0.999, 1e-8, 0.01, 0.19, 0.002, 2000],
        {"B": 512},
    )
    yield "rope", rope, (20,), [r(20, 128), r(20, 64), r(20, 64), z(20, 128)], {"D": 64}
    yield (
        "scaled_rows",
        scaled_rows,
        (20,),
        [r(20, 900), r(900 + 20 * 256), z(20, 900), 0.37, 900],
        {"B": 256},
    )
    yield (
        "softmax_grad",
        softmax_grad,
        (200,),
        [r(200, 300), r(200, 300), z(200), z(200, 300), 300, 0.3],
        {"B": 512},
    )
    yield "welford", welford, (9,), [r(9, 1000), z(9), z(9), 1000], {"B": 256}


def raw(tensor) -> np.ndarray:
    import torch

    return tensor.detach().cpu().contiguous().view(torch.uint8).numpy().reshape(-1).copy()


def run_gpu(folder: Path) -> None:
    import torch

    saved = {}
    for name, kernel, grid, args, meta in launches():
        before = [raw(a) if isinstance(a, torch.Tensor) else a for a in args]
        mine = [a.cuda() if isinstance(a, torch.Tensor) else a for a in args]
        compiled = kernel[grid](*mine, **meta)
        torch.cuda.synchronize()
        fields = compiled.metadata._asdict()
        saved[f"{name}.ptx"] = np.frombuffer(compiled.asm["ptx"].encode(), np.uint8)
        scalars = [None if isinstance(a, np.ndarray) else a for a in before]
        info = {"grid": grid, "scalars": scalars, "types": [str(getattr(a, "dtype", "")) for a in args]}
        info["metadata"] = json.loads(json.dumps(fields, default=vars))
        saved[f"{name}.json"] = np.frombuffer(json.dumps(info).encode(), np.uint8)
        for i, (a, b) in enumerate(zip(mine, before, strict=True)):
            if isinstance(b, np.ndarray):
                saved[f"{name}.{i}.out"] = raw(a)
        print(name, flush=True)
    np.savez_compressed(folder / "kernels.npz", **saved)


def run_engine(text: str, info: dict, arrays: dict, contract: bool):
    import triton_runner

    metadata = {**info["metadata"], "enable_fp_fusion": contract}
    kernel = triton_runner.load(text, metadata=json.dumps(metadata), device="cpu")
    args = [arrays[i].copy() if i in arrays else s for i, s in enumerate(info["scalars"])]
    kernel[tuple(info["grid"])](*args[: len(kernel.params)])
    return args


def difference(got: np.ndarray, want: np.ndarray, dtype: str) -> str:
    kind = {"torch.float32": np.float32, "torch.int64": np.int64}.get(dtype)
    if kind is None:
        a, b = ((x.view(np.uint16).astype(np.uint32) << 16).view(np.float32) for x in (got, want))
    else:
        a, b = got.view(kind), want.view(kind)
    wrong = a.view(np.uint32) != b.view(np.uint32)
    largest = np.abs(a[wrong] - b[wrong]).max() if wrong.any() else 0
    return f"{int(wrong.sum())} of {a.size} (to {largest:.1e})"


def compare(folder: Path) -> int:
    import torch

    saved = np.load(folder / "kernels.npz")
    failures = 0
    for name, _, _, given, _ in launches():
        info = json.loads(bytes(saved[f"{name}.json"]))
        arrays = {i: raw(a) for i, a in enumerate(given) if isinstance(a, torch.Tensor)}
        row = []
        for contract in (True, False):
            args = run_engine(bytes(saved[f"{name}.ptx"]).decode(), info, arrays, contract)
            parts = [
                difference(args[i], saved[f"{name}.{i}.out"], info["types"][i])
                for i in arrays
                if not np.array_equal(args[i], saved[f"{name}.{i}.out"])
            ]
            row.append("the same bits" if not parts else ", ".join(parts))
            failures += contract and bool(parts)
        print(f"{name:24} {row[0]:40} not contracted: {row[1]}")
    return failures


if __name__ == "__main__":
    verb, where = sys.argv[1:]
    if verb == "gpu":
        run_gpu(Path(where))
    else:
        sys.exit(1 if compare(Path(where)) else 0)
