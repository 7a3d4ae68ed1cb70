"""Reads gcov's counts, line by line: how often it ran, and which ways out of its conditions were taken."""

import dataclasses
import json
import pathlib
import subprocess


@dataclasses.dataclass
class Line:
    count: int = 0
    ways: list[int] = dataclasses.field(default_factory=list)  # how often each way out was taken

    def unreached(self) -> bool:
        return self.count == 0 or 0 in self.ways


def add(lines: dict[int, Line], record: dict) -> None:
    """Instantiations of a template, and the files that include a header, add up; of those whose conditions
    differ (`if constexpr`) the one with most of them speaks for all. Ways of an exception are left out."""
    for entry in record["lines"]:
        line = lines.setdefault(entry["line_number"], Line())
        line.count += entry["count"]
        taken = [b["count"] for b in entry["branches"] if not b["throw"]]
        if len(taken) > len(line.ways):
            line.ways = taken
        elif len(taken) == len(line.ways):
            line.ways = [a + b for a, b in zip(line.ways, taken, strict=True)]


def counted(build: pathlib.Path, root: pathlib.Path) -> dict[str, dict[int, Line]]:
    """Lines by file of src/, for the objects in `build` that count."""
    files: dict[str, dict[int, Line]] = {}
    for note in sorted(build.rglob("*.gcno")):
        command = ["gcov", "--json-format", "--branch-probabilities", "--stdout", str(note)]
        done = subprocess.run(command, cwd=build, capture_output=True, text=True, check=True)
        for record in json.loads(done.stdout)["files"]:
            path = (build / record["file"]).resolve()
            if path.is_relative_to(root / "src"):
                add(files.setdefault(str(path.relative_to(root)), {}), record)
    return files
