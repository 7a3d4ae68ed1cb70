"""Tests triton_runner.jit: Triton's options and launches, this package's keywords, and what a launch
returns."""

import numpy as np
import pytest

triton = pytest.importorskip("triton")
import triton.language as tl  # noqa: E402
import triton_runner  # noqa: E402
from kernels_for_tests import add, own_names, printing, row_sum, scale, through_pointers  # noqa: E402
from triton_runner import DiagnosticError  # noqa: E402


def inputs(n=1000):
    return np.arange(n, dtype=np.float32), np.full(n, 2, np.float32), np.zeros(n, np.float32)


@pytest.mark.parametrize("level", ["ttir", "ttgir"])
def test_vector_add(level):
    x, y, out = inputs()
    add[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](x, y, out, 1000, BLOCK=256, level=level)
    assert (out == x + 2).all()


def test_torch_tensors_are_taken_as_they_lie():
    torch = pytest.importorskip("torch")
    whole = torch.arange(100, dtype=torch.float32)
    out = torch.zeros(40)
    scale[(1,)](whole[10:], out, 40, 2.0, 2, None)  # a view with a stride: the whole storage may be read
    assert torch.equal(out, whole[10:90:2] * 2)


def test_arguments_by_keyword_defaults_and_grid_forms():
    x, _, out = inputs(64)
    scale[(1,)](x=x, out=out, n=64, factor=3.0, stride=1, shift=None)
    assert (out == 3 * x).all()
    scale[[1]](x, out, 64, 1.0, 1, np.full(1, 5, np.float32))
    assert (out == x + 5).all()
    scale[lambda meta: (64 // meta["BLOCK"],)](x, out, 64, 2.0, 1, None, BLOCK=32)
    assert (out == 2 * x).all()


def test_a_kernel_parameter_wins_over_our_keyword():
    x = np.ones(16, np.float32)
    with triton_runner.using(level="ttgir"):
        kernel = own_names[(1,)](x, level=3, device=4, BLOCK=16)
    assert (x == 7).all() and "ttgir" in dict(kernel.asm)


def test_every_option_of_triton_jit():
    @triton_runner.jit(do_not_specialize=["n"], noinline=False, debug=False, repr=lambda spec: "renamed")
    def kernel(out, n):
        tl.store(out, n)

    out = np.zeros(1, np.int32)
    compiled = kernel[(1,)](out, 1)
    assert out[0] == 1 and compiled.name == "renamed"
    kernel[(1,)](out, 7)
    assert out[0] == 7


def test_device_functions_and_globals():
    @triton_runner.jit
    def square(v):
        return v * v

    @triton_runner.jit
    def kernel(x, BLOCK: tl.constexpr):
        offsets = tl.arange(0, BLOCK)
        tl.store(x + offsets, square(tl.load(x + offsets)))

    kernel.__globals__["square"] = square
    x = np.arange(8, dtype=np.float32)
    try:
        kernel[(1,)](x, BLOCK=8)
    finally:
        del kernel.__globals__["square"]
    assert (x == np.arange(8) ** 2).all()


def test_what_a_launch_returns_behaves_as_a_compiled_kernel():
    x, y, out = inputs(512)
    kernel = add[(2,)](x, y, out, 512, BLOCK=256, num_warps=8)
    assert kernel.name == "add" or kernel.name == "_add"
    assert kernel.metadata.num_warps == 8 and kernel.metadata.name == kernel.name
    assert list(kernel.asm)[-1] == "ttir", "stages past the executed level wait until they are asked for"
    assert "ptx" in kernel.asm and ".visible .entry" in kernel.asm["ptx"]
    assert ("tt.func" in kernel.asm["ttir"] and "ttg." in kernel.asm["ttgir"]) or "triton_gpu." in kernel.asm[
        "ttgir"
    ]
    assert kernel.n_regs > 0 and kernel.n_spills == 0 and kernel.metadata.shared == 0
    out[:] = 0
    arguments = (x, y, out, 512, 256) if "constexpr" in kernel.src.signature.values() else (x, y, out, 512)
    kernel[(2, 1, 1)](*[triton_runner._memory.arrays.wrap("", a) for a in arguments])
    assert (out == x + 2).all()
    with pytest.raises(KeyError):
        kernel.asm["nosuch"]


def test_shared_memory_and_registers_come_from_the_real_stages():
    x, out = np.ones((4, 1024), np.float32), np.zeros(4, np.float32)
    kernel = row_sum[(4,)](x, out, 1024, BLOCK=1024)
    assert (out == 1024).all()
    assert kernel.metadata.shared > 0, "a reduction over warps exchanges through shared memory"
    assert "ptx" not in kernel._onward.to(kernel.asm["ttir"], "llir").asm, (
        "later stages have nothing to say of it"
    )


def test_warmup_compiles_without_running():
    x, y, out = inputs(64)
    kernel = add.warmup(x, y, out, 64, BLOCK=64, grid=(1,))
    assert not out.any() and "tt.func" in kernel.asm["ttir"]
    torch = pytest.importorskip("torch")
    kernel = add.warmup(
        torch.float32, torch.float32, torch.float32, 64, BLOCK=64, grid=(1,), target="cuda:80"
    )
    assert ".target sm_80" in kernel.asm["ptx"]


def test_targets_and_levels_do_not_share_compiled_kernels():
    x, y, out = inputs(64)
    seen = set()
    for target in ("cuda:80", "cuda:90"):
        for level in ("ttir", "ttgir"):
            kernel = add[(1,)](x, y, out, 64, BLOCK=64, target=target, level=level)
            assert f"{kernel.metadata.target.backend}:{kernel.metadata.target.arch}" == target
            assert kernel.metadata.triton_runner_level == level
            seen.add(kernel.hash)
    assert len(seen) == 4


def test_autotune_and_heuristics_on_top():
    pytest.importorskip("torch")
    tried = []

    @triton.autotune(
        configs=[triton.Config({"BLOCK": 64}, num_warps=2), triton.Config({"BLOCK": 128})],
        key=["n"],
        pre_hook=lambda kwargs, reset_only=False: tried.append(1),
    )
    @triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
    @triton_runner.jit
    def kernel(x, out, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        if EVEN:
            tl.store(out + offsets, tl.load(x + offsets))
        else:
            tl.store(out + offsets, tl.load(x + offsets, mask=offsets < n), mask=offsets < n)

    import torch

    x, out = torch.arange(200, dtype=torch.float32), torch.zeros(200)
    kernel[lambda meta: (triton.cdiv(200, meta["BLOCK"]),)](
        x, out, 200, device="cpu", level="ttgir", check="oob"
    )
    assert torch.equal(x, out) and len(tried) > 2
    assert kernel.best_config.kwargs["BLOCK"] in (64, 128)


def test_pointers_found_in_memory():
    torch = pytest.importorskip("torch")
    x, out = torch.arange(64, dtype=torch.float32), torch.zeros(64)
    through_pointers[(1,)](torch.tensor([x.data_ptr()]), out, BLOCK=64)
    assert torch.equal(x, out)


def test_registered_memory():
    x, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    pointers = np.array([x.ctypes.data], np.int64)
    with pytest.raises(triton_runner.KernelTrap, match="out of bounds"):
        through_pointers[(1,)](pointers, out, BLOCK=64)
    triton_runner.register_memory(x.ctypes.data, x.nbytes)
    try:
        through_pointers[(1,)](pointers, out, BLOCK=64)
        assert (out == x).all()
    finally:
        triton_runner.register_memory(x.ctypes.data, 0)


def test_memory_that_is_registered_again_ends_what_was_there():
    """The blocks that end are those of arrays that were freed since."""
    x, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    begin = x.ctypes.data
    triton_runner.register_memory(begin + 64, 16)
    triton_runner.register_memory(begin, x.nbytes)
    try:
        through_pointers[(1,)](np.array([begin], np.int64), out, BLOCK=64)
        through_pointers[(1,)](np.array([begin + 4], np.int64), out, BLOCK=32)
        assert (out[:32] == x[1:33]).all()
    finally:
        triton_runner.register_memory(begin, 0)


@pytest.mark.parametrize("level", ["ttir", "ttgir"])
def test_what_kernels_print_goes_to_stdout(level, capsys):
    with triton_runner.using(threads=1):
        printing[(2,)](np.array([1, -2], np.int32), BLOCK=2, level=level)
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("pid")] == [
        line
        for pid in range(2)
        for line in (
            f"pid ({pid}, 0, 0) idx (0) x: 1",
            f"pid ({pid}, 0, 0) idx (1) x: -2",
            f"pid ({pid}, 0, 0) idx () program",
        )
    ]


def test_a_trap_names_the_source_line():
    x, y, out = inputs(64)
    with pytest.raises(triton_runner.KernelTrap) as caught:
        add[(2,)](x, y, out, 128, BLOCK=64)
    trap = caught.value
    assert trap.kind == "out of bounds" and trap.op == "tt.load" and trap.program == (1, 0, 0)
    assert trap.file.endswith("kernels_for_tests.py") and trap.line > 0 and trap.column > 0
    assert trap.address == x.ctypes.data + 256 and "argument 'x'" in trap.nearest and trap.element == (0,)
    assert not out[64:].any()


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"dump_grid": 1}, "no value is named"),
        ({"level": "hsaco"}, "ttir, ttgir, llir, ptx, cubin"),
        ({"level": "nosuch"}, "unknown level"),
        ({"target": "sm_90"}, "unknown target"),
        ({"device": "tpu"}, "unknown device"),
        ({"check": "everything"}, "unknown check"),
        ({"mma": "slow"}, "mma"),
        ({"ttir_dir": ".", "ptx_dir": "."}, "exactly one level"),
        ({"metadata_json": "x.json"}, "none is given"),
    ],
)
def test_bad_keywords(keywords, words):
    x, y, out = inputs(64)
    with pytest.raises(DiagnosticError, match=words):
        add[(1,)](x, y, out, 64, BLOCK=64, **keywords)
    assert not out.any()


