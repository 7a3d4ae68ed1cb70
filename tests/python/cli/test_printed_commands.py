"""The commands that messages, notes and generated scripts print do what they say. Python makes them in one
place, _base.commands.shell(), of which each call has a row here that is run; C++ has a few as text."""

import ast
import itertools
import pathlib
import re
import shlex

import pytest
import warm

pytest.importorskip("torch")
pytest.importorskip("triton")
import triton_runner
from triton_runner._base import commands
from triton_runner._cli import main

ROOT = pathlib.Path(__file__).resolve().parents[3]
PACKAGE = pathlib.Path(triton_runner.__file__).parent
IR = ROOT / "examples/exec/add_kernel.ttir"
KERNEL = f"{ROOT}/examples/kernels/vector_add.py:add_kernel"
SIGNATURE = ("-s", "*fp32, *fp32, *fp32, i32, 64", "-t", "cuda:90")
ARRAYS = ("f32[64]=iota", "f32[64]=1", "f32[64]", "64")
PROGRAM = """
import torch, triton, triton.language as tl

@triton.jit
def add_kernel(x, y, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + at, tl.load(x + at) + 1)

add_kernel[(2,)](torch.ones({n}), torch.empty(128), B=64)
"""

# (module, the words; * for one that is made at run time): what is run, its status, what it prints. Words in
# capitals are the reader's.
RUN = {
    ("_kernel.compiling.passes_select", "passes KERNEL"): (("passes", KERNEL, *SIGNATURE), 0, "make_ttgir"),
    ("_kernel.compiling.passes_launch", "passes KERNEL"): (("passes", KERNEL, *SIGNATURE), 0, "make_ttgir"),
    ("_pipeline.workers", "versions remove *"): (("versions", "remove", "3.0.0"), 1, "3.0.0 was not"),
    ("_pipeline.versions", "versions"): (("versions",), 0, "installed"),
    ("_pretend.running", "versions *"): (("versions", "add", "3.9.0"), 0, ""),
    ("_pretend.running", "run"): (("run", "right.py"), 0, ""),
    ("_pretend.running", "cuda PROGRAM"): (("cuda", str(ROOT / "examples/cuda/streams.py")), 0, "right"),
    ("_base.paths", "exec --grid GRID *"): (
        ("exec", "--grid", "1", str(IR), *itertools.chain(*(("--arg", x) for x in ARRAYS))), 0, "out_ptr",
    ),
    ("_base.paths", "run *"): (("run", "right.py"), 0, ""),
    ("_base.paths", "compile * --save FOLDER"): (
        ("compile", KERNEL, *SIGNATURE, "--save", "levels"), 0, "add_kernel for cuda:90",
    ),
    ("_kernel.cases.archive", "bundle -o case.trcase PROGRAM"): (
        ("bundle", "--no-verify", "--no-passes", "--no-report", "-o", "case.trcase", "right.py"), 0, "",
    ),
    ("_base.tools", "versions add 3.9.0"): (("versions", "add", "3.9.0"), 0, ""),
    ("verbs.doctor.run", "versions add *"): (("versions", "add", "3.9.0"), 0, ""),
    ("tlx", "versions run fbtriton run PROGRAM"): (("versions", "run", "3.9.0", "run", "right.py"), 0, ""),
    ("verbs.assemble.assemblers", "versions add RELEASE"): (("versions", "add", "3.9.0"), 0, ""),
    ("verbs.bits.why", "verify PROGRAM"): (("verify", "right.py"), 0, "no fault found"),
    ("verbs.bisect.kernel", "compare KERNEL --versions all"): (
        ("compare", KERNEL, "--versions", "3.9.0", *SIGNATURE), 0, "3.9.0",
    ),
    ("verbs.compare.run", "compare KERNEL --json"): (
        ("compare", KERNEL, "--json", *SIGNATURE), 0, '"cells"',
    ),
    ("verbs.dev.run", "dev build --checkout * --run"): (("dev", "build", "--checkout", "checkout"), 0, "pip"),
    ("verbs.bundle.command", "run *"): (("run", "right.trcase"), 0, "add_kernel"),
    ("verbs.bits.command", "configs PROGRAM"): (("configs", "tuned.py"), 0, "add_kernel"),
    ("_kernel.cases.severity", "bisect PROGRAM"): (("bisect", "--versions", "3.9.0", "right.py"), 0, "right"),
    ("_kernel.cases.reads", "bisect KERNEL --oracle reads"): (
        ("bisect", KERNEL, "--args", "f32[64], f32[64], f32[64], 64", "-c", "BLOCK=64", "--oracle", "reads",
         "--versions", "3.9.0"), 0, "right",
    ),
    ("verbs.demo.command", "demo --fault"): (("demo", "--fault"), 0, "4 of 4 faults"),
    ("verbs.demo.command", "doctor"): (("doctor", "--no-selftest"), 0, "triton"),
    ("verbs.demo.command", "ops"): (("ops",), 0, "tt.load"),
    ("verbs.demo.command", "run --pretend-cuda PROGRAM"): (("run", "--pretend-cuda", "right.py"), 0, ""),
    ("verbs.demo.command", "run --check all PROGRAM"): (("run", "--check", "all", "right.py"), 0, ""),
    ("verbs.demo.command", "run --device cpu examples/runner/v3.9.0/python/vector_add.py"): (
        ("run", "--device", "cpu", str(ROOT / "examples/runner/v3.9.0/python/vector_add.py")), 0, "match",
    ),
    ("_pipeline.cache", "cache ls"): (("cache", "ls"), 0, "kernels in"),
    # Their words are made at run time: the tests below take them from what is printed.
    ("_programs.look", "debug * *"): None,
    ("verbs.cuda.run", "debug *"): None,  # test_cuda_program.py
    ("verbs.bisect.reproducer", "*"): None,
}  # fmt: skip


