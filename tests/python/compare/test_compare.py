"""Tests compare: its expressions, its cells, its figures against resources(), and that no finished cell is
lost."""

import collections
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import types
from pathlib import Path

import dask_cluster
import numpy
import psutil
import pytest
import warm

triton = pytest.importorskip("triton")
import triton_runner  # noqa: E402
from triton_runner import DiagnosticError  # noqa: E402
from triton_runner._base import expression  # noqa: E402
from triton_runner._kernel.cells import cells, store  # noqa: E402
from triton_runner._pipeline.constants import constant  # noqa: E402
from triton_runner.verbs.compare import table  # noqa: E402

KERNEL = """
import triton, triton.language as tl
@triton.jit
def scale(x, y, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * factor, mask=i < n)

@triton.jit
def total(x, y, n, BLOCK: tl.constexpr):
    sums = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        sums += tl.load(x + i, mask=i < n)
    tl.store(y, tl.sum(sums, 0))

@triton.jit
def outside(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i))

@triton.jit
def refused(x, y, n, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK < 200)
    tl.store(y, tl.load(x))
"""
LAUNCH = ["--arg", "f32[500]=rand", "--arg", "f32[500]", "--arg", "500", "--arg", "2.0", "--grid",
          "cdiv(n, BLOCK)"]  # fmt: skip
GRID = "num_warps=1,2,4,8;num_stages=1,2;BLOCK=64,128"  # 16 cells


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_RUNNER_STORE", str(tmp_path / "store"))
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL)
    return path


def run(*arguments, check=None, **options):
    done = warm.cli("compare", *arguments, **options)
    assert check is None or done.returncode == check, done.stderr + done.stdout
    return done


def told(*arguments, check=0, **options):
    return json.loads(run(*arguments, "--json", check=check, **options).stdout)


# --- expressions --------------------------------------------------------------------------------------------

MINE = {"shared": 120, "registers": 64, "occupancy": 0.5, "equal": True, ("count", "LDG"): 7}
BASE = {"shared": 100, "registers": 64, "occupancy": 1.0, "equal": True, ("count", "LDG"): 9}


def figure(name, of_base):
    values = BASE if of_base else MINE
    if name not in values:
        raise expression.Unknown(name)
    return values[name]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("shared > 1.1 * base", True),
        ("shared > 1.25 * base", False),
        ("base * 1.1 < shared", True),
        ("registers > base", False),
        ("registers > base or shared > base", True),
        ("registers > base and shared > base", False),
        ("not (registers > base) and shared == 120", True),
        ("occupancy < base.occupancy", True),
        ("shared - base.shared >= 20 and shared - base.shared < 21", True),
        ("count('LDG') != base", True),
        ('count("LDG") > 6', True),
        ("max(shared, registers) // 7 % 4 == 1", True),
        ("-shared < 0", True),
        ("2 + 3 * 4 == 14", True),
        ("(2 + 3) * 4 == 20", True),
        ("10 - 3 - 2 == 5", True),
        ("1e3 / 8 == 125", True),
        ("not equal", False),
        ("cdiv(shared, 50) == 3", True),
    ],
)
def test_expressions(text, value):
    assert bool(expression.parse(text, "x", MINE).value(figure)) is value


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it ends too early"),
        ("shared >", "it ends too early"),
        ("shared > 1 1", "found '1'"),
        ("(shared > 1", "'(' was never closed"),
        ("shared $ 1", "found '$'"),
        ("sharde > 1", "there is no figure 'sharde'"),
        ("base.sharde > 1", "there is no figure 'sharde'"),
        ("other.shared > 1", "'other' has no figures"),
        ("shared > registers * base", "base of which figure?"),
        ("1 > base", "base of which figure?"),
        ("shared < and 3", "found 'and'"),
    ],
)
def test_bad_expressions(text, why):
    with pytest.raises(DiagnosticError) as caught:
        expression.parse(text, "x", ("shared", "registers"))
    assert why in str(caught.value)


@pytest.mark.parametrize("text", ["shared / 0 > 1", "foo(shared) > 1", "count(shared) > 1", "min(1) < 2"])
def test_what_cannot_be_computed(text):
    with pytest.raises(DiagnosticError):
        expression.parse(text, "x").value(figure)


