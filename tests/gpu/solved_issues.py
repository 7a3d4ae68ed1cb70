"""The cases of doc/solving_triton_issues on a GPU of sm_90: what an old and a new release compile, run from
the artifacts, which are the fix where a release cannot be changed.

    python tests/gpu/solved_issues.py make FOLDER    with the releases, without a GPU
    python tests/gpu/solved_issues.py run FOLDER     on the GPU, with one release of any number

run loads each PTX and cubin as ptx_dir= and cubin_dir= do, compares what it leaves with NumPy, and times it.
The exit status is 1 where a release that should be right is wrong, or the other way round.
"""

import sys
from pathlib import Path

import numpy as np
import triton_runner

PAGES = Path(__file__).resolve().parents[2] / "doc" / "solving_triton_issues"
F16 = np.float16


def whole(*shape, dtype=np.float32):
    return np.random.default_rng(0).integers(-2, 3, shape).astype(dtype)


def outer():
    x, y = whole(32, 32), whole(32, 32)
    return [x, y, np.zeros((32, 32), np.float32)], {2: (x[:, :, None] * y[None, :, :]).sum(0)}


def fill():
    return [np.ones(16, np.float32)], {0: np.full(16, -0.0, np.float32)}


def running():
    seen, last = np.zeros((3, 16), np.float32), np.zeros(16, np.float32)
    want = np.repeat(np.arange(3, dtype=np.float32)[:, None] * 256, 16, 1)
    return [np.ones((3, 16, 256), np.float32), seen, last], {1: want, 2: np.full(16, 768, np.float32)}


def quotient():
    return [np.zeros(64, np.int32)], {0: np.trunc((np.arange(64) - 40) / 16).astype(np.int32)}


def sums_from_the_end():
    values = np.arange(4, dtype=np.float32).reshape(2, 2)
    return [values, np.zeros((2, 2), np.float32)], {1: np.flip(np.cumsum(np.flip(values, 0), 0), 0)}


def product():
    a, b = whole(512, 512, dtype=F16), whole(512, 512, dtype=F16)
    c = np.zeros((512, 512), F16)
    return [a, b, c, 512, 512, 512], {2: (a.astype(np.float32) @ b.astype(np.float32)).astype(F16)}


# file, kernel, signature, constants, options, grid, arguments and what is expected, (release: right or not)
CASES = [
    ("issue_10574", "outer", "*fp32:16, *fp32:16, *fp32:16", {"N": 32}, {}, (1,), outer,
     {"3.7.1": False, "3.8.0": True}),
    ("issue_11426", "fill", "*fp32:16", {"N": 16}, {}, (1,), fill, {"3.8.0": False, "3.9.0": True}),
    ("issue_11836", "running", "*fp32:16, *fp32:16, *fp32:16", {"ROWS": 16, "COLUMNS": 256, "STEPS": 3}, {},
     (1,), running, {"3.8.0": False, "3.9.0": True}),
    ("issue_7749", "quotient", "*i32:16", {"N": 64}, {"num_warps": 1}, (1,), quotient, {"3.9.0": False}),
    ("issue_reverse_scan", "sums_from_the_end", "*fp32:16, *fp32:16", {"M": 2, "N": 2}, {}, (1,),
     sums_from_the_end, {"3.2.0": False, "3.3.1": True}),
    ("issue_7096", "product", "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16",
     {"M": 64, "N": 128, "K": 64, "GROUP": 8}, {"num_stages": 4}, (32,), product,
     {"3.2.0": True, "3.7.1": True, "3.8.0": True}),
]  # fmt: skip


def make(folder: Path) -> int:
    for file, kernel, signature, constants, options, *_, releases in CASES:
        for release in releases:
            place = folder / file / release
            place.mkdir(parents=True, exist_ok=True)
            made = triton_runner.compile(
                f"{PAGES / file}.py:{kernel}", signature, constants, target="cuda:90", to="cubin",
                triton=release, options=options, isolate=True,
            )  # fmt: skip
            made.save(place)
            print(f"{file} {release}: {', '.join(sorted(path.name for path in place.iterdir()))}", flush=True)
    return 0


def run(folder: Path) -> int:
    import torch
    from triton_runner import testing

    failed = 0
    print("| case | Triton | level | values | expected | microseconds |\n|---|---|---|---|---|---|")
    for file, kernel, _, _, _, grid, data, releases in CASES:
        for release, is_right in releases.items():
            for level in ("ptx", "cubin"):
                given, want = data()
                values = [torch.from_numpy(v).cuda() if isinstance(v, np.ndarray) else v for v in given]
                loaded = triton_runner.load(str(folder / file / release / f"{kernel}.{level}"), device="cuda")
                loaded[grid](*values)
                bits = f"u{next(iter(want.values())).itemsize}"
                same = all(
                    np.array_equal(values[i].cpu().numpy().view(bits), expected.view(bits))
                    for i, expected in want.items()
                )
                time = testing.do_bench(lambda k=loaded, g=grid, v=values: k[g](*v), return_mode="median")
                failed += same != is_right
                words = ["right" if ok else "wrong" for ok in (same, is_right)]
                print(
                    f"| {file} | {release} | {level} | {' | '.join(words)} | {1e3 * time:.1f} |", flush=True
                )
    return failed > 0


if __name__ == "__main__":
    sys.exit({"make": make, "run": run}[sys.argv[1]](Path(sys.argv[2])))
