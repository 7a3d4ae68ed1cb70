"""The machine code of a PTX text: what ptxas makes of it, and how nvdisasm prints that; kept by its hash."""

import functools
import hashlib
import importlib.util
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEPT = ROOT / "build" / "assembled"


@functools.cache
def program(name: str) -> pathlib.Path | None:
    """One of the installed Triton's: "ptxas", "nvdisasm"; None where there is no Triton."""
    found = importlib.util.find_spec("triton")
    if not found or not found.origin:
        return None
    path = pathlib.Path(found.origin).parent / "backends" / "nvidia" / "bin" / name
    return path if path.exists() else None


def architecture_for(text: str, wanted: str) -> str:
    """`wanted`, with the "a" or "f" of the text's target where the text needs its features."""
    target = re.search(r"^\.target\s+(\w+)", text, re.M)
    return target[1] if target and target[1].rstrip("af") == wanted and target[1] != wanted else wanted


def assemble(
    text: str, wanted: str, ptxas: str = "ptxas-blackwell", lines: bool = False, opt: int = 3
) -> tuple[pathlib.Path, pathlib.Path] | str:
    """Paths of the cubin and of its listing for an architecture ("sm_90"), or why there are none; lines:
    with those of the PTX; opt: ptxas's -O."""
    assembler, disassembler = program(ptxas) or program("ptxas"), program("nvdisasm")
    if not assembler or not disassembler:
        return "no ptxas"
    architecture = architecture_for(text, wanted)
    key = hashlib.sha256(f"{assembler} {architecture} {lines} {opt}\n{text}".encode()).hexdigest()[:24]
    base = KEPT / key
    cubin, listing, why = base.with_suffix(".cubin"), base.with_suffix(".sass"), base.with_suffix(".why")
    if not listing.exists() and not why.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        source = base.with_suffix(f".{os.getpid()}.ptx")
        source.write_text(text)
        command = [
            assembler,
            f"--gpu-name={architecture}",
            f"-O{opt}",
            source,
            "-o",
            cubin,
            *["-lineinfo"] * lines,
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        source.unlink()
        if done.returncode:
            why.write_text(done.stderr)
        else:
            command = [disassembler, "-c", "-hex", *["-gi", "-gp"] * lines, cubin]
            shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            listing.write_text(shown)
    return why.read_text() if why.exists() else (cubin, listing)
