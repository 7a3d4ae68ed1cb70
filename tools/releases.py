"""Keeps one virtual environment per Triton release and runs the project's release tests in them.

    python tools/releases.py create [VERSION ...]      make the environments, print their folders
    python tools/releases.py test [--all | --few] [VERSION ...]
        build the project's wheel, install it into each, run tests/releases there: the newest patch of each
        minor release, all patches, or the first release, one in the middle and the last. Of all releases
        results/releases.json is written anew.

An environment holds triton, numpy and pytest, no torch (0.6 to 1.1 GB); that of 3.8.0 also the plug-in of
TLX. They live under $TRITON_RUNNER_RELEASES, by default
${XDG_CACHE_HOME:-~/.cache}/triton-runner/releases/<version>. Run it with a Python that has pip, the
packages of requirements/build.txt, and this package (make develop).
"""

import argparse
import ast
import concurrent.futures
import fcntl
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import venv
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from triton_runner._pipeline import versions

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "tests"))
from suite import results as kept  # noqa: E402
from suite.run import Case, execute  # noqa: E402

NEWEST = versions.newest_patches()
FEW = [NEWEST[0], NEWEST[(len(NEWEST) - 1) // 2], NEWEST[-1]]
# An environment needs these beside Triton: the project's needs, and what 3.0 and 3.1 import undeclared.
PACKAGES = ["numpy", "ml_dtypes", "click", "pytest", "filelock", "setuptools"]
# TLX is a plug-in of one release. Where it cannot be fetched, its tests say so.
PLUGINS = {"3.8.0": "triton-utlx==3.8.0.post16"}
# The options of `make develop`, so that the wheel is packed from what that compiled.
BUILD_OPTIONS = [
    "--config-settings=build-dir=build/release",
    "--config-settings=build.targets=_core",
    "--config-settings=cmake.define.TRITON_RUNNER_TESTS=ON",
]


def releases_dir():
    """The folder of all environments."""
    if chosen := os.environ.get("TRITON_RUNNER_RELEASES"):
        return Path(chosen)
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "triton-runner" / "releases"


def pip(*args):
    """Runs this interpreter's pip; its output is shown if it fails."""
    command = [sys.executable, "-m", "pip", *map(str, args)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"releases: {' '.join(command)} failed with status {done.returncode}:\n{done.stdout}")


def ensure(version):
    """The Python of release `version`, whose environment is made if it is not there yet."""
    folder = releases_dir() / version
    python = folder / "bin" / "python"
    complete, contents = folder / "complete", " ".join(PACKAGES)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f"{version}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not complete.exists() or complete.read_text() != contents:
            print(f"releases: making {folder}", file=sys.stderr, flush=True)
            shutil.rmtree(folder, ignore_errors=True)  # of an interrupted run, or with other contents
            venv.create(folder, with_pip=False, symlinks=True)
            pip("--python", python, "install", "--quiet", "--no-compile", f"triton=={version}", *PACKAGES)
            complete.write_text(contents)
        add_plugin(version, folder, python)
    return python


def add_plugin(version, folder, python):
    wanted, there = PLUGINS.get(version, ""), folder / "plugin"
    if not wanted or (there.exists() and there.read_text() == wanted):
        return
    command = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", wanted]
    if subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT).returncode:
        print(f"releases: {wanted} cannot be fetched; what needs it is skipped", file=sys.stderr, flush=True)
        return
    there.write_text(wanted)


def build_wheel(folder):
    pip("wheel", ROOT, "--no-build-isolation", "--no-deps", "--quiet", "--wheel-dir", folder, *BUILD_OPTIONS)
    [wheel] = Path(folder).glob("*.whl")
    return wheel


GROUPS = ["python", "ttir", "ttgir", "ir", "examples", "dumps", "compile", "passes"]  # the table's columns


def group_of(case):
    """The column that a test counts in: a level of tests/releases/test_levels.py, or the file."""
    if "test_levels" in case.get("classname"):
        return case.get("name").split("[")[1].split("-")[0]
    of_a_file = ("examples", "dumps", "compile", "passes")
    return next((g for g in of_a_file if f"test_{g}" in case.get("classname")), "ir")


def test_release(version, wheel):
    """Runs tests/releases with release `version`: {group: [passed, run]}, skip reasons, output."""
    python = ensure(version)
    pip("--python", python, "install", "--quiet", "--no-deps", "--no-compile", "--force-reinstall", wheel)
    # A plug-in that a process has imported changes what Triton makes of every kernel (TLX's breaks Gluon).
    if version not in PLUGINS:
        return run_tests(python, [])
    plain = run_tests(python, ["-k", "not tlx", "--ignore-glob=*test_tlx*"])
    plugin = run_tests(python, ["-k", "tlx"])
    counts = {
        group: [a + b for a, b in zip(plain[0][group], plugin[0][group], strict=True)] for group in GROUPS
    }
    return counts, plain[1] + plugin[1], plain[2] + plugin[2]


CPU_LIMIT = 7200  # of one release, whose tests take minutes
NOTHING = "got empty parameter set"  # no row of a table is for this release


def reason_of(skipped):
    """Why a test, or a whole file, was skipped: pytest says it of a file in the text only."""
    if skipped.get("message") != "collection skipped":
        return skipped.get("message")
    return ast.literal_eval(skipped.text)[-1].removeprefix("Skipped: ")


def run_tests(python, options):
    """Returns what test_release gives, of one process of pytest."""
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.xml"
        env = {name: None for name in os.environ if name.startswith(("TRITON", "PYTHON"))}
        env |= {
            "TRITON_CACHE_DIR": f"{scratch}/cache",
            "TRITON_DEFAULT_FP_FUSION": "1",
            "TRITON_RUNNER_DEVICE": "cpu",
        }
        command = [str(python), "-m", "pytest", "-q", "-rs", "-c", "tests/releases/pytest.ini"]
        command += [f"--junitxml={report}", *options, "tests/releases"]
        done = execute(Case("releases", command, env, ROOT, CPU_LIMIT))
        output = done.output + done.errors + done.how
        counts = {group: [0, 0] for group in GROUPS}
        skips = []
        if not report.exists():
            return counts, skips, output
        for case in ElementTree.parse(report).iter("testcase"):
            if (skipped := case.find("skipped")) is not None:
                if not skipped.get("message").startswith(NOTHING):
                    skips.append(f"{case.get('name')}: {reason_of(skipped)}")
                continue
            count = counts[group_of(case)]
            count[1] += 1
            count[0] += case.find("failure") is None and case.find("error") is None
        return counts, skips, output


def record(results, patches):
    """results/releases.json: what passed of what ran, by group, and what was skipped."""
    rows = [
        [version, *(f"{passed}/{run}" for passed, run in (counts[g] for g in GROUPS))]
        for version, (counts, _, _) in results.items()
    ]
    skipped = {}
    for version, (_, skips, _) in results.items():
        for skip in skips:
            skipped.setdefault(skip, []).append(version)
    kept.record(
        "releases", "all", "Tests of `tests/releases` that passed of those run, in each release",
        "make releases" + " ALL=1" * patches, {},
        machine=f"Python {platform.python_version()}, {kept.machine()}",
        table={"columns": ["Triton", *GROUPS], "rows": rows}, data={"skipped": skipped},
    )  # fmt: skip


def test(versions, write_table):
    """Tests the releases, two at a time; prints a line each and the sums last. True if anything failed."""
    with tempfile.TemporaryDirectory() as folder:
        wheel = build_wheel(folder)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            results = {}
            for version, result in zip(
                versions, pool.map(lambda v: test_release(v, wheel), versions), strict=True
            ):
                results[version] = counts, skips, output = result
                passed, run = (sum(count[i] for count in counts.values()) for i in (0, 1))
                if passed < run or not run:
                    print(output)
                print(f"{version:6} " + ", ".join(f"{g} {p}/{r}" for g, (p, r) in counts.items()), flush=True)
                for skip in skips:
                    print(f"SKIPPED {version} {skip}")
    if write_table:
        record(results, len(versions) > len(NEWEST))
    groups = [count for counts, _, _ in results.values() for count in counts.values()]
    failed = sum(run - passed for passed, run in groups) + sum(not run for _, run in groups)
    skipped = sum(len(skips) for _, skips, _ in results.values())
    print(f"{sum(passed for passed, _ in groups)} passed, {failed} failed, {skipped} skipped")
    return failed > 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["create", "test"])
    parser.add_argument("versions", nargs="*", metavar="VERSION", help="e.g. 3.4.0")
    parser.add_argument("--all", action="store_true", help="all patches")
    parser.add_argument("--few", action="store_true", help=", ".join(FEW))
    options = parser.parse_args()
    known = versions.RELEASES
    if unknown := set(options.versions) - set(known):
        parser.error(f"unknown release {', '.join(sorted(unknown))}: known are {', '.join(known)}")
    chosen = options.versions or (known if options.all else FEW if options.few else NEWEST)
    if options.command == "create":
        for version in chosen:
            print(ensure(version))
        return 0
    return test(chosen, write_table=not options.versions and not options.few)


if __name__ == "__main__":
    sys.exit(main())
