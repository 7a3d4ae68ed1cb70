"""Tests AMD's machine code on the CPU: kernels of every target beside torch, and what a user is told."""

import kernels_for_amdgcn as k
import pytest
import torch
import triton.language as tl
import triton_runner
import warm
from triton_runner import DiagnosticError, KernelTrap

TARGETS = ("hip:gfx942", "hip:gfx950", "hip:gfx90a", "hip:gfx1100", "hip:gfx1201")
CDNA = TARGETS[:3]


@pytest.fixture(params=TARGETS)
def target(request):
    with triton_runner.using(device="cpu", level="amdgcn", target=request.param):
        yield request.param


def test_elementwise(target):
    x, y, out = torch.randn(3000), torch.randn(3000), torch.zeros(3000)
    k.add[(3,)](x, y, out, 3000, 1024)
    assert torch.equal(out, x + y)


@pytest.mark.parametrize("warps", [1, 4, 8])
def test_rows(target, warps):
    x, out = torch.randn(5, 781), torch.zeros(5, 781)
    k.softmax[(5,)](x, out, 781, 1024, num_warps=warps)
    torch.testing.assert_close(out, torch.softmax(x, 1))
    w, b = torch.randn(781), torch.randn(781)
    k.layer_norm[(5,)](x, w, b, out, 781, 1e-5, 1024, num_warps=warps)
    torch.testing.assert_close(
        out, torch.nn.functional.layer_norm(x, (781,), w, b, 1e-5), atol=1e-5, rtol=1e-5
    )


@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_products(target, dtype, warps):
    if dtype is torch.float32 and not target.startswith("hip:gfx9"):
        pytest.skip(
            "RDNA has no product of f32: Triton multiplies element by element, for half a minute here"
        )
    a, b = (torch.randn(*shape).to(dtype) for shape in ((64, 96), (96, 64)))
    # gfx90a takes subnormal numbers of f16 as zeros (MFMA), which moves a sum by more than its rounding.
    a, b = (torch.where(x.abs() < torch.finfo(dtype).tiny, 0, x) for x in (a, b))
    out = torch.zeros(64, 64)
    k.matmul[(1, 1)](a, b, out, 64, 64, 96, 64, 64, 32, num_warps=warps)
    torch.testing.assert_close(out, a.float() @ b.float(), atol=1e-4, rtol=1e-4)


def test_attention(target):
    q, key, v = (torch.randn(64, 32).half() for _ in range(3))
    out = torch.zeros(64, 32)
    k.attention[(2,)](q, key, v, out, 64, 0.2, 32, 32)
    expected = torch.softmax(0.2 * q.float() @ key.float().T, 1) @ v.float()
    torch.testing.assert_close(out, expected, atol=2e-3, rtol=2e-3)


def test_atomics_scans_bytes_doubles_and_calls(target):
    x, counts = torch.randint(0, 9, (700,), dtype=torch.int32), torch.zeros(9, dtype=torch.int32)
    k.histogram[(3,)](x, counts, 700, 256)
    assert torch.equal(counts, torch.bincount(x, minlength=9).int())
    x, out = torch.randint(-9, 9, (512,), dtype=torch.int32), torch.zeros(512, dtype=torch.int32)
    k.scan[(1,)](x, out, 512)
    assert torch.equal(out, torch.cumsum(x, 0).int())
    x = torch.randint(-128, 127, (256,), dtype=torch.int8)
    out = torch.zeros_like(x)
    k.bytes_of[(1,)](x, out, 256)
    assert torch.equal(out, x.abs() + (x >> 1))
    x, out = torch.randn(128, dtype=torch.float64), torch.zeros(128, dtype=torch.float64)
    k.doubles[(1,)](x, out, 128)
    torch.testing.assert_close(out, x * x / 3 + x.abs().sqrt(), atol=0, rtol=1e-15)
    x, out = torch.randn(128), torch.zeros(128)
    k.calls[(128,)](x, out)
    assert torch.equal(out, x * x * x)


def test_bytes_of_floats_are_saturated(target):
    x = torch.cat([torch.randn(60) * 100, torch.tensor([1e6, -480.0, 7e4, 464.0])])
    for kind in (tl.float8e4nv, tl.float8e5, tl.float8e4b8, tl.float8e5b16):
        out, expected = torch.zeros(64), torch.zeros(64)
        k.rounds_to[(1,)](x, out, 64, kind)
        with triton_runner.using(level="ttir"):
            k.rounds_to[(1,)](x, expected, 64, kind)
        assert torch.equal(out, expected), kind


