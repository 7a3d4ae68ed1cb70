"""The short way of a launch: tensors are read without Python; a kernel that leaves a view asks for more."""

import pytest
import torch
import triton
import triton.language as tl
import triton_runner


@triton_runner.jit
def shift(x_ptr, out_ptr, offset, scale, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at + offset) * scale)


def launch(x, out, offset=0, scale=1.0):
    shift[(1,)](x, out, offset, scale, BLOCK=8)
    return out


@pytest.fixture
def storage():
    return torch.arange(64, dtype=torch.float32)


def test_a_view_reaches_its_storage(storage):
    view = storage[16:24]
    for offset in (0, -16, 40):
        assert launch(view, torch.zeros(8), offset).tolist() == [16.0 + offset + i for i in range(8)]


def test_the_storage_ends(storage):
    with pytest.raises(triton_runner.KernelTrap) as caught:
        launch(storage[16:24], torch.zeros(8), 41)
    assert caught.value.nearest.endswith("argument 'x_ptr' (f32[8])")
    with pytest.raises(triton_runner.KernelTrap) as caught:
        launch(storage[16:24], torch.zeros(8), -17)
    assert caught.value.nearest == "4 bytes before the start of argument 'x_ptr' (f32[8])"


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x.view(8, 8).t()[0],
        lambda x: torch.nn.Parameter(x),
        lambda x: x.clone().requires_grad_(),
        lambda x: x[::2],
        lambda x: x.expand(3, 64),
        lambda x: x.numpy(),
        lambda x: x.view(1, 1, 8, 8)[0, 0, 1:],
    ],
)
def test_kinds_of_tensors(storage, make):
    x = make(storage)
    first = storage.flatten()[8:16] if getattr(x, "shape", ())[:2] == (7, 8) else storage[:8]
    assert launch(x, torch.zeros(8)).tolist() == first.tolist()


def test_empty_tensors_hold_nothing():
    with pytest.raises(triton_runner.KernelTrap, match="out of bounds"):
        launch(torch.zeros(0), torch.zeros(8))


def test_numbers(storage):
    assert launch(storage, torch.zeros(8), True, 2).tolist() == [2.0 * (i + 1) for i in range(8)]
    with pytest.raises(triton_runner.KernelTrap, match="out of bounds"):
        launch(storage, torch.zeros(8), 2**40)


def test_hooks_see_the_launch(storage):
    if not hasattr(triton, "knobs"):
        pytest.skip("this release has no chains of hooks")
    seen = []
    enter, leave = triton.knobs.runtime.launch_enter_hook, triton.knobs.runtime.launch_exit_hook
    on_enter = lambda metadata: seen.append(("enter", metadata.get()["name"]))  # noqa: E731
    on_leave = lambda metadata: seen.append(("leave", metadata.get()["name"]))  # noqa: E731
    enter.add(on_enter)
    leave.add(on_leave)
    try:
        launch(storage, torch.zeros(8))
    finally:
        enter.remove(on_enter)
        leave.remove(on_leave)
    assert seen == [("enter", "shift"), ("leave", "shift")]


def test_the_settings_of_a_launch_are_those_in_force(storage):
    out = torch.zeros(8)
    compiled = shift[(1,)](storage, out, 0, 1.0, BLOCK=8)
    out.zero_()
    compiled.run(0, 1, 1, 0, None, None, None, None, None, storage, out, 0, 1.0, 8)
    assert out.tolist() == [0.0] * 8  # an empty grid is nothing to do for Triton
    with pytest.raises(triton_runner.DiagnosticError, match="takes 4 to 5 arguments, and 3 were given"):
        compiled.run(1, 1, 1, 0, None, None, None, None, None, storage, out, 0)
    with pytest.raises(triton_runner.DiagnosticError, match="grid"):
        compiled.run(-1, 1, 1, 0, None, None, None, None, None, storage, out, 0, 1.0, 8)
    with pytest.raises(triton_runner.DiagnosticError, match="argument 'x_ptr': expected a tensor"):
        compiled.run(1, 1, 1, 0, None, None, None, None, None, "x", out, 0, 1.0, 8)