def trees():
    for path in sorted(PACKAGE.rglob("*.py")):
        yield ".".join(path.relative_to(PACKAGE).with_suffix("").parts), ast.parse(path.read_text())


def shell_calls():
    """(module, words) of each call of commands.shell()."""
    for module, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("commands.shell"):
                words = [arg.value if isinstance(arg, ast.Constant) else "*" for arg in node.args]
                yield module, " ".join(words)


def docstrings(tree) -> set[int]:
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    of = [node.body[0].value for node in ast.walk(tree) if isinstance(node, owners) and node.body
          and isinstance(node.body[0], ast.Expr)]  # fmt: skip
    return {id(node) for node in of}


def test_there_is_one_place_where_commands_are_made():
    """Texts that people read of what other texts mean (docstrings, the table of variables) name verbs too."""
    verb = re.compile(rf"\btriton-runner ({'|'.join(main.list_commands(None))})\b")
    found = []
    for module, tree in trees():
        if module in ("_base.commands", "_settings.environment"):
            continue
        known = docstrings(tree)
        found += [
            (module, node.lineno, node.value) for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in known
            and verb.search(node.value)
        ]  # fmt: skip
    assert not found, "use commands.shell()"


def test_every_command_has_a_row():
    assert set(shell_calls()) == set(RUN)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "right.py").write_text(PROGRAM.format(n=128))
    (tmp_path / "wrong.py").write_text(PROGRAM.format(n=100))
    tuned = "@triton.autotune([triton.Config({}, num_warps=w) for w in (1, 2)], key=[])\n@triton.jit\n"
    (tmp_path / "tuned.py").write_text(PROGRAM.format(n=128).replace("@triton.jit\n", tuned))
    (tmp_path / "checkout/python/triton").mkdir(parents=True)
    (tmp_path / "checkout/python/triton/__init__.py").write_text("__version__ = '3.9.0'\n")
    (tmp_path / "checkout/setup.py").write_text("")
    return tmp_path


@pytest.mark.parametrize("row", [row for row, run in RUN.items() if run], ids=" ".join)
def test_a_command_of_a_message(row, here):
    words, status, printed = RUN[row]
    if "right.trcase" in words:
        bundled = warm.cli("bundle", "-o", "right.trcase", "right.py").stdout
        assert bundled.splitlines()[-1] == shlex.join(["triton-runner", *words])
    done = warm.cli(*words)
    assert done.returncode == status and printed in done.stdout + done.stderr, done
    asked = [word for word in row[1].split() if word.startswith("-")]
    known = warm.cli(words[0], "--help").stdout
    assert all(option in known for option in asked), known


def command_of(text: str, mark: str) -> list[str]:
    line = next(line for line in text.splitlines() if mark in line)
    return shlex.split(line.partition(mark)[2])


@pytest.fixture(scope="module")
def levels(tmp_path_factory):
    """The kernel at every level that the CPU executes."""
    folder = tmp_path_factory.mktemp("levels")
    assert warm.cli("compile", KERNEL, *SIGNATURE, "--save", folder).returncode == 0
    return folder


@pytest.mark.parametrize("level", ["ttir", "ttgir", "llir", "ptx", "cubin"])
@pytest.mark.parametrize("asked", [False, True], ids=["as the file", "asked for"])
def test_the_note_on_how_to_look_at_a_fault(level, asked, levels, monkeypatch):
    """The level follows from the file, or is that of the launch."""
    monkeypatch.chdir(levels)
    options = ("--level", level) if asked else ()
    file = f"add_kernel.{'ttir' if asked else level}"
    arguments = itertools.chain(*(("--arg", text) for text in (*ARRAYS[:2], "f32[40]", "64")))
    said = warm.cli("exec", *options, "--target", "cuda:90", "--grid", "1", file, *arguments).stderr
    command = command_of(said, "to look at it: triton-runner ")
    shown = warm.cli(command[0], "-ex", "run", *command[1:])
    level = {"llir": "ptx"}.get(level, level)
    assert "trap: kernel 'add_kernel': out of bounds" in shown.stdout, shown
    assert re.search(rf"^  {level} ", shown.stdout, re.M), shown.stdout


