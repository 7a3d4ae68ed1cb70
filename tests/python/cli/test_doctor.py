"""Tests doctor, env, cache: what they say of this machine, and that the table of variables is whole."""

import importlib.metadata
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import warm

triton = pytest.importorskip("triton")
from triton_runner._base.releases import DISTRIBUTIONS  # noqa: E402
from triton_runner._pipeline import versions  # noqa: E402
from triton_runner._settings import environment  # noqa: E402

READ = re.compile(
    r"(?:env_\w+(?:\[\w+\])?|getenv|os\.environ\.get|os\.environ|getBoolEnv)[(\[]\s*[\"']([A-Z][A-Z0-9_]+)[\"']"
)
OF_TRITON = re.compile(
    r"(?:TRITON|MLIR|NVPTX|AMDGCN|PTXAS)_[A-Z0-9_]+|(?:USE|DISABLE|ENABLE|ALLOW)_[A-Z0-9_]+"
)
MODULES = {"triton", *(row.module for row in DISTRIBUTIONS.values())}
OWN = re.compile(r"TRITON_RUNNER_[A-Z_]*")
IN_THE_CORE = re.compile(rb"\0(TRITON_[A-Z0-9]+_[A-Z0-9_]+)\0")


def releases() -> list[Path]:
    """The installed release and those of the cache."""
    kept = [place / name for place in versions.folder().glob("*-cp*") for name in MODULES]
    return [Path(triton.__file__).parent, *(folder for folder in kept if (folder / "_C").is_dir())]


@pytest.mark.parametrize("folder", releases(), ids=lambda path: path.parent.name)
def test_every_variable_that_a_release_reads_is_known(folder):
    read = set()
    for path in folder.rglob("*.py"):
        # Files of the wheel's own continuous integration do not count.
        if not re.match("_test_runner|_compile_warmup|_internal_testing", path.name):
            read |= set(READ.findall(path.read_text(errors="replace")))
    core = next((folder / "_C").glob("libtriton*.so")).read_bytes()
    read |= {name.decode() for name in IN_THE_CORE.findall(core)}
    assert len(read) > 10
    unknown = sorted(n for n in read if OF_TRITON.fullmatch(n) and n not in environment.known())
    assert unknown == [], unknown


def test_every_variable_that_the_package_reads_is_known():
    package = Path(environment.__file__).parents[1]
    named = {name for path in package.rglob("*.py") for name in OWN.findall(path.read_text())}
    assert len(named) > 15 and named - {*environment.known()} == {"TRITON_RUNNER_"}


def run(*arguments, status=0, **variables):
    done = warm.cli(*arguments, variables=variables)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def test_doctor_runs_a_kernel_at_each_level_and_explains_variables():
    variables = {"TRITON_ENABLE_LLVM_DEBUGG": "1", "MLIR_ENABLE_DUMP": "x", "TRITON_RUNNER_DEVICE": "cpu"}
    told = json.loads(run("doctor", "--json", **variables))
    assert told["selftest"] == {"ttir": "ok", "ttgir": "ok", "ptx": "ok", "cubin": "ok, compiled"}
    assert told["problems"] == {}
    assert "before each pass" in told["environment"]["MLIR_ENABLE_DUMP"]["meaning"]
    assert told["environment"]["TRITON_ENABLE_LLVM_DEBUGG"]["kind"] == "unknown"
    text = run("doctor", "--no-selftest", **variables)
    assert "MLIR_ENABLE_DUMP=x  (prints the IR before each pass" in text


def test_what_should_be_looked_at_is_a_problem(tmp_path):
    """A torch that was built for another release."""
    folder = tmp_path / "torch-9.0.dist-info"
    folder.mkdir()
    needs = "Requires-Dist: triton==3.1.9; platform_system == 'Linux'\n"
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: torch\nVersion: 9.0\n{needs}")
    (folder / "RECORD").write_text("")
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "version.py").write_text("git_version = 'abc123'\n")
    told = json.loads(run("doctor", "--json", "--no-selftest", status=1, PYTHONPATH=str(tmp_path)))
    assert told["torch pins"] == "3.1.9"
    assert told["pin kept in"].split("; ") == [
        f"Requires-Dist of {tmp_path}/torch-9.0.dist-info/METADATA",
        "https://github.com/pytorch/pytorch/blob/abc123/.ci/docker/triton_version.txt (release)",
        "https://github.com/pytorch/pytorch/blob/abc123/.ci/docker/ci_commit_pins/triton.txt (commit)",
    ]
    assert "built for Triton 3.1.9" in told["problems"]["torch"]


def test_a_torch_that_requires_no_triton_says_where_its_pin_is():
    """The torch for CPUs is one, and the tests run with it."""
    told = json.loads(run("doctor", "--json", "--no-selftest"))
    torch = pytest.importorskip("torch")
    if torch.version.cuda or torch.version.hip:
        assert told["torch pins"] != "-" and "METADATA" in told["pin kept in"]
        return
    assert told["torch pins"] == "-" and told["pin kept in"].startswith("nowhere in this torch")
    commit = torch.version.git_version
    assert f"pytorch/blob/{commit}/.ci/docker/ci_commit_pins/triton.txt" in told["pin kept in"]