def test_configurations():
    assert cells.parse_configs("num_warps=4,8;num_stages=1..3", constant) == [
        {"num_warps": w, "num_stages": s} for w in (4, 8) for s in (1, 2, 3)
    ]
    assert cells.parse_configs("T=tl.float16,x;F=0.5", constant)[1] == {"T": "x", "F": 0.5}
    for bad in ("num_warps", "num_warps=", "4=5", "a=3..1"):
        with pytest.raises(DiagnosticError):
            cells.parse_configs(bad, constant)


# --- figures and results ------------------------------------------------------------------------------------


def test_figures_are_those_of_resources(file):
    x, y = numpy.arange(500, dtype=numpy.float32), numpy.zeros(500, numpy.float32)
    found = triton_runner.compare(
        f"{file}:scale", [x, y, 500, 3.0], grid="cdiv(n, BLOCK)", targets="cuda:80,hip:gfx942",
        configs=[{"BLOCK": 64}, {"BLOCK": 128, "num_warps": 2}],
    )  # fmt: skip
    assert [row.name for row in found] == [
        f"{triton.__version__} {target} {config}"
        for target in ("cuda:80", "hip:gfx942")
        for config in ("BLOCK=64", "BLOCK=128 num_warps=2")
    ]
    made = triton_runner.compile(
        f"{file}:scale", "*fp32:16, *fp32:16, i32, fp32", {"BLOCK": 64}, target="cuda:80"
    )
    needs, row = triton_runner.resources(made), found.rows[0]
    assert row.figures["registers"] == needs.registers and row.figures["code"] == needs.code_bytes
    assert row.mix == needs.instructions and row.ptx["ld.global.b32"] > 0
    assert row.figures["occupancy"] == needs.occupancy["warps"] / needs.occupancy["most_warps"]
    assert all(row.figures["equal"] and row.figures["difference"] == 0 for row in found)
    assert found.rows[2].figures["waves"] and found.rows[2].figures["sgprs"]
    assert not y.any()  # the caller's arrays are not touched


def test_results_that_differ_say_by_how_much(file):
    """Sums of another order have other bits; a kernel that is right is near."""
    found = told(
        f"{file}:total", "--arg", "f32[5000]=rand", "--arg", "f32[1]", "--arg", 5000, "--grid", 1,
        "--configs", "BLOCK=64,512", "--fail-if", "not equal", "--fail-if", "difference > 1e-3", check=1,
    )  # fmt: skip
    other = found["cells"][1]["figures"]
    assert other["equal"] is False and 0 < other["difference"] < 1e-4
    assert [len(rows) for rows in found["fail_if"].values()] == [1, 0]


def test_levels_are_configurations(file):
    found = told(f"{file}:scale", "-c", "BLOCK=64", *LAUNCH, "--configs", "level=ptx,cubin", "-t", "cuda:90")
    assert [cell["config"]["level"] for cell in found["cells"]] == ["ptx", "cubin"]
    assert found["cells"][1]["figures"]["equal"] is True and not found["cells"][1]["unrun"]
    for words, why in (
        (LAUNCH, "does not execute that"),
        (["-s", "*fp32, *fp32, i32, fp32, 64"], "of a launch"),
    ):
        bad = run(
            f"{file}:scale", "-c", "BLOCK=64", *words, "--configs", "level=sass", "-t", "cuda:90", check=2
        )
        assert why in bad.stderr


def test_what_a_launch_executes_is_a_figure(file):
    """500 f32 lie in 63 sectors, which are read and written: by four warps once, by one in four strides, each
    of which touches all of them. The gate names the figures, so that they are counted."""
    configs = ("--configs", "num_warps=1,4", "-c", "BLOCK=128", "-t", "cuda:90")
    gates = ("--fail-if", "executed > base", "--fail-if", "conflicts > 0")
    found = told(f"{file}:scale", *LAUNCH, *configs, *gates, check=1)
    one, four = (cell["figures"] for cell in found["cells"])
    assert four["sectors"] == 2 * 63 and one["sectors"] == 4 * 2 * 63
    assert one["conflicts"] == one["spilled"] == 0
    assert 0 < one["executed"] < four["executed"]
    assert [len(rows) for rows in found["fail_if"].values()] == [1, 0]
    without = told(f"{file}:scale", *LAUNCH, *configs)["cells"][0]["figures"]
    assert without["executed"] is None and without["registers"] == one["registers"]
    done = run(f"{file}:scale", "-s", "*fp32, *fp32, i32, fp32", "-c", "BLOCK=64", "--counts", check=2)
    assert "is counted in a launch" in done.stderr


