"""Tests that the commands of README and of the pages work as they are written, from the project's folder,
right after `make demo`, in the order of their page.

A block ```console holds commands behind "$ " and what they print. Times, addresses and the number of cores
are masked; a line "..." stands for any lines.
"""

import os
import pathlib
import re
import subprocess

import pytest
import warm

pytest.importorskip("torch")
pytest.importorskip("triton")

ROOT = pathlib.Path(__file__).resolve().parents[3]
GUIDES = [str(path.relative_to(ROOT)) for path in (ROOT / "doc").glob("*/*.md")]
MASKS = (
    (r"0x[0-9a-f]{6,}", "0xADDRESS"),
    (r"\d+ CPU cores?", "N CPU cores"),
    (r"[\d.]+(e[-+]\d+)? ms", "T ms"),
    (r"\b\d+\.\d+ s\b", "T s"),
    (r"\b\d+ tries\b", "N tries"),
    # Bytes of texts with the tree's path in them.
    (r"\b(source|ttir|ttgir|llir|ptx|cubin|amdgcn|hsaco) \d+\b", r"\1 N"),
    (r"(changed +T ms) +\d+ +\d+", r"\1 N N"),
    (r"(?m)(changed) +\d+$", r"\1 N"),
    # Its programs add up under a lock, in the order in which they come.
    (r"(?m)^(layer_norm .*\S\))\s+\d\S*\s+\d\S*$", r"\1 D T"),
    (r"(?m)((?:tile|simt) \(.*\S)\s+\d[\d.]*(e[-+]\d+)?$", r"\1 T"),  # of the demo: milliseconds
    (r"Triton Runner \d+\.\d+\.\d+\S*", "Triton Runner V"),
    (re.escape(str(ROOT)) + "/", ""),
)


def blocks(page: str):
    """(command, expected output) of a page, in its order."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", (ROOT / page).read_text(), re.DOTALL):
        for part in re.split(r"(?m)^\$ ", block)[1:]:
            command, _, output = part.replace("\\\n", " ").partition("\n")
            found.append((" ".join(command.split()), output))
    return found


def masked(text: str) -> list[str]:
    for pattern, mask in MASKS:
        text = re.sub(pattern, mask, text)
    return [" ".join(line.split()) for line in text.strip().splitlines()]


# A busy machine adds these: what make says, and how far a slow verdict is.
_ASIDE = re.compile(r"WARNING: Location|make\[|\.\.\. .*, \d+ s$")


def matches(lines: list[str], expected: list[str]) -> bool:
    pattern = "".join(r"(?:.*\n)*" if line == "..." else re.escape(line) + r"\n" for line in expected)
    return re.fullmatch(pattern, "".join(line + "\n" for line in lines)) is not None


AS_THEY_ARE = 3  # `make demo`, a program that is run, and an artifact
PAGES = {name: blocks(name) for name in ("README.md", *sorted(GUIDES)) if blocks(name)}


def test_there_are_commands():
    assert len(PAGES["README.md"]) >= 5
    assert len(PAGES) >= 5


def run(command: str, cache: pathlib.Path, shims: str) -> str:
    """Returns the output of a command, on both streams. shims: the folder of our commands' stand-ins
    (warm.py)."""
    command = re.sub(r"(?<![\w/])\.venv/bin/(?=(triton-runner|python) )", f"{shims}/", command)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("TRITON", "PYTEST"))}
    environment |= {"TRITON_CACHE_DIR": str(cache), "MAKEFLAGS": ""}
    done = subprocess.run(
        ["bash", "-c", command], cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    return done.stdout


@pytest.mark.parametrize("page", PAGES)
def test_commands(page, tmp_path):
    """The first ones of README as they are; others in processes that need not start."""
    (tmp_path / "bin").mkdir()
    shims = warm.shims(tmp_path / "bin")
    for number, (command, expected) in enumerate(PAGES[page]):
        as_it_is = page == "README.md" and number < AS_THEY_ARE
        printed = run(command, tmp_path, ".venv/bin" if as_it_is else shims)
        lines = [line for line in masked(printed) if not _ASIDE.match(line)]
        assert matches(lines, masked(expected)), f"{page}: {command}\n{printed}"


def test_blocks_that_are_not_run_say_why():
    """Commands that stand in another block than console have a comment above it: <!-- not run: reason -->."""
    command = re.compile(r"^(\$ )?(\.venv/bin/)?(triton-runner|make|python|pip|cmake|dask) ", re.MULTILINE)
    block = re.compile(r"(<!-- not run: .{8,} -->\n)?^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
    pages = [ROOT / f"{name}.md" for name in ("README", "README.zh", "CONTRIBUTING")]
    pages += (ROOT / "doc").rglob("*.md")
    excused = 0
    for page in pages:
        for reason, language, body in block.findall(page.read_text()):
            if language in ("", "sh", "bash") and command.search(body):
                assert reason, f"{page.name}: neither run by this test nor excused:\n{body}"
                excused += 1
    assert 0 < excused < 60


def test_both_readmes_have_the_same_commands():
    commands = [[command for command, _ in blocks(page)] for page in ("README.md", "README.zh.md")]
    assert commands[0] == commands[1]


def test_every_path_in_the_pages_is_there():
    """In commands and code, what looks like a file of the tree is one."""
    for page in ("README.md", "README.zh.md"):
        text = (ROOT / page).read_text()
        for path in re.findall(r"\b(?:examples|doc|tests|benchmark|tools)/[\w./-]+\w", text):
            assert (ROOT / path).exists(), f"{page}: {path}"
