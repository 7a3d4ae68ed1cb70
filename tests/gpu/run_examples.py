"""Runs the release matrix (tests/corpus/matrix.py) and the examples that dump on this machine's GPU, each in
a process of its own, and writes what came out.

    python tests/gpu/run_examples.py OUT [--releases 3.6.0,...] [--jobs N]

OUT/examples.json has one entry a row or script, OUT/examples.md their tables.
What is for an architecture that this GPU cannot run, and artifacts that the installed Triton does not accept
because another release wrote them, have to be refused with a DiagnosticError.
"""

import argparse
import concurrent.futures
import json
import os
import re
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "corpus")]
import matrix  # noqa: E402
from suite.results import markdown  # noqa: E402
from suite.run import Case, execute  # noqa: E402

LEVELS = ["python", "gluon", "ttir", "ttgir", "llir", "ptx", "cubin"]


class Example(NamedTuple):
    """A row of the matrix, or a script of examples/dump or examples/debugging."""

    label: str
    command: list[str]
    row: matrix.Row | None

    def can_run(self, capability: int) -> bool:
        """A cubin runs within its major version, anything else from its architecture up."""
        arch = self.row.arch if self.row else None
        if arch is None:
            return True
        return arch <= capability and (self.row.level != "cubin" or arch // 10 == capability // 10)

    def own_release(self) -> bool:
        """Whether the installed Triton made the artifact; those of the dumps are for all from 3.5 on."""
        import triton

        if self.row is None:
            return [int(part) for part in triton.__version__.split(".")[:2]] >= [3, 5]
        return self.row.release == matrix.nearest(triton.__version__)


ROWS = [
    Example(row.name, [str(ROOT / "tests/corpus/matrix.py"), "--run", row.name], row) for row in matrix.ROWS
]
DUMPS = [
    Example(str(script.relative_to(ROOT / "examples")), [str(script)], None)
    for script in sorted((ROOT / "examples").glob("d[ue]*/*/*/*.py"))
]


def run(example: Example, capability: int) -> dict:
    done = execute(Case(example.label, [sys.executable, *example.command], folder=Path.cwd()))
    code, out, err = done.status, done.output, done.errors
    said = re.findall(r"(?:max difference|torch and dump is) (\S+)", out)
    expected = example.can_run(capability)
    stopped = code == 1 and "DiagnosticError" in err
    refused = ""
    if stopped and not expected and f"cuda:{example.row.arch}" in err:
        refused = "architecture"
    elif stopped and not example.own_release() and "does not accept" in err:
        refused = "release"
    elif not example.own_release() and "No module named 'triton.experimental" in err:
        refused = "release"  # Gluon came with 3.4
    elif code == 1 and not example.own_release() and "fill_2d_tma_descriptor" in err:
        refused = (
            "release"  # the example asks Triton's own driver for tensor maps, by the name of its release
        )
    lines = [line for line in (err.strip() or out.strip()).splitlines() if line.strip()]
    errors = [line for line in lines if "Error" in line or line.startswith("error")]
    return {
        "script": example.label, "code": code, "refused": refused,
        "ok": bool(refused) or (code == 0 and expected),
        "max_difference": max(map(float, said), default=None),
        "seconds": round(done.seconds, 1),
        "error": "" if code == 0 else (errors or lines or [""])[-1][:300],
        "tail": "" if code == 0 else "\n".join(lines[-6:])[:1500],
    }  # fmt: skip


def dumps_table(results: list) -> str:
    rows = [[f"`{r['script']}`", r["max_difference"] if r["ok"] else "FAILED"] for r in results]
    return markdown(["script", "largest difference"], rows) + "\n"


def table(examples: list, results: list) -> str:
    rows = {}
    for example, r in zip(examples, results, strict=True):
        cell = {"architecture": "other GPU", "release": "other release", "": "FAILED"}[r["refused"]]
        if r["ok"] and not r["refused"]:
            cell = f"{r['max_difference']:.2g}"
        where = f"sm{example.row.arch}" if example.row.arch else "any"
        rows.setdefault((example.row.release, example.row.kernel, where), {})[example.row.level] = cell
    lines = [[*key, *(cells.get(level, "") for level in LEVELS)] for key, cells in sorted(rows.items())]
    return markdown(["release", "example", "architecture", *LEVELS], lines) + "\n"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--releases", default=",".join(matrix.RELEASES))
    parser.add_argument("--dumps", action="store_true", help="only examples/dump and examples/debugging")
    parser.add_argument("--levels", default=",".join(LEVELS))
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) // 2))
    options = parser.parse_args()
    from triton_runner._launch import gpu_driver

    capability = int(gpu_driver.current_target().split(":")[1])
    rows = [
        row for row in ROWS
        if row.row.release in options.releases.split(",") and row.row.level in options.levels.split(",")
        and (row.row.arch or row.row.level == "ttir" or row.own_release())
    ]  # fmt: skip
    rows = [] if options.dumps else rows
    dumps = [script for script in DUMPS if script.label.split("/")[1] in options.levels.split(",")]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda example: run(example, capability), rows + dumps))
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "examples.json").write_text(json.dumps(results, indent=1))
    tables = table(rows, results[: len(rows)]) + "\n" + dumps_table(results[len(rows) :])
    (options.out / "examples.md").write_text(tables)
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
