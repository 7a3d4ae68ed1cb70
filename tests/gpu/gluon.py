"""The Gluon tests of tests/python on a GPU: their tensors lie there, and each level is launched there by this
package. What is made for another GPU is skipped, and so are the checks, which are the engines'.

    python tests/gpu/gluon.py OUT [--jobs 14]     needs pytest and Triton 3.9; PARTS=gluon tests/gpu/run.sh

A kernel that faults takes its process's GPU context with it: the tests of one function share a process, and
those that fail there run again alone.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import json
import os
import pathlib
import subprocess
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1] / "python" / "gluon"
# Tests of what the engines and this package's own descriptors say of a mistake.
OF_ENGINES = ("is_looked_at", "is_a_fault", "loaded_kernel", "share_channels", "not_there", "is_a_race")
SAME_FAMILY = {8: ("cuda:80",), 9: ("cuda:80", "cuda:90")}  # what a GPU of that major number runs


def inside(tests: list[str]) -> int:
    """In a process of its own: a line of JSON with each test's outcome."""
    import pytest
    import torch
    import triton
    import triton_runner

    targets = SAME_FAMILY.get(torch.cuda.get_device_capability()[0], ())
    using, outcomes = triton_runner.using, {}

    @contextlib.contextmanager
    def settings(target=None, level=None, check=None, shuffle=None, **others):
        if target is not None and target not in targets:
            pytest.skip(f"made for {target}")
        with using(device="cuda", level=level, **others):
            yield
        torch.cuda.synchronize()

    class Plugin:
        def pytest_runtest_logreport(self, report):
            if report.when == "call" or report.outcome != "passed":
                text = str(report.longrepr).strip().splitlines() if report.failed else []
                errors = [line for line in text if line.startswith("E  ")]
                outcomes[report.nodeid] = report.outcome, (errors or text or [""])[0]

    triton_runner.using = settings
    torch.set_default_device("cuda")
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8))
    pytest.main(["-q", "--tb=short", "-p", "no:cacheprovider", *tests], plugins=[Plugin()])
    print("\noutcomes " + json.dumps(outcomes))
    return 0


def outcomes_of(tests: list[str]) -> dict:
    command = [sys.executable, __file__, "--inside", *tests]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
    found = [line for line in done.stdout.splitlines() if line.startswith("outcomes ")]
    if not found:
        return dict.fromkeys(tests, ("failed", f"its process ended with {done.returncode}"))
    return json.loads(found[-1].removeprefix("outcomes "))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    command += ["-k", f"not ({' or '.join(OF_ENGINES)})"]
    command += map(str, sorted(TESTS.glob("test_gluon_*.py")))
    listed = subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    functions = collections.defaultdict(list)
    for test in (line for line in listed if "::" in line):
        functions[test.partition("[")[0]].append(test)
    outcomes = {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for some in pool.map(outcomes_of, functions.values()):
            outcomes |= some
        again = [test for test, (outcome, _) in outcomes.items() if outcome == "failed"]
        for some in pool.map(outcomes_of, ([test] for test in again)):
            outcomes |= some
    lines = [
        f"{outcome} {test.split('/')[-1]} {error}".rstrip() for test, (outcome, error) in outcomes.items()
    ]
    (options.out / "gluon.txt").write_text("\n".join(sorted(lines)) + "\n")
    counts = collections.Counter(outcome for outcome, _ in outcomes.values())
    print("\n".join(line for line in lines if line.startswith("failed")))
    print(f"gluon: {counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(inside(sys.argv[2:]) if sys.argv[1] == "--inside" else main())
