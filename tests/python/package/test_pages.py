"""The pages of doc/ hold together: links lead somewhere, every page is reached from the index and is short,
and the code that a page shows is code of the tree."""

import contextlib
import io
import os
import pathlib
import re
import shlex
import subprocess
import sys
import types
import urllib.parse

import pytest
from suite import loaded

ROOT = pathlib.Path(__file__).resolve().parents[3]
INDEX = ROOT / "doc" / "index.md"
LONGEST = 300  # lines
WIDEST = 160  # characters of a line
PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("doc/**/*.md"), *ROOT.glob("tests/*.md"), *ROOT.glob("examples/**/*.md")]
)
DOC = [page for page in PAGES if page.is_relative_to(ROOT / "doc")]
WRAPPED = [page for page in PAGES if not {"measurements", "CONTRIBUTING.md"} & {*page.parts}]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def name(page: pathlib.Path) -> str:
    return str(page.relative_to(ROOT))


def prose(page: pathlib.Path) -> str:
    """A page without its code."""
    return re.sub(r"`[^`\n]+`", "code", FENCE.sub("", page.read_text()))


def links(page: pathlib.Path):
    """(file, anchor) of each link to a file."""
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        path, _, anchor = target.partition("#")
        if not re.match(r"[a-z]+:", target):
            yield (page.parent / urllib.parse.unquote(path)).resolve() if path else page, anchor


def anchors(page: pathlib.Path) -> set[str]:
    """Those of a page's headings, as GitHub and the site make them."""
    text = re.sub(FENCE, "", page.read_text())
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    words = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title).replace("`", "") for title in titles]
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in words}


@pytest.mark.parametrize("page", WRAPPED, ids=name)
def test_lines_are_short(page):
    """Lines of prose are short; what a command prints, and a row of a table, is one line however long."""
    text = FENCE.sub("", page.read_text())
    long = [line for line in text.splitlines() if len(line) > WIDEST and not line.startswith(("|", "<!--"))]
    assert not long, f"over {WIDEST} characters"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page):
    for path, anchor in links(page):
        assert path.exists(), f"{name(page)}: there is no {os.path.relpath(path, page.parent)}"
        if anchor and path.suffix == ".md":
            assert anchor in anchors(path), f"{name(page)}: {name(path)} has no heading #{anchor}"


def test_every_page_is_reached_from_the_index():
    seen, todo = {INDEX}, [INDEX]
    while todo:
        for path, _ in links(todo.pop()):
            if path in DOC and path not in seen:
                seen.add(path)
                todo.append(path)
    assert [name(page) for page in DOC if page not in seen] == []


def test_the_site_names_files_that_it_does_not_have():
    site_links = loaded(ROOT / "tools" / "site_links.py")
    page = types.SimpleNamespace(file=types.SimpleNamespace(abs_src_path=str(ROOT / "doc/guide/start.md")))
    text = (
        "[a page](../index.md#x), [the licence](../../LICENSE), `[code](../../LICENSE)`, [web](https://x.org)"
    )
    assert site_links.on_page_markdown(text, page) == text.replace(
        "[the licence](../../LICENSE)", "the licence (`LICENSE`)", 1
    )


@pytest.mark.parametrize("page", DOC, ids=name)
def test_pages_are_short(page):
    assert page.read_text().count("\n") <= LONGEST, "split it, or shorten it"


def lines_of(code: str) -> list[str]:
    """Its lines, with one space between words and without comments."""
    lines = [" ".join(re.sub(r" #.*", "", line).split()) for line in code.splitlines()]
    return [line for line in lines if line]


def code_of(page: pathlib.Path) -> list[str]:
    """The lines of the scripts that a page links to."""
    scripts = [path for path, _ in links(page) if path.suffix == ".py"]
    return [line for path in scripts for line in lines_of(path.read_text())]


