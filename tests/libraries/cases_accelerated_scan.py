"""accelerated-scan's recurrence x[t] = gate[t] * x[t-1] + token[t] by tl.associative_scan, forward and
backward, beside the library's own in torch."""

import torch
from gradients import both


def cases(device: str):
    from accelerated_scan import ref, scalar

    generator = torch.Generator().manual_seed(1)
    for length in (64, 1024, 8192):
        gates = (0.99 + 0.01 * torch.rand(1, 8, length, generator=generator)).to(device)
        tokens = torch.rand(1, 8, length, generator=generator).to(device)
        yield (
            f"scan-{length}", lambda g=gates, t=tokens: both(scalar.scan, g, t),
            lambda g=gates, t=tokens: both(ref.scan, g, t),
        )  # fmt: skip
