"""Measures the time before the first result: this package's own part of it at each level of several kernels,
what `run` takes beside Triton's own part of a program, and what a verdict takes beside its runs.

    python benchmark/first_result.py [--write] [--rounds 3]

Shares are the least of the rounds, from `passes --time`. Commands run in turn, and their times are of the
CPU, which other processes disturb less. --write keeps the results, in results/launch.json.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "suite"), str(ROOT / "examples")]
COMMAND = "python benchmark/first_result.py --write"
# kernel: signature, constants, arguments, grid.
KERNELS = {
    "vector_add.py:add_kernel": (
        "*fp32:16, *fp32:16, *fp32:16, i32:16, 1024", {},
        ["f32[98432]=rand:1", "f32[98432]=rand:2", "f32[98432]", "98432"], "97",
    ),
    "softmax.py:softmax_kernel": (
        "*fp32:16, *fp32:16, i32, i32, i32, i32, 1024", {},
        ["f32[183,781]", "f32[183,781]=rand:1", "781", "781", "183", "781"], "32",
    ),
    "layer_norm.py:layer_norm_forward": (
        "*fp32:16, *fp32:16, *fp32:16, *fp32:16, *fp32:16, *fp32:16, i32, i32, fp32, 1024", {},
        [
            "f32[151,600]=rand:1", "f32[151,600]", "f32[600]=rand:2", "f32[600]=rand:3",
            "f32[151]", "f32[151]", "600", "600", "1e-5",
        ],
        "151",
    ),
}  # fmt: skip
PROGRAM = """
import sys, torch, triton, triton.language as tl

@triton.jit
def add(x, y, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)

x, y = torch.rand(4096), torch.rand(4096)
out = torch.empty_like(x)
if sys.argv[1:]:  # what Triton itself does before a launch
    import triton.experimental.gluon
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    types = {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32", "B": "constexpr"}
    triton.compile(ASTSource(add, types, {"B": 1024}), target=GPUTarget("cuda", 90, 32))
else:
    add[(4,)](x, y, out, 4096, B=1024)
    assert torch.equal(out, x + y)
"""
VERIFIED = ["examples/python_runner/matmul.py", "examples/guide/entropy.py", "examples/guide/one_kernel.py"]


def shares(rounds: int) -> dict:
    """By kernel the share of this package by level, in percent."""
    from triton_runner._artifact.shell_arguments import parse_argument
    from triton_runner.verbs.passes.times import times

    found = {}
    for name, (signature, constexprs, args, grid) in KERNELS.items():
        for _ in range(rounds):
            values = [parse_argument(text) for text in args]
            kernel = f"{ROOT}/examples/kernels/{name}"
            took = times(kernel, signature, constexprs or None, target="cuda:90", args=values, grid=grid)
            for load in took.loads:
                found.setdefault(name.partition(":")[2], {}).setdefault(load.level, []).append(
                    load.share * 100
                )
    return {name: {level: min(each) for level, each in by.items()} for name, by in found.items()}


def cpu_of(command: list, folder: str) -> tuple[float, str]:
    """The seconds of CPU of a command and of what it starts, and what it prints."""
    environment = {**os.environ, "TRITON_CACHE_DIR": f"{folder}/cache", "TRITON_RUNNER_PROD": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, cwd=ROOT) as process:
        text = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    return used.ru_utime + used.ru_stime, text


def added(rounds: int) -> tuple[float, float]:
    """The seconds of CPU that Triton takes for a program without its launch, and that `run` takes: least."""
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "program.py")
        program.write_text(PROGRAM)
        ways = {
            "triton": [sys.executable, str(program), "compile"],
            "run": [sys.executable, "-m", "triton_runner", "run", str(program)],
        }
        taken = {name: [] for name in ways}
        for number in range(rounds + 1):
            for name, command in ways.items():
                seconds, _ = cpu_of(command, folder)
                taken[name] += [seconds] * bool(number)  # the first fills the caches
    return min(taken["triton"]), min(taken["run"])


def verdicts(rounds: int) -> dict:
    """By kernel how many runs a verdict makes, and its seconds by those of its runs and their compilation."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for program in VERIFIED * rounds:
            _, text = cpu_of([sys.executable, "-m", "triton_runner", "verify", "--json", program], folder)
            for launch in json.loads(text[text.index("{\n") :])["launches"]:
                spent = sum(run["seconds"] for run in launch["runs"]) + launch["compile_seconds"]
                at = found.setdefault(launch["kernel"], [len(launch["runs"]), []])
                at[1].append(launch["seconds"] / spent)
    return {
        kernel: (runs, min(ratios), statistics.median(ratios)) for kernel, (runs, ratios) in found.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    of_kernels, (triton, run), judged = (
        shares(options.rounds),
        added(options.rounds),
        verdicts(options.rounds),
    )
    levels = ", ".join
    rows = {
        "first": (
            "this package's part of the time before the first result, percent, by `passes --time`",
            "; ".join(
                f"{name}: {levels(f'{level} {share:.1f}' for level, share in by.items())}"
                for name, by in of_kernels.items()
            ),
        ),
        "run": (
            "`run` of a program that was run before, of CPU time; Triton's own part of it",
            f"{run:.2f} s; {triton:.2f} s",
        ),
        "verdict": (
            "a verdict of `verify`, of its runs and their compilation: least (median)",
            "; ".join(
                f"{kernel}, {runs} runs: {least:.2f} ({median:.2f})"
                for kernel, (runs, least, median) in judged.items()
            ),
        ),
    }
    for key, (what, result) in rows.items():
        print(f"{what}: {result}")
        if options.write:
            import results

            results.record("launch", key, what, COMMAND, {"result": result})


if __name__ == "__main__":
    main()
