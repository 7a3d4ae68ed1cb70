"""Runs in the Python of cuda-gdb: it stops a kernel after the instructions that were asked for and writes
the registers that they gave, a JSON line each. Nothing of triton_runner is imported here.

Lines of the output: {"sass": [[offset, text, file, line], ...], "unread": what no stop could be found for}
once, {"plan": stops}, then for each warp that comes to a stop {"at": offset of the stop, "block": [x, y, z],
"warp": w, "lanes": [...], "values": {"R10": [...]}}, at last {"end": true} or {"error": text}.

Two rules make the reads right (seen on an H100 with CUDA 13.0). A warp that stands at the same stop in two
scans in a row has not moved: loops get a second stop for that. And nothing stops at a jump: stepping over
such a breakpoint once sent a warp to a wrong address. At a stop what was loaded has arrived.
"""

import contextlib
import json
import os
import re

_INSTRUCTION = re.compile(r"^\s*(?:[=*]>\s*)*(0x[0-9a-f]+)\s*(?:<[^>]*?\+?(\d+)>)?:\s*(.*?)\s*$")
_REGISTER = re.compile(r"^(R\d+|UR\d+|P\d+|UP\d+)\b")
_STEP = 16  # bytes of an instruction, from Volta on
_UNKNOWN = (False, 1)  # of an opcode that the table lacks


def instructions(listing):
    """(address, text) of a disassembly."""
    matches = []
    for line in listing.splitlines():
        match = _INSTRUCTION.match(line)
        if match and match[3]:
            matches.append((int(match[1], 16), match[3].rstrip(";").strip()))
    return matches


def results(text, table):
    """The registers that an instruction writes, by its text: "IADD3 R5, P0, R2, ..." gives R5. table: of each
    opcode whether it ends straight code, and how many registers it writes where its suffixes say no more."""
    words = text.split(None, 1)
    if words and words[0].startswith("@"):
        words = words[1].split(None, 1) if len(words) > 1 else []
    if len(words) < 2:
        return "", []
    opcode, operands = words
    _, count = table.get(opcode.split(".")[0], _UNKNOWN)
    first = _REGISTER.match(operands)
    if not first or not count:
        return opcode, []
    register = first[1]
    if not register.startswith("R"):
        count = 1
    elif ".128" in opcode or (count > 1 and ".F32" in opcode):  # sums of f32
        count = 4
    elif ".64" in opcode or ".WIDE" in opcode:
        count = 2
    number = int(re.sub(r"\D", "", register))
    prefix = re.sub(r"\d", "", register)
    return opcode, [f"{prefix}{number + i}" for i in range(count)]


def wanted(selector, offset, opcode, registers, file, line):
    """The registers that a selector asks for of an instruction: "R10", "0x1a0", "0x1a0:R10", "FADD",
    "kernel.py:42", "*"."""
    place, _, register = selector.partition(":")
    if place.startswith("0x"):
        at = int(place, 16) == offset
        return [r for r in registers if at and register in ("", r)]
    if register.isdigit() and place:
        return registers if file.endswith(place) and line == int(register) else []
    if selector in registers:
        return [selector]
    return registers if selector == "*" or opcode == selector or opcode.startswith(selector + ".") else []


def opcode_of(text):
    words = text.split()
    return words[1 if text.startswith("@") and len(words) > 1 else 0]


def is_jump(text, table):
    return text is None or table.get(opcode_of(text).split(".")[0], _UNKNOWN)[0]


def loops_of(code):
    """(first, last) offset of each loop: a jump back and where it goes."""
    matches = []
    for offset, text in code:
        target = re.search(r"(0x[0-9a-f]+)\s*$", text) if opcode_of(text).startswith("BRA") else None
        if target and code[0][0] <= int(target[1], 16) <= offset:
            matches.append((int(target[1], 16), offset))
    return matches


def fences_of(code, stops, table):
    """Second stops for loops that have one only: the instruction before it, or after it."""
    texts, matches = dict(code), []
    for first, last in loops_of(code):
        inside = [stop for stop in stops if first <= stop <= last]
        if len(inside) == 1:
            near = (inside[0] - _STEP, inside[0] + _STEP)
            matches += [
                a for a in near if first <= a <= last and a in texts and not is_jump(texts[a], table)
            ][:1]
    return matches


def named(spec, listing):
    """Returns for the selectors: {offset of a stop: registers}, second stops, and what cannot be read."""
    code = [(offset, text) for offset, text, _, _ in listing]
    texts, stops, unread = dict(code), {}, []
    for offset, text, file, line in listing:
        opcode, registers = results(text, spec["table"])
        chosen = []
        for selector in spec["selectors"]:
            chosen += [r for r in wanted(selector, offset, opcode, registers, file, line) if r not in chosen]
        if not chosen:
            continue
        if is_jump(texts.get(offset + _STEP), spec["table"]):
            unread.append([offset, text])
        else:
            stops[offset + _STEP] = chosen
    return stops, fences_of(code, stops, spec["table"]), unread


