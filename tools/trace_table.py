"""Traces four kernels with every Triton release for every target it supports, compares with the plain
compilation, and measures what the trace costs.

    python tools/trace_table.py [--versions 3.0.0..3.9.0] [--targets cuda:80,hip:gfx942] [--kernels matmul]
                                [--times N] [--again RATIO] [--results FILE] [--write]

Each cell compiles plainly, with fingerprints and with every text kept, in a worker of the release, in turn
and N times; the fastest counts. Results are kept in FILE (a run that stopped goes on from there); --again
measures those once more whose trace took more than RATIO of the plain time, as a single run may; --write
makes doc/measurements/releases.md from them. What a trace costs is printed at the end.
"""

import argparse
import collections
import json
import sys
from pathlib import Path

import compile_table
from triton_runner._compiler import abilities, versions
from triton_runner._compiler.compile import request_of, run
from triton_runner._errors import DiagnosticError

KEEPS = ("hash", "text")
BINARIES = {"cubin", "hsaco"}


def cell(version, target, function, types, constants, attributes, options, times):
    """What each way of compiling gave: {"differs": levels, "passes", "changed", "seconds": {keep: s}}, or
    {"error": why}."""
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


HEAD = """# Passes

What `python tools/trace_table.py --write` last found: each kernel of `examples/kernels/` compiled by each
release for each target, plainly and pass by pass, each in a process forked from a worker that has compiled
nothing. All levels down to the binary are compared (hsaco before 3.5 is not: it needs ROCm's linker).
"""


def page(results):
    """The Markdown of doc/measurements/releases.md."""
    rows = {}
    for key, found in results.items():
        version, target, kernel = key.split()
        rows.setdefault((version, kernel), {})[target] = found
    whole = [found for found in results.values() if "passes" in found]
    texts = sum(set(found["differs"]) <= BINARIES for found in whole)
    same = sum(not found["differs"] for found in whole)
    lines = [
        HEAD,
        f"{len(whole)} compilations were traced. In {texts} of them every text is that of the plain one,",
        f"byte for byte, and in {same} the binary too. A cell is the number of passes; ≠ marks one that",
        "differs, * a binary that differs though the text before it does not (the assembler makes one of",
        "several of the same text, plainly too), – what the release does not compile; an empty cell was not",
        "run.",
        "",
        f"| Triton | kernel | {' | '.join(compile_table.TARGETS)} |",
        f"|---|---|{'---|' * len(compile_table.TARGETS)}",
    ]
    for (version, kernel), cells in rows.items():
        shown = [_shown(cells.get(target)) for target in compile_table.TARGETS]
        lines.append(f"| {version} | {kernel} | {' | '.join(shown)} |")
    lines += ["", "## What a trace costs", "", *_costs(results)]
    failed = {found["error"].split(": ", 1)[-1]: key for key, found in results.items() if "error" in found}
    if failed:
        lines += ["", "## What does not compile", ""]
        lines += [f"- {key}: {why.splitlines()[0][:200]}" for why, key in sorted(failed.items(), key=str)]
    return "\n".join(lines) + "\n"


def _shown(found):
    if found is None or "passes" not in found:
        return "–" if found else ""
    mark = "" if not found["differs"] else " *" if set(found["differs"]) <= BINARIES else " ≠"
    return f"{found['passes']}{mark}"


def _costs(results):
    """A table: the traced compilation's time by the plain one's, over all targets."""
    ratios = {}
    for key, found in results.items():
        if "passes" in found:
            kernel = key.split()[2]
            for keep in KEEPS:
                ratios.setdefault(kernel, {}).setdefault(keep, []).append(cost(found, keep))
    times = sorted(
        collections.Counter(found.get("times", 1) for found in results.values() if "passes" in found).items()
    )
    lines = [
        "Time of the traced compilation by that of the plain one, from the source to the binary: the median",
        "over releases and targets, and the largest. "
        + ", ".join(f"{count} were measured {n} time{'s' * (n > 1)}" for n, count in times)
        + "; the fastest counts.",
        "",
        "| kernel | fingerprints | every text |",
        "|---|---|---|",
    ]
    for kernel, kinds in ratios.items():
        shown = [f"{sorted(kinds[k])[len(kinds[k]) // 2]:.2f} ({max(kinds[k]):.2f})" for k in KEEPS]
        lines.append(f"| {kernel} | {' | '.join(shown)} |")
    return lines


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
    print("\n".join(_costs(results)))
    if options.write:
        order = sorted(results, key=lambda key: (versions.key(key.split()[0]), key.split()[2]))
        page_file = compile_table.ROOT / "doc" / "measurements" / "passes.md"
        page_file.write_text(page({key: results[key] for key in order}))
    return any(set(found.get("differs", ())) - BINARIES for found in results.values())


if __name__ == "__main__":
    sys.exit(main())