def fragments() -> list:
    """The Python code of each guide that links to a script."""
    return [
        pytest.param(page, code, id=f"{page.name}-{number}")
        for page in sorted((ROOT / "doc" / "guide").glob("*.md"))
        for number, (language, code) in enumerate(FENCE.findall(page.read_text()))
        if language == "python" and code_of(page)
    ]


@pytest.mark.parametrize("page, code", fragments())
def test_code_of_a_guide_is_in_a_script(page, code):
    known = code_of(page)
    assert [line for line in lines_of(code) if line not in known] == []


def programs() -> list:
    """(program, what it prints) where a page has a block, the word "prints" and another block."""
    pair = re.compile(r"^```python\n([^`]*)^```\n\nprints\n\n```\n([^`]*)^```", re.MULTILINE)
    return [pytest.param(*found, id=name(page)) for page in DOC for found in pair.findall(page.read_text())]


@pytest.mark.parametrize("code, output", programs())
def test_a_program_prints_what_the_page_says(code, output, monkeypatch):
    monkeypatch.chdir(ROOT)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "page", "exec"), {"__name__": "page"})
    assert printed.getvalue().strip().splitlines() == output.strip().splitlines()


def test_the_drawing_of_levels_is_that_of_the_tables():
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "levels_diagram.py", "--check"], capture_output=True
    )
    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()


def test_every_kind_of_trap_is_in_the_page_of_errors():
    text = (ROOT / "src" / "exec" / "kernel.cpp").read_text().partition("trap_name(")[2]
    names = re.findall(r'\{TrapKind::k\w+, "([^"]+)"\}', text.partition("static_assert")[0])
    page = (ROOT / "doc" / "reference" / "errors.md").read_text()
    assert len(names) > 10
    assert [kind for kind in names if f"`{kind}`" not in page] == []


def test_settings_variables_and_commands_are_in_the_reference():
    from triton_runner import _cli, _settings

    settings = (ROOT / "doc" / "reference" / "settings.md").read_text()
    assert [name for name in _settings.shown() if f"| `{name}` |" not in settings] == []
    code = "".join(path.read_text() for path in (ROOT / "python" / "triton_runner").rglob("*.py"))
    # How the package tells its script in cuda-gdb what to read, and the Pythons of a program how to begin.
    of_own_processes = {"TRITON_RUNNER_GDB", "TRITON_RUNNER_RELEASE", "TRITON_RUNNER_STARTED"}
    variables = set(re.findall(r"TRITON_RUNNER_[A-Z]+", code)) - of_own_processes
    assert [name for name in sorted(variables) if f"`{name}`" not in settings] == []
    commands = (ROOT / "doc" / "reference" / "cli.md").read_text()
    assert [name for name in _cli.main.commands if f"triton-runner {name}" not in commands] == []
    guides = "".join(path.read_text() for path in (ROOT / "doc" / "guide").glob("*.md"))
    assert [name for name in _cli.main.commands if f"triton-runner {name}" not in guides] == []


def test_rows_of_the_checklist_name_what_shows_them():
    rows = re.split(r"^- ", (ROOT / "doc" / "checklist.md").read_text(), flags=re.MULTILINE)
    ticked = [row for row in rows if row.startswith("[x]")]
    assert len(ticked) > 40
    for row in rows:
        shown = re.findall(r"`((?:src|tests|examples|doc|benchmark)/[^`]*|README[.\w]*|LICENSE)`", row)
        assert shown or row not in ticked, row
        for path, _, test in (name.partition("::") for name in shown):
            assert (ROOT / path).exists(), f"{path}: {row}"
            assert f"def {test}" in (ROOT / path).read_text() if test else True, f"{test}: {row}"


def test_the_commands_of_the_ledger_are_ones():
    from triton_runner._cli import main

    commands = re.findall(r"`triton-runner (.*?)`", (ROOT / "doc/found.md").read_text())
    assert len(commands) > 10
    for command in commands:
        verb, *words = shlex.split(command)
        main.get_command(None, verb).make_context(verb, words)
