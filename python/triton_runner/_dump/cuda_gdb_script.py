"""What cuda-gdb runs, in its own Python: stops a kernel behind the instructions that were asked for and
writes the registers that they gave, a JSON line each. Nothing of triton_runner is imported here.

Lines of the output: {"sass": [[offset, text, file, line], ...]} once, {"plan": reads}, then
{"stop": n, "at": offset, "register": "R10", "block": [x, y, z], "warp": w, "lanes": [...],
"values": [...]}, at last
{"end": true} or {"error": text}.
"""

import json
import os
import re

_INSTRUCTION = re.compile(r"^\s*(?:[=*]>\s*)*(0x[0-9a-f]+)\s*(?:<[^>]*?\+?(\d+)>)?:\s*(.*?)\s*$")
_REGISTER = re.compile(r"^(R\d+|UR\d+|P\d+|UP\d+)\b")
_STEP = 16  # bytes of an instruction, from Volta on


def instructions(listing):
    """(address, text) of a disassembly."""
    found = []
    for line in listing.splitlines():
        match = _INSTRUCTION.match(line)
        if match and match[3]:
            found.append((int(match[1], 16), match[3].rstrip(";").strip()))
    return found


def results(text):
    """The registers that an instruction writes, by its text: "IADD3 R5, P0, R2, ..." gives R5."""
    words = text.split(None, 1)
    if words and words[0].startswith("@"):
        words = words[1].split(None, 1) if len(words) > 1 else []
    if len(words) < 2:
        return "", []
    opcode, operands = words
    base = opcode.split(".")[0]
    if base in ("ST", "STG", "STS", "STL", "BRA", "EXIT", "BAR", "RED", "DEPBAR", "MEMBAR", "NOP", "BSSY"):
        return opcode, []
    first = _REGISTER.match(operands)
    if not first:
        return opcode, []
    register = first[1]
    count = 1
    if register.startswith("R"):
        if ".128" in opcode or (base in ("HMMA", "HGMMA") and ".F32" in opcode):
            count = 4
        elif ".64" in opcode or ".WIDE" in opcode or base in ("DADD", "DMUL", "DFMA") or base == "HMMA":
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


def warps_of(threads, block_threads):
    """{warp: lanes} of the threads that were asked for (None: all of the block)."""
    chosen = range(block_threads) if threads is None else threads
    found = {}
    for thread in chosen:
        found.setdefault(thread // 32, []).append(thread % 32)
    return found


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
    listing, points = [], {}
    for address, text in code:
        place = gdb.find_pc_line(address)
        file = place.symtab.filename if place.symtab else ""
        offset = address - start
        listing.append([offset, text, file, place.line])
        opcode, registers = results(text)
        chosen = []
        for selector in spec["selectors"]:
            chosen += [
                r for r in wanted(selector, offset, opcode, registers, file, place.line) if r not in chosen
            ]
        if chosen:
            points[address + _STEP] = (offset, chosen)
    write(sass=listing)
    if not points:
        return write(error="nothing in the SASS is named so")
    warps = warps_of(spec["threads"], spec["block_threads"])
    lanes = sum(len(found) for found in warps.values())
    write(plan=lanes * len(spec["programs"]) * sum(len(chosen) for _, chosen in points.values()))
    condition = " || ".join(
        "(" + " && ".join(f"blockIdx.{axis} == {n}" for axis, n in zip("xyz", program)) + ")"  # noqa: B905
        for program in spec["programs"]
    )
    for address in points:
        do(f"break *{address:#x} if {condition}")
    stop = 0
    while True:
        do("continue")
        if ended:
            return write(end=True)
        stop += 1
        for block in spec["programs"]:
            for warp, chosen_lanes in warps.items():
                read_warp(gdb, do, write, stop, block, warp, chosen_lanes, points, spec["block_threads"])


def read_warp(gdb, do, write, stop, block, warp, lanes, points, block_threads):
    """Writes the registers of a warp that stands at one of the points."""
    found = {}
    at = None
    for lane in lanes:
        if warp * 32 + lane >= block_threads:
            continue
        try:
            do(f"cuda block ({block[0]},{block[1]},{block[2]}) thread ({warp * 32 + lane},0,0)")
            pc = int(gdb.parse_and_eval("$pc"))
        except gdb.error:
            return  # the block is not on the device now
        if pc not in points or (at is not None and pc != at):
            continue
        at = pc
        for register in points[pc][1]:
            value = int(gdb.parse_and_eval("$" + register)) & 0xFFFFFFFF
            found.setdefault(register, []).append((lane, value))
    for register, pairs in found.items():
        write(
            stop=stop, at=points[at][0], register=register, block=list(block), warp=warp,
            lanes=[lane for lane, _ in pairs], values=[value for _, value in pairs],
        )  # fmt: skip


def main():
    import gdb

    with open(os.environ["TRITON_RUNNER_GDB"]) as file:
        spec = json.load(file)
    with open(spec["out"], "w") as out:
        try:
            run(gdb, spec, out)
        except Exception as error:
            out.write(json.dumps({"error": f"{type(error).__name__}: {error}"}) + "\n")
    gdb.execute("kill", to_string=True)


if os.environ.get("TRITON_RUNNER_GDB") and __name__ == "__main__":
    main()
