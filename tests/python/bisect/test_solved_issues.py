"""The commands of doc/solving_triton_issues print what the pages show: a fault each, down to its pass. The
assembler's faults are in test_assemble.py."""

import pathlib
import re

import pytest
import warm

pytest.importorskip("triton")
from test_readme import matches
from triton_runner._pipeline import versions

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGES = sorted((ROOT / "doc" / "solving_triton_issues").glob("*.md"))


def commands() -> list[tuple[str, str]]:
    """(command, what it prints) of the pages."""
    found = []
    for page in PAGES:
        for block in re.findall(r"```\n\$ (.*?)```", page.read_text(), re.DOTALL):
            command, _, output = block.replace("\\\n", " ").partition("\n")
            if "issue_" in command:
                found.append((" ".join(command.split()), output))
    return found


COMMANDS = commands()


def test_each_case_has_its_command():
    told = " ".join(command for command, _ in COMMANDS)
    for file in (ROOT / "doc" / "solving_triton_issues").glob("issue_*.py"):
        assert file.name in told


NAMES = [re.search(r"issue_\w+", command)[0] for command, _ in COMMANDS]


@pytest.mark.long
@pytest.mark.parametrize(("command", "output"), COMMANDS, ids=NAMES)
def test_a_case(command, output):
    words = re.findall(r'"[^"]*"|\S+', command)
    needed = versions.expand(words[words.index("--versions") + 1])
    missing = [version for version in needed if versions.find(version) is None]
    if missing:
        pytest.skip(f"not there: Triton {', '.join(missing)} (triton-runner versions add)")
    done = warm.cli(*(word.strip('"') for word in words[1:]), cwd=ROOT)
    shown = done.stdout.replace(f"{ROOT}/", "").splitlines()
    assert done.returncode == 1 and matches(shown, output.splitlines()), f"{done.stdout}\n{done.stderr}"
