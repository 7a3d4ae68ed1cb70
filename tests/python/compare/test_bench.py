"""Tests the benchmarks: what samples say, rows that are checked before they are timed, other interpreters,
reports. No time is asserted."""

import json
import os
import pathlib
import subprocess
import sys

import numpy
import pytest
import warm

pytest.importorskip("torch")
pytest.importorskip("triton")
from test_device_fake import fake  # noqa: F401  (a fixture)
from triton_runner import DiagnosticError
from triton_runner._pipeline import versions
from triton_runner.bench import clocks, cross_version, intervals, peers, report
from triton_runner.bench.rounds import Row, Section, WrongResult, check, measure

ROOT = pathlib.Path(__file__).resolve().parents[3]
SUBJECT = pathlib.Path(__file__).parents[1] / "helpers" / "subject_for_bench.py"


def made(rounds: int, factor: float, seed: int, drift: float = 0.0):
    """(samples of a row, those of its baseline): noise of 1 %, a spike in one of 50, a clock that drifts."""
    generator = numpy.random.default_rng(seed)
    clock = 1 + drift * numpy.linspace(0, 1, rounds)

    def samples(scale):
        noise = generator.lognormal(0, 0.01, rounds)
        spikes = numpy.where(generator.random(rounds) < 0.02, 10, 1)
        return scale * clock * noise * spikes * 1e-6

    return samples(factor), samples(1.0)


@pytest.mark.parametrize("drift", [0.0, 0.5])
def test_no_difference_is_none(drift):
    verdicts = [intervals.compare(*made(60, 1.0, seed, drift)).verdict for seed in range(300)]
    assert sum(verdict != intervals.UNKNOWN for verdict in verdicts) <= 300 * 0.09  # 95 % intervals


@pytest.mark.parametrize("drift", [0.0, 0.5])
@pytest.mark.parametrize("factor, verdict", [(1.02, "slower"), (0.98, "faster"), (3.0, "slower")])
def test_a_difference_of_2_percent_is_seen(drift, factor, verdict):
    found = [intervals.compare(*made(60, factor, seed, drift)) for seed in range(100)]
    assert all(one.verdict == verdict for one in found)
    inside = sum(one.low <= factor <= one.high for one in found)
    assert inside >= 88
    assert all(abs(one.ratio / factor - 1) < 0.02 for one in found)


def test_a_side_that_cannot_be_launched(tmp_path):
    (tmp_path / "k.py").write_text(
        "import triton, triton.language as tl\n@triton.jit\ndef k(x, N: tl.constexpr):\n    tl.store(x, N)\n"
    )
    side = f"{tmp_path / 'k.py'}:k"
    done = warm.cli("bench", "--device", "cpu", "--ab", side, side, "--grid", "1")
    assert done.returncode == 2 and f"--ab {side}: TypeError" in done.stderr, done.stderr
    assert "--arg is given once a parameter" in done.stderr


def test_few_rounds_say_nothing():
    one = intervals.compare(*made(9, 5.0, 1))
    assert one.verdict == "cannot tell" and one.ratio > 4
    with pytest.raises(ValueError, match="not of the same rounds"):
        intervals.compare([1.0, 2.0], [1.0])
    assert intervals.median_interval([3.0] * 20) == (3.0, 3.0, 3.0)


def test_rows_take_turns_and_wrong_ones_are_not_timed():
    order = []

    def row(name, error=None):
        def checked():
            if error:
                raise WrongResult(error)

        return Row(name, name, lambda: order.append(name) or 1.0, checked)

    section = Section("made", [row("a"), row("b"), row("c", "off by 3"), Row("d", skipped="no GPU")], "a")
    assert not check(section)
    measure(section, 3)
    assert order == ["a", "b", "a", "b", "b", "a", "a", "b"]  # one of each first, which does not count
    assert [len(r.samples) for r in section.rows] == [3, 3, 0, 0]
    assert section.row("c").wrong == "off by 3" and len(section.clocks) == 3
    told = report.as_dict(section)
    assert (
        told["rows"][1]["comparison"]["verdict"] == "cannot tell" and told["rows"][1]["samples"] == [1.0] * 3
    )
    assert [report.cells(section, r)[4] for r in section.rows] == [
        "baseline",
        "cannot tell",
        "wrong",
        "not run",
    ]


def test_clocks_of_a_gpu(tmp_path, monkeypatch):
    smi = tmp_path / "nvidia-smi"
    smi.write_text('#!/bin/sh\necho "$@" > $0.asked\necho "1755, 2619, 41, 120.50, 0x0000000000000005"\n')
    smi.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,3")
    found = clocks.read(on_gpu=True)
    assert {k: found[k] for k in ("sm_mhz", "memory_mhz", "celsius", "watts", "throttled")} == {
        "sm_mhz": 1755, "memory_mhz": 2619, "celsius": 41, "watts": 120.5, "throttled": 4}  # fmt: skip
    assert (tmp_path / "nvidia-smi.asked").read_text().endswith("--id 2\n")
    assert "SM 1755 MHz" in clocks.summary([found]) and "throttled in 1 of 1" in clocks.summary([found])
    smi.write_text("#!/bin/sh\nexit 9\n")
    assert "sm_mhz" not in clocks.read(on_gpu=True)
    with pytest.raises(RuntimeError, match="lock-gpu-clocks"), clocks.lock(1000):
        pass


