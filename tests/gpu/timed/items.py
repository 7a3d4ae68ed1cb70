"""The timed launches are made of these: items by name, and tensors on a device.

An item is a function that makes its arguments on a device and launches; every launch in it counts, by the
order in which they come. Nothing looks at results: an engine may leave out what a launch does.
"""

import functools

import torch
from triton.runtime.autotuner import Autotuner

M = 1 << 20
ITEMS: dict = {}


def item(name: str, function, *args, **kwargs) -> None:
    assert name not in ITEMS, name
    ITEMS[name] = lambda device: function(device, *args, **kwargs)


def first_configuration(init):
    """An autotuned kernel of a library runs as its first configuration, so that nothing else is launched."""

    @functools.wraps(init)
    def begin(self, fn, arg_names, configs, *args, **kwargs):
        init(self, fn, arg_names, configs[:1], *args, **kwargs)

    return begin


Autotuner.__init__ = first_configuration(Autotuner.__init__)


@functools.cache
def randn(device: str, *shape, dtype=torch.float32):
    """Numbers of a shape; kept, as arguments of other launches may be the same."""
    if device == "cpu":  # what they are does not matter to most, and making them takes long
        few = torch.randn(min(M, torch.Size(shape).numel()), generator=torch.Generator().manual_seed(0))
        return (
            few.repeat(-(-torch.Size(shape).numel() // few.numel()))[: torch.Size(shape).numel()]
            .reshape(shape)
            .to(dtype)
        )
    return torch.randn(*shape, device=device).to(dtype)


def empty(device: str, *shape, dtype=torch.float32):
    return torch.zeros(*shape, device=device, dtype=dtype)


@functools.cache
def integers(device: str, high: int, *shape, dtype=torch.int32):
    """The same on each device: they are addresses."""
    generator = torch.Generator().manual_seed(high)
    return torch.randint(0, high, shape, dtype=dtype, generator=generator).to(device)
