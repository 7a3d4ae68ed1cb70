"""A lane is asked for before anything says how wide a warp is, and shown of the wavefront that has it."""

import kernels_for_amdgcn as k
import pytest

torch = pytest.importorskip("torch")
import triton_runner  # noqa: E402
from triton_runner import DiagnosticError  # noqa: E402
from triton_runner.verbs.debug.session import debug  # noqa: E402


def _session(target: str, level: str):
    def program():
        x, out = torch.arange(300.0), torch.zeros(300)
        with triton_runner.using(device="cpu", target=target, level=level):
            triton_runner.jit(k.add.fn)[(1,)](x, x, out, 300, B=512)

    return debug(program, level=level)


def test_a_lane_of_a_wavefront_before_the_launch():
    session = _session("hip:gfx942", "amdgcn")
    session.focus_on(warp=1, lane=40)
    session.start()
    assert session.wave == 64 and session.threads == range(104, 105)
    assert session.focused() == {"warp": 1, "lane": 40}
    session.close()


def test_a_lane_that_no_warp_has():
    session = _session("cuda:90", "ptx")
    with pytest.raises(DiagnosticError, match="lanes 0 to 63"):
        session.focus_on(warp=1, lane=64)
    session.focus_on(warp=1, lane=40)
    session.start()
    assert "a warp has lanes 0 to 31" in session.stopped.error
    session.close()
