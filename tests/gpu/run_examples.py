"""Runs the examples on this machine's GPU, each in a process of its own, and writes what came out.

    python tests/gpu/run_examples.py OUT [--releases v3.6.0,...] [--jobs N]

OUT/examples.json has one entry a script; OUT/examples.md has the tables of doc/measurements/gpu.md. Scripts
for an architecture that this GPU cannot run, and artifacts that the installed Triton does not accept because
another release wrote them, have to be refused with a DiagnosticError.
"""

import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RUNNER = ROOT / "examples" / "runner"
DUMPS = sorted((ROOT / "examples").glob("d[ue]*/*/*/*.py"))  # examples/dump and examples/debugging


def label(script: Path) -> str:
    """How the tables call a script."""
    return str(script.relative_to(ROOT / "examples" if script in DUMPS else RUNNER))


def architecture(script: Path) -> int | None:
    found = re.search(r"/sm(\d+)/", str(script))
    return int(found[1]) if found else None


def can_run(script: Path, capability: int) -> bool:
    """A cubin runs within its major version, anything else from its architecture up."""
    arch = architecture(script)
    if arch is None:
        return True
    if "/cubin/" in str(script):
        return arch // 10 == capability // 10 and arch <= capability
    return arch <= capability


def own_release(script: Path) -> bool:
    """Whether the installed Triton made the script's artifact; those of the dumps are for all from 3.5 on."""
    import triton

    return script in DUMPS or script.relative_to(RUNNER).parts[0].startswith(
        "v" + ".".join(triton.__version__.split(".")[:2])
    )


def run(script: Path, capability: int) -> dict:
    started = time.time()
    try:
        result = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=240)
        code, out, err = result.returncode, result.stdout, result.stderr
    except subprocess.TimeoutExpired:
        code, out, err = 124, "", "timed out"
    said = re.findall(r"(?:max difference|torch and dump is) (\S+)", out)
    expected = can_run(script, capability)
    stopped = code == 1 and "DiagnosticError" in err
    refused = ""
    if stopped and not expected and f"cuda:{architecture(script)}" in err:
        refused = "architecture"
    elif stopped and not own_release(script) and "does not accept" in err:
        refused = "release"
    elif code == 1 and not own_release(script) and "fill_2d_tma_descriptor" in err:
        refused = (
            "release"  # the example asks Triton's own driver for tensor maps, by the name of its release
        )
    lines = [line for line in (err.strip() or out.strip()).splitlines() if line.strip()]
    errors = [line for line in lines if "Error" in line or line.startswith("error")]
    return {
        "script": label(script), "code": code, "refused": refused,
        "ok": bool(refused) or (code == 0 and expected),
        "max_difference": max(map(float, said), default=None),
        "seconds": round(time.time() - started, 1),
        "error": "" if code == 0 else (errors or lines or [""])[-1][:300],
        "tail": "" if code == 0 else "\n".join(lines[-6:])[:1500],
    }  # fmt: skip


def dumps_table(results: list) -> str:
    lines = ["| script | largest difference |", "|---|---|"]
    for r in results:
        lines.append(f"| `{r['script']}` | {r['max_difference'] if r['ok'] else 'FAILED'} |")
    return "\n".join(lines) + "\n"


def table(results: list) -> str:
    rows = {}
    for r in results:
        release, level, *rest = r["script"].split("/")
        where = rest[0] if len(rest) > 1 and rest[0].startswith("sm") else "any"
        cell = {"architecture": "other GPU", "release": "other release", "": "FAILED"}[r["refused"]]
        if r["ok"] and not r["refused"]:
            cell = f"{r['max_difference']:.2g}"
        rows.setdefault((release, Path(r["script"]).stem, where), {})[level] = cell
    levels = ["python", "gluon", "ttir", "ttgir", "llir", "ptx", "cubin"]
    lines = [
        "| release | example | architecture | " + " | ".join(levels) + " |",
        "|" + "---|" * (3 + len(levels)),
    ]
    for (release, name, where), cells in sorted(rows.items()):
        lines.append(
            f"| {release} | {name} | {where} | " + " | ".join(cells.get(level, "") for level in levels) + " |"
        )
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--releases", default="")
    parser.add_argument("--dumps", action="store_true", help="only examples/dump and examples/debugging")
    parser.add_argument("--levels", default="python,gluon,ttir,ttgir,llir,ptx,cubin")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) // 2))
    options = parser.parse_args()
    from triton_runner import _gpu

    capability = int(_gpu.current_target().split(":")[1])
    releases = options.releases.split(",") if options.releases else sorted(p.name for p in RUNNER.iterdir())
    scripts = [
        script for release in releases for level in options.levels.split(",")
        for script in sorted((RUNNER / release / level).rglob("*.py"))
        if level not in ("python", "gluon") or own_release(script)
    ]  # fmt: skip
    scripts = DUMPS if options.dumps else scripts + DUMPS
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda script: run(script, capability), scripts))
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "examples.json").write_text(json.dumps(results, indent=1))
    plain, dumps = results[: -len(DUMPS)], results[-len(DUMPS) :]
    (options.out / "examples.md").write_text(table(plain) + "\n" + dumps_table(dumps))
    failed = [r for r in results if not r["ok"]]
    refused = sum(bool(r["refused"]) for r in results)
    for r in failed:
        print(f"FAILED {r['script']} ({r['code']}, {r['seconds']} s): {r['error']}")
    ran = len(results) - len(failed) - refused
    print(f"{len(results)} examples: {ran} ran and matched, {refused} refused as for another GPU or release, "
          f"{len(failed)} failed")  # fmt: skip
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