def test_the_time_on_a_chip_is_a_figure(file):
    """Four times as many elements for each program take longer; the same launch is as long as its base."""
    x, y = numpy.zeros(1 << 16, numpy.float32), numpy.zeros(1, numpy.float32)
    found = triton_runner.compare(
        f"{file}:total", [x, y, 1 << 14], grid=1, targets="cuda:90", chip="h200",
        configs=[{"BLOCK": 1024}, {"BLOCK": 1024, "num_warps": 8}, {"BLOCK": 64, "num_warps": 1}], jobs=1,
    )  # fmt: skip
    base, _, few = (row.figures for row in found)
    assert base["cycles"] > 2000 and base["microseconds"] > 1 and base["bound_by"]
    assert few["cycles"] > 2 * base["cycles"]
    failing = [row.name for row, _ in found.failing("cycles > 1.5 * base")]
    assert failing == [found.rows[2].name] and found.failing("cycles > 1.05 * base")
    assert "cycles*" not in str(found).splitlines()[0] and "note: cycles are estimates for h200" in str(found)
    (again,) = triton_runner.compare(
        f"{file}:total", [x, y, 1 << 14], grid=1, targets="cuda:80", chip="h200", configs=[{"BLOCK": 64}]
    )
    assert again.figures["cycles"] is None and "no cycles" in again.notes[0]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--chip", "h2000"], "unknown chip 'h2000'"),
        (["--fail-if", "cycles > base"], "names cycles, which needs a chip"),
    ],
)
def test_chips_that_are_none(file, words, why):
    answer = warm.invoke("compare", f"{file}:scale", "-c", "BLOCK=64", *LAUNCH, *words)
    assert answer.exit_code == 2 and why in answer.stderr


def test_a_trap_is_a_result(file):
    arguments = ["--arg", "f32[500]=rand", "--arg", "f32[500]", "--arg", "500", "--grid", "1"]
    found = told(
        f"{file}:outside", *arguments, "--configs", "BLOCK=64,1024", "--fail-if", "not equal", check=1
    )
    assert found["cells"][0]["trap"] is None
    assert "out of bounds" in found["cells"][1]["trap"] and found["cells"][1]["figures"]["equal"] is False


def test_a_cell_that_does_not_compile_fails_the_run(file):
    done = run(f"{file}:refused", "-s", "*fp32, *fp32, i32", "--configs", "BLOCK=128,256", check=1)
    first, second, *rest = done.stdout.splitlines()[1:]
    assert "failed" not in first and "failed: " in second and rest[-1].strip() == "^"


def test_what_a_release_cannot_is_no_failure(file):
    """3.2 does not know sm_100: said from the table, with nothing fetched or measured."""
    found = told(f"{file}:scale", *LAUNCH, "-c", "BLOCK=64", "--versions", "3.2.0", "--targets", "cuda:100")
    assert "does not compile for cuda:100" in found["cells"][0]["gap"] and found["computed"] == 0


