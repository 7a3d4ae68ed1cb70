"""Tests source_map(): lines of all levels that belong together, in what every release compiled."""

import json
import re
import shutil
from unittest import mock

import pages
import pytest
import triton_runner
import warm
from suite import loaded
from triton_runner._base import tools
from triton_runner._pipeline import versions

# Releases that this machine has; `triton-runner versions add` fetches the others.
RELEASES = [row["version"] for row in versions.listed()]
# The ops that multiply matrices at each level.
PRODUCTS = {
    "ttgir": r"tt\.dot|.*dot_async$|.*warp_group_dot$",
    "ptx": r"mma\.sync|wgmma\.mma_async",
    "sass": r"HMMA|HGMMA",
}


@pytest.fixture(scope="module")
def attention():
    return triton_runner.source_map(pages.attention())


def ops(made, level: str, pattern: str) -> set[int]:
    return {row.line for row in made.levels[level].rows.values() if re.match(pattern, row.op)}


@pytest.fixture(scope="module", params=RELEASES)
def compiled(request, tmp_path_factory):
    """The folder of an attention kernel as a release compiles it."""
    made = pages.compiled(triton=request.param)
    folder = tmp_path_factory.mktemp(f"triton-{request.param}")
    made.save(folder)
    return folder


def test_products_of_every_release_meet_both_ways(compiled):
    made = triton_runner.source_map(compiled)
    assert not made.notes
    products = {level: ops(made, level, pattern) for level, pattern in PRODUCTS.items()}
    assert all(products.values()), products
    for level, lines in products.items():
        for line in lines:
            found = made.counterparts(level, line)
            for other, wanted in products.items():
                own = {line} if other == level else set()
                assert wanted & ({*found[other]} | own), (level, line, other)
            assert found["llir"] and found["ttir"] and line not in found[level]
    for level, one in made.levels.items():
        known = sum(bool(row.places) for row in one.rows.values())
        assert known > 0.9 * len(one.rows), (level, known, len(one.rows))


def test_ptx_of_every_release_is_where_its_loc_says(compiled):
    """Against a reading of .loc that knows nothing of the parser."""
    made = triton_runner.source_map(compiled)
    place, is_asm, compared = None, False, 0
    for number, text in enumerate((compiled / "attention_kernel.ptx").read_text().splitlines(), 1):
        is_asm = "// begin inline asm" in text or (is_asm and "// end inline asm" not in text)
        if found := re.match(r"\s*\.loc\s+\d+ (\d+) (\d+)", text):
            place = (int(found[1]), int(found[2])) if not is_asm else place  # within assembly it counts on
        if number in made.levels["ptx"].rows and place and place[0]:
            row = made.levels["ptx"].rows[number]
            assert [made.places[p][1:3] for p in row.places] == [place], (number, text)
            compared += 1
    assert compared > 1000


def test_a_line_of_inline_assembly_keeps_its_place(attention):
    # LLVM writes a .loc of its own within assembly of several lines, one line too far down.
    line = pages.line_of("scores = tl.dot(")
    waits = ops(attention, "ptx", "wgmma.wait_group")
    assert waits
    lines = {attention.stack(p)[0][1] for n in waits for p in attention.levels["ptx"].rows[n].places}
    assert line in lines and pages.line_of("if MASKED") not in lines


def test_inlined_functions_and_their_callers(attention):
    product = pages.line_of("scores = tl.dot(")
    stacks = [attention.stack(p) for row in attention.levels["ttgir"].rows.values() for p in row.places]
    first, second = sorted({stack[1][1] for stack in stacks if stack[0][1] == product and len(stack) > 1})
    of_product, of_first = attention.of_source(product), attention.of_source(first)
    of_second = attention.of_source(second)
    for level in attention.levels:
        assert of_product[level], level
        # The function's line belongs to both calls, and each of its rows to one of them.
        inside = {*of_product[level]}
        assert inside <= {*of_first[level]} | {*of_second[level]}, level
        assert inside & {*of_first[level]} and inside & {*of_second[level]}, level


def test_a_pipelined_loop_has_rows_of_one_place(attention):
    """The loads of K stand before the loop and within it."""
    loads = ops(attention, "ttgir", "ttg.async_copy_global_to_local")
    places = [attention.levels["ttgir"].rows[n].places for n in loads]
    assert len(places) > len(set(places)) >= 2
    one = min(loads)
    assert loads & {*attention.counterparts("ttgir", one)["ttgir"]}


def test_sass_says_its_line_of_the_ptx(attention):
    rows = attention.levels["sass"].rows.values()
    assert sum(bool(row.ptx_line) for row in rows) > 0.8 * len(rows)
    for row in rows:
        if row.op.startswith("HGMMA"):
            (line,) = attention.counterparts("sass", row.line)["ptx"]
            assert attention.levels["ptx"].rows[line].op.startswith("wgmma")
            assert row.line in attention.counterparts("ptx", line)["sass"]


