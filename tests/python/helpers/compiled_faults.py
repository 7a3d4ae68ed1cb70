"""Has programs with torch.compile for the tests of `bisect --torch`: right ones, and faults that are
planted into a part of torch.compile. Each program plants its fault itself, in the process that runs it."""

# A program: a layer whose line 12 is the one at fault, and what it prints.
LAYER = """
import torch

PLANT = None
{plant}

def layer(x, y):
    a = x.sin() + y
    {line}
    return (b * 2).sum(-1), b


x = torch.randn(16, 64, device="{device}", requires_grad={grad})
s, b = torch.compile(layer)(x, torch.randn(64, device="{device}"))
{end}
"""
BACKWARD = "(s.sum() + b.mean()).backward()"


def layer(plant="", line="b = a.relu()", device="cuda", grad=True, end=BACKWARD):
    """The text of a program."""
    return LAYER.format(
        plant=plant, line=line, device=device, grad=grad, end=end if grad or end != BACKWARD else ""
    )


_LINE = "b = a.relu()"

LOWERING = """
import torch._inductor.lowering as lowering
from torch._inductor.virtualized import ops

lowering.lowerings[torch.ops.aten.relu.default] = lowering.make_pointwise(
    lambda x: ops.maximum(x, ops.constant(0.5, torch.float32)))
"""

OPERATION = """
from torch._inductor.codegen.triton import TritonOverrides

TritonOverrides.sin = staticmethod(lambda x: f"libdevice.cos({x})")
"""

# A kernel of one node is right: exp is wrong where it is fused.
FUSION = """
from torch._inductor.codegen.triton import TritonOverrides
from torch._inductor.virtualized import V

own = TritonOverrides.exp

def exp(x):
    nodes = list(V.kernel.features.scheduler_nodes())
    return f"({own(x)} + 1)" if len(nodes) > 1 else own(x)

TritonOverrides.exp = staticmethod(exp)
"""

_REPLACES = """
def replaces(graph):
    graph = getattr(graph, "graph", graph)
    for node in graph.nodes:
        if node.op == "call_function" and "relu" in str(node.target):
            node.target = {target}
        elif node.op == "call_method" and node.target == "relu":
            node.target = "abs"
"""
POST_GRAD = (
    _REPLACES.format(target="torch.ops.aten.abs.default")
    + """
import torch._inductor.config
torch._inductor.config.post_grad_custom_post_pass = replaces
"""
)
JOINT = (
    _REPLACES.format(target="torch.ops.aten.abs.default")
    + """
import torch._inductor.config
torch._inductor.config.joint_custom_post_pass = replaces
"""
)
PRE_GRAD = (
    _REPLACES.format(target="torch.abs")
    + """
import torch._inductor.config
torch._inductor.config.pre_grad_custom_pass = replaces
"""
)

DECOMPOSITION = """
import torch._inductor.decomposition

def hardswish(x):
    return x * (x + 3).clamp(0, 6) / 5

torch._inductor.decomposition.decompositions[torch.ops.aten.hardswish.default] = hardswish
"""

# The backward is wrong where it is traced, which only AOTAutograd does.
TRACED = """
from torch._subclasses.fake_tensor import FakeTensor
from torch._subclasses.functional_tensor import FunctionalTensor

@torch.library.custom_op("planted::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return 2 * x

@twice.register_fake
def _(x):
    return torch.empty_like(x)

def backward(ctx, gradient):
    is_traced = isinstance(gradient, (FakeTensor, FunctionalTensor)) or "Tensor" != type(gradient).__name__
    return gradient * (3 if is_traced else 2)

twice.register_autograd(backward)
"""

CRASH = """
import torch._inductor.lowering as lowering

def refuses(x):
    raise NotImplementedError("this lowering is not done yet")

lowering.lowerings[torch.ops.aten.relu.default] = refuses
"""

# Triton: the TTGIR of a kernel has another constant.
TRITON = """
from triton_runner._pipeline import plans

step = {"adds": ["passes.ttgpuir.add_coalesce"], "nth": 1, "stage": "make_ttgir"}
plans.planted = {"edit": [[step, "dense<2.000000e+00>", "dense<3.000000e+00>"]]}
"""

CHECKED = """
import sys
want = layer(x, torch.zeros(64, device=x.device))
"""
