"""matmul_tma_v4 from Python, Triton 3.8.0."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from kernels import harness, matmul_tma_v4

harness.main(matmul_tma_v4)
