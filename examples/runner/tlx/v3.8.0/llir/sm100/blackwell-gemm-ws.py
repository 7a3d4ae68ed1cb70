"""blackwell-gemm-ws from LLIR for sm100, made of TLX by Triton 3.8.0; it needs no plug-in."""

import sys
from pathlib import Path

import triton_runner

sys.path.insert(0, str(Path(__file__).resolve().parents[5]))
from kernels import harness, tlx_tcgen05

harness.main(tlx_tcgen05, llir_dir=triton_runner.get_file_dir(__file__))
