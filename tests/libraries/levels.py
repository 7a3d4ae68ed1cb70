"""Launches of the libraries' operators at TTGIR and at PTX: of how many are the results byte-equal?

    python tests/libraries/levels.py [LIBRARY ...] [--only NAME] [--programs 16] [--write]

Each kernel that a case compiles is launched once: at TTGIR as it is, at TTGIR with numerics="hardware", and
at PTX, which rounds as an H200 does. Prints the launches that differ with the setting, and the counts;
--write records them in results/numerics.json, whose other rows stay.
"""

import argparse
import collections
import hashlib
import json
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import run  # noqa: E402
from suite import results  # noqa: E402
from suite.run import Case, execute  # noqa: E402

WAYS = {"ttgir": {}, "hardware": {"numerics": "hardware"}}


def child(library: str, only: str, programs: int) -> None:
    """In `triton-runner run`: a JSON line a launch."""
    import cases
    from triton_runner._artifact.relaunch import of_call
    from triton_runner._launch.launchers import observing

    seen = set()

    def digest(outcome) -> list:
        arrays = {name: hashlib.sha1(array.tobytes()).hexdigest() for name, array in outcome.arrays.items()}
        return [outcome.trap is not None, sorted(arrays.items())]

    def look(call) -> None:
        launch = of_call(call)
        key = hashlib.sha1(launch.texts["ttgir"].encode()).hexdigest()
        if key in seen or "ptx" not in launch.levels:
            return
        seen.add(key)
        row = {"launch": call.name, "key": key[:10]}
        expected = digest(launch.run("ptx", programs=programs))
        row["seconds"] = {}
        for way, settings in WAYS.items():
            began = time.perf_counter()
            row[way] = digest(launch.run("ttgir", programs=programs, **settings)) == expected
            row["seconds"][way] = time.perf_counter() - began
        print(json.dumps(row), flush=True)

    def observer(call, go) -> None:
        try:
            look(call)
        except Exception as error:
            print(
                json.dumps({"launch": call.name, "error": f"{type(error).__name__}: {error}"[:300]}),
                flush=True,
            )
        go()

    with observing(observer):
        cases.main(library, "cuda", only)


def launches(library: str, only: str, programs: int) -> list[dict]:
    command = [sys.executable, "-m", "triton_runner", "run", "--device", "cpu", "--pretend-cuda"]
    command += ["--level", "ttgir", str(HERE / "levels.py")]
    command += ["--child", library, "--only", only, "--programs", str(programs)]
    environment = run.environment(library) | {"TRITON_DEFAULT_FP_FUSION": "1"}
    done = execute(Case(library, command, environment, pathlib.Path.cwd(), run.LIMIT))
    if done.how:
        print(f"{library}: {done.how}: {done.last_line}")
    return [json.loads(line) for line in done.output.splitlines() if line.startswith('{"launch"')]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("libraries", nargs="*", default=[], choices=[[], *run.LIBRARIES])
    parser.add_argument("--child", default="")
    parser.add_argument("--only", default="")
    parser.add_argument("--programs", type=int, default=16)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if options.child:
        return child(options.child, options.only, options.programs)
    rows, seconds = [], collections.Counter()
    for library in options.libraries or list(run.LIBRARIES):
        found = launches(library, options.only, options.programs)
        for row in found:
            seconds.update(row.get("seconds", {}))
            if not row.get("hardware"):
                print(f"  {library}: {row['launch']} {row.get('key', '')} {row.get('error', 'differs')}")
        counts = [sum(bool(row.get(way)) for row in found) for way in WAYS]
        rows.append([run.LIBRARIES[library][0][0], len(found), *counts])
        print(
            f"{library}: {counts[1]} of {len(found)} launches byte-equal, {counts[0]} without the setting",
            flush=True,
        )
    total = [sum(row[i] for row in rows) for i in (1, 2, 3)]
    spent = ", ".join(f"{way} {seconds[way]:.1f} s" for way in WAYS)
    print(f"all: {total[2]} of {total[0]}, {total[1]} without the setting; {spent}")
    if options.write:
        record(rows)


def record(rows: list[list]) -> None:
    """Puts the libraries' rows into the table in place of those for the same libraries; the others stay."""
    columns = ["library", "launches", "byte-equal as they are", 'with numerics="hardware"']
    old = results.read("numerics").get("all", {"table": {"rows": []}})["table"]["rows"]
    rows = list({row[0]: row for row in [*old, *rows]}.values())
    launches, plain, hardware = (sum(row[i] for row in rows) for i in (1, 2, 3))
    said = f'{hardware} of {launches} with numerics="hardware", {plain} without'
    what = f"launches of operators of {len(rows)} libraries at TTGIR, byte-equal to PTX"
    table = {"columns": columns, "rows": rows}
    results.record("numerics", "all", what, "python tests/libraries/levels.py", {"result": said}, table=table)


if __name__ == "__main__":
    main()
