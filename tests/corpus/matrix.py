"""The release matrix: which kernel of examples/kernels enters at which level, for which architecture, with
which release of Triton. One table for what writes the corpus and for what runs it, on the CPU and on GPUs.

    python tests/corpus/matrix.py [TEXT ...]     names the rows that contain every TEXT
    python tests/corpus/matrix.py --run NAME     runs a row, 3.9.0/ptx/sm90/matmul, with the installed Triton
"""

import importlib
import sys
from pathlib import Path
from typing import NamedTuple

import corpus
from triton_runner._pipeline import versions

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

RELEASES = versions.newest_patches()
# These have every architecture at every level (others sm80 and sm90), the last also every kernel.
COMPLETE = ["3.3.1", "3.4.0", "3.6.0", "3.9.0"]
BINARY_LEVELS = ("llir", "ptx", "cubin")
TUTORIALS = ["vector_add", "softmax", "matmul"]
MORE_TUTORIALS = ["dropout", "layer_norm", "attention", "attention_backward", "grouped_gemm"]
TLX_RELEASE = "3.8.0"  # the plug-in is that release's
TLX = {"tlx_matmul": 90, "tlx_matmul_ws": 90, "tlx_attention": 90, "tlx_tcgen05": 100}
WITHOUT_DOT = ["vector_add", "softmax", "dropout", "layer_norm"]  # TTGIR differs in the target's name only


class Row(NamedTuple):
    """One kernel at one level. `arch` is what the artifact is for: none for Python, Gluon and TTIR."""

    release: str
    kernel: str
    level: str
    arch: int | None = None

    @property
    def name(self) -> str:
        return "/".join([self.release, self.level, *([f"sm{self.arch}"] if self.arch else []), self.kernel])

    @property
    def compiled_for(self) -> int | None:
        """The architecture whose folder holds the artifact. TTIR lies with the first one."""
        if self.level == "ttir":
            return TLX.get(self.kernel, 90 if self.kernel.startswith("matmul_tma") else 80)
        return self.arch

    @property
    def folder(self) -> Path:
        return corpus.folder(self.release) / f"sm{self.compiled_for}"

    def options(self) -> dict:
        """The options that the kernel's launch takes beside its arguments."""
        return {f"{self.level}_dir": str(self.folder)} if self.compiled_for else {}

    def run(self) -> None:
        """Launches, compares, and exits as an example does."""
        sys.path.insert(0, str(EXAMPLES))
        from kernels import harness

        harness.main(importlib.import_module(f"kernels.{self.kernel}"), **self.options())


def rows_of(release: str) -> list[Row]:
    """The rows of one release of RELEASES."""
    version = versions.key(release)
    arches = [75, 80, 86, 90, 120] if release in COMPLETE else [80, 90]
    if release == "3.3.1":
        arches.remove(75)  # its compiler aborts on an f16 dot for sm75
    more = MORE_TUTORIALS if release in COMPLETE else []
    rows = [Row(release, kernel, "python") for kernel in TUTORIALS + more]
    for kernel in TUTORIALS + (more if release == COMPLETE[-1] else []):
        rows.append(Row(release, kernel, "ttir"))
        own = [80] if kernel in WITHOUT_DOT else arches if kernel == "matmul" else [80, 90]
        rows += [Row(release, kernel, "ttgir", arch) for arch in own]
    rows += [Row(release, "matmul", level, arch) for arch in arches for level in BINARY_LEVELS]
    if version >= (3, 2):  # 3.0 and 3.1 have no descriptors that a launch can pass
        kernel = "matmul_tma_v4" if version >= (3, 4) else "matmul_tma_v3"
        rows += [Row(release, kernel, "python"), Row(release, kernel, "ttir")]
        rows += [Row(release, kernel, level, 90) for level in ("ttgir", *BINARY_LEVELS)]
    if version >= (3, 4):
        rows += [Row(release, kernel, "gluon") for kernel in ("gluon_intro", "gluon_layouts")]
    if release == TLX_RELEASE:
        for kernel, arch in TLX.items():
            # Blackwell's is for no other target from Python and from TTIR either.
            rows += [Row(release, kernel, "python"), Row(release, kernel, "ttir")] if arch == 90 else []
            levels = ("ttgir", *BINARY_LEVELS) if arch == 90 else ("ttir", "ttgir", *BINARY_LEVELS)
            rows += [Row(release, kernel, level, arch) for level in levels]
    return rows


ROWS = [row for release in RELEASES for row in rows_of(release)]


def nearest(version: str) -> str:
    """The release of the table with the same minor version as the Triton `version`."""
    minor = ".".join(version.split(".")[:2]) + "."
    return next(release for release in RELEASES if release.startswith(minor))


def copies() -> list[tuple[Path, Path]]:
    """Each artifact and metadata file beside a script of examples/runner, and what it is a copy of."""
    found = []
    for file in sorted(EXAMPLES.glob("runner/v*/*/*/*")):
        if file.suffix[1:] in ("ttir", "ttgir", *BINARY_LEVELS, "json"):
            version, level, folder = file.relative_to(EXAMPLES / "runner").parts[:3]
            if level == "amdgcn":  # the corpus is for NVIDIA's GPUs
                continue
            here = corpus.folder(nearest(version[1:]))
            arch = folder if level != "ttir" else "sm90" if folder == "matmul-with-tma" else "sm80"
            found.append((file, here / arch / file.name))
    for file in sorted(EXAMPLES.glob("runner/tlx/v*/*/*/*")):
        if file.suffix[1:] in ("ttir", "ttgir", *BINARY_LEVELS, "json"):
            version, _, arch = file.relative_to(EXAMPLES / "runner" / "tlx").parts[:3]
            found.append((file, corpus.folder(version[1:]) / arch / file.name))
    return found


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["--run"]:
        found = [row for row in ROWS if row.name == "".join(arguments[1:])]
        if not found:
            sys.exit(f"no row is called {' '.join(arguments[1:])!r}: without --run its names are listed")
        found[0].run()
    print("\n".join(row.name for row in ROWS if all(text in row.name for text in arguments)))


if __name__ == "__main__":
    main(sys.argv[1:])
