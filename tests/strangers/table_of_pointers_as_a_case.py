"""A kernel that adds to tensors which it finds in a table of pointers and at an address: as a case, whose
memory lies elsewhere, and at two levels in turn.

$ bundle -o FOLDER/table.trcase FILE
status  0
$ verify FOLDER/table.trcase
status  0
says  no fault found
$ run FOLDER/table.trcase
status  0
says  right
$ lockstep FOLDER/table.trcase
status  0
says  no value differs
$ verify FILE
status  0
says  verdict: right
"""

import torch
import triton
import triton.language as tl


@triton.jit
def add_all(table, last, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    if tl.program_id(0) == 2:
        p = last.to(tl.int64).to(tl.pointer_type(tl.float32))
    else:
        p = tl.load(table + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    tl.store(p + i, tl.load(p + i, mask=i < n) * 2 + 1, mask=i < n)


tensors = [torch.randn(50) for _ in range(3)]
wanted = [one * 2 + 1 for one in tensors]
table = torch.tensor([one.data_ptr() for one in tensors])
add_all[(3,)](table, tensors[2].data_ptr(), 50, BLOCK=64)
for one, want in zip(tensors, wanted, strict=True):
    torch.testing.assert_close(one, want)
