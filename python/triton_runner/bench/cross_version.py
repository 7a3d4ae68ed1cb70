"""Compares the time of a kernel in several environments: python -m triton_runner.bench.cross_version -k
FILE.

FILE defines `kernel`, `prepare_args(**size)` and `get_grid(**size)`, and optionally
`get_kernel_kwargs(**size)` (constexprs and options) and `get_problem_space()` (a list of sizes, or {"M":
[256, 512], ...} for all combinations). An environment is a Python, the folder of a virtual environment, the
name of a conda environment, or a Triton release. All environments keep running, and are measured in turns.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import importlib.util
import itertools
import json
import os
import statistics
import sys
from pathlib import Path

import numpy

from triton_runner._base import scratch
from triton_runner._base.errors import DiagnosticError, fail
from triton_runner._settings import devices
from triton_runner.bench import clocks, peers, report
from triton_runner.bench.rounds import Row, Section, WrongResult
from triton_runner.bench.running import environment, run

TOLERANCE = 1e-2


def _number(text: str):
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text


def _product(dimensions: dict) -> list[dict]:
    return [dict(zip(dimensions, values, strict=True)) for values in itertools.product(*dimensions.values())]


def _of_space(space) -> list[dict]:
    """The sizes of a problem space: a list of sizes, or a dict of values by dimension."""
    if isinstance(space, dict):
        return _product({name: v if isinstance(v, (list, tuple)) else [v] for name, v in space.items()})
    if isinstance(space, (list, tuple)) and all(isinstance(size, dict) for size in space):
        return list(space)
    raise fail(f"a problem space is a list of sizes or a dict of lists, not {type(space).__name__}")


def sizes_of(options) -> list[dict]:
    """The sizes that the command line or the kernel's file specifies."""
    fixed = {n: _number(v) for n, _, v in (text.partition("=") for text in options.fixed)}
    if options.square:
        return [{"M": n, "N": n, "K": n} for n in options.square]
    if options.sweep:
        return [{options.sweep: value, **fixed} for value in options.values]
    if options.dim:
        return _product({name: [_number(v) for v in values] for name, *values in options.dim})
    if options.sizes_json:
        try:
            return _of_space(json.loads(Path(options.sizes_json).read_text()))
        except (OSError, ValueError) as error:
            raise fail(f"cannot read {options.sizes_json}: {error}") from None
    spec = importlib.util.spec_from_file_location("subject", options.kernel)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not hasattr(module, "get_problem_space"):
        raise fail(
            f"{options.kernel} has no get_problem_space()", "give --square, --sweep, --dim or --sizes-json"
        )
    return _of_space(module.get_problem_space())


def environments(options) -> list[str]:
    """The environments that were named, or the conda environments whose names begin with the prefix."""
    if options.envs:
        return options.envs
    kernels = sorted(
        entry.name
        for folder in peers.conda_folders()
        for entry in os.scandir(folder)
        if entry.name.startswith(options.env_prefix) and os.path.isfile(os.path.join(entry, "bin", "python"))
    )
    if not kernels:
        raise fail(
            f"there is no conda environment whose name begins with {options.env_prefix!r}",
            "--envs names environments: 3.4.0 3.9.0, /opt/venv, a conda environment",
        )
    return kernels


class Matrix:
    """The measurements of all environments at all sizes, with their files in a folder."""

    def __init__(self, options, stack: contextlib.ExitStack):
        self.options, self.folder = options, Path(options.output_dir)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.scratch = Path(stack.enter_context(scratch.folder("bench")))
        on_gpu = devices.resolved_device() != "cpu"
        self.kind = "warm" if on_gpu else "launch"
        self.peers = [stack.enter_context(peers.Peer(name, on_gpu)) for name in environments(options)]

    def section(self, number: int, size: dict) -> Section:
        """One size in every environment. The results must equal those of the first environment."""
        outputs, rows = [], []
        for place, peer in enumerate(self.peers):
            outputs.append(self.scratch / f"{number}-{place}.npz")
            request = {
                "do": "module", "file": os.path.abspath(self.options.kernel), "size": size,
                "timer": self.kind, "launches": 1, "outputs": str(outputs[-1]),
                "inputs": self._inputs(number), "save": self._cubins(peer),
            }  # fmt: skip
            try:
                (row,) = peer.rows(request)
            except DiagnosticError as error:
                row = Row(peer.text, skipped=error.message)
            row.check = lambda mine=outputs[-1], first=outputs[0]: self._same(mine, first)
            rows.append(row)
        title = ", ".join(f"{name} {value}" for name, value in size.items())
        return Section(f"{Path(self.options.kernel).name}, {title}", rows, rows[0].name, unit=1e-3)

    def _inputs(self, number: int) -> str:
        return str(self.folder.absolute() / f"inputs-{number}.npz") if self.options.capture_inputs else ""

    def _cubins(self, peer) -> str:
        if not self.options.save_cubin:
            return ""
        folder = self.folder / "cubins" / f"triton-{peer.told['triton']}"
        folder.mkdir(parents=True, exist_ok=True)
        return str(folder.absolute())

    @staticmethod
    def _same(mine: Path, first: Path) -> None:
        with numpy.load(mine) as a, numpy.load(first) as b:
            for name in b.files:
                scale = max(1.0, float(numpy.abs(b[name]).max(initial=0)))
                difference = float(numpy.abs(a[name] - b[name]).max(initial=0))
                if not difference <= TOLERANCE * scale:
                    raise WrongResult(f"{name} differs from the first environment's by {difference:g}")


