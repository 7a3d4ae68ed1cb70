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


WAITING = """
import sys
from triton_runner._base import renamed
from triton_runner._jit import watch

seen = []
watch.when_imported(lambda: seen.append("triton" in sys.modules))
renamed.install(sys.argv[1])
assert not seen
import vendor_triton

print(seen)
"""


def run(program, folder):
    return subprocess.run(
        [sys.executable, "-c", program, str(folder)], capture_output=True, text=True, cwd=folder.parent
    )


def test_who_waits_for_triton_is_told_of_one_that_is_named_otherwise_later(tmp_path):
    """Else triton.compile of an IR file is Triton's own, which cannot stop above machine code."""
    folder = tmp_path / "vendor_triton"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    done = run(WAITING, folder)
    assert done.returncode == 0 and done.stdout == "[True]\n", done.stdout + done.stderr


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
    done = run(PROGRAM, folder)
    assert done.returncode == 0 and done.stdout == "found\n", done.stdout + done.stderr
