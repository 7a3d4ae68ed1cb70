"""attention from Python, Triton 3.6.0."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from kernels import attention, harness

harness.main(attention)
