"""A build of Triton under another name: its modules are those of `triton`, and its strings say so."""

import subprocess
import sys

PROGRAM = """
import sys
from triton_runner._base import renamed

renamed.install(sys.argv[1])
import vendor_triton.language as tl
import triton.runtime

assert triton is sys.modules["vendor_triton"] and tl.add.__module__ == "triton.language.core"
assert triton.runtime.is_builtin(tl.add) and not triton.runtime.is_builtin(print)
assert triton.runtime.NAMES == ("triton.language.core", "vendor_triton_of_mine"), triton.runtime.NAMES
print("found")
"""


def test_a_function_of_the_language_is_known_by_its_module(tmp_path):
    folder = tmp_path / "vendor_triton"
    (folder / "language").mkdir(parents=True)
    (folder / "__init__.py").write_text("from . import language, runtime\n")
    (folder / "language" / "__init__.py").write_text("from .core import add\n")
    (folder / "language" / "core.py").write_text("def add(a, b):\n    return a + b\n")
    (folder / "runtime.py").write_text(
        'MODULE = "vendor_triton.language"\n'
        'NAMES = ("vendor_triton.language.core", "vendor_triton_of_mine")\n'
        "def is_builtin(function):\n    return function.__module__.startswith(MODULE)\n"
    )
    command = [sys.executable, "-c", PROGRAM, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0 and done.stdout == "found\n", done.stdout + done.stderr
