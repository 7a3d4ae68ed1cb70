"""triton#8259: a pipelined loop reads back what it stores, and the load's copy is in flight during the store.

$ run --level ttgir --check race FILE
status  1
says  data race in tt.store
says  iteration 0
says  an asynchronous ttg.async_copy_global_to_local that nothing has waited for may still read
says  the copy is ttg.async_copy_global_to_local at
$ run --level ptx --target cuda:80 --check race FILE
status  1
says  which a copy that no thread has waited for may still read
says  the copy is cp.async
says  the 1st time that its warp came there
never  the whole kernel
"""

import torch
import triton
import triton.language as tl


@triton.jit
def echo(x, out, n):
    for start in tl.range(0, n, 128, num_stages=2):
        at = start + tl.arange(0, 128)
        tl.store(x + at, at * 2.0)
        tl.store(out + at, tl.load(x + at) + 1.0)


x, out = torch.zeros(512), torch.zeros(512)
echo[(1,)](x, out, 512)
