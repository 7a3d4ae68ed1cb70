"""triton-runner bisect --torch: faults that are planted into each part of torch.compile are found, with the
user's line, the node and the kernel; right programs are right. A search takes 4 to 30 runs: what every change
runs has one of a lowering, one of a program that fails in a lowering, and those that end at once."""

import json
import pathlib

import compiled_faults as faults
import pytest
import warm

torch = pytest.importorskip("torch")
from triton_runner.verbs.bisect.inductor import switches  # noqa: E402


def judge(tmp_path, text, *options, device="cuda"):
    """The exit status and the JSON of the command."""
    program = tmp_path / "program.py"
    program.write_text(text)
    pretend = ["--pretend-cuda"] if device == "cuda" else []
    answer = warm.invoke("bisect", "--torch", *pretend, *options, "--json=-", program)
    assert answer.exit_code in (0, 1, 125), answer.output
    return answer.exit_code, json.loads(answer.stdout)


def line_of(text, part):
    return next(number for number, line in enumerate(text.splitlines(), 1) if line.strip() == part)


def of_release(said):
    (one,) = said["releases"]
    return one


def test_a_right_program(tmp_path):
    status, said = judge(tmp_path, faults.layer())
    one = of_release(said)
    assert (status, said["verdict"], one["stages"]) == (0, "right", {"off": "right", "inductor": "right"})
    # The graph, its gradients, and Inductor's two graphs.
    assert (one["graphs"], one["compared"], one["parting"], one["cause"]) == (1, 4, None, None)


def test_a_wrong_lowering(tmp_path):
    text = faults.layer(faults.LOWERING, grad=False)
    status, said = judge(tmp_path, text)
    one = of_release(said)
    assert (status, said["verdict"], one["cause"]["kind"]) == (1, "inductor", "lowerings")
    assert (one["cause"]["name"], one["node"]) == ("relu", "relu")
    assert one["line"]["line"] == line_of(text, "b = a.relu()") and one["line"]["code"] == "b = a.relu()"
    assert one["kernel"].startswith("triton_") and one["levels"] == {"source": "wrong", "ttir": "wrong"}
    parting = one["parting"]
    assert (parting["part"], parting["place"], parting["target"]) == ("forward", "relu", "aten.relu.default")
    assert "relu" in parting["kernels_nodes"] and parting["differs"]["got"] == 0.5
    assert one["stages"]["aot_eager_decomp_partition"] == "right"


@pytest.mark.parametrize("text, why", [
    ("print(1)", "it never calls torch.compile"),
    ("", "it never calls torch.compile"),
    ("import torch\ntorch.compile(torch.sin)", "it calls torch.compile, and runs nothing that it compiles"),
])  # fmt: skip
def test_a_program_in_which_nothing_is_compiled(tmp_path, text, why):
    status, said = judge(tmp_path, text)
    assert (status, said["verdict"], of_release(said)["headline"]) == (125, "not compiled", why)


def test_a_program_that_is_wrong_without_torch_compile(tmp_path):
    status, said = judge(tmp_path, faults.layer(end="assert s.sum() > 1e9"))
    assert (status, said["verdict"], of_release(said)["stages"]) == (1, "program", {"off": "wrong"})


def test_a_program_that_does_not_run(tmp_path):
    status, said = judge(tmp_path, "import torch\ntorch.compile(torch.sin)(torch.ones(2, device='cuda')) @ 1")
    one = of_release(said)
    assert (status, said["verdict"]) == (125, "unknown")
    assert "does not run without torch.compile: TypeError" in one["headline"]


def test_rounding_alone(tmp_path):
    text = """
import torch

def mean(x):
    return (x.exp() / x.exp().sum(-1, keepdim=True)).sum(0)

x = 4 * torch.randn(512, 512, device="cuda")
assert torch.equal(torch.compile(mean)(x), mean(x))
"""
    status, said = judge(tmp_path, text)
    assert (status, said["verdict"]) == (0, "rounding"), of_release(said)["headline"]


