"""Has right programs that write to a part of torch.empty and never use the rest. Each is a function without
arguments (test_unwritten.py)."""

import numpy as np
import torch
from unwritten_kernels import compact, copied, copy, copy_arrays, last_adds, put, rows, split, take

RIGHT = {}


def right(function):
    RIGHT[function.__name__] = function


@right
def everything_is_written():
    float(copied(100, 100).sum())


@right
def only_the_beginning_is_read():
    y = copied(120, 100)
    return float(y[:100].sum()), y[:100].tolist(), str(y[:100]), y[:100].numpy().sum()


@right
def torch_fills_the_tail():
    y = copied(120, 100)
    y[100:] = 0
    float(y.sum())


@right
def numpy_fills_the_tail():
    y = copied(120, 100)
    y.numpy()[100:] = 0
    float(y.sum())


@right
def another_kernel_fills_the_tail():
    y = copied(120, 100)
    copy[(1,)](torch.ones(20), y[100:], 20, B=32)
    float(y.sum())


@right
def c_fills_the_tail():
    import ctypes

    y = copied(120, 100)
    ctypes.memset(y.data_ptr() + 400, 0, 80)
    float(y.sum())


@right
def dlpack_fills_the_tail():
    y = copied(120, 100)
    np.from_dlpack(y.detach())  # read-only there
    torch.from_dlpack(y)[100:] = 1
    float(y.sum())


@right
def the_beginning_of_what_numpy_gets():
    a = copied(120, 100).numpy()
    np.testing.assert_allclose(a[:100], np.ones(100))
    return float(a[:100].sum()), a[99], a.reshape(12, 10)[:10].max(), a[::-1][20:].tolist(), str(a[:100])


@right
def numpy_computes_before_the_slice():
    a, inside = copied(120, 100).numpy(), np.arange(120) < 100
    total = np.where(inside, a, 0).sum() + (a * inside).sum() + a[inside].sum() + np.sum(a, where=inside)
    assert total == 400 and ((a + 1) * 2)[:100].mean() == 4 and a.astype(np.float64)[:100].sum() == 100
    rows = a.reshape(12, 10)
    return rows.sum(1)[:10].max(), np.concatenate([rows, rows])[:10].mean(), np.stack([a, a])[:, 5].sum()


@right
def numpy_copies_it():
    a = np.array(copied(120, 100))
    b = a.copy()
    return float(a[:100].sum()), float(b[:100].sum()), float(torch.from_numpy(b[10:])[:90].sum())


@right
def numbers_of_a_list():
    values = copied(120, 100).tolist()
    assert len(values) == 120 and sum(values[:100]) == 100 and values[:2] == [1.0, 1.0]
    counts = copied(120, 100, torch.int64).view(12, 10).tolist()
    return [max(row) for row in counts[:10]], f"{values[3]:.2f}"


@right
def numbers_of_an_array():
    values = copied(120, 100).numpy().tolist()
    return sum(values[:100])


@right
def numpy_gives_it_back_to_torch():
    a = copied(120, 100).numpy()
    return float(torch.from_numpy(a)[:100].sum()), float(torch.as_tensor(a[10:])[:90].sum())


@right
def numpy_writes_what_is_left():
    a = copied(120, 100).numpy()
    np.copyto(a[100:], 0)
    np.add(a, 1, out=a)
    float(a.sum())


@right
def a_kernel_gets_what_numpy_got():
    y, z = copied(120, 100), np.empty(100, np.float32)
    copy_arrays[(4,)](y.numpy(), z, 100, B=32)
    assert z.sum() == 100


@right
def numpy_texts_and_pickles():
    import copy as copies
    import pickle

    a = copied(120, 100).numpy()
    assert np.array2string(a[:3]) == "[1. 1. 1.]" and type(pickle.loads(pickle.dumps(a))) is np.ndarray
    return copies.deepcopy(a)[:100].max(), np.lib.stride_tricks.sliding_window_view(a, 10)[:90].max()


@right
def a_host_copy_is_sliced():
    y = copied(120, 100)
    return float(y.cpu()[:100].sum()), y.cpu().numpy()[:100].max(), y.to("cpu", torch.float64)[:100].tolist()


@right
def where_leaves_the_tail_out():
    y, inside = copied(120, 100), torch.arange(120) < 100
    return float(torch.where(inside, y, 0).max()), float(y.masked_fill(~inside, 0).sum())


@right
def a_mask_multiplies_the_tail_by_zero():
    y = copied(120, 100)
    float((y * (torch.arange(120) < 100)).sum())


@right
def a_mask_is_filled_in_place():
    y = copied(120, 100)
    y.masked_fill_(torch.arange(120) >= 100, 0)
    float(y.sum())


@right
def a_clone_is_sliced():
    float(copied(120, 100).clone()[:100].max())


@right
def a_padded_batch_goes_through_layers():
    y = copied(120, 100).view(12, 10)
    y = torch.softmax(torch.relu(y @ torch.ones(10, 4)), -1)
    float(torch.layer_norm(y, (4,))[:10].sum())


@right
def a_concatenation_is_sliced():
    y = torch.cat([copied(120, 100), torch.zeros(5)])
    return float(y[:100].sum()), float(y[120:].sum())


