"""tests/layers.py finds the imports that it should in packages that are invented here: those of a file that
another interpreter loads without the package, of a verb's later parts, of what the least Python lacks."""

import pathlib
import pkgutil
import sys

import pytest
from triton_runner._pipeline import versions

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests"))
import layers  # noqa: E402
import newer  # noqa: E402

WRONG = [
    ("_worker/other_job.py", "from triton_runner._worker import job", "from . import"),
    ("_worker/other_job.py", "from triton_runner import _core", "in the Python of any release"),
    ("_worker/other_job.py", "import click", "do without it"),
    ("_worker/job.py", "from . import other_job", "a circle of imports: _worker.job -> _worker.other_job"),
    ("_base/renamed.py", "from triton_runner._base import errors", "do without it"),
    ("bench/timing.py", "from triton_runner import _core", "in the interpreter that is measured"),
    ("verbs/a/results.py", "from triton_runner.verbs.a import text", "each reads those before it"),
    ("verbs/a/results.py", "def f():\n    from triton_runner.verbs.a import text  # why", "those before it"),
    ("verbs/a/run.py", "from triton_runner.verbs.a import text", "each reads those before it"),
    ("verbs/a/__init__.py", "import os", "verbs/a/__init__.py: more than a docstring"),
    ("_kernel/cells/a.py", "from triton_runner._kernel.cost import a", "each imports those before its line"),
    ("_memory/a.py", "import tomllib", ":2: tomllib is of Python 3.11"),
    ("_memory/a.py", "from enum import StrEnum", "enum.StrEnum is of Python 3.11"),
    ("_memory/a.py", "import datetime\nx = datetime.UTC", ":3: datetime.UTC is of"),
    ("_memory/a.py", "raise ExceptionGroup('', [])", "ExceptionGroup is of Python 3.11"),
]
RIGHT = [
    ("_worker/other_job.py", "from . import refused\nimport re\nimport triton"),
    ("_worker/other_job.py", "def f():\n    from triton_runner import _core  # of this process"),
    ("bench/timing.py", "def f():\n    import torch"),
    ("verbs/a/text.py", "from triton_runner.verbs.a import results, run"),
    ("verbs/a/deep/results.py", "from triton_runner.verbs.a import text"),
    ("_kernel/cost/a.py", "from triton_runner._kernel.cells import a"),
    ("_memory/a.py", "import enum\nclass A:\n    UTC = 1\nplan.exception(A.UTC)"),
]

FILES = """_worker/job.py _worker/other_job.py _worker/refused.py _base/renamed.py _base/errors.py
    bench/timing.py _memory/a.py _kernel/cells/a.py _kernel/cost/a.py verbs/a/__init__.py
    verbs/a/results.py verbs/a/run.py verbs/a/text.py verbs/a/deep/results.py"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Makes a package of some files, with a line more in one of them; gives what lint says."""
    top = tmp_path / "python" / "triton_runner"
    monkeypatch.setattr(layers, "PACKAGE", top)

    def made(name: str, code: str) -> list[str]:
        for file in FILES.split():
            (top / file).parent.mkdir(parents=True, exist_ok=True)
            (top / file).write_text('"""A part."""\n' + f"{code}\n" * (file == name))
        with (top / "_worker/other_job.py").open("a") as file:
            file.write("from . import job\n" * (name == "_worker/job.py"))
        return layers.check()

    return made


@pytest.mark.parametrize("name, code, says", WRONG)
def test_what_is_wrong(package, name, code, says):
    found = package(name, code)
    assert found and all(says in one for one in found), found


@pytest.mark.parametrize("name, code", RIGHT)
def test_what_is_right(package, name, code):
    assert package(name, code) == []


def test_files_that_are_loaded_apart_are_there():
    known = {*layers.modules(), *map(layers.folder_of, layers.modules())}
    assert [*layers.APART] == [name for name in layers.APART if name in known]


def test_every_newer_name_is_in_its_python():
    for name, since in newer.names().items():
        if sys.version_info >= since:
            pkgutil.resolve_name(name)  # raises where it is not there


def test_the_least_python_is_one():
    """Releases run in Pythons down to the one that the package needs."""
    assert (3, min(versions.PYTHONS)) == newer.LEAST