def _table(sections) -> list[list[str]]:
    names = list(dict.fromkeys(row.name for section in sections for row in section.rows))
    rows = [["size", *names]]
    for section in sections:
        line = [section.title]
        for name in names:
            row = section.row(name)
            if not row.samples:
                line.append("wrong" if row.wrong else "not run")
                continue
            comparison = report.compared(section, row)
            median = f"{statistics.median(row.samples) / section.unit:.4g}"
            line.append(median + (f" ({comparison.ratio:.3f}, {comparison.verdict})" if comparison else ""))
        rows.append(line)
    return rows


def write(sections, options) -> None:
    """Writes report.json, and report.csv and report.md on request."""
    folder = Path(options.output_dir)
    (folder / "report.json").write_text(json.dumps(report.as_json(sections), indent=1))
    if options.csv:
        with open(folder / "report.csv", "w", newline="") as file:
            lines = csv.writer(file)
            lines.writerow(["size", "environment", "median_ms", "minimum_ms", "ratio", "verdict", "launches"])
            for section in sections:
                for row in section.rows:
                    lines.writerow([section.title, *_csv_row(section, row)])
    if options.md:
        lines = ["| " + " | ".join(row) + " |" for row in _table(sections)]
        lines.insert(1, "|" + "---|" * (lines[0].count("|") - 1))
        (folder / "report.md").write_text("Medians in ms\n\n" + "\n".join(lines) + "\n")


def _csv_row(section: Section, row: Row) -> list:
    if not row.samples:
        return [row.name, "", "", "", "wrong" if row.wrong else "not run", row.wrong or row.skipped]
    comparison = report.compared(section, row)
    words = [f"{comparison.ratio:.4f}", comparison.verdict] if comparison else ["1", "baseline"]
    times = [f"{value * 1e3:.6g}" for value in (statistics.median(row.samples), min(row.samples))]
    return [row.name, *times, *words, row.launches]


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("triton_runner.bench.cross_version", description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("-k", "--kernel", required=True, help="the kernel's file")
    add("-o", "--output-dir", default="cross_version_results")
    add("-e", "--envs", nargs="+", default=[], help="environments; by default those of conda with the prefix")
    add("-p", "--env-prefix", default="triton-")
    add("--square", nargs="+", type=int, default=[], help="M = N = K of each")
    add("--sweep", default="", help="a dimension, with --values and --fixed")
    add("-v", "--values", nargs="+", type=int, default=[])
    add("--fixed", nargs="+", default=[], help="N=1024 K=1024")
    add("--product", action="store_true", help="has no effect: all combinations of --dim are measured")
    add("-d", "--dim", nargs="+", action="append", default=[], help="M 256 512; several times")
    add("--sizes-json", default="")
    add("--rounds", type=int, default=60)
    add("--warmup", type=int, default=25, help="has no effect: the first sample of each is discarded")
    add("--rep", type=float, default=0, help="milliseconds per environment and size, in place of --rounds")
    add("--threads", type=int, default=1, help="for kernels on the CPU")
    add("--lock-sm", type=int, default=0, help="MHz")
    add("--lock-mem", type=int, default=0, help="MHz")
    add("--csv", action="store_true")
    add("--md", action="store_true")
    add("--no-table", action="store_true")
    add("--plot", default="", help="a picture of medians and intervals")
    add("--capture-inputs", action="store_true", help="all environments use the arguments of the first")
    add("--save-cubin", action="store_true", help="into cubins/triton-<release> of the output folder")
    add("--setup-only", action="store_true", help="start the environments and print their versions")
    return parser


def main(argv: list[str] | None = None) -> int:
    """Returns the exit status: 1 if a result differs, 2 for bad input."""
    options = parser().parse_args(argv)
    environment(options.threads)
    try:
        with contextlib.ExitStack() as stack:
            if options.lock_sm or options.lock_mem:
                stack.enter_context(clocks.lock(options.lock_sm, options.lock_mem))
            matrix = Matrix(options, stack)
            for peer in matrix.peers:
                print(f"{peer.text}: {peer.label}, torch {peer.told['torch']}, {peer.told['executable']}")
            if options.setup_only:
                return 0
            sizes = sizes_of(options)
            seconds = options.rep * 1e-3 * len(matrix.peers) if options.rep else 60.0
            sections_ = (matrix.section(number, size) for number, size in enumerate(sizes))
            sections, right = run(sections_, options.rounds, seconds, quiet=options.no_table)
    except (DiagnosticError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 2
    write(sections, options)
    if options.plot:
        report.plot(sections, options.plot)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
