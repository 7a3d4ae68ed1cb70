"""Where does the NaN come from? A masked softmax whose last rows have every score masked: dumped with no line
of the kernel changed, on the CPU or a GPU."""

import sys
from pathlib import Path

import numpy as np
import triton.language as tl
import triton_runner

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from kernels import harness


@triton_runner.jit
def masked_softmax(scores_ptr, lengths_ptr, out_ptr, ROWS: tl.constexpr, COLS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    cols = tl.arange(0, COLS)
    places = rows[:, None] * COLS + cols[None, :]
    lengths = tl.load(lengths_ptr + rows)
    scores = tl.load(scores_ptr + places)
    scores = tl.where(cols[None, :] < lengths[:, None], scores, float("-inf"))
    largest = tl.max(scores, 1)
    shifted = scores - largest[:, None]
    weights = tl.exp(shifted)
    weights = weights / tl.sum(weights, 1)[:, None]
    tl.store(out_ptr + places, weights)


device = harness.Device()
ROWS, COLS = 32, 64
scores, out = device.normal(2 * ROWS, COLS), device.zeros(2 * ROWS, COLS)
lengths = device.array(np.maximum(COLS - 3 * np.arange(2 * ROWS), 0).astype(np.int32))

with triton_runner.dumping(masked_softmax, "scores", "largest", "shifted", "weights") as d:
    masked_softmax[(2,)](scores, lengths, out, ROWS=ROWS, COLS=COLS)

print(d)
print("first NaN:", d.first_nan())
print("largest of program 0, rows 20 to 23:", d["largest"][0][20:24])
print("NaN elements of shifted:", d["shifted"].stats()["nan"])
if len(sys.argv) > 1:
    d["weights"].heat_map(sys.argv[1], program=0)
