"""Runs benchmarks: each section is checked, timed and shown, and the results are written."""

from __future__ import annotations

import os

from triton_runner._base.progress import telling


def run(sections, rounds: int, seconds: float, quiet: bool = False) -> tuple[list, bool]:
    """Checks, times and shows each section; (the sections, whether all results were right)."""
    # These imports take longer than the other verbs.
    from triton_runner.bench import report
    from triton_runner.bench.rounds import check, measure

    done, right = [], True
    for section in sections:
        right &= check(section)
        with telling(section.title, bar=True) as report_progress:
            measure(section, rounds, seconds, lambda done, total: report_progress(None, done, total))
        if not quiet:
            report.show(section)
        done.append(section)
    return done, right


def environment(threads: int) -> None:
    """Sets what holds while something is measured, in other interpreters too."""
    os.environ["TRITON_RUNNER_PROD"] = "1"  # no messages between the launches
    os.environ["TRITON_ALWAYS_COMPILE"] = "0"
    os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")  # 3.9 warns where this is left open
    for name in ("TRITON_RUNNER_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(threads)
