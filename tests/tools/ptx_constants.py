"""Asks Triton's ptxas about numbers in PTX: writes tests/golden/ptx-constants.txt.

    python tests/tools/ptx_constants.py

Each row of the file is asked again: a type and a number (a mov to a register of that type), or "body" or
"module" and a line of a function or a module. Values are read from the machine code, which nvdisasm of
Triton's wheel lists. To ask about another number, add a row with the value "?".
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import triton

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/python/ptx"))
from test_ptx_constants import ENTRY, HEAD, bits, moved  # noqa: E402

GOLDEN = ROOT / "tests/golden/ptx-constants.txt"
TOOLS = Path(triton.__file__).parent / "backends/nvidia/bin"


def ask(text: str, folder: Path) -> tuple[str, str]:
    """(refusal, listing) of a module."""
    (folder / "k.ptx").write_text(text)
    # Without optimisation each number is moved to a register as it is.
    command = [TOOLS / "ptxas", "-arch=sm_90", "-O0", folder / "k.ptx", "-o", folder / "k.cubin"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode < 0:
        return "ptxas dies", ""
    if done.returncode:
        return re.sub(r".*?; (error|fatal)\s*: ", "", done.stderr.splitlines()[0]), ""
    listing = subprocess.run([TOOLS / "nvdisasm", "-c", folder / "k.cubin"], capture_output=True, text=True)
    return "", listing.stdout


def stored(listing: str) -> int:
    """The constant that the kernel stores."""
    registers: dict[str, int | None] = {"RZ": 0}
    for line in re.findall(r"\*/\s+(.*?) ;", listing):
        if match := re.fullmatch(r"(?:MOV|PRMT) (R\d+), (0x[0-9a-f]+|R\w+)(?:, 0x7610, R\d+)?", line):
            registers[match[1]] = int(match[2], 16) if match[2][0] == "0" else registers.get(match[2])
        elif match := re.fullmatch(r"CS2R R(\d+), SRZ", line):
            registers |= {f"R{match[1]}": 0, f"R{int(match[1]) + 1}": 0}
        elif match := re.match(r"STG\.E(\.64|\.U16)? .*, (R\w+)$", line):
            value = registers[match[2]]
            if match[1] == ".64" and match[2] != "RZ":
                value |= registers[f"R{int(match[2][1:]) + 1}"] << 32
            return value & 0xFFFF if match[1] == ".U16" else value
        elif match := re.match(r"\S+ (R\d+)", line):
            registers.pop(match[1], None)
    raise ValueError("nothing is stored")


def main() -> None:
    out = []
    with tempfile.TemporaryDirectory() as name:
        for line in GOLDEN.read_text().splitlines():
            if not line or line.startswith("#"):
                out.append(line)
                continue
            kind, text, _ = line.split("\t")
            plain = text.replace("\\n", "\n")
            if kind == "module":
                refusal, listing = ask(f"{HEAD}{plain}\n{ENTRY}ret;\n}}\n", Path(name))
            else:
                body = plain if kind == "body" else moved(kind, plain, 0)
                refusal, listing = ask(f"{HEAD}{ENTRY}{body}\nret;\n}}\n", Path(name))
            value = "taken" if kind in ("body", "module") else ""
            if refusal:
                value = f"refused: {refusal}"
            elif not value:
                value = f"{stored(listing):0{bits(kind) // 4}x}"
            out.append(f"{kind}\t{text}\t{value}")
    GOLDEN.write_text("\n".join(out) + "\n")


if __name__ == "__main__":
    main()
