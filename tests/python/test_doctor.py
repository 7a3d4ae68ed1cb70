"""doctor, env, cache: what they say of this machine, and that the table of variables is whole."""

import re
from pathlib import Path

import pytest

triton = pytest.importorskip("triton")
from triton_runner import _variables  # noqa: E402
from triton_runner._compiler import versions  # noqa: E402

READ = re.compile(
    r"(?:env_\w+(?:\[\w+\])?|getenv|os\.environ\.get|os\.environ|getBoolEnv)[(\[]\s*[\"']([A-Z][A-Z0-9_]+)[\"']"
)
OF_TRITON = re.compile(
    r"(?:TRITON|MLIR|NVPTX|AMDGCN|PTXAS)_[A-Z0-9_]+|(?:USE|DISABLE|ENABLE|ALLOW)_[A-Z0-9_]+"
)
IN_THE_CORE = re.compile(rb"\0(TRITON_[A-Z0-9]+_[A-Z0-9_]+)\0")


def releases() -> list[Path]:
    """The installed release and those of the cache."""
    return [Path(triton.__file__).parent, *(place / "triton" for place in versions.folder().glob("*-cp*"))]


@pytest.mark.parametrize("folder", releases(), ids=lambda path: path.parent.name)
def test_every_variable_that_a_release_reads_is_known(folder):
    read = set()
    for path in folder.rglob("*.py"):
        # Of the wheel's own continuous integration.
        if not re.match("_test_runner|_compile_warmup|_internal_testing", path.name):
            read |= set(READ.findall(path.read_text(errors="replace")))
    core = next((folder / "_C").glob("libtriton*.so")).read_bytes()
    read |= {name.decode() for name in IN_THE_CORE.findall(core)}
    assert len(read) > 10
    unknown = sorted(n for n in read if OF_TRITON.fullmatch(n) and n not in _variables.known())
    assert unknown == [], unknown
