"""The words of --given are looked at in the launches that ran: what they go against is said."""

import numpy
import pytest
import torch

pytest.importorskip("z3")

from triton.tools.tensor_descriptor import TensorDescriptor
from triton_runner.verbs.prove.held import Held


def broken(given: str, **named) -> list[str]:
    held = Held((given,))
    held.look("take", named)
    held.look("take", named)
    return [one.text.partition(": ")[2] for one in held.broken]


X = torch.zeros(3, 4)
INDEX = torch.tensor([0, 5, 7, -1], dtype=torch.int32)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("index in 0..V", ["index[2] = 7, and 1 more, of 0..6"]),
        ("index in -1..8", []),
        ("V in 0..6", ["V = 6"]),
        ("V <= 6, V < 6", ["V = 6"]),
        ("x.shape == (3, 4)", []),
        ("x.shape == (3, V)", ["x.shape = (3, 4)"]),
        ("x.shape == (grid[0], 4)", []),
        ("x.shape == (grid[0], 5)", ["x.shape = (3, 4)"]),
        ("index in 0..grid[0]", []),
        ("x.stride == (1, 3)", ["x.stride = (4, 1)"]),
        ("x.shape[1] == V", ["V = 6, x.shape[1] = 4"]),
        ("x.numel == 2 * V", []),
        ("numel < 12", ["x.numel = 12"]),
        ("grid[0] == 5", []),
        ("another < 3", []),
        ("index in V", []),
        ("x.shape in 0..3", []),
    ],
)
def test_a_launch_and_what_is_given(given, expected):
    found = broken(given, x=X, index=INDEX, V=6)
    assert [sorted(one.split(", ")) for one in found] == [sorted(one.split(", ")) for one in expected]


def test_arrays_and_what_holds_no_integers():
    assert broken("index in 0..4", index=numpy.array([[1, 4]], numpy.uint8)) == ["index[0, 1] = 4, of 0..4"]
    assert broken("index in 0..4", index=torch.ones(2)) == []
    assert broken("index in 0..1", index=torch.ones(2, dtype=torch.bfloat16)) == []
    assert broken("index in 0..4", index=torch.empty(0, dtype=torch.int64)) == []
    assert broken("x.numel == 1", x=torch.tensor(3.0)) == []


def test_views_are_looked_at_by_their_elements():
    whole = torch.tensor([1, 99, 2, 99])
    assert broken("index in 0..3", index=whole[::2]) == []


def test_nothing_given_is_nothing_broken():
    assert Held(()).broken == []


def test_a_descriptor_is_its_tensor():
    described = TensorDescriptor.from_tensor(X, [1, 4])
    assert broken("numel < 12", x=described) == ["x.numel = 12"]
    assert broken("x.shape == (3, 4), numel < 13", x=described) == []
