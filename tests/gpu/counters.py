"""The engine's counters beside Nsight Compute's: is each deterministic counter the same?

    python tests/gpu/counters.py OUT PROGRAM.py ... [--kernel NAME] [--launches N] [--runs 5] [--ncu PATH]
    python tests/gpu/counters.py OUT PROGRAM.py --csv RUN.csv [--csv RUN.csv ...]

Runs each program `--runs` times under `ncu` on a machine that has one, with the metrics of
src/exec/internal/counters.def, and once under `triton-runner profile`, then pairs their launches: the first
of each kernel and grid. OUT/counters.jsonl gets a line a launch and counter; a table of states is printed:

| state | what it is |
|---|---|
| equal, differ | what the engine counts, beside the number that all runs under ncu agree on |
| varies | runs under ncu do not agree: the counter is not deterministic there |
| missing | ncu did not measure it on this GPU |
| not compared | counters.def says why |

--csv reads what `ncu --csv --page raw` printed before, and runs no GPU. Exit status 1: a counter differs.
"""

import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys

from triton_runner._kernel.cost.counters import COUNTERS

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent)]
import ncu  # noqa: E402

METRICS = {row.metric: row for row in COUNTERS.values() if row.metric}


def read_csv(text: str) -> list[dict]:
    """The launches of what ncu printed, with the numbers of METRICS."""
    return ncu.read_csv(text, METRICS)


def keyed(launches: list[dict]) -> dict[tuple, dict]:
    """By kernel, grid and how many of these came before."""
    seen, out = collections.Counter(), {}
    for launch in launches:
        key = (launch["kernel"], tuple(launch["grid"]))
        out[(*key, seen[key])] = launch
        seen[key] += 1
    return out


def compared(profile: dict, runs: list[list[dict]]) -> list[dict]:
    """A row for each counter of each launch that the engine and all runs have."""
    ours = [{**one, "grid": [*one["grid"], 1, 1][:3]} for one in profile["launches"]]
    by_run, rows = [keyed(run) for run in runs], []
    for key, launch in keyed(ours).items():
        if launch["programs"] != launch["of"] or not all(key in run for run in by_run):
            continue
        for name, row in COUNTERS.items():
            if not row.metric:
                continue
            theirs = [run[key]["numbers"].get(row.metric) for run in by_run]
            rows.append(
                {
                    "kernel": key[0], "grid": key[1], "launch": key[2], "counter": name, "metric": row.metric,
                    "ours": launch["counters"][name], "theirs": theirs, "state": state(row, launch, theirs),
                }
            )  # fmt: skip
    return rows


def state(row, launch: dict, theirs: list) -> str:
    if row.compared != "equal":
        return "not compared"
    if None in theirs:
        return "missing"
    if len(set(theirs)) > 1:
        return "varies"
    return "equal" if theirs[0] == launch["counters"][row.name] else "differ"


def table(rows: list[dict]) -> str:
    """Launches by counter and state, and the first difference of each counter."""
    states = ("equal", "differ", "varies", "missing", "not compared")
    lines = [f"{'counter':<28}" + "".join(f"{one:>14}" for one in states)]
    for name in COUNTERS:
        mine = [row for row in rows if row["counter"] == name]
        counts = collections.Counter(row["state"] for row in mine)
        if mine:
            lines.append(f"{name:<28}" + "".join(f"{counts[one]:>14}" for one in states))
        for row in [row for row in mine if row["state"] == "differ"][:1]:
            lines.append(f"  {row['kernel']} {row['grid']}: {row['ours']:,}, ncu {row['theirs'][0]:,.0f}")
    launches = {(row["kernel"], row["grid"], row["launch"]) for row in rows}
    return "\n".join([*lines, f"{len(launches)} launches compared"])


def profiled(program: str, options) -> dict:
    command = [
        sys.executable, "-m", "triton_runner", "profile", "--json", "--launches", str(options.launches),
        *(word for name in options.kernel for word in ("--kernel", name)),
        "--target", options.target, program,
    ]  # fmt: skip
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "TRITON_RUNNER_DEVICE": "cpu"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("programs", nargs="+")
    parser.add_argument("--kernel", action="append", default=[])
    parser.add_argument("--launches", type=int, default=100)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--target", default="cuda:90")
    parser.add_argument("--ncu", default="ncu")
    parser.add_argument("--csv", action="append", default=[], help="what ncu printed, a file a run")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    rows = []
    for program in options.programs:
        profile = profiled(program, options)
        kernels = {launch["kernel"] for launch in profile["launches"]}
        texts = [pathlib.Path(path).read_text() for path in options.csv]
        for _ in range(0 if texts else options.runs):
            command = ncu.command(options.ncu, METRICS, kernels, sys.executable, program)
            texts.append(subprocess.run(command, capture_output=True, text=True).stdout)
            (options.out / f"{pathlib.Path(program).stem}.{len(texts)}.csv").write_text(texts[-1])
        rows += compared(profile, [read_csv(text) for text in texts])
    with open(options.out / "counters.jsonl", "w") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    print(table(rows))
    return int(any(row["state"] == "differ" for row in rows) or not rows)


if __name__ == "__main__":
    sys.exit(main())
