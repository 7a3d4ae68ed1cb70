"""The tests of Gluon for Blackwell share these. Skips where Triton lacks packed arithmetic and slices of
tensor memory by dimension."""

import pytest

blackwell = pytest.importorskip("triton.experimental.gluon.language.nvidia.blackwell")
if not hasattr(blackwell, "fma2"):
    pytest.skip("this part of Gluon for Blackwell came with Triton 3.9", allow_module_level=True)

tma = blackwell.tma
TensorMemoryLayout = blackwell.TensorMemoryLayout
