"""Implements triton_runner.resources(): what a kernel's binary needs of the GPU, read from the binary, with
no GPU."""

from __future__ import annotations

import dataclasses
import json
import os

from triton_runner import _core
from triton_runner._artifact.reading import describe, no_case
from triton_runner._base import tools
from triton_runner._base.errors import DiagnosticError, fail
from triton_runner._base.levels import ENDINGS, LEVELS, binary_level, level_of_name
from triton_runner._base.metadata import as_path_or_text
from triton_runner._base.paths import check_name, no_level
from triton_runner._kernel.compiling import compile as compiler


@dataclasses.dataclass(frozen=True)
class Resources:
    """The resources that a kernel's binary needs. A field is None where the binary does not record it or the
    target does not have it.

    - `registers`: registers of a thread (AMD: VGPRs); `sgprs`, `agprs`: AMD's other registers.
    - `spills`: registers that were spilled to memory, counted as Triton does: on NVIDIA 4-byte slots of the
      stack frame, on AMD VGPRs. `sgpr_spills`: AMD's spilled SGPRs.
    - `local_bytes`: private memory of a thread (CUDA: stack; AMD: scratch).
    - `static_shared`, `dynamic_shared`: shared memory of a block in bytes (AMD: LDS); the dynamic part comes
      from the metadata.
    - `barriers`: named barriers. `constant_banks`: bytes by bank number; bank 0 holds the parameters.
    - `code_bytes`: size of the machine code. `instructions`: how often each opcode occurs, the most frequent
      first.
    - `occupancy`: blocks and warps on an SM, the largest number of warps that the SM holds, and what limits
      the number of blocks (`limits`); these are computed. `waves`: waves on a SIMD of AMD, as LLVM reports
      them.
    """

    kernel: str
    target: str
    warps: int | None
    registers: int | None
    sgprs: int | None
    agprs: int | None
    spills: int | None
    sgpr_spills: int | None
    local_bytes: int | None
    static_shared: int | None
    dynamic_shared: int | None
    barriers: int | None
    constant_banks: dict[int, int]
    code_bytes: int | None
    instructions: dict[str, int]
    occupancy: dict | None
    waves: int | None
    notes: tuple[str, ...] = ()

    def count(self, opcode: str) -> int:
        """Counts the instructions whose opcode begins with `opcode`: "LDG", "HGMMA.64x128x16", "v_mfma"."""
        return sum(
            n
            for name, n in self.instructions.items()
            if name == opcode or name.startswith((opcode + ".", opcode + "_"))
        )

    def as_dict(self) -> dict:
        return {**dataclasses.asdict(self), "notes": list(self.notes)}

    def __str__(self):
        shared = f"{self.static_shared or 0} + {'?' if self.dynamic_shared is None else self.dynamic_shared}"
        rows = [
            ("registers", self.registers),
            ("SGPRs, AGPRs", f"{self.sgprs}, {self.agprs}" if self.sgprs is not None else None),
            ("spills", self.spills),
            ("local bytes", self.local_bytes),
            ("shared bytes", f"{shared} (static + dynamic)"),
            ("barriers", self.barriers),
            ("constant banks", ", ".join(f"{k}: {v}" for k, v in self.constant_banks.items()) or None),
            ("code bytes", self.code_bytes),
            ("occupancy", self._occupancy_text()),
            ("instructions", ", ".join(f"{op} {n}" for op, n in [*self.instructions.items()][:8]) or None),
        ]
        word = "wavefronts" if self.target.startswith("hip:") else "warps"
        lines = [f"{self.kernel} for {self.target}, {self.warps or '?'} {word}"]
        lines += [f"  {name:<16}{value}" for name, value in rows if value is not None]
        return "\n".join(lines + [f"  note: {note}" for note in self.notes])

    def _occupancy_text(self) -> str | None:
        if self.waves is not None:
            return f"{self.waves} waves on a SIMD"
        if self.occupancy is None:
            return None
        o = self.occupancy
        limits = " and ".join(o["limits"])
        return f"{o['blocks']} blocks, {o['warps']} of {o['most_warps']} warps on an SM; limit: {limits}"