def test_amdgcn():
    made = triton_runner.source_map(pages.attention(target="hip:gfx942", to="amdgcn"))
    products = ops(made, "amdgcn", "v_mfma")
    dots = ops(made, "ttgir", "tt.dot")
    assert products and dots
    for line in products:
        assert dots & {*made.counterparts("amdgcn", line)["ttgir"]}
    depth = max(len(made.stack(p)) for row in made.levels["amdgcn"].rows.values() for p in row.places)
    assert depth >= 2


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder of the installed release's."""
    made = tmp_path_factory.mktemp("kernel")
    pages.compiled().save(made)
    return made


def test_a_cubin_alone(folder, tmp_path):
    """Without its PTX the cubin's own line table is what there is: lines, no columns."""
    shutil.copy(folder / "attention_kernel.cubin", tmp_path)
    made = triton_runner.source_map(tmp_path)
    assert [*made.levels] == ["sass"]
    row = made.levels["sass"].rows[min(ops(made, "sass", PRODUCTS["sass"]))]
    file, line, column = made.stack(row.places[0])[0]
    assert file.endswith("attention.py") and line and not column


def test_a_cubin_is_disassembled_once(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cubin = (folder / "attention_kernel.cubin").read_bytes()
    first = tools.disassembly(cubin)
    with mock.patch.object(tools.subprocess, "run", side_effect=AssertionError("asked again")):
        assert tools.disassembly(cubin) == first and re.search(PRODUCTS["sass"], first)
        with pytest.raises(AssertionError, match="asked again"):  # another question
            tools.disassembly(cubin, "-gp")
    (kept,) = tools.folder().iterdir()
    kept.write_bytes(kept.read_bytes()[:100])  # cut off
    assert tools.disassembly(cubin) == first and tools.disassembly(cubin, "-gp") != first
    kept.touch()
    monkeypatch.setattr(tools, "KEPT", kept.stat().st_size)  # room for one
    other = tools.disassembly(cubin, "-hex")
    assert len([*tools.folder().iterdir()]) <= 1 and tools.disassembly(cubin, "-hex") == other
    shutil.rmtree(tools.folder())
    tools.folder().write_text("in the way")
    assert tools.disassembly(cubin) == first


def test_a_launched_kernel(tmp_path):

    import numpy

    path = tmp_path / "double.py"
    path.write_text(
        "import triton, triton.language as tl\n@triton.jit\ndef double(x, BLOCK: tl.constexpr):\n"
        "    i = tl.arange(0, BLOCK)\n    tl.store(x + i, tl.load(x + i) * 2)\n"
    )
    double = loaded(path).double
    with pytest.raises(triton_runner.DiagnosticError, match="nothing is known of the levels"):
        triton_runner.source_map(double)
    with triton_runner.using(device="cpu", target="cuda:80"):
        import torch

        double[(1,)](torch.from_numpy(numpy.ones(64, "f4")), 64)
        made = triton_runner.source_map(double)
    assert {"ttir", "ttgir", "llir", "ptx", "sass"} <= {*made.levels}
    assert all(made.of_source(5).values())


def test_json_and_command(folder):
    made = triton_runner.source_map(folder)
    line = min(ops(made, "ptx", PRODUCTS["ptx"]))
    run = warm.invoke("map", folder / "attention_kernel.ptx", "--line", line, "--json")
    assert run.exit_code == 0, run.output
    said = json.loads(run.output)
    assert said["lines"] == made.counterparts("ptx", line) and said["op"] == made.row("ptx", line).op
    source = said["source"][0][0][1]
    run = warm.invoke("map", folder, "--source", source, "--json")
    assert json.loads(run.output)["lines"] == made.of_source(source)
    whole = json.loads(warm.invoke("map", folder / "attention_kernel.ptx", "--json").output)
    assert whole == json.loads(json.dumps(made.as_dict()))
    shown = warm.invoke("map", folder / "attention_kernel.ptx", "--line", line).output
    assert f"ptx:{line}" in shown and "sass: " in shown


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--line", "1"], "line 1 of the ptx of 'attention_kernel' holds no instruction"),
        (["--line", "40", "--level", "hsail"], "there is no hsail of 'attention_kernel'"),
        (["--source", "other.py:3"], "no level names a file 'other.py'"),
        (["--source", "kernel.py"], "--source kernel.py: no line"),
    ],
)
def test_what_cannot_be_mapped(folder, arguments, said):
    run = warm.invoke("map", folder / "attention_kernel.ptx", *arguments)
    assert run.exit_code == 2 and said in run.output, run.output


def test_a_text_that_does_not_parse_is_a_note(folder, tmp_path):
    shutil.copy(folder / "attention_kernel.ptx", tmp_path)
    (tmp_path / "attention_kernel.ttgir").write_text("module {")
    made = triton_runner.source_map(tmp_path)
    assert [*made.levels] == ["ptx"] and "ttgir is not mapped" in made.notes[0]
