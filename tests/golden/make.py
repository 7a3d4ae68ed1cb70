#!/usr/bin/env python3
"""Makes the golden cases whose expected output comes from an oracle: exact rationals, mpmath, or NumPy.

    python tests/golden/make.py [--update] [part-of-name ...]

They lie in build/golden, where run_cases.py makes them too. digests.txt has a digest of each: a case that is
made otherwise is printed as it was when digests.txt was last committed (by the scripts of that commit), with
the difference, and the exit status is 1. --update writes digests.txt; read the differences before.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import importlib
import io
import pathlib
import subprocess
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
INTO = ROOT / "build" / "golden"
DIGESTS = HERE / "digests.txt"
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


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def recorded() -> dict[str, str]:
    """The digest of each case by its path."""
    return dict(line.split() for line in DIGESTS.read_text().splitlines())


def write(into: pathlib.Path = INTO) -> list[str]:
    """Makes all cases, unless they lie there made by these very scripts. The paths whose digest differs from
    digests.txt, those of one side only among them."""
    sources = [*sorted(HERE.glob("*.py")), DIGESTS]
    state = digest("".join(path.read_text() for path in sources))
    stamp = into / "made-by"
    if stamp.is_file() and stamp.read_text() == state:
        return []
    texts = {case.path: case.text() for case in all_cases()}
    for path in into.rglob("*.*"):
        if str(path.relative_to(into)) not in texts:
            path.unlink()
    for name, text in texts.items():
        path = into / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            new = path.with_name(f".{path.name}.new")
            new.write_text(text)
            new.replace(path)
    made = {name: digest(text) for name, text in texts.items()}
    known = recorded()
    different = sorted(name for name in made.keys() | known if made.get(name) != known.get(name))
    if not different:
        stamp.write_text(state)
    return different


def as_recorded(into: pathlib.Path) -> str:
    """Makes the cases by the scripts of the commit that last changed digests.txt. Why it cannot, or ""."""
    git = ["git", "-C", str(HERE)]
    last = subprocess.run(
        [*git, "log", "-1", "--format=%H", "--", DIGESTS.name], capture_output=True, text=True
    )
    if last.returncode or not last.stdout.strip():
        return "git does not know the commit that recorded the digests"
    packed = subprocess.run([*git, "archive", last.stdout.strip(), "."], capture_output=True)
    if packed.returncode:
        return packed.stderr.decode("utf-8", "replace").strip()
    with tempfile.TemporaryDirectory() as folder:
        scripts = pathlib.Path(folder) / "golden"
        with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
            archive.extractall(scripts, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
        program = f"import sys, pathlib; sys.path.insert(0, {folder!r}); from golden import make; "
        program += f"make.write(pathlib.Path({str(into)!r}))"
        made = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    return made.stderr[-2000:] if made.returncode else ""


def explain(different: list[str]) -> None:
    """Prints of each case what was expected and the difference."""
    known = recorded()
    with tempfile.TemporaryDirectory() as folder:
        into = pathlib.Path(folder)
        if trouble := as_recorded(into):
            print(f"what was expected cannot be made again: {trouble}")
        for name in different:
            old, new = ((root / name).read_text() if (root / name).exists() else "" for root in (into, INTO))
            print(f"differs {name}")
            if old and digest(old) != known.get(name):
                print("the scripts that were committed with digests.txt do not make it either")
                continue
            print(f"---- expected {name}\n{old}---- end")
            sides = old.splitlines(), new.splitlines()
            print("\n".join(difflib.unified_diff(*sides, "expected", "made", lineterm="", n=1)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--update", action="store_true", help="write digests.txt")
    parser.add_argument("parts", nargs="*", help="show only cases whose path contains one of these")
    options = parser.parse_args()
    different = write()
    shown = [name for name in different if not options.parts or any(part in name for part in options.parts)]
    if options.update:
        paths = sorted(INTO.rglob("*.tt*ir"))
        rows = [f"{path.relative_to(INTO)} {digest(path.read_text())}\n" for path in paths]
        DIGESTS.write_text("".join(rows))
        print("\n".join(f"recorded {name}" for name in different))
    elif shown:
        explain(shown)
    count = len(list(INTO.rglob("*.tt*ir")))
    print(f"golden: {count} cases, {len(different)} {'recorded' if options.update else 'differ'}")
    return 1 if different and not options.update else 0


if __name__ == "__main__":
    sys.exit(main())
