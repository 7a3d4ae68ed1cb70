"""The cases of doc/solving_triton_issues on a GPU of sm_90: what an old and a new release compile, run from
the artifacts, which are the fix where a release cannot be changed.

    python tests/gpu/solved_issues.py make FOLDER    with the releases, without a GPU
    python tests/gpu/solved_issues.py run FOLDER     on the GPU, with one release of any number

run loads each PTX and cubin as ptx_dir= and cubin_dir= do, compares what it leaves with NumPy, and times it.
The exit status is 1 where a release that should be right is wrong, or the other way round.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

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


def backward():
    """Gradients of attention, one program over 128 queries and keys of 64, as NumPy has them in f64."""
    random = np.random.default_rng(0)
    q, k, v, dout = (random.normal(size=(128, 64)).astype(F16) for _ in range(4))
    score = 0.125 * q.astype(np.float64) @ k.astype(np.float64).T
    lse = np.log(np.exp(score).sum(1)).astype(np.float32)
    weight = np.exp(score - lse[:, None])
    out = weight @ v.astype(np.float64)
    delta = (dout * out).sum(1).astype(np.float32)
    dscore = weight * (dout.astype(np.float64) @ v.astype(np.float64).T - delta[:, None]) * 0.125
    want = {4: dscore @ k, 5: dscore.T @ q, 6: weight.T @ dout}
    given = [np.zeros((128, 64), np.float32), np.zeros((128, 64), F16), np.zeros((128, 64), F16)]
    return [q, k, v, dout, *given, lse, delta, 128, 0.125], want


def in_three_parts():
    """bf16 as its bits, which NumPy has no type for."""
    random = np.random.default_rng(0)
    bits = [random.normal(size=(16, 64)).astype(np.float32).view(np.uint32) >> 16 for _ in range(2)]
    x, w = ((b << 16).view(np.float32).astype(np.float64) for b in bits)
    return [*(b.astype(np.uint16) for b in bits), np.zeros((16, 16), np.float32), 64], {2: x @ w.T}


class Case(NamedTuple):
    """A kernel of one of the pages, and which releases' code is right by its results."""

    file: str
    kernel: str
    signature: str
    constants: dict
    data: Callable  # () -> arguments, {index: what is expected there}
    releases: dict[str, bool]
    options: dict | None = None
    grid: tuple = (1,)
    target: str = "cuda:90"
    tolerance: float = 0.0  # of the largest value that is expected; 0: bit for bit

    @property
    def levels(self) -> tuple[str, ...]:
        """A cubin runs on its own architecture, PTX on later ones too."""
        return ("ptx", "cubin") if self.target == "cuda:90" else ("ptx",)

    def is_right(self, got: np.ndarray, want: np.ndarray) -> bool:
        if self.tolerance:
            return bool(np.abs(got - want).max() <= self.tolerance * np.abs(want).max())
        return np.array_equal(got.view(f"u{got.itemsize}"), want.view(f"u{want.itemsize}"))


F32, F16S = "*fp32:16", "*fp16:16"
CASES = [
    Case("issue_10574", "outer", f"{F32}, {F32}, {F32}", {"N": 32}, outer, {"3.7.1": False, "3.8.0": True}),
    Case("issue_11426", "fill", F32, {"N": 16}, fill, {"3.8.0": False, "3.9.0": True}),
    Case(
        "issue_11836", "running", f"{F32}, {F32}, {F32}", {"ROWS": 16, "COLUMNS": 256, "STEPS": 3}, running,
        {"3.8.0": False, "3.9.0": True},
    ),
    Case("issue_7749", "quotient", "*i32:16", {"N": 64}, quotient, {"3.9.0": False}, {"num_warps": 1}),
    Case(
        "issue_reverse_scan", "sums_from_the_end", f"{F32}, {F32}", {"M": 2, "N": 2}, sums_from_the_end,
        {"3.2.0": False, "3.3.1": True},
    ),
    Case(
        "issue_7096", "product", f"{F16S}, {F16S}, {F16S}, i32:16, i32:16, i32:16",
        {"M": 64, "N": 128, "K": 64, "GROUP": 8}, product, {"3.2.0": True, "3.7.1": True, "3.8.0": True},
        {"num_stages": 4}, (32,),
    ),
    # These need more shared memory in a release, not other results: as sm_89 has it, where it matters.
    Case(
        "issue_7268", "backward",
        f"{F16S}, {F16S}, {F16S}, {F16S}, {F32}, {F16S}, {F16S}, {F32}, {F32}, i32:16, fp32",
        {"M": 128, "N": 128, "D": 64}, backward, {"3.2.0": True, "3.3.1": True},
        {"num_stages": 1, "num_warps": 8}, target="cuda:89", tolerance=2e-3,
    ),
    Case(
        "issue_11526", "product", f"*bf16:16, *bf16:16, {F32}, i32:16", {"M": 16, "N": 16, "K": 16},
        in_three_parts, {"3.7.1": True, "3.8.0": True, "3.9.0": True}, {"num_stages": 2, "num_warps": 1},
        target="cuda:89", tolerance=1e-6,
    ),
]  # fmt: skip


def make(folder: Path) -> int:
    for case in CASES:
        for release in case.releases:
            place = folder / case.file / release
            if place.is_dir():
                continue
            place.mkdir(parents=True)
            made = triton_runner.compile(
                f"{PAGES / case.file}.py:{case.kernel}", case.signature, case.constants, target=case.target,
                to="cubin", triton=release, options=case.options or {}, isolate=True,
            )  # fmt: skip
            made.save(place)
            print(
                f"{case.file} {release}: {', '.join(sorted(path.name for path in place.iterdir()))}",
                flush=True,
            )
    return 0


def run(folder: Path) -> int:
    import torch
    from triton_runner import testing

    failed = 0
    print("| case | Triton | level | values | expected | shared memory | microseconds |")
    print("|---|---|---|---|---|---|---|")
    for case, release, level in ((c, r, level) for c in CASES for r in c.releases for level in c.levels):
        given, want = case.data()
        values = [torch.from_numpy(v).cuda() if isinstance(v, np.ndarray) else v for v in given]
        place = folder / case.file / release
        loaded = triton_runner.load(str(place / f"{case.kernel}.{level}"), device="cuda")
        loaded[case.grid](*values)
        right = all(case.is_right(values[i].cpu().numpy(), expected) for i, expected in want.items())
        expected = case.releases[release]
        time = testing.do_bench(lambda k=loaded, g=case.grid, v=values: k[g](*v), return_mode="median")
        shared = json.loads((place / f"{case.kernel}.json").read_text())["shared"]
        failed += right != expected
        words = ["right" if ok else "wrong" for ok in (right, expected)]
        print(
            f"| {case.file} | {release} | {level} | {' | '.join(words)} | {shared} | {1e3 * time:.1f} |",
            flush=True,
        )
    return failed > 0


if __name__ == "__main__":
    sys.exit({"make": make, "run": run}[sys.argv[1]](Path(sys.argv[2])))
