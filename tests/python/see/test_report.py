"""Tests report(): what is in the page. How it behaves in a browser: test_page.py."""

import dataclasses
import importlib
import json
import re
import runpy
from pathlib import Path

import kernels_for_names
import numpy
import pages
import pytest
import triton_runner
import warm
from triton_runner._kernel.page import opcodes, pictures

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
    words = f"report -o {tmp_path}/out.html --dump total -t cuda:80 --json".split()
    # A process of its own: this one has launched other kernels.
    run = warm.cli(*words, path)
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["kernel"] == "add"
    page = pages.Read(tmp_path / "out.html")
    (kernel,) = page.kernels
    assert {"ttir", "ttgir", "llir", "ptx", "sass"} == {level["name"] for level in kernel["levels"]}
    assert kernel["passes"]
    (value,) = [v for v in kernel["values"] if v["op"] == "arith.divf"]
    # 0/0 in the first half of the first program, which is shown; an infinity in the second.
    assert value["stats"]["nan"] == 32 and value["stats"]["inf"] == 1 and value["first"] == 0
    assert value["programs"] == [[0, 0, 0], [1, 0, 0]] and len(value["iterations"]) == 2
    records = page.blob("values-0")[kernel["values"].index(value)]
    marks = [numpy.frombuffer(pages.base64.b64decode(record["marks"]), "u1").tolist() for record in records]
    assert marks == [[1] * 32 + [0] * 32, [0] * 36 + [2] + [0] * 27]
    assert [sum(record["histogram"]) for record in records] == [32, 63]
    level, line = value["at"]
    assert (
        value["name"]
        in {level["name"]: level["text"] for level in kernel["levels"]}[level].splitlines()[line - 1]
    )