def test_the_gate_against_an_earlier_run(file, tmp_path):
    earlier = tmp_path / "earlier.json"
    arguments = [f"{file}:scale", *LAUNCH, "--configs", "BLOCK=64,128"]
    earlier.write_text(run(*arguments, "--json", check=0).stdout)
    gate = ["--base", earlier, "--fail-if", "instructions > base", "--fail-if", "not equal"]
    assert told(*arguments, *gate)["fail_if"] == {"instructions > base": [], "not equal": []}
    file.write_text(KERNEL.replace("* factor", "* factor + tl.sin(1.0 * i)"))
    worse = told(*arguments, *gate, check=1)
    assert [len(rows) for rows in worse["fail_if"].values()] == [2, 2]
    assert "(base " in worse["fail_if"]["instructions > base"][0]["why"]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--configs", "num_wraps=4"], "no compile option 'num_wraps'"),
        (["--versions", "1.0.0"], "there is no Triton release '1.0.0'"),
        (["--base", "num_stages=9"], "'num_stages' is compared nowhere"),
        (["--base", "absent.json"], "cannot read absent.json"),
        (["--fail-if", "speed > base"], "there is no figure 'speed'"),
        (["--grid", "cdiv(m, 64)"], "no number 'm'"),
        (["--arg", "3"], "takes 4 arguments, and 5 were given"),
        (["--executor", "ssh://x"], "is not of the form dask://host:port"),
        (["--jobs", "0"], "0 is not in the range"),
    ],
)
def test_bad_usage(file, arguments, why):
    done = run(f"{file}:scale", *LAUNCH, "-c", "BLOCK=64", *arguments)
    assert done.returncode == (1 if "option" in why else 2)
    assert why in " ".join((done.stderr + done.stdout).split()) or "compile option" in done.stdout


# --- nothing is lost ----------------------------------------------------------------------------------------


def test_a_second_run_measures_nothing_and_a_change_all(file):
    arguments = [f"{file}:scale", *LAUNCH, "--configs", "BLOCK=64;num_warps=1,2"]
    first, second = told(*arguments), told(*arguments)
    assert (first["computed"], first["kept"], second["computed"], second["kept"]) == (2, 0, 0, 2)
    assert first["cells"] == second["cells"]
    file.write_text(KERNEL.replace("* factor", "+ factor"))
    assert told(*arguments)["computed"] == 2
    file.write_text(KERNEL)
    assert told(*arguments)["computed"] == 0
    changed = {**os.environ, "DISABLE_LLVM_OPT": "1"}
    assert told(*arguments, env=changed)["computed"] == 2
    same = {**os.environ, "MLIR_ENABLE_TIMING": "0", "TRITON_CACHE_DIR": str(file.parent)}
    assert told(*arguments, env=same)["computed"] == 0


def kept_cells(place: Path) -> int:
    return len([path for path in place.glob("store/cells/*/*") if not path.name.startswith(".")])


@pytest.mark.parametrize("jobs", [3, pytest.param(8, marks=pytest.mark.long)])
def test_killed_in_the_middle(file, jobs):
    """Some processes, kill -9 of the one that leads them: what was finished is there, what it had started
    ends, and the next run does the rest."""
    arguments = [f"{file}:scale", *LAUNCH, "--configs", GRID, "--jobs", str(jobs), "--json"]
    command = [sys.executable, "-m", "triton_runner", "compare", *arguments]
    leader = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while kept_cells(file.parent) < 5:
        assert leader.poll() is None
        time.sleep(0.01)
    helpers = psutil.Process(leader.pid).children(recursive=True)
    assert len(helpers) >= jobs
    leader.send_signal(signal.SIGKILL)
    leader.wait()
    _, alive = psutil.wait_procs(helpers, timeout=30)
    assert not alive
    there = kept_cells(file.parent)
    assert 5 <= there < 16
    after = told(*arguments[:-1])
    assert (after["computed"], after["kept"], len(after["cells"])) == (16 - there, there, 16)
    assert all(cell["figures"]["equal"] for cell in after["cells"])


@pytest.mark.long
def test_a_worker_that_is_killed_is_replaced(file):
    arguments = [f"{file}:scale", *LAUNCH, "--configs", GRID, "--jobs", "2", "--json"]
    command = [sys.executable, "-m", "triton_runner", "compare", *arguments]
    leader = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    killed, seen = 0, 0
    while leader.poll() is None and killed < 3:
        if kept_cells(file.parent) > seen:
            seen = kept_cells(file.parent)
            for one in psutil.Process(leader.pid).children():
                with contextlib.suppress(psutil.NoSuchProcess):
                    one.kill()
                    killed += 1
                    break
        time.sleep(0.01)
    found = json.loads(leader.communicate()[0])
    assert killed == 3 and leader.returncode == 0
    assert all(cell["figures"]["equal"] for cell in found["cells"]) and found["computed"] == 16


