"""Tests check="hazard": control words of machine code that let an instruction read what is not there
yet."""

import functools
import json
import stat
import sys
from pathlib import Path

import numpy as np
import pytest
import warm

pytest.importorskip("triton")
ROOT = Path(__file__).resolve().parents[3]
sys.path += [str(ROOT / "tests" / name) for name in ("sass", "differential", "gpu")]

import control_words as planting  # noqa: E402
import latencies  # noqa: E402
import triton_runner  # noqa: E402
from kernels_for_tests import plain_add  # noqa: E402
from random_ptx import generate_ptx  # noqa: E402
from test_sass import assembled  # noqa: E402
from triton_runner import DiagnosticError  # noqa: E402
from triton_runner._base import tools  # noqa: E402
from triton_runner.verbs.assemble import hazards  # noqa: E402

PLANTED = json.loads(planting.PLANTED.read_text())


@functools.cache
def made(name: str, ptxas: str, target: str) -> tuple[bytes, str]:
    cubin = planting.assembled(name, ptxas, target)
    return cubin, tools.listing(cubin)


def found(listing: str, kernel: str) -> list:
    return [h for one in hazards.of_listing(listing) if one.kernel == kernel for h in one.hazards]


def test_planted_words_are_reported():
    assert len(PLANTED) >= 30 and len({row["kind"] for row in PLANTED}) >= 6
    for row in PLANTED:
        _, listing = made(row["ptx"], row["ptxas"], row["target"])
        start = listing.index(f".text.{row['kernel']}:")
        assert dict(planting.instructions(listing[start:]))[row["address"]] == row["text"], row
        broken = planting.relisted(listing, row["kernel"], row["address"], row["field"], row["value"])
        here = [h for h in found(broken, row["kernel"]) if h.at.address == row["at"]]
        assert row["register"] in [h.register for h in here], row
        assert all(h.at.ptx_line > 0 for h in here), row


@pytest.mark.parametrize("name, target", sorted({(row["ptx"], row["target"]) for row in PLANTED}))
def test_what_ptxas_makes_is_clean(name, target):
    for one in hazards.of_listing(made(name, planting.PTXAS, target)[1]):
        assert one.hazards == [] and one.instructions > one.unjudged


def test_times_measured_on_an_h200_are_asked_for():
    """A cycle less than results/sass.json says is a hazard, and what it says is none."""
    rows = json.loads((ROOT / "results" / "sass.json").read_text())["latencies-on-gpu"]["table"]["rows"]
    cycles = {tuple(row[:3]): row[5] for row in rows if row[6] >= 3}  # pairs that agree
    known, asked = latencies.pipes(), set()
    names = {"guards", "guards-float", "add.rn.f32", "fma.rn.f32", "add.u64", "add.rn.f64", "uniform"}
    ((cubin, listing, batch),) = latencies.assembled([c for c in latencies.chains() if c[0] in names])
    for i in range(len(batch)):
        own = latencies.own_listing(listing, i)
        for pair in latencies.pairs(own, functools.partial(planting.word, cubin, f"k{i}")):
            producer, consumer = (latencies.row_of(pair[k], known) for k in ("producer", "consumer"))
            least = cycles.get((producer, pair["kind"], known.get(consumer, consumer)), 0)
            if producer not in known or consumer not in {*known, "guard"} or not 1 < least <= pair["stall"]:
                continue
            for stall in (least - 1, least):
                broken = planting.relisted(listing, f"k{i}", pair["address"], "stall", stall)
                here = [h for h in found(broken, f"k{i}") if h.cause.address == pair["address"]]
                assert bool(here) == (stall < least), (pair, stall, here)
            asked.add((producer, pair["kind"], least))
    assert {least for _, _, least in asked} == {4, 5, 8, 13} and len(asked) >= 10


@pytest.mark.parametrize("assembler", ["ptxas", "ptxas-blackwell"])
def test_turing_is_clean(assembler):
    """Random kernels for sm_75: their times are those of another generation."""
    texts = [generate_ptx(seed, "sm_75") for seed in range(21)]
    for text in [t for t in texts if "redux" not in t and "cp.async" not in t]:  # sm_75 has neither
        _, listing = assembled(text, "sm_75", assembler)
        for one in hazards.of_listing(listing):
            assert one.hazards == [] and one.instructions > one.unjudged


