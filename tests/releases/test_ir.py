"""Our parser and printers take what this release prints, and its parser takes what we edit."""

import subprocess
import sys

import pytest
import triton
from golden import ask_ops
from triton_runner import ir
from triton_runner._base.releases import parse_version

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


def test_the_kept_list_says_which_ops_this_release_has():
    """The op table is compared with the list in every test run (tests/python/compiler/test_ops_table.py)."""
    kept = ask_ops.kept()
    invented = {"tt.invented", "rocdl.invented", "nosuch.op"}
    command = [sys.executable, ask_ops.__file__]
    asked = "\n".join(set().union(invented, *kept.values()))
    done = subprocess.run(command, input=asked, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert set(done.stdout.split()) == kept[parse_version(triton.__version__)[:2]]
