"""Tests the assembler on trial: PTX and machine code side by side, on the CPU."""

import json
import os
import stat
import struct
import subprocess
import sys
import time
from pathlib import Path

import numpy
import pytest
import triton_runner
import warm
from triton_runner import _core
from triton_runner._base import tools
from triton_runner._base.errors import DiagnosticError
from triton_runner._kernel.cells import measure
from triton_runner.verbs.assemble import assemblers, inputs
from triton_runner.verbs.assemble import run as trials

SASS = Path(__file__).resolve().parents[2] / "sass"
sys.path.append(str(SASS))
import control_words  # noqa: E402

PTX = """\
// grid: 2
// arg: i32[64] iota 5
// arg: i32[64] zeros
// arg: i32 7
.version 8.0
.target sm_90
.address_size 64
.visible .entry sum(.param .u64 .ptr .global a, .param .u64 .ptr .global o, .param .u32 n)
.reqntid 32
{
 .reg .b32 %r<9>; .reg .b64 %d<5>;
 ld.param.u64 %d0, [a]; ld.param.u64 %d1, [o]; ld.param.u32 %r0, [n];
 mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mad.lo.s32 %r3, %r1, 32, %r2;
 mul.wide.s32 %d2, %r3, 4; add.s64 %d3, %d0, %d2; add.s64 %d4, %d1, %d2;
 ld.global.u32 %r4, [%d3];
 add.s32 %r5, %r4, %r0;
 st.global.u32 [%d4], %r5;
 ret;
}
"""
BARE = PTX[PTX.index(".version") :]  # whose inputs are drawn

