"""vector_add from AMDGCN for gfx942, Triton 3.9.0."""

import sys
from pathlib import Path

import triton_runner

sys.path.insert(0, str(Path(__file__).resolve().parents[4]))
from kernels import harness, vector_add

harness.main(vector_add, amdgcn_dir=triton_runner.get_file_dir(__file__))
