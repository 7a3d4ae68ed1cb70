"""The PTX of real kernels on the GPU and on the SIMT engine, same text, same inputs: the same bits?

    python tests/gpu/check_ptx.py OUT [--device cuda] [--only part-of-name ...]

Kernels: the benchmark's (Triton compiles them for this GPU) and the golden cases of tests/cases/ptx that mean
the same there. Writes OUT/ptx.json and OUT/ptx.md. Differences are counted, with the largest error: ptxas may
contract a multiplication and an addition that carry no rounding modifier (PTX ISA 9.7.3), which the engine
does as it was seen to (contract.py).
"""

import argparse
import json
import re
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "benchmark"), str(ROOT / "tests")]


def compare(name: str, before: list, gpu: list, cpu: list) -> dict:
    """Each is a list of NumPy arrays of raw bits and their element types; counts what the GPU wrote."""
    entry = {"kernel": name, "written": 0, "different": 0, "largest": 0.0}
    for (b, _), (g, kind), (c, _) in zip(before, gpu, cpu, strict=True):
        entry["written"] += int((b != g).sum())
        wrong = g != c
        entry["different"] += int(wrong.sum())
        if kind and wrong.any():
            a, b = g[wrong].view(kind).astype(np.float64), c[wrong].view(kind).astype(np.float64)
            error = np.abs(a - b)
            entry["largest"] = max(entry["largest"], float(np.nanmax(error)) if error.size else 0.0)
    return entry


def bits_of(tensor):
    import torch

    data = tensor.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes()
    width = tensor.element_size()
    kind = {torch.float32: np.float32, torch.float16: np.float16, torch.float64: np.float64}.get(tensor.dtype)
    return np.frombuffer(data, dtype=f"<u{width}"), kind


def compiled_kernels(device: str, parts: list[str]):
    """(name, PTX, metadata JSON, grid, arguments) of the benchmark's kernels, small enough for the engine."""
    import cases
    import torch
    import triton_runner

    for name, make in cases.cases().items():
        if parts and not any(p in name for p in parts):
            continue
        torch.manual_seed(1)
        case = make()
        with triton_runner.using(device=device, level=None if device == "cuda" else "ptx"):
            args = [a.to(device) if isinstance(a, torch.Tensor) else a for a in case.args]
            compiled = case.kernel[case.grid](*args, **case.meta)
        case.out.zero_()
        metadata = compiled.metadata
        fields = metadata._asdict() if hasattr(metadata, "_asdict") else dict(metadata)
        text = compiled.asm["ptx"]
        yield name, text, json.dumps(fields, default=vars), case.grid, case.args


def run_kernel(text, metadata, grid, args, device):
    import torch
    import triton_runner

    kernel = triton_runner.load(text, metadata=metadata, device=device)
    mine = [a.clone().to(device) if isinstance(a, torch.Tensor) else a for a in args]
    before = [bits_of(a) for a in mine if isinstance(a, torch.Tensor)]
    # Constants and arguments that Triton specialised away are no parameters.
    kernel[grid](*mine[: len(kernel.params)])
    if device == "cuda":
        torch.cuda.synchronize()
    return before, [bits_of(a) for a in mine if isinstance(a, torch.Tensor)]


# Cases that show what a missing wait leaves, or which thread comes first; tensor maps in the CPU's own
# format; instructions of other GPUs; text that a printer gets.
LEFT_OUT = (
    "bad-", "check-", "tensormap-", "tcgen05-", "print", "redux-f32", "cp-async-diverged", "cp-async-groups",
)  # fmt: skip
LEFT_OUT += ("missing-wait", "atom-shared", "param-address")


