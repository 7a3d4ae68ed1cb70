"""Operators of public kernel libraries on the CPU against torch: does what people have run as it is?

    python tests/libraries/run.py [LIBRARY ...] [--level ttir] [--target hip:gfx942] [--only NAME]
                                      [--check overflow] [--write]

Installs the libraries (without what they depend on, but for what they import) into a scratch folder,
$TRITON_RUNNER_LIBRARIES or one in the temporary folder; runs every case of cases_<library>.py through
`triton-runner run` and prints a row a case that is not right, and the counts. --check passes checks on: a
case that is right without them and not with them is a false alarm, or a fault of the library. --write records
the counts in results/libraries.json, whose other rows stay.
"""

import argparse
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
from suite import results  # noqa: E402
from suite.run import Case, execute  # noqa: E402

LIMIT = 36_000  # seconds of CPU time of a library's cases
SHORT = {"TRITON_RUNNER_QUICK": "1", "TRITON_RUNNER_PROGRAMS": "4"}  # where no result of an operator matters
LIBRARIES = {
    # what is installed, with and without --pretend-cuda, and what it reads from the environment
    "liger_kernel": (["liger-kernel==0.8.5"], (False, True), {}),
    "flag_gems": (
        # Triton 3.9 has no block pointers any more, which flag_gems uses.
        ["flag_gems==5.0.2", "packaging", "PyYAML", "sqlalchemy", "typing_extensions", "triton==3.6.0"],
        (True,),  # it does not import without a GPU
        {"GEMS_VENDOR": "nvidia"},
    ),
    # Refuses its own gated kernels with 3.4 to 3.7.0, and uses block pointers.
    "fla": (["fla-core==0.6.0", "einops", "triton==3.7.1"], (True,), {}),
    "mlstm_kernels": (["mlstm-kernels==2.0.6", "einops", "PyYAML", "triton==3.7.1"], (True,), {}),
    "sageattention": (["sageattention==1.0.6"], (True,), {}),
    "cut_cross_entropy": (["cut-cross-entropy==25.1.1"], (True,), {}),
    "stk": (["stanford-stk==0.7.1"], (True,), {}),
    "lightning_attn": (["lightning-attn==0.0.5", "einops"], (True,), {}),
    "accelerated_scan": (["accelerated-scan==0.3.1"], (True,), {}),
    "conch": (["conch-triton-kernels==1.3"], (False, True), {}),
    "bitsandbytes": (["bitsandbytes==0.50.2", "packaging"], (True,), {}),
    "adasplash": (["adasplash==0.2.2"], (True,), {}),
}


ON_AMD = {"flag_gems": {"GEMS_VENDOR": "amd"}}  # what a library reads for a target "hip:..."


def scratch() -> pathlib.Path:
    """The folder that libraries are installed into."""
    chosen = os.environ.get("TRITON_RUNNER_LIBRARIES")
    return pathlib.Path(chosen or pathlib.Path(tempfile.gettempdir()) / "triton-runner-libraries")


def install(name: str) -> pathlib.Path:
    """The folder with a library, which is installed into it once."""
    folder = scratch() / name
    if not (folder / "complete").exists():
        packages = LIBRARIES[name][0]
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder)]
        subprocess.run([*pip, *packages], check=True)
        (folder / "complete").touch()
    return folder


def environment(name: str, target: str = "") -> dict[str, str]:
    """Returns what a process that runs a library's cases has in its environment; installs the library."""
    return {
        "TRITON_RUNNER_PROD": "1",
        "PYTHONWARNINGS": "ignore",
        "PYTHONPATH": os.pathsep.join(filter(None, [str(install(name)), os.environ.get("PYTHONPATH")])),
        **LIBRARIES[name][2],
        **(ON_AMD.get(name, {}) if target.startswith("hip:") else {}),
    }


def run(name: str, level: str, pretend: bool, only: str, check: str = "", target: str = "") -> list[dict]:
    """The result of each case: {"name", "result", "text"}."""
    command = [sys.executable, "-m", "triton_runner", "run", "--device", "cpu", "--level", level]
    command += ["--pretend-cuda"] if pretend else []
    command += ["--check", check] if check else []
    command += ["--target", target] if target else []
    command += [str(HERE / "cases.py"), name, "cuda" if pretend else "cpu", only]
    done = execute(Case(name, command, environment(name, target), pathlib.Path.cwd(), LIMIT))
    rows = [json.loads(line) for line in done.output.splitlines() if line.startswith('{"name"')]
    if done.how:
        rows.append({"name": name, "result": "stopped", "text": f"{done.how}: {done.last_line}"})
    return rows


COLUMNS = ["library", "operators", "as torch", "others"]


def record(level: str, pretend: bool, check: str, counts: dict[str, list[dict]], target: str = "") -> None:
    """Puts the libraries' rows into the table of their level, in place of those for the same library."""
    key = " ".join(filter(None, ["cuda" if pretend else "cpu", level, target, check]))
    old = results.read("libraries").get(key, {"table": {"rows": []}})["table"]["rows"]
    rows = {row[0]: row for row in old}
    for name, found in counts.items():
        library = LIBRARIES[name][0][0]
        others = ", ".join(f"`{row['name']}` {row['result']}" for row in found if row["result"] != "right")
        right = sum(row["result"] == "right" for row in found)
        rows[library] = [library, len(found), right, others or None]
    how = "with `--pretend-cuda`" if pretend else "as they are"
    of = "one library" if len(rows) == 1 else f"{len(rows)} libraries"
    what = f"operators of {of} beside torch, {how}, {level}" + (f", {target}" if target else "")
    command = "python tests/libraries/run.py" + (f" --level {level}" if level != "ttir" else "")
    command += f" --target {target}" if target else ""
    if check:
        what, command = f'{what}, under `check="{check}"`', f"{command} --check {check}"
    said = f"{sum(row[2] for row in rows.values())} of {sum(row[1] for row in rows.values())} as torch"
    table = {"columns": COLUMNS, "rows": list(rows.values())}
    results.record("libraries", key, what, command, {"result": said}, table=table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("libraries", nargs="*", default=list(LIBRARIES), choices=[[], *LIBRARIES])
    parser.add_argument("--level", action="append", default=None)
    parser.add_argument("--only", default="")
    parser.add_argument("--check", default="")
    parser.add_argument("--target", default="", help="hip:gfx942, in the place of the setting's")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    counts = {}
    for name in options.libraries:
        for level, pretend in itertools.product(options.level or ["ttir"], LIBRARIES[name][1]):
            rows = counts[name, level, pretend] = run(
                name, level, pretend, options.only, options.check, options.target
            )
            where = f"{name} at {level}{' with --pretend-cuda' if pretend else ''}"
            for row in rows:
                if row["result"] != "right":
                    print(f"{where}, {row['name']}: {row['result']}: {row['text']}")
            right = sum(row["result"] == "right" for row in rows)
            print(f"{where}: {right} of {len(rows)} operators as torch", flush=True)
    if options.write:
        for level, pretend in dict.fromkeys((level, pretend) for _, level, pretend in counts):
            of_way = {n: rows for (n, *way), rows in counts.items() if way == [level, pretend]}
            record(level, pretend, options.check, of_way, options.target)
    sys.exit(any(row["result"] != "right" for rows in counts.values() for row in rows))


if __name__ == "__main__":
    main()