def test_wrong_arguments():
    x, y, out = inputs(64)
    with pytest.raises(DiagnosticError, match="missing"):
        add[(1,)](x, y)
    with pytest.raises(DiagnosticError, match="contiguous"):
        add[(1,)](x[::2], y, out, 32, BLOCK=64)
    with pytest.raises(DiagnosticError, match="argument 'y' is of type list, which is neither") as caught:
        add[(1,)](x, [1.0, 2.0], out, n=64, BLOCK=64)
    assert "__dlpack__" in caught.value.notes[0]
    with pytest.raises(DiagnosticError, match="grid"):
        add[(0,)](x, y, out, 64, BLOCK=64)
    with pytest.raises(KeyError, match="nosuch"):
        add[(1,)](x, y, out, 64, BLOCK=64, nosuch=1)


def test_a_device_that_is_not_here():
    from triton_runner._settings import devices

    if devices.gpu() == "cuda":
        pytest.skip("there is a CUDA device")
    x, y, out = inputs(64)
    with pytest.raises(DiagnosticError, match="no such device"):
        add[(1,)](x, y, out, 64, BLOCK=64, device="cuda")


def test_using_nests_and_ends():
    from triton_runner import _settings

    before = _settings.current()
    with triton_runner.using(level="ttgir", target="cuda:80"):
        with triton_runner.using(target="cuda:75"):
            assert (_settings.current().level, _settings.current().target) == ("ttgir", "cuda:75")
        assert _settings.current().target == "cuda:80"
    assert _settings.current() == before
    with pytest.raises(TypeError, match="nosuch"):
        with triton_runner.using(nosuch=1):
            pass


