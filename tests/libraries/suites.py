"""The test suites that sdists of public kernel libraries carry, as they are, under pytest --triton: do they
pass on the CPU, and what do the checks find?

    python tests/libraries/suites.py [LIBRARY ...] [--level ptx] [--each 2] [--jobs 2] [--limit S] [--write]

Installs the library and what its tests import as run.py does, unpacks its sdist beside it, and runs its tests
with --pretend-cuda's tensors. --each: so many parametrisations of each test function; 0: all. Each test that
does not pass is printed with its reason: a finding of a check, or the library's own. --write records the
counts in results/suites.json, whose other rows stay.
"""

import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

import run as libraries

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
from suite import results  # noqa: E402
from suite.run import Case, execute  # noqa: E402

MEMORY = 10  # GiB of a process: some tests have tensors of more than 2^31 elements
CHECKS = "oob,uninit,race,overflow"
# transformers, with what it imports.
_OF_TRANSFORMERS = [
    "transformers==5.24.0", "huggingface-hub==2.4.0", "hf-xet", "httpx2", "httpcore2", "regex", "safetensors",
    "tokenizers==0.23.3", "tqdm", "typer", "annotated-doc", "anyio", "idna", "pydantic==2.14.4", "PyYAML",
    "pydantic_core==2.50.5", "shellingham", "truststore", "annotated-types", "h11", "typing-inspection",
    "packaging",
]  # fmt: skip
# The files of single operators, among its files.
_OF_LIGER = (
    "rms_norm", "layer_norm", "group_norm", "poly_norm", "dyt", "softmax", "sparsemax", "swiglu", "geglu",
    "relu_squared", "rope", "kl_div", "jsd", "tvd", "cross_entropy", "fused_linear_cross_entropy",
    "embedding", "fused_add_rms_norm", "grpo_loss", "multi_token_attention", "mhc", "attn_res",
)  # fmt: skip
# For each library: what its tests import besides, the tests that are run, and why others are not.
SUITES = {
    # One file imports examples/, which the sdist does not have.
    "adasplash": (["entmax==1.3"], ["tests"],
                  ["--ignore-glob=*/test_attention.py", "-m", "not slow", "-k", "not long_context"]),
    "conch": (["einops"], ["tests"], []),
    "cut_cross_entropy": ([], ["tests"], []),
    "liger_kernel": (_OF_TRANSFORMERS, [f"test/transformers/test_{name}.py" for name in _OF_LIGER],
                     ["-k", "not large_row_offset and not 4096-32000 and not 1024-32000"]),  # they do not fit
}  # fmt: skip
COLUMNS = ["library", "level", "tests", "passed", "skipped", "failed by themselves", "failed by a finding",
           "launches", "judged", "findings", "seconds"]  # fmt: skip
# The signs of a failure: a check's finding, or a fault that stopped the test's own launch.
_FINDING = re.compile(r"Failed: (\S+:\d+:\d+: )?\w+ at |triton_runner\.KernelTrap: ")


def unpacked(name: str) -> pathlib.Path:
    """The folder of the library's sdist, which is downloaded once."""
    folder = libraries.scratch() / f"{name}-sdist"
    if not (folder / "complete").exists():
        folder.mkdir(parents=True, exist_ok=True)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
        requirement = libraries.LIBRARIES[name][0][0]
        subprocess.run([*pip, "--dest", str(folder), requirement], check=True)
        (archive,) = folder.glob("*.tar.gz")
        subprocess.run(["tar", "xzf", archive, "-C", folder], check=True)
        (folder / "complete").touch()
    (inner,) = (path for path in folder.iterdir() if path.is_dir())
    return inner


def extras(name: str) -> pathlib.Path:
    """The folder with what the tests import besides."""
    folder = libraries.scratch() / f"{name}-extras"
    if not (folder / "complete").exists():
        folder.mkdir(parents=True, exist_ok=True)
        if SUITES[name][0]:
            pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder)]
            subprocess.run([*pip, *SUITES[name][0]], check=True)
        (folder / "complete").touch()
    return folder


