"""One library's cases, one after the other, run by run.py through `triton-runner run`: JSON lines.
The third argument is "" for all, the name of the case that is run, or --names to list the names."""

import importlib
import json
import sys
import traceback

import torch

TOLERANCE = {torch.float32: 2e-4, torch.float16: 4e-3, torch.bfloat16: 3e-2, torch.float64: 1e-6}


def tensors(value) -> list:
    """The tensors and numbers of a result, in order."""
    if isinstance(value, torch.Tensor):
        return [value.detach()]
    if isinstance(value, (tuple, list)):
        return [item for part in value for item in tensors(part)]
    return [] if value is None else [torch.as_tensor(value)]


def difference(ours, theirs, part: float | None) -> str:
    """Says where two results differ; "" where they are the same within the type's tolerance, or, if `part` is
    given, within that part of the largest value of each tensor."""
    ours, theirs = tensors(ours), tensors(theirs)
    if len(ours) != len(theirs):
        return f"{len(ours)} results and {len(theirs)}"
    for number, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if a.shape != b.shape:
            return f"result {number} has the shape {tuple(a.shape)} and {tuple(b.shape)}"
        x, y = a.cpu().double(), b.cpu().double()
        relative = TOLERANCE.get(b.dtype, 0.0) if part is None else 0.0
        room = relative if part is None else part * y.abs().max().item()
        if not torch.allclose(x, y, rtol=relative, atol=room, equal_nan=True):
            return (
                f"result {number} differs by {(x - y).abs().max().item():.3g} of {y.abs().max().item():.3g}"
            )
    return ""


def main(library: str, device: str, only: str) -> None:
    cases = importlib.import_module(f"cases_{library}")
    for name, ours, theirs, *tolerance in cases.cases(device):
        if only == "--names":
            print(json.dumps({"name": name}), flush=True)
            continue
        if only and only != name:
            continue
        torch.manual_seed(0)
        try:
            expected = theirs()
            torch.manual_seed(0)
            text = difference(ours(), expected, *(tolerance or [None]))
            result = "differs" if text else "right"
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            lines = str(error).strip().splitlines() or [""]
            said = lines[-1] if type(error).__name__ == "CompilationError" else lines[0]
            text = f"{type(error).__name__}: {said[:300]} ({where.filename}:{where.lineno})"
            result = "fails"
        print(json.dumps({"name": name, "result": result, "text": text}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