def test_a_level_that_fails_is_a_problem():
    variables = {"TRITON_RUNNER_TARGET": "cuda:20", "TRITON_RUNNER_DEVICE": "cpu"}
    told = json.loads(run("doctor", "--json", status=1, **variables))
    assert any(name.startswith("self-test at") for name in told["problems"])


def test_env_is_for_pasting():
    text = run("env", TRITON_F32_DEFAULT="ieee")
    assert f"triton: {triton.__version__}" in text and "TRITON_F32_DEFAULT: ieee" in text
    assert json.loads(run("env", "--json"))["python"] == sys.version.split()[0]


def test_cache_explains_why_there_are_two(tmp_path):
    """One kernel compiled with 4 and with 8 warps, and another text of it."""
    program = tmp_path / "program.py"
    program.write_text(
        "import sys, torch, triton, triton.language as tl\n"
        "@triton.jit\n"
        "def kernel(x, BLOCK: tl.constexpr):\n"
        "    tl.store(x + tl.arange(0, BLOCK), 1.0)\n"
        "for warps, block in ((4, 64), (8, 64), (4, 128)):\n"
        "    kernel[(1,)](torch.zeros(128), BLOCK=block, num_warps=warps)\n"
    )
    variables = {"TRITON_CACHE_DIR": str(tmp_path / "cache"), "TRITON_RUNNER_DEVICE": "cpu"}
    run("run", str(program), **variables)
    listed = json.loads(run("cache", "ls", "--json", **variables))["entries"]
    assert len(listed) == 3
    told = [
        json.loads(run("cache", "explain", Path(one["path"]).name, "--json", **variables)) for one in listed
    ]
    (first,) = [one for one in told if one["metadata"]["num_warps"] == 8]
    assert sorted(sorted(other["differs"]) for other in first["others"]) == [
        ["num_warps"],
        ["num_warps", "source"],
    ]
    assert first["others"][0]["differs"] == {"num_warps": [8, 4]}
    text = run("cache", "explain", Path(first["path"]).name[:12], **variables)
    assert "num_warps: 8 here, 4 there" in text
    assert "no kernel has 'zzzz'" in warm.cli("cache", "explain", "zzzz", variables=variables).stderr
    assert json.loads(run("cache", "clean", "--json", **variables))["deleted"] >= 3
    assert json.loads(run("cache", "--json", **variables))["entries"] == []


def test_a_setting_that_is_none_is_a_problem():
    told = json.loads(run("doctor", "--json", status=1, TRITON_RUNNER_THREADS="many"))
    assert "'many', and should be a number" in told["problems"]["settings"] and told["selftest"] == {}
    assert "TRITON_RUNNER_THREADS: many" in run("env", TRITON_RUNNER_THREADS="many")


def test_a_cache_that_is_none(tmp_path):
    (tmp_path / "file").write_text("")
    told = json.loads(
        run("doctor", "--json", "--no-selftest", status=1, TRITON_CACHE_DIR=str(tmp_path / "file"))
    )
    assert "it is a file, and should be a folder" in told["problems"]["cache"]
    assert "which is not a folder" in run("cache", TRITON_CACHE_DIR=str(tmp_path / "file"))


def test_only_entries_of_the_cache_are_deleted(tmp_path):
    """The variable may name a folder in which other things lie too."""
    (tmp_path / "thesis").mkdir()
    (tmp_path / ("A2" * 26)).mkdir()
    (tmp_path / ("A2" * 26) / "k.json").write_text('{"target": {}}')
    variables = {"TRITON_CACHE_DIR": str(tmp_path)}
    assert json.loads(run("cache", "--json", **variables))["entries"] == []
    told = json.loads(run("cache", "clean", "--json", **variables))
    assert (told["deleted"], told["left"]) == (1, 0)
    assert [one.name for one in tmp_path.iterdir()] == ["thesis"]


