"""The cases of several libraries share these: numbers, and a result with the gradients of its arguments."""

import torch


def both(function, *values) -> list:
    """The result of a function (the first, of a tuple) and the gradients of the tensors that it was given."""
    given = [
        v.clone().requires_grad_() if isinstance(v, torch.Tensor) and v.is_floating_point() else v
        for v in values
    ]
    leaves = [v for v in given if isinstance(v, torch.Tensor) and v.requires_grad]
    result = function(*[v.clone() if isinstance(v, torch.Tensor) else v for v in given])  # some write to them
    first = result[0] if isinstance(result, tuple) else result
    weight = torch.linspace(0.5, 1.5, first.numel(), device=first.device).reshape(first.shape)
    return [first, *torch.autograd.grad((first.float() * weight).sum(), leaves)]


def draws(device: str, dtype=torch.float32):
    """(a function of a shape that gives normal numbers, the generator): they are the same in each run."""
    generator = torch.Generator().manual_seed(1)
    return lambda *shape: torch.randn(*shape, generator=generator).to(dtype).to(device), generator
