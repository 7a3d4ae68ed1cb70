"""Runs the tests of a task of TritonBench, in the answer's process and in the reference's. Seeds that they
set are moved by the seed of the call: `torch.manual_seed(0)` gives other inputs in a second call."""

from __future__ import annotations

import ast

import torch

_SETTERS = ("manual_seed", "manual_seed_all", "seed", "default_rng")
_MOVED = "_seed_of_the_call"


class _Moved(ast.NodeTransformer):
    def visit_Call(self, node):
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr in _SETTERS and len(node.args) == 1:
            called = ast.Call(ast.Name(_MOVED, ast.Load()), node.args, [])
            node.args = [ast.copy_location(called, node)]
        return node


def code_of(text: str, path: str):
    """The code of the tests; a syntax error has the place in their text."""
    return compile(ast.fix_missing_locations(_Moved().visit(ast.parse(text, path))), path, "exec")


def moved(seed: int, by: int) -> int:
    """A seed that NumPy takes, too."""
    return (seed + by) % 2**32


def results(code, module) -> object:
    """Returns what the tests keep of the module's functions, called with the seed that torch has."""
    names, own = dict(vars(module)), torch.initial_seed()
    names[_MOVED] = lambda seed: moved(int(seed), own)
    exec(code, names)
    return names["result_gold"]
