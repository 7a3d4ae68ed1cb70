"""Cases of kernels that change what they read: each begins with what the launch began with, and gives what
it gave."""

import sys

import numpy
import pytest
import warm

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")
import triton.language as tl  # noqa: E402
import triton_runner  # noqa: E402
from triton_runner._artifact.relaunch import of_call  # noqa: E402
from triton_runner._launch.launchers import observing  # noqa: E402
from triton_runner._memory.arguments import Arguments  # noqa: E402

LEVELS = ("ttir", "ttgir", "ptx")

PROGRAM = """
import torch, triton, triton.language as tl

@triton.jit
def update(x, n, factor, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + i, tl.load(x + i, i < n) * factor + 1, i < n)

x = torch.arange(100, dtype=torch.float32)
for turn in range(3):
    update[(2,)](x, 100, 2.0, B=64)
assert (x == 8 * torch.arange(100) + 7).all()
"""


@triton.jit
def update(x, n, factor, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + i, tl.load(x + i, i < n) * factor + 1, i < n)


@triton.jit
def count(bins, values, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.atomic_add(bins + tl.load(values + i, i < n, 0), 1, mask=i < n)


@triton.jit
def shift(left, right, n, B: tl.constexpr):
    i = tl.arange(0, B)
    value = tl.load(left + i, i < n) + tl.load(right + i, i < n)
    tl.debug_barrier()
    tl.store(right + i, value, i < n)


@triton.jit
def follow(table, out, B: tl.constexpr):
    i = tl.arange(0, B)
    there = tl.load(table).to(tl.pointer_type(tl.float32)) + i
    value = tl.load(there) + 1
    tl.store(there, value)
    tl.store(out + i, value)


@triton.jit
def follow_half(table, out, B: tl.constexpr):
    i = tl.arange(0, B)
    there = (tl.load(table) * 2).to(tl.pointer_type(tl.float32)) + i
    value = tl.load(there) + 1
    tl.store(there, value)
    tl.store(out + i, value)


def invoke(*command):
    answer = warm.invoke(*command)
    return answer.exit_code, answer.stdout + answer.stderr


def stays_right(path, notes=()):
    """A case that does what its launch did, at every level."""
    case = triton_runner.open_case(path)
    assert case.expects() and tuple(case.about["notes"]) == notes
    for level in LEVELS:
        for _ in range(2):  # a run leaves nothing behind
            assert case.differences(case.run(level)) == {}, level


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("in_place") / "program.py"
    path.write_text(PROGRAM)
    return path


@pytest.mark.parametrize("number", [0, 2])
def test_a_bundle_of_an_update_in_place(program, tmp_path, number):
    case = tmp_path / "case.trcase"
    status, said = invoke("bundle", "--launch", number, "-o", case, program)
    assert status == 0 and "verdict: no fault found" in said and "note:" not in said
    stays_right(case)
    for command, verdict in (("run", "right"), ("verify", "no fault found")):
        status, said = invoke(command, case)
        assert status == 0 and verdict in said and "wrong" not in said, said
    with triton_runner.open_case(case).extracted() as folder:
        done = warm.run([sys.executable, "repro.py"], cwd=folder, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr


def test_each_launch_of_a_kernel_begins_with_what_was_there(tmp_path):
    x = torch.arange(100, dtype=torch.float32)
    with triton_runner.capture(tmp_path, lambda seen: True) as captured:
        for _ in range(3):
            update[(2,)](x, 100, 2.0, B=64)
    assert (x == 8 * torch.arange(100) + 7).all() and len(captured.cases) == 3
    for number, path in enumerate(captured.cases):
        stays_right(path)
        (first,) = triton_runner.open_case(path).subject.arguments.arrays().values()
        assert first[5] == [5, 11, 23][number]


def test_what_a_launch_is_asked_about(tmp_path):
    x, seen = torch.tensor([1.0, float("nan"), 3.0, 0.0]), []

    def when(launch):
        seen.append((launch.before["x"].tolist(), launch.after["x"].tolist(), launch.nan()))
        return False

    with triton_runner.capture(tmp_path, when):
        update[(1,)](x, 3, 2.0, B=4)
        update[(1,)](x, 4, float("inf"), B=4)  # 0 * inf
    (before, after, nan), (_, last, new) = seen
    assert str(before) == "[1.0, nan, 3.0, 0.0]" and str(after) == "[3.0, nan, 7.0, 0.0]" and not nan
    assert str(last) == "[inf, nan, inf, nan]" and new


def test_atomics(tmp_path):
    bins, values = torch.tensor([5, 0, 7], dtype=torch.int32), torch.arange(50, dtype=torch.int32) % 3
    with triton_runner.capture(tmp_path) as captured:
        count[(1,)](bins, values, 50, B=64)
    assert bins.tolist() == [22, 17, 23]
    stays_right(captured.cases[0])


def overlapping(how):
    """Two arrays of 64 floats, the second of which begins 32 elements after the first."""
    if how == "views":
        whole = torch.arange(96, dtype=torch.float32)
        return whole[:64], whole[32:], whole
    memory = bytearray(numpy.arange(96, dtype=numpy.float32).tobytes())
    whole = torch.frombuffer(memory, dtype=torch.float32)
    # Storages of their own, neither of which holds the other.
    left = torch.frombuffer(memory, dtype=torch.float32, count=64)
    return left, torch.frombuffer(memory, dtype=torch.float32, count=64, offset=128), whole


@pytest.mark.parametrize("how", ["views", "storages"])
@pytest.mark.parametrize("turned", [False, True])
def test_arguments_that_overlap(tmp_path, how, turned):
    left, right, whole = overlapping(how)
    pair = (right, left) if turned else (left, right)
    arguments = Arguments([("left", pair[0]), ("right", pair[1])])
    assert len(arguments.live()) == 1 and arguments.nbytes == 96 * 4
    assert [view.offset for view in arguments.views.values()] == ([128, 0] if turned else [0, 128])
    with triton_runner.capture(tmp_path) as captured:
        shift[(1,)](*pair, 64, B=64)
    before, after = numpy.arange(96, dtype=numpy.float32), numpy.arange(96, dtype=numpy.float32)
    after[0 if turned else 32 :][:64] = before[:64] + before[32:]
    assert whole.tolist() == after.tolist()
    case = triton_runner.open_case(captured.cases[0])
    assert len(case.about["blocks"]) == 1
    stays_right(captured.cases[0])


@pytest.mark.parametrize("option", ["restore_value", "reset_to_zero"])
def test_autotuned(tmp_path, option):
    configs = [triton.Config({"B": size}) for size in (32, 64)]
    tuned = triton.autotune(configs, ["n"], **{option: ["x"]})(update)
    x = torch.arange(64, dtype=torch.float32)
    with triton_runner.capture(tmp_path, lambda seen: True) as captured:
        tuned[lambda meta: (triton.cdiv(64, meta["B"]),)](x, 64, 2.0)
    assert captured.cases
    for path in captured.cases:
        stays_right(path)


def test_numbers_that_are_drawn_again(tmp_path):
    x = torch.randn(1000, generator=torch.Generator().manual_seed(0))
    with triton_runner.capture(tmp_path, max_bytes=100) as captured:
        update[(16,)](x, 1000, 2.0, B=64)
    (note, other) = triton_runner.open_case(captured.cases[0]).about["notes"]
    assert "its numbers are drawn again" in note and "the expected contents of 'x' are left out" in other
    with triton_runner.capture(tmp_path / "small", max_bytes=4000) as captured:
        update[(16,)](x, 1000, 2.0, B=64)
    stays_right(captured.cases[0])


def test_the_writer_says_that_a_case_does_something_else(tmp_path):
    there, out = torch.arange(16, dtype=torch.float32), torch.zeros(16)
    said = "the launch left other results than ttir gives: 'out': 16 of 16 elements differ"
    with triton_runner.capture(tmp_path) as captured, pytest.warns(RuntimeWarning, match=said):
        # No address, so that a case does not have what it leads to.
        follow_half[(1,)](torch.tensor([there.data_ptr() // 2]), out, B=16)
    assert out.tolist() == [i + 1 for i in range(16)]
    assert triton_runner.open_case(captured.cases[0]).about["notes"] == [said]


def test_a_launch_that_the_program_went_on_with_is_not_run_as_if_it_had_not():
    x, seen = torch.zeros(8), []

    def see(call, go):
        launch = of_call(call)
        with launch.arguments.watched():
            go()
        seen.append(launch)

    with observing(see):
        update[(1,)](x, 8, 2.0, B=8)
    (launch,) = seen
    assert launch.arguments.first.array("x").tolist() == [0] * 8
    with pytest.raises(AssertionError):
        launch.run("ttir")
    launch.arguments.put_back()
    assert x.tolist() == [0] * 8


@triton.jit
def product(a, b, out, same, K: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    acc = tl.zeros((N, N), tl.float32)
    for step in tl.range(0, K, N, num_stages=3):
        x = tl.load(a + i[:, None] * K + (step + i)[None, :])
        y = tl.load(b + (step + i)[:, None] * N + i[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(out + i[:, None] * N + i[None, :], acc)


@pytest.mark.parametrize("level", ["ttgir", "ptx"])
def test_one_array_as_two_arguments_of_asynchronous_copies(level):
    """Both launches of check="race" begin with the same memory, although it is passed twice, or in part."""
    generator = torch.Generator().manual_seed(0)
    a = torch.randn(32, 128, generator=generator).half()
    b = torch.randn(128, 32, generator=generator).half()
    whole = torch.full((40, 32), 5.0)
    for same in (whole[:32], whole[8:], whole):
        with triton_runner.using(level=level, check="race", device="cpu"):
            product[(1,)](a, b, whole[:32], same, 128, 32)
        assert torch.allclose(whole[:32], a.float() @ b.float(), atol=1e-3) and (whole[32:] == 5).all()
        whole[:32] = 3


def test_a_race_of_one_array_as_two_arguments(tmp_path):
    """A product that does not wait for its copies is still found."""
    with triton_runner.using(level="ttgir", device="cpu"):
        a, b, out = torch.ones(32, 128).half(), torch.ones(128, 32).half(), torch.zeros(32, 32)
        compiled = product.warmup(a, b, out, out, 128, 32, grid=(1,))
    text = compiled.asm["ttgir"]
    assert "ttg.async_wait" in text
    broken = "\n".join(line for line in text.splitlines() if "ttg.async_wait" not in line)
    for line in text.splitlines():
        if "ttg.async_wait" in line:
            token = line.split("=")[0].strip()
            broken = broken.replace(f", {token}", "").replace(f"token {token}", "")
    (tmp_path / "product.ttgir").write_text(broken)
    kernel = triton_runner.load(tmp_path / "product.ttgir", check="race", device="cpu")
    with pytest.raises(triton_runner.KernelTrap, match="data race"):
        kernel[(1,)](a, b, out, out)
