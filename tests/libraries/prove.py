"""Asks `prove` about the kernels that public libraries' operators, and Triton's tutorials, launch.

    python tests/libraries/prove.py [LIBRARY ...] [--only NAME] [--tutorials FOLDER]
                                     [--seconds N] [--write]

Each case of cases_<library>.py, and each tutorial, runs through `triton-runner prove --json`. Of a kernel
that several launch the first row counts. --write records shares and times in results/prove.json.
"""

import argparse
import collections
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import run as libraries  # noqa: E402
from suite import results  # noqa: E402

SECONDS = 3  # for each property
LIMIT = 60  # for a case
GIVEN = "numel < 2**30"
PROPERTIES = ("bounds", "overflow", "disjoint", "covered", "division", "ends")
SETTLED = ("proved", "refuted", "nothing to prove")


def prove(words: list[str], environment: dict[str, str]) -> list[dict]:
    """The proofs of what a program launches; none where it does not end in time."""
    command = [sys.executable, "-m", "triton_runner", "prove", "--json", "--timeout", str(SECONDS)]
    command += ["--given", GIVEN, *words]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=LIMIT, env={**os.environ, **environment}
        )
        return json.loads(done.stdout)["proofs"]
    except (subprocess.TimeoutExpired, ValueError, KeyError):
        return []


def of_library(name: str, only: str, seconds: float) -> list[dict]:
    environment = libraries.environment(name)
    pretend = libraries.LIBRARIES[name][1][-1]
    device = "cuda" if pretend else "cpu"
    words = ["run", *["--pretend-cuda"] * pretend, str(HERE / "cases.py"), name, device, "--names"]
    command = [sys.executable, "-m", "triton_runner", *words]
    listed = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})
    cases = [json.loads(line)["name"] for line in listed.stdout.splitlines() if line.startswith('{"name"')]
    proofs: dict = {}
    end = time.monotonic() + seconds
    for case in cases:
        if only in case and time.monotonic() < end:
            words = [*["--pretend-cuda"] * pretend, str(HERE / "cases.py"), name, device, case]
            for proof in prove(words, environment):
                proofs.setdefault(proof["kernel"], proof)
                print(f"{name}, {case}, {proof['kernel']}: {_verdicts(proof)}", flush=True)
    return [*proofs.values()]


def of_tutorials(folder: str) -> list[dict]:
    proofs: dict = {}
    for script in sorted(pathlib.Path(folder).glob("[0-9]*.py")):
        for proof in prove(["--pretend-cuda", str(script)], {"TRITON_RUNNER_QUICK": "1"}):
            proofs.setdefault(proof["kernel"], proof)
            print(f"{script.name}, {proof['kernel']}: {_verdicts(proof)}", flush=True)
    return [*proofs.values()]


def _verdicts(proof: dict) -> str:
    return f"{proof['seconds']} s, " + ", ".join(
        f"{one['property']} {one['verdict']}" for one in proof["answers"]
    )


def shares(proofs: list[dict]) -> dict[str, str]:
    """Counts, for each property, the kernels with each verdict, without those that have nothing to prove."""
    found = {}
    for name in PROPERTIES:
        count = collections.Counter(
            one["verdict"] for proof in proofs for one in proof["answers"] if one["property"] == name
        )
        whole = sum(count.values()) - count["nothing to prove"]
        found[name] = f"{count['proved']} proved and {count['refuted']} refuted of {whole}"
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("libraries", nargs="*")
    parser.add_argument("--only", default="")
    parser.add_argument("--tutorials", default="")
    parser.add_argument("--seconds", type=float, default=36000, help="no case of a library begins later")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    groups = {name: of_library(name, options.only, options.seconds) for name in options.libraries}
    if options.tutorials:
        groups["tutorials"] = of_tutorials(options.tutorials)
    rows = []
    for name, proofs in groups.items():
        seconds = [proof["seconds"] for proof in proofs]
        share = shares(proofs)
        print(f"{name}: {len(proofs)} kernels; " + "; ".join(f"{key}: {text}" for key, text in share.items()))
        if seconds:
            rows.append(
                [name, len(proofs), *share.values(), round(statistics.median(seconds), 1), max(seconds)]
            )
    if options.write:
        columns = ["of", "kernels", *PROPERTIES, "median s", "longest s"]
        what = f"kernels that operators of libraries and tutorials launch, under `--given '{GIVEN}'`"
        command = "python tests/libraries/prove.py " + " ".join(options.libraries)
        old = results.read("prove").get("libraries", {"table": {"rows": []}})["table"]["rows"]
        rows = [*(row for row in old if row[0] not in groups), *rows]
        said = f"{sum(row[1] for row in rows)} kernels"
        results.record(
            "prove", "libraries", what, command, {"result": said}, table={"columns": columns, "rows": rows}
        )


if __name__ == "__main__":
    main()
