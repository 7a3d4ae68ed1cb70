"""Launches with hooks by known keys: Triton's launcher and hooks, without Triton's looking for the kernel."""

import numpy as np
import pytest
import triton
import triton.language as tl
import triton_runner


@triton_runner.jit
def doubled(x, y, n, BLOCK: tl.constexpr, m=3, LAST: tl.constexpr = 1):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i) * 2 + n + m + LAST)


@pytest.fixture
def hook(monkeypatch):
    """(names that were heard, function that sets the hook)."""
    heard = []

    def hear(metadata):
        heard.append(metadata.get()["name"] if hasattr(metadata, "get") else metadata["name"])

    def set_hook():
        if not hasattr(triton, "knobs"):
            monkeypatch.setattr(triton.compiler.CompiledKernel, "launch_enter_hook", hear)
        elif hasattr(triton.knobs.runtime.launch_enter_hook, "add"):
            triton.knobs.runtime.launch_enter_hook.add(hear)
        else:
            monkeypatch.setattr(triton.knobs.runtime, "launch_enter_hook", hear)

    yield heard, set_hook
    chain = getattr(getattr(triton, "knobs", None) and triton.knobs.runtime, "launch_enter_hook", None)
    if hasattr(chain, "remove") and heard:
        chain.remove(hear)


def test_hooks_of_known_launches(hook, monkeypatch):
    heard, set_hook = hook
    runs, own = [], type(doubled).run
    monkeypatch.setattr(type(doubled), "run", lambda *args, **more: runs.append(1) or own(*args, **more))
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)

    def launch(n):
        y[:] = 0
        doubled[(1,)](x, y, n, BLOCK=64)
        assert (y == 2 * x + n + 4).all()

    for n in (5, 7, 8):
        launch(n)
    assert len(runs) == 2 and not heard  # the first launch is not learned
    set_hook()
    for n in (9, 11, 13):
        launch(n)
    # Before 3.4 a hook is a field of a class, which Python looks at once.
    assert len(runs) <= 3 and heard == ["doubled"] * 3
