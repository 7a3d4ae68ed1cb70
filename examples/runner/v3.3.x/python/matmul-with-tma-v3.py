"""matmul_tma_v3 from Python, Triton 3.3.1."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from kernels import harness, matmul_tma_v3

harness.main(matmul_tma_v3)
