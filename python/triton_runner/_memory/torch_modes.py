"""Hides what torch.compile must not see: it would trace it, and cannot."""

from __future__ import annotations

import contextlib
import functools
import sys
import threading


def pop(mode):
    """Leaves a function mode wherever it stands on torch's stack; returns what enters it again."""
    import torch
    from torch.overrides import _get_current_function_mode_stack as stack

    if not any(active is mode for active in stack()):
        return lambda: None

    def exchange(modes):
        for _ in stack():
            torch._C._pop_torch_function_stack()
        for mode in modes:
            torch._C._push_on_torch_function_stack(mode)

    exchange([active for active in stack() if active is not mode])
    return lambda: exchange([mode, *stack()])


_disabled: dict = {}  # functions, as torch._dynamo.disable() gives them


def untraced(function):
    """The function, which Dynamo runs without looking at it. Nothing of Dynamo is loaded before a program
    asks for it."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        disable = getattr(sys.modules.get("torch._dynamo"), "disable", None)
        if disable is None:
            return function(*args, **kwargs)
        if (own := _disabled.get(function)) is None:
            own = _disabled[function] = disable(function)
        return own(*args, **kwargs)

    return call


def skip_untraced() -> None:
    """Has Dynamo run what untraced() gives as it is."""
    import torch

    code = untraced(skip_untraced).__code__  # the same for all of them
    frames = torch._C._dynamo.eval_frame
    if hasattr(frames, "skip_code"):  # of an older torch
        return frames.skip_code(code)
    actions = frames._FrameAction
    frames.set_code_exec_strategy(code, frames._FrameExecStrategy(actions.SKIP, actions.DEFAULT))


@contextlib.contextmanager
def hidden_from_compile(mode):
    """Runs what torch.compile makes in the block without the mode. Nothing of Dynamo is loaded before a
    program asks for it."""
    import torch

    own = torch.compile

    def compile(*args, **kwargs):
        from torch._dynamo import eval_frame

        context = eval_frame._TorchDynamoContext
        init = context.__init__

        def __init__(self, *args, **kwargs):
            init(self, *args, **kwargs)
            self.enter_exit_hooks.append(lambda: pop(mode))

        context.__init__ = __init__
        try:
            return own(*args, **kwargs)
        finally:
            context.__init__ = init

    torch.compile = compile
    try:
        yield
    finally:
        torch.compile = own


@contextlib.contextmanager
def in_threads(mode):
    """Threads that the program starts in the block see the mode too: torch has a stack of modes for each
    thread."""
    start = threading.Thread.start

    def with_mode(thread):
        run = thread.run

        @functools.wraps(run)
        def inside():
            with mode:
                run()

        thread.run = inside
        start(thread)

    threading.Thread.start = with_mode
    try:
        yield
    finally:
        threading.Thread.start = start


def sees_higher_order(mode):
    """A class of dispatch modes whose objects also see the operators inside of torch's higher-order operators
    (wrap_triton, flex_attention, cond), which have no schema; without it torch refuses these under a mode."""
    from torch._C import DispatchKey

    own = mode.__torch_dispatch__

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if hasattr(func, "_schema"):
            return own(self, func, types, args, kwargs)
        eager = func.py_kernels.get(DispatchKey.CompositeExplicitAutograd)
        if eager is None:
            return func(*args, **(kwargs or {}))
        with self:
            return eager(*args, **(kwargs or {}))

    mode.__torch_dispatch__ = __torch_dispatch__
    mode.supports_higher_order_operators = True
    return mode


def without_modes():
    """Inside, no mode of the program sees the functions of torch that are called."""
    torch = sys.modules.get("torch")
    return contextlib.nullcontext() if torch is None else torch._C.DisableTorchFunction()