def bench(*arguments, script=("-m", "triton_runner", "bench")):
    done = warm.run(
        [sys.executable, *script, *arguments], capture_output=True, text=True, cwd=ROOT,
        env={**os.environ, "TRITON_RUNNER_DEVICE": "cpu"},
    )  # fmt: skip
    return done


ARGUMENTS = ("--arg=f32[64]=iota", "--arg=f32[64]=1", "--arg=f32[64]=zeros", "--arg=i32=64")
QUICK = ("--rounds", "10", "--launches", "5")


def test_launch_latency(tmp_path):
    picture = tmp_path / "out.png"
    done = bench("--json", "--plot", str(picture), *QUICK, script=("benchmark/launch_latency/bench.py",))
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert [s["title"].split(", ")[1] for s in told["sections"]] == ["no arguments", "19 arguments"]
    for section in told["sections"]:
        rows = {row["name"]: row for row in section["rows"]}
        assert section["baseline"] == "triton.jit" and section["clocks"]
        timed = ("engine, from C++", "triton.jit", "CompiledKernel.run", "triton_runner.jit",
                 "triton_runner.load(.ttir)", *(f"triton_runner.jit, {level}_dir=" for level in
                 ("ttir", "ttgir", "llir", "ptx")))  # fmt: skip
        for name in timed:
            row = rows.pop(name)
            assert len(row["samples"]) == 10 and row["minimum"] <= row["median"] and row["launches"]
            assert not row["wrong"] and ("comparison" in row) == (name != "triton.jit")
        assert {name: row["skipped"] for name, row in rows.items()} == {
            "triton_runner.jit, cubin_dir=": "a binary is timed on a GPU only",
            "CuPy RawKernel": "CuPy needs a GPU",
        }
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "script, size", [("static_shape/matmul.py", "128"), ("attn/flash_attention/bench.py", "128")]
)
def test_kernels_at_every_level(script, size):
    done = bench("--json", "--size", size, *QUICK, script=(f"benchmark/{script}",))
    assert done.returncode == 0, done.stderr
    (section,) = json.loads(done.stdout)["sections"]
    timed = [row for row in section["rows"] if row["samples"]]
    assert len(timed) == 8 and not any(row["wrong"] for row in section["rows"])
    assert all(row["tflops"] > 0 for row in timed)
    assert "torch" in section["rows"][0]["launches"] and ".ptx" in timed[-1]["launches"]


def test_a_table_in_a_pipe():
    done = bench("launch_latency", *QUICK)
    assert done.returncode == 0
    assert "of triton.jit" in done.stdout and "not run" in done.stdout and "\x1b" not in done.stdout
    assert bench().returncode == 2


def test_two_kernels():
    case = "examples/exec/add_kernel.ptx"
    common = (
        "--grid",
        "1",
        *(f"--arg={a}" for a in ("f32[64]=iota", "f32[64]=1", "f32[64]=zeros", "i32=64")),
    )
    done = bench("--ab", case, case, *common, *QUICK)
    assert done.returncode == 0, done.stderr
    assert "A again (noise)" in done.stdout and "of A: " in done.stdout
    kernel = "examples/deploy/add_kernel.py:add_kernel"
    done = bench("--ab", kernel, case, *common, "-c", "BLOCK=64", "--json", *QUICK)
    assert done.returncode == 0, done.stderr
    (section,) = json.loads(done.stdout)["sections"]
    assert [len(row["samples"]) for row in section["rows"]] == [10] * 3
    for arguments, message in (
        ((kernel, "3.4.0"), "not one of each"),
        ((kernel, kernel), "needs --grid"),
        ((kernel, "x.txt"), "neither kernel.py:name"),
    ):
        refused = bench("--ab", *arguments)
        assert refused.returncode == 2 and message in refused.stderr


def test_two_kernels_that_differ(tmp_path):
    text = (ROOT / "examples" / "exec" / "add_kernel.ptx").read_text()
    other = tmp_path / "add_kernel.ptx"
    other.write_text(text.replace("add.f32", "sub.f32").replace("add.rn.f32", "sub.rn.f32"))
    assert other.read_text() != text
    done = bench("--ab", "examples/exec/add_kernel.ptx", str(other), "--grid", "1", *ARGUMENTS, *QUICK)
    assert done.returncode == 1 and "differs from A's by 2" in done.stdout


def test_the_driver_from_cpp(fake, tmp_path):  # noqa: F811
    log = tmp_path / "log.json"
    program = (
        "from triton_runner import _core\n"
        "raw = _core.bench.RawLaunch(b'.version 8.0', 'k', [4096, 7], (2, 1, 1), 128, 64)\n"
        "assert raw.burst(5, 3) > 0\n"
    )
    driver = {"LD_LIBRARY_PATH": str(fake), "FAKE_CUDA_LOG": str(log), "FAKE_CUDA_PARAMS": "8,4"}
    subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, **driver})
    launches = json.loads(log.read_text())["launches"]
    assert len(launches) == 5
    first = launches[0]
    assert (first["grid"], first["block"], first["shared"]) == ([2, 1, 1], [128, 1, 1], 64)
    assert first["params"] == [(4096).to_bytes(8, "little").hex(), (7).to_bytes(4, "little").hex()]


