"""A program that captures and replays CUDA graphs, as it would on a GPU: run by test_graphs.py under
--pretend-cuda. Prints the name of each function that went well."""

import os
import sys
import tempfile
import traceback

import torch
import triton
import triton.language as tl


@triton.jit
def scaled_add(x, y, out, n, scale, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * scale + tl.load(y + i, mask=i < n), mask=i < n)


@triton.jit
def count(p):
    tl.store(p, tl.load(p) + 1)


def launch(x, y, out, scale=2.0):
    scaled_add[(triton.cdiv(x.numel(), 64),)](x, y, out, x.numel(), scale, BLOCK=64)


def equal(a, b):
    torch.testing.assert_close(a, b, rtol=0, atol=0, check_device=False)


def kernels_and_operators_run_at_replay():
    x, y = torch.arange(100.0, device="cuda"), torch.ones(100, device="cuda")
    graph = torch.cuda.CUDAGraph()
    assert not torch.cuda.is_current_stream_capturing()
    with torch.cuda.graph(graph):
        assert torch.cuda.is_current_stream_capturing()
        doubled = x + x
        out = torch.empty_like(x)
        launch(doubled, y, out)
        result = out.relu().sum()
    assert not torch.cuda.is_current_stream_capturing()
    for start in (0.0, 7.0):
        x.copy_(torch.arange(start, start + 100))
        graph.replay()
        equal(out, 4 * x + 1)
        equal(result, (4 * x + 1).sum())


def launches_through_torch_run_at_replay():
    x, y = torch.arange(100.0, device="cuda"), torch.ones(100, device="cuda")
    out = torch.zeros_like(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        torch.library.wrap_triton(scaled_add)[(2,)](x, y, out, 100, 3.0, BLOCK=64)
        result = out + 1
    equal(out, torch.zeros_like(x))
    graph.replay()
    equal(result, 3 * x + 2)


def a_capture_changes_nothing():
    x = torch.zeros(4, device="cuda")
    total = torch.zeros(1, dtype=torch.int32, device="cuda")
    graph = torch.cuda.CUDAGraph()
    graph.capture_begin()
    x += 1
    x[1:3].mul_(3)
    torch.add(x, 1, out=x)
    torch._foreach_add_([x], 1)
    count[(1,)](total)
    graph.capture_end()
    equal(x, torch.zeros(4))
    equal(total, torch.zeros(1, dtype=torch.int32))
    graph.replay()
    equal(x, torch.tensor([3.0, 5.0, 5.0, 3.0]))
    graph.replay()
    equal(x, torch.tensor([6.0, 20.0, 20.0, 6.0]))
    equal(total, torch.full((1,), 2, dtype=torch.int32))


def memory_lives_as_long_as_the_graph():
    x, y, out = torch.rand(1000), torch.rand(1000), torch.empty(1000)
    graph = torch.cuda.CUDAGraph()

    def capture():
        between = x + 1
        launch(between, y.clone(), out)

    with torch.cuda.graph(graph):
        capture()
    kept = x
    x = torch.rand(1000)  # another tensor: the graph has the old one
    junk = [torch.full((1000,), float("nan")) for _ in range(50)]
    graph.replay()
    equal(out, (kept + 1) * 2 + y)
    del junk


def views_and_random_numbers():
    x = torch.arange(12.0, device="cuda").reshape(3, 4)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        column = x.t()[1]
        sums = column.contiguous() + x.view(-1)[:3]
        noise = torch.rand(64, device="cuda")
    graph.replay()
    equal(sums, x[:, 1] + x.view(-1)[:3])
    first = noise.clone()
    graph.replay()
    assert (noise != first).any() and (noise >= 0).all() and (noise < 1).all()


def what_reads_a_value_is_refused():
    x = torch.ones(3, device="cuda")
    for read in (lambda: x.sum().item(), lambda: x.nonzero(), lambda: bool(x[0] > 0), torch.cuda.synchronize):
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph):
                read()
        except RuntimeError as error:
            assert "not permitted when stream is capturing" in str(error), error
        else:
            raise AssertionError("a value was read while capturing")
    assert not torch.cuda.is_current_stream_capturing()


