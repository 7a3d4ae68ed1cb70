"""ruff, clang-format, the order of imports and includes (layers.py, folders.py), who names an op by its kind
(kinds.py), which local names two files of a folder have (names.py), what comments name (words.py), the length
of functions (lengths.py), and the sizes of the source files: over 1,000 lines is an error, over 600 is
listed."""

import pathlib
import subprocess
import sys

import folders
import kinds
import layers
import lengths
import names
import words

ROOT = pathlib.Path(__file__).resolve().parent.parent
CODE = {".cpp": "C++", ".h": "C++", ".def": "table", ".py": "Python"}
LISTED, LIMIT = 600, 1000


def tracked(*patterns: str) -> list[str]:
    """The files under version control that match."""
    done = subprocess.run(
        ["git", "ls-files", "--", *patterns], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [name for name in done.stdout.splitlines() if (ROOT / name).is_file()]


def size_table() -> int:
    """Print lines by folder, and the long files; the number of files over the limit."""
    sizes = {
        name: (ROOT / name).read_text().count("\n")
        for name in tracked("*")
        if pathlib.Path(name).suffix in CODE
    }
    folders: dict[str, list[int]] = {}
    for name, lines in sizes.items():
        parts = pathlib.Path(name).parts
        deep = parts[0] in ("src", "include", "python", "tests")
        folders.setdefault("/".join(parts[: min(len(parts) - 1, 2 if deep else 1)]) or ".", []).append(lines)
    print(f"{'lines':>7} {'files':>6} {'longest':>8}  folder")
    for folder, lines in sorted(folders.items()):
        print(f"{sum(lines):7,} {len(lines):6} {max(lines):8,}  {folder}")
    print(f"{sum(sizes.values()):7,} {len(sizes):6} {max(sizes.values()):8,}  in all")
    # A table of one row an op grows with the instruction set, not with the code.
    long = {name: n for name, n in sizes.items() if n > LISTED and not name.endswith(".def")}
    for name, n in sorted(long.items(), key=lambda item: -item[1]):
        print(
            f"{n:7,} lines: {name}"
            + (f" (over {LIMIT:,}: split it by family or by step)" if n > LIMIT else "")
        )
    return sum(n > LIMIT for n in long.values())


def main() -> int:
    failed = 0
    python = tracked("*.py")
    ruff = ["ruff", "check", "--quiet", "--force-exclude"]
    if subprocess.run([*ruff, *python], cwd=ROOT).returncode:
        print("Python: ruff check --fix FILE mends most, ruff format FILE the layout")
        failed += 1
    cpp = tracked("*.cpp", "*.h")
    if subprocess.run(["clang-format", "--dry-run", "--Werror", *cpp], cwd=ROOT).returncode:
        print("C++: clang-format -i FILE (.venv/bin has the version of requirements/check.txt)")
        failed += 1
    wrong = layers.check() + folders.check() + kinds.check() + names.check() + words.check() + lengths.check()
    print("\n".join(wrong), end="\n" if wrong else "")
    failed += bool(wrong)
    failed += size_table() > 0
    print(f"lint: {4 - failed} passed, {failed} failed")
    return failed


if __name__ == "__main__":
    sys.exit(main())
