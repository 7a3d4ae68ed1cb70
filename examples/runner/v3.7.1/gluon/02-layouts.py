"""gluon_layouts from Gluon, Triton 3.7.1."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from kernels import gluon_layouts, harness

harness.main(gluon_layouts)
