"""Sessions of the debugger: each file of sessions/ is what a terminal shows, its commands after the prompt.
Its first line says the program and the options; after $ the words of a command of its own, which ends the
session with its exit status. UPDATE_SESSIONS=1 writes what they show now."""

import contextlib
import os
import pathlib
import re
import shlex
import sys

import pytest
import warm

pytest.importorskip("torch")
pytest.importorskip("triton")
import triton_runner
from triton_runner import _settings
from triton_runner.verbs.debug import target as targets
from triton_runner.verbs.debug import terminal
from triton_runner.verbs.debug.session import Session

HERE = pathlib.Path(__file__).parent
SESSIONS = sorted((HERE / "sessions").glob("*.txt"))


def target_of(name: str, folder, arguments=(), grid=None):
    """A file, one of the functions of a module beside this, or the case of such a function's launch."""
    module, _, function = name.removeprefix("case:").partition(":")
    run = getattr(__import__(module), function) if function else None
    if name.startswith("case:"):
        return targets.of(case_of(run, folder))
    return targets.of(run or str(HERE / name), arguments, grid=grid)


def case_of(run, folder) -> str:
    """Returns where the first launch that traps is written as a case."""
    with contextlib.suppress(triton_runner.KernelTrap), triton_runner.capture(folder):
        run()
    return str(next(folder.glob("*.trcase")))


def shown(header: str, commands: list[str], folder) -> str:
    """Returns what a session shows: the echo of each command, and its answer."""
    if header.startswith("# $ "):
        return by_command(shlex.split(header.removeprefix("# $ ")), commands)
    header, _, arguments = header.removeprefix("# ").partition(" -- ")
    name, *words = header.split()
    options = dict(word.split("=") for word in words)
    program = [int(axis) for axis in options.pop("program").split(",")] if "program" in options else None
    target = target_of(name, folder, arguments.split(), options.pop("grid", None))
    lines: list[str] = []
    with (
        _settings.using(target=options.pop("target", None)),
        Session(target, program=program, **options) as session,
    ):
        terminal.Terminal(session, lines.append).run(terminal.echoed(commands, lines.append))
    return "\n".join(line.rstrip() for line in lines) + "\n"


def by_command(words: list[str], commands: list[str]) -> str:
    """The same of a process of its own: what it prints, its errors and its exit status."""
    executed = [word for command in commands for word in ("-ex", command)]
    debug = [sys.executable, "-m", "triton_runner", "debug", *words[:-1], *executed, words[-1]]
    done = warm.run(debug, capture_output=True, text=True, timeout=60, cwd=HERE)
    errors = re.findall(r"^(?:error|note): .*\n", done.stderr, re.M)
    return f"{done.stdout}{''.join(errors)}exit status {done.returncode}\n"


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.stem)
def test_session(path, tmp_path):
    header, _, expected = path.read_text().partition("\n")
    commands = re.findall(r"^\(tri\) ?(.*)$", expected, re.M)
    output = shown(header, commands, tmp_path)
    output = output.replace(f"{HERE}/", "").replace(f"{HERE.parents[2]}/", "")
    output = re.sub(r"0x[0-9a-f]{9,}|(?<=bytes at )0x[0-9a-f]{7,}", "0x...", output)
    output = re.sub(r"\bc\w{50,}\.py", "inductor.py", output)
    if os.environ.get("UPDATE_SESSIONS"):
        path.write_text(f"{header}\n{output}")
    assert output == expected
