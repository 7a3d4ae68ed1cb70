"""Has wrong programs, which use a part of torch.empty that nobody wrote. Each is a function without
arguments (test_unwritten.py)."""

import numpy as np
import torch
from unwritten_kernels import copied, copy, persistent, put, rows, transposed

WRONG = {}


def wrong(function):
    WRONG[function.__name__] = function


@wrong
def a_persistent_step_that_is_one_too_long():
    y = torch.empty(200)
    persistent[(3,)](torch.ones(200), y, 200, 4, B=16)
    print(float(y.sum()))


@wrong
def a_tail_that_is_missing():
    y = torch.empty(100)
    copy[(100 // 32,)](torch.ones(100), y, 100, B=32)
    torch.testing.assert_close(y, torch.ones(100), atol=1e30, rtol=0)


@wrong
def a_grid_that_is_too_small():
    y = torch.empty(8, 16)
    rows[(1,)](torch.ones(8, 16), y, 8, 16, 16, 16, M=4, N=16)
    torch.allclose(y, torch.ones(8, 16))


@wrong
def a_mask_that_is_too_small():
    y = torch.empty(100)
    copy[(4,)](torch.ones(100), y, 99, B=32)
    (y - 1).abs().max().item()


@wrong
def a_transposed_result():
    y = torch.empty(8, 5)
    transposed[(1,)](torch.ones(5, 8), y, 5, 8, M=8, N=8)
    sum(sum(row) for row in y.tolist())


@wrong
def a_last_column():
    y = torch.empty(4, 10)
    rows[(1,)](torch.ones(4, 10), y, 4, 9, 10, 10, M=4, N=16)
    str(y)


@wrong
def bytes_of_int8():
    y = copied(100, 96, torch.int8)
    int(y.to(torch.int32).sum())


@wrong
def halves_of_bf16():
    y = copied(100, 96, torch.bfloat16)
    float(y.float().mean())


@wrong
def a_view_with_an_offset():
    y = torch.empty(130)[30:]
    copy[(3,)](torch.ones(96), y, 96, B=32)
    y.numpy().max()


@wrong
def only_the_written_part_was_filled():
    y = copied(120, 100)
    y[110:] = 0
    float(y.sum())


@wrong
def a_copy_is_read():
    z = torch.zeros(200)
    z[:120] = copied(120, 100)
    float(z.sum())


@wrong
def a_product_is_read():
    str((torch.ones(4, 12) @ copied(120, 100).view(12, 10)).tolist())


@wrong
def a_row_that_no_slot_names():
    cache = torch.empty(4, 8)
    put[(3,)](torch.ones(3, 8), torch.tensor([0, 1, 1]), cache, n=8)
    float(cache[:3].sum())


@wrong
def an_old_constructor():
    y = torch.Tensor(120)
    copy[(4,)](torch.ones(100), y, 100, B=32)
    float(y.sum())


@wrong
def what_resize_added():
    y = torch.ones(50)
    y.resize_(120)
    copy[(4,)](torch.ones(100), y, 100, B=32)
    float(y.sum())


@wrong
def an_array_that_shares_memory():
    np.asarray(copied(120, 100)).sum()


@wrong
def an_element_of_an_array():
    float(copied(120, 100).numpy()[110]) + 1


@wrong
def an_array_is_compared():
    np.testing.assert_allclose(copied(120, 100).numpy(), np.ones(120), atol=1e30)


@wrong
def arrays_are_close():
    np.allclose(copied(120, 100).numpy()[90:], np.ones(30))


@wrong
def an_array_is_printed():
    str(copied(120, 100).numpy())


@wrong
def a_copied_array_is_read():
    (np.array(copied(120, 100)) * 2 + 1)[50:].mean()


@wrong
def rows_are_summed_up():
    copied(120, 100).numpy().reshape(12, 10).sum(0).max()


@wrong
def a_loop_over_an_array():
    for value in copied(120, 100).numpy():
        if value > 2:
            break


@wrong
def a_number_of_a_list():
    return copied(120, 100).tolist()[110] + 1


@wrong
def a_list_is_compared():
    return copied(120, 100, torch.int64).tolist() == [1] * 120


@wrong
def a_list_is_printed():
    str(copied(120, 100).tolist())


@wrong
def numbers_of_a_list_of_an_array():
    max(copied(120, 100).numpy()[50:].tolist())


@wrong
def torch_gets_it_back():
    float(torch.from_numpy(copied(120, 100).numpy()[60:]).sum())


@wrong
def nothing_is_written():
    y = torch.empty(100)
    copy[(4,)](torch.ones(100), y, 0, B=32)
    float(y[0])


@wrong
def elements_are_counted():
    copied(120, 100).nonzero()


@wrong
def a_comparison_decides():
    if (copied(120, 100)[90:] > 0).all():
        pass
