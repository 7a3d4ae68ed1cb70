"""Writes the parser's corpus: what each Triton release prints for five of the examples' kernels.

    python tests/corpus/generate.py [VERSION ...]

tests/corpus/<version>/<kernel>.ttir, and its .ttgir in sm80/, for kernels with a tl.dot also in sm90/; the
PTX of the few that PTX lists. Triton runs in the environments of tools/releases.py, one process a kernel
and target; no GPU takes part.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import releases  # noqa: E402

KERNELS = {"vector_add": [80], "softmax": [80], "matmul": [80, 90], "layer_norm": [80], "attention": [80, 90]}
# Each release's own habits once, each architecture from several.
PTX = {
    "3.0.0": [("softmax", 75, "softmax_kernel"), ("layer_norm", 90, "layer_norm_forward")],
    "3.1.0": [("layer_norm", 75, "layer_norm_weights")],
    "3.2.0": [("softmax", 75, "softmax_kernel"), ("layer_norm", 90, "layer_norm_forward")],
    "3.3.1": [("softmax", 100, "softmax_kernel"), ("layer_norm", 120, "layer_norm_weights")],
    "3.4.0": [("softmax", 120, "softmax_kernel")],
    "3.5.1": [("softmax", 100, "softmax_kernel"), ("layer_norm", 120, "layer_norm_forward")],
    "3.6.0": [("softmax", 75, "softmax_kernel"), ("layer_norm", 100, "layer_norm_weights")],
    "3.7.1": [("softmax", 90, "softmax_kernel")],
    "3.8.0": [("softmax", 90, "softmax_kernel")],
    "3.9.0": [
        ("vector_add", 80, "add_kernel"),
        ("attention", 90, "attention_kernel"),
        ("attention", 100, "attention_kernel"),
    ],
}


def compile_example(python, kernel, arch, folder, levels):
    command = [python, "tools/compile_example.py", kernel, f"cuda:{arch}", folder, levels]
    subprocess.run(command, check=True, cwd=ROOT, env={**os.environ, "TRITON_DEFAULT_FP_FUSION": "1"})


def main(versions):
    for version in versions:
        python = releases.ensure(version)
        out = ROOT / "tests" / "corpus" / version
        shutil.rmtree(out, ignore_errors=True)
        for kernel, arches in KERNELS.items():
            for arch in arches:
                with tempfile.TemporaryDirectory() as made:
                    compile_example(python, kernel, arch, made, "ttir,ttgir")
                    for file in Path(made).iterdir():
                        folder = {".ttir": out, ".ttgir": out / f"sm{arch}"}.get(file.suffix)
                        if folder:
                            folder.mkdir(parents=True, exist_ok=True)
                            shutil.copy(file, folder)
        for kernel, arch, name in PTX[version]:
            with tempfile.TemporaryDirectory() as made:
                compile_example(python, kernel, arch, made, "ptx")
                folder = out / f"sm{arch}"
                folder.mkdir(parents=True, exist_ok=True)
                shutil.copy(Path(made) / f"{name}.ptx", folder)
        print(f"{version}: {sum(1 for f in out.rglob('*.*'))} files", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or releases.RELEASES)
