"""hopper-fa-ws-pipelined-pingpong from TTIR for sm90 at the original's path; the artifact is v3.8.0's."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[5]))
from kernels import harness, tlx_attention

artifacts = Path(__file__).resolve().parents[3] / "v3.8.0/ttir/sm90"
harness.main(tlx_attention, ttir_dir=str(artifacts))
