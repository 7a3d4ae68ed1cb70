"""Writes examples/runner: for each Triton release the example scripts and the artifacts that they load.

    python examples/generate.py [VERSION ...]

Triton itself makes the artifacts (tools/compile_example.py in the environments of tools/releases.py; no GPU
takes part). TTIR and TTGIR keep their source locations; LLIR, PTX and cubins are compiled without line
tables, which makes them a third of the size. `plan` says what exists for which release; doc/examples.md
describes the layout.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

EXAMPLES = Path(__file__).resolve().parent
sys.path.insert(0, str(EXAMPLES.parent / "tools"))
import releases  # noqa: E402

BINARY_LEVELS = ("llir", "ptx", "cubin")
TUTORIALS = ["vector_add", "softmax", "matmul"]
MORE_TUTORIALS = ["dropout", "layer_norm", "attention", "attention_backward", "grouped_gemm"]
WITHOUT_DOT = ["vector_add", "softmax", "dropout", "layer_norm"]  # TTGIR differs in the target's name only
SCRIPT_NAMES = {
    "matmul_tma_v3": "matmul-with-tma-v3",
    "matmul_tma_v4": "matmul-with-tma-v4",
    "gluon_intro": "01-intro",
    "gluon_layouts": "02-layouts",
}
COMPLETE = ["3.3.1", "3.4.0", "3.6.0", "3.9.0"]  # every architecture at every level; the others sm80 and sm90


class Example(NamedTuple):
    folder: str  # below runner/v<release>
    kernel: str  # examples/kernels/<kernel>.py
    level: str
    arch: int | None  # that the artifact is compiled for; none for Python


def plan(version):
    """The examples of a release."""
    release = tuple(int(part) for part in version.split("."))
    kernels = TUTORIALS + (MORE_TUTORIALS if version == "3.9.0" else [])
    arches = [75, 80, 86, 90, 120] if version in COMPLETE else [80, 90]
    if version == "3.3.1":
        arches.remove(75)  # its compiler aborts on an f16 dot for sm75
    for kernel in TUTORIALS + MORE_TUTORIALS if version in COMPLETE else kernels:
        yield Example("python", kernel, "python", None)
    for kernel in kernels:
        yield Example(f"ttir/{kernel}", kernel, "ttir", 80)
        for arch in [80] if kernel in WITHOUT_DOT else arches if kernel == "matmul" else [80, 90]:
            yield Example(f"ttgir/sm{arch}", kernel, "ttgir", arch)
    for arch in arches:
        for level in BINARY_LEVELS:
            yield Example(f"{level}/sm{arch}", "matmul", level, arch)
    if release >= (3, 2):  # 3.0 and 3.1 have no descriptors that a launch can pass
        kernel = "matmul_tma_v4" if release >= (3, 4) else "matmul_tma_v3"
        yield Example("python", kernel, "python", None)
        yield Example("ttir/matmul-with-tma", kernel, "ttir", 90)
        for level in ("ttgir", *BINARY_LEVELS):
            yield Example(f"{level}/sm90", kernel, level, 90)
    if release >= (3, 4):
        yield Example("gluon", "gluon_intro", "gluon", None)
        yield Example("gluon", "gluon_layouts", "gluon", None)


SCRIPT = '''\
"""{what}."""

import sys
from pathlib import Path

{use}sys.path.insert(0, str(Path(__file__).resolve().parents[{depth}]))
from kernels import {imports}

harness.main({kernel}{argument})
'''


def script(version, example):
    """The text of an example: its level is all that differs."""
    origins = {"python": "Python", "gluon": "Gluon", "cubin": "cubin"}
    origin = origins.get(example.level, example.level.upper())
    arch = f" for sm{example.arch}" if example.folder.endswith(f"sm{example.arch}") else ""
    from_file = example.level not in ("python", "gluon")
    return SCRIPT.format(
        what=f"{example.kernel} from {origin}{arch}, Triton {version}",
        use="import triton_runner\n\n" if from_file else "",
        depth=len(Path(example.folder).parts) + 2,
        kernel=example.kernel,
        imports=", ".join(sorted([example.kernel, "harness"])),
        argument=f", {example.level}_dir=triton_runner.get_file_dir(__file__)" if from_file else "",
    )


def generate(version):
    python = releases.ensure(version)
    root = releases.examples_dir(version)
    shutil.rmtree(root, ignore_errors=True)
    wanted = {}  # (kernel, arch, with line tables) -> examples
    for example in plan(version):
        folder = root / example.folder
        folder.mkdir(parents=True, exist_ok=True)
        name = SCRIPT_NAMES.get(example.kernel, example.kernel)
        (folder / f"{name}.py").write_text(script(version, example))
        if example.arch:
            lines = example.level not in BINARY_LEVELS
            wanted.setdefault((example.kernel, example.arch, lines), []).append(example)
    for (kernel, arch, lines), examples in wanted.items():
        levels = sorted({example.level for example in examples})
        env = {"TRITON_DEFAULT_FP_FUSION": "1", "TRITON_DISABLE_LINE_INFO": "0" if lines else "1"}
        with tempfile.TemporaryDirectory() as made:
            command = [python, "tools/compile_example.py", kernel, f"cuda:{arch}", made, ",".join(levels)]
            subprocess.run(command, check=True, cwd=EXAMPLES.parent, env={**os.environ, **env})
            for example in examples:
                for file in Path(made).iterdir():
                    if file.suffix in (f".{example.level}", ".json"):
                        shutil.copy(file, root / example.folder)
    print(f"{root.name}: {sum(1 for _ in root.rglob('*.py'))} examples", flush=True)


if __name__ == "__main__":
    for chosen in sys.argv[1:] or releases.RELEASES:
        generate(chosen)
