"""A compiled kernel launched again: whatever Triton's own launchers take, release by release."""

import collections
import warnings

import numpy as np
import pytest
import triton
import triton.language as tl
import triton_runner

torch = pytest.importorskip("torch")

from triton_runner._base.releases import installed  # noqa: E402

LEVELS = ("ttir", "ttgir", "ptx")
needs_passed_constexprs = pytest.mark.skipif(
    not installed().constexprs_passed, reason="this release passes no constexprs"
)
needs_loose_launches = pytest.mark.skipif(
    not installed().loose_launches, reason="this release's launchers take exactly their arguments"
)


def _axpy(x, y, factor, n, TRAIL: tl.constexpr, BLOCK: tl.constexpr = 16):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(y + offsets, tl.load(x + offsets, mask=mask) * factor + TRAIL, mask=mask)


plain = triton.jit(_axpy)
ours = triton_runner.jit(_axpy)


@triton.jit
def mixed(x, FIRST: tl.constexpr, y, SECOND: tl.constexpr, n):
    offsets = tl.arange(0, 16)
    tl.store(y + offsets, tl.load(x + offsets, mask=offsets < n, other=0.0) * FIRST + SECOND)


@triton.jit
def pointers(x, y, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    value = offsets.to(tl.float32)
    if x is not None:
        value += tl.load(x + offsets)
    tl.store(y + offsets, value)


@pytest.fixture
def x():
    return torch.arange(64, dtype=torch.float32)


def compiled_at(level, kernel=plain):
    with triton_runner.using(level=level):
        f32 = torch.empty(64)
        compiled = kernel.warmup(f32, f32, 2.0, 64, 3, BLOCK=16, grid=(4,))
        compiled._init_handles()
    return compiled


def launched(compiled, x, *args, grid=(4, 1, 1)):
    out = torch.zeros(64)
    compiled[grid](x, out, *args)
    return out.tolist()


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("kernel", [plain, ours], ids=["triton.jit", "triton_runner.jit"])
class TestConstexprs:
    @needs_passed_constexprs
    @pytest.mark.parametrize("trailing", [(3, 16), (3,), (), ("never", None)], ids=repr)
    def test_trailing_ones_may_be_left_out(self, level, kernel, trailing, x):
        assert launched(compiled_at(level, kernel), x, 2.0, 64, *trailing) == (2 * x + 3).tolist()

    @needs_loose_launches
    def test_what_follows_them_is_ignored(self, level, kernel, x):
        assert launched(compiled_at(level, kernel), x, 2.0, 64, 3, 16, "more", 7) == (2 * x + 3).tolist()

    def test_other_arguments_are_needed(self, level, kernel, x):
        with pytest.raises(triton_runner.DiagnosticError, match=r"takes 4 .*arguments, and 3 were given"):
            launched(compiled_at(level, kernel), x, 2.0)

    def test_run_as_libraries_call_it(self, level, kernel, x):
        compiled, out, seen = compiled_at(level, kernel), torch.zeros(64), []
        trailing = (3, 16) if installed().constexprs_passed else ()
        head = (4, 1, 1, 0, compiled.function, compiled.packed_metadata)
        compiled.run(*head, "said", seen.append, seen.append, x, out, 2.0, 64, *trailing)
        assert out.tolist() == (2 * x + 3).tolist() and seen == ["said", "said"]
        compiled.run(*head, None, None, None, x, out.zero_(), 2.0, 64)
        assert out.tolist() == (2 * x + 3).tolist()
        compiled.run(0, *head[1:], "empty", seen.append, None, x, out.zero_(), 2.0, 64)
        assert not out.any() and seen[2:] == ["empty"]


@needs_passed_constexprs
@pytest.mark.parametrize("level", LEVELS)
def test_those_between_are_passed(level, x):
    with triton_runner.using(level=level):
        compiled = mixed.warmup(x, 2, x, 3, 16, grid=(1,))
        compiled._init_handles()
    out = torch.zeros(16)
    compiled[(1, 1, 1)](x, None, out, "any", 16)
    assert out.tolist() == (2 * x[:16] + 3).tolist()
    with pytest.raises(triton_runner.DiagnosticError, match="takes 5 arguments, and 3 were given"):
        compiled[(1, 1, 1)](x, out, 16)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("factor", "n"),
    [
        (np.float32(2), np.int64(64)),
        (2, np.int32(64)),
        (np.float16(2), np.array(64)),
        (torch.tensor(2.0), torch.tensor(64)),
        (torch.tensor(2), torch.tensor(64, dtype=torch.int32)),
        (np.array(2.0), np.uint8(64)),
    ],
    ids=repr,
)
def test_whatever_converts_to_a_number(level, factor, n, x):
    assert launched(compiled_at(level), x, factor, n) == (2 * x + 3).tolist()


