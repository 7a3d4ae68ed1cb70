"""Writes the corpus: what each Triton release prints for the kernels of the examples.

    python tests/corpus/generate.py [VERSION ...]

The archive tests/corpus/<version>.tar.xz has sm<arch>/<kernel>.<level>: the artifacts of the release matrix
(matrix.py) with their metadata, and what only parsers and printers read (PRINTED, PTX). The artifacts
beside the scripts of examples/runner are copies, and renewed. Triton runs in the environments of
tools/releases.py, one process for a kernel and target; no GPU takes part. TTIR, TTGIR and the files of PTX
keep their source locations. LLIR, PTX and cubins of the matrix have no line tables, which makes them a
third of the size.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import corpus
from matrix import BINARY_LEVELS, EXAMPLES, RELEASES, copies, rows_of

ROOT = EXAMPLES.parent
sys.path.insert(0, str(ROOT / "tools"))
import releases  # noqa: E402

# TTIR and TTGIR without metadata, of every release.
PRINTED = {"layer_norm": [80], "attention": [80, 90]}
# Each release's own habits once, each architecture from several. A release that is not named: ANY.
ANY = [("softmax", 90, "softmax_kernel")]
PTX = {
    "3.0.0": [("softmax", 75, "softmax_kernel"), ("layer_norm", 90, "layer_norm_forward")],
    "3.1.0": [("layer_norm", 75, "layer_norm_weights")],
    "3.2.0": [("softmax", 75, "softmax_kernel"), ("layer_norm", 90, "layer_norm_forward")],
    "3.3.1": [("softmax", 100, "softmax_kernel"), ("layer_norm", 120, "layer_norm_weights")],
    "3.4.0": [("softmax", 120, "softmax_kernel")],
    "3.5.1": [("softmax", 100, "softmax_kernel"), ("layer_norm", 120, "layer_norm_forward")],
    "3.6.0": [("softmax", 75, "softmax_kernel"), ("layer_norm", 100, "layer_norm_weights")],
    "3.9.0": [
        ("vector_add", 80, "add_kernel"),
        ("attention", 90, "attention_kernel"),
        ("attention", 100, "attention_kernel"),
    ],
}


def compiled(version, kernel, arch, levels, lines, into):
    """Copies the `levels` (file endings, .json among them) of `kernel` for `arch` to the folder `into`."""
    python = releases.ensure(version)
    env = {"TRITON_DEFAULT_FP_FUSION": "1", "TRITON_DISABLE_LINE_INFO": "0" if lines else "1"}
    if not kernel.startswith("tlx_"):
        env["UTLX_NO_AUTOREGISTER"] = "1"  # the plug-in of TLX is for its own kernels
    with tempfile.TemporaryDirectory() as made:
        asked = ",".join(sorted(level for level in levels if level != "json"))
        command = [python, "tools/compile_example.py", kernel, f"cuda:{arch}", made, asked]
        subprocess.run(command, check=True, cwd=ROOT, env={**os.environ, **env})
        into.mkdir(parents=True, exist_ok=True)
        for file in Path(made).iterdir():
            if file.suffix[1:] in levels:
                shutil.copy(file, into)


def generate(version):
    out = corpus.FOLDER / "made" / version
    shutil.rmtree(out, ignore_errors=True)
    wanted = {}  # (kernel, arch, with lines) -> levels; those with lines first, as the last metadata stays
    for kernel, arches in PRINTED.items():
        for arch in arches:
            wanted[kernel, arch, True] = {"ttgir"} | ({"ttir"} if arch == 80 else set())
    for row in sorted(rows_of(version), key=lambda row: row.level in BINARY_LEVELS):
        if row.compiled_for:
            key = row.kernel, row.compiled_for, row.level not in BINARY_LEVELS
            wanted.setdefault(key, set()).update({row.level, "json"})
    for (kernel, arch, lines), levels in wanted.items():
        compiled(version, kernel, arch, levels, lines, out / f"sm{arch}")
    for kernel, arch, name in PTX.get(version, ANY):
        with tempfile.TemporaryDirectory() as made:
            compiled(version, kernel, arch, {"ptx"}, True, Path(made))
            (out / f"sm{arch}").mkdir(exist_ok=True)
            shutil.copy(Path(made) / f"{name}.ptx", out / f"sm{arch}")
    count = sum(1 for f in out.rglob("*.*"))
    corpus.pack(version, out)
    shutil.rmtree(out)
    for copy, original in copies():
        if original.is_relative_to(corpus.folder(version)):
            shutil.copy(original, copy)
    print(f"{version}: {count} files", flush=True)


if __name__ == "__main__":
    for chosen in sys.argv[1:] or RELEASES:
        generate(chosen)