def warps_of(threads, block_threads):
    """{warp: lanes} of the threads that were asked for (None: all of the block)."""
    chosen = range(block_threads) if threads is None else threads
    values = {}
    for thread in chosen:
        if thread < block_threads:
            values.setdefault(thread // 32, []).append(thread % 32)
    return values


class Scan:
    """Finds what each thread did since it was last looked at."""

    def __init__(self, gdb, write, start, stops):
        self.gdb, self.write, self.start, self.stops = gdb, write, start, stops
        self.places = {}  # of a warp: the address at which each lane was seen last
        self.begun, self.ended = set(), set()

    def block(self, block, warps):
        """Writes the registers of its warps that came to a stop."""
        key, there = tuple(block), False
        for warp, lanes in warps.items():
            there = self.warp(key, warp, lanes) or there
        if there:
            self.begun.add(key)
        elif key in self.begun:
            self.ended.add(key)

    def warp(self, block, warp, lanes):
        """Whether the warp is on the device."""
        places = self.places.setdefault((block, warp), {})
        states = self.states(block, warp, lanes)
        values, at = {}, None
        for lane in lanes:
            state, pc = states.get(lane, ("", None))
            moved = places.get(lane) != pc
            places[lane] = pc
            if state != "active" or not moved or pc not in self.stops or (at is not None and pc != at):
                continue
            at = pc
            self.gdb.execute(f"cuda lane {lane}", to_string=True)
            for register in self.stops[pc]:
                value = int(self.gdb.parse_and_eval("$" + register)) & 0xFFFFFFFF
                values.setdefault(register, []).append((lane, value))
        if values:
            first = next(iter(values.values()))
            self.write(
                at=at - self.start, block=list(block), warp=warp, lanes=[lane for lane, _ in first],
                values={register: [value for _, value in pairs] for register, pairs in values.items()},
            )  # fmt: skip
        return bool(states)

    def states(self, block, warp, lanes):
        """{lane: (state, pc)}; a thread that ended has no registers to read. {}: the warp is not there."""
        x, y, z = block
        for lane in lanes:
            try:
                self.gdb.execute(f"cuda block ({x},{y},{z}) thread ({warp * 32 + lane},0,0)", to_string=True)
                table = self.gdb.execute("info cuda lanes", to_string=True)
            except self.gdb.error:  # this thread has ended, or the block is not on the device now
                continue
            rows = re.findall(r"^\W*(\d+)\s+(\w+)\s+(0x[0-9a-f]+)", table, re.M)
            return {int(number): (state, int(pc, 16)) for number, state, pc in rows}
        return {}


def run(gdb, spec, out):
    def write(**record):
        out.write(json.dumps(record) + "\n")
        out.flush()

    def do(command):
        return gdb.execute(command, to_string=True)

    for setting in ("pagination off", "confirm off", "breakpoint pending on", "cuda api_failures ignore"):
        do("set " + setting)
    for name, value in spec["environment"].items():
        do(f"set environment {name} {value}")
    ended = []
    gdb.events.exited.connect(lambda event: ended.append(event))
    do("tbreak " + spec["kernel"])
    do("run")
    if ended:
        return write(error=f"the program ended before the kernel {spec['kernel']} was launched")
    code = instructions(do("disassemble"))
    start = code[0][0]
    listing = []
    for address, text in code:
        place = gdb.find_pc_line(address)
        if opcode_of(text).startswith("BRA"):  # where it goes, as an offset too
            text = re.sub(r"0x[0-9a-f]+\s*$", lambda m: hex(int(m[0], 16) - start), text)
        listing.append([address - start, text, place.symtab.filename if place.symtab else "", place.line])
    unread = []
    if "stops" in spec:  # found in the listing of the cubin: it has to be the same code
        stops = {int(offset): registers for offset, registers in spec["stops"].items()}
        texts = {offset: text for offset, text, _, _ in listing}
        for offset, opcode in spec["opcodes"].items():
            if opcode not in texts.get(int(offset), ""):
                return write(error=f"at {int(offset):#x} stands {texts.get(int(offset))}, not {opcode}")
        fences = spec["fences"]
    else:
        stops, fences, unread = named(spec, listing)
    write(sass=listing, unread=unread)
    if not stops:
        return write(error="nothing in the SASS is named so")
    stops.update({offset: [] for offset in fences if offset not in stops})
    warps = warps_of(spec["threads"], spec["block_threads"])
    write(plan=len(stops) * len(spec["programs"]) * len(warps))
    condition = " || ".join(
        "(" + " && ".join(f"blockIdx.{axis} == {n}" for axis, n in zip("xyz", program)) + ")"  # noqa: B905
        for program in spec["programs"]
    )
    for offset in stops:
        do(f"break *{start + offset:#x} if {condition}")
    scan = Scan(gdb, write, start, {start + offset: registers for offset, registers in stops.items()})
    while True:
        do("continue")
        if ended:
            return write(end=True)
        for block in spec["programs"]:
            scan.block(block, warps)
        if len(scan.ended) == len(spec["programs"]):
            return write(end=True)


def main():
    import gdb

    with open(os.environ["TRITON_RUNNER_GDB"]) as file:
        spec = json.load(file)
    with open(spec["out"], "w") as out:
        try:
            run(gdb, spec, out)
        except Exception as error:
            out.write(json.dumps({"error": f"{type(error).__name__}: {error}"}) + "\n")
    with contextlib.suppress(gdb.error):  # it may have ended by itself
        gdb.execute("kill", to_string=True)


if os.environ.get("TRITON_RUNNER_GDB") and __name__ == "__main__":
    main()