def run(name: str, level: str, options) -> dict:
    """Returns what a library's tests gave: counts by column, and a line for each test that did not pass."""
    folder = unpacked(name)
    environment = libraries.environment(name)
    paths = [environment["PYTHONPATH"], str(extras(name)), str(HERE.parent / "conformance")]
    environment |= {"PYTHONPATH": os.pathsep.join(paths), "SAMPLE_EACH": str(options.each),
                    "SAMPLE_SECONDS": str(options.seconds)}  # fmt: skip
    junit = libraries.scratch() / f"{name}-{level}.xml"
    junit.unlink(missing_ok=True)
    _, tests, others = SUITES[name]
    others = [*others, *(["-k", options.only] if options.only else [])]
    command = [
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "sampling", "--triton=cpu",
        "-p", "triton_runner_pytest", "--triton-pretend-cuda", f"--triton-level={level}",
        f"--triton-check={CHECKS}", f"--junitxml={junit}", f"--timeout={options.timeout}",
        f"-n{options.jobs}", "--continue-on-collection-errors", *others, *tests,
    ]  # fmt: skip
    done = execute(Case(name, command, environment, folder, options.limit, MEMORY))
    if not junit.exists():
        return {"stopped": f"{done.how}: {done.last_line}", "output": done.output}
    return {**counted(junit, done.output), "seconds": round(done.seconds), "output": done.output}


def counted(junit: pathlib.Path, output: str) -> dict:
    counts: collections.Counter = collections.Counter()
    lines = []
    for case in xml.parse(junit).getroot().iter("testcase"):
        counts["tests"] += 1
        wrong = case.find("failure") if case.find("failure") is not None else case.find("error")
        if wrong is not None:
            kind = (
                "failed by a finding" if _FINDING.match(wrong.get("message", "")) else "failed by themselves"
            )
            lines.append(f"{case.get('name')}: {kind}: {wrong.get('message', '').splitlines()[0][:300]}")
        else:
            kind = "skipped" if case.find("skipped") is not None else "passed"
        counts[kind] += 1
    found = re.search(r"(\d+) launch\w* in .*; (\d+) different", output)
    counts["launches"], counts["judged"] = map(int, found.groups()) if found else (0, 0)
    findings = re.findall(r"^((?:fault|warning), \w+ at .*)", output, re.MULTILINE)
    return {**counts, "findings": findings, "lines": lines}


def record(name: str, level: str, each: int, ran: dict) -> None:
    """Puts the row of a library into the table."""
    old = results.read("suites").get("suites", {"table": {"rows": []}})["table"]["rows"]
    library = libraries.LIBRARIES[name][0][0]
    rows = {tuple(row[:2]): row for row in old}
    shown = {**ran, "library": library, "level": level, "findings": len(ran["findings"])}
    rows[library, level] = [shown.get(column, 0) for column in COLUMNS]
    table = {"columns": COLUMNS, "rows": [rows[key] for key in sorted(rows)]}
    total = {
        c: sum(row[i] for row in rows.values()) for i, c in enumerate(COLUMNS) if 1 < i < len(COLUMNS) - 1
    }
    said = (
        f"{total['tests']} tests with {total['launches']:,} launches: {total['passed']} passed, "
        f"{total['skipped']} skipped, {total['failed by themselves']} failed by themselves, "
        f"{total['failed by a finding']} by a finding; {total['findings']} different findings"
    )
    number = len({row[0] for row in rows.values()})
    what = f"test suites of {number} libraries' sdists under `pytest --triton=cpu`, {each} of each function"
    results.record(
        "suites", "suites", what, "python tests/libraries/suites.py", {"result": said}, table=table
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("libraries", nargs="*", default=list(SUITES), choices=[[], *SUITES])
    parser.add_argument("--level", action="append", default=None)
    parser.add_argument("--each", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=0)
    parser.add_argument("--timeout", type=int, default=600, help="seconds of a test")
    parser.add_argument("--limit", type=int, default=36_000, help="seconds of CPU of a process")
    parser.add_argument("--seconds", type=int, default=36_000, help="after these no test begins")
    parser.add_argument("--only", default="", help="as pytest's -k")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    for name in options.libraries:
        for level in options.level or ["ttir"]:
            ran = run(name, level, options)
            log = libraries.scratch() / f"{name}-{level}.log"
            log.write_text(ran.pop("output"))
            print(f"{name} at {level}: " + ", ".join(f"{k} {v}" for k, v in ran.items() if k != "lines"))
            print("\n".join(f"  {line}" for line in ran.get("lines", ())), flush=True)
            if options.write and "stopped" not in ran:
                record(name, level, options.each, ran)


if __name__ == "__main__":
    main()
