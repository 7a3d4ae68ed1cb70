"""Makes the examples' kernels importable: the release tests run the same kernels as the examples."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
