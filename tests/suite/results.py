"""Keeps measurements: results/NAME.json, a run by its key, and the pages of doc/measurements made from them.

    python tests/suite/results.py          writes the tables of the pages anew

The command that measures calls record(). A run has what was measured, when, on what, by which command, its
`figures` (a row of a page), and maybe a `table` ({"columns", "rows"}) and `data`, all else that is kept.
A page says where its tables stand:

    <!-- results: NAME [NAME/KEY ...] -->   a row a run, all of NAME or these (~ is a space of a key)
    <!-- table: NAME/KEY -->                the table of one run
    <!-- end -->
"""

import datetime
import json
import pathlib
import platform
import re
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "results"
PAGES = ROOT / "doc" / "measurements"
WIDTH = 158  # of a page's lines
PART = re.compile(r"(<!-- (results|table): (.*?) -->\n).*?(<!-- end -->)", re.DOTALL)


def machine() -> str:
    """This one: its processor and the number of cores."""
    text = pathlib.Path("/proc/cpuinfo").read_text() if pathlib.Path("/proc/cpuinfo").exists() else ""
    found = re.search(r"^model name\s*: (.*)$", text, re.MULTILINE)
    return f"{found[1] if found else platform.machine()}, {len(re.findall('^processor', text, re.M))} cores"


def read(name: str) -> dict[str, dict]:
    """The runs of results/NAME.json by key."""
    path = FOLDER / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else {}


def record(name: str, key: str, what: str, command: str, figures: dict, **more) -> None:
    """Keeps a run in place of the last one with its key, and writes the pages. more: `table`, `data`; `date`
    and `machine`, if not today and this one."""
    about = {"date": str(datetime.date.today()), "machine": machine()}
    runs = read(name)
    runs[key] = {"what": what, "command": command, **about, "figures": figures, **more}
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.json").write_text(text_of(runs))
    write_pages()


def text_of(runs: dict[str, dict]) -> str:
    """As JSON: a line for each innermost list or object that fits into one."""

    def shown(value, indent: str) -> str:
        flat = json.dumps(value, ensure_ascii=False)
        if not isinstance(value, (dict, list)) or not value or len(indent) + len(flat) <= 160:
            return flat
        inner = indent + " "
        if isinstance(value, list):
            return "[\n" + ",\n".join(inner + shown(item, inner) for item in value) + f"\n{indent}]"
        items = (f"{inner}{json.dumps(key)}: {shown(item, inner)}" for key, item in value.items())
        return "{\n" + ",\n".join(items) + f"\n{indent}}}"

    return shown(runs, "") + "\n"


def markdown(columns: list[str], rows: list[list]) -> str:
    """A table; None is an empty cell."""
    cell = lambda v: "" if v is None else " ".join(str(v).split()).replace("|", "\\|")  # noqa: E731
    lines = [" | ".join(columns), "|".join("---" for _ in columns)]
    lines += [" | ".join(cell(value) for value in row) for row in rows]
    return "\n".join(f"| {line} |" if i != 1 else f"|{line}|" for i, line in enumerate(lines))


def rows_of_runs(runs: list[dict]) -> str:
    """A row a run. What all have in common stands above the table."""
    common = {field: len({run[field] for run in runs}) == 1 for field in ("machine", "date", "command")}
    figures = list(dict.fromkeys(name for run in runs for name in run["figures"]))
    columns = ["what", *figures]
    columns += [] if common["command"] else ["command"]
    where = [field for field in ("date", "machine") if not common[field]]
    columns += ["when, on what"] if where else []
    rows = []
    for run in runs:
        row = [run["what"], *(run["figures"].get(name) for name in figures)]
        row += [] if common["command"] else [f"`{run['command']}`" if run["command"] else None]
        row += ["; ".join(run[field] for field in where)] if where else []
        rows.append(row)
    said = [runs[0][field] for field in ("machine", "date") if common[field]]
    said += [f"`{runs[0]['command']}`"] if common["command"] else []
    return (f"{'; '.join(said)}:\n\n" if said else "") + markdown(columns, rows)


def table_of(run: dict) -> str:
    about = f"{run['what']}; {run['machine']}; {run['date']}; `{run['command']}`:"
    lines = textwrap.wrap(about, WIDTH, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines) + "\n\n" + markdown(run["table"]["columns"], run["table"]["rows"])


def part(kind: str, names: list[str]) -> str:
    chosen = []
    for name in names:
        file, _, key = name.partition("/")
        runs, key = read(file), key.replace("~", " ")
        chosen += [runs[key]] if key else runs.values()
    return "\n\n".join(map(table_of, chosen)) if kind == "table" else rows_of_runs(chosen)


def page_text(text: str) -> str:
    """A page's text with its tables made anew."""
    return PART.sub(lambda m: f"{m[1]}{part(m[2], m[3].split())}\n{m[4]}", text)


def write_pages() -> list[str]:
    """The names of the pages that changed."""
    changed = []
    for page in sorted(PAGES.glob("*.md")):
        old = page.read_text()
        if (new := page_text(old)) != old:
            page.write_text(new)
            changed.append(page.name)
    return changed


if __name__ == "__main__":
    print("\n".join(write_pages()) or "nothing changed")
