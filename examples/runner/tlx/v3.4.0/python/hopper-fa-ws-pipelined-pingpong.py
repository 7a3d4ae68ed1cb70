"""hopper-fa-ws-pipelined-pingpong from TLX, by whichever is installed: fbtriton or triton-utlx."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[4]))
from kernels import harness, tlx_attention

harness.main(tlx_attention)
