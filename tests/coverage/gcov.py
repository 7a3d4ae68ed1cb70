"""What gcov counted, line by line: how often it ran, and which ways out of its conditions were never taken."""

import collections
import dataclasses
import json
import pathlib
import subprocess


@dataclasses.dataclass
class Line:
    count: int = 0
    branches: list[int] = dataclasses.field(default_factory=list)  # by way out of the line's conditions

    def unreached(self) -> str:
        """ "line", "branch" or ""."""
        if self.count == 0:
            return "line"
        return "branch" if 0 in self.branches else ""


def functions_lines(record: dict) -> dict[int, list[dict]]:
    """A template's line has one entry an instantiation."""
    lines = collections.defaultdict(list)
    for line in record["lines"]:
        lines[line["line_number"]].append(line)
    return lines


def merged(lines: dict[int, Line], record: dict) -> None:
    """Instantiations and the files that include a header add up. Ways that an exception takes are left out; of
    instantiations whose conditions differ (`if constexpr`) the one with most of them speaks for all."""
    for number, entries in functions_lines(record).items():
        line = lines.setdefault(number, Line())
        for entry in entries:
            line.count += entry["count"]
            taken = [b["count"] for b in entry["branches"] if not b["throw"]]
            if len(taken) > len(line.branches):
                line.branches = taken
            elif len(taken) == len(line.branches):
                line.branches = [a + b for a, b in zip(line.branches, taken, strict=True)]


def counted(build: pathlib.Path, root: pathlib.Path) -> dict[str, dict[int, Line]]:
    """By file of src/, for the objects in `build` that count."""
    notes = sorted(build.rglob("*.gcno"))
    files: dict[str, dict[int, Line]] = {}
    for note in notes:
        done = subprocess.run(
            ["gcov", "--json-format", "--branch-probabilities", "--stdout", str(note)],
            cwd=build, capture_output=True, text=True, check=True,
        )  # fmt: skip
        for record in json.loads(done.stdout)["files"]:
            path = (build / record["file"]).resolve()
            if path.is_relative_to(root / "src"):
                merged(files.setdefault(str(path.relative_to(root)), {}), record)
    return files