PROGRAM = """\
import torch
import triton
import triton.language as tl

@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)

add[(4,)](torch.rand(1000), torch.rand(1000), torch.empty(1000), 1000, BLOCK=256)
"""


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A store of its own."""
    monkeypatch.setenv("TRITON_RUNNER_STORE", str(tmp_path / "store"))


def assembler() -> str:
    return assemblers.default().path


def faulty(folder, edit: str) -> str:
    """A ptxas that assembles something else than it is given: a sed command edits the PTX."""
    path = folder / "ptxas"
    path.write_text(
        '#!/bin/bash\nfor word in "$@"; do if [[ "$word" == *.ptx ]]; then sed -i '
        f'\'{edit}\' "$word"; fi; done\nexec {assembler()} "$@"\n'
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def run(*words: str):
    return warm.invoke("assemble", *words)


def written(folder, text: str, name: str = "sum.ptx"):
    path = folder / name
    path.write_text(text)
    return path


def test_what_it_makes(tmp_path):
    made = run(written(tmp_path, PTX), "-o", tmp_path / "sum.cubin", "--opt", "1")
    assert made.exit_code == 0 and "registers" in made.output and "-O1" in made.output
    assert _core.artifact.describe((tmp_path / "sum.cubin").read_bytes(), "cubin")["name"] == "sum"
    bad = run(written(tmp_path, PTX.replace("add.s32", "addd.s32")))
    assert bad.exit_code == 1 and "does not assemble" in bad.output and "addd" in bad.output


@pytest.mark.parametrize("text", [PTX, BARE], ids=["head", "drawn"])
def test_a_right_assembler(text, tmp_path, store):
    result = run(written(tmp_path, text), "--check", "--opt", "2", "--opt", "3")
    assert result.exit_code == 0, result.output
    assert result.output.count("equal (") == 2 and "2 equal" in result.output


@pytest.mark.parametrize("text", [PTX, BARE], ids=["head", "drawn"])
def test_a_wrong_assembler_is_told_by_its_store(text, tmp_path, store):
    wrong = faulty(tmp_path, "s/add.s32 %r5/sub.s32 %r5/")
    path = written(tmp_path, text)
    result = run(path, "--check", "--ptxas", wrong, "--json")
    assert result.exit_code == 1, result.output
    (found,) = json.loads(result.output)
    assert found["state"] == "different" and found["argument"] == "o" and found["element"] == 0
    assert "STG" in found["place"]["sass"]
    if text == PTX:
        assert (found["want"], found["got"]) == ("0x0000000c", "0xfffffffe") and found["differing"] == 64
    # The line of the PTX that the store was made from.
    line = 1 + text.splitlines().index(" st.global.u32 [%d4], %r5;")
    assert found["place"]["ptx_line"] == line and found["place"]["ptx"] == "st.global.u32 [%d4], %r5;"
    assert "STG" in run(path, "--check", "--ptxas", wrong).output


def test_a_bit_of_the_machine_code(tmp_path, store):
    """An assembler that negates an operand of an IADD3: the store is named, and what made its value."""
    right = assemblers.assemble(PTX, assemblers.find("12.9"), "sm_90", 3)
    code = control_words.instructions(tools.listing(right))
    address, text = next(one for one in code if one[1].startswith("IADD3"))
    program = tmp_path / "ptxas"
    program.write_text(
        f'#!/bin/bash\n{assemblers.find("12.9").path} "$@" || exit 1\n'
        f'[[ "$*" == *--version* ]] || {sys.executable} -c \'\n'
        f'import sys; sys.path.append("{SASS}"); import control_words\n'
        'path = sys.argv[sys.argv.index("-o") + 1]; cubin = bytearray(open(path, "rb").read())\n'
        f'cubin[control_words.sections(cubin)["sum"][0] + {address} + 7] ^= 0x80\n'
        'open(path, "wb").write(cubin)\' "$@"\n'
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    words = ["--check", "--ptxas", str(program), "--opt", "3"]
    (found,) = json.loads(run(written(tmp_path, PTX), *words, "--json").output)
    assert found["state"] == "different" and "STG" in found["place"]["sass"]
    assert found["place"]["maker"].startswith("IADD3") and "-" in found["place"]["maker"]
    assert found["place"]["is_first"] and "with these the machine code is right" in found["place"]["said"]
    assert found["place"]["maker"].replace("-", "") == text
    assert found["place"]["maker_ptx"] == "add.s32 %r5, %r4, %r0;"
    assert "the first that differs: IADD3" in run(tmp_path / "sum.ptx", *words).output


@pytest.mark.parametrize(
    ("name", "made", "of"),
    [
        ("prmt_sign", "PRMT R5, RZ, 0x86, R5", "and.b32 %r3, %r2, 0xffff;"),
        ("packed_add", "VIADD.16x2 R0, R2, 0x0", "add.s16x2 %r3, %r1, %r2;"),
        ("abs_max", "VIMNMX3 R9, R2, R2, R5, !PT", "max.s32 %r5, %r4, %r2;"),
    ],
)
def test_a_fault_of_ptxas(name, made, of, tmp_path, store):
    """The assembler's faults of doc/solving_triton_issues: a masked prmt loses the operand of which it takes
    the sign; a packed sum its constant; a maximum the absolute value."""
    path = Path(__file__).resolve().parents[3] / "doc" / "solving_triton_issues" / f"{name}.ptx"
    words = ["--check", "--json", "--ptxas", "12.9", "--ptxas", "13.4", "--opt", "0", "--opt", "3"]
    found = {(one["ptxas"][:4], one["opt"]): one for one in json.loads(run(path, *words).output)}
    states = {key: one["state"] for key, one in found.items()}
    right = {("12.9", 0): "equal", ("13.4", 0): "equal", ("13.4", 3): "equal"}
    assert states == {**right, ("12.9", 3): "different"}
    place = found["12.9", 3]["place"]
    assert place["is_first"] and (place["maker"], place["maker_ptx"]) == (made, of)
    page = path.with_name(f"{name.replace('_', '-')}.md").read_text()
    shown = run(path, *(word for word in words[:6] if word != "--json")).output
    assert shown.replace(str(path), f"doc/solving_triton_issues/{name}.ptx") in page


@pytest.mark.parametrize("name, right", [("lost_predicates", ["12.9"]), ("lost_guard", [])])
def test_predicates_that_ptxas_loses(name, right, store):
    """ptxas 13.4 drops a predicate and reads it nevertheless; every ptxas leaves out a guard."""
    path = Path(__file__).resolve().parents[3] / "doc" / "solving_triton_issues" / f"{name}.ptx"
    words = ["--check", "--ptxas", "12.9", "--ptxas", "13.4"]
    found = {one["ptxas"][:4]: one["state"] for one in json.loads(run(path, *words, "--json").output)}
    assert found == {ptxas: "equal" if ptxas in right else "different" for ptxas in ("12.9", "13.4")}
    shown = run(path, *words).output.replace(str(path), f"doc/solving_triton_issues/{name}.ptx")
    assert shown in path.with_name("lost-predicates.md").read_text()


def test_results_are_kept(tmp_path, store, monkeypatch):
    folder = tmp_path / "there"
    folder.mkdir()
    written(folder, PTX)
    written(folder, BARE, "bare.ptx")
    chosen, with_ = trials.subjects(str(folder)), [assemblers.default()]
    first = trials.run(chosen, with_, [None], "", 1, 2)
    assert [one.result.state for one in first] == ["equal", "equal"]
    different = measure.Result(trial={"state": "different"})
    monkeypatch.setattr(trials, "judged", lambda work: different)
    assert trials.run(chosen, with_, [None], "", 1) == first
    assert {one.result.state for one in trials.run(chosen, with_, [None], "", 1, again=True)} == {"different"}


def many(folder, count: int):
    """A folder of so many PTX texts, each of its own."""
    folder.mkdir()
    for i in range(count):
        written(folder, PTX.replace("i32 7", f"i32 {7 + i}"), f"sum{i}.ptx")
    return folder


def test_goes_on_after_it_was_killed(tmp_path, store, monkeypatch):
    folder = many(tmp_path / "there", 6)
    words = [sys.executable, "-m", "triton_runner", "assemble", str(folder), "--check", "--jobs", "1"]
    first = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    cells = tmp_path / "store" / "cells"
    kept = lambda: len([path for path in cells.glob("*/*") if path.name[0] != "."])  # noqa: E731
    while kept() < 2:
        assert first.poll() is None
        time.sleep(0.02)
    first.kill()
    first.wait()
    there, tried, judged = kept(), [], trials.judged
    assert there < 6
    monkeypatch.setattr(trials, "judged", lambda work: tried.append(work) or judged(work))
    found = trials.run(trials.subjects(str(folder)), [assemblers.default()], [None], "", 2, 1)
    assert [one.result.state for one in found] == ["equal"] * 6 and len(tried) == 6 - there


def test_on_a_cluster(tmp_path, store, monkeypatch):
    distributed = pytest.importorskip("distributed")
    folder = many(tmp_path / "there", 4)
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options, local_directory=str(tmp_path / "dask")) as cluster:
        address = cluster.scheduler_address.replace("tcp://", "dask://")
        done = run(folder, "--check", "--executor", address, "--json")
    assert [one["state"] for one in json.loads(done.output)] == ["equal"] * 4, done.output
    monkeypatch.setattr(trials, "judged", None)  # all are kept
    assert "4 equal" in run(folder, "--check").output


def test_a_case(tmp_path, store):
    """A launch of a program, with its own arguments and metadata."""
    (tmp_path / "program.py").write_text(PROGRAM)
    case, words = tmp_path / "add.trcase", ["--no-passes", "--no-report", "--no-verify"]
    with triton_runner.using(target="cuda:89"):
        made = warm.invoke("bundle", "-o", case, *words, tmp_path / "program.py")
    assert made.exit_code == 0, made.output
    result = run(case, "--check")
    assert result.exit_code == 0 and "equal (1 inputs)" in result.output, result.output
    wrong = run(case, "--check", "--ptxas", faulty(tmp_path, "s/add.f32/sub.f32/"))
    assert wrong.exit_code == 1 and "STG" in wrong.output and "program.py:8" in wrong.output


def test_ptx_that_is_refused_or_stops(tmp_path, store):
    assert "refused" in run(written(tmp_path, PTX.replace("ret;", "rett;")), "--check").output
    out = PTX.replace("i32[64] zeros", "i32[8] zeros")
    assert "trap" in run(written(tmp_path, out), "--check").output
    assert "no PTX" in run(tmp_path / "store", "--check").output or run(tmp_path, "--check").exit_code in (
        0,
        2,
    )


def test_inputs_of_a_head():
    given = inputs.of_head(
        "// grid: 3 2\n// arg: f32[4,2] iota 1 2\n// arg: x16[2] {0x3c00, 7}\n// arg: f32 0.5\n.version"
    )
    first, second, third = given.arguments
    assert given.grid == (3, 2, 1) and first.shape == (4, 2) and first.ravel()[:3].tolist() == [1, 3, 5]
    assert second.dtype == numpy.uint16 and second.tolist() == [0x3C00, 7] and third == numpy.float32(0.5)
    assert inputs.of_head(BARE) is None
    with pytest.raises(DiagnosticError, match="not an array"):
        inputs.of_head("// arg: whatever\n")


# --- nvdisasm and cuobjdump


def test_whichever_nvdisasm_knows_the_architecture(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    cubin = assemblers.assemble(PTX, assemblers.default())
    own = tools.toolkit("nvdisasm")
    old = tmp_path / "nvdisasm"
    old.write_text("#!/bin/sh\necho \"nvdisasm fatal   : Cannot decode architecture 'SM90'\" >&2; exit 1\n")
    old.chmod(0o755)
    both = [(str(old), "an old one"), (own, "Triton")]
    monkeypatch.setattr(tools, "programs", lambda name: both)
    assert "STG" in tools.disassembly(cubin, "-hex")
    monkeypatch.setattr(tools, "programs", lambda name: both[:1])
    with pytest.raises(DiagnosticError, match="no nvdisasm that reads this cubin") as error:
        tools.disassembly(cubin, "-gp")
    assert "SM90" in str(error.value) and "triton-runner versions add" in str(error.value)
    monkeypatch.setattr(tools, "programs", lambda name: [])
    with pytest.raises(DiagnosticError, match="versions add"):
        tools.disassembly(cubin, "-gp")


def fatbin(*cubins: tuple) -> bytes:
    """A fatbin of (architecture, cubin, flags)."""
    entries = b""
    for arch, cubin, flags in cubins:
        cubin += bytes(-len(cubin) % 8)
        entries += (
            struct.pack("<HHIQIIHHIIIQQQ", 2, 0x101, 64, len(cubin), 0, 0, 8, 1, arch, 0, 0, flags, 0, 0)
            + cubin
        )
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entries)) + entries


def test_a_kernel_of_a_fatbin(tmp_path):
    cubins = [
        (n, assemblers.assemble(BARE.replace("sm_90", f"sm_{n}"), assemblers.default()), 0) for n in (80, 90)
    ]
    path = tmp_path / "several.fatbin"
    path.write_bytes(fatbin(*cubins))
    a, o = numpy.arange(64, dtype=numpy.int32), numpy.zeros(64, numpy.int32)
    assert triton_runner.load(str(path), device="cpu", target="cuda:80").target == "cuda:80"
    kernel = triton_runner.load(str(path), device="cpu")
    assert kernel.level == "cubin" and kernel.target == "cuda:90"
    kernel[(2,)](a, o, 7)
    assert (o == a + 7).all()
    for words, said in (
        ({"name": "product"}, "no kernel 'product'"),
        ({"target": "cuda:100"}, "it has it for cuda:80, cuda:90"),
    ):
        with pytest.raises(DiagnosticError, match=said):
            triton_runner.load(str(path), device="cpu", **words)
    path.write_bytes(fatbin((90, b"(\xb5/\xfd", 0x8000)))
    with pytest.raises(DiagnosticError, match=r"malformed[^$]*-xelf all"):
        triton_runner.load(str(path), device="cpu")
    path.write_bytes(os.urandom(64))
    with pytest.raises(DiagnosticError, match="ELF"):
        triton_runner.load(str(path), device="cpu")
