"""A verb is one folder to the command line: an invented one, which nothing else names, is found there, listed
in help under its title, and answers in text, in JSON and with an error. CONTRIBUTING.md counts its places."""

import json
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
ROOM = {
    "__init__.py": '"""How long a text is."""\n',
    "results.py": """\"\"\"The result: a length.\"\"\"
import dataclasses


@dataclasses.dataclass(frozen=True)
class Length:
    text: str
    letters: int
""",
    "run.py": """\"\"\"Measures a text.\"\"\"
from triton_runner._base.errors import fail
from triton_runner.verbs.measured.results import Length


def measured(text):
    if not text.isascii():
        raise fail(f"{text} has letters that are not counted", "give ASCII")
    return Length(text, len(text))
""",
    "text.py": """\"\"\"A length as a line.\"\"\"


def line(length):
    return f"{length.text}: {length.letters} letters"
""",
    "command.py": """\"\"\"triton-runner measured: how long a text is.\"\"\"
import click
from triton_runner._programs.options import json_option, print_result, verbs
from triton_runner.verbs.measured import run, text


@verbs.command("measured", group="measure", place=9)
@json_option
@click.argument("words")
def measured_command(words, as_json):
    \"\"\"Say how long WORDS are.\"\"\"
    print_result(run.measured(words), as_json, text.line)
""",
}
PROGRAM = """
import sys
import triton_runner.verbs
triton_runner.verbs.__path__.append(sys.argv.pop(1))
from triton_runner._cli import main
main(sys.argv[1:])
"""


@pytest.fixture(scope="module")
def rooms(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rooms")
    (folder / "measured").mkdir()
    for name, text in ROOM.items():
        (folder / "measured" / name).write_text(text)
    return folder


def ran(rooms, *words):
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, str(rooms), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_the_command_line_finds_it(rooms):
    assert re.search(r"^  measure +bench profile tune measured$", ran(rooms, "--help").stdout, re.MULTILINE)
    done = ran(rooms, "measured", "--json", "abc")
    assert json.loads(done.stdout) == {"text": "abc", "letters": 3} and done.returncode == 0
    done = ran(rooms, "measured", "\u00e4")
    assert done.returncode == 2 and "note: give ASCII" in done.stderr


def test_every_verb_says_where_it_is_listed():
    from triton_runner import verbs
    from triton_runner._cli import help, main

    assert {command.listed[0] for command in main.commands.values()} == {*help.GROUPS}
    folders = {path.parent.name for path in pathlib.Path(verbs.__file__).parent.glob("*/command.py")}
    assert {*main.commands} - {"env"} == folders  # env is doctor's


def test_its_places_are_six():
    page = (ROOT / "CONTRIBUTING.md").read_text()
    [verb] = re.findall(r"^\*\*A verb\*\* .*?(?=\n\n)", page, re.MULTILINE | re.DOTALL)
    assert [int(n) for n in re.findall(r"(?<!\w)(\d)\.\s", verb)] == [*range(1, 7)]
