"""Tests programs of strangers (tests/strangers): small ones written from public reports, each with what the
tool must say of it. The docstring of a program names its source and then holds commands with their answers:

    $ verify FILE            a command of triton-runner; FILE is the program, FOLDER a temporary folder
    status  1                its exit status
    says  data race          standard output or error contains this, white space folded
    never  verdict: right    neither contains this
"""

import ast
import dataclasses
import pathlib
import re
import shlex

import pytest
import warm

REWORDED = pathlib.Path(__file__).resolve().parents[1] / "helpers" / "reworded"
PROGRAMS = pathlib.Path(__file__).resolve().parents[2] / "strangers"
WORDS = ("status", "says", "never")


@dataclasses.dataclass
class Command:
    """A command of a docstring: its words, and the lines of its answer by their first word."""

    words: list[str]
    status: int | None = None
    says: list[str] = dataclasses.field(default_factory=list)
    never: list[str] = dataclasses.field(default_factory=list)


def commands_of(program: pathlib.Path) -> list[Command]:
    """The commands of a program's docstring. Each line answers one, and each has a status."""
    commands = []
    for line in ast.get_docstring(ast.parse(program.read_text())).splitlines():
        word, _, rest = line.strip().partition(" ")
        if word == "$":
            commands.append(Command(shlex.split(rest)))
        elif commands and word == "status":
            commands[-1].status = int(rest)
        elif commands and word in WORDS:
            getattr(commands[-1], word).append(folded(rest))
        else:
            assert not (commands and line.strip()), f"{program.name}: '{line}' is not a line of an answer"
    assert commands, f"{program.name}: no line begins with '$ '"
    assert all(command.status is not None for command in commands), f"{program.name}: a status is missing"
    return commands


def folded(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


NAMES = sorted(path.relative_to(PROGRAMS).as_posix() for path in PROGRAMS.rglob("*.py"))


@pytest.mark.parametrize("name", NAMES)
def test_what_is_said_of(name, tmp_path):
    program = PROGRAMS / name
    for command in commands_of(program):
        words = [w.replace("FILE", str(program)).replace("FOLDER", str(tmp_path)) for w in command.words]
        done = warm.cli(*words, cwd=tmp_path)
        output = folded(done.stdout + done.stderr)
        shown = f"triton-runner {' '.join(words)}\n{done.stdout}\n{done.stderr}"
        assert done.returncode == command.status, shown
        for text in command.says:
            assert text in output, f"not said: {text}\n{shown}"
        for text in command.never:
            assert text not in output, f"said: {text}\n{shown}"


@pytest.mark.parametrize("name", [name for name in NAMES if "data race" in (PROGRAMS / name).read_text()])
def test_no_verdict_depends_on_the_words_of_a_trap(name, tmp_path):
    program = PROGRAMS / name
    for command in commands_of(program):
        words = [w.replace("FILE", str(program)).replace("FOLDER", str(tmp_path)) for w in command.words]
        done = warm.cli(*words, cwd=tmp_path, variables={"PYTHONPATH": str(REWORDED)})
        assert done.returncode == command.status, done.stdout + done.stderr
        assert "Some words" in done.stdout + done.stderr or command.status == 0, done.stdout
