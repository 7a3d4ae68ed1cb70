"""report(): what is in the page. How it behaves in a browser: test_page.py."""

import dataclasses
import importlib
import json
import subprocess
import sys

import kernels_for_names
import numpy
import pages
import pytest
import triton_runner

HOSTILE = "</script><script>window.pwned=1</script><img src=x onerror=window.pwned=2>"
ADD = """
import numpy as np
import triton
import triton.language as tl
import triton_runner

@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(x + i, mask=i < n) / tl.load(y + i, mask=i < n)
    tl.store(out + i, total, mask=i < n)

import torch
x, y, out = torch.zeros(128), torch.zeros(128), torch.zeros(128)
y[32:] = 1
x[100] = 1e30
y[100] = 0
add[(2,)](x, y, out, 128, BLOCK=64)
"""


@pytest.fixture(scope="module")
def trace():
    return pages.attention()


@pytest.fixture(scope="module")
def page(trace, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "out.html"
    assert triton_runner.report(trace, path) == str(path)
    return pages.Read(path)


def test_every_level_and_pass_is_in_it(page, trace):
    (kernel,) = page.kernels
    levels = {level["name"]: level["text"] for level in kernel["levels"]}
    assert {*levels} == {"ttir", "ttgir", "llir", "ptx", "sass"}
    assert all(levels[name] == trace.asm[name] for name in ("ttir", "ttgir", "llir", "ptx"))
    assert len(kernel["passes"]) == len(trace) + 1
    texts = page.blob("passes-0")
    for one in trace:
        assert (str(one.number) in texts) == bool(one.changed)
        if one.changed:
            assert texts[str(one.number)]["text"] == one.after
            assert len(texts[str(one.number)]["at"]) == one.after.count("\n") + 1
    assert pages.KERNEL.read_text() in [file["text"] for file in kernel["files"]]
    assert len(page.text) < 10 * 2**20


def test_it_is_offline_and_runs_its_own_script_only(page):
    (script,) = page.scripts
    assert page.allowed == pages.digest(script)
    shell = page.text.replace(script, "")
    assert "http:" not in shell and "https:" not in shell and "src=" not in shell.replace("script-src", "")
    assert "default-src 'none'" in shell


def test_numbers(page, trace):
    (kernel,) = page.kernels
    said = {label: text for label, text, _ in kernel["resources"]}
    needed = triton_runner.resources(trace)
    assert said["registers"] == str(needed.registers)
    assert said["instructions"] == f"{sum(needed.instructions.values()):,}"
    assert said["shared bytes"] == f"{trace.metadata['shared']:,}"


def test_the_ledger_is_that_of_the_command(page, trace):
    """On the page with the line of each op in the TTGIR that is shown."""
    (kernel,) = page.kernels
    shown = kernel["ledger"]
    ledger = triton_runner.ledger(
        f"{pages.KERNEL}:attention_kernel", pages.SIGNATURE, pages.CONSTANTS, target="cuda:90"
    )
    assert (shown["shared"], shown["peak"], shown["at"]) == (trace.metadata["shared"], ledger.peak, ledger.at)
    assert len(shown["allocations"]) == len(ledger.allocations) > 3
    ttgir = trace.asm["ttgir"].splitlines()
    for entry, one in zip(shown["allocations"], ledger.allocations, strict=True):
        assert {**entry, "ttgir": 0} == {**dataclasses.asdict(one), "ttgir": 0}
        assert not entry["ttgir"] or f"{one.op}" in ttgir[entry["ttgir"] - 1]
    assert any(entry["ttgir"] for entry in shown["allocations"])
    assert shown["registers"]["words"] == ledger.registers.words
    assert sum(words for _, words, _ in shown["registers"]["byPlace"]) <= ledger.registers.words


def test_layouts_are_those_of_the_core(page):
    (kernel,) = page.kernels
    (mma,) = [one for one in kernel["layouts"] if one["name"] == "#mma" and one["shape"] == [128, 64]]
    cells = numpy.frombuffer(pages.base64.b64decode(mma["cells"]), "<i4").reshape(*mma["shape"], 4)
    # wgmma's accumulator: a row of 8 elements is 4 lanes with 2 registers each, a warp has 16 rows.
    assert cells[0, :8, 1].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert cells[:64:16, 0, 2].tolist() == [0, 1, 2, 3] and cells[8, 0].tolist() == [2, 0, 0, 1]
    shared = [layout for layout in kernel["layouts"] if layout["shared"]]
    assert shared
    for layout in shared:
        offsets = numpy.frombuffer(pages.base64.b64decode(layout["cells"]), "<i4")
        assert len({*offsets.tolist()}) == len(offsets) and offsets.min() == 0


def test_a_saved_trace_gives_the_same_page(page, trace, tmp_path):
    trace.save(tmp_path / "saved")
    triton_runner.report(tmp_path / "saved", tmp_path / "out.html")
    again = pages.Read(tmp_path / "out.html")
    assert again.kernels == page.kernels and again.blob("passes-0") == page.blob("passes-0")


def test_markup_of_a_kernel_is_text(tmp_path):
    (tmp_path / "evil.ptx").write_text(
        f'.version 8.0\n.target sm_80\n.address_size 64\n// {HOSTILE}\n.visible .entry evil()\n{{\n'
        f'\t.loc 1 3 1\n\tret;\n}}\n.file 1 "{HOSTILE}.py"\n'
    )  # fmt: skip
    finding = {"title": HOSTILE, "text": HOSTILE}
    triton_runner.report(tmp_path / "evil.ptx", tmp_path / "out.html", findings=finding)
    page = pages.Read(tmp_path / "out.html")
    assert "pwned" not in page.text and len(page.scripts) == 1
    assert HOSTILE in page.kernels[0]["levels"][0]["text"]


def test_a_program_with_dumps(tmp_path):
    path = tmp_path / "add.py"
    path.write_text(ADD)
    arguments = [
        "report",
        "-o",
        str(tmp_path / "out.html"),
        "--dump",
        "total",
        "-t",
        "cuda:80",
        "--json",
        str(path),
    ]
    # A process of its own: this one has launched other kernels.
    run = subprocess.run([sys.executable, "-m", "triton_runner", *arguments], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["kernel"] == "add"
    (kernel,) = pages.Read(tmp_path / "out.html").kernels
    assert {"ttir", "ttgir", "llir", "ptx", "sass"} == {level["name"] for level in kernel["levels"]}
    assert kernel["passes"]
    (value,) = [v for v in kernel["values"] if v["op"] == "arith.divf"]
    # 0/0 in the first half of the first program, which is shown; an infinity in the second.
    assert value["stats"]["nan"] == 32 and value["stats"]["inf"] == 1 and value["program"] == [0, 0, 0]
    marks = numpy.frombuffer(pages.base64.b64decode(value["marks"]), "u1")
    assert marks.tolist() == [1] * 32 + [0] * 32
    assert sum(value["histogram"]) == 32
    level, line = value["at"]
    assert (
        value["name"]
        in {level["name"]: level["text"] for level in kernel["levels"]}[level].splitlines()[line - 1]
    )


def test_values_of_both_arms_stand_on_their_own_lines(tmp_path):
    given = kernels_for_names.arguments(kernels_for_names.arms)
    with triton_runner.dumping(kernels_for_names.arms, "*", level="ttir") as dump:
        launched = kernels_for_names.arms[(1,)](*given, N=kernels_for_names.N, device="cpu")
    triton_runner.report(launched, tmp_path / "out.html", dumps=[dump.last])
    (kernel,) = pages.Read(tmp_path / "out.html").kernels
    (text,) = (level["text"] for level in kernel["levels"] if level["name"] == "ttir")
    shared = [value for value in kernel["values"] if "@" in value["name"]]
    assert len(shared) == 4
    for value in shared:
        level, line = value["at"]
        name = value["name"].partition("@")[0]
        assert level == "ttir" and f"{name} = {value['op']}" in text.splitlines()[line - 1]
    assert len({value["at"][1] for value in shared}) == 4


def test_findings_stand_on_their_lines(trace, tmp_path):
    line = pages.line_of("scores = tl.dot(")
    trap = triton_runner.KernelTrap(
        "boom", kind="out of bounds", op="tt.load", file=str(pages.KERNEL), line=line
    )
    bisected = {
        "verdict": "compiler", "faults": [{
            "verdict": "compiler", "level": "ttgir", "stage": "make_ttgir", "release": {"wrong": ["3.9.0"]},
            "pass": {"name": "TritonGPUPipeline"}, "confirmed_by": ["execution"], "notes": [],
            "evidence": [{"op": "tt.store", "file": str(pages.KERNEL), "line": line, "element": [3],
                          "got": 1, "want": 2}],
        }],
    }  # fmt: skip
    (tmp_path / "bisect.json").write_text(json.dumps(bisected))
    triton_runner.report(trace, tmp_path / "out.html", findings=[trap, tmp_path / "bisect.json"])
    (kernel,) = pages.Read(tmp_path / "out.html").kernels
    first, second, third = kernel["findings"]
    assert third["line"] == line and third["text"] == "element [3]: 1, and should be 2"
    assert kernel["files"][first["file"]]["path"] == str(pages.KERNEL) and first["line"] == line
    assert second["pass"] == "TritonGPUPipeline" and "first wrong at ttgir" in second["title"]


SUMS = """
import numpy, triton_runner, triton.language as tl
@triton_runner.jit
def sums(x, out, B: tl.constexpr):
    value = tl.load(x + tl.arange(0, B))
    tl.store(out + tl.arange(0, B), tl.cumsum(value * 3))
"""


def test_findings_of_the_other_verbs(tmp_path, monkeypatch):
    """What lockstep, verify and compare really write, each where it belongs."""
    (tmp_path / "sums.py").write_text(SUMS)
    monkeypatch.syspath_prepend(tmp_path)
    kernel = importlib.import_module("sums").sums
    made = triton_runner.compile(
        f"{tmp_path}/sums.py:sums", "*fp32:16, *fp32:16", {"B": 64}, target="cuda:90"
    )
    made.save(tmp_path / "there")
    edited = made.asm["ttgir"].replace("3.000000e+00", "2.000000e+00")
    args = [numpy.ones(64, numpy.float32), numpy.zeros(64, numpy.float32)]
    parted = triton_runner.lockstep(kernel, args, {"B": 64}, grid=(1,), sources={"ttgir": edited})
    assert parted.diverged is not None
    verdict = triton_runner.verify(kernel, [args[0], numpy.zeros(32, numpy.float32)], {"B": 64}, grid=(1,))
    compared = triton_runner.compare(
        f"{tmp_path}/sums.py:sums",
        signature="*fp32:16, *fp32:16",
        constexprs={"B": 64},
        targets=["cuda:80", "cuda:90"],
        store=tmp_path / "store",
    )
    (tmp_path / "lockstep.json").write_text(parted.to_json())
    (tmp_path / "compare.json").write_text(json.dumps(compared.as_dict()))
    given = [tmp_path / "lockstep.json", verdict, tmp_path / "compare.json"]
    triton_runner.report(tmp_path / "there", tmp_path / "out.html", findings=given)
    (shown,) = pages.Read(tmp_path / "out.html").kernels
    differs, *rest, table = shown["findings"]
    source = SUMS.splitlines()
    assert "differs from" in differs["title"] and "value * 3" in source[differs["line"] - 1]
    oob = next(one for one in rest if one["title"].startswith("oob at ttir"))
    assert oob["kind"] == "wrong" and "tl.store" in source[oob["line"] - 1]
    assert (
        table["title"] == "compare: 2 cells" and "cuda:80" in table["text"] and "registers" in table["text"]
    )


def test_two_kernels(trace, tmp_path):
    other = pages.compiled(target="cuda:80")
    triton_runner.report([trace, other], tmp_path / "out.html")
    read = pages.Read(tmp_path / "out.html")
    assert [kernel["label"] for kernel in read.kernels] == [
        "attention_kernel cuda:90",
        "attention_kernel cuda:80",
    ]


@pytest.mark.parametrize(
    "make, said",
    [
        (lambda folder: triton_runner.report([folder] * 3, "x"), "one kernel or two"),
        (lambda folder: triton_runner.report(folder, "x"), "holds no kernel"),
        (lambda folder: triton_runner.report(folder / "none.ptx", "x"), "no such file"),
        (lambda folder: triton_runner.report(object(), "x"), "nothing is known of the levels"),
    ],
)
def test_what_cannot_be_shown(tmp_path, make, said):
    with pytest.raises(triton_runner.DiagnosticError, match=said):
        make(tmp_path)


def test_findings_that_cannot_be_read(trace, tmp_path):
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(triton_runner.DiagnosticError, match="is not JSON"):
        triton_runner.report(trace, tmp_path / "x.html", findings=tmp_path / "bad.json")
    with pytest.raises(triton_runner.DiagnosticError, match="cannot be read from a int"):
        triton_runner.report(trace, tmp_path / "x.html", findings=[3])
