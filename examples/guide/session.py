"""The debugger, driven by a program: see doc/guide/debug.md."""

import torch
import triton_runner
from scaled_rows import normalize

x = torch.arange(1, 25, dtype=torch.float32).reshape(4, 6)
out = torch.empty_like(x)

with triton_runner.debug(lambda: normalize[(4,)](x, out, 6, BLOCK=8)) as session:
    stop = session.run_until("scaled_rows.py:14", "x[6] != 0", program=2)
    print(stop.program, session.value("x"))
    session.set("x[6]", 0.0)
    session.next()
    assert session.value("total") == x[2].sum()