def resources(kernel, metadata=None, *, name: str = "", listing: str | None = None) -> Resources:
    """Reads what a kernel's binary needs of the GPU: registers, memory, code, instructions, occupancy. Raises
    DiagnosticError.

    - `kernel`: a file (.cubin, .hsaco, .amdgcn; IR and PTX are compiled by the installed Triton), or the
      result of compile(), load() or a launch. `name`: selects a kernel of the file.
    - `metadata`: the metadata, if it is not beside the file: a JSON file or text, or a dict. It contains the
      size of a block's dynamic shared memory, from which occupancy is computed.
    - `listing`: the output of nvdisasm for the cubin, if it is available already.
    """
    if isinstance(kernel, (str, os.PathLike)):
        return _of_file(os.fspath(kernel), as_path_or_text(metadata, "metadata"), name)
    if not hasattr(kernel, "asm"):
        raise fail(
            f"resources() cannot read a {type(kernel).__name__}",
            "give a file, or what compile(), load() or a launch returns",
        )
    metadata_text = as_path_or_text(metadata if metadata is not None else kernel, "metadata")
    there = dict.keys(kernel.asm)  # a level that is not there is compiled when it is asked for
    for level in ("cubin", "hsaco", "amdgcn"):
        if level in there:
            return _of_binary(level, kernel.asm, "", name, metadata_text, listing)
    text, level = next(((kernel.asm[x], x) for x in LEVELS if x in there), ("", ""))
    if not text:
        raise fail("this kernel has no level that could be compiled to a binary")
    return _compiled(text, level, metadata_text, name)


def _of_file(path: str, metadata: str | None, name: str) -> Resources:
    no_case(path)
    level = level_of_name(path)
    if not level:
        raise no_level(path, ENDINGS)
    try:
        check_name(path)
        with open(path, "rb") as file:
            content = file.read()
    except OSError as error:
        raise fail(f"cannot read {path}: {error.strerror}") from None
    if level in ("cubin", "hsaco"):
        return _of_binary(level, {level: content}, path, name, metadata)
    if level == "amdgcn":
        return _of_binary(level, {level: content.decode(errors="replace")}, path, name, metadata)
    return _compiled(path, level, metadata, name)


def _compiled(source: str, level: str, metadata: str | None, name: str) -> Resources:
    """Returns the resources of IR or PTX: compiled to the binary first."""
    compiled = compiler.compile(source, from_=level, metadata=metadata)
    binary = binary_level(compiled.target)
    return _of_binary(
        binary, compiled.asm, "", name, json.dumps({**compiled.metadata, "name": compiled.name}, default=str)
    )


def _of_binary(
    level: str, asm, path: str, name: str, metadata: str | None, listing: str | None = None
) -> Resources:
    d = describe(level, asm[level], path, name, metadata).description
    has_assembly = "amdgcn" in dict.keys(asm)
    if level == "hsaco" and has_assembly:  # says more: waves, the instructions
        d = {**d, "waves": describe("amdgcn", asm["amdgcn"], "", d["name"], metadata).description["waves"]}
    notes, mix, occupancy = [], {}, None
    if level == "cubin":
        try:
            listing = listing or tools.disassembly(asm[level])
            mix = _core.artifact.instruction_mix(listing, True, d["name"])
        except DiagnosticError as error:
            notes.append(f"no instructions: {error.message}")
        occupancy = _occupancy(d, notes)
    else:
        try:
            assembly = asm["amdgcn"] if has_assembly else _core.amdgcn_of_hsaco(asm[level], path)
            mix = _core.artifact.instruction_mix(assembly, False, d["name"])
        except DiagnosticError as error:
            notes.append(f"no instructions: {error.message}")
    return Resources(
        kernel=d["name"], target=d["target"], warps=d["num_warps"], registers=d["n_regs"], sgprs=d["sgprs"],
        agprs=d["agprs"], spills=d["n_spills"], sgpr_spills=d["sgpr_spills"], local_bytes=d["local_bytes"],
        static_shared=d["static_shared"], dynamic_shared=d["shared"], barriers=d["barriers"],
        constant_banks=dict(d["constant_banks"]), code_bytes=d["code_bytes"], instructions=mix,
        occupancy=occupancy, waves=d["waves"], notes=tuple(notes),
    )  # fmt: skip


def _occupancy(d: dict, notes: list[str]) -> dict | None:
    missing = [what for what, key in (("warps", "num_warps"), ("registers", "n_regs")) if d[key] is None]
    if d["shared"] is None:
        missing.append("dynamic shared memory, which only the metadata know")
    if missing:
        notes.append(f"no occupancy: the file does not say its {', '.join(missing)}")
        return None
    try:
        shared = d["shared"] + (d["static_shared"] or 0)
        return _core.artifact.occupancy(d["target"], d["num_warps"] * 32, d["n_regs"], shared)
    except DiagnosticError as error:
        notes.append(f"no occupancy: {error.message}")
        return None
