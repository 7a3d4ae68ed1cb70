"""Writes the parser's corpus: what each Triton release prints for five of the examples' kernels.

    python tests/corpus/generate.py [VERSION ...]

tests/corpus/<version>/<kernel>.ttir, and its .ttgir in sm80/, for kernels with a tl.dot also in sm90/. Triton
runs in the environments of tools/releases.py, one process a kernel and target; no GPU takes part.
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


def main(versions):
    for version in versions:
        python = releases.ensure(version)
        out = ROOT / "tests" / "corpus" / version
        shutil.rmtree(out, ignore_errors=True)
        for kernel, arches in KERNELS.items():
            for arch in arches:
                with tempfile.TemporaryDirectory() as made:
                    command = [python, "tools/compile_example.py", kernel, f"cuda:{arch}", made, "ttir,ttgir"]
                    subprocess.run(
                        command, check=True, cwd=ROOT, env={**os.environ, "TRITON_DEFAULT_FP_FUSION": "1"}
                    )
                    for file in Path(made).iterdir():
                        folder = {".ttir": out, ".ttgir": out / f"sm{arch}"}.get(file.suffix)
                        if folder:
                            folder.mkdir(parents=True, exist_ok=True)
                            shutil.copy(file, folder)
        print(f"{version}: {sum(1 for f in out.rglob('*.tt*ir'))} files", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or releases.RELEASES)
