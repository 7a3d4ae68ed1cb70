"""A lane is asked for before anything says how wide a warp is, and shown of the wavefront that has it."""

import kernels_for_amdgcn as k
import pytest

torch = pytest.importorskip("torch")
import triton_runner  # noqa: E402
from triton_runner import DiagnosticError  # noqa: E402
from triton_runner.verbs.debug.session import debug  # noqa: E402
from triton_runner.verbs.debug.terminal import Terminal  # noqa: E402


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


def _typed(session, *lines: str) -> list[str]:
    """Returns what the terminal answers."""
    said: list[str] = []
    terminal = Terminal(session, said.append)
    for line in lines:
        terminal.command(line)
    return said


@pytest.mark.parametrize(
    "target, level, word, other",
    [("hip:gfx942", "amdgcn", "wave", "warp"), ("cuda:90", "ptx", "warp", "wave")],
)
def test_the_word_for_what_runs_together(target, level, word, other):
    session = _session(target, level)
    session.start()
    said = "\n".join(
        _typed(session, "info threads", "info waves", "focus wave 1 lane 3", "where", "freeze 99")
    )
    assert f"{word}s 0 to " in said and f"{word} 1, lane 3" in said and f"no {word} 99" in said, said
    assert other not in said, said
    session.close()


def test_a_register_is_shown_and_one_that_is_not_there_named():
    session = _session("hip:gfx942", "amdgcn")
    session.start()
    shown, printed, missing, nothing = (
        "\n".join(_typed(session, line))
        for line in ("info registers v0", "print v0", "print exec", "info nothing v0")
    )
    assert shown == printed and "wave 1" in shown and "warp" not in shown, shown
    assert "did you mean 'exec_lo'" in missing and "v0" in missing, missing
    assert "info has no 'nothing v0'" in nothing
    session.close()
