"""Tests completion by bash, zsh and fish: the files that `triton-runner completion` prints, run by them."""

import os
import pty
import re
import select
import shutil
import subprocess

import click
import pytest
import warm
from triton_runner._cli import main
from triton_runner.verbs.completion import run as completion

SHELLS = ("bash", "zsh", "fish")
TAB = 0.1  # seconds of CPU that a Tab may take
KERNELS = """
import triton, triton.language as tl

@triton.jit
def add(x):
    pass

@triton.autotune([triton.Config({})],
                 key=[])
@triton.jit()
def twice(x):
    pass

def host(x):
    return x
"""
FILES = {
    "k.py": KERNELS, "a.trcase": "", "x.ttir": "module {\n  tt.func public @add_kernel(%x: i32) {\n",
    "x.ptx": ".visible .entry ptx_kernel(\n", "data.npy": "", "out.json": "", "notes.txt": "",
    "sub/in.py": "",
}  # fmt: skip
# A line up to the cursor: what is offered, and what is not.
LINES = {
    "": ("run exec cache completion", "ls --json"),
    "ve": ("verify versions", "exec"),
    "cache ": ("ls explain clean", "run"),
    "exec --me": ("--metadata", "--mma"),
    "exec --check race,na": ("race,nan race,nanload", "race,oob hazard"),
    "exec --level pt": ("ptx", "ttir cubin"),
    "exec --level=pt": ("--level=ptx", "--level=ttir"),
    "exec ": ("x.ttir x.ptx sub/", "k.py notes.txt out.json"),
    "exec --metadata ": ("out.json sub/", "x.ttir notes.txt"),
    "exec --arg ": ("data.npy", "x.ttir"),
    "exec x.ttir --kernel ": ("add_kernel", "ptx_kernel add"),
    "exec x.ptx --kernel p": ("ptx_kernel", "add_kernel"),
    "profile --chip h": ("h100 h200", "a100"),
    "verify --kernel ": ("add twice", "host"),
    "run ": ("k.py a.trcase sub/", "x.ttir notes.txt"),
    "run --device cpu k": ("k.py", "notes.txt"),
    "run k.py ": ("notes.txt x.ttir", "--device"),
    "run k.py --": ("", "--device --check"),
    "compile k.py:": ("k.py:add k.py:twice", "k.py:host"),
    "compile k.py:add -t cuda:9": ("cuda:90", "cuda:80"),
    "versions add 3.": ("3.0.0 3.9.0", "ls"),
    "completion ": ("bash zsh fish", "exec"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("completion")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    for shell in SHELLS:
        done = warm.cli("completion", shell, check=True)
        (folder / f".{shell}").write_text(done.stdout)
    # A Tab that started one of these would leave a mark.
    (folder / ".bin").mkdir()
    for name in ("python", "python3", "triton-runner"):
        (folder / ".bin" / name).write_text(f"#!/bin/sh\necho {name} >> {folder}/.started\n")
        (folder / ".bin" / name).chmod(0o755)
    return folder


def shell_of(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not here")
    return path


def environment(folder) -> dict:
    path = f"{folder}/.bin:/usr/local/bin:/usr/bin:/bin"
    return {"PATH": path, "HOME": str(folder), "TERM": "dumb", "LC_ALL": "C.UTF-8", "ZDOTDIR": str(folder)}


BASH = """
source .bash
offer() {
  COMP_LINE="triton-runner $1" COMP_POINT=$((14 + ${#1})) COMP_WORDBREAKS=$' \\t\\n"\\'><=;|&(:'
  _triton_runner
  printf '%s\\n' "${COMPREPLY[@]}"
}
"""


# The words that completion adds are printed, as what zsh shows depends on what else is typed.
ZSH = """PS1="<ready>"
autoload -Uz compinit
compinit -u -D
source ./.zsh
bindkey -e
compadd() {
  local -a hits
  if [[ ${@[1,(i)(-|--)]} != *-(O|A|D)\\ * ]]; then
    builtin compadd -A hits "$@"
    print -rl -- "" "HIT "$^hits
  fi
  builtin compadd "$@"
}
"""


def of_bash(folder, lines) -> tuple[list, float]:
    """Returns what bash offers on each line, and the seconds of CPU of one Tab."""
    calls = "\n".join(f"offer '{line}'; echo ----" for line in lines)
    twenty = "for i in {1..20}; do offer 'exec --check race,na'; offer 'exec '; done >/dev/null"
    clock = f"TIMEFORMAT='%U %S'; time {{ {twenty}; }}"
    done = subprocess.run(
        [shell_of("bash"), "--norc", "-c", f"{BASH}\n{calls}\n{clock}"],
        cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    *errors, spent = done.stderr.strip().splitlines()
    assert not errors, errors
    return [text.split() for text in done.stdout.split("----\n")[:-1]], sum(map(float, spent.split())) / 40


def of_fish(folder, lines) -> tuple[list, float]:
    calls = "\n".join(f"complete -C 'triton-runner {line}'; echo ----" for line in lines)

    def run(text: str) -> tuple[str, float]:
        before = os.times()
        done = subprocess.run(
            [shell_of("fish"), "--no-config", "-c", f"source .fish\n{text}"],
            cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert not done.stderr, done.stderr
        after = os.times()
        return done.stdout, after[2] - before[2] + after[3] - before[3]

    text, _ = run(calls)
    _, start = run("true")
    tab = "complete -C 'triton-runner exec"
    _, spent = run(f"for i in (seq 20); {tab} --check race,na'; {tab} '; end")
    return [[row.partition("\t")[0] for row in part.splitlines()] for part in text.split("----\n")[:-1]], (
        spent - start
    ) / 40


class Terminal:
    """An interactive zsh."""

    def __init__(self, folder):
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.chdir(folder)
            os.execve(shell_of("zsh"), ["zsh", "-f", "-i"], environment(folder))
        self.text, self.lines = "", 0
        self.shown("source ./.test.zsh; ")

    def shown(self, typed: str) -> str:
        """Returns what is shown from here to the end of a command that follows what is typed, and to the
        prompt: what is typed before there is one, the terminal takes for itself."""
        self.lines += 1
        os.write(self.fd, f"{typed}echo E''ND{self.lines}.\r".encode())
        end = rf"END{self.lines}\.[^<]*<ready>"
        while not re.search(end, self.text):
            ready, _, _ = select.select([self.fd], [], [], 60)
            assert ready, self.text
            self.text += os.read(self.fd, 65536).decode(errors="replace")
        shown, self.text = re.split(end, self.text, maxsplit=1)
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|[\x07\r]", "", shown)

    def tab(self, line: str) -> list[str]:
        """Returns what is offered where Tab is pressed at the end of a line, which is then deleted."""
        return re.findall(r"^HIT (\S+)", self.shown(f"{line}\t\x15"), re.M)

    def close(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


def of_zsh(folder, lines) -> tuple[list, float]:
    shell_of("zsh")
    (folder / ".test.zsh").write_text(ZSH)
    terminal = Terminal(folder)
    offered = [terminal.tab(f"triton-runner {line}") for line in lines]

    def clock() -> float:
        spent = re.findall(r"(\d+)m([\d.]+)s", terminal.shown("times; "))
        return sum(60 * int(minutes) + float(seconds) for minutes, seconds in spent)

    start = clock()
    for _ in range(10):
        terminal.tab("triton-runner exec --check race,na")
        terminal.tab("triton-runner exec ")
    spent = clock() - start
    terminal.close()
    return offered, spent / 20


def at_line_end(shell: str, line: str, word: str) -> str:
    """A word as the shell gives it: bash without what stands before the last ":" or "=" of the line."""
    typed = line.split(" ")[-1]
    if shell == "bash":
        for mark in "=:":
            if mark in typed:
                word = word.rpartition(mark)[2]
        return word.rstrip("/")
    if shell == "zsh":
        return re.split("[=:,]" if "," in typed or "=" in typed or ".py:" in typed else "[=,]", word)[-1]
    return word


@pytest.mark.parametrize("shell", SHELLS)
def test_a_tab(shell, folder):
    offered, seconds = {"bash": of_bash, "zsh": of_zsh, "fish": of_fish}[shell](folder, LINES)
    assert len(offered) == len(LINES)
    for (line, (wanted, others)), words in zip(LINES.items(), offered, strict=True):
        words = {word.rstrip("/") if shell != "fish" else word for word in words}
        for word in wanted.split():
            given = at_line_end(shell, line, word)
            assert given in words or given.rstrip("/") in words, (line, word, words)
        for word in others.split():
            assert at_line_end(shell, line, word) not in words, (line, word, words)
    assert not (folder / ".started").exists(), (folder / ".started").read_text()
    assert seconds < TAB


def test_every_option_and_argument_says_what_it_offers():
    """A new option of any verb has to say so: completion.option() and argument() raise KeyError for it."""
    verbs = completion.verbs(main)
    assert {"exec", "cache explain", "versions add", "verify"} <= {verb.name for verb in verbs}
    for verb in verbs:
        for option in verb.options:
            assert option.offer is None or option.offer.kind in (
                "words", "list", "files", "folder", "kernels", "place", "text",
            )  # fmt: skip


def test_no_row_is_of_an_option_that_is_gone():
    def params(group, prefix=""):
        for name, command in group.commands.items():
            for param in command.params:
                yield f"{prefix}{name}", param
            if isinstance(command, click.Group):
                yield from params(command, f"{prefix}{name} ")

    every = [*params(main)]
    options = {name for _, param in every for name in param.opts}
    rows = {f"{verb} {name}" for verb, param in every for name in (*param.opts, param.name)}
    for row in completion._options():
        assert row in rows or row in options, row
    assert completion._ARGUMENTS.keys() <= rows


def test_targets_are_those_that_triton_compiles_for():
    pytest.importorskip("triton")
    from triton_runner._worker import job

    for target in completion.TARGETS:
        job.check_target(target)