def test_a_kernel_is_replaced_by_its_name(tmp_path):
    x, y, out = inputs(64)

    def launch():
        add[(1,)](x, y, out, 64, BLOCK=64)
        return out[3]

    assert launch() == 5
    text = add.warmup(x, y, out, 64, BLOCK=64, grid=(1,)).asm["ttir"]
    edited = tmp_path / "edited.ttir"
    edited.write_text(text.replace("arith.addf", "arith.subf"))
    for given in (edited, edited.read_text()):
        with triton_runner.using(replace={add.__name__: given}):
            assert [launch() for _ in range(3)] == [1] * 3
    with triton_runner.using(replace={"another": edited}):
        assert launch() == 5
    assert launch() == 5
    binary = tmp_path / "other.cubin"
    binary.write_bytes(b"\x7fELF")
    with (
        triton_runner.using(replace={add.__name__: binary}),
        pytest.raises(DiagnosticError, match=r"add\.cubin"),
    ):
        launch()


def test_backends_can_be_configured_and_restored():
    own = triton.jit
    triton_runner.configure_jit_backend()
    try:
        assert isinstance(triton.jit(add.fn), type(add))
    finally:
        triton_runner.restore_jit_backend()
    assert triton.jit is own
    own = triton.autotune
    triton_runner.configure_autotune_backend()
    triton_runner.restore_autotune_backend()
    assert triton.autotune is own