def wrong_orders_are_refused():
    graph = torch.cuda.CUDAGraph()
    for call in (graph.replay, graph.capture_end, graph.pool):
        try:
            call()
        except RuntimeError:
            continue
        raise AssertionError(f"{call} of a new graph went well")
    with torch.cuda.graph(graph):
        pass
    try:
        graph.capture_begin()
    except RuntimeError as error:
        assert "already owns a captured graph" in str(error)
    graph.reset()
    with torch.cuda.graph(graph, pool=torch.cuda.graph_pool_handle()):
        pass
    graph.replay()


def graphs_in_graphs():
    x = torch.zeros(2, device="cuda")
    inner, outer = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(inner):
        x.add_(1)
    with torch.cuda.graph(outer):
        inner.replay()
        x.mul_(10)
        inner.replay()
    equal(x, torch.zeros(2))
    outer.replay()
    equal(x, torch.full((2,), 11.0))


def training_steps():
    """As torch's manual captures a whole step: gradients and the optimizer's state are static."""
    torch.manual_seed(0)
    models = [torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))]
    models.append(torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1)))
    models[1].load_state_dict(models[0].state_dict())
    data, target = torch.zeros(5, 8, device="cuda"), torch.zeros(5, 1, device="cuda")
    optimizers = [torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9) for m in models]

    def step(i):
        optimizers[i].zero_grad(set_to_none=False)
        loss = torch.nn.functional.mse_loss(models[i](data), target)
        loss.backward()
        optimizers[i].step()
        return loss

    for i in range(2):  # warm up: gradients and momenta exist then
        step(i)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = step(0)
    for _ in range(4):
        data.copy_(torch.randn(5, 8))
        target.copy_(torch.randn(5, 1))
        graph.replay()
        equal(captured.detach(), step(1).detach())
    for a, b in zip(models[0].parameters(), models[1].parameters(), strict=True):
        equal(a.detach(), b.detach())


def graphed_callables():
    torch.manual_seed(0)
    layer = torch.nn.Linear(4, 3)
    plain = torch.nn.Linear(4, 3)
    plain.load_state_dict(layer.state_dict())
    graphed = torch.cuda.make_graphed_callables(layer, (torch.randn(2, 4, requires_grad=True),))
    for _ in range(3):
        layer.zero_grad()
        plain.zero_grad()
        x = torch.randn(2, 4, requires_grad=True)
        other = x.detach().clone().requires_grad_()
        a, b = graphed(x), plain(other)
        equal(a, b)
        a.square().sum().backward()
        b.square().sum().backward()
        equal(x.grad, other.grad)
        equal(layer.weight.grad, plain.weight.grad)


@torch.library.custom_op("graph_tests::add_one", mutates_args={"p"})
def add_one(p: torch.Tensor) -> None:
    count[(1,)](p)


def operators_with_kernels_inside():
    p = torch.zeros(1, dtype=torch.int32, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        add_one(p)
    equal(p, torch.zeros(1, dtype=torch.int32))
    graph.replay()
    equal(p, torch.ones(1, dtype=torch.int32))


def benchmarks():
    x = torch.rand(1 << 12, device="cuda")
    seen = []

    def fn():
        seen.append(torch.cuda.is_current_stream_capturing())
        out = torch.empty_like(x)
        launch(x, x, out)
        return out

    low, high = triton.testing.do_bench_cudagraph(fn, rep=2, quantiles=[0.0, 1.0])
    assert 0 < low <= high and True in seen and False in seen


def a_graph_can_be_drawn():
    x = torch.ones(4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    graph.enable_debug_mode()
    with torch.cuda.graph(graph):
        x.add_(1)
        launch(x, x, x)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "graph.dot")
        graph.debug_dump(path)
        with open(path) as file:
            text = file.read()
    assert "aten.add_.Tensor" in text and "scaled_add" in text and "n0 -> n1" in text, text


CHECKS = [
    kernels_and_operators_run_at_replay, launches_through_torch_run_at_replay, a_capture_changes_nothing,
    memory_lives_as_long_as_the_graph,
    views_and_random_numbers, what_reads_a_value_is_refused, wrong_orders_are_refused, graphs_in_graphs,
    training_steps, graphed_callables, operators_with_kernels_inside, benchmarks, a_graph_can_be_drawn,
]  # fmt: skip

if __name__ == "__main__":
    for check in CHECKS:
        try:
            check()
            print("right:", check.__name__, flush=True)
        except Exception:
            traceback.print_exc(file=sys.stdout)
