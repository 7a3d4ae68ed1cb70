"""matmul from Python, Triton 3.7.1."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from kernels import harness, matmul

harness.main(matmul)