def test_releases_are_removed(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_RUNNER_VERSIONS", str(tmp_path))
    known = [version for version in ("3.1.0", "3.4.0") if version != versions.installed()]
    for version in known:
        package = tmp_path / f"{version}-{versions.tag()}" / "triton"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("")
    (tmp_path / "3.2.0-cp99" / "triton").mkdir(parents=True)  # of another Python
    (tmp_path / "3.2.0-cp99" / "triton" / "__init__.py").write_text("")
    assert {row["version"] for row in versions.listed() if row["folder"]} == {*known}
    removed = warm.invoke("versions", "remove", "--yes", "3.0.0..3.9.0")
    assert removed.exit_code == 0 and removed.output == "".join(f"{one} removed\n" for one in known)
    again = warm.invoke("versions", "remove", "all")
    assert (again.exit_code, again.output) == (0, "no release is in the cache\n")
    again = warm.invoke("versions", "remove", versions.installed())
    assert again.exit_code == 1 and "pip uninstall triton" in again.output


def test_removing_says_who_uses_a_release_and_asks(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_RUNNER_VERSIONS", str(tmp_path))
    package = tmp_path / f"3.1.0-{versions.tag()}" / "triton"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "data").write_bytes(bytes(4096))
    maps = "import mmap, sys; f = open(sys.argv[1], 'r+b'); m = mmap.mmap(f.fileno(), 0); print(flush=True)"
    command = [sys.executable, "-c", f"{maps}; input()", str(package / "data")]
    user = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        user.stdout.readline()
        refused = warm.invoke("versions", "remove", "3.1.0", input="n\n")
    finally:
        user.communicate(b"\n")
    assert f"in use by process {user.pid}: {sys.executable} -c" in refused.output
    assert refused.exit_code == 1 and refused.output.endswith("Remove 3.1.0? [y/N]: n\nnothing was removed\n")
    silent = warm.invoke("versions", "remove", "3.1.0")
    assert silent.exit_code == 2 and "nobody answered" in silent.output and "--yes" in silent.output
    assert package.exists()
    agreed = warm.invoke("versions", "remove", "3.1.0", input="y\n")
    assert agreed.exit_code == 0 and "in use" not in agreed.output and "3.1.0 removed" in agreed.output
    assert not package.exists()


@pytest.fixture
def checkout(tmp_path):
    """As little of Triton's sources as the recipes read."""
    (tmp_path / "python" / "triton").mkdir(parents=True)
    (tmp_path / "python" / "triton" / "__init__.py").write_text("__version__ = '3.9.0'\n")
    (tmp_path / "cmake").mkdir()
    (tmp_path / "cmake" / "llvm-hash.txt").write_text("f6ded0be897e2878612dd903f7e8bb85448269e5\n")
    (tmp_path / "setup.py").write_text("")
    return tmp_path


def test_recipes_for_a_checkout(checkout, tmp_path_factory):
    told = warm.invoke("dev", "--checkout", checkout, "--json")
    said = json.loads(told.stdout)
    assert (said["triton"], said["llvm"][:8]) == ("3.9.0", "f6ded0be")
    assert list(said["recipes"]) == ["build", "rebuild", "llvm", "test", "opt", "run", "bisect"]
    for commands in said["recipes"].values():
        for command in commands:
            subprocess.run(["sh", "-n", "-c", command], check=True)
    (checkout / "setup.py").rename(checkout / "python" / "setup.py")
    (checkout / "python" / "build" / "cmake.here").mkdir(parents=True)
    told = warm.invoke("dev", "--checkout", checkout, "rebuild")
    assert told.output.splitlines()[-1] == f"ninja -C {checkout}/python/build/cmake.here"
    (checkout / "cmake" / "llvm-hash.txt").unlink()
    told = warm.invoke("dev", "--checkout", checkout, "llvm")
    assert "not said: there is no cmake/llvm-hash.txt" in told.output
    assert f"git -C {checkout}/.llvm-project checkout COMMIT\n" in told.output
    none = warm.invoke("dev", "--checkout", tmp_path_factory.mktemp("none"))
    assert none.exit_code == 2 and "not a checkout of Triton" in none.output


def test_a_recipe_is_run(checkout, monkeypatch):
    ran = checkout / "ran"
    ninja = checkout / "bin" / "ninja"
    ninja.parent.mkdir()
    ninja.write_text(f'#!/bin/sh\necho "$@" > {ran}\nexit 3\n')
    ninja.chmod(0o755)
    monkeypatch.setenv("PATH", f"{ninja.parent}:/usr/bin:/bin")
    done = warm.invoke("dev", "--checkout", checkout, "rebuild", "--run")
    assert done.exit_code == 3 and ran.read_text().startswith(f"-C {checkout}/build/cmake.")
    assert warm.invoke("dev", "--checkout", checkout, "--run").exit_code == 2


def test_two_packages_of_one_module_are_named_with_the_remedy(tmp_path, monkeypatch):
    """fbtriton and triton in one environment overwrite each other's files; elsewhere they do not meet."""
    from triton_runner.verbs.doctor import run

    found = importlib.metadata.distributions
    monkeypatch.setattr(run.releases, "place", lambda *names: tmp_path / "site" / "triton")
    monkeypatch.setattr(run.importlib.metadata, "distributions", lambda: found(path=[str(tmp_path / "site")]))
    for name in ("triton-3.9.0", "fbtriton-3.7.4"):
        about = tmp_path / "site" / f"{name}.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_text(f"Name: {name.partition('-')[0]}\nVersion: 1\n")
        (about / "RECORD").write_text("triton/__init__.py,,\n")
        problem = run.facts()["problems"].get("triton")
        assert (problem is not None) == name.startswith("fb")
    assert "the folder triton: fbtriton, triton;" in problem
    assert "pip uninstall fbtriton triton" in problem and "versions add fbtriton" in problem
    monkeypatch.setattr(run.releases, "place", lambda *names: tmp_path / "elsewhere" / "triton")
    assert "triton" not in run.facts()["problems"]