@pytest.mark.parametrize("dtype", [torch.int8, torch.int16, torch.uint8, torch.uint16])
def test_sums_that_stay_within_their_type(target, dtype):
    low, high = torch.iinfo(dtype).min, torch.iinfo(dtype).max
    x, y = (torch.randint(low, high + 1, (128,), dtype=torch.int32).to(dtype) for _ in range(2))
    out = torch.zeros(256, dtype=torch.int32).to(dtype)
    k.stays_within[(1,)](x, y, out, 128, tl.int32, low, high)
    both = torch.cat([x.int() + y.int(), x.int() - y.int()])
    assert torch.equal(out.int(), both.clamp(low, high))


def test_sorted_bytes_and_divided_long_integers(target):
    x = torch.randint(-128, 128, (512,), dtype=torch.int8)
    out = torch.zeros_like(x)
    k.sorts[(1,)](x, out, 512)
    assert torch.equal(out, x.sort().values)
    x = torch.randint(-(2**62), 2**62, (64,))
    y = torch.randint(1, 2**40, (64,)) * (1 - 2 * (torch.arange(64) % 2))
    out = torch.zeros_like(x)
    k.divides[(1,)](x, y, out, 64)
    assert torch.equal(out, torch.div(x, y, rounding_mode="trunc"))


def test_what_prints_asks_for_another_level(target):
    with pytest.raises(KernelTrap, match=r"device_print.*level 'ttgir'"):
        k.prints[(1,)](torch.ones(64), torch.zeros(64), 64)


def test_the_grid_is_known_to_the_kernel(target):
    out = torch.zeros(7, dtype=torch.int32)
    k.counts_programs[(7, 1)](out)
    assert out.tolist() == [700] * 7


def test_a_fault_names_line_and_element(target):
    with pytest.raises(KernelTrap, match=r"kernels_for_amdgcn.py:\d+:\d+.*right at the end of argument"):
        k.out_of_bounds[(1,)](torch.zeros(100), torch.zeros(128), 128)


# A wavefront of 64 does at once what two warps of 32 do in any order.
@pytest.mark.parametrize("target", CDNA[:1])
def test_races_of_wavefronts(target):
    with triton_runner.using(device="cpu", level="amdgcn", target=target, check="race"):
        with pytest.raises(KernelTrap, match="race"):
            k.races[(1,)](torch.zeros(64, dtype=torch.int32), 128, num_warps=2)
        x, out = torch.randn(3, 700), torch.zeros(3, 700)
        k.softmax[(3,)](x, out, 700, 1024)
    torch.testing.assert_close(out, torch.softmax(x, 1))


def test_wavefronts_in_any_order(target):
    a, b = torch.randn(64, 64).half(), torch.randn(64, 64).half()
    outs = []
    for seed in (-1, 1, 2):
        out = torch.zeros(64, 64)
        with triton_runner.using(shuffle=seed):
            k.matmul[(1, 1)](a, b, out, 64, 64, 64, 64, 64, 32)
        outs.append(out)
    assert torch.equal(outs[0], outs[1]) and torch.equal(outs[0], outs[2])


def test_llir_becomes_amdgcn():
    x, out = torch.randn(2, 300), torch.zeros(2, 300)
    with triton_runner.using(device="cpu", level="llir", target="hip:gfx942"):
        kernel = k.softmax[(2,)](x, out, 300, 512)
    assert ".amdgcn_target" in kernel.asm["amdgcn"]
    torch.testing.assert_close(out, torch.softmax(x, 1))


def test_levels_belong_to_targets():
    with triton_runner.using(device="cpu", level="amdgcn", target="cuda:90"):
        with pytest.raises(DiagnosticError, match="cuda:90 has no level amdgcn"):
            k.scan[(1,)](torch.zeros(64), torch.zeros(64), 64)


def test_a_text_is_loaded_without_its_kernel(tmp_path):
    compiled = triton_runner.compile(
        k.add, {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}, {"B": 256}, target="hip:gfx1100"
    )
    (tmp_path / "add.amdgcn").write_text(compiled.asm["amdgcn"])
    loaded = triton_runner.load(tmp_path / "add.amdgcn", device="cpu")
    x, y, out = torch.randn(300), torch.randn(300), torch.zeros(300)
    loaded[(2,)](x, y, out, 300)
    assert torch.equal(out, x + y)
    part = "v_max_i16_sdwa v2, v6, v7 dst_sel:%s dst_unused:%s src0_sel:BYTE_0 src1_sel:%s"
    for line, said in (
        ("image_sample v0, v1, s[0:7]", "the machine instruction 'image_sample'"),
        (part % ("BYTE_4", "UNUSED_PAD", "BYTE_0"), "'v_max_i16_sdwa' with 'dst_sel:BYTE_4'"),
        (part % ("BYTE_0", "UNUSED_PAD", "BYTE_"), "'v_max_i16_sdwa' with 'src1_sel:BYTE_'"),
        (part % ("BYTE_0", "UNUSED", "BYTE_0"), "'v_max_i16_sdwa' with 'dst_unused:UNUSED'"),
        ("v_pk_add_f16 v3, v7, v8 op_sel:[0,9]", r"'v_pk_add_f16' with 'op_sel:\[0,9\]'"),
        ("v_mov_b32_dpp v1, v2 row_shl:16", "'v_mov_b32_dpp' with 'row_shl:16'"),
        ("v_mov_b32_dpp v1, v2 quad_perm:[0,1,2,4]", r"'v_mov_b32_dpp' with 'quad_perm:\[0,1,2,4\]'"),
    ):
        broken = compiled.asm["amdgcn"].replace("s_endpgm", f"{line}\n\ts_endpgm")
        with pytest.raises(DiagnosticError, match=f"does not execute {said}"):
            triton_runner.load(broken, device="cpu")[(2,)](x, y, out, 300)


