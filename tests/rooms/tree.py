"""Reads what the tree says of its files: openings, the tables of doc/internals, and who names a word."""

import ast
import collections
import functools
import itertools
import pathlib
import re
import subprocess

import folders

ROOT = folders.ROOT
PAGES = ROOT / "doc" / "internals"
Facts = list[tuple[str, str]]  # (word, fact) a row of an answer


def name_of(path: pathlib.Path) -> str:
    return str(path.relative_to(ROOT))


def plain(cell: str) -> str:
    """The words of a table's cell, without marks and links; one in brackets is left out with them."""
    cell = re.sub(r" \((?:the page is )?\[[^]]*\]\([^)]*\)\)", "", cell)
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", cell).replace("`", "").strip()


@functools.cache
def table(page: str) -> dict[str, tuple[list[str], str]]:
    """The rows of a page of doc/internals by each name that stands in their first cell in code font: their
    cells, and the page that a row links to, or else this one."""
    rows = {}
    for line in (PAGES / page).read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        in_layers = cells and re.fullmatch("[a-z]*", cells[0])  # the name is in the second column
        for name in re.findall(r"`([\w/]+)`", " ".join(cells[: 2 if in_layers else 1])):
            links = re.findall(r"\]\(([\w./-]+\.md)[^)]*\)", line)
            there = (PAGES / (links[0] if links else page)).resolve()
            rows.setdefault(name.rstrip("/"), (cells, name_of(there)))
    return rows


@functools.cache
def text_of(path: pathlib.Path) -> str:
    return path.read_text()


def opening(path: pathlib.Path, whole: bool = False) -> str:
    """The first paragraph of a file's docstring or leading comment, or the whole of it. A source file without
    one has that of its header."""
    text = text_of(path)
    if path.suffix == ".py":
        words = ast.get_docstring(ast.parse(text)) or ""
        return " ".join((words if whole else words.split("\n\n")[0]).split())
    lines = re.match(r"(?://[^\n]*\n)*", text)[0].splitlines()
    lines = [line for line in lines if "clang-format o" not in line]
    part = lines if whole else itertools.takewhile(lambda line: line.strip("/ "), lines)
    words = " ".join(line[2:].strip() for line in part)
    header = path.with_suffix(".h")
    if not lines and path.suffix == ".cpp":
        near = [header, path.parent / "internal" / header.name]
        near += [ROOT / "include" / "triton_runner" / path.parent.name / header.name]
        return next((opening(one, whole) for one in near if one.is_file()), "")
    return re.sub(":$", "." if not whole else ":", " ".join(words.split()))


@functools.lru_cache(maxsize=4096)
def grep(pattern: str, *places: str) -> list[str]:
    """The files of the tree under some places in which a pattern is found."""
    command = ["git", "grep", "-lP", "--untracked", pattern, "--", *places]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.split()


def told(path: pathlib.Path) -> list[str]:
    """The tests that a file names itself: "It is tested through tests/python/launch/test_jit.py"."""
    found = re.search(r"\btested (?:by|through) (.*?)(?:\. |\.?$|\"\"\")", opening(path, whole=True))
    return re.findall(r"\b(?:tests|src)/[\w/.-]*\w", found[1]) if found else []


def shown(names: list[str], otherwise: str = "nobody by name", most: int = 6) -> str:
    """Names in a line: the first of them, and how many more there are, paths by their folders."""
    names = list(dict.fromkeys(names))
    rest = collections.Counter(name.rpartition("/")[0] for name in names[most:] if "/" in name)
    by_folder = ", ".join(f"{n} of {folder}" for folder, n in rest.most_common(4))
    more = f", and {len(names) - most} more" if len(names) > most else ""
    more += f" ({by_folder}{', ...' * (len(rest) > 4)})" if by_folder else ""
    return ", ".join(names[:most]) + more if names else otherwise


def grouped(groups: list[tuple[str, list[str]]]) -> str:
    """Groups of names in a line, each with the words that stand before it."""
    return "; ".join(words + shown(names) for words, names in groups if names)
