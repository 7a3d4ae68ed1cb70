"""Compiles each case of models.py, modules.py and kernels.py with Inductor's Triton kernels on the CPU, and
compares it with eager.

    python tests/compile/run.py                     all cases, torch._inductor.config.cpu_backend = "triton"
    python tests/compile/run.py --pretend-cuda      the same on tensors that say cuda
    python tests/compile/run.py softmax norm        cases whose name or family contains a word
    python tests/compile/run.py --write             and records what it found in results/torch-compile.json

A line for each: what differs most, Triton kernels, CPU seconds for the first calls (compiling) and a later
one. torch's own operators run on one thread.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import sys
import tempfile
import time
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
from suite import results as results_file  # noqa: E402

os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")


def tensors_of(value) -> list:
    import torch

    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [t for item in value for t in tensors_of(item)] if isinstance(value, (tuple, list)) else []


def results(function, module, arguments, grad: bool) -> list:
    """The tensors that a call gives and changes, and the gradients of what needs one."""
    import torch

    given = tensors_of(list(arguments)) + (list(module.parameters()) if module is not None else [])
    for tensor in given:
        tensor.grad = None
    outs = tensors_of(function(*arguments))
    found = [out.detach().clone() for out in outs]
    if grad:
        weights = [torch.arange(out.numel(), device=out.device).view(out.shape).cos() for out in outs]
        wanted = [(out.float() * w).sum() for out, w in zip(outs, weights, strict=True) if out.requires_grad]
        sum(wanted).backward()
        found += [t.grad.clone() for t in given if t.grad is not None]
    return found + [t.detach().clone() for t in given if not t.requires_grad]


def copied(arguments):
    def copy_of(value):
        if hasattr(value, "requires_grad_"):
            return value.detach().clone().requires_grad_(value.requires_grad)
        return type(value)(copy_of(v) for v in value) if isinstance(value, (tuple, list)) else value

    return copy_of(arguments)


def run_case(case, device: str) -> dict:
    """Compares one case with eager; the record says what was seen, and "error" what went wrong."""
    import torch
    import torch._dynamo
    from torch._dynamo.utils import counters

    torch._dynamo.reset()
    counters.clear()
    torch.manual_seed(0)
    record = {"name": case.name, "family": case.family}
    try:
        function, arguments = case.make(device)
        calls = arguments if isinstance(arguments, list) and isinstance(arguments[0], tuple) else [arguments]
        eager = copy.deepcopy(function) if isinstance(function, torch.nn.Module) else function
        module = function if isinstance(function, torch.nn.Module) else None
        options = {"dynamic": case.dynamic, "fullgraph": case.fullgraph, "options": case.options or None}
        compiled = torch.compile(function, **options)
        record["first"] = record["later"] = 0.0
        worst = 0.0
        for call in calls:
            torch.manual_seed(1)
            wanted = results(eager, eager if module is not None else None, copied(call), case.grad)
            torch.manual_seed(1)
            started = time.process_time()
            given = results(compiled, module, copied(call), case.grad)
            record["first"] += time.process_time() - started
            worst = max(worst, compare(given, wanted, case))
        started = time.process_time()
        results(compiled, module, copied(calls[-1]), case.grad)
        record["later"] = time.process_time() - started
        record["difference"] = worst
        record["kernels"] = counters["inductor"]["async_compile_cache_miss"]
        if record["kernels"] < case.kernels:
            raise AssertionError(f"{record['kernels']} Triton kernels ran, and {case.kernels} or more should")
    except Exception as error:
        record["error"] = (
            f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error) else ''}"
        )
        record["trace"] = traceback.format_exc()
    return record


def compare(given: list, wanted: list, case) -> float:
    """The largest difference; raises where it is more than the case allows."""
    import torch

    if len(given) != len(wanted):
        raise AssertionError(f"{len(given)} tensors, and eager gives {len(wanted)}")
    worst = 0.0
    for ours, theirs in zip(given, wanted, strict=True):
        if ours.device != theirs.device:
            raise AssertionError(f"on {ours.device}, and eager's on {theirs.device}")
        torch.testing.assert_close(ours, theirs, rtol=case.rtol, atol=case.atol, equal_nan=True)
        if ours.is_floating_point() and ours.numel():
            worst = max(worst, (ours.double() - theirs.double()).nan_to_num().abs().max().item())
    return worst


def prepare(pretend: bool) -> str:
    """Makes Inductor write Triton kernels; the device of the cases."""
    import torch

    torch.set_num_threads(1)
    os.environ["TRITON_RUNNER_DEVICE"] = "cpu"
    import triton_runner  # noqa: F401  (it makes the CPU Triton's device)

    if pretend:
        from triton_runner import _pretend

        _pretend.install()
        return "cuda"
    import torch._inductor.config

    torch._inductor.config.cpu_backend = "triton"
    return "cpu"


def line(record: dict) -> str:
    if "error" in record:
        return f"FAIL {record['name']:24} {record['error'][:150]}"
    return (
        f"ok   {record['name']:24} {record['difference']:9.1e} {record['kernels']:3} kernels "
        f"{record['first']:6.2f} s, then {record['later'] * 1e3:7.1f} ms"
    )


def chosen(words: list[str], device: str, exactly: bool) -> list:
    import modules  # noqa: F401, I001  (its cases enter the list, before those of kernels)
    import kernels  # noqa: F401
    from models import CASES

    cases = [c for c in CASES.values() if not c.only or c.only == device]
    if exactly:
        return [CASES[name] for name in words]
    return [c for c in cases if not words or any(w in c.name or w in c.family for w in words)]


def record(records: list[dict], pretend: bool) -> None:
    rows = [
        [r["name"], r["family"], r["error"][:60], None, None] if "error" in r else
        [r["name"], r["family"], f"{r['difference']:.0e}, {r['kernels']}", f"{r['first']:.1f} s",
         f"{r['later'] * 1e3:.1f} ms"]
        for r in records
    ]  # fmt: skip
    good = sum("error" not in r for r in records)
    what = (
        "`torch.compile` on tensors that say cuda" if pretend else '`torch.compile`, `cpu_backend = "triton"`'
    )
    results_file.record(
        "torch-compile", "pretend-cuda" if pretend else "cpu_backend", what,
        "python tests/compile/run.py" + " --pretend-cuda" * pretend,
        {"result": f"{good} of {len(rows)} as eager"},
        table={"columns": ["case", "family", "difference, kernels", "first", "later"], "rows": rows},
    )  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("words", nargs="*")
    parser.add_argument("--exactly", action="store_true", help="the words are names")
    parser.add_argument("--pretend-cuda", action="store_true")
    parser.add_argument("--json", metavar="FILE", help="what was seen")
    parser.add_argument("--trace", action="store_true", help="the whole error")
    parser.add_argument("--write", action="store_true", help="into results/torch-compile.json")
    options = parser.parse_args()
    sys.path.insert(0, str(HERE))
    with tempfile.TemporaryDirectory() as cache:
        os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", cache)
        device = prepare(options.pretend_cuda)
        records = []
        for case in chosen(options.words, device, options.exactly):
            records.append(run_case(case, device))
            print(line(records[-1]), flush=True)
            if options.trace and "error" in records[-1]:
                print(records[-1]["trace"])
            if options.json:
                Path(options.json).write_text(json.dumps(records))
    if options.write:
        record(records, options.pretend_cuda)
    failed = sum("error" in record for record in records)
    print(f"{len(records) - failed} of {len(records)} as eager")
    return 1 if failed or not records else 0


if __name__ == "__main__":
    sys.exit(main())
