"""The golden cases on this machine's GPU: what Triton's own compiler makes of each is compared with the
oracle, bit for bit.

    python tests/gpu/run_golden.py OUT [--jobs N] [--device cpu] [part-of-name ...]

A case is compiled from its TTIR (or TTGIR) by the installed Triton through triton_runner.load(...,
device="cuda"). OUT/golden.json has an entry a case, OUT/golden.md a summary.
Arrays of a float type count NaNs as equal, arrays of hex bits do not; math functions are measured in ulp.
Cases that end in a trap or print are left out. Each worker is a process of its own: a compiler that dies
takes one case along.
"""

import argparse
import concurrent.futures
import json
import math
import re
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve()
sys.path.insert(0, str(HERE.parents[1]))

from golden import make  # noqa: E402
from golden.casefile import Array, Scalar, literal, width_of  # noqa: E402
from golden.formats import FLOATS  # noqa: E402
from suite.results import markdown  # noqa: E402
from suite.run import Case, execute  # noqa: E402

MARK = "@golden "  # before a worker's own lines: compilers print to the same stream
CAPABILITY = {"cuda:80": 80, "cuda:90": 90}


def runnable(case) -> bool:
    """Not: traps, prints, host descriptors, modules for another target."""
    if "expected" in vars(case) or case.output is not None:
        return False
    if any(isinstance(a, Array) and a.descriptor for a in case.args):
        return False
    return "ttg.target" not in case.body or any(f'"{target}"' in case.body for target in CAPABILITY)


TORCH = {
    "i1": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "f16": "float16",
    "bf16": "bfloat16", "f32": "float32", "f64": "float64", "f8E4M3FN": "float8_e4m3fn",
    "f8E5M2": "float8_e5m2", "f8E4M3FNUZ": "float8_e4m3fnuz", "f8E5M2FNUZ": "float8_e5m2fnuz",
}  # fmt: skip


def elements(case) -> list[str]:
    """Returns what each parameter of the kernel points to; "" of scalars."""
    head = re.search(r"tt\.func public @\w+\((.*)\) (?:attributes )?\{", case.body)[1]
    return [(re.match(r"!tt\.ptr<([^<>]+)>", p) or ["", ""])[1] for p in re.findall(r"%\w+: ([^%]*)", head)]


def to_tensor(array: Array, element: str, device: str):
    """The array's codes under the parameter's own element type, where torch has it."""
    import torch

    size = width_of(array.element) // 8
    data = b"".join(code.to_bytes(size, "little") for code in (array.before or [0] * array.size))
    tensor = torch.frombuffer(bytearray(data), dtype=torch.uint8).to(device)
    return tensor.view(getattr(torch, TORCH[element])) if element in TORCH else tensor


def from_tensor(tensor, array: Array) -> list[int]:
    size = width_of(array.element) // 8
    import torch

    data = tensor.view(torch.uint8).cpu().numpy().tobytes()
    return [int.from_bytes(data[i : i + size], "little") for i in range(0, len(data), size)]


def scalar(text: str):
    kind, number = text.split()
    return float(number) if kind.startswith("f") else bool(int(number)) if kind == "i1" else int(number)


def ulp_error(got: int, wanted: int, form) -> float:
    """In steps of the format at the wanted value; 0 where both are NaN or the same infinity."""
    if form.is_nan(got) and form.is_nan(wanted):
        return 0.0
    if form.is_nan(got) or form.is_nan(wanted):
        return math.inf

    def place(code):
        return -(code - form.sign_bit) if code >= form.sign_bit else code

    return float(abs(place(got) - place(wanted)))


def compare(array: Array, got: list[int], out: dict, index: int) -> None:
    """Adds to out: compared, wrong (first ones by element), nan_bits, ulp."""
    exact = getattr(array, "exact", None)
    wanted = exact or array.after or array.before or [0] * array.size
    form = FLOATS.get(array.element)
    out["compared"] += array.size
    for i, (g, w) in enumerate(zip(got, wanted, strict=True)):
        if g == w:
            continue
        if exact is not None:
            error = ulp_error(g, w, form)
            out["ulp"][form.name] = max(out["ulp"].get(form.name, 0.0), error)
            if math.isfinite(error) and error <= 4096:
                continue
        elif form and form.is_nan(g) and form.is_nan(w):
            continue
        out["wrong"] += 1
        if len(out["first"]) < 12:
            inputs = [
                literal(a.element, a.before[i])
                for a in out_inputs(array, out)
                if a.before and i < len(a.before)
            ]
            out["first"].append(f"arg{index}[{i}]: got {g:#x}, wanted {w:#x}; inputs {inputs[:3]}")


def out_inputs(array: Array, out: dict) -> list[Array]:
    return [a for a in out["args"] if isinstance(a, Array) and a.after is None and a.size == array.size][-3:]


