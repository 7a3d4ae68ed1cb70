"""Gives functions of the target's library (libdevice) as PTX between registers, for numerics="hardware": the
installed Triton compiles a kernel that does nothing but apply one.

The core calls text_of() by its name (python/bindings/exec.cpp) and takes an error for ""; no module of Python
does.
"""

from __future__ import annotations

import functools
import importlib.util
import re

from triton_runner._base.errors import DiagnosticError
from triton_runner._pipeline import stages

_LOAD = re.compile(r"\bld\.global\.\w+ \{ (%\w+) \}")
_STORE = re.compile(r"\bst\.global\.\w+ \[.*\], \{ (%\w+) \};")
_REGISTER = re.compile(r"%\w+")
_N = 128  # elements: one for each thread of four warps


@functools.lru_cache(maxsize=256)
def text_of(function: str, operands: tuple[str, ...], result: str, target: str, contract: bool) -> str:
    """The PTX of a function ("math.tanh", or a symbol of the library) of operands $1, $2, ... with the result
    $0; "" where Triton has none, or the function needs more than registers."""
    if importlib.util.find_spec("triton") is None:
        return ""
    kernel, options = _kernel(function, operands, result), {"enable_fp_fusion": contract}
    try:
        ptx = stages.compile_onward(kernel, "ttir", "ptx", target, options, "library").asm
    except DiagnosticError:
        return ""
    return _body(ptx["ptx"], len(operands))


def _kernel(function: str, operands: tuple[str, ...], result: str) -> str:
    """A kernel whose threads load the operands, apply the function and store its result."""

    def tensor(kind: str) -> str:
        return f"tensor<{_N}x{kind}>"

    lines = [f"%i = tt.make_range {{end = {_N} : i32, start = 0 : i32}} : {tensor('i32')}"]

    def pointers(name: str, kind: str) -> str:
        pointer = f"!tt.ptr<{kind}>"
        lines.append(f"%s{name} = tt.splat %p{name} : {pointer} -> {tensor(pointer)}")
        lines.append(f"%a{name} = tt.addptr %s{name}, %i : {tensor(pointer)}, {tensor('i32')}")
        return tensor(pointer)

    for number, kind in enumerate(operands):
        pointer = pointers(str(number), kind)
        lines.append(f"%x{number} = tt.load %a{number} : {pointer}")
    values = ", ".join(f"%x{number}" for number in range(len(operands)))
    types = ", ".join(tensor(kind) for kind in operands)
    if function.startswith("math."):
        lines.append(f'%r = "{function}"({values}) : ({types}) -> {tensor(result)}')
    else:
        about = f'{{libname = "", libpath = "", pure = true, symbol = "{function}"}}'
        lines.append(f"%r = tt.extern_elementwise {values} {about} : ({types}) -> {tensor(result)}")
    pointer = pointers("o", result)
    lines.append(f"tt.store %ao, %r : {pointer}")
    parameters = [f"%p{number}: !tt.ptr<{kind}>" for number, kind in enumerate(operands)]
    parameters.append(f"%po: !tt.ptr<{result}>")
    body = "\n    ".join([*lines, "tt.return"])
    return f"module {{\n  tt.func public @library({', '.join(parameters)}) {{\n    {body}\n  }}\n}}\n"


def _body(ptx: str, count: int) -> str:
    """Returns what the kernel does between its loads and its store; "" where that is not in registers."""
    lines = [line.split("//")[0].strip() for line in ptx.splitlines()]
    loads = [(at, found[1]) for at, line in enumerate(lines) if (found := _LOAD.search(line))]
    stores = [(at, found[1]) for at, line in enumerate(lines) if (found := _STORE.search(line))]
    if len(loads) != count or len(stores) != 1:
        return ""
    cleared = {f"{register}, 0x0;" for _, register in loads}  # before it is loaded
    inside = lines[loads[0][0] + 1 : stores[0][0]]
    inside = [line for line in inside if not _LOAD.search(line) and line.partition(" ")[2] not in cleared]
    code = _needed([line for line in inside if line and not line.startswith(".")], stores[0][1])
    declared = [line for line in lines if line.startswith(".reg")]
    given = [
        f"mov.b{_bits(register, declared)} {register}, ${number + 1};"
        for number, (_, register) in enumerate(loads)
    ]
    last = f"mov.b{_bits(stores[0][1], declared)} $0, {stores[0][1]};"
    escaped = [line.replace("$", "$$") for line in code]
    return "\n".join(["{", *declared, *given, *escaped, last, "}"])


def _bits(register: str, declared: list[str]) -> int:
    prefix = register.rstrip("0123456789")
    return next(
        int(line.split()[1].lstrip(".bfsu"))
        for line in declared
        if f"\t{prefix}<" in line or f" {prefix}<" in line
    )


def _needed(code: list[str], result: str) -> list[str]:
    """The lines that the result depends on, jumps and their labels among them."""
    wanted, kept = {result}, set()
    while True:
        before = len(kept)
        for at, line in enumerate(code):
            registers = _REGISTER.findall(line)
            jumps = "bra" in line.split(";")[0].split() or "bra.uni" in line or line.endswith(":")
            guard = line.startswith("@")
            results = registers[1:2] if guard else registers[:1]
            if at not in kept and (jumps or (results and results[0] in wanted)):
                kept.add(at)
                wanted.update(registers)
        if len(kept) == before:
            return [line for at, line in enumerate(code) if at in kept]
