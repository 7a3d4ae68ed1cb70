"""Traces four kernels with every Triton release for every target it supports, compares with the plain
compilation, and measures what the trace costs.

    python tools/trace_table.py [--versions 3.0.0..3.9.0] [--targets cuda:80,hip:gfx942] [--kernels matmul]
                                [--times N] [--again RATIO] [--results FILE] [--write]

Each cell compiles plainly, with fingerprints and with every text kept, in a worker of the release, in turn
and N times; the fastest counts. Results are kept in FILE (a run that stopped goes on from there); --again
measures those once more whose trace took more than RATIO of the plain time, as a single run may; --write
records them in results/passes.json. What a trace costs is printed at the end.
"""

import argparse
import json
import sys
from pathlib import Path

import compile_table
from compile_table import kept
from triton_runner._base.errors import DiagnosticError
from triton_runner._kernel.compiling.compile import request_of, run
from triton_runner._pipeline import abilities, versions

COMMAND = "python tools/trace_table.py --write"
KEEPS = ("hash", "text")
BINARIES = {"cubin", "hsaco"}


def cell(version, target, function, types, constants, attributes, options, times):
    """Returns what each way of compiling gave: {"differs": levels, "passes", "changed", "seconds": {keep:
    s}}, or {"error": why}."""
    levels = compile_table.LEVELS[target.split(":")[0]]
    # hsaco of the older releases needs a linker that few machines have.
    last = levels[-2] if abilities.gap(version, target, levels[-1]) else levels[-1]
    if reason := abilities.gap(version, target, last):
        return {"gap": reason[0]}
    request = request_of(function, types, constants, target, None, last, options, attributes)
    seconds, differs = {}, set()
    try:
        for _ in range(times):
            plain = run("job", request, version, isolate=True)
            seconds["plain"] = min(plain["seconds"], seconds.get("plain", 1e9))
            for keep in KEEPS:
                made = run("recorder_job", {**request, "keep": keep}, version, isolate=True)
                seconds[keep] = min(made["seconds"], seconds.get(keep, 1e9))
                differs |= {level for level in plain["asm"] if made["asm"].get(level) != plain["asm"][level]}
    except DiagnosticError as error:
        return {"error": error.message}
    steps = made["passes"]
    changed = sum(bool(step["changed"]) for step in steps)
    return {
        "differs": sorted(differs), "passes": len(steps), "changed": changed, "seconds": seconds,
        "times": times,
    }  # fmt: skip


def cost(found, keep):
    """The time of a traced compilation by that of the plain one; 0 where none was traced."""
    return found["seconds"][keep] / found["seconds"]["plain"] if "passes" in found else 0


def record(results):
    """results/passes.json: which compilations are the plain ones, their passes, and what a trace costs."""
    whole = {key: found for key, found in results.items() if "passes" in found}
    texts = sum(set(found["differs"]) <= BINARIES for found in whole.values())
    same = sum(not found["differs"] for found in whole.values())
    rows = {}
    for key, found in results.items():
        version, target, kernel = key.split()
        rows.setdefault(f"{version} {kernel}", {})[target] = found
    data = {
        name: " ".join(_shown(cells.get(target)) or "." for target in compile_table.TARGETS)
        for name, cells in rows.items()
    }
    passes = [found["passes"] for found in whole.values()]
    said = f"{texts} of {len(whole)} give the same texts, {same} the same binary; "
    said += f"{min(passes)} to {max(passes)} passes"
    kept.record("passes", "trace", "Compilations traced pass by pass, beside plain ones", COMMAND,
                {"result": said}, data=data)  # fmt: skip
    costs = _costs(results)
    medians = sorted(float(cell.split()[0]) for row in costs for cell in row[1:])
    kept.record(
        "passes", "cost", "time of a traced compilation, of the plain one: medians of the kernels", COMMAND,
        {"result": f"{medians[0]:g} to {medians[-1]:g}"},
        table={"columns": ["kernel", "fingerprints", "every text"], "rows": costs},
    )  # fmt: skip


def _shown(found):
    if found is None or "passes" not in found:
        return "–" if found else ""
    mark = "" if not found["differs"] else "*" if set(found["differs"]) <= BINARIES else "≠"
    return f"{found['passes']}{mark}"


def _costs(results):
    """Rows: the traced compilation's time by the plain one's, the median over all targets (the largest)."""
    ratios = {}
    for key, found in results.items():
        if "passes" in found:
            kernel = key.split()[2]
            for keep in KEEPS:
                ratios.setdefault(kernel, {}).setdefault(keep, []).append(cost(found, keep))
    return [
        [kernel, *(f"{sorted(kinds[k])[len(kinds[k]) // 2]:.2f} ({max(kinds[k]):.2f})" for k in KEEPS)]
        for kernel, kinds in ratios.items()
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--versions", default="all")
    parser.add_argument("--targets", default=",".join(compile_table.TARGETS))
    parser.add_argument("--kernels", default=",".join(compile_table.KERNELS))
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--again", type=float, metavar="RATIO")
    parser.add_argument("--results", default="build/trace-table.json")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    file = Path(options.results)
    results = json.loads(file.read_text()) if file.exists() else {}
    if options.again:
        results = {
            k: one for k, one in results.items() if max(cost(one, keep) for keep in KEEPS) <= options.again
        }
    for kernel in options.kernels.split(","):
        launched = {
            function.__name__: (function, *more) for function, *more in compile_table.launches(kernel)
        }
        for version in versions.expand(options.versions):
            for target in options.targets.split(","):
                for name, launch in launched.items():
                    key = f"{version} {target} {name}"
                    if key in results:
                        continue
                    results[key] = cell(version, target, *launch, options.times)
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_text(json.dumps(results, indent=1))
                    print(key, json.dumps(results[key])[:200], flush=True)
    print("\n".join(", ".join(row) for row in _costs(results)))
    if options.write:
        order = sorted(results, key=lambda key: (versions.key(key.split()[0]), key.split()[2]))
        record({key: results[key] for key in order})
    return any(set(found.get("differs", ())) - BINARIES for found in results.values())


if __name__ == "__main__":
    sys.exit(main())