def golden_cases(parts: list[str]):
    """(name, PTX, grid, arguments as in the header, other fields) of cases that mean the same on a GPU."""
    plain = re.compile(r"[iufx]\d+\[[\d,]+\] (iota|zeros|ones|full)\b|[iuf]\d+ \S+$")
    for path in sorted((ROOT / "tests/cases/ptx").glob("*.ptx")):
        text = path.read_text()
        body = text.split("// ---- expected")[0]
        head = [line[3:].split(": ", 1) for line in body.splitlines() if re.match(r"// [a-z]+: ", line)]
        fields = {key: value for key, value in head if key != "arg"}
        args = [value for key, value in head if key == "arg"]
        threads = re.search(r"\.reqntid (\d+)\s", body)
        whole_warps = threads and int(threads[1]) in (32, 64, 128, 256, 512, 1024)
        if any(word in path.stem for word in LEFT_OUT) or not whole_warps:
            continue
        if (
            set(fields) - {"grid", "shared"}
            or (parts and not any(p in path.stem for p in parts))
            or not all(plain.match(a) for a in args)
        ):
            continue
        yield path.stem, body, tuple(int(n) for n in fields.get("grid", "1").split()), args, fields


def array_of(text: str):
    match = re.match(r"([iufx])(\d+)\[([\d,]+)\] (\w+) ?(.*)$", text)
    if not match:
        kind, value = text.split()
        return float(value) if kind.startswith("f") else int(value)
    kind, width, shape, what, rest = match.groups()
    dtype = np.dtype(f"{'u' if kind == 'x' else kind}{int(width) // 8}")
    n = int(np.prod([int(d) for d in shape.split(",")]))
    numbers = [float(v) for v in rest.split()]
    if what == "zeros":
        return np.zeros(n, dtype)
    if what == "ones":
        return np.ones(n, dtype)
    if what == "full":
        return np.full(n, numbers[0]).astype(dtype)
    start, step = (numbers + [0, 1][len(numbers) :])[:2]
    return (start + step * np.arange(n)).astype(dtype)


def run_golden(text, grid, args, fields, device):
    import torch
    import triton_runner

    metadata = json.dumps({"shared": int(fields["shared"])}) if "shared" in fields else None
    kernel = triton_runner.load(text, metadata=metadata, device=device)
    mine = []
    for arg in args:
        value = array_of(arg)
        if isinstance(value, np.ndarray):
            signed = value.view(value.dtype.str.replace("u", "i"))
            value = torch.from_numpy(signed.copy()).to(device)
        mine.append(value)
    before = [bits_of(a) for a in mine if isinstance(a, torch.Tensor)]
    kernel[grid](*mine)
    if device == "cuda":
        torch.cuda.synchronize()
    return before, [bits_of(a) for a in mine if isinstance(a, torch.Tensor)]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--only", nargs="*", default=[], dest="parts")
    options = parser.parse_args()
    rows, failed = [], []

    def one(name, run, *args):
        try:
            started = time.time()
            before, gpu = run(*args, options.device)
            between = time.time()
            _, cpu = run(*args, "cpu")
            row = compare(name, before, gpu, cpu) | {
                "gpu_s": round(between - started, 3),
                "cpu_s": round(time.time() - between, 3),
            }
            rows.append(row)
            print(row, flush=True)
        except Exception as error:
            failed.append({"kernel": name, "error": f"{type(error).__name__}: {error}"[:500]})
            print("FAILED", failed[-1], flush=True)

    for name, text, metadata, grid, args in compiled_kernels(options.device, options.parts):
        one(name, run_kernel, text, metadata, grid, args)
    for name, text, grid, args, fields in golden_cases(options.parts):
        one(f"case {name}", run_golden, text, grid, args, fields)
    out = Path(options.out)
    (out / "ptx.json").write_text(json.dumps({"rows": rows, "failed": failed}, indent=1))
    lines = ["| kernel | elements written | different bits | largest error |", "|---|---|---|---|"]
    lines += [f"| {r['kernel']} | {r['written']:,} | {r['different']:,} | {r['largest']:.3g} |" for r in rows]
    (out / "ptx.md").write_text("\n".join(lines) + "\n")
    same = sum(not r["different"] for r in rows)
    print(f"{len(rows)} kernels ran on both, {same} with the same bits; {len(failed)} did not run")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