@pytest.mark.long
def test_a_full_disk_loses_nothing(file):
    """A disk that has room for some of the cells: the table is whole, the store has no broken cell, and with
    more room the next run measures what could not be kept."""
    (place := file.parent / "store").mkdir()
    command = [sys.executable, "-m", "triton_runner", "compare", f"{file}:scale", *LAUNCH]
    script = """
        mount -t tmpfs -o size=16k none "$0" || exit 99
        "$@" > first.txt 2> first.err || exit 1
        find "$0" -name ".*" -type f > left.txt
        mount -o remount,size=1m "$0"
        "$@" --json > second.json && "$@" --json > third.json
    """
    command += ["--configs", "BLOCK=64,128;num_warps=1,2,4,8"]
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script, place, *command],
        cwd=file.parent,
        capture_output=True,
        text=True,
    )
    if done.returncode == 99 or "unshare" in done.stderr:
        pytest.skip(f"no small disk can be mounted here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    first, why, left = ((file.parent / name).read_text() for name in ("first.txt", "first.err", "left.txt"))
    assert "No space left on device" in why and first.count("equal") == 7 and left == ""
    second, third = (json.loads((file.parent / name).read_text()) for name in ("second.json", "third.json"))
    assert 1 <= second["kept"] < 8 and second["kept"] + second["computed"] == 8
    assert third["kept"] == 8 and third["cells"] == second["cells"]


def test_a_broken_cell_is_measured_again(tmp_path):
    place = store.Store(tmp_path)
    key = store.key_of([1, "a"])
    assert place.get(key) is None and place.put(key, {"figures": {}}) and place.get(key) == {"figures": {}}
    path = place._path("cells", key)
    for broken in (path.read_bytes()[:-3], b"", b"[]", b'{"key": "other", "result": {}}'):
        path.write_bytes(broken)
        assert place.get(key) is None
    name = place.put_bytes(b"abc")
    assert place.get_bytes(name) == b"abc"
    place._path("values", name).write_bytes(b"abd")
    assert place.get_bytes(name) is None
    assert place.size()[0] == 1 and place.clear() == 1 and place.size() == (0, 0)


# --- a cluster ----------------------------------------------------------------------------------------------


@pytest.fixture
def cluster(tmp_path):
    """(address, workers) of three worker processes."""
    with dask_cluster.running(tmp_path) as running:
        yield running


def test_on_a_cluster_with_a_worker_killed(file, cluster):
    address, workers = cluster
    arguments = [f"{file}:scale", *LAUNCH, "--configs", GRID, "--executor", address, "--json"]
    command = [sys.executable, "-m", "triton_runner", "compare", *arguments]
    leader = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    while kept_cells(file.parent) < 4:
        assert leader.poll() is None
        time.sleep(0.02)
    workers[0].kill()
    found = json.loads(leader.communicate()[0])
    assert leader.returncode == 0 and found["computed"] == 16
    assert all(cell["figures"]["equal"] for cell in found["cells"])
    here = told(*arguments[:-3])  # the same cells as measured on this machine
    assert here["kept"] == 16


def test_what_is_worse_than_the_base_has_a_star():
    """More registers, less occupancy; not fewer registers, and nothing without a base."""

    def row(base, registers, occupancy):
        figures = collections.defaultdict(lambda: None, registers=registers, occupancy=occupancy)
        none = dict.fromkeys(("gap", "error", "crash", "refused", "trap", "unrun", "outputs"))
        return types.SimpleNamespace(
            release="3.9.0",
            target="cuda:90",
            config={},
            figures=figures,
            base=base,
            notes=[],
            **none,
        )

    base = row(None, 32, 0.5)
    _, texts = table.cells_of([base, row(base, 40, 0.25), row(base, 24, 0.75)])
    assert [worse[2:4] for _, worse, _ in texts] == [[False, False], [True, True], [False, False]]

    class Rows(list):
        is_judged = True

    assert "40*" in table.lines(Rows([base, row(base, 40, 0.25)]))[2]