@right
def written_elements_are_gathered():
    y, index = copied(120, 100), torch.tensor([3, 99, 50])
    return (
        float(y[index].sum()),
        float(torch.gather(y, 0, index).sum()),
        float(y.index_select(0, index).sum()),
    )


@right
def ragged_rows():
    lengths = [7, 30, 16]
    y = torch.empty(3, 32)
    for row, n in enumerate(lengths):
        copy[(1,)](torch.ones(n), y[row], n, B=32)
    return [float(y[row, :n].sum()) for row, n in enumerate(lengths)]


@right
def a_nested_mask_of_ragged_rows():
    y = torch.empty(3, 32)
    copy[(1,)](torch.ones(7), y[1], 7, B=32)
    mask = torch.zeros(3, 32, dtype=torch.bool)
    mask[1, :7] = True
    return float(y[mask].sum()), y.masked_select(mask).tolist()


@right
def a_padded_row_length():
    y = torch.empty(5, 16)[:, :10]
    rows[(2,)](torch.ones(5, 10), y, 5, 10, 10, 16, M=4, N=16)
    return float(y.sum()), str(y), float(y.contiguous().max())


@right
def a_kv_cache():
    cache = torch.empty(2, 64, 8)
    for step in range(3):
        rows[(1,)](torch.ones(1, 8), cache[0, step], 1, 8, 8, 8, M=1, N=8)
    float(cache[0, :3].sum())


@right
def a_paged_cache():
    cache, slots = torch.empty(16, 8), torch.tensor([3, 9, -1, 12])
    put[(4,)](torch.ones(4, 8), slots, cache, n=8)
    y, read = torch.empty(2, 8), torch.tensor([9, 3])
    take[(2,)](cache, read, y, n=8)
    return float(y.sum()), float(cache[slots[slots >= 0]].sum())


@right
def a_scatter_into_zeros():
    y = torch.zeros(16, 8)
    put[(3,)](torch.ones(3, 8), torch.tensor([1, 5, 7]), y, n=8)
    float(y.sum())


@right
def torch_scatters_and_a_kernel_does_the_rest():
    y = torch.empty(100)
    y.index_put_((torch.arange(50),), torch.ones(50))
    copy[(2,)](torch.ones(50), y[50:], 50, B=32)
    float(y.sum())


@right
def scatter_and_index_copy():
    y = torch.empty(8)
    y.scatter_(0, torch.arange(4), torch.ones(4))
    y.index_copy_(0, torch.arange(4, 6), torch.ones(2))
    copy[(1,)](torch.ones(2), y[6:], 2, B=2)
    float(y.sum())


@right
def a_workspace_that_is_larger_than_needed():
    parts = torch.empty(64)
    split[(4,)](torch.ones(100), parts, 100, B=32)
    float(parts[:4].sum())


@right
def split_k_with_a_lock():
    parts, lock, y = torch.empty(64), torch.zeros(1, dtype=torch.int32), torch.empty(1)
    last_adds[(4,)](torch.ones(100), parts, lock, y, 100, B=32)
    float(y)


@right
def a_result_whose_length_the_kernel_says():
    y, count = torch.empty(64), torch.empty(1, dtype=torch.int32)
    compact[(1,)](torch.linspace(-1, 1, 50), y, count, 50, B=64)
    return y[: int(count)].tolist()


@right
def torch_writes_to_its_out():
    y = torch.empty(10)
    torch.add(torch.ones(10), 1, out=y)
    z = torch.empty(0)
    torch.mul(y, 2, out=z)
    copy[(1,)](z, y, 5, B=8)
    float(y.sum() + z.sum())


@right
def parameters_are_initialised():
    layer = torch.nn.Linear(8, 8)
    copy[(2,)](torch.ones(64), layer.weight.detach(), 40, B=32)
    float(layer(torch.ones(2, 8)).detach().sum())


@right
def a_copy_into_something_larger():
    z = torch.zeros(200)
    z[:120].copy_(copied(120, 100))
    return float(z[:100].sum()), float(z[120:].sum())


@right
def arithmetic_in_place_before_a_slice():
    y = copied(120, 100)
    y.mul_(2).add_(1)
    float(y[:100].sum())


@right
def another_storage_takes_its_place():
    y = copied(120, 100)
    y.set_(torch.ones(120))
    float(y.sum())


@right
def resized_and_filled():
    y = copied(100, 100)
    y.resize_(120)
    y[100:] = 0
    float(y.sum())


@right
def a_program_that_does_nothing():
    torch.empty(100), torch.empty_like(torch.ones(3)), torch.ones(3).new_empty(4)


@right
def nobody_launches_anything():
    float(torch.empty(5).sum())  # no kernel had it


@right
def an_array_of_numpy():
    y = np.empty(120, np.float32)
    copy_arrays[(4,)](np.ones(100, np.float32), y, 100, B=32)
    y[:100].sum()


@right
def an_operator_of_the_program():
    y = copied(120, 100)
    _fill_tail(y)
    float(y.sum())


@torch.library.custom_op("unwritten::fill_tail", mutates_args={"y"})
def _fill_tail(y: torch.Tensor) -> None:
    y[100:] = 0
