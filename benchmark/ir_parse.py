"""The parser beside Triton's own, one thread, on the same files: MB/s of the IR text.

    python benchmark/ir_parse.py FOLDER [--rounds 5]

FOLDER holds .ttir and .ttgir files. Both sides read each file from disk and parse it; Triton gets one context
with the dialects loaded, as its compiler does. The rounds alternate; the best of each side counts (CPU time
of the thread).
"""

import argparse
import pathlib
import sys
import time


def best_rates(files, rounds):
    """Bytes per second of (ours, Triton's), the best of `rounds` alternating rounds."""
    from triton._C import libtriton
    from triton._C.libtriton import ir as triton_ir
    from triton_runner import ir

    context = triton_ir.context()
    triton_ir.load_dialects(context)
    for name in ("nvidia", "amd"):
        backend = getattr(libtriton, name, None)
        if hasattr(backend, "load_dialects"):
            backend.load_dialects(context)
    total = sum(path.stat().st_size for path in files)
    names = [str(path) for path in files]
    best = [float("inf"), float("inf")]
    for _ in range(rounds):
        start = time.thread_time()
        for name in names:
            ir.parse_file(name)
        middle = time.thread_time()
        for name in names:
            triton_ir.parse_mlir_module(name, context)
        best = [min(best[0], middle - start), min(best[1], time.thread_time() - middle)]
    return total / best[0], total / best[1]


def main():
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("--rounds", type=int, default=5)
    options = arguments.parse_args()
    good = True
    print(f"{'level':8}{'files':>7}{'MB':>8}{'ours MB/s':>12}{'Triton MB/s':>13}{'ratio':>8}")
    for level in ("ttir", "ttgir"):
        files = sorted(options.folder.rglob(f"*.{level}"))
        if not files:
            continue
        ours, theirs = best_rates(files, options.rounds)
        size = sum(path.stat().st_size for path in files) / 1e6
        print(f"{level:8}{len(files):7}{size:8.2f}{ours / 1e6:12.1f}{theirs / 1e6:13.1f}{ours / theirs:8.2f}")
        good = good and ours >= 5 * theirs
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
