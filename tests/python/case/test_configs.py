"""triton-runner configs: each configuration of a launch gets its verdict, and the program goes on."""

import json

import pytest
import warm

HEAD = """
import torch, triton, triton.language as tl
DEVICE = triton.runtime.driver.active.get_active_torch_device()
"""

TUNED = """
CONFIGS = [
    triton.Config({"BLOCK": 64}, num_warps=1), triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 256}),
    triton.Config({"BLOCK": 128, "SKIP": 1}), triton.Config({"BLOCK": 128, "RACE": 1}),
    triton.Config({"BLOCK": 96}), triton.Config({"BLOCK": 2048}),
]

@triton.autotune(configs=CONFIGS, key=["n"])
@triton.jit
def total(x, out, n, BLOCK: tl.constexpr, SKIP: tl.constexpr = 0, RACE: tl.constexpr = 0):
    acc = tl.zeros([BLOCK], tl.float32)
    for i in range(SKIP * BLOCK, n, BLOCK):
        acc += tl.load(x + i + tl.arange(0, BLOCK))
    if RACE:
        tl.store(out, tl.program_id(0))
    if tl.program_id(0) == 0:
        tl.store(out, tl.sum(acc))

torch.manual_seed(0)
x, out = torch.randn(1024, device=DEVICE), torch.zeros(1, device=DEVICE)
total[(2,)](x, out, 1024)
total[(2,)](x, out, 1024)
assert abs(out.item() - x.sum().item()) < 1e-3
print("went on")
"""

PLAIN = """
@triton.jit
def product(a, b, c, SPECIAL: tl.constexpr):
    i = tl.arange(0, 64)
    acc = tl.zeros([64, 64], tl.float32)
    for k in tl.range(0, 4, warp_specialize=SPECIAL):
        x = tl.load(a + i[:, None] * 256 + k * 64 + i[None, :])
        y = tl.load(b + (k * 64 + i[:, None]) * 64 + i[None, :])
        acc += tl.dot(x, y)
    tl.store(c + i[:, None] * 64 + i[None, :], acc)

a, b = (torch.ones(shape, dtype=torch.float16, device=DEVICE) for shape in ((64, 256), (256, 64)))
c = torch.empty(64, 64, device=DEVICE)
product[(1,)](a, b, c, SPECIAL=False)
"""


def configs(folder, text: str, *options) -> tuple[int, dict]:
    program = folder / "program.py"
    program.write_text(HEAD + text)
    done = warm.invoke("configs", "--json", *options, program)
    assert done.exit_code in (0, 1, 125), done.output
    return done.exit_code, json.loads(done.stdout)


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    return configs(tmp_path_factory.mktemp("tuned"), TUNED)


@pytest.mark.parametrize(
    ("number", "state", "text"),
    [
        (0, "no fault found", ""),
        (1, "drift", "out: 1 of 1 elements differ from those of BLOCK=64, num_warps=1"),
        (2, "drift", "out: 1 of 1"),
        (3, "wrong", "out: 1 of 1"),
        (4, "race", "data race in tt.store"),
        (5, "compiler error", "must be a power of 2"),
        (6, "trap", "out of bounds in tt.load"),
    ],
)
def test_each_configuration_of_an_autotuner_has_its_state(tuned, number, state, text):
    row = tuned[1]["configurations"][number]
    assert (row["state"], row["kernel"], row["launch"]) == (state, "total", 0)
    assert text in row["text"]


def test_a_launch_is_judged_once_and_the_program_goes_on_with_the_first_without_a_fault(tuned):
    status, result = tuned
    assert status == 1 and result["status"] == 0 and len(result["configurations"]) == 7


def test_warps_and_stages_of_a_launch_without_an_autotuner(tmp_path):
    options = ("--num-warps", "4,8", "--num-stages", "2,16", "--check", "oob")
    _, result = configs(tmp_path, PLAIN, *options)
    states = {tuple(row["options"].values()): row["state"] for row in result["configurations"]}
    assert states == {
        (4, 2): "no fault found", (4, 16): "out of shared memory",
        (8, 2): "no fault found", (8, 16): "out of shared memory",
    }  # fmt: skip


def test_bad_usage_and_a_program_without_a_launch(tmp_path):
    assert configs(tmp_path, "print('nothing')\n")[0] == 125
    done = warm.invoke("configs", "--num-warps", "many", "x.py")
    assert done.exit_code == 2 and "'many' is not a list of numbers" in done.output
