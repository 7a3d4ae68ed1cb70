"""Folders of *.hsaco with the *.amdgcn of the same name beside them: what is decoded from the bytes against
what LLVM printed, letter by letter.

    python tests/amd/decoded.py FOLDER [FOLDER ...]

Prints how many kernels and instructions agree, and the first differences; the exit status is 1 where any
differs."""

import pathlib
import sys

from triton_runner import DiagnosticError, _core

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python" / "helpers"))
from amdgcn_texts import differences

SHOWN = 5


def main() -> int:
    failed = False
    for folder in sys.argv[1:]:
        kernels = equal = instructions = 0
        wrong = []
        for path in sorted(pathlib.Path(folder).rglob("*.hsaco")):
            text = path.with_suffix(".amdgcn")
            if not text.exists():
                continue
            kernels += 1
            try:
                decoded = _core.amdgcn_of_hsaco(path.read_bytes(), path.name)
            except DiagnosticError as error:
                wrong.append((path.name, str(error)))
                continue
            count, found = differences(text.read_text(), decoded)
            instructions += count
            equal += not found
            wrong += [(path.name, *pair) for pair in found]
        print(
            f"{folder}: {equal} of {kernels} kernels equal, {instructions} instructions, {len(wrong)} differ"
        )
        for one in wrong[:SHOWN]:
            print("  ", *one, sep="  ")
        failed = failed or bool(wrong) or not kernels
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
