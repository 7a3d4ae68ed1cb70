"""Tells of a wait in AMD's machine code whether anything depends on it, by the text alone: planted.py does
not count one that nothing depends on as a fault.

Nothing depends on a wait if, on every way on from it to a wait that is as strict for the same counter, or to
the end, no instruction names a register that an access before it may still be loading, and no barrier comes
while an access to LDS may be under way. An access is before it if on some way it is counted by the same
counter and no wait for none of that counter lies between. (What src/amdgcn/waits.cpp finds is not asked: it
is judged.)
"""

import re

COUNTERS = {  # the word of a wait, and which accesses it counts, by generation
    9: {
        "vmcnt": r"(buffer|global|flat|scratch)_(?!wb|inv)",
        "lgkmcnt": r"ds_|s_load|s_buffer_load|s_mem",
    },
    11: {
        "vmcnt": r"(buffer|global|flat|scratch)_(load|atomic)",
        "vscnt": r"(buffer|global|flat|scratch)_(store|atomic)",
        "lgkmcnt": r"ds_|s_load|s_buffer_load|s_mem",
    },
    12: {
        "loadcnt": r"(buffer|global|flat|scratch)_(load|atomic)",
        "storecnt": r"(buffer|global|flat|scratch)_(store|atomic)",
        "dscnt": r"ds_",
        "kmcnt": r"s_load|s_buffer_load|s_mem",
    },
}


def left_by(line: str) -> dict[str, int]:
    """How many accesses of each counter may be under way after a line; of those that it waits for."""
    found = {word: int(n) for word, n in re.findall(r"(\w+cnt)\((\d+)\)", line)}
    if match := re.match(r"\s*s_wait_(\w+?cnt)(?:_(\w+cnt))? (0x[0-9a-f]+|\d+)", line):
        one, other, n = match[1], match[2], int(match[3], 0)
        found |= {one: n >> 8 & 63, other: n & 63} if other else {one: n}
    if match := re.match(r"\s*s_waitcnt_(\w+cnt) null, (0x[0-9a-f]+|\d+)", line):
        found[match[1]] = int(match[2], 0)
    return found


def registers(text: str) -> set[str]:
    """The registers that a line names, one by one."""
    found = {kind + n for kind, n in re.findall(r"\b([vsa])(\d+)\b", text)}
    for kind, first, last in re.findall(r"\b([vsa])\[(\d+):(\d+)\]", text):
        found |= {f"{kind}{n}" for n in range(int(first), int(last) + 1)}
    return found


def is_idle(text: str, at: int, generation: int) -> bool:
    """Whether nothing depends on the wait in a line (counted from 0) of a kernel's text."""
    lines = [line.split(";")[0].rstrip() for line in text.split("\n")]
    limits = left_by(lines[at])
    known = COUNTERS[min(g for g in COUNTERS if g >= generation)]
    if not limits or not limits.keys() <= known.keys():
        return False
    ways = _ways(lines)
    return all(_is_idle(lines, ways, at, word, n, known[word]) for word, n in limits.items())


def _ways(lines: list[str]) -> dict[int, list[int]]:
    """The lines that may come after each."""
    labels = {line[:-1]: i for i, line in enumerate(lines) if re.match(r"[.\w$]+:$", line)}
    ways = {}
    for i, line in enumerate(lines):
        target = re.match(r"\s+s_c?branch\w* (\S+)", line)
        ends = re.match(r"\s+(s_endpgm|s_branch|s_setpc)", line) or i + 1 == len(lines)
        ways[i] = [labels[target[1]]] if target else []
        ways[i] += [] if ends else [i + 1]
    return ways


def _reached(starts: list[int], ways: dict[int, list[int]], ends) -> set[int]:
    """The lines on the ways from some lines on, up to those at which a way ends."""
    seen, waiting = set(), [*starts]
    while waiting:
        i = waiting.pop()
        if i not in seen:
            seen.add(i)
            waiting += [] if ends(i) else ways[i]
    return seen


def _is_idle(lines: list[str], ways: dict, at: int, word: str, limit: int, accesses: str) -> bool:
    back: dict[int, list[int]] = {i: [] for i in ways}
    for i, nexts in ways.items():
        for one in nexts:
            back[one].append(i)
    before = _reached(back[at], back, lambda i: left_by(lines[i]).get(word) == 0)
    pending = [lines[i] for i in before if re.match(rf"\s+({accesses})", lines[i])]
    loaded, to_lds = set(), False
    for line in pending:
        past = line.endswith(" lds") or "load_lds" in line
        to_lds = to_lds or past or line.lstrip().startswith("ds_")
        if not past and not re.search(r"_store|ds_write", line):
            loaded |= registers(line.split(",")[0])
    after = _reached(ways[at], ways, lambda i: left_by(lines[i]).get(word, limit + 1) <= limit)
    for i in after:
        if to_lds and re.match(r"\s+s_barrier", lines[i]):
            return False
        if not left_by(lines[i]) and loaded & registers(lines[i]):
            return False
    return True
