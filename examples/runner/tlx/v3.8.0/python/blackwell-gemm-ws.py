"""blackwell-gemm-ws from TLX, Triton 3.8.0 with the package triton-utlx."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[4]))
from kernels import harness, tlx_tcgen05

harness.main(tlx_tcgen05, target="cuda:100")
