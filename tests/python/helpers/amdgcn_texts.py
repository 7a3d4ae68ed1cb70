"""Has AMDGCN texts of the same code compared letter by letter, instruction by instruction: what LLVM
printed, and what was decoded from the bytes."""

import re

_JUMP = re.compile(r"\.LBB\w+")


class Function:
    """The instructions of a function with their operands and modifiers; alignment (.p2align) stands between
    them. places: which of them a label stands before. Comments and other directives are left out."""

    def __init__(self):
        self.lines: list[str] = []
        self.places: dict[str, int] = {}


def functions(text: str) -> dict[str, Function]:
    found: dict[str, Function] = {}
    current: Function | None = None
    for line in text.split("\t.amdgpu_metadata")[0].splitlines():
        code = re.sub(r"\s*(;|//).*", "", line).rstrip()
        if label := re.fullmatch(r"([\w.$]+):", code):
            name = label[1]
            if name.startswith(".Lfunc_end"):
                current = None
            elif current is not None and name.startswith(".L"):
                current.places[name] = len(current.lines)
            elif not name.startswith("."):
                current = found.setdefault(name, Function())
        elif current is not None and code.startswith("\t") and not code.startswith("\t."):
            current.lines.append(re.sub(r"\s+", " ", code.strip()))
        elif current is not None and code.startswith("\t.p2align") and current.lines:
            current.lines.append(code.strip())
    return {name: function for name, function in found.items() if function.lines}


def differences(printed: str, decoded: str) -> tuple[int, list[tuple[str, str]]]:
    """How many instructions LLVM's text has, and those that differ: (printed, decoded). A jump agrees if it
    leads to the same instruction. The assembler fills the alignment of a loop with s_nop, which is all that
    the bytes say of it; labels are called otherwise."""
    a_all, b_all = functions(printed), functions(decoded)
    count, wrong = 0, [(name, "no such function") for name in a_all.keys() ^ b_all.keys()]
    for name in a_all.keys() & b_all.keys():
        a, b = a_all[name], b_all[name]
        pairs, of_a, of_b, j = [], {}, {}, 0
        for i, line in enumerate(a.lines):
            of_a[i] = len(pairs)
            if line.startswith(".p2align"):
                if j < len(b.lines) and b.lines[j].startswith(".p2align"):
                    of_b[j], j = len(pairs), j + 1
                while j < len(b.lines) and b.lines[j] == "s_nop 0" and a.lines[i + 1] != "s_nop 0":
                    of_b[j], j = len(pairs), j + 1
                continue
            of_b[j] = len(pairs)
            pairs.append((line, b.lines[j] if j < len(b.lines) else ""))
            j += 1
        of_a[len(a.lines)] = of_b[j] = len(pairs)
        wrong += [("", line) for line in b.lines[j:]]
        for mine, theirs in pairs:
            count += 1
            to_a, to_b = _JUMP.search(mine), _JUMP.search(theirs)
            if to_a and to_b and of_a.get(a.places.get(to_a[0])) == of_b.get(b.places.get(to_b[0])):
                mine, theirs = _JUMP.sub("@", mine), _JUMP.sub("@", theirs)
            if mine != theirs:
                wrong.append((mine, theirs))
    return count, wrong


def metadata(text: str) -> str:
    """The block .amdgpu_metadata."""
    return text.split("\t.amdgpu_metadata\n")[1].split("\t.end_amdgpu_metadata")[0].strip()


def directives(text: str) -> dict[str, str]:
    """The directives of the kernel descriptor that are numbers."""
    return dict(re.findall(r"\t\t\.amdhsa_(\w+) (-?\d+)$", text, re.M))


def places(text: str) -> list[tuple[str, str, str] | None]:
    """(file, line, column) of each instruction but s_nop; None: it has none."""
    out, now, files, inside = [], None, {}, False
    for line in text.split("\t.amdgpu_metadata")[0].splitlines():
        code = re.sub(r"\s*;.*", "", line).rstrip()
        if file := re.match(r"\t\.file\t(\d+) (.*)", code):
            files[file[1]] = "/".join(re.findall(r'"([^"]*)"', file[2])[:2])
        elif (place := re.match(r"\t\.loc\t(\d+) (\d+) (\d+)", code)) and place[2] != "0":
            now = (files[place[1]], place[2], place[3])
        elif re.fullmatch(r"[A-Za-z_]\w*:", code):
            inside = True
        elif code.startswith(".Lfunc_end"):
            inside, now = False, None
        elif inside and re.match(r"\t[a-z]", code) and code != "\ts_nop 0":
            out.append(now)
    return out
