"""The package installs from a wheel, from its folder, and editable; each installation runs a kernel.

The builds reuse the objects of build/release, so that they take seconds.
"""

import importlib.metadata
import json
import pathlib
import re
import subprocess
import sys
import sysconfig

import pytest

pytest.importorskip("scikit_build_core")
pytest.importorskip("triton")

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = [
    "--no-build-isolation",
    "--no-deps",
    f"-Cbuild-dir={ROOT / 'build' / 'release'}",
    "-Cbuild.targets=_core",
    "-Ccmake.define.TRITON_RUNNER_TESTS=ON",
]
SMOKE = """
import numpy as np, pathlib, sys
import triton_runner
assert str(pathlib.Path(triton_runner.__file__)).startswith(sys.prefix), triton_runner.__file__
import importlib.metadata
assert importlib.metadata.version("triton-runner") == triton_runner.__version__
import triton_runner_pytest
assert str(pathlib.Path(triton_runner_pytest.__file__)).startswith(sys.prefix), triton_runner_pytest.__file__
(plugin,) = importlib.metadata.distribution("triton-runner").entry_points.select(group="pytest11")
assert plugin.load() is triton_runner_pytest
x, y = np.arange(64, dtype=np.float32), np.zeros(64, dtype=np.float32)
kernel = triton_runner.load(sys.argv[1], device="cpu")
kernel[(1,)](x, y, 64)
assert (y == 2 * x).all()
"""


def pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout[-4000:]


@pytest.fixture
def empty_venv(tmp_path):
    """A virtual environment that sees this one's packages, but not its editable installation of ours."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    site = tmp_path / "venv" / "lib" / version / "site-packages"
    (site / "others.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return tmp_path / "venv"


def check(venv: pathlib.Path) -> None:
    case = ROOT / "tests" / "cases" / "bad-input" / "masked-out-of-bounds.ttir"
    text = case.read_text().split("// ---- expected")[0]
    done = subprocess.run(
        [venv / "bin" / "python", "-c", SMOKE, text],
        cwd=venv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:]
    done = subprocess.run(
        [venv / "bin" / "triton-runner", "--help"], stdout=subprocess.PIPE, text=True, cwd=venv
    )
    assert done.returncode == 0 and "exec" in done.stdout


def test_wheel(tmp_path, empty_venv):
    pip("wheel", "--quiet", *BUILD, "--wheel-dir", str(tmp_path), str(ROOT))
    (wheel,) = tmp_path.glob("triton_runner-*.whl")
    pip("--python", str(empty_venv / "bin" / "python"), "install", "--quiet", "--no-deps", str(wheel))
    check(empty_venv)


def test_install_folder(empty_venv):
    pip("install", "--quiet", *BUILD, "--ignore-installed", "--prefix", str(empty_venv), str(ROOT))
    check(empty_venv)


def test_editable():
    """`make develop` has installed the package that the other tests use."""
    import importlib.metadata

    import triton_runner

    assert pathlib.Path(triton_runner.__file__) == ROOT / "python" / "triton_runner" / "__init__.py"
    origin = importlib.metadata.distribution("triton-runner").read_text("direct_url.json")
    assert json.loads(origin)["dir_info"] == {"editable": True}


def test_notices_name_what_is_carried_and_installed():
    """Each requirement has its row, and the notices are those of the versions that are built with."""
    notices = (ROOT / "THIRD_PARTY_NOTICES.md").read_text()
    project = (ROOT / "pyproject.toml").read_text()
    assert "THIRD_PARTY_NOTICES.md" in re.search(r"wheel.license-files = (.*)", project)[1]
    listed = (
        re.search(r"dependencies = (\[.*\])", project)[1]
        + re.search(r"\[project.optional-dependencies\]\n(.*?)\n\n", project, re.DOTALL)[1]
    )
    for name in re.findall(r'"([A-Za-z_0-9-]+)', listed):
        assert f"| {name} | " in notices, name
    distribution = importlib.metadata.distribution("nanobind")
    (licence,) = [file for file in distribution.files if file.name == "LICENSE" and "dist-info" in str(file)]
    assert licence.read_text().strip() in notices
    header = pathlib.Path(distribution.locate_file("nanobind/ext/robin_map/include/tsl/robin_map.h"))
    for line in header.read_text().partition("*/")[0].splitlines()[1:]:
        assert line.strip(" *") in notices
