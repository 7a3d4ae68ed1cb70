"""The machine code of a PTX text: what ptxas makes of it, and how nvdisasm prints that; kept by its hash."""

import functools
import hashlib
import importlib.util
import pathlib
import re
import subprocess
import tempfile

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
        # Another process may assemble the same text: each writes files of its own, and whole ones are moved.
        with tempfile.TemporaryDirectory(dir=KEPT) as folder:
            own = pathlib.Path(folder) / key
            source, made, shown = (own.with_suffix(suffix) for suffix in (".ptx", ".cubin", ".sass"))
            source.write_text(text)
            options = [f"--gpu-name={architecture}", f"-O{opt}", *["-lineinfo"] * lines]
            commands = [
                [assembler, *options, source, "-o", made],
                [disassembler, "-c", "-hex", *["-gi", "-gp"] * lines, made],  # an old one knows fewer chips
            ]
            for command in commands:
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                shown.write_text(done.stderr if done.returncode else done.stdout)
                if done.returncode:
                    shown.replace(why)
                    break
            else:
                made.replace(cubin)
                shown.replace(listing)
    return why.read_text() if why.exists() else (cubin, listing)
