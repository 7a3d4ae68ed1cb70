"""Tests triton_runner.resources: what binaries say, against ptxas's and LLVM's own words about the same
kernels."""

import json
import re
import subprocess
from pathlib import Path

import corpus
import pytest
import triton_runner
import warm
from triton_runner._base import tools

CORPUS = corpus.unpacked()
PTX = sorted(CORPUS.glob("3.9.0/sm*/*.ptx"))
ADD = """
import triton, triton.language as tl
@triton.jit
def add(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)
"""


def assembled(ptx: Path, folder: Path, registers: int = 0) -> tuple[Path, str]:
    """The cubin of a PTX, and what ptxas -v says of it. registers: at most so many."""
    text = ptx.read_text()
    if registers:
        text = text.replace(".reqntid", f".maxnreg {registers}\n.reqntid")
    source, out = folder / ptx.name, folder / f"{ptx.stem}.cubin"
    source.write_text(text)
    target = re.search(r"\.target (\w+)", text)[1]
    ptxas = tools.toolkit("ptxas-blackwell")  # the newer one of the two in Triton's wheel
    command = [ptxas, "-v", f"--gpu-name={target}", str(source), "-o", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return out, done.stderr


def number(pattern: str, text: str, otherwise: int = 0) -> int:
    found = re.search(pattern, text)
    return int(found[1]) if found else otherwise


# wgmma and tcgen05 need more registers than 40, and ptxas gives up.
LIMITED = [path for path in PTX if path.parent.name < "sm9" and path.parent.name != "sm100"]


@pytest.mark.parametrize(
    ("ptx", "registers"),
    [*((path, 0) for path in PTX), *((path, 40) for path in LIMITED)],
    ids=lambda x: f"{x.parent.name}-{x.stem}" if isinstance(x, Path) else str(x),
)
def test_binaries_say_what_ptxas_said(ptx, registers, tmp_path):
    cubin, said = assembled(ptx, tmp_path, registers)
    r = triton_runner.resources(cubin)
    assert r.registers == number(r"Used (\d+) registers", said)
    assert r.barriers == number(r"used (\d+) barriers", said)
    assert r.local_bytes == number(r"(\d+) bytes cumulative stack", said)
    assert r.spills == number(r"(\d+) bytes stack frame", said) // 4
    if bank := number(r"(\d+) bytes cmem\[0\]", said):
        assert r.constant_banks[0] == bank
    if number(r"(\d+) bytes spill stores", said):
        assert r.count("STL") > 0
    assert r.code_bytes == 16 * sum(r.instructions.values())


def test_there_are_kernels_that_spill(tmp_path):
    """The cases above that mean something: 40 registers are too few for a matmul."""
    cubin, said = assembled(CORPUS / "3.9.0" / "sm80" / "matmul_kernel.ptx", tmp_path, 40)
    assert number(r"(\d+) bytes spill stores", said) > 0
    assert triton_runner.resources(cubin).spills > 0


@pytest.mark.parametrize("target", ["hip:gfx942", "hip:gfx1100"])
def test_amd(tmp_path, target):
    source = tmp_path / "add.py"
    source.write_text(ADD)
    made = triton_runner.compile(
        f"{source}:add", "*fp32:16, *fp32:16, i32", {"BLOCK": 1024}, target=target, to="hsaco"
    )
    r = triton_runner.resources(made)
    text = made.asm["amdgcn"]
    assert (r.kernel, r.target) == ("add", target)
    assert r.registers == number(r"\.vgpr_count:\s+(\d+)", text, -1)
    assert r.sgprs == number(r"\.sgpr_count:\s+(\d+)", text, -1)
    assert r.spills == number(r"\.vgpr_spill_count:\s+(\d+)", text, -1)
    assert r.local_bytes == number(r"\.private_segment_fixed_size:\s+(\d+)", text, -1)
    assert r.code_bytes == number(r"; codeLenInByte = (\d+)", text, -1)
    assert r.waves == number(r"; Occupancy: (\d+)", text, -1)
    assert r.agprs == (number(r"\.agpr_count:\s+(\d+)", text, -1) if target == "hip:gfx942" else None)
    assert r.count("s_endpgm") >= 1
    assert sum(r.instructions.values()) > 10


def test_occupancy_needs_the_metadata(tmp_path):
    cubin, _ = assembled(CORPUS / "3.9.0" / "sm80" / "matmul_kernel.ptx", tmp_path)
    r = triton_runner.resources(cubin)
    assert r.occupancy is None
    assert "dynamic shared memory" in r.notes[0]
    shared = {
        "shared": 65536,
        "num_warps": r.warps,
        "name": "matmul_kernel",
        "target": {"backend": "cuda", "arch": 80, "warp_size": 32},
    }
    occupancy = triton_runner.resources(cubin, shared).occupancy
    assert occupancy["limits"] == ["shared memory"]
    assert occupancy["blocks"] == 2


def test_ir_and_ptx_are_compiled_first(tmp_path):
    source = tmp_path / "add.py"
    source.write_text(ADD)
    made = triton_runner.compile(
        f"{source}:add", "*fp32:16, *fp32:16, i32", {"BLOCK": 1024}, target="cuda:90", to="ptx"
    )
    made.save(tmp_path)
    of_file, of_object = triton_runner.resources(tmp_path / "add.ptx"), triton_runner.resources(made)
    assert of_file == of_object
    assert of_file.count("LDG") > 0
    assert of_file.occupancy["blocks"] == 16


def test_command_line(tmp_path):
    cubin, _ = assembled(CORPUS / "3.9.0" / "sm90" / "matmul_kernel.ptx", tmp_path)
    text = warm.cli("resources", cubin, check=True).stdout
    assert text.startswith("matmul_kernel for cuda:90, ")
    (told,) = json.loads(warm.cli("resources", cubin, "--json", check=True).stdout)
    assert f"registers       {told['registers']}" in text
    missing = warm.cli("resources", "absent.cubin")
    assert (missing.returncode, missing.stderr.strip()) == (
        2,
        "error: cannot read absent.cubin: No such file or directory",
    )


@pytest.mark.parametrize("cut", [0, 3, 64, 1000, 5000])
def test_a_cut_off_binary_is_an_error(tmp_path, cut):
    cubin, _ = assembled(CORPUS / "3.9.0" / "sm90" / "matmul_kernel.ptx", tmp_path)
    bad = tmp_path / "bad.cubin"
    bad.write_bytes(cubin.read_bytes()[:cut])
    with pytest.raises(triton_runner.DiagnosticError):
        triton_runner.resources(bad)