def test_booleans_are_numbers(x):
    assert launched(compiled_at("ttir"), x, True, True)[:2] == [3.0, 0.0]


@pytest.mark.parametrize(
    ("factor", "n"), [("2", 64), (2.0, 64.0), (2.0, None), (2.0, torch.zeros(2))], ids=repr
)
def test_what_does_not_is_refused(factor, n, x):
    with pytest.raises(triton_runner.DiagnosticError, match=r"argument '(n|factor)': expected"):
        launched(compiled_at("ttir"), x, factor, n)


@pytest.mark.parametrize("level", LEVELS)
def test_an_integer_that_does_not_fit(level, x):
    compiled = compiled_at(level)
    if not installed().loose_launches:
        with pytest.raises(triton_runner.DiagnosticError, match="out of range"):
            launched(compiled, x, 2.0, 2**32 + 64)
        return
    with pytest.warns(RuntimeWarning, match="4294967360 is out of range for i32: its low 32 bits are passed"):
        assert launched(compiled, x, 2.0, 2**32 + 64) == (2 * x + 3).tolist()
    with pytest.raises(triton_runner.DiagnosticError, match="out of range"):
        launched(compiled, x, 2.0, 2**64)


@pytest.mark.parametrize("level", LEVELS)
def test_pointers_are_tensors_addresses_or_none(level, x):
    with triton_runner.using(level=level):
        compiled = pointers.warmup(x, x, BLOCK=16, grid=(1,))
        compiled._init_handles()
    for pointer in (x, x.data_ptr(), x.numpy()):
        out = torch.zeros(16)
        compiled[(1, 1, 1)](pointer, out.data_ptr())
        assert out.tolist() == (2 * x[:16]).tolist()
    for null in (None, 0, False):
        with pytest.raises(triton_runner.KernelTrap, match=r"null|at 0x0"):
            compiled[(1, 1, 1)](null, out)


@pytest.mark.parametrize("level", LEVELS)
def test_what_was_folded_is_passed_and_not_read(level, x):
    with triton_runner.using(level=level):
        without = pointers.warmup(None, x, BLOCK=16, grid=(1,))
        one = plain.warmup(x, x, 2.0, 1, 3, BLOCK=16, grid=(1,))
        for compiled in (without, one):
            compiled._init_handles()
    out = torch.zeros(16)
    without[(1, 1, 1)](None, out)
    without[(1, 1, 1)]("anything", out)
    assert out.tolist() == [float(i) for i in range(16)]
    assert launched(one, x, 2.0, 1, grid=(1, 1, 1))[:2] == [3.0, 0.0]


def test_a_stream_is_taken(x):
    out = torch.zeros(64)
    compiled_at("ttir")[(4, 1, 1)](x, out, 2.0, 64, stream=0)
    assert out.tolist() == (2 * x + 3).tolist()


def test_grids_of_any_integers(x):
    assert launched(compiled_at("ttir"), x, 2.0, 64, grid=[np.int64(4), True, 1]) == (2 * x + 3).tolist()


@needs_passed_constexprs
@pytest.mark.parametrize("level", LEVELS)
def test_tuples(level, x):
    @triton.jit
    def of_tuples(both, numbers, BLOCK: tl.constexpr):
        offsets = tl.arange(0, BLOCK)
        tl.store(both[1] + offsets, tl.load(both[0] + offsets) * numbers[0] + numbers[1])

    Pair = collections.namedtuple("Pair", "a b")
    out = torch.zeros(16)
    with triton_runner.using(level=level):
        compiled = of_tuples.warmup((x, out), (2, 3), BLOCK=16, grid=(1,))
        compiled._init_handles()
    for both, numbers in (((x, out), (2, 3)), ([x, out], [2, 3]), (Pair(x, out), Pair(2, 3))):
        out.zero_()
        compiled[(1, 1, 1)](both, numbers)
        assert out.tolist() == (2 * x[:16] + 3).tolist()


