"""Looks for launches in which what `prove` proved is not so: of the kernels of proved_table.py,
varied_table.py, odd_table.py and careless_table.py, and of those that public libraries' operators launch.

    python tests/python/prove/sound.py [LIBRARY ...] [--launches 90] [--seconds 60] [--jobs 1] [--write]

The launches that build/sound.jsonl has of a kernel count, so that a run goes on where an earlier one ended.
--seconds bounds the launches of a kernel beyond the first 50, and --jobs is how many kernels are looked at at
a time. --write counts that file in results/prove.json, in which groups that it does not have stay.
"""

import argparse
import hashlib
import json
import multiprocessing
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE), str(ROOT / "tests" / "libraries"), str(ROOT / "tests")]
KEPT = ROOT / "build" / "sound.jsonl"
_LEAST = 50  # launches of a kernel, however long they take
GIVEN = "numel < 2**30"  # of what libraries launch, as in the table of shares


def kept() -> dict:
    rows = map(json.loads, KEPT.read_text().splitlines()) if KEPT.exists() else ()
    return {row["key"]: row for row in rows}


def look(group: str, subject, options, known: dict) -> None:
    """Draws launches of a subject, as far as it does not have so many, and keeps how many there were."""
    import drawn

    launches, seconds = options.launches, options.seconds

    words = [subject.text, *sorted(one.text for one in subject.assumptions)]
    key = hashlib.sha256("\n".join(words).encode()).hexdigest()[:16]
    row = known.setdefault(
        key, {"key": key, "group": group, "kernel": subject.name, "asked": 0, "launches": 0, "late": 0,
              "large": 0, "wrong": []}
    )  # fmt: skip
    if row["asked"] >= launches:
        return
    seed = f"{key} {row['asked']}"
    if row["asked"] and subject.where_alike() is None:  # it was proved in the run before
        parts = [drawn.Drawing(subject, row["proved"], seed, seconds / launches)]
    else:
        parts = drawn.drawings(subject, 5, seed, seconds / launches)
    for each, drawing in enumerate(parts * 2):
        is_again = each >= len(parts)  # of two one may give too few
        share = 1 if is_again else len(parts)
        least = max(_LEAST - row["launches"], 0) // share
        if is_again and not least:
            break
        most = least if is_again else (launches - row["asked"]) // share
        counts = drawing.count(most, seconds / len(parts), least)
        for name in ("launches", "late", "large", "wrong"):
            row[name] += getattr(counts, name)
    row |= {"asked": launches, "proved": sorted({one for part in parts for one in part.proved})}
    with KEPT.open("a") as file:
        file.write(json.dumps(row) + "\n")
    print(f"{group}, {subject.name}: {row['launches']} launches, {len(row['wrong'])} wrong", flush=True)
    for text in row["wrong"][:3]:
        print(f"  {text}", flush=True)


_ASKED: list = []  # (group, subject): the processes that look at them have it by a fork


def _look(number: int, options) -> None:
    group, subject = _ASKED[number]
    try:
        look(group, subject, options, kept())
    except Exception as error:  # the others are looked at
        print(f"{group}, {subject.name}: {type(error).__name__}: {error}", flush=True)


def look_at(pairs: list, options) -> None:
    """Looks at subjects of groups, several at a time."""
    _ASKED[:] = pairs
    with multiprocessing.get_context("fork").Pool(options.jobs, maxtasksperchild=1) as pool:
        waiting = [pool.apply_async(_look, (number, options)) for number in range(len(pairs))]
        for one in waiting:
            one.get()


def of_tables(options) -> None:
    import subjects

    pairs = [("tables", subjects.subject(name)) for name in subjects.KERNELS]
    pairs += [("odd kernels", subjects.made(*row)) for row in subjects.ODD.values()]
    look_at(pairs, options)


def of_library(name: str, options) -> None:
    """Inside of a program that `triton-runner run` runs: the kernels of a library's cases."""
    import cases
    from triton_runner.verbs.prove.launches import Watching

    watching = Watching((), 2000, None)
    with watching.looking():
        cases.main(name, "cuda", "")
    for subject in watching.subjects:
        subject.assume((GIVEN,), None)
        subject.simplify()
    look_at([(name, subject) for subject in watching.subjects], options)


def write() -> None:
    from suite import results

    rows = [*kept().values()]
    groups = list(dict.fromkeys(row["group"] for row in rows))
    old = results.read("prove").get("sound", {"table": {"rows": []}})["table"]["rows"]
    table = [row for row in old if row[0] not in groups]
    for group in groups:
        own = [row for row in rows if row["group"] == group and row["proved"]]
        sums = [sum(row[name] for row in own) for name in ("launches", "large", "late")]
        least = min((row["launches"] for row in own), default=0)
        wrong = sum(len(row["wrong"]) for row in own)
        table.append([group, len(own), *sums, least, wrong])
    said = (
        f"{sum(row[2] for row in table):,} launches of {sum(row[1] for row in table)} kernels, "
        f"{sum(row[3] for row in table):,} of them with more than 2^30 elements: "
        f"{sum(row[6] for row in table)} go against a proof"
    )
    columns = ["of", "kernels", "launches", "large", "stopped by their time", "fewest of a kernel", "wrong"]
    what = "random launches of kernels of which `prove` proved something"
    names = [row[0] for row in table if row[0] not in ("tables", "odd kernels")]
    command = "python tests/python/prove/sound.py " + " ".join(names)
    results.record("prove", "sound", what, command.strip(), {"result": said},
                   table={"columns": columns, "rows": table})  # fmt: skip
    print(said)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("libraries", nargs="*")
    parser.add_argument("--launches", type=int, default=90)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--inside", default="", help=argparse.SUPPRESS)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    KEPT.parent.mkdir(exist_ok=True)
    if options.inside:
        return of_library(options.inside, options)
    if not options.libraries:
        of_tables(options)
    for name in options.libraries:
        import run as libraries

        command = [sys.executable, "-m", "triton_runner", "run", "--device", "cpu", "--pretend-cuda"]
        command += [__file__, "--inside", name, "--launches", str(options.launches)]
        command += ["--seconds", str(options.seconds), "--jobs", str(options.jobs)]
        environment = libraries.environment(name) | libraries.SHORT
        subprocess.run(command, env={**os.environ, **environment})
    if options.write:
        write()
    return None


if __name__ == "__main__":
    main()
