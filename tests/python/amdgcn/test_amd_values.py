"""Shows AMD's machine code while it runs: values, registers, levels side by side, stops, counts."""

import re

import kernels_for_amdgcn as k
import pytest
import torch
import triton_runner
from triton_runner import DiagnosticError
from triton_runner._base.typed import as_json
from triton_runner._kernel.page import profiles
from triton_runner._kernel.page.kernel_data import addresses

TARGETS = ("hip:gfx942", "hip:gfx1201")


@pytest.fixture(params=TARGETS)
def target(request):
    with triton_runner.using(device="cpu", level="amdgcn", target=request.param):
        yield request.param


def _rows():
    torch.manual_seed(0)
    return torch.randn(3, 700), torch.zeros(3, 700)


def test_values_of_the_ttgir_are_put_together_from_the_lanes(target):
    x, out = _rows()
    with triton_runner.dumping(softmax := triton_runner.jit(k.softmax.fn), "*", level="amdgcn") as dump:
        softmax[(3,)](x, out, 700, 1024)
    loads = next(v for v in dump if v.op.endswith("load"))
    want = torch.full((3, 1024), -float("inf"))
    want[:, :700] = x
    assert torch.equal(torch.from_numpy(loads.to_numpy().copy()), want)
    division = next(v for v in dump if v.op == "arith.divf")
    assert torch.equal(torch.from_numpy(division.to_numpy()[:, :700].copy()), out)
    assert any("compiled with taps" in change for change in dump.last.changes)


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.int8, torch.int64, torch.float64])
def test_elements_of_each_width(kind):
    x = (torch.arange(-300, 300) % 100).to(kind)
    y, out = torch.ones(600).to(kind), torch.zeros(600).to(kind)
    add = triton_runner.jit(k.add.fn)
    with (
        triton_runner.using(device="cpu", target="hip:gfx942"),
        triton_runner.dumping(add, "*", level="amdgcn") as dump,
    ):
        add[(1,)](x, y, out, 600, 1024)
    values = {v.name: v for v in dump}
    first = next(v for v in values.values() if v.op.endswith("load"))
    assert first.to_numpy()[0][:600].tobytes() == x.view(torch.uint8).numpy().tobytes()


def test_registers_by_name_opcode_and_line(target):
    x, y, out = torch.arange(300.0), torch.ones(300), torch.zeros(300)
    add = triton_runner.jit(k.add.fn)
    with triton_runner.dumping(add, "v_add_f32", level="amdgcn") as dump:
        add[(1,)](x, y, out, 300, 512)
    sums = [v for v in dump if v.type == "f32"]
    have = sorted(float(n) for v in sums for n in v.to_numpy()[0])
    assert have[-300:] == (x + 1).tolist()
    register = sums[0].name.split("#")[0]
    with triton_runner.dumping(add, register, level="amdgcn") as dump:
        add[(1,)](x, y, out, 300, 512)
    assert sums[0].name in [v.name for v in dump]


def test_what_names_nothing_and_what_cannot_be_mixed(target):
    x, y, out = torch.ones(8), torch.ones(8), torch.zeros(8)
    add = triton_runner.jit(k.add.fn)
    for names, words in ((["v_ad_f32"], "did you mean"), (["%n", "v0"], "use a dump of its own")):
        with pytest.raises(DiagnosticError, match=words), triton_runner.dumping(add, *names, level="amdgcn"):
            add[(1,)](x, y, out, 8, 64)


def test_lockstep_compares_every_value(target):
    x, out = _rows()
    report = triton_runner.lockstep(
        triton_runner.jit(k.softmax.fn), [x, out, 700], {"B": 1024}, grid=(3,), levels=("ttgir", "amdgcn")
    )
    assert report.diverged is None and not report.outputs
    assert next(iter(report.compared.values())) > 10
    report = triton_runner.lockstep(
        triton_runner.jit(k.softmax.fn), [x, out, 700], {"B": 1024}, grid=(3,), levels=("ttir", "amdgcn")
    )
    assert report.diverged is None and not report.outputs


def test_lockstep_of_bytes_compares_what_they_leave(target, tmp_path):
    x, out = _rows()
    with triton_runner.using(level="ttgir"), triton_runner.capture(tmp_path) as captured:
        triton_runner.jit(k.softmax.fn)[(3,)](x, out, 700, B=1024)
    report = triton_runner.open_case(captured.cases[0]).lockstep(("ttgir", "hsaco"))
    assert report.diverged is None and not report.outputs
    assert "an hsaco has no values" in str(report) and "in memory is compared" in str(report)


