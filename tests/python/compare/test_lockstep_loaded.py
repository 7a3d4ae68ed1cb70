"""Tests lockstep() of load()ed kernels and of files, entering at every level."""

import pathlib
import shutil

import pytest
import triton_runner
from kernels_for_tests import row_sum

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

AMDGCN = pathlib.Path(__file__).resolve().parents[2] / "cases/amdgcn"
ROWS, COLUMNS = 4, 100
LEVELS = ("ttir", "ttgir", "llir", "ptx")
ABOVE = {"ttir": "ttir", "ttgir": "ttgir", "llir": "ttgir", "ptx": "ttgir"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The kernel at every level with its metadata, in one folder as a Triton cache has it."""
    x = torch.zeros(ROWS, COLUMNS)
    compiled = row_sum.warmup(x, x, COLUMNS, BLOCK=128, grid=(ROWS,))
    made = tmp_path_factory.mktemp("row_sum")
    for level in LEVELS:
        (made / f"row_sum.{level}").write_text(compiled.asm[level])
    metadata = triton_runner._base.metadata.as_path_or_text(compiled.metadata, "metadata")
    (made / "row_sum.json").write_text(metadata)
    return made


def arguments():
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(ROWS, COLUMNS, generator=generator), torch.zeros(ROWS), COLUMNS]


def compared(kernel, **options):
    args = arguments()
    found = triton_runner.lockstep(kernel, args, grid=(ROWS,), **options)
    assert not args[1].any()  # as it was
    return found


@pytest.mark.parametrize("form", ["path", "loaded", "named"])
@pytest.mark.parametrize("entry", LEVELS)
def test_levels_from_the_entry_on(folder, entry, form):
    file = folder / f"row_sum.{entry}"
    if form == "named":
        found = triton_runner.lockstep(
            triton_runner.load(file),
            dict(zip(("x", "out", "columns"), arguments(), strict=True)),
            grid=(ROWS,),
        )
    else:
        found = compared(file if form == "path" else triton_runner.load(file))
    assert found.diverged is None and not found.outputs and not found.traps, str(found)
    [(pair, count)] = found.compared.items()
    assert pair.startswith(ABOVE[entry]) and count >= 5
    assert ("ttgir is " in str(found)) == (entry in ("llir", "ptx"))


def test_all_levels_at_once(folder):
    found = compared(folder / "row_sum.ttir", levels=LEVELS)
    assert found.runs == list(LEVELS) and found.diverged is None and not found.outputs


@pytest.mark.parametrize("entry", ["ttgir", "ptx"])
def test_a_fault_is_found(folder, entry, tmp_path):
    for level in ("ttgir", "json", entry):
        shutil.copy(folder / f"row_sum.{level}", tmp_path / f"row_sum.{level}")
    ttgir = (folder / "row_sum.ttgir").read_text()
    assert ttgir.count("arith.addf") == 1
    edited = ttgir.replace("arith.addf", "arith.subf")
    found = compared(triton_runner.load(tmp_path / f"row_sum.{entry}"), sources={"ttgir": edited})
    assert found.diverged or found.outputs, str(found)
    if entry == "ptx":  # the PTX is right, and its TTGIR is not
        assert [output["name"] for output in found.outputs] == ["out"]


def test_what_is_missing_is_said(folder, tmp_path):
    alone = tmp_path / "row_sum.ptx"
    shutil.copy(folder / "row_sum.ptx", alone)
    shutil.copy(folder / "row_sum.json", tmp_path)
    with pytest.raises(triton_runner.DiagnosticError, match="compared with those of the TTGIR"):
        compared(alone)
    found = compared(alone, sources={"ttgir": folder / "row_sum.ttgir"})
    assert found.diverged is None and not found.outputs
    with pytest.raises(triton_runner.DiagnosticError, match="nothing is given to run at ttir"):
        compared(folder / "row_sum.ttgir", levels=["ttir", "ttgir"])
    with pytest.raises(triton_runner.DiagnosticError, match="has no parameter 'BLOCK'"):
        compared(folder / "row_sum.ttir", constexprs={"BLOCK": 128})
    with pytest.raises(triton_runner.DiagnosticError, match="argument 'x' is Holder"):

        class Holder:
            dtype = torch.float32

            def data_ptr(self):
                return 0

        triton_runner.lockstep(folder / "row_sum.ttir", [Holder(), *arguments()[1:]], grid=(ROWS,))
    with pytest.raises(triton_runner.DiagnosticError, match="no such file: row_sum"):
        compared("row_sum")


def test_a_level_from_which_nothing_is_made_is_no_beginning(tmp_path):
    alone = tmp_path / "store.amdgcn"
    shutil.copy(AMDGCN / "registers-by-number.amdgcn", alone)
    with pytest.raises(triton_runner.DiagnosticError, match="lockstep does not begin at amdgcn") as raised:
        triton_runner.lockstep(alone, [torch.zeros(64)], grid=(1,))
    assert "levels: ttir, ttgir, llir, ptx" in str(raised.value)
