"""Asks `prove` about the kernels that public libraries' operators, and Triton's tutorials, launch.

    python tests/libraries/prove.py [LIBRARY ...] [--only NAME] [--tutorials FOLDER] [--reasons] [--jobs 1]
        [--write]

The cases of cases_<library>.py run in one program, and each tutorial is one, through `triton-runner prove
--json`. A kernel with other constants, or whose sizes belong together otherwise, is another row. Seconds are
those of the processor. What is proved or refuted of a library's kernel counts where the kernel takes less
than LIMIT of them; tutorials have more time. What a library or a tutorial gave is kept in build/prove and not
run again. --reasons counts what stops the others; --write records shares and times in results/prove.json.
"""

import argparse
import collections
import functools
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import run as libraries  # noqa: E402
from suite import results  # noqa: E402

SECONDS, OF_TUTORIALS = 1, 5  # for each property
LIMIT = 5  # for a kernel
KEPT = HERE.parents[1] / "build" / "prove"
GIVEN = "numel < 2**30"
# The data of a kernel lies in these bounds, which its library's operators take for granted.
DECLARED = {
    "liger_kernel": {"liger_cross_entropy_kernel": "Y_ptr in 0..n_cols"},
    "flag_gems": {"embedding_kernel": "in_ptr in 0..M"},
}
PROPERTIES = ("bounds", "overflow", "disjoint", "covered", "division", "ends")


def kept(name: str, make) -> list[dict]:
    """Reads what was proved earlier, or proves it now."""
    path = KEPT / f"{name}.json"
    if not path.exists():
        found = make()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(found))
    return json.loads(path.read_text())


def prove(
    words: list[str], environment: dict[str, str], seconds: float = SECONDS, jobs: int = 1
) -> list[dict]:
    """The proofs of what a program launches; none where it fails."""
    command = [sys.executable, "-m", "triton_runner", "prove", "--json", "--timeout", str(seconds)]
    command += ["--jobs", str(jobs)]
    command += [word for name in PROPERTIES for word in ("--property", name)]
    command += ["--launches", "2000", "--given", GIVEN, *words]
    KEPT.mkdir(parents=True, exist_ok=True)  # tutorials write their pictures where they are run
    done = subprocess.run(
        command, cwd=KEPT, capture_output=True, text=True, env={**os.environ, **environment}
    )
    try:
        return json.loads(done.stdout[done.stdout.index("{\n") :])["proofs"]
    except (ValueError, KeyError):
        print(f"{words[-3:]}: {done.stderr.strip()[-300:]}", flush=True)
        return []


def of_library(name: str, only: str, jobs: int) -> list[dict]:
    environment = libraries.environment(name) | libraries.SHORT
    pretend = libraries.LIBRARIES[name][1][-1]
    words = [*["--pretend-cuda"] * pretend, str(HERE / "cases.py"), name, "cuda" if pretend else "cpu", only]
    proofs = prove(words, environment, jobs=jobs)
    for kernel, given in DECLARED.get(name, {}).items():
        if any(proof["kernel"] == kernel for proof in proofs):
            again = prove(["--kernel", kernel, "--given", given, *words], environment)
            if again:
                proofs = [proof for proof in proofs if proof["kernel"] != kernel] + again
    for proof in proofs:
        print(f"{name}, {proof['kernel']}: {_verdicts(proof)}", flush=True)
    return proofs


def of_tutorials(folder: str) -> list[dict]:
    found = []
    for script in sorted(pathlib.Path(folder).glob("[0-9]*.py")):
        words = ["--pretend-cuda", str(script.resolve())], {"TRITON_RUNNER_QUICK": "1"}, OF_TUTORIALS
        for proof in kept(script.stem, functools.partial(prove, *words)):
            found.append(proof)
            print(f"{script.name}, {proof['kernel']}: {_verdicts(proof)}", flush=True)
    return found


def _verdicts(proof: dict) -> str:
    return f"{proof['seconds']} s, " + ", ".join(
        f"{one['property']} {one['verdict']}" for one in proof["answers"]
    )


def shares(proofs: list[dict], limit: float) -> dict[str, str]:
    """Counts, for each property, the kernels with each verdict, without those that have nothing to prove;
    what took more than the limit is not decided."""
    found = {}
    for name in PROPERTIES:
        count = collections.Counter(
            one["verdict"] if proof["seconds"] < limit or one["verdict"] == "nothing to prove" else "late"
            for proof in proofs
            for one in proof["answers"]
            if one["property"] == name
        )
        whole = sum(count.values()) - count["nothing to prove"]
        found[name] = f"{count['proved']}+{count['refuted']}/{whole}"
    return found


def _together(rows: list[list]):
    """The share of all rows for each property, whose cells begin with numbers: proved, refuted, of."""
    for column, name in enumerate(PROPERTIES, 2):
        proved, refuted, whole = (
            sum(numbers)
            for numbers in zip(*(map(int, re.findall(r"\d+", row[column])[:3]) for row in rows), strict=True)
        )
        yield f"{name} {proved + refuted} of {whole}"


def reasons(proofs: list[dict]):
    """(how many kernels, property, what stops it), the most frequent first."""
    count: collections.Counter = collections.Counter()
    for proof in proofs:
        stops = {
            (answer["property"], re.sub(r"\S+\.py:\d+|'[^']*'|\d+(\.\d+)?", "#", reason["text"]))
            for answer in proof["answers"]
            if answer["verdict"] == "unknown"
            for reason in answer["reasons"]
        }
        count.update(stops)
    return [(number, *stop) for stop, number in count.most_common()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("libraries", nargs="*")
    parser.add_argument("--only", default="")
    parser.add_argument("--tutorials", default="")
    parser.add_argument("--reasons", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if unknown := {*options.libraries} - {*libraries.LIBRARIES}:
        parser.error(f"no library {', '.join(unknown)}; there are {', '.join(libraries.LIBRARIES)}")
    make = {
        name: functools.partial(of_library, name, options.only, options.jobs) for name in options.libraries
    }
    groups = {name: of() if options.only else kept(name, of) for name, of in make.items()}
    if options.tutorials:
        groups["tutorials"] = of_tutorials(options.tutorials)
    if len(groups) > 1:
        groups["all"] = [proof for proofs in groups.values() for proof in proofs]
    for number, *stop in reasons(groups.get("all", [])) if options.reasons else ():
        print(number, *stop)
    rows = []
    for name, proofs in groups.items():
        seconds = [proof["seconds"] for proof in proofs]
        share = shares(proofs, math.inf if name == "tutorials" else LIMIT)
        print(f"{name}: {len(proofs)} kernels; " + "; ".join(f"{key}: {text}" for key, text in share.items()))
        if seconds:
            rows.append(
                [name, len(proofs), *share.values(), round(statistics.median(seconds), 1), max(seconds)]
            )
    if options.write:
        columns = ["of", "kernels", *PROPERTIES, "median s", "longest s"]
        what = f"kernels that libraries and tutorials launch, `--given '{GIVEN}'`, decided in {LIMIT} s"
        command = "python tests/libraries/prove.py LIBRARY ... --tutorials FOLDER"
        old = results.read("prove").get("libraries", {"table": {"rows": []}})["table"]["rows"]
        rows = [*(row for row in old if row[0] not in groups), *rows]
        rows = [row for row in rows if row[0] != "all"]
        said = f"{sum(row[1] for row in rows)} kernels; proved or refuted: " + ", ".join(_together(rows))
        results.record(
            "prove", "libraries", what, command, {"result": said}, table={"columns": columns, "rows": rows}
        )


if __name__ == "__main__":
    main()