def test_lockstep_of_an_edited_text_compares_what_it_leaves():
    x, y, out = torch.arange(300.0), torch.ones(300), torch.zeros(300)
    types = {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}
    text = triton_runner.compile(k.add, types, {"B": 512}, target="hip:gfx942").asm["amdgcn"]
    wrong = re.sub(r"v_add_f32_e32 (v\d+), ", r"v_sub_f32_e32 \1, ", text, count=1)
    for given, differ in ((text, False), (wrong, True)):
        with triton_runner.using(device="cpu", target="hip:gfx942"):
            report = triton_runner.lockstep(
                triton_runner.jit(k.add.fn), [x, y, out, 300], {"B": 512}, grid=(1,),
                levels=("ttgir", "amdgcn"), sources={"amdgcn": given},
            )  # fmt: skip
        assert bool(report.outputs) is differ


def test_a_text_that_ends_triton_is_an_error_and_the_process_goes_on():
    """Triton 3.9 dies of the TTGIR of a product with one warp on RDNA."""
    a, b, out = torch.randn(32, 32).half(), torch.randn(32, 32).half(), torch.zeros(32, 32)
    product = triton_runner.jit(k.matmul.fn)
    options = {"M": 32, "N": 32, "K": 32, "num_warps": 1}
    with triton_runner.using(device="cpu", target="hip:gfx1201"):
        report = triton_runner.lockstep(
            product, [a, b, out, 32, 32, 32], options, grid=(1, 1), levels=("ttgir", "amdgcn")
        )
        assert not report.outputs
        assert "Expected basis of 'warp' not found" in str(report) and "in memory is compared" in str(report)
        with (
            triton_runner.using(level="amdgcn"),
            triton_runner.dumping(product, "*"),
            pytest.raises(DiagnosticError, match="name a register"),
        ):
            product[(1, 1)](a, b, out, 32, 32, 32, **options)


def test_the_debugger_stops_before_an_instruction(target):
    x, y, out = torch.arange(300.0), torch.ones(300), torch.zeros(300)

    def launch():
        k.add[(1,)](x, y, out, 300, 512)

    wave = 64 if target == "hip:gfx942" else 32
    with triton_runner.debug(launch, level="amdgcn") as session:
        session.break_at("v_add_f32", condition="exec_lo.any()")
        stop = session.resume()
        assert stop.level == "amdgcn" and stop.wave == wave and stop.file.endswith("kernels_for_amdgcn.py")
        names = {name for name, *_ in session.state.registers()}
        assert {"exec_lo", "vcc_lo", "v0"} <= names
        register = re.match(r"\S+ (v\d+)", stop.text.strip())[1]
        before, _ = session.state.shown("exec_lo")
        assert (before == before[0]).all()
        session.step()
        after, _ = session.state.shown(register)
        assert float(after.view("float32")[1]) in (x + y).tolist()
        while session.resume().event == "stopped":
            pass
    assert torch.equal(out, x + y)


def test_a_profile_counts_what_each_wavefront_executes(target):
    x, y, out = torch.arange(300.0), torch.ones(300), torch.zeros(300)
    one = triton_runner.profile(
        triton_runner.jit(k.add.fn), [x, y, out, 300], {"B": 512, "num_warps": 4}, grid=(1,), target=target
    )
    assert one.warps == 4 and one.counters["instructions"] > 40
    assert one.counters["global_store_sectors"] % -(-300 * 4 // 32) == 0  # lanes of one store lie apart
    assert one.loaded_bytes >= 2 * 300 * 4 and one.stored_bytes == 32 * -(-300 * 4 // 32)
    assert one.flops >= 300
    assert any(line.file.endswith("kernels_for_amdgcn.py") for line in one.lines)
    assert not one.bounds and one.estimate is None


def test_lines_of_the_code_are_as_hot_as_they_are_executed():
    x, y, out = torch.arange(300.0), torch.ones(300), torch.zeros(300)
    types = {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}
    compiled = triton_runner.compile(k.add, types, {"B": 512}, target="hip:gfx942")
    with triton_runner.using(device="cpu", level="amdgcn", target="hip:gfx942"):
        loaded = compiled.load("amdgcn", "cpu")
    one = triton_runner.profile(loaded, [x, y, out, 300], grid=(1,), target="hip:gfx942")
    map_ = triton_runner.source_map(compiled)
    assert map_.levels["amdgcn"].rows
    heat = profiles.of([as_json(one)], map_, addresses)["heat"]
    assert heat["amdgcn"].keys() <= map_.levels["amdgcn"].rows.keys() and heat["python"]