RIGHT = {
    "random": """
import torch

def noisy(x):
    return torch.nn.functional.dropout(x, 0.5) * torch.rand_like(x) + torch.randn(64, device=x.device)

f = torch.compile(noisy)
f(torch.ones(8, 64, device="cuda")), f(torch.ones(8, 64, device="cuda"))
""",
    "dynamic": """
import torch

f = torch.compile(lambda x: (x.softmax(-1) * x.shape[0]).sum(0), dynamic=True)
for n in (3, 5, 64, 129):
    f(torch.randn(n, 32, device="cuda"))
""",
    "breaks": """
import torch

@torch.compile
def f(x):
    y = x.sin()
    print("a break of the graph")
    return y.cumsum(0) if y.sum() > 1e9 else y.cos()

f(torch.randn(64, device="cuda", requires_grad=True)).sum().backward()
""",
    "in place": """
import torch

@torch.compile
def update(weight, momentum, gradient):
    momentum.mul_(0.9).add_(gradient)
    weight[1:].sub_(momentum[1:], alpha=0.1)
    return weight.norm()

weight, momentum = torch.randn(65, 33, device="cuda"), torch.zeros(65, 33, device="cuda")
for _ in range(3):
    update(weight, momentum, torch.randn(65, 33, device="cuda"))
""",
    "training": """
import torch

model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.BatchNorm1d(32), torch.nn.ReLU(),
                            torch.nn.Dropout(0.1), torch.nn.Linear(32, 4)).cuda()
compiled, optimizer = torch.compile(model), torch.optim.Adam(model.parameters())
for _ in range(2):
    y = compiled(torch.randn(8, 16, device="cuda"))
    loss = torch.nn.functional.cross_entropy(y, torch.arange(8, device="cuda") % 4)
    loss.backward()
    optimizer.step(), optimizer.zero_grad()
""",
    "narrow": """
import torch

def norm(x, w):
    y = x.float()
    return (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype) * w

x = torch.randn(32, 128, device="cuda", dtype=torch.bfloat16)
torch.compile(norm)(x, torch.randn(128, device="cuda", dtype=torch.bfloat16))
torch.compile(lambda x: torch.where(x.half() > 0.3, x.argmax(-1, keepdim=True), x.round().long()))(x)
""",
    "quantised": """
import torch

def quantised(x):
    scale = x.abs().amax(-1, keepdim=True) / 127
    q = (x / scale).round().clamp(-128, 127).to(torch.int8)
    return q.float() * scale, (x / scale).to(torch.float8_e4m3fn).float()

torch.compile(quantised)(torch.randn(16, 64, device="cuda"))
""",
}  # fmt: skip


@pytest.mark.share
@pytest.mark.parametrize("name", RIGHT)
def test_right_programs(tmp_path, name):
    status, said = judge(tmp_path, RIGHT[name])
    one = of_release(said)
    assert (status, said["verdict"]) == (0, "right"), (one["headline"], one["parting"], one["said"])
    assert one["graphs"] and one["compared"] >= one["graphs"]


@pytest.mark.long
@pytest.mark.parametrize("plant, line, verdict, kind, name", [
    (faults.OPERATION, "b = a.relu()", "inductor", "lowerings", "sin"),
    (faults.POST_GRAD, "b = a.relu()", "inductor", "post_grad_passes", ""),
    (faults.JOINT, "b = a.relu()", "inductor", "joint_graph_passes", ""),
    (faults.PRE_GRAD, "b = a.relu()", "inductor", "pre_grad_passes", ""),
    (faults.FUSION, "b = a.exp().flip(0).contiguous() + a.exp()", "inductor", "fusions", "exp"),
    (faults.DECOMPOSITION, "b = torch.nn.functional.hardswish(a)", *["decomposition"] * 2, "hardswish"),
])  # fmt: skip
def test_planted_faults(tmp_path, plant, line, verdict, kind, name):
    text = faults.layer(plant, line)
    status, said = judge(tmp_path, text)
    one = of_release(said)
    assert (status, said["verdict"]) == (1, verdict), one
    assert one["cause"]["kind"] == kind and name in one["cause"]["name"], (one["cause"], one["others"])
    assert one["line"]["file"].endswith("program.py")
    want = "a = x.sin() + y" if name == "sin" else line
    assert one["line"]["line"] in (line_of(text, want), line_of(text, "return (b * 2).sum(-1), b"))


@pytest.mark.long
def test_a_fault_of_autograds_trace(tmp_path):
    status, said = judge(tmp_path, faults.layer(faults.TRACED, "b = twice(a)"))
    one = of_release(said)
    assert (status, said["verdict"], one["parting"]["part"]) == (1, "aot", "backward"), one
    assert one["parting"]["place"].startswith("gradient of") and one["stages"]["eager"] == "right"


