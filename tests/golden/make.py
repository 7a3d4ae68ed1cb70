#!/usr/bin/env python3
"""Writes the golden cases whose expected output comes from an oracle: exact rationals, mpmath, or NumPy.

    python tests/golden/make.py [--check] [part-of-name ...]

--check writes nothing and fails when a file differs from what the oracle says (a test of `make test` runs
it).
"""

from __future__ import annotations

import argparse
import importlib
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
CASES = HERE.parent / "cases"
sys.path.insert(0, str(HERE.parent))

FAMILIES = [
    "elementwise", "casts", "transcendental", "tiles", "sums", "control", "gpu", "old", "rare_ops",
    "machine_ops", "amd", "thread_asm", "tensor_memory", "im2col", "addresses", "clusters",
]  # fmt: skip


def all_cases():
    seen = set()
    for family in FAMILIES:
        for case in importlib.import_module(f"golden.{family}").cases():
            assert case.path not in seen, f"two cases are called {case.path}"
            seen.add(case.path)
            yield case


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    parser.add_argument("parts", nargs="*", help="only cases whose path contains one of these")
    options = parser.parse_args()
    count = different = 0
    for case in all_cases():
        if options.parts and not any(part in case.path for part in options.parts):
            continue
        count += 1
        path, text = CASES / case.path, case.text()
        if path.exists() and path.read_text() == text:
            continue
        different += 1
        print(f"{'differs' if options.check else 'wrote'} {path.relative_to(HERE.parent.parent)}")
        if not options.check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
    print(f"golden: {count} cases, {different} {'differ' if options.check else 'written'}")
    return 1 if options.check and different else 0


if __name__ == "__main__":
    sys.exit(main())