def test_values_of_machine_code_stand_on_its_lines(tmp_path):
    path = tmp_path / "add.py"
    path.write_text(ADD)
    words = f"report -o {tmp_path}/out.html --dump total --level cubin -t cuda:80".split()
    run = warm.cli(*words, path)
    assert run.returncode == 0, run.stderr
    (kernel,) = pages.Read(tmp_path / "out.html").kernels
    (lines,) = (level["text"].splitlines() for level in kernel["levels"] if level["name"] == "sass")
    held = [(value, *place) for value in kernel["values"] for place in value["held"]]
    assert held and all(value["level"] == "cubin" for value, *_ in held)
    assert all(f" {register}" in lines[line - 1] for _, line, register in held)
    assert all(value["at"] == ["sass", value["held"][0][0]] for value in kernel["values"])


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
    """The page shows what lockstep, verify and compare really write, each where it belongs."""
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
    assert read.page["labels"] == ["attention_kernel cuda:90", "attention_kernel cuda:80"]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The page of a program with several kernels, and the program."""
    folder = tmp_path_factory.mktemp("program")
    path = folder / "several.py"
    path.write_text(pages.PROGRAM)
    command = ["report", "-o", "several.html", "-t", "cuda:80", "--json", "several.py"]
    run = warm.cli(*command, cwd=folder)
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["kernels"] == ["scale", "shift", "beyond"]
    return pages.Read(folder / "several.html"), path


def test_all_kernels_and_launches_of_a_program(program):
    page, _ = program
    first, second, *rest = page.page["labels"]
    assert {first, second} == {"scale factor=2.0, BLOCK=64", "scale factor=3.0, BLOCK=32"}
    assert rest == ["shift", "beyond"]
    assert all(kernel["passes"] and kernel["levels"] for kernel in page.kernels)
    rows = [(row["kernel"], row["grid"], row["count"]) for row in page.page["launches"]]
    assert rows[:2] == [(0, [2, 1, 1], 3), (1, [4, 1, 1], 1)] and rows[-1] == (3, [1, 1, 1], 1)
    assert page.page["launches"][0]["arguments"] == ["x: float32[128]", "out: float32[128]", "n: 128"]
    assert "out of bounds" in page.page["launches"][-1]["trap"]


def test_what_autotuning_chose(program):
    page, _ = program
    (tuning,) = page.page["tunings"]
    configs = {config["config"]: config["isChosen"] for config in tuning["configs"]}
    assert len(configs) == 2 and all("BLOCK=" in config and "num_warps=" in config for config in configs)
    ((chosen),) = [config for config, is_chosen in configs.items() if is_chosen]
    assert tuning["kernel"] == "shift" and tuning["chosen"] == [{"key": tuning["timed"], "config": chosen}]
    assert all(config["ms"] > 0 for config in tuning["configs"])
    # The page has the kernel of the chosen configuration alone.
    block = "64" if "BLOCK=64" in chosen else "32"
    ttir = {level["name"]: level["text"] for level in page.kernels[2]["levels"]}["ttir"]
    assert f"end = {block} : i32" in ttir


def test_a_finding_belongs_to_its_kernel(program):
    page, path = program
    assert not any(kernel["findings"] for kernel in page.kernels[:3])
    (finding,) = page.kernels[3]["findings"]
    lines = path.read_text().splitlines()
    assert "out of bounds" in finding["title"] and "tl.store(out + 128" in lines[finding["line"] - 1]


def test_all_kernels_of_a_folder(tmp_path):
    for name in ("one", "two"):
        (tmp_path / f"{name}.ptx").write_text(
            f".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry {name}()\n{{\n\tret;\n}}\n"
        )
    triton_runner.report(tmp_path, tmp_path / "out.html")
    assert pages.Read(tmp_path / "out.html").page["labels"] == ["one", "two"]


def test_most_records_of_a_long_loop_are_left_out():
    """Those that stay: the first with a NaN, and others from all over the loop."""
    everything = numpy.zeros((3000, 64, 64))
    everything[1234, 5, 6] = numpy.nan
    everything[2000, 0, 0] = numpy.inf
    first, kept = pictures._chosen(everything, numpy.ones(everything.shape, bool), 100 * 64 * 64)
    assert first == 1234 and {1234, 2000} <= {*kept}
    assert len(kept) == 100 and kept == sorted({*kept}) and kept[-1] > 2900 and kept[0] == 0


def test_every_opcode_that_we_execute_has_a_sentence(page):
    table = {row["opcode"]: row for row in triton_runner._core.ptx.opcode_table()}
    sentences = opcodes.sentences()
    assert {name for name, row in table.items() if row["executed"]} <= sentences.keys()
    for name, sentence in sentences.items():
        row = table[name.partition(".")[0]]
        assert row["executed"] and row["section"], name
        assert re.fullmatch(r"[A-Z][^\n]*\.", sentence) and ". " not in sentence, name
    (kernel,) = page.kernels
    (ptx,) = [level for level in kernel["levels"] if level["name"] == "ptx"]
    ours = kernel["opcodes"]["ptx"]
    assert ours.keys() == {op for _, op, *_ in ptx["rows"]}
    (product,) = {said for op, said in ours.items() if op.startswith("wgmma.mma_async")}
    assert product.startswith("wgmma.mma_async: Starts a product") and product.endswith(
        "PTX ISA 8.8, section 9.7.15."
    )


def test_every_opcode_of_machine_code_has_a_sentence(page):
    table = (Path(__file__).parents[3] / "src" / "sass" / "internal" / "opcodes.def").read_text()
    names = {name.partition("_")[0] for name in re.findall(r"^OP\((\w+)", table, re.M)}
    sentences = opcodes.sentences("sass")
    assert names - {"name"} <= sentences.keys()
    for name, sentence in sentences.items():
        assert re.fullmatch(r"[A-Z][^\n]*\.", sentence), name
    (kernel,) = page.kernels
    assert any(said.startswith("HGMMA: Multiplies") for said in kernel["opcodes"]["sass"].values())


@pytest.mark.parametrize(
    "make, said",
    [
        (lambda folder: triton_runner.report([], "x"), "at least one kernel"),
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


def test_a_gluon_kernel_with_a_layout_among_its_constexprs(tmp_path):
    """Its passes cannot be had, as the layout does not travel to a worker: the page has its levels."""
    torch = pytest.importorskip("torch")
    guide = Path(__file__).parents[3] / "examples" / "guide"
    turned = runpy.run_path(str(guide / "turned.py"))
    x = torch.arange(64 * 64, dtype=torch.float32).reshape(64, 64)
    held = turned["gl"].BlockedLayout([1, 1], [1, 32], [4, 1], [1, 0])
    with triton_runner.using(device="cpu", target="cuda:90", level="ttgir"):
        compiled = turned["turned"][(1, 1)](x, x.clone(), 64, 64, held, turned["MEMORY"]["rows"], num_warps=4)
    triton_runner.report(compiled, tmp_path / "out.html")
    (kernel,) = pages.Read(tmp_path / "out.html").kernels
    assert {"ttgir", "ptx", "sass"} <= {level["name"] for level in kernel["levels"]}