def test_a_changed_cubin_is_the_changed_listing():
    for row in PLANTED[::9]:
        cubin, listing = made(row["ptx"], row["ptxas"], row["target"])
        where = row["kernel"], row["address"], row["field"], row["value"]
        one = found(planting.relisted(listing, *where), row["kernel"])
        other = found(tools.listing(planting.edited(cubin, *where)), row["kernel"])
        assert [(h.at.address, h.register) for h in one] == [(h.at.address, h.register) for h in other]


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    """A kernel of Python, as machine code whose first use of a loaded value waits for nothing."""
    place = tmp_path_factory.mktemp("hazard")
    signature = "*fp32:16, *fp32:16, *fp32:16, i32"
    triton_runner.compile(plain_add, signature, {"BLOCK": 64}, target="cuda:90").save(place)
    cubin = (place / "_add.cubin").read_bytes()
    listing = tools.listing(cubin)
    code = planting.instructions(listing[listing.index(".text._add:") :])
    address = next(at for at, text in code if " FADD " in f" {text} ")
    (place / "_add.cubin").write_bytes(planting.edited(cubin, "_add", address, "wait_mask", 0))
    (place / "right").mkdir()
    (place / "right" / "_add.cubin").write_bytes(cubin)
    (place / "right" / "_add.json").write_bytes((place / "_add.json").read_bytes())
    return place


def inputs():
    return np.arange(64, dtype=np.float32), np.full(64, 2, np.float32), np.zeros(64, np.float32)


def test_a_launch_names_the_line(broken):
    x, y, out = inputs()
    with pytest.raises(triton_runner.KernelTrap) as trap:
        triton_runner.load(broken / "_add.cubin", device="cpu", check="hazard")[(1,)](x, y, out, 64)
    error = trap.value
    assert error.kind == "hazard" and error.op == "FADD" and "before the result of LDG" in str(error)
    assert Path(error.file).name == "kernels_for_tests.py" and error.line > 0
    assert any("line" in note and "of the PTX" in note for note in error.notes)
    assert not out.any()  # nothing ran
    triton_runner.load(broken / "right" / "_add.cubin", device="cpu", check="hazard")[(1,)](x, y, out, 64)
    assert (out == x + 2).all()


def test_other_levels_have_no_control_words():
    x, y, out = inputs()
    for level in ("ttir", "ptx"):
        with triton_runner.using(device="cpu", level=level, check="hazard", target="cuda:90"):
            with pytest.raises(DiagnosticError, match="machine code"):
                triton_runner.jit(plain_add.fn)[(1,)](x, y, out, 64, BLOCK=64)


def test_on_the_command_line(broken):
    words = ["exec", str(broken / "_add.cubin"), "--grid", "1", "--check", "hazard", "--device", "cpu"]
    words += ["--arg", "f32[64]=iota", "--arg", "f32[64]=1", "--arg", "f32[64]", "--arg", "64"]
    ended = warm.cli(*words)
    assert ended.returncode == 1 and "hazard in FADD" in ended.stderr
    ended = warm.invoke("assemble", "--check", broken / "_add.cubin")
    assert (
        ended.exit_code == 1
        and "hazard: it reads R" in ended.output
        and "kernels_for_tests.py" in ended.output
    )
    ended = warm.invoke("assemble", "--check", "--json", broken / "right" / "_add.cubin")
    assert ended.exit_code == 0 and json.loads(ended.output)[0]["hazards"] == []


def test_an_assembler_that_breaks_words(tmp_path, monkeypatch):
    """The bits are right, as the engine executes one instruction after the other; the words are not."""
    monkeypatch.setenv("TRITON_RUNNER_STORE", str(tmp_path / "store"))
    from triton_runner.verbs.assemble import assemblers

    row = next(row for row in PLANTED if row["ptx"] == "carry" and row["kind"] == "wait cleared")
    (tmp_path / "carry.ptx").write_text(planting.source("carry"))
    program = tmp_path / "ptxas"
    program.write_text(
        f'#!/bin/bash\n{assemblers.find(row["ptxas"]).path} "$@" || exit 1\n'
        f'[[ "$*" == *--version* ]] || {sys.executable} -c \'\n'
        f'import sys; sys.path.append("{ROOT / "tests" / "sass"}"); import control_words\n'
        'path = sys.argv[sys.argv.index("-o") + 1]; cubin = open(path, "rb").read()\n'
        f'open(path, "wb").write(control_words.edited(cubin, "{row["kernel"]}", {row["address"]}, '
        f'"{row["field"]}", {row["value"]}))\' "$@"\n'
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    words = ["assemble", "--check", "--ptxas", str(program), "--opt", "3", "--target", row["target"]]
    ended = warm.invoke(*words, tmp_path / "carry.ptx")
    assert ended.exit_code == 1 and "hazard: it reads" in ended.output and "of the PTX" in ended.output
