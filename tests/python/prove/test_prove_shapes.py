"""Shapes of what torch makes of tensors, as terms: those of one run, with the sizes of another one, are the
shapes that it has there. Gradients have the shapes of what they are the gradients of."""

import pytest
import torch

pytest.importorskip("z3")

from triton_runner.verbs.prove import tensors
from triton_runner.verbs.prove.terms import Substitution, poly

MADE = {
    "sum": lambda x, w: x.sum(-1),
    "sums": lambda x, w: x.sum((0, 2)),
    "mean": lambda x, w: x.mean(1, keepdim=True),
    "whole sum": lambda x, w: x.sum(),
    "maximum": lambda x, w: torch.max(x, 1)[0],
    "part": lambda x, w: x[:, : x.shape[1] - 1],
    "parts": lambda x, w: x[:, None, 1:3, -2:],
    "more than there is": lambda x, w: x[:, :100],
    "row": lambda x, w: x[0],
    "columns": lambda x, w: x[..., 2:],
    "unsqueeze": lambda x, w: x.unsqueeze(1),
    "squeeze": lambda x, w: x.unsqueeze(1).squeeze(1),
    "flatten": lambda x, w: x.flatten(0, 1),
    "expand": lambda x, w: x[:, :1].expand(-1, x.shape[1], x.size(2)),
    "product": lambda x, w: x @ w,
    "product from the right": lambda x, w: w.t() @ x.transpose(1, 2),
    "linear": lambda x, w: torch.nn.functional.linear(x, w.t()),
    "cat": lambda x, w: torch.cat([x, x[:, :2]], 1),
    "stack": lambda x, w: torch.stack([x, x], dim=1),
    "chunk": lambda x, w: x.chunk(2, -1)[1],
    "split": lambda x, w: x.split(2, dim=1)[0],
    "unbind": lambda x, w: x.unbind(1)[0],
    "view": lambda x, w: x.view(x.shape[0] * x.shape[1], x.shape[2]),
    "movedim": lambda x, w: x.movedim(0, 2),
    "float": lambda x, w: x.double() * 2,
    "narrow": lambda x, w: x.narrow(1, 0, x.shape[1] - 1),
}


def at(watch, made, own, numbers) -> tuple:
    """The terms of a tensor, with numbers in the place of the sizes that they are made of."""
    change = Substitution(dict(zip(own, map(poly, numbers), strict=True)))
    return tuple(change.poly(poly(one)).const for one in watch.described(made)[0])


@pytest.mark.parametrize("name", MADE)
def test_a_shape_holds_for_other_sizes(name):
    make = MADE[name]
    with tensors.watching() as watch:
        x, w = torch.randn(4, 6, 10), torch.randn(10, 7)
        atoms = [term.atom for one in (x, w) for term in watch.described(one)[0]]
        made = make(x, w)
        other = make(torch.randn(3, 5, 8), torch.randn(8, 9))
    assert at(watch, made, atoms, (3, 5, 8, 8, 9)) == tuple(map(int, other.shape))


def test_what_data_decides_has_a_size_of_its_own():
    with tensors.watching() as watch:
        x = torch.randn(4, 6)
        (n,), (a, b) = watch.described(x[x > 0])[0], watch.described(x)[0]
    assert n not in (a, b, a * b)
    assert n.atom is not None


class Twice(torch.autograd.Function):
    """seen: of a backward pass, the shape of the gradient and of what was saved."""

    seen: list = []  # noqa: RUF012
    watch = None

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x, x.new_zeros(x.shape[0]))
        return x.sum(-1), x * 2

    @staticmethod
    def backward(ctx, of_sum, of_twice):
        Twice.seen = [Twice.watch.described(one)[0] for one in (of_sum, of_twice, *ctx.saved_tensors)]
        return of_twice * 2 + of_sum.unsqueeze(-1)


@pytest.mark.parametrize("is_leaf", [True, False])
def test_gradients_have_the_shapes_of_what_they_are_of(is_leaf):
    with tensors.watching() as Twice.watch:
        leaf = torch.randn(4, 6, requires_grad=True)
        a, b = Twice.watch.described(leaf)[0]
        sums, twice = Twice.apply(leaf if is_leaf else leaf.clone())  # the clone is gone by then
        (sums.sum() + (twice * 3).sum()).backward()
    assert Twice.seen == [[a], [a, b], [a, b], [a]]


def test_a_tensor_without_plain_sizes_does_no_harm():
    with tensors.watching():
        sparse = torch.eye(3).to_sparse().requires_grad_()
        dense = torch.ones(3, 2, requires_grad=True)
        torch.sparse.mm(sparse, dense).sum().backward()
    assert dense.grad.tolist() == [[1.0, 1.0]] * 3
