"""Gives the shapes of grids, and of tensors that hold one block per program."""

from __future__ import annotations

from triton_runner._settings import devices


def _pair(value) -> tuple:
    return (value,) if hasattr(value, "__index__") else tuple(value)


def get_active_torch_device():
    """Returns the torch device on which kernels run: cpu, or the current GPU."""
    import torch

    if devices.resolved_device() == "cpu":
        return torch.device("cpu")
    return torch.device("cuda", torch.cuda.current_device())


def get_grid_dim(shape, block_shape) -> tuple:
    """Returns how many blocks cover each axis: shape [m, n] and block_shape [bm, bn] give (ceil(m/bm),
    ceil(n/bn)). Numbers count as one axis."""
    shape, block_shape = _pair(shape), _pair(block_shape)
    if len(shape) != len(block_shape):
        raise ValueError(f"a shape of {len(shape)} axes and blocks of {len(block_shape)}")
    return tuple(-(-extent // block) for extent, block in zip(shape, block_shape, strict=True))


def pad_2d_to_block_shape(tensor, block_shape, value=0):
    """Returns the tensor [m, n] as f32, padded with `value` at the end of each axis to whole blocks."""
    import torch

    rows, cols = tensor.shape
    grid = get_grid_dim((rows, cols), block_shape)
    padding = (0, grid[1] * block_shape[1] - cols, 0, grid[0] * block_shape[0] - rows)
    return torch.nn.functional.pad(tensor.to(torch.float32), padding, value=value)


def get_pad_n_elements(tensor, block_shape) -> int:
    """Returns the number of elements of a tensor (or of a shape) after each axis is padded to whole blocks;
    it uses as many axes as both have."""
    shape = _pair(getattr(tensor, "shape", tensor))
    total = 1
    for extent, block in zip(shape, _pair(block_shape), strict=False):
        total *= -(-extent // block) * block
    return total


def get_n_elements_with_grid(block_shape, grid) -> int:
    """Returns the number of elements if every program of the grid has one block of block_shape."""
    total = 1
    for extent in (*_pair(block_shape), *_pair(grid)):
        total *= extent
    return total
