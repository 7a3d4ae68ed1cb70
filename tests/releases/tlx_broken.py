"""TLX programs that are broken by one edit each (tests/golden/broken-tlx-edits.txt): a wrong phase, a missing
arrival or wait, a buffer that is overwritten before it is read, a missing fence or commit, wrong bytes.

`python tests/releases/tlx_broken.py` runs all of them and writes tests/golden/broken-tlx.txt: what
check="race" answers at TTGIR and at PTX. It needs Triton 3.8 with the plug-in. programs_broken.py does the
same for Gluon, and has what an edit is and how an answer is written.
"""

import os
import re
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "examples"), str(ROOT / "tests" / "python" / "helpers")]

import triton_runner  # noqa: E402
from kernels import harness  # noqa: E402
from programs_broken import CHECKS, Program, edits_of, module_of, plain, read_blocks, source_of  # noqa: E402

GOLDEN = ROOT / "tests" / "golden" / "broken-tlx.txt"
LEVELS = ("ttgir", "ptx")


def _program(module: str, start: str, run: str = "run", target: str = "cuda:90") -> Program:
    return Program(os.path.join("..", "..", "..", *module.split("/")), start, target, run)


PROGRAMS = {
    "pipelined": _program("examples/kernels/tlx_matmul", "def tlx_matmul_kernel"),
    "in tasks": _program("examples/kernels/tlx_matmul_ws", "def tlx_matmul_ws_kernel"),
    "attention": _program("examples/kernels/tlx_attention", "def take_turn"),
    "tcgen05": _program("examples/kernels/tlx_tcgen05", "def tlx_tcgen05_kernel", target="cuda:100"),
    "doubles": _program("tests/releases/tlx_kernels", "def doubles", "run_doubles"),
    "handed over": _program("tests/releases/tlx_kernels", "def handed_over", "run_handed_over"),
}


EDITS = list(edits_of("broken-tlx-edits.txt"))


def _without_fences(folder: str, run) -> dict:
    """The PTX of a launch without its proxy fences: Triton puts one where one task left it out."""
    os.environ["TRITON_CACHE_DIR"] = folder
    with triton_runner.using(level="ptx"):
        run(harness.Device())
    (ptx,) = Path(folder).rglob("*.ptx")
    text = re.sub(r"^\s*fence\.proxy\.async.*$", "", ptx.read_text(), flags=re.MULTILINE)
    return {"ptx_src": text, "metadata_json": str(ptx.with_suffix(".json"))}


def answer(program: Program, level: str, edit: str = "", old: str = "", new: str = "") -> str:
    """Returns what check="race" says of the program: the report with its lines, or "" for none."""
    source = source_of(program, old, new)
    with tempfile.TemporaryDirectory() as folder:
        run = getattr(module_of(source, folder, "program"), program.launch)
        os.environ["TRITON_CACHE_DIR"] = os.path.join(folder, "cache")
        with triton_runner.using(device="cpu", target=program.target, timeout=60):
            options = {}
            if level != "ttgir" and edit.startswith("no fence"):
                options = _without_fences(os.path.join(folder, "fenced"), run)
            try:
                with triton_runner.using(level=level, check=CHECKS):
                    found = run(harness.Device(), **options)
            except triton_runner.KernelTrap as trap:
                return plain(str(trap), folder, source.splitlines())
    if not edit:
        device = harness.Device()
        for name, got, expected, tolerance in found:
            assert float(abs(device.host(got) - expected).max()) <= tolerance, name
    return ""


def read_golden() -> dict:
    return {title: text.strip() for title, text in read_blocks(GOLDEN.name).items()}


if __name__ == "__main__":
    chosen = sys.argv[1:] or list(PROGRAMS)
    for name in chosen:
        for level in LEVELS:
            if found := answer(PROGRAMS[name], level):
                print(f"unbroken {name}, {level}: {found}")
    lines = []
    for name, edit, old, new in EDITS:
        for level in LEVELS if name in chosen else ():
            text = answer(PROGRAMS[name], level, edit, old, new)
            lines.append(f"== {name}, {edit}, {level}\n{text}\n")
            print(lines[-1] if text else f"nothing is said of: {name}, {edit}, {level}", flush=True)
    if not sys.argv[1:]:
        GOLDEN.write_text("\n".join(lines))
