"""Tests of the page share these: an attention kernel with all its passes, and a page's data read back."""

import base64
import gzip
import hashlib
import json
import re
from pathlib import Path

import triton_runner

ROOT = Path(__file__).resolve().parents[3]
KERNEL = ROOT / "examples/kernels/attention.py"
SIGNATURE = {
    **dict.fromkeys(("q_ptr", "k_ptr", "v_ptr", "out_ptr"), "*fp16:16"),
    "lse_ptr": "*fp32:16", "scale": "fp32",
    **dict.fromkeys(("stride_head", "stride_row", "length"), "i32:16"),
}  # fmt: skip
CONSTANTS = {"HEAD_DIM": 64, "BLOCK_M": 128, "BLOCK_N": 64, "CAUSAL": True}


def attention(**options):
    """The trace of a flash-attention kernel with all its passes."""
    return triton_runner.passes(
        f"{KERNEL}:attention_kernel", SIGNATURE, CONSTANTS, check=False, **{"target": "cuda:90", **options}
    )


def compiled(**options):
    """The same kernel compiled without a trace."""
    return triton_runner.compile(
        f"{KERNEL}:attention_kernel", SIGNATURE, CONSTANTS, **{"target": "cuda:90", **options}
    )


def line_of(text: str) -> int:
    """The line of the kernel's source that begins with a text."""
    lines = KERNEL.read_text().splitlines()
    return next(i for i, line in enumerate(lines, 1) if line.strip().startswith(text))


# Three kernels: one is compiled for two constants, one is tuned, one stops out of bounds.
PROGRAM = """
import torch, triton, triton.language as tl

@triton.jit
def scale(x, out, n, factor: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * factor, mask=i < n)

@triton.autotune([triton.Config({"BLOCK": b}, num_warps=w) for b, w in ((32, 1), (64, 2))], key=["n"])
@triton.jit
def shift(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    half = n // 2  # halved
    total = tl.load(x + i, mask=i < n)
    for step in range(3):
        total += step
    tl.store(out + i, total + half, mask=i < n)

@triton.jit
def beyond(out):
    tl.store(out + 128, 1.0)

x, out = torch.zeros(128), torch.zeros(128)
for _ in range(3):
    scale[(2,)](x, out, 128, 2.0, BLOCK=64)
scale[(4,)](x, out, 128, 3.0, BLOCK=32)
shift[lambda meta: (triton.cdiv(128, meta["BLOCK"]),)](x, out, 128)
beyond[(1,)](out)
"""


class Read:
    """A page as it lies on the disk."""

    def __init__(self, path):
        self.text = Path(path).read_text()
        self.blobs = dict(re.findall(r'<script type="text/plain" id="([\w-]+)">([^<]*)</script>', self.text))
        self.page = self.blob("page")
        self.kernels = [self.blob(f"kernel-{i}") for i in range(len(self.page["labels"]))]

    def blob(self, name: str):
        return json.loads(gzip.decompress(base64.b64decode(self.blobs[name])))

    @property
    def scripts(self) -> list[str]:
        """The scripts that would run."""
        return re.findall(r"<script>(.*?)</script>", self.text, re.S)

    @property
    def allowed(self) -> str:
        """The digest of the only script that the page's policy lets run."""
        return re.search(r"script-src '(sha256-[^']*)'", self.text)[1]


def digest(script: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