@pytest.mark.parametrize("level", ["ttir", "llir", "cubin"])
def test_the_note_of_a_program_and_of_a_case(level, here):
    for words in (("wrong.py",), ("wrong.trcase",)):
        if words[0].endswith("trcase"):
            warm.cli("bundle", "-o", "wrong.trcase", "wrong.py")
        done = warm.cli("run", "--level", level, "--target", "cuda:90", *words)
        said = done.stderr + done.stdout
        command = command_of(said, "to look at it: triton-runner ")
        shown = warm.cli(command[0], "-ex", "run", *command[1:]).stdout
        assert "trap: kernel 'add_kernel': out of bounds" in shown, (said, shown)


@pytest.mark.parametrize("verb", ["run", "verify", "bisect", "experiments"])
def test_what_is_said_of_a_level_that_is_no_program(verb, levels, monkeypatch):
    monkeypatch.chdir(levels)
    said = warm.invoke(verb, *(("--versions", "3.9.0") if verb == "bisect" else ()), "add_kernel.ptx").stderr
    command = shlex.split(re.search("`triton-runner (.*?)`", said)[1].replace("GRID", "1"))
    done = warm.cli(*command, *itertools.chain(*(("--arg", text) for text in ARRAYS)))
    assert done.returncode == 0 and "add_kernel (ptx)" in done.stdout, done


def test_a_level_above_the_file_is_refused(levels, monkeypatch):
    monkeypatch.chdir(levels)
    for words in (("debug", "--level", "ttir", "--grid", "1"), ("exec", "--level", "ttir", "--grid", "1")):
        done = warm.cli(*words, "add_kernel.ptx")
        assert done.returncode == 2 and "ttir" in done.stderr and "Traceback" not in done.stderr, done


def test_the_commands_of_the_core():
    """Those in C++ name verbs and options that there are."""
    texts = [path.read_text() for path in (ROOT / "src").rglob("*.cpp") if not path.stem.endswith("_test")]
    found = {
        match
        for text in texts
        for match in re.findall(r"triton-runner ([a-z]+)((?: --[a-z]+ ?[\w,]*)*)", text)
    }
    assert {verb for verb, _ in found} == {"cuda", "export", "compile", "ops"}
    for verb, options in found:
        known = warm.invoke(verb, "--help").output
        assert all(option in known for option in re.findall("--[a-z]+", options)), (verb, options)


def test_an_export_as_the_core_advises(here):
    variants = "*fp32:16, *fp32:16, *fp32:16, i32:16; BLOCK=1024"
    kernel = f"{ROOT}/examples/deploy/add_kernel.py:add_kernel"
    for options in (("--levels", "cubin,ttir"), ("--targets", "cuda:90")):
        done = warm.cli("export", kernel, "--out", "out", "--variants", variants, *options)
        assert done.returncode == 0, done


# ---- how this project is installed

OTHER = re.compile(r"pip install(?=[^\n`]*?[\s'\"]triton[-_]runner\b)[^\n`]*")


def test_nobody_is_sent_to_the_other_project():
    """The package index has another project of that name; a line may say so."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "doc").rglob("*.md"), *(ROOT / "editors").rglob("*.md"),
             *(ROOT / "editors").rglob("*.js*"), *PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.js"),
             *(ROOT / "src").rglob("*.cpp"), *(ROOT / "src").rglob("*.h")]  # fmt: skip
    found = {str(path): OTHER.findall(path.read_text()) for path in pages}
    assert {path for path, lines in found.items() if lines} == {str(ROOT / "doc/checklist.md")}
    assert OTHER.search("pip install triton-runner") and OTHER.search("pip install torch triton_runner[plot]")
    assert not OTHER.search(commands.install("plot", beside=("triton",)))


def test_the_pages_say_it_as_the_constant():
    for page in ("README.md", "doc/guide/start.md", "doc/guide/tlx.md", "editors/vscode/README.md"):
        assert commands.SOURCE in (ROOT / page).read_text(), page


def test_doctor_knows_which_of_the_two_it_is(monkeypatch, tmp_path):
    from triton_runner.verbs.doctor import run as doctor

    told, reason = doctor.installed_runner()
    assert "this project, from " in told and not reason
    other = tmp_path / "triton_runner-0.3.9.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: triton-runner\nVersion: 0.3.9\n")
    (other / "RECORD").write_text("triton_runner/__init__.py,,\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    told, reason = doctor.installed_runner()
    assert "0.3.9" in told and "the original project" in told and commands.install() in reason
    assert "triton-runner" in doctor.facts()["problems"]
