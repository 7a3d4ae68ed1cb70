"""Our parser and printers take what this release prints, and its parser takes what we edit."""

import subprocess
import sys

import pytest
import triton
from triton_runner import ir
from triton_runner._base.releases import parse_version
from triton_runner.verbs.ops import run as op_listing

# The release's own parser, in a process of its own: it may abort.
PARSE = """
import sys
import triton
from triton._C.libtriton import ir
from triton.backends import backends
context = ir.context()
ir.load_dialects(context)
backends["nvidia"].compiler.load_dialects(backends["nvidia"].compiler, context)
module = ir.parse_mlir_module(sys.argv[1], context)
assert module.verify()
print(module)
"""


@pytest.fixture(scope="module")
def printed(compiled):
    """{file name: text} of the TTIR and TTGIR that the kernels give here."""
    texts = {file.name: file.read_text() for file in sorted(compiled.glob("*.tt*ir"))}
    assert len(texts) == 14, sorted(texts)
    return texts


def parse_with_triton(text, tmp_path):
    file = tmp_path / "edited.mlir"
    file.write_text(text)
    return subprocess.run([sys.executable, "-c", PARSE, file], capture_output=True, text=True, timeout=60)


def test_byte_for_byte(printed):
    for name, text in printed.items():
        assert str(ir.parse(text, name)) == text, name


def test_from_the_graph_alone(printed):
    for name, text in printed.items():
        assert ir.parse(text, name).print(canonical=True) == text, name


@pytest.mark.parametrize("level", ["ttir", "ttgir"])
def test_edited_module_is_accepted(printed, level, tmp_path):
    module = ir.parse(printed[f"add_kernel.{level}"])
    ops = module.walk()
    [add] = [op for op in ops if op.name == "arith.addf"]
    # x + y becomes x * y + y; the kernel gets another attribute; a name is changed.
    [product] = add.insert_before(
        f"%product = arith.mulf {add.operands[0].name}, {add.operands[1].name} : {add.results[0].type}"
    )
    add.set_operand(0, product.results[0])
    [function] = [op for op in ops if op.name == "tt.func"]
    function.set_attr("noinline", "true")
    add.results[0].rename("sum")
    text = str(module)
    assert "arith.mulf" in text and "noinline = true" in text and "%sum = arith.addf" in text
    for edited in (text, module.print(canonical=True)):
        accepted = parse_with_triton(edited, tmp_path)
        assert accepted.returncode == 0, accepted.stderr[-2000:]
        assert "arith.mulf" in accepted.stdout and "noinline = true" in accepted.stdout


def test_the_oracle_can_refuse(printed, tmp_path):
    broken = printed["add_kernel.ttir"].replace("arith.addf", "arith.addi")
    assert parse_with_triton(broken, tmp_path).returncode != 0, triton.__version__


# Asks for each op, with nothing that it needs: what Triton says is another thing where it does not know it.
ASK = """
import importlib, sys
from triton._C.libtriton import ir
context = ir.context()
ir.load_dialects(context)
for name in ("nvidia", "amd", "proton"):
    try:
        importlib.import_module("triton._C.libtriton." + name).load_dialects(context)
    except (ImportError, AttributeError):
        try:
            getattr(importlib.import_module("triton._C.libtriton"), name).load_dialects(context)
        except AttributeError:
            pass
for name in sys.stdin.read().split():
    with open(sys.argv[1], "w") as file:
        file.write('module { tt.func public @k() { "%s"() : () -> ()\\n tt.return } }' % name)
    print("asked", name, file=sys.stderr, flush=True)
    try:
        ir.parse_mlir_module(sys.argv[1], context)
    except Exception:
        pass
"""


def test_the_op_table_says_what_this_release_has(tmp_path):
    """By the names of the rows and those of OLD_NAME; TLX's come with a plug-in."""
    version = parse_version(triton.__version__)[:2]
    current = {row["name"]: row for row in op_listing.table() if row["dialect"] not in ("tlx", "builtin")}
    old = {name["name"]: name for row in current.values() for name in row["old_names"]}
    spelled = {}
    for name, row in {**current, **old}.items():
        for prefix, now, last in (
            ("triton_gpu.", "ttg.", (3, 2)),
            ("triton_nvidia_gpu.", "ttng.", (3, 2)),
            ("amdgpu.", "amdg.", (3, 5)),
        ):
            if version <= last and name.startswith(now):
                name = prefix + name.removeprefix(now)
        spelled[name] = row
    command = [sys.executable, "-c", ASK, str(tmp_path / "asked.mlir")]
    done = subprocess.run(command, input=" ".join(spelled), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    there = dict.fromkeys(spelled, True)
    for line in done.stderr.splitlines():
        if line.startswith("asked "):
            name = line.split()[1]
        elif any(
            words in line for words in ("unregistered operation", "unregistered dialect", "not found for")
        ):
            there[name] = False
    wrong = {n: there[n] for n, row in spelled.items() if there[n] != op_listing._has(row, version)}
    assert not wrong