@pytest.mark.long
def test_a_fault_of_dynamo(tmp_path):
    line = "b = a.relu() + (1 if torch.compiler.is_compiling() else 0)"
    end = "torch.testing.assert_close(b, layer(x, torch.zeros(64, device='cuda'))[1])"
    text = faults.layer(line=line, grad=False, end=end).replace(
        "torch.randn(64, device", "torch.zeros(64, device"
    )
    status, said = judge(tmp_path, text)
    one = of_release(said)
    assert (status, said["verdict"], one["stages"]["eager"]) == (1, "dynamo", "wrong")


@pytest.mark.long
def test_a_lowering_that_fails(tmp_path):
    status, said = judge(tmp_path, faults.layer(faults.CRASH))
    one = of_release(said)
    assert (status, said["verdict"], one["is_crash"]) == (1, "inductor", True)
    assert "this lowering is not done yet" in one["headline"]
    assert (one["cause"]["kind"], one["cause"]["name"]) == ("lowerings", "relu")


@pytest.mark.share
def test_a_pass_of_triton(tmp_path):
    """Its runs are at several levels, in processes that are forked where settings were read before."""
    text = faults.layer(faults.TRITON, grad=False)
    status, said = judge(tmp_path, text)
    one = of_release(said)
    assert (status, said["verdict"]) == (1, "compiler"), one
    assert (one["fault"]["level"], one["levels"]["ttir"]) == ("ttgir", "right")
    assert one["line"]["file"].endswith("program.py") and one["kernel"].startswith("triton_")


@pytest.mark.long
def test_a_race(tmp_path):
    text = """
import torch

def update(x):
    torch._foreach_add_([x], [x.flip(0)])
    return x

torch.compile(update)(torch.rand(64, 64, device="cuda"))
"""
    status, said = judge(tmp_path, text)
    one = of_release(said)
    assert status == 1 and said["verdict"] in ("undefined", "inductor"), one
    assert one["line"]["line"] == 5 and one["kernel"]


@pytest.mark.share
def test_c_plus_plus(tmp_path):
    """Without a GPU Inductor writes C++: a kernel of it is named as one of Triton is."""
    plant = faults.LOWERING
    status, said = judge(tmp_path, faults.layer(plant, device="cpu", grad=False), device="cpu")
    one = of_release(said)
    assert (status, one["cause"]["name"], one["node"]) == (1, "relu", "relu")
    assert one["kernel"].startswith("cpp_fused") and "levels" not in one


def test_the_page_and_the_findings_of_ci(tmp_path):
    program, sarif, junit = (tmp_path / name for name in ("program.py", "found.sarif", "found.xml"))
    program.write_text(faults.layer(faults.CRASH.replace("relu.default", "sin.default"), grad=False))
    answer = warm.invoke("bisect", "--torch", "--pretend-cuda", "--sarif", sarif, "--junit", junit, program)
    assert answer.exit_code == 1 and "first" not in answer.stderr
    assert f"{program}: fails in Inductor" in answer.stdout
    (run,) = json.loads(sarif.read_text())["runs"]
    assert run["results"][0]["ruleId"] == "bisect-torch-inductor"
    assert "this lowering is not done yet" in junit.read_text()


@pytest.mark.long
def test_the_example_of_the_guide(tmp_path):
    root = pathlib.Path(__file__).parents[3]
    answer = warm.invoke("bisect", "--torch", "--pretend-cuda", root / "examples/compile/pooled.py")
    page = (root / "doc/guide/torch-bisect.md").read_text()
    shown = page.partition("pooled.py\n")[2].partition("\n```")[0].splitlines()
    said = [line.replace(f"{root}/", "") for line in answer.stdout.splitlines()]
    assert answer.exit_code == 1 and said == shown


@pytest.mark.share
def test_numbers_that_inductor_draws_itself(tmp_path):
    text = """
import torch

def noisy(x):
    return x + torch.rand_like(x)

x = torch.zeros(256, device="cuda")
torch.manual_seed(1)
want = noisy(x)
torch.manual_seed(1)
torch.testing.assert_close(torch.compile(noisy)(x), want)
"""
    status, said = judge(tmp_path, text)
    assert (status, said["verdict"]) == (0, "random"), of_release(said)


def test_an_operator_is_named_as_in_a_program():
    switch = switches.Switch("decomposition", None)
    switch.leaves_out("decomposition", lambda: repr(torch.ops.aten.lerp.Scalar))
    assert switch.applied == ["aten.lerp.Scalar"]
