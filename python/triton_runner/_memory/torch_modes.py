"""Function modes of torch that torch.compile must not see: it would trace them, and cannot."""

from __future__ import annotations

import contextlib


def pop(mode):
    """Leaves a mode wherever it stands on torch's stack; returns what enters it again."""
    import torch
    from torch.overrides import _get_current_function_mode_stack as stack

    if not any(one is mode for one in stack()):
        return lambda: None

    def exchange(modes):
        for _ in stack():
            torch._C._pop_torch_function_stack()
        for one in modes:
            torch._C._push_on_torch_function_stack(one)

    exchange([one for one in stack() if one is not mode])
    return lambda: exchange([mode, *stack()])


@contextlib.contextmanager
def hidden_from_compile(mode):
    """What torch.compile makes in the block runs without the mode. Nothing of Dynamo is loaded before a
    program asks for it."""
    import torch

    own = torch.compile

    def compile(*args, **kwargs):
        from torch._dynamo import eval_frame

        context = eval_frame._TorchDynamoContext
        made = context.__init__

        def __init__(self, *args, **kwargs):
            made(self, *args, **kwargs)
            self.enter_exit_hooks.append(lambda: pop(mode))

        context.__init__ = __init__
        try:
            return own(*args, **kwargs)
        finally:
            context.__init__ = made

    torch.compile = compile
    try:
        yield
    finally:
        torch.compile = own
