"""cut-cross-entropy: the loss of a classifier without its logits, forward and backward, beside torch."""

import itertools

import torch
import torch.nn.functional as F
from gradients import both, draws

ROOM = 1e-2  # of the largest value: the inputs are bf16


def cases(device: str):
    from cut_cross_entropy import linear_cross_entropy

    randn, generator = draws(device)
    embedding, classifier = ((0.5 * randn(*shape)).bfloat16() for shape in ((2, 40, 64), (500, 64)))
    targets = torch.randint(0, 500, (2, 40), generator=generator).to(device)
    targets[0, 3] = -100  # ignored
    for reduction, shift, softcap in itertools.product(("mean", "sum", "none"), (False, True), (None, 20.0)):

        def loss(e, c, reduction=reduction, shift=shift, softcap=softcap):
            return linear_cross_entropy(
                e, c, targets, reduction=reduction, shift=shift, softcap=softcap, filter_eps=None
            ).float()

        def expected(e, c, reduction=reduction, shift=shift, softcap=softcap):
            logits = e.float() @ c.float().T
            logits = softcap * torch.tanh(logits / softcap) if softcap else logits
            logits, wanted = (logits[:, :-1], targets[:, 1:]) if shift else (logits, targets)
            value = F.cross_entropy(logits.flatten(0, 1), wanted.flatten(), reduction=reduction)
            return value.reshape(wanted.shape) if reduction == "none" else value

        name = f"{reduction}{'-shift' if shift else ''}{'-softcap' if softcap else ''}"
        yield (
            name, lambda f=loss: both(f, embedding, classifier),
            lambda f=expected: both(f, embedding, classifier), ROOM,
        )  # fmt: skip
