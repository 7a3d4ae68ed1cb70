"""The PTX parser on one thread: MB/s of text, reading the files from disk included.

    python benchmark/ptx_parse.py FOLDER... [--rounds 5]

The folders hold .ptx files. The best round counts (CPU time of the thread). Each file must give its text
back, and its canonical text must parse to the same canonical text; that is checked once and not timed.
"""

import argparse
import pathlib
import sys
import time

from triton_runner import ptx


def seconds(files):
    """CPU time of parsing every file once."""
    start = time.thread_time()
    for file in files:
        ptx.parse_file(file)
    return time.thread_time() - start


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=pathlib.Path, nargs="+")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    paths = [path for folder in options.folder for path in sorted(folder.rglob("*.ptx"))]
    if not paths:
        parser.error("no .ptx in there")
    wrong = instructions = 0
    for path in paths:
        text = path.read_text()
        module = ptx.parse(text, str(path))
        canonical = module.canonical()
        instructions += sum(len(f.instructions) for f in module.functions)
        if str(module) != text or ptx.parse(canonical).canonical() != canonical:
            wrong += 1
            print(f"{path}: does not print back")
    size = sum(path.stat().st_size for path in paths)
    best = min(seconds([str(path) for path in paths]) for _ in range(options.rounds))
    print(
        f"{len(paths)} files, {size / 1e6:.1f} MB, {instructions} instructions: {size / best / 1e6:.0f} MB/s,"
        f" {instructions / best / 1e6:.1f} M instructions/s; {wrong} do not print back"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
