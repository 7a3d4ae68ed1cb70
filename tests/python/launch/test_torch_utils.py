"""Tests torch_utils, testing and color_print as the original's scripts call them."""

import pytest
import triton_runner
from triton_runner import testing, torch_utils

torch = pytest.importorskip("torch")


@pytest.mark.parametrize(
    ("shape", "block", "elements"),
    [
        ((5,), (4,), 8),
        ((5, 7), (4, 8), 64),
        ((5, 7), [2, 2], 48),
        ((8, 8), (4, 4), 64),
        ((5, 7, 3), (4, 8), 64),  # over as many axes as both have
        ((5, 7), 4, 8),
        ((0, 7), (4, 8), 0),
    ],
)
def test_padded_elements_of_a_tensor(shape, block, elements):
    tensor = torch.zeros(shape)
    assert torch_utils.get_pad_n_elements(tensor, block) == elements
    assert torch_utils.get_pad_n_elements(tensor.shape, block) == elements


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.int32])
def test_padding_gives_f32(dtype):
    x = torch.arange(15).reshape(3, 5).to(dtype)
    padded = torch_utils.pad_2d_to_block_shape(x, (2, 4))
    assert padded.dtype == torch.float32 and padded.shape == (4, 8)
    assert torch.equal(padded[:3, :5], x.float()) and not padded[3:].any() and not padded[:, 5:].any()
    assert padded.numel() == torch_utils.get_pad_n_elements(x, (2, 4))


def test_grids():
    assert torch_utils.get_grid_dim([5, 9], (4, 4)) == (2, 3)
    assert torch_utils.get_n_elements_with_grid((4, 4), (2, 3)) == 96
    assert torch_utils.get_n_elements_with_grid((4, 4), (2, 3)) == torch_utils.get_pad_n_elements(
        torch.zeros(5, 9), (4, 4)
    )
    with triton_runner.using(device="cpu"):
        assert torch_utils.get_active_torch_device() == torch.device("cpu")


def test_benchmarks_and_comparisons():
    times = testing.do_bench(lambda: sum(range(1000)), warmup=1, rep=5, return_mode="all")
    assert len(times) >= 1 and all(time > 0 for time in times)
    low, high = testing.do_bench(lambda: None, warmup=1, rep=2, quantiles=[0.0, 1.0])
    assert 0 <= low <= high
    testing.assert_close([1.0, float("nan")], [1.005, float("nan")])
    testing.assert_close(100.0, 101.0, rtol=0.02)
    with pytest.raises(AssertionError):
        testing.assert_close([1.0, 2.0], [1.0, 2.1])
