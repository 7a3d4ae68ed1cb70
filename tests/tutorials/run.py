"""Run a folder of Triton tutorials as they are, on the CPU: triton-runner run --pretend-cuda --quick SCRIPT.

    python tests/tutorials/run.py FOLDER [--release 3.6.0] [--only TEXT] [--level ptx] [--check overflow]
                                             [--write]

Each script runs in a process of its own, in a scratch folder that looks like Triton's source tree; scripts
with test functions run under pytest, too. A script went well if it ended with status 0 and printed no ❌.
Prints a table; the exit status says whether anything failed. A release that is not installed here comes from
tools/releases.py, with the torch of this environment. --check passes checks on. --write records it in
results/tutorials.json.
"""

import argparse
import dataclasses
import importlib.metadata
import os
import re
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tools")]
from suite import results  # noqa: E402
from suite.run import Case, execute  # noqa: E402

HANG = 3600  # seconds of CPU time after which a script hangs: those of 2026 end within 200
# How scripts end that can go no further, and why (doc/measurements/limits.md says more).
ENDS = {
    "Failed to execute cupti": "then its profiler asks the GPU (CUPTI)",
    "a view of 65536 bytes from byte 131072 of an allocation of 163840": "then its own fault is found",
    "not kernel arguments: gropup_c_ptrs": "its own slip of the pen, which this release refuses",
    "async_copy_global_to_shared has been removed": "this release has no `async_copy_global_to_shared`",
    "cannot import name 'get_tmem_reg_layout'": "this release has no `get_tmem_reg_layout`",
}

# Triton's own scripts, where they need more than a name. Those of Hopper and Blackwell say what they want.
# 09 and 10 have validated everything when they come to what they measure for each K of a range: an empty one,
# as each would launch ten thousand products of 8192 x 8192.
TARGETS = {
    "10-block-scaled-matmul.py": ["cuda:100"],
    "gluon/06-tcgen05.py": ["cuda:100"],
    "gluon/07-persistence.py": ["cuda:90", "cuda:100"],
    "gluon/08-warp-specialization.py": ["cuda:90", "cuda:100"],
}
ARGUMENTS = {
    "09-persistent-matmul.py": ["--K_range", "512", "0"],
    "10-block-scaled-matmul.py": ["--K_range", "512", "0"],
}

# The messages of --quick, in a word or two.
SHORTENED = {
    "benchmarks": "benchmarks",
    "perf_report": "smallest size",
    "random tensors": "random numbers repeat",
    "launches elsewhere": "launches on gigabytes",
    "test functions": "first parameters",
}


@dataclasses.dataclass
class Run:
    """A script, run once."""

    script: str
    pytest: bool
    level: str
    target: str
    release: str
    check: str = ""
    seconds: float = 0
    cpu: float = 0
    status: int = 0
    how_ended: str = ""
    output: str = ""
    errors: str = ""

    @property
    def how(self) -> str:
        return "pytest" if self.pytest else " ".join(["script", *ARGUMENTS.get(self.script, [])])

    @property
    def shortened(self) -> str:
        said = re.findall(r"triton-runner: --quick: (?:\d+ )?(.*)", self.errors)
        return ", ".join(word for start, word in SHORTENED.items() if any(s.startswith(start) for s in said))

    @property
    def cause(self) -> str:
        """Why it failed; "" if it did not."""
        wrong = [line.strip() for line in self.output.splitlines() if "❌" in line]
        if wrong:
            return wrong[0]
        if self.status == 0 or self.end:
            return ""
        if self.status < 0:
            return self.how_ended
        text = self.output if self.pytest else self.errors
        errors = [line for line in text.splitlines() if re.match(r"(E  +)?[\w.]*(Error|Exception)\b", line)]
        # The first of errors that followed from each other; else what was said last.
        said = errors[:1] or text.splitlines()[-1:] or [f"status {self.status}"]
        return said[0].removeprefix("E").strip()[:200]

    @property
    def end(self) -> str:
        """Why it could not go on; "" if it could."""
        text = self.output + self.errors if self.status else ""
        return next((why for said, why in ENDS.items() if said in text), "")

    @property
    def result(self) -> str:
        """The result that the script itself found."""
        if self.cause:
            return f"**failed**: {self.cause}"
        found = []
        if differences := re.findall(r"maximum difference .* is ([\d.e+-]+)", self.output):
            found.append(f"differs by {max(map(float, differences)):.2g} at most")
        if marks := self.output.count("✅"):
            found.append(f"{marks} ✅")
        if self.pytest:
            found += re.findall(r"\d+ passed", self.output)
        if self.end:
            found.append(self.end)
        return ", ".join(found) or "ran to its end"


def site_of(release: str, scratch: Path) -> tuple[str, Path]:
    """PYTHONPATH for a release ("" for the one installed here), and its package's folder."""
    installed = Path(importlib.metadata.distribution("triton").locate_file("triton"))
    if release == importlib.metadata.version("triton"):
        return "", installed
    import releases

    lib = releases.ensure(release).parent.parent / "lib"
    [packages] = lib.glob("python*/site-packages")
    site = scratch / f"triton-{release}"
    site.mkdir()
    for entry in (packages / "triton", *packages.glob("triton-*.dist-info")):
        (site / entry.name).symlink_to(entry)
    return str(site), site / "triton"


