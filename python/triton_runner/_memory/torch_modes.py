"""Function modes of torch that torch.compile must not see: it would trace them, and cannot."""

from __future__ import annotations

import contextlib


def pop(mode):
    """Leaves a mode wherever it stands on torch's stack; returns what enters it again."""
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


@contextlib.contextmanager
def hidden_from_compile(mode):
    """What torch.compile makes in the block runs without the mode. Nothing of Dynamo is loaded before a
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