@pytest.mark.long
def test_another_interpreter():
    """This one in a process of its own, by its path."""
    done = bench("launch_latency", "--peer", sys.executable, "--json", *QUICK)
    assert done.returncode == 0, done.stderr
    section = json.loads(done.stdout)["sections"][1]
    rows = {row["name"]: row for row in section["rows"] if row["name"].startswith(sys.executable)}
    ours = next(row for row in section["rows"] if row["name"] == "triton.jit")
    assert [name.rpartition(": ")[2] for name in rows] == [
        "triton.jit",
        "CompiledKernel.run",
        "triton_runner.jit",
    ]
    for row in rows.values():
        assert len(row["samples"]) == len(ours["samples"]) == 10 and "Triton" in row["launches"]


def test_interpreters_that_do_not_answer(tmp_path):
    with pytest.raises(DiagnosticError, match="is not an interpreter, environment or release"):
        peers.Peer("nowhere", on_gpu=False)
    dead = tmp_path / "python"
    dead.write_text("#!/bin/sh\nexit 3\n")
    dead.chmod(0o755)
    with pytest.raises(DiagnosticError, match="ended with status 3"):
        peers.Peer(str(dead), on_gpu=False)
    with pytest.raises(DiagnosticError, match="sees no GPU"):
        peers.Peer(sys.executable, on_gpu=True)


def test_cross_version(tmp_path):
    out = tmp_path / "out"
    both = [sys.executable, str(pathlib.Path(sys.prefix))]
    status = cross_version.main(
        ["-k", str(SUBJECT), "-o", str(out), "--envs", *both, "--rounds", "10", "--csv", "--md",
         "--capture-inputs", "--save-cubin", "--no-table"]
    )  # fmt: skip
    assert status == 0
    told = json.loads((out / "report.json").read_text())
    assert [s["title"] for s in told["sections"]] == [
        "subject_for_bench.py, M 256",
        "subject_for_bench.py, M 1024",
    ]
    assert all(len(row["samples"]) == 10 for s in told["sections"] for row in s["rows"])
    lines = (out / "report.csv").read_text().splitlines()
    assert len(lines) == 5 and lines[0].startswith("size,environment,median_ms")
    assert (out / "report.md").read_text().count("|---") == 3
    assert (out / "inputs-0.npz").exists()


@pytest.mark.parametrize(
    "arguments, sizes",
    [
        (["--square", "16", "32"], [{"M": 16, "N": 16, "K": 16}, {"M": 32, "N": 32, "K": 32}]),
        (["--sweep", "M", "-v", "1", "2", "--fixed", "N=4", "K=f16"], [
            {"M": 1, "N": 4, "K": "f16"}, {"M": 2, "N": 4, "K": "f16"}]),
        (["--product", "-d", "M", "1", "2", "-d", "N", "3"], [{"M": 1, "N": 3}, {"M": 2, "N": 3}]),
        ([], [{"M": 256}, {"M": 1024}]),
    ],
)  # fmt: skip
def test_sizes(arguments, sizes):
    options = cross_version.parser().parse_args(["-k", str(SUBJECT), *arguments])
    assert cross_version.sizes_of(options) == sizes


def test_environments_by_their_prefix(tmp_path, monkeypatch, capsys):
    for name in ("triton-b", "triton-a", "other"):
        folder = tmp_path / "envs" / name / "bin"
        folder.mkdir(parents=True)
        (folder / "python").symlink_to(sys.executable)
    monkeypatch.setenv("MAMBA_ROOT_PREFIX", str(tmp_path))
    for name in ("CONDA_EXE", "MAMBA_EXE"):
        monkeypatch.delenv(name, raising=False)
    options = cross_version.parser().parse_args(["-k", str(SUBJECT)])
    assert cross_version.environments(options) == ["triton-a", "triton-b"]
    options.env_prefix = "none-"
    with pytest.raises(DiagnosticError, match="no conda environment"):
        cross_version.environments(options)
    assert cross_version.main(["-k", str(SUBJECT), "-e", "nowhere", "-o", str(tmp_path)]) == 2
    assert "is not an interpreter" in capsys.readouterr().err


@pytest.mark.long
def test_releases():
    """Two releases that this machine has, by this package's engine."""
    there = [row["version"] for row in versions.listed() if row["folder"]]
    if len(there) < 2:
        pytest.skip(
            "fewer than two releases of Triton are in the cache: triton-runner versions add 3.4.0 3.8.0"
        )
    done = bench("--ab", there[0], there[-1], "--size", "128", "--json", *QUICK)
    assert done.returncode == 0, done.stderr
    (section,) = json.loads(done.stdout)["sections"]
    assert [len(row["samples"]) for row in section["rows"]] == [10] * 3
    assert f"Triton {there[0]}" in section["rows"][0]["launches"]
