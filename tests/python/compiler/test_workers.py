"""Tests workers: how requests go there and back, how they die, and the folder of releases."""

import ast
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import zipfile

import pytest
import warm

triton = pytest.importorskip("triton")
import kernels_for_compile as kernels  # noqa: E402
import triton_runner  # noqa: E402
from kernels_for_tests import plain_add  # noqa: E402
from triton_runner import DiagnosticError  # noqa: E402
from triton_runner._base.errors import fail  # noqa: E402
from triton_runner._pipeline import versions, workers  # noqa: E402
from triton_runner._worker import child  # noqa: E402

ADD = {"signature": "*fp32:16, *fp32:16, *fp32:16, i32", "constexprs": {"BLOCK": 128}, "target": "cuda:90"}
INSTALLED = triton.__version__


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """The folder of releases, empty, and its neighbour of reproducers."""
    monkeypatch.setenv("TRITON_RUNNER_VERSIONS", str(tmp_path / "versions"))
    yield tmp_path / "versions"
    workers.close_all()


def add(**more):
    return triton_runner.compile(plain_add, **{**ADD, **more}, isolate=True)


def test_messages_arrive_whole_in_any_pieces():
    sent = [{"asm": {"ptx": "x" * 500, "cubin": bytes(range(256))}}, {"stage": None}, {"n": [1, 2.5, "é"]}]
    stream = b"".join(map(child.pack, sent))
    for size in (1, 7, 4096, len(stream)):
        receiver, got = child.Receiver(), []
        for at in range(0, len(stream), size):
            got += receiver.feed(stream[at : at + size])
        assert got == sent


def test_a_worker_stays_warm_and_compiles_each_in_a_process_of_its_own():
    first = add()
    process = workers.worker(INSTALLED)._process.pid
    assert add().asm == first.asm and workers.worker(INSTALLED)._process.pid == process
    os.kill(process, signal.SIGKILL)
    workers.worker(INSTALLED)._process.wait()
    assert add().asm == first.asm and workers.worker(INSTALLED)._process.pid != process


