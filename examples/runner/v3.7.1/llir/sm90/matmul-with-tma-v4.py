"""matmul_tma_v4 from LLIR for sm90, Triton 3.7.1."""

import sys
from pathlib import Path

import triton_runner

sys.path.insert(0, str(Path(__file__).resolve().parents[4]))
from kernels import harness, matmul_tma_v4

harness.main(matmul_tma_v4, llir_dir=triton_runner.get_file_dir(__file__))