def test_host_descriptors(x):
    descriptor = pytest.importorskip("triton.tools.tensor_descriptor").TensorDescriptor

    @triton.jit
    def of_descriptor(d, out, BLOCK: tl.constexpr):
        tl.store(out + tl.arange(0, BLOCK), d.load([16]))

    source, out = descriptor.from_tensor(x, [16]), torch.zeros(16)
    for level in LEVELS:
        with triton_runner.using(level=level):
            compiled = of_descriptor.warmup(source, out, BLOCK=16, grid=(1,))
            compiled._init_handles()
            compiled[(1, 1, 1)](source, out.zero_())
        assert out.tolist() == x[16:32].tolist()


@pytest.mark.parametrize("level", LEVELS)
def test_a_kernel_that_entered_as_an_artifact(level, x, tmp_path):
    (tmp_path / f"_axpy.{level}").write_text(compiled_at(level).asm[level])
    entry = {f"{level}_dir": str(tmp_path), "metadata_json": compiled_at(level).metadata}
    compiled = ours[(4,)](x, torch.zeros(64), 2.0, 64, 3, device="cpu", **entry)
    expected = (2 * x + 3).tolist()
    for trailing in ((), (3,), (3, 16)):
        assert launched(compiled, x, 2.0, 64, *trailing) == expected
        out, seen = torch.zeros(64), []
        head = (4, 1, 1, 0, compiled.function, compiled.packed_metadata)
        compiled.run(*head, "said", seen.append, seen.append, x, out, 2.0, 64, *trailing)
        assert out.tolist() == expected and seen == ["said", "said"]


@pytest.mark.parametrize("form", ["dict", "object", "kernel", "text"])
def test_metadata_in_any_form(form, x, tmp_path):
    kernel = compiled_at("ptx")
    (tmp_path / "_axpy.ptx").write_text(kernel.asm["ptx"])
    metadata = kernel.metadata
    given = {
        "dict": metadata._asdict(),
        "object": metadata,
        "kernel": kernel,
        "text": triton_runner._base.metadata.as_path_or_text(metadata, "metadata"),
    }[form]
    out = torch.zeros(64)
    entry = {"ptx_dir": str(tmp_path), "metadata_json": given, "device": "cpu"}
    ours[(4,)](x, out, 2.0, 64, 3, **entry)
    assert out.tolist() == (2 * x + 3).tolist()
    with pytest.raises(triton_runner.DiagnosticError, match="metadata_json=7: expected metadata, not int"):
        ours[(4,)](x, out, 2.0, 64, 3, **{**entry, "metadata_json": 7})


def test_a_number_of_16_bits_keeps_its_type_down_to_the_cubin(x):
    from triton_runner._artifact.relaunch import of_call
    from triton_runner._launch.launchers import observing

    @triton.jit
    def scaled(x, y, half: tl.float16, brain: tl.bfloat16):
        offsets = tl.arange(0, 16)
        tl.store(y + offsets, tl.load(x + offsets) * half + brain)

    seen, out = [], torch.zeros(16)
    with observing(lambda call, go: seen.append(of_call(call)) or go()):
        scaled[(1,)](x, out, 0.5, 3.0)
    expected = (0.5 * x[:16] + 3).tolist()
    assert out.tolist() == expected
    for level in ("ptx", "cubin"):
        assert seen[0].run(level).arrays["y"].tolist() == expected


def test_nothing_warns(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        launched(compiled_at("ttir"), x, 2.0, 64)


def test_a_view_with_negative_strides_is_copied():
    """flag_gems' flip passes an object of its own, since torch has no such tensor."""
    torch = pytest.importorskip("torch")
    from triton_runner._memory.arguments import Arguments, MemoryView

    base = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    view = MemoryView(base.untyped_storage(), base.data_ptr() + 12, "float32", (2, 3), (-3, 1))
    arguments = Arguments([("x", view)])
    assert arguments.arrays()["x"].tolist() == [[3, 4, 5], [0, 1, 2]]
    data = torch.from_numpy(arguments.taken()[0])  # as a GPU has it: a tensor of bytes
    again = Arguments([("x", arguments.views["x"].of_tensor(data))])
    assert again.views == arguments.views
    assert again.arrays()["x"].tolist() == [[3, 4, 5], [0, 1, 2]]
    assert again.address(0) == data.data_ptr()
