"""LLIR of newer releases, compiled by this one's LLVM: it runs and matches; what this LLVM lacks is named."""

import corpus
import matrix
import pytest
import triton
import triton_runner
from triton_runner._code import llvm_ir
from triton_runner._pipeline import abilities, translation

RELEASE = divmod(translation.number(triton.__version__), 100)
NEWER = matrix.RELEASES[matrix.RELEASES.index(matrix.nearest(triton.__version__)) + 1 :]
ROWS = [row for release in NEWER for row in matrix.rows_of(release) if row.level == "llir"]
ROWS = [row for row in ROWS if not abilities.gap(triton.__version__, f"cuda:{row.arch}", "ptx")]
# Descriptors of the host came with 3.4: before, nothing in Python makes what that kernel takes.
FUNCTIONS = {"tlx_attention": "_attn_fwd_ws_pipelined_pingpong"} | dict.fromkeys(
    ("matmul_tma_v3", "matmul_tma_v4"), "matmul_tma_kernel"
)
RUN = [row for row in ROWS if row.kernel == "matmul" or RELEASE >= (3, 4)]


@pytest.mark.parametrize("row", [pytest.param(row, id=row.name) for row in RUN])
def test_newer_llir_runs(row, capfd):
    with pytest.raises(SystemExit) as ended:
        row.run()
    said = capfd.readouterr()
    assert not ended.value.code, said
    assert "✅ Triton and" in said.out


@pytest.mark.parametrize("row", [pytest.param(row, id=row.name) for row in ROWS if row not in RUN])
def test_newer_llir_compiles(row):
    function = FUNCTIONS.get(row.kernel, f"{row.kernel}_kernel")
    file = row.folder / f"{function}.llir"
    if RELEASE < (3, 2) and "grid_constant" in file.read_text():
        with pytest.raises(triton_runner.DiagnosticError) as caught:
            triton_runner.compile(file, target=f"cuda:{row.arch}", to="ptx", isolate=True)
        assert "has no kernel parameters that are grid constants" in str(caught.value)
    else:
        ptx = triton_runner.compile(file, target=f"cuda:{row.arch}", to="ptx", isolate=True).asm["ptx"]
        assert ".reqntid " in ptx and f".entry {function}(" in ptx and ".extern .func" not in ptx


def test_the_llir_of_this_release_stays_as_it_is():
    files = list(corpus.folder(matrix.nearest(triton.__version__)).rglob("*.llir"))
    assert files
    for file in files:
        text = file.read_text()
        assert llvm_ir.translate(text, RELEASE) == (text, []), file


UNKNOWN = """define ptx_kernel void @k(ptr addrspace(1) %0, float %1) {
  %3 = call float @llvm.nvvm.of.the.future(float %1)
  store float %3, ptr addrspace(1) %0
  ret void
}
declare float @llvm.nvvm.of.the.future(float)
"""


def test_an_intrinsic_that_this_llvm_lacks_is_named(tmp_path):
    file = tmp_path / "k.llir"
    file.write_text(UNKNOWN)
    with pytest.raises(triton_runner.DiagnosticError) as caught:
        triton_runner.compile(file, target="cuda:90", to="ptx", isolate=True)
    said = str(caught.value)
    assert f"{file}:2: LLVM of Triton {triton.__version__} has no @llvm.nvvm.of.the.future" in said