def test_waits_that_are_missing(tmp_path):
    compiled = triton_runner.compile(
        k.add, {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}, {"B": 256}, target="hip:gfx942"
    )
    x, y, out = torch.randn(300), torch.randn(300), torch.zeros(300)
    text = compiled.asm["amdgcn"]
    metadata = {**compiled.metadata, "name": "add"}
    triton_runner.load(text, metadata=metadata, device="cpu", check="hazard")[(2,)](x, y, out, 300)
    assert torch.equal(out, x + y)
    broken = triton_runner.load(
        text.replace("s_waitcnt vmcnt(0)", "s_nop 0"), metadata=metadata, device="cpu", check="hazard"
    )
    with pytest.raises(KernelTrap, match=r"kernels_for_amdgcn.py:\d+:\d+.*a load that nobody waited for"):
        broken[(2,)](x, y, out, 300)


@pytest.mark.parametrize("level", ["ttir", "ttgir", "amdgcn"])
def test_functions_of_libdevice(level):
    x, out = torch.linspace(-4, 4, 64), torch.zeros(4, 64)
    with triton_runner.using(device="cpu", level=level, target="hip:gfx942"):
        k.of_libdevice[(1,)](x, out, 64)
    want = torch.stack([torch.special.i0(x), torch.round(x), torch.exp(x), torch.tanh(x)])
    torch.testing.assert_close(out, want, atol=2e-6, rtol=2e-5)


def test_functions_with_shared_memory_of_their_own(target):
    x, out = torch.arange(1024.0), torch.zeros(3)
    k.calls_with_shared[(1,)](x, out, 512)
    assert out.tolist() == [x[:512].sum(), x[512:].sum(), 2 * x[:512].sum()]


_PRINTS = """\
import torch, triton, triton.language as tl

@triton.jit
def prints(x, out, B: tl.constexpr):
    v = tl.load(x + tl.arange(0, B))
    tl.device_print("v", v)
    tl.store(out + tl.arange(0, B), v + 1)

out = torch.zeros(64)
prints[(1,)](torch.ones(64), out, 64)
assert (out == 2).all()
"""


def test_what_a_level_cannot_run_is_no_fault(tmp_path):
    (tmp_path / "prints.py").write_text(_PRINTS)
    done = warm.cli("verify", "--target", "hip:gfx942", "prints.py", cwd=tmp_path)
    assert "verdict: wrong" not in done.stdout and "the kernel calls the host here" in done.stdout
    done = warm.cli("dump", "--target", "hip:gfx942", "--level", "llir", "prints.py", cwd=tmp_path)
    assert "--level ttgir" in done.stdout + done.stderr and "--level ptx" not in done.stdout + done.stderr
    done = warm.cli("profile", "--target", "hip:gfx942", "prints.py", cwd=tmp_path)
    assert "the kernel calls the host here" in done.stdout + done.stderr


def test_a_case_brings_its_target(tmp_path):
    x, out = torch.ones(300), torch.zeros(300)
    with triton_runner.using(device="cpu", target="hip:gfx942"), triton_runner.capture(tmp_path) as captured:
        k.add[(2,)](x, x, out, 300, 256)
    done = warm.cli("run", "--device", "cpu", "--level", "amdgcn", str(captured.cases[0]))
    assert "add (amdgcn), grid (2, 1, 1)" in done.stdout and done.stdout.endswith("right\n"), done
    done = warm.cli("run", "--device", "cpu", "--level", "ptx", str(captured.cases[0]))
    assert "hip:gfx942 has no level ptx" in done.stderr


def test_overflow_is_the_programs(target):
    """An index that overflows is called so; LLVM's own arithmetic with addresses is not."""
    x, out = torch.ones(300), torch.zeros(300)
    right = triton_runner.verify(k.add, [x, x, out, 300, 256], grid=(2,), target=target)
    assert right.verdict == "no fault found", str(right)
    wrong = triton_runner.verify(k.strided, [x, out, 2**27, 64], grid=(1,), target=target)
    assert wrong.verdict == "wrong" and "overflow" in str(wrong), str(wrong)
