"""Tests dl.dump, dl.dump_boundary, dl.dump_grids, and the keywords of a launch that dump: the original's
interface."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")
import triton.language as tl  # noqa: E402
import triton_runner  # noqa: E402
import triton_runner.language as dl  # noqa: E402
from triton_runner._kernel.dumps import launches, statements  # noqa: E402

BLOCK, PROGRAMS = 16, 4
N = BLOCK * PROGRAMS
FORMS = range(9)


@triton_runner.jit
def forms_kernel(x_ptr, out_ptr, last, FORM: tl.constexpr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    y = tl.load(x_ptr + offsets) * 2
    if FORM == 0:
        dl.dump(y)
    elif FORM == 1:  # noqa: SIM114
        dl.dump(y, 0, 3)
    elif FORM == 2:
        dl.dump(y, 0, (3))
    elif FORM == 3:
        dl.dump(y, 0, (3, 0))
    elif FORM == 4:
        dl.dump(y, 0, (3, 0, 0))
    elif FORM == 5:
        dl.dump(y, BLOCK, 1)
    elif FORM == 6:
        dl.dump(y, offset=BLOCK, dump_grid=(tl.num_programs(0) - 1, tl.program_id(1)))
    elif FORM == 7:
        dl.dump(y, pid * BLOCK, last)
    else:
        dl.dump_boundary(y, BLOCK)
    tl.store(out_ptr + offsets, y)


# The program whose values are dumped, and the element where they begin.
EXPECTED = [(0, 0), (3, 0), (3, 0), (3, 0), (3, 0), (1, BLOCK), (3, BLOCK), (2, 2 * BLOCK), (3, BLOCK)]


def inputs(dtype=torch.float32, n=N):
    return torch.arange(n).to(dtype), torch.zeros(n, dtype=dtype)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("level", ["ttir", "ttgir"])
def test_forms(form, level):
    x, out = inputs()
    dump = torch.full((N,), -1.0)
    forms_kernel[(PROGRAMS,)](x, out, 2, FORM=form, BLOCK=BLOCK, dump_tensor=dump, level=level)
    program, offset = EXPECTED[form]
    wanted = torch.full((N,), -1.0)
    wanted[offset : offset + BLOCK] = 2 * x[program * BLOCK : (program + 1) * BLOCK]
    assert torch.equal(dump, wanted)
    assert torch.equal(out, 2 * x)


@triton_runner.jit
def helper(x):
    dl.dump(x, 0)
    return x + 1


@triton_runner.jit
def types_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    cube = tl.reshape(x, (2, 2, BLOCK // 4))
    dl.dump(cube)
    dl.dump(tl.max(x.to(tl.float32), 0), BLOCK)
    dl.dump(n, BLOCK + 1)
    dl.dump((x > 2, n), BLOCK + 2)
    tl.store(out_ptr + offsets, helper(x))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.int8])
def test_types_ranks_scalars_and_tuples(dtype):
    x, out = inputs(dtype, BLOCK)
    dump = torch.zeros(2 * BLOCK + 3)
    types_kernel[(1,)](x, out, 7, BLOCK=BLOCK, dump_tensor=dump)
    assert torch.equal(dump[:BLOCK], x.float())
    assert dump[BLOCK].item() == BLOCK - 1 and dump[BLOCK + 1].item() == 7
    assert torch.equal(dump[BLOCK + 2 : -1], (x > 2).float()) and dump[-1].item() == 7


def test_own_type_keeps_the_bits():
    x = torch.randn(N).to(torch.bfloat16)
    dump = torch.zeros(BLOCK, dtype=torch.bfloat16)
    forms_kernel[(PROGRAMS,)](x, torch.zeros_like(x), 0, FORM=1, BLOCK=BLOCK, dump_tensor=dump)
    assert torch.equal(dump, 2 * x[3 * BLOCK :])


@triton_runner.jit
def grids_kernel(x_ptr, stride, ROWS: tl.constexpr, COLS: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.program_id(1) * COLS + tl.arange(0, COLS)
    dl.dump_grids(tl.load(x_ptr + r[:, None] * stride + c[None, :]), 5)


def test_every_program():
    rows, cols, block = 8, 24, (4, 8)
    x = torch.randn(rows, cols)
    grid = triton_runner.torch_utils.get_grid_dim([rows, cols], block)
    dump = torch.zeros(5 + x.numel())
    grids_kernel[grid](x, cols, ROWS=block[0], COLS=block[1], dump_tensor=dump)
    blocks = dump[5:].reshape(*grid, *block).permute(0, 2, 1, 3)  # x is the slowest
    assert torch.equal(blocks.reshape(rows, cols), x)
    with pytest.raises(
        triton_runner.DiagnosticError, match="elements 5 to 196 of dump_tensor, which has 100"
    ):
        grids_kernel[grid](x, cols, ROWS=block[0], COLS=block[1], dump_tensor=torch.zeros(100))


@triton_runner.jit
def number_kernel(AXES: tl.constexpr):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    dl.dump_grids(x * 100 + y * 10 + z + tl.zeros((2,), tl.int32))


@pytest.mark.parametrize("level", ["ttir", "ttgir", "ptx"])
@pytest.mark.parametrize("grid", [(4,), (3, 2), (2, 3, 4)])
def test_programs_lie_one_behind_the_other(grid, level):
    whole = (*grid, 1, 1)[:3]
    dump = torch.zeros(2 * whole[0] * whole[1] * whole[2], dtype=torch.int32)
    number_kernel[grid](AXES=3, dump_tensor=dump, level=level)
    x, y, z = torch.meshgrid(*map(torch.arange, whole), indexing="ij")
    numbers = (x * 100 + y * 10 + z).to(torch.int32)
    assert torch.equal(dump.reshape(*whole, 2), numbers[..., None].expand(*whole, 2))


@triton_runner.jit
def loop_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    acc = tl.zeros((BLOCK,), tl.float32)
    for i in range(n):
        acc += tl.load(x_ptr + i * BLOCK + tl.arange(0, BLOCK))
        dl.dump(acc)
        dl.dump(acc, BLOCK + i * BLOCK)
    tl.store(out_ptr + tl.arange(0, BLOCK), acc)


def test_loops():
    x, out = torch.randn(N), torch.zeros(BLOCK)
    dump = torch.zeros(BLOCK + N)
    loop_kernel[(1,)](x, out, PROGRAMS, BLOCK=BLOCK, dump_tensor=dump)
    assert torch.equal(dump[:BLOCK], out), "the last iteration stays"
    sums = x.reshape(PROGRAMS, BLOCK).cumsum(0)
    torch.testing.assert_close(dump[BLOCK:].reshape(PROGRAMS, BLOCK), sums)


def test_without_a_tensor():
    triton_runner.dumps()
    x, out = inputs()
    forms_kernel[(PROGRAMS,)](x, out, 0, FORM=1, BLOCK=BLOCK)
    [dump] = triton_runner.dumps()
    [values] = dump.values
    assert values.programs.tolist() == [[3, 0, 0]] and values.file.endswith("test_dump_language.py")
    np.testing.assert_array_equal(values.to_numpy()[0], 2 * x[3 * BLOCK :].numpy())
    assert triton_runner.dumps() == []


def test_switched_off(monkeypatch):
    x, out = inputs()
    launch = lambda **more: forms_kernel[(PROGRAMS,)](x, out, 0, FORM=1, BLOCK=BLOCK, **more)  # noqa: E731
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "0")  # the cache must keep the two apart
    for _ in range(2):
        assert "triton_runner.dump" in launch().asm["ttir"]
        dump = torch.zeros(BLOCK)
        with triton_runner.using(dump=False):
            quiet = launch(dump_tensor=dump)
        assert "tt.print" not in quiet.asm["ttir"] and not dump.any()
    monkeypatch.setenv("TRITON_RUNNER_PROD", "1")
    assert "tt.print" not in launch().asm["ttir"]
    triton_runner.dumps()


SWITCHED = """
import sys
sys.path.insert(0, sys.argv[1])
import torch
from test_dump_language import BLOCK, PROGRAMS, forms_kernel, inputs
x, out = inputs()
kernel = forms_kernel[(PROGRAMS,)](x, out, 0, FORM=1, BLOCK=BLOCK)
print("marked" if "tt.print" in kernel.asm["ttir"] else "plain", torch.equal(out, 2 * x))
"""


def test_switched_off_by_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "0")
    monkeypatch.setenv("TRITON_RUNNER_DEVICE", "cpu")
    for switch, said in (("1", "marked"), ("0", "plain"), ("1", "marked")):
        monkeypatch.setenv("TRITON_RUNNER_DUMP", switch)
        done = subprocess.run(
            [sys.executable, "-c", SWITCHED, str(Path(__file__).parent)], capture_output=True, text=True
        )
        assert done.stdout.splitlines()[-1:] == [f"{said} True"], done.stdout + done.stderr


def test_statements_are_found():
    assert statements.uses_statements(forms_kernel)
    assert statements.uses_statements(types_kernel), "in a function that it calls"
    assert not statements.uses_statements(plain_kernel)


@triton_runner.jit
def plain_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside)
    y = tl.load(y_ptr + offsets, mask=inside)
    total = x + y
    tl.store(out_ptr + offsets, total, mask=inside)


@triton.jit
def tritons_kernel(x_ptr, out_ptr):
    x = tl.load(x_ptr)
    dl.dump(x)
    tl.store(out_ptr, x)


@pytest.mark.parametrize("level", ["ttir", "ptx"])
def test_kernel_of_triton_jit(level):
    x, out = torch.ones(1), torch.zeros(1)
    with triton_runner.using(level=level):
        tritons_kernel[(1,)](x, out)
    [dump] = triton_runner.dumps()
    assert out.item() == 1 and [float(v.to_numpy()[0]) for v in dump] == [1.0]


def test_kernel_that_is_only_compiled():
    source = triton.compiler.ASTSource(fn=tritons_kernel, signature={"x_ptr": "*fp32", "out_ptr": "*fp32"})
    assert "tt.print" in triton.compile(source).asm["ttir"]
    with pytest.raises(Exception, match="launch the kernel itself"), triton_runner.using(level="ptx"):
        triton.compile(source)


def plain(level="ttir", **more):
    x, y = torch.randn(N), torch.randn(N)
    out = torch.zeros(N)
    kernel = plain_kernel[(PROGRAMS,)](x, y, out, N, BLOCK=BLOCK, level=level, **more)
    return kernel, x, y, out


def named(op: str, level="ttir") -> str:
    """The SSA name of an op of plain_kernel."""
    [line] = [line for line in plain(level)[0].asm[level].splitlines() if f"= {op} " in line]
    return line.split()[0]


@pytest.mark.parametrize("level", ["ttir", "ttgir"])
@pytest.mark.parametrize(
    ("value", "tensor"), [("dump_value", "dump_tensor"), ("debug_value", "debug_tensor")]
)
@pytest.mark.parametrize("grid", [None, 0, np.int64(2), (2,), [2, 0], (2, 0, 0)])
def test_values_by_name(level, value, tensor, grid):
    dump = torch.zeros(BLOCK)
    _, x, y, _ = plain(level, **{value: named("arith.addf", level), tensor: dump, "dump_grid": grid})
    program = np.ravel(grid if grid is not None else 0)[0]
    assert torch.equal(dump, (x + y)[program * BLOCK : (program + 1) * BLOCK])


def test_several_values_lie_one_behind_the_other():
    dump = torch.zeros(2 * BLOCK + 3, dtype=torch.float64)
    names = [named("arith.addf"), "%x"]
    loads = [line.split()[0] for line in plain()[0].asm["ttir"].splitlines() if "= tt.load " in line]
    names[1] = loads[0]
    _, x, y, _ = plain(dump_value=names, dump_tensor=dump, dump_grid=1)
    block = slice(BLOCK, 2 * BLOCK)
    assert torch.equal(dump[:BLOCK], (x + y)[block].double())
    assert torch.equal(dump[BLOCK : 2 * BLOCK], x[block].double()) and not dump[2 * BLOCK :].any()


def test_value_without_a_tensor():
    triton_runner.dumps()
    _, x, y, _ = plain(dump_value=named("arith.addf"))
    [dump] = triton_runner.dumps()
    assert dump.values[0].programs.tolist() == [[i, 0, 0] for i in range(PROGRAMS)]
    np.testing.assert_array_equal(dump.values[0].to_numpy().reshape(-1), (x + y).numpy())


def test_inside_of_dumping():
    dump = torch.zeros(BLOCK)
    with triton_runner.dumping(plain_kernel, "tt.load", programs=2) as d:
        _, x, y, _ = plain(dump_value=named("arith.addf"), dump_tensor=dump, dump_grid=1)
    assert torch.equal(dump, (x + y)[BLOCK : 2 * BLOCK])
    loaded = d.all("tt.load")[0]
    np.testing.assert_array_equal(loaded[2], x[2 * BLOCK : 3 * BLOCK].numpy())


def test_numpy_arrays():
    x, out = np.arange(N, dtype=np.float32), np.zeros(N, np.float32)
    dump = np.zeros(BLOCK, np.float32)
    forms_kernel[(PROGRAMS,)](x, out, 0, FORM=3, BLOCK=BLOCK, dump_tensor=dump)
    np.testing.assert_array_equal(dump, 2 * x[3 * BLOCK :])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"dump_value": "%nosuch"}, "there is no value %nosuch"),
        ({"dump_value": 13}, "dump_value=13"),
        ({"dump_value": "VALUE", "debug_value": "VALUE"}, "both given"),
        ({"dump_value": "VALUE", "dump_grid": 4}, "not in the grid"),
        ({"dump_value": "VALUE", "dump_grid": (0, 1)}, "not in the grid"),
        ({"dump_value": "VALUE", "dump_grid": -1}, "expected a program"),
        ({"dump_value": "VALUE", "dump_grid": (0, 0, 0, 0)}, "one to three"),
        ({"dump_value": "VALUE", "dump_tensor": torch.zeros(BLOCK - 1)}, "which has 15"),
        ({"dump_value": "VALUE", "dump_tensor": torch.zeros(N, dtype=torch.float16)}, "lose bits"),
        ({"dump_value": "VALUE", "dump_tensor": torch.zeros(N, dtype=torch.int64)}, "lose bits"),
        ({"dump_value": "VALUE", "dump_tensor": torch.zeros(N, 2).t()}, "not contiguous"),
        ({"dump_value": "VALUE", "dump_tensor": [0.0] * N}, "expected a tensor"),
        ({"dump_tensor": torch.zeros(N)}, "nothing is dumped"),
        ({"dump_grid": 1}, "no value is named"),
    ],
)  # fmt: skip
def test_bad_input(given, words):
    name = named("arith.addf")
    given = {
        key: name if isinstance(value, str) and value == "VALUE" else value for key, value in given.items()
    }
    with pytest.raises(triton_runner.DiagnosticError, match=words):
        plain(**given)
    tensor = given.get("dump_tensor")
    assert not isinstance(tensor, torch.Tensor) or not tensor.any(), "nothing was written"


@triton_runner.jit
def wide_kernel(n, at):
    dl.dump(n, at)


def test_whole_numbers_that_floats_cannot_hold():
    dump = torch.zeros(4)
    wide_kernel[(1,)](2**24, 1, dump_tensor=dump)
    assert dump.tolist() == [0, 2**24, 0, 0]
    with pytest.raises(triton_runner.DiagnosticError, match="whole number 16777217 does not fit"):
        wide_kernel[(1,)](2**24 + 1, 2, dump_tensor=dump)
    wide = torch.zeros(4, dtype=torch.float64)
    wide_kernel[(1,)](2**24 + 1, 2, dump_tensor=wide)
    assert wide[2].item() == 2**24 + 1


@triton_runner.jit
def unsigned_kernel(x_ptr, BLOCK: tl.constexpr):
    dl.dump(tl.load(x_ptr + tl.arange(0, BLOCK)))


@pytest.mark.parametrize("level", ["ttir", "ptx"])
def test_numbers_without_a_sign(level):
    x = torch.tensor([0, 127, 128, 255], dtype=torch.uint8)
    dump = torch.zeros(4)
    unsigned_kernel[(1,)](x, BLOCK=4, dump_tensor=dump, level=level)
    assert dump.tolist() == [0, 127, 128, 255]
    unsigned_kernel[(1,)](x.view(torch.int8), BLOCK=4, dump_tensor=dump, level=level)
    assert dump.tolist() == [0, 127, -128, -1]
    own = torch.zeros(4, dtype=torch.uint8)
    unsigned_kernel[(1,)](x, BLOCK=4, dump_tensor=own, level=level)
    assert own.tolist() == x.tolist()


def test_an_offset_beyond_the_end_is_left_out():
    dump = torch.zeros(4)
    with pytest.warns(RuntimeWarning, match="elements 9 to 9 of dump_tensor, which has 4") as caught:
        wide_kernel[(1,)](1, 9, dump_tensor=dump)
    assert caught[0].filename == __file__
    assert not dump.any()


@triton_runner.jit
def wrong_kernel(x_ptr):
    dl.dump(tl.load(x_ptr), 0, (0, 0, 0, 0))


def test_a_wrong_statement_names_its_line():
    with pytest.raises(Exception, match="dump_grid has 4 axes") as caught:
        wrong_kernel[(1,)](torch.ones(1))
    assert "dl.dump(tl.load(x_ptr), 0, (0, 0, 0, 0))" in str(caught.value)


def test_message_once_a_value_and_compile(capfd):
    name = named("arith.addf")
    launches._said.clear()
    capfd.readouterr()
    for _ in range(2):
        plain(dump_value=name, dump_tensor=torch.zeros(BLOCK))
    lines = [line for line in capfd.readouterr().out.splitlines() if "dump mode" in line]
    [line] = lines
    start = f"[Triton Runner] In dump mode, ssa={name}, op=arith.addf, loc=loc(#loc"
    assert line.startswith(start) and line.endswith(f"), size={BLOCK}")


@pytest.mark.parametrize("level", ["ttir", "ttgir", "ptx"])
def test_message_of_statements(capfd, level):
    launches._said.clear()
    x, out = inputs()
    for _ in range(2):
        kernel = stated_kernel[(PROGRAMS,)](x, x, out, N, BLOCK=BLOCK, level=level)
    triton_runner.dumps()
    said = [line for line in capfd.readouterr().out.splitlines() if "dump mode" in line]
    form = r"\[Triton Runner\] In dump mode, ssa=(%\w+), op=([\w.]+), loc=loc\(#loc\d+\), size=(\d+)"
    found = [re.fullmatch(form, line).groups() for line in said]
    assert [(op, size) for _, op, size in found] == [("tt.load", str(BLOCK)), ("arith.addf", str(BLOCK))]
    assert all(f"{ssa} = {op}" in kernel.asm["ttgir" if level == "ttgir" else "ttir"] for ssa, op, _ in found)


def test_message_of_an_argument(capfd):
    launches._said.clear()
    loop_kernel[(1,)](torch.zeros(N), torch.zeros(BLOCK), PROGRAMS, BLOCK=BLOCK)
    [dump] = triton_runner.dumps()
    [line] = [line for line in capfd.readouterr().out.splitlines() if "dump mode" in line]
    assert "op=arith.addf" in line and len(dump.values) == 2


def test_under_the_autotuner():
    tuned = triton_runner.autotune(
        [triton.Config({"BLOCK": BLOCK}), triton.Config({"BLOCK": 2 * BLOCK})], ["n"]
    )(plain_kernel)
    x, y, out = torch.randn(N), torch.randn(N), torch.zeros(N)
    dump = torch.zeros(2 * BLOCK)
    tuned[lambda meta: (triton.cdiv(N, meta["BLOCK"]),)](x, y, out, N, dump_value="total", dump_tensor=dump)
    assert torch.equal(out, x + y) and torch.equal(dump[:BLOCK], (x + y)[:BLOCK])


def test_at_ptx():
    """Statements become stores, and named values too where there are statements; else registers are read."""
    x, out = inputs()
    dump = torch.zeros(2 * BLOCK)
    launch = lambda **more: forms_kernel[(PROGRAMS,)](  # noqa: E731
        x, out, 2, FORM=5, BLOCK=BLOCK, level="ptx", dump_tensor=dump, **more
    )
    launch()
    assert torch.equal(dump[BLOCK:], 2 * x[BLOCK : 2 * BLOCK]) and not dump[:BLOCK].any()
    launch(dump_value="y", dump_grid=3)
    assert torch.equal(dump, torch.cat([2 * x[3 * BLOCK :], 2 * x[BLOCK : 2 * BLOCK]]))
    with pytest.raises(triton_runner.DiagnosticError, match="one launch cannot record both"):
        launch(dump_value="%r1")
    dump = torch.zeros(BLOCK)
    _, x, y, _ = plain("ptx", dump_value="total", dump_tensor=dump, dump_grid=2)
    assert torch.equal(dump, (x + y)[2 * BLOCK : 3 * BLOCK])


def test_statements_in_an_artifact_print_nothing(capfd):
    x, out = inputs()
    text = forms_kernel.warmup(x, out, 2, FORM=5, BLOCK=BLOCK, grid=(1,)).asm["ttir"]
    assert "triton_runner.dump" in text
    for level in ("ttir", "ttgir", "ptx"):
        out.zero_()
        triton_runner.load(text, level=level)[(PROGRAMS,)](x, out, 2)
        assert torch.equal(out, 2 * x)
    assert "triton_runner.dump" not in capfd.readouterr().out


def test_gluon(capfd):
    gluon = pytest.importorskip("triton.experimental.gluon")
    kernel = triton_runner.jit(gluon.jit(_gluon_copy))
    x, out = inputs(n=4 * 128)
    for level in ("ttgir", "ptx"):
        dump = torch.zeros(3 * 128)
        kernel[(4,)](x, out, BLOCK=128, dump_tensor=dump, level=level)
        assert torch.equal(dump[128:], x.reshape(4, 128)[[1, 3]].reshape(-1)) and not dump[:128].any()
        kernel[(4,)](x, out, BLOCK=128, dump_tensor=dump, dump_value="x", dump_grid=2, level=level)
        assert torch.equal(dump, x.reshape(4, 128)[[2, 1, 3]].reshape(-1)) and torch.equal(out, x)
        assert "triton_runner.dump" not in capfd.readouterr().out


try:
    from triton.experimental.gluon import language as gl

    def _gluon_copy(in_ptr, out_ptr, BLOCK: gl.constexpr):
        layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
        offsets = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=layout)
        x = gl.load(in_ptr + offsets)
        dl.dump(x, BLOCK, 1)
        dl.dump_boundary(x, 2 * BLOCK)
        gl.store(out_ptr + offsets, x)
except ImportError:
    pass


@triton_runner.jit
def stated_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside)
    dl.dump_grids(x, offset=tl.program_id(0))
    y = tl.load(y_ptr + offsets, mask=inside)
    total = x + y
    dl.dump_boundary(total)
    dl.dump(total, 5, (tl.num_programs(0) - 1, 0))
    tl.store(out_ptr + offsets, total, mask=inside)


def test_switched_off_statements_cost_nothing(monkeypatch):
    """The same machine code as without them: plain_kernel is stated_kernel without its statements."""
    monkeypatch.setenv("TRITON_DISABLE_LINE_INFO", "1")

    def code(compiled):  # comments are aligned by the kernel's name
        return re.sub(r"\s*//.*", "", compiled.asm["ptx"]).replace(compiled.name, "kernel")

    x = torch.zeros(N)
    codes = []
    for kernel in (plain_kernel, stated_kernel):
        with triton_runner.using(dump=False):
            compiled = kernel[(PROGRAMS,)](x, x, torch.zeros(N), N, BLOCK=BLOCK)
        codes.append(code(compiled))
    assert codes[0] == codes[1] and "st.global" in codes[0]
    stated = stated_kernel[(PROGRAMS,)](x, x, torch.zeros(N), N, BLOCK=BLOCK)
    assert "triton_runner.dump" in stated.asm["ttir"], "they are there where they are not switched off"
    triton_runner.dumps()


@triton_runner.jit
def combine(a, b):
    dl.dump(a)
    return a + b


@triton_runner.jit
def combined_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    tl.store(out_ptr, tl.reduce(tl.load(x_ptr + tl.arange(0, BLOCK)), 0, combine))


def test_a_function_that_combines_has_nothing_to_dump():
    with pytest.raises(triton_runner.DiagnosticError, match="in a function that tt\\.reduce combines"):
        combined_kernel[(1,)](torch.ones(BLOCK), torch.zeros(1), BLOCK=BLOCK)


def test_outside_of_a_kernel():
    with pytest.raises(triton_runner.DiagnosticError, match=r"dl\.dump was called by Python itself"):
        dl.dump(torch.zeros(1))


@triton_runner.jit
def reassigned_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    acc = tl.zeros((BLOCK,), tl.float32)
    for i in range(n):
        acc = acc + tl.load(x_ptr + i * BLOCK + tl.arange(0, BLOCK))
    acc = acc * 2
    tl.store(out_ptr + tl.arange(0, BLOCK), acc)


@pytest.mark.parametrize("level", ["ttir", "ttgir", "ptx"])
def test_a_variable_is_its_value_in_the_deepest_loop(level):
    x, out, dump = torch.randn(N), torch.zeros(BLOCK), torch.zeros(BLOCK)
    reassigned_kernel[(1,)](x, out, PROGRAMS, BLOCK=BLOCK, level=level, dump_value="acc", dump_tensor=dump)
    assert torch.equal(2 * dump, out) and dump.any()
