"""The oldest name of examples/runner/v3.3.x/ptx/sm90/matmul-with-tma-v3.py, which it runs."""

import runpy
from pathlib import Path

runpy.run_path(str(Path(__file__).resolve().parents[2] / "runner/v3.3.x/ptx/sm90/matmul-with-tma-v3.py"))
