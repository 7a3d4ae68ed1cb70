"""Writes a case of tests/cases/sass: PTX, and in comments what ptxas makes of that very text.

    python tests/tools/make_sass_case.py KERNEL.ptx sm_90a "What it shows." > tests/cases/sass/NAME.ptx
    python tests/run_cases.py --update sass/NAME

Debug sections and .loc are left out of the PTX. Triton's own ptxas and nvdisasm are used.
"""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from suite.assembled import assemble


def main(path: str, architecture: str, title: str) -> None:
    text = Path(path).read_text()
    text = text[: re.search(r"^}", text, re.M).end()]  # the kernel; debug sections come behind it
    lines = [line.split("//")[0].rstrip() for line in text.splitlines()]
    kept = [
        line
        for line in lines
        if line.strip() and not re.match(r"\s*(\.loc|\.file|\$L__tmp|\$L__func|\$L__info)", line)
    ]
    ptx = "\n".join([f"// {title}", *kept]) + "\n"
    _, shown = assemble(ptx, architecture, lines=True)
    listing = [
        re.sub(r" +/\* 0x.*", "", line.strip())
        for line in shown.read_text().splitlines()
        if re.match(r"\s*(\.text\.\w+:|//## File|/\*[0-9a-f]+\*/|\.L_\w+:)", line) and "NOP;" not in line
    ]
    sys.stdout.write(ptx + "".join(f"//S {line}\n" for line in listing))


if __name__ == "__main__":
    main(*sys.argv[1:])
