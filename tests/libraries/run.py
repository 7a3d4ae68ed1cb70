"""Operators of public kernel libraries on the CPU against torch: does what people have run as it is?

    python tests/libraries/run.py [LIBRARY ...] [--level ttir] [--only NAME] [--write]

Installs the libraries (without what they depend on, but for what they import) into a scratch folder,
$TRITON_RUNNER_LIBRARIES or one in the temporary folder; runs every case of cases_<library>.py through
`triton-runner run` and prints a row a case that is not right, and the counts. --write puts the counts into
doc/measurements/verified.md, whose other rows stay.
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
DOC = HERE.parents[1] / "doc" / "measurements" / "libraries.md"
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


def environment(name: str) -> dict[str, str]:
    """What a process that runs a library's cases has in its environment; installs the library."""
    return {
        "TRITON_RUNNER_PROD": "1",
        "PYTHONWARNINGS": "ignore",
        "PYTHONPATH": os.pathsep.join(filter(None, [str(install(name)), os.environ.get("PYTHONPATH")])),
        **LIBRARIES[name][2],
    }


def run(name: str, level: str, pretend: bool, only: str) -> list[dict]:
    """The result of each case: {"name", "result", "text"}."""
    command = [sys.executable, "-m", "triton_runner", "run", "--device", "cpu", "--level", level]
    command += ["--pretend-cuda"] if pretend else []
    command += [str(HERE / "cases.py"), name, "cuda" if pretend else "cpu", only]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=os.environ | environment(name))
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"name"')]
    if done.returncode:
        rows.append({"name": name, "result": "stopped", "text": f"status {done.returncode}"})
    return rows


def write(counts: dict) -> None:
    """Puts rows into the table of doc/measurements/verified.md, in place of those for the same run."""
    head, _, rest = DOC.read_text().partition("<!-- table -->\n")
    table, _, tail = rest.partition("<!-- end -->")
    heading, rule, *lines = table.splitlines()
    rows = {tuple(line.split(" | ")[:3]): line for line in lines}
    for (name, level, pretend), results in counts.items():
        right = sum(row["result"] == "right" for row in results)
        others = ", ".join(f"`{row['name']}` {row['result']}" for row in results if row["result"] != "right")
        key = f"| {LIBRARIES[name][0][0]}", "yes" if pretend else "no", level
        rows[key] = " | ".join([*key, str(len(results)), str(right), f"{others or '-'} |"])
    DOC.write_text("\n".join([f"{head}<!-- table -->", heading, rule, *rows.values(), f"<!-- end -->{tail}"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("libraries", nargs="*", default=list(LIBRARIES), choices=[[], *LIBRARIES])
    parser.add_argument("--level", action="append", default=None)
    parser.add_argument("--only", default="")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    counts = {}
    for name in options.libraries:
        for level, pretend in itertools.product(options.level or ["ttir"], LIBRARIES[name][1]):
            results = counts[name, level, pretend] = run(name, level, pretend, options.only)
            where = f"{name} at {level}{' with --pretend-cuda' if pretend else ''}"
            for row in results:
                if row["result"] != "right":
                    print(f"{where}, {row['name']}: {row['result']}: {row['text']}")
            right = sum(row["result"] == "right" for row in results)
            print(f"{where}: {right} of {len(results)} operators as torch", flush=True)
    if options.write:
        write(counts)
    sys.exit(any(row["result"] != "right" for results in counts.values() for row in results))


if __name__ == "__main__":
    main()
