"""Defines the problems that the benchmarks compute: a kernel with its arguments, and what has to come out.

Only Triton, torch and kernels.py are used, so that another interpreter runs this file too (peer.py)."""

import dataclasses

LAUNCH_INTEGERS = (7, 100, 13, 1000, 10, 100, 20, 200, 30)
LAUNCH_CONSTANT = 32


@dataclasses.dataclass
class Problem:
    """kernel[grid](*args, **meta) fills `outputs`; `wanted` gives what they should hold."""

    name: str
    size: str
    kernel: object
    grid: tuple
    args: tuple
    meta: dict
    options: dict = dataclasses.field(default_factory=dict)
    outputs: tuple = ()
    wanted: object = None
    tolerance: float = 0.0
    work: float = 0.0
    torch: object = None  # the same by torch, and what its row says
    torch_says: str = ""

    @property
    def keywords(self) -> dict:
        return {**self.meta, **self.options}

    @property
    def all_values(self) -> tuple:
        """As Triton's CompiledKernel.run takes them: with the constexprs, in order."""
        return (*self.args, *(self.meta[name] for name in self.kernel.arg_names[len(self.args) :]))

    def clear(self) -> None:
        for output in self.outputs:
            output.fill_(float("nan"))

    def fault(self) -> str:
        """How the outputs differ from what they should be; "" if they do not."""
        if self.wanted is None:
            return ""
        for number, (output, expected) in enumerate(zip(self.outputs, self.wanted())):  # noqa: B905  (3.9's Python)
            difference = (output.double() - expected.double()).abs().max().item()
            if not difference <= self.tolerance:
                return f"output {number} is off by {difference:g}, at most {self.tolerance:g} is allowed"
        return ""


def launch(kernels, count: int, device: str, witness: bool = False) -> Problem:
    """A kernel that does nothing, of no arguments or of 19; or the one that writes what arrived."""
    import torch

    if count == 0:
        return Problem("empty_0", "no arguments", kernels.empty_0, (1,), (), {})
    tensors = tuple(torch.zeros(16, device=device) for _ in range(5))
    kernel = kernels.witness_19 if witness else kernels.empty_19
    problem = Problem(
        kernel.__name__, "19 arguments", kernel, (1,), (*tensors, *LAUNCH_INTEGERS),
        {f"C{i}": LAUNCH_CONSTANT + i for i in range(5)},
    )  # fmt: skip
    if witness:
        i, c = LAUNCH_INTEGERS, [LAUNCH_CONSTANT + n for n in range(5)]
        sums = [i[0] + 2 * i[1] + 3 * i[2], *(i[n] + 2 * i[n + 1] for n in (3, 5, 7))]
        sums.append(sum((n + 1) * c[n] for n in range(5)))
        problem.outputs = tuple(t[:1] for t in tensors)
        problem.wanted = lambda: [torch.tensor([float(s)], device=device) for s in sums]
    return problem


def _seeded(shape, device, seed):
    import torch

    numbers = torch.randn(shape, generator=torch.Generator().manual_seed(seed))
    return numbers.to(torch.float16).to(device)


def matmul(kernels, n: int, device: str) -> Problem:
    """The product of two f16 matrices of n x n."""
    import torch

    a, b = _seeded((n, n), device, 0), _seeded((n, n), device, 1)
    c = torch.empty(n, n, device=device, dtype=torch.float16)
    on_gpu = device != "cpu"
    m_tile, n_tile, k_tile = (128, 128, 64) if on_gpu else (64, 64, 32)
    grid = (-(-n // m_tile) * -(-n // n_tile),)
    # torch's f16 product on a CPU does without its fast kernels: f32 is the fair one.
    ta, tb = (a, b) if on_gpu else (a.float(), b.float())
    out = torch.empty(n, n, device=device, dtype=ta.dtype)
    exact = []

    def wanted():
        if not exact:
            exact.append(torch.mm(a.float(), b.float()))
        return exact

    return Problem(
        "matmul_kernel", f"{n}^3 f16", kernels.matmul_kernel, grid, (a, b, c, n, n, n, n, 1, n, 1, n, 1),
        {"BLOCK_M": m_tile, "BLOCK_N": n_tile, "BLOCK_K": k_tile, "GROUP_M": 8},
        {"num_warps": 8, "num_stages": 3} if on_gpu else {}, (c,), wanted, 0.05 + n * 2e-5, 2.0 * n**3,
        lambda: torch.mm(ta, tb, out=out), f"torch.mm, {ta.dtype}",
    )  # fmt: skip


def attention(kernels, heads: int, length: int, device: str) -> Problem:
    """Flash attention of f16, heads of 64, without a mask."""
    import torch

    dim = 64
    q, k, v = (_seeded((1, heads, length, dim), device, seed) for seed in range(3))
    out = torch.empty_like(q)
    m_tile, n_tile = (128, 64) if device != "cpu" else (64, 64)
    reference = torch.nn.functional.scaled_dot_product_attention
    on_gpu = device != "cpu"
    arrays = (q, k, v) if on_gpu else (q.float(), k.float(), v.float())
    exact = []

    def wanted():
        if not exact:
            exact.append(reference(q.float(), k.float(), v.float()))
        return exact

    return Problem(
        "attention_kernel", f"{heads} heads, {length} x {dim} f16", kernels.attention_kernel,
        (length // m_tile, heads), (q, k, v, out, dim**-0.5, length * dim, length),
        {"DIM": dim, "BLOCK_M": m_tile, "BLOCK_N": n_tile},
        {"num_warps": 4, "num_stages": 3} if on_gpu else {}, (out,), wanted, 5e-3,
        4.0 * heads * length * length * dim, lambda: reference(*arrays),
        f"torch's scaled_dot_product_attention, {arrays[0].dtype}",
    )  # fmt: skip


def make(kernels, request: dict, device: str) -> Problem:
    """The problem that a request names: {"problem": "matmul", ...}."""
    make = {"launch": launch, "matmul": matmul, "attention": attention}[request["problem"]]
    return make(kernels, device=device, **{k: v for k, v in request.items() if k != "problem"})