def test_several_threads_share_a_worker():
    made = []
    threads = [threading.Thread(target=lambda: made.append(add().asm["ptx"])) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 3 and len(set(made)) == 1


def test_a_forked_process_has_workers_of_its_own():
    add()
    pid = os.fork()
    if pid == 0:
        os._exit(0 if not workers._warm and add().level == "cubin" else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert add().level == "cubin"  # the parent's answers were not taken


def test_the_environment_goes_along(monkeypatch):
    assert "IR Dump Before" not in add(to="ttir").output
    monkeypatch.setenv("MLIR_ENABLE_DUMP", "1")
    assert "IR Dump Before" in add(to="ttir").output
    monkeypatch.delenv("MLIR_ENABLE_DUMP")
    assert "IR Dump Before" not in add(to="ttir").output


def test_what_a_program_prints_is_no_message(tmp_path):
    program = tmp_path / "loud.py"
    program.write_text(
        "import os, triton, triton.language as tl\n"
        "print('out'); os.write(1, b'raw'); os.system('echo child')\n"
        "@triton.jit\ndef one(x):\n    tl.store(x, 1.0)\n"
    )
    made = triton_runner.compile(f"{program}:one", "*fp32", target="cuda:90", to="ttir", isolate=True)
    assert made.level == "ttir" and all(word in made.output for word in ("out", "raw", "child"))


def died(*arguments, **keywords):
    with pytest.raises(workers.WorkerError) as caught:
        triton_runner.compile(*arguments, **keywords, isolate=True)
    return caught.value


def test_a_death_is_told_with_a_folder_that_repeats_it(cache):
    llir = triton_runner.compile(plain_add, **ADD, to="llir").asm["llir"]
    broken = llir.replace("define ptx_kernel", "define ptx_kernel no_such_attribute", 1)
    error = died(broken, target="cuda:90")
    assert error.stage == "ptx" and "died of SIGABRT" in str(error) and "in stage ptx" in str(error)
    assert "no_such_attribute" in error.output or "expected" in error.output
    folder = pathlib.Path(error.reproducer)
    assert folder.parent == cache.parent / "reproducers"
    request = json.loads((folder / "request.json").read_text())
    assert request["target"] == "cuda:90" and "no_such_attribute" in request["text"]
    again = subprocess.run(["sh", folder / "run.sh"], capture_output=True, text=True)
    assert again.returncode == -signal.SIGABRT or again.returncode == 128 + signal.SIGABRT
    assert "stage ptx" in again.stderr and error.output.splitlines()[0] in again.stderr
    assert add().level == "cubin"  # the worker goes on


def test_of_reproducers_the_newest_stay(monkeypatch):
    monkeypatch.setattr(workers, "_KEPT_REPRODUCERS", 2)
    one = workers.worker(INSTALLED)
    places = [workers.write_reproducer(one, {"do": "job"}, "") for _ in range(4)]
    assert len(set(places)) == 4 and [os.path.isdir(p) for p in places] == [False, False, True, True]


def test_a_request_that_takes_too_long_is_ended():
    big = {"constexprs": {"BLOCK": 1024, "STEPS": 400}, "target": "cuda:90"}
    error = died(kernels.many_steps, "*fp32", **big, timeout=1)
    assert re.search(r"it was ended after \d+\.\d s", str(error)) and "timeout= allows for more" in str(error)


def test_waits_for_a_core_are_no_time_of_a_process(monkeypatch):
    """A time-out on a machine that others use."""

    def answer(request, note):
        time.sleep(request["seconds"])
        return "it ran to its end"

    monkeypatch.setattr(child, "answer", answer)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        monkeypatch.setattr(child, "waited", lambda process: 3600.0)
        said = child.serve_one({"timeout": 0.1, "seconds": 1}, theirs.fileno())
        assert said.get("result") == "it ran to its end", said
        monkeypatch.setattr(child, "waited", lambda process: 0.0)
        said = child.serve_one({"timeout": 0.1, "seconds": 3600}, theirs.fileno())
        assert said["timeout"] and "result" not in said


@pytest.mark.skipif(not os.path.exists("/proc/self/schedstat"), reason="the kernel does not count waits")
def test_how_long_a_process_waits_for_a_core():
    """Twice as many as there are cores, on one core: each waits about half of its time."""
    program = "import os, time\nos.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\nwhile True: pass"
    spinning = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(2)]
    try:
        while min(child.waited(one.pid) for one in spinning) < 0.2:
            time.sleep(0.05)
    finally:
        for one in spinning:
            one.kill()
            one.wait()
    assert child.waited(spinning[0].pid) == 0.0
    assert add().level == "cubin"


def test_a_program_that_exits_is_told(tmp_path):
    program = tmp_path / "leaves.py"
    program.write_text("import sys\nprint('going', file=sys.stderr)\nsys.exit(3)\n")
    assert "SystemExit: 3" in str(died(f"{program}:k", "", target="cuda:90"))
    program.write_text("import os\nos.write(2, b'gone\\n')\nos._exit(4)\n")
    error = died(f"{program}:k", "", target="cuda:90")
    assert "it ended with status 4" in str(error) and "gone" in error.notes


def test_expanding_releases():
    assert versions.expand("3.4.0") == ["3.4.0"]
    assert versions.expand("3.3.0..3.5.0") == ["3.3.0", "3.3.1", "3.4.0", "3.5.0"]
    assert versions.expand("3.9.0,3.0.0..3.1.0") == ["3.9.0", "3.0.0", "3.1.0"]
    assert len(versions.expand("all")) == 10 and "3.3.0" not in versions.expand("all")
    assert versions.key("3.10.0") > versions.key("3.9.0+git1")
    with pytest.raises(DiagnosticError, match=r"no Triton release '3\.3'"):
        versions.expand("3.3..3.4.0")


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A package index that has one release: a wheel of Triton without a compiler."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    info = "triton-3.4.0.dist-info"
    files = {
        "triton/__init__.py": "__version__ = '3.4.1'\n",
        **{f"triton/{name}.py": "" for name in ("backends", "compiler", "language", "runtime")},
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: triton\nVersion: 3.4.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(wheels / "triton-3.4.0-py3-none-any.whl", "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PATH", str(tmp_path))  # no other Python, no uv


def test_a_release_is_fetched_once_listed_and_removed(index, cache, capfd):
    assert versions.find("3.4.0") is None
    folder, python = versions.ensure("3.4.0")
    assert python == sys.executable and os.path.isfile(f"{folder}/triton/__init__.py")
    assert "fetching Triton 3.4.0" in capfd.readouterr().err
    assert versions.ensure("3.4.0") == (folder, python) and not capfd.readouterr().err
    assert [row["version"] for row in versions.listed()] == ["3.4.0", INSTALLED]
    assert versions.remove("3.4.0") and not versions.remove("3.4.0")
    assert [row["version"] for row in versions.listed()] == [INSTALLED]


def test_a_release_that_cannot_be_fetched_leaves_nothing(index, cache):
    with pytest.raises(DiagnosticError, match=r"Triton 3\.5\.1 has no wheel for Python .*\n.*uv"):
        versions.ensure("3.5.1")
    assert [path.name for path in cache.iterdir()] == ["3.5.1.lock"]


def test_a_folder_that_holds_another_release_is_told(index):
    with pytest.raises(DiagnosticError, match=r"does not start: ImportError: 3\.4\.1 was imported") as caught:
        triton_runner.compile(plain_add, **ADD, triton="3.4.0")
    assert "versions remove 3.4.0" in str(caught.value)


KERNEL = pathlib.Path(__file__).parents[1] / "helpers" / "kernels_for_tests.py"
COMPILE = ["compile", f"{KERNEL}:plain_add", "-s", ADD["signature"], "-c", "BLOCK=128", "-t", "cuda:90"]


def test_compile_on_the_command_line(tmp_path):
    done = warm.cli(*COMPILE, "--to", "ttgir", "-O", "num_warps=2", "--print")
    assert done.returncode == 0 and '"ttg.num-warps" = 2' in done.stdout
    done = warm.cli(*COMPILE, "--save", tmp_path, "--json")
    row = json.loads(done.stdout)
    assert row["level"] == "cubin" and row["release"] == INSTALLED and len(row["files"]) == 7
    assert row["bytes"]["cubin"] == (tmp_path / "_add.cubin").stat().st_size
    done = warm.cli("compile", tmp_path / "_add.ttgir", "--to", "ptx")
    assert done.returncode == 0 and "ttgir" in done.stdout and "ptx" in done.stdout
    assert warm.cli(*COMPILE, "-c", "BLOCK=96").returncode == 2
    assert warm.cli(*COMPILE, "-c", "BLOCK").returncode == 2
    done = warm.cli(*COMPILE[:-1], "cuda:120", "--triton", f"3.0.0,{INSTALLED}", "--json")
    wrong, right = json.loads(done.stdout)
    assert done.returncode == 1 and "sm_120" in wrong["error"] and right["level"] == "cubin"


@pytest.mark.parametrize("tag, runs", [("own", True), ("cp27", False)])
def test_the_interpreter_that_fetched_a_release_may_be_gone(tag, runs, cache, tmp_path):
    own = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    place = cache / f"3.4.0-{own}"
    (place / "triton").mkdir(parents=True)
    (place / "triton" / "__init__.py").touch()
    (place / "triton_runner.json").write_text(json.dumps({"python": str(tmp_path / "gone" / "python")}))
    (place / "triton-3.4.0.dist-info").mkdir()
    python = own if tag == "own" else tag
    (place / "triton-3.4.0.dist-info" / "WHEEL").write_text(f"Tag: {python}-{python}-linux_x86_64\n")
    assert versions.find("3.4.0") == ((str(place), sys.executable) if runs else None)
    assert [row["python"] for row in versions.listed()] == [sys.executable if runs else None, sys.executable]


def test_versions_on_the_command_line():
    done = warm.cli("versions")
    assert done.returncode == 0 and f"{INSTALLED}" in done.stdout and "to fetch: 3.0.0" in done.stdout
    [row] = json.loads(warm.cli("versions", "ls", "--json").stdout)
    assert row["version"] == INSTALLED
    assert warm.cli("versions", "add", "4.0.0").returncode == 2
    assert warm.cli("versions", "add", INSTALLED).stdout == f"{INSTALLED} is installed\n"
    assert warm.cli("versions", "remove", "3.4.0").returncode == 1


def test_an_error_of_ours_in_a_kernel_is_told_by_its_message():
    """Triton's front end has the repr of what a kernel raises."""

    class Refused(Exception):
        src, node = "def k():\n    f()\n", ast.parse("f()").body[0]

    for cause, why in (
        (fail("TLX is not installed", "install it"), "TLX is not installed"),
        (ValueError("x"), "ValueError('x')"),
    ):
        error = Refused()
        error.error_message, error.__cause__ = repr(cause), cause
        assert child._place(error)["why"] == why


def test_the_environment_of_a_request_is_in_force_where_settings_were_read_before():
    """A worker may load what reads the settings before it forks for a request: bisect --torch does."""
    text = (
        "from triton_runner import _settings; from triton_runner._worker import child;"
        "before = _settings.current().level;"
        "child._set_environment({'prefixes': ['TRITON_'], 'TRITON_RUNNER_LEVEL': 'ptx'});"
        "print(before, _settings.current().level)"
    )
    environment = {**os.environ, "TRITON_RUNNER_LEVEL": "ttgir"}
    done = subprocess.run([sys.executable, "-c", text], env=environment, capture_output=True, text=True)
    assert done.stdout == "ttgir ptx\n", done.stderr
