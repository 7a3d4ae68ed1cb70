"""The oldest name of examples/runner/v3.4.0/python/matmul.py, which it runs."""

import runpy
from pathlib import Path

runpy.run_path(str(Path(__file__).resolve().parents[1] / "runner/v3.4.0/python/matmul.py"))
