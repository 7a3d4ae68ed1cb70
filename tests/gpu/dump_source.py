"""A value in a loop, dumped from a file as the front end made it (TTIR that no pass has seen), on a GPU.

    python tests/gpu/dump_source.py

The original's example `dump/ttir/07-dump_not_f32`: `c`, a row of b as f32, of the last iteration. Its
text calls `zeros`, which Triton's TTIR stage inlines and no later stage compiles. Exits 1 where the dump is
not b's row or the result is not the product.
"""

import re
import sys
import tempfile
from pathlib import Path

import torch
import triton_runner

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
from kernels_for_dumps import outer_product

ROWS, STEPS, COLUMNS, BLOCK = 64, 78, 128, 32
SIGNATURE = {"a_ptr": "*bf16:16", "b_ptr": "*bf16:16", "o_ptr": "*bf16:16", "N": "i32", "K": "i32:16"}


def main(device="cuda"):
    sizes = {"M": ROWS, "B": BLOCK}
    made = triton_runner.compile(outer_product, SIGNATURE, sizes, to="ttir")
    text = made.asm["source"]
    value = re.search(r"(%\w+) = arith.extf .* to tensor<1x32xf32>", text)[1]
    generator = torch.Generator().manual_seed(7)
    a, b = (
        torch.randn(shape, generator=generator).bfloat16().to(device)
        for shape in ((ROWS, STEPS), (STEPS, COLUMNS))
    )
    out = torch.zeros((ROWS, COLUMNS), dtype=torch.bfloat16, device=device)
    dump = torch.zeros((1, BLOCK), device=device)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "outer_product.source").write_text(text)
        outer_product[(COLUMNS // BLOCK,)](
            a, b, out, STEPS, COLUMNS, **sizes, ttir_dir=folder, dump_tensor=dump, dump_value=value
        )  # fmt: skip
    same = torch.equal(dump[0], b[-1, :BLOCK].float())
    close = torch.allclose(out.float(), a.float() @ b.float(), atol=0.3, rtol=0.02)
    print(f"{value} of program 0 is the last row of b: {same}; the result is the product: {close}")
    return 0 if same and close else 1


if __name__ == "__main__":
    sys.exit(main())
