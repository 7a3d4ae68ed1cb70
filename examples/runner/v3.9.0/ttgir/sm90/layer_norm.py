"""layer_norm from TTGIR for sm90, Triton 3.9.0."""

import sys
from pathlib import Path

import triton_runner

sys.path.insert(0, str(Path(__file__).resolve().parents[4]))
from kernels import harness, layer_norm

harness.main(layer_norm, ttgir_dir=triton_runner.get_file_dir(__file__))