def source_tree(folder: Path, package: Path, where: Path) -> Path:
    """The tutorials' place in a folder laid out like Triton's sources: 07 looks there for libdevice."""
    tutorials = where / "python" / "tutorials"
    lib = where / "third_party" / "nvidia" / "backend" / "lib"
    for link, target in ((tutorials, folder), (lib, package / "backends" / "nvidia" / "lib")):
        link.parent.mkdir(parents=True)
        link.symlink_to(target)
    return tutorials


def judge(run: Run, tutorials: Path, site: str, scratch: Path) -> None:
    script = str(tutorials / run.script)
    command = [sys.executable, "-m", "triton_runner", "run", "--device", "cpu", "--pretend-cuda", "--quick"]
    command += ["--target", run.target, "--level", run.level]
    command += ["--check", run.check] if run.check else []
    if run.pytest:
        command += ["-m", "pytest", "-q", "-p", "no:cacheprovider", script]
    else:
        command += [script, *ARGUMENTS.get(run.script, [])]
    environment = {name: None for name in os.environ if name.startswith("TRITON")}
    environment |= {
        "PYTHONPATH": site,
        "PYTHONDONTWRITEBYTECODE": "1",
        "MPLBACKEND": "agg",
        "TRITON_CACHE_DIR": str(scratch / "cache"),
        "TRITON_DEFAULT_FP_FUSION": "1",
    }
    outcome = execute(Case(run.script, command, environment, scratch, HANG))
    run.status, run.how_ended, run.output = outcome.status, outcome.how, outcome.output
    run.errors, run.seconds, run.cpu = outcome.errors, outcome.seconds, outcome.cpu


def runs_of(folder: Path, options) -> list[Run]:
    runs = []
    for release in options.release:
        for path in sorted([*folder.glob("*.py"), *folder.glob("gluon/*.py")]):
            script = str(path.relative_to(folder))
            if options.only not in script:
                continue
            text = path.read_text()
            level = options.level or (
                "ttgir" if "experimental.gluon" in text or "import gluon" in text else "ttir"
            )
            for target in TARGETS.get(script, ["cuda:90"]):
                runs.append(Run(script, False, level, target, release, options.check))
                if re.search(r"^@pytest\.mark", text, re.MULTILINE):
                    runs.append(Run(script, True, level, target, release, options.check))
    return runs


COLUMNS = ["script", "run as", "level", "target", "s", "CPU s", "shortened", "result"]


def rows(runs: list[Run]) -> list[list[str]]:
    return [
        [run.script.removesuffix(".py"), run.how, run.level, run.target, f"{run.seconds:.0f}",
         f"{run.cpu:.0f}", run.shortened, run.result]
        for run in runs
    ]  # fmt: skip


def record(release: str, check: str, runs: list[Run]) -> None:
    ended = [run for run in runs if run.end]
    whole = len(runs) - len(ended) - sum(bool(run.cause) for run in runs)
    said = f"{whole} of {len(runs)} runs to their end"
    said += "".join(
        f", {sum(run.end == why for run in ended)}: {why}" for why in dict.fromkeys(run.end for run in ended)
    )
    key, under, option = (
        (f"{release} {check}", f' under `check="{check}"`', f" --check {check}")
        if check
        else (release, "", "")
    )
    results.record(
        "tutorials", key, f"Triton's tutorials with Triton {release}{under}",
        f'make tutorials TUTORIALS=triton/python/tutorials ARGS="--release {release}{option}"',
        {"result": said},
        table={"columns": COLUMNS, "rows": rows(runs)},
    )  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--release", action="append", help="of Triton; several: one after the other")
    parser.add_argument("--only", default="", help="scripts whose path contains this")
    parser.add_argument("--level", help="what the CPU executes, in place of ttir (Gluon: ttgir)")
    parser.add_argument("--check", default="", help="checks of every launch")
    parser.add_argument("--write", action="store_true", help="into results/tutorials.json")
    options = parser.parse_args()
    folder = options.folder.resolve()
    options.release = options.release or [importlib.metadata.version("triton")]
    runs = runs_of(folder, options)
    if not runs:
        parser.error(
            f"no scripts in {options.folder} (or in its gluon/) whose path contains {options.only!r}"
        )
    with tempfile.TemporaryDirectory() as name:
        places = {}
        for run in runs:
            scratch = Path(name, run.release)
            if run.release not in places:
                scratch.mkdir()
                site, package = site_of(run.release, scratch)
                places[run.release] = site, source_tree(folder, package, scratch / "tree")
            site, tutorials = places[run.release]
            judge(run, tutorials, site, scratch)
            print(f"{run.script:36} {run.how.split()[0]:6} {run.target:8} {run.release} "
                  f"{run.seconds:6.1f} s {run.cpu:6.1f} CPU s  {run.result}", flush=True)  # fmt: skip
            if run.cause:
                print(run.output[-3000:], run.errors[-3000:], sep="\n")
    for release in options.release:
        mine = [run for run in runs if run.release == release]
        print(f"\nTriton {release}\n\n{results.markdown(COLUMNS, rows(mine))}\n")
        if options.write:
            record(release, options.check, mine)
    failed = sum(bool(run.cause) for run in runs)
    print(f"{len(runs) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
