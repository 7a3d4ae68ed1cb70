"""grouped_gemm from Python, Triton 3.6.0."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from kernels import grouped_gemm, harness

harness.main(grouped_gemm)