def run_case(case, device: str) -> dict:
    import torch
    import triton_runner

    out = {
        "case": case.path, "status": "ok", "compared": 0, "wrong": 0, "ulp": {}, "first": [],
        "args": case.args,
    }  # fmt: skip
    started = time.time()
    grid = next((tuple(map(int, h[6:].split())) for h in case.header if h.startswith("grid: ")), (1,))
    try:
        kernel = triton_runner.load(case.body, device=device)
    except Exception as error:
        lines = [line for line in str(error).splitlines() if "error" in line.lower()] or str(
            error
        ).splitlines()
        del out["args"]
        return out | {"status": "not compiled", "error": (lines or [""])[0][:300]}
    arguments = [
        to_tensor(a, element, device) if isinstance(a, Array) else scalar(a.text)
        for a, element in zip(case.args, elements(case), strict=True)
    ]
    kernel[grid](*arguments)
    if device == "cuda":
        torch.cuda.synchronize()
    for index, (argument, array) in enumerate(zip(arguments, case.args, strict=True)):
        if isinstance(array, Array) and not isinstance(array, Scalar):
            compare(array, from_tensor(argument, array), out, index)
    del out["args"]
    if out["wrong"]:
        out["status"] = "differs"
    return out | {"seconds": round(time.time() - started, 2)}


def say(entry: dict) -> None:
    print(f"\n{MARK}{json.dumps(entry)}", flush=True)


def worker(paths: list[str], device: str) -> None:
    """A line of JSON before and after each case, so that the parent knows which one a death belongs to."""
    cases = {case.path: case for case in make.all_cases()}
    for path in paths:
        say({"begin": path})
        try:
            result = run_case(cases[path], device)
        except Exception as error:
            result = {"case": path, "status": "failed", "error": f"{type(error).__name__}: {error}"[:400]}
            say(result)
            sys.exit(3)  # the context may be lost: the parent starts a new process
        say(result)


def drive(paths: list[str], device: str) -> list[dict]:
    """All paths, restarting after a death."""
    results, left = [], list(paths)
    while left:
        command = [sys.executable, str(HERE), "--worker", "--device", device, "-", *left]
        done = execute(Case("golden", command, folder=Path.cwd(), cpu_limit=7200))
        lines = [json.loads(line[len(MARK) :]) for line in done.output.splitlines() if line.startswith(MARK)]
        finished = [line for line in lines if "case" in line]
        results += finished
        begun = [line["begin"] for line in lines if "begin" in line]
        seen = {r["case"] for r in finished}
        if begun and begun[-1] not in seen:
            tail = " ".join(done.errors.strip().splitlines()[-2:])[:300]
            results.append(
                {"case": begun[-1], "status": "not compiled", "error": f"the compiler ended: {tail}"}
            )
            seen.add(begun[-1])
        if not begun:
            results += [{"case": p, "status": "failed", "error": done.errors[-400:]} for p in left]
            break
        left = [p for p in left if p not in seen]
    return results


def summary(results: list[dict], about: str) -> str:
    count = {s: [r for r in results if r["status"] == s] for s in ("ok", "differs", "not compiled", "failed")}
    lines = [
        about,
        "",
        f"{len(results)} cases: {len(count['ok'])} equal "
        f"({sum(r['compared'] for r in count['ok']):,} elements), "
        f"{len(count['differs'])} differ, {len(count['not compiled'])} do not compile there, "
        f"{len(count['failed'])} failed.",
        "",
    ]
    rows = [
        [
            r["case"],
            r["status"],
            r.get("wrong"),
            " ".join((r.get("first") or [r.get("error", "")])[0].split()),
        ]
        for r in results
        if r["status"] != "ok"
    ]
    ulps = [
        [r["case"], ", ".join(f"{k} {v:g}" for k, v in sorted(r["ulp"].items()))]
        for r in results
        if r.get("ulp")
    ]
    lines += [markdown(["case", "status", "differing elements", "first"], rows), ""]
    return "\n".join([*lines, markdown(["function", "ulp by type"], ulps)]) + "\n"


def language(device: str) -> str:
    """tl.rand, tl.sort, tl.cumsum and the like beside NumPy."""
    from golden.language import checks, equal

    rows = []
    for name, got, wanted, tolerance in checks(device):
        verdict = (
            "equal" if equal(got, wanted, 0) else "within" if equal(got, wanted, tolerance) else "DIFFERS"
        )
        if verdict != "equal":
            verdict += f", at most {abs(got.astype(float) - wanted.astype(float)).max():.3g}"
        rows.append([name, verdict])
    return "\n" + markdown(["tl", ""], rows) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("out")
    parser.add_argument("parts", nargs="*")
    options = parser.parse_intermixed_args()
    if options.worker:
        worker(options.parts, options.device)
        return 0
    paths = [c.path for c in make.all_cases() if runnable(c)]
    paths = [p for p in paths if not options.parts or any(part in p for part in options.parts)]
    chunks = [paths[i :: options.jobs * 2] for i in range(options.jobs * 2)]
    started = time.time()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = [r for part in pool.map(lambda c: drive(c, options.device), chunks) for r in part]
    results.sort(key=lambda r: r["case"])
    import torch
    import triton

    name = torch.cuda.get_device_name() if options.device == "cuda" else "CPU"
    about = f"{name}, Triton {triton.__version__}, {time.time() - started:.0f} s"
    out = Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    (out / "golden.json").write_text(json.dumps(results, indent=1))
    text = summary(results, about) + ("" if options.parts else language(options.device))
    (out / "golden.md").write_text(text)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
