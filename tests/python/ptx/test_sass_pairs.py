"""An instruction of PTX in a kernel of its own: machine code leaves the same bytes, on ends of types too."""

import pathlib

import numpy as np
import pytest
import torch
from test_sass import assembled
from triton_runner import _core

HERE = pathlib.Path(__file__).resolve().parent
BLOCK = 128

# %a to %c are words of the arrays, %al and %ah the halves of %a, %A to %C 64 bits, %u and %U numbers of the
# launch. A body leaves its result in %o, %ol (16 bits) or %O (64).
KERNEL = """
.visible .entry k{number}(.param .u64 .ptr .global words, .param .u64 .ptr .global pairs,
  .param .u64 .ptr .global out, .param .u32 ua, .param .u64 uA)
{{
 .reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<40>; .reg .b64 %d<40>;
 .reg .b32 %a, %b, %c, %o, %u; .reg .b64 %A, %B, %C, %O, %U; .reg .b16 %al, %ah, %bl, %bh, %cl, %ch, %ol;
 .shared .align 16 .b8 sh[512];
 mov.u32 %r30, %ctaid.x; mov.u32 %r31, %ntid.x; mov.u32 %r32, %tid.x; mad.lo.s32 %r33, %r30, %r31, %r32;
 mul.wide.u32 %d30, %r33, 12; mul.wide.u32 %d31, %r33, 24; mul.wide.u32 %d33, %r33, 8;
 ld.param.u64 %d32, [words]; add.s64 %d32, %d32, %d30;
 ld.global.b32 %a, [%d32]; ld.global.b32 %b, [%d32+4]; ld.global.b32 %c, [%d32+8];
 ld.param.u64 %d34, [pairs]; add.s64 %d34, %d34, %d31;
 ld.global.b64 %A, [%d34]; ld.global.b64 %B, [%d34+8]; ld.global.b64 %C, [%d34+16];
 ld.param.u64 %d35, [out]; add.s64 %d33, %d35, %d33; ld.param.u32 %u, [ua]; ld.param.u64 %U, [uA];
 mov.b32 {{%al, %ah}}, %a; mov.b32 {{%bl, %bh}}, %b; mov.b32 {{%cl, %ch}}, %c; mov.b64 %O, 0; mov.b32 %o, 0;
 {body} {store} ret;
}}
"""

WORDS = [0, 1, 2, 7, 15, 16, 31, 32, 33, 127, 128, 255, 256, 0x7FFF, 0x8000, 0xFFFF, 0x10000]
WORDS += [0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF, 0xFFFFFF80, 0x3F800000, 0xBF800000, 0x7F800000]
WORDS += [0xFF800000, 0x7FC00000, 0x7F800001, 0x00800000, 0x007FFFFF, 0x7F7FFFFF, 0x4F000000, 0xCF000000]
WORDS += [0x40200000, 0xC2CFF1B5, 0x3C003C00, 0x7C00FC00, 0x7E007BFF, 0x00018001, 0x7F803F80, 0xFF80BF80]
WORDS += [0x7FA5C3F1, 0xFFD5FC01, 0xFE017D55, 0x7FC1FFA3]  # NaNs that say something
DOUBLES = [
    0.0, -0.0, 1.0, -2.5, 3.5, 1e300, 1e-310, 5e-324, np.inf, -np.inf, np.nan, 2.0**31, -(2.0**63), 1e-46,
]  # fmt: skip


DOUBLES = np.array(DOUBLES).view(np.uint64).tolist()
DOUBLES += [0x7FF8000012345678, 0xFFF0000000000001, 0x7FF4AAAA55555555]  # NaNs that say something


def inputs() -> tuple[np.ndarray, np.ndarray]:
    """Three words and three of 64 bits a thread: ends of types beside each other, then random bits."""
    rng = np.random.default_rng(0)
    ends = np.array(WORDS, np.uint32)
    a, b = (x.ravel() for x in np.meshgrid(ends, ends))
    words = np.stack([a, b, rng.choice(ends, len(a))], 1)
    random = rng.integers(0, 2**32, (1024, 3)).astype(np.uint32)
    random[::2] = rng.standard_normal((512, 3)).astype(np.float32).view(np.uint32)
    random[::4] = rng.standard_normal((256, 6)).astype(np.float16).view(np.uint32)
    words = np.concatenate([words, random])
    words = words[: len(words) // BLOCK * BLOCK]
    pairs = rng.integers(0, 2**64, (len(words), 3), np.uint64)
    pairs[::2] = rng.choice(np.array(DOUBLES, np.uint64), pairs[::2].shape)
    pairs[::3] = rng.standard_normal(pairs[::3].shape).view(np.uint64)
    pairs[::7] = words[::7]
    return words, pairs


def groups(architecture: str, size: int = 24) -> list[list[str]]:
    """The lines of sass_pairs.txt that the architecture has ("sm_80,sm_90: ..." if not all have it), as many
    at once as one module holds."""
    out = []
    for line in (HERE / "sass_pairs.txt").read_text().splitlines():
        only, body = line.split(": ", 1) if line.startswith("sm_") else ("", line)
        if line[0] != "#" and (not only or architecture.rstrip("a") in only.split(",")):
            out.append(body)
    return [out[k : k + size] for k in range(0, len(out), size)]


def module(architecture: str, bodies: list[str], version: str = "8.7") -> str:
    kernels = []
    for number, body in enumerate(bodies):
        store = "" if "%O" in body else "cvt.u32.u16 %o, %ol; " if "%ol" in body else ""
        store += "" if "%O" in body else "mov.b64 %O, {%o, %o}; "
        store += "st.global.b64 [%d33], %O;"
        kernels.append(KERNEL.format(number=number, body=body, store=store))
    return f".version {version}\n.target {architecture}\n.address_size 64\n" + "".join(kernels)


def differing(
    architecture: str, ptxas: str, bodies: list[str], opt: int = 3, version: str = "8.7"
) -> list[str]:
    ptx = module(architecture, bodies, version)
    cubin, listing = assembled(ptx, architecture, ptxas, opt)
    words, pairs = (torch.from_numpy(x.view(x.dtype.str.replace("u", "i"))) for x in inputs())
    threads, options, out = len(words), {"block": (BLOCK, 1, 1), "contract": True}, []
    for number, body in enumerate(bodies):
        results = []
        for kernel in (
            _core.load_simt(ptx, "k.ptx", f"k{number}", [], options),
            _core.load_cubin(cubin, listing, "k.sass", f"k{number}", [], options),
        ):
            results.append(torch.zeros(threads, dtype=torch.int64))
            values = [words, pairs, results[-1], 0x12345679, 0x3FF5555555555555]
            arguments = [(p.name, v) for p, v in zip(kernel.params, values, strict=True)]
            kernel.launch((threads // BLOCK, 1, 1), arguments)
        assert (results[0] != 0).any(), body
        if not torch.equal(*results):
            out.append(f"{body} {int((results[0] != results[1]).sum())} of {threads}")
    return out


@pytest.mark.parametrize(
    "architecture, ptxas",
    [
        ("sm_80", "ptxas"),
        ("sm_90", "ptxas"),
        ("sm_90", "ptxas-blackwell"),
        ("sm_100a", "ptxas-blackwell"),
        ("sm_120a", "ptxas-blackwell"),
    ],
)
def test_an_instruction_alone(architecture, ptxas):
    wrong = []
    for bodies in groups(architecture):
        wrong += differing(architecture, ptxas, bodies)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90", "sm_100a"])
def test_without_optimization(architecture):
    """ptxas -O0 has instructions of its own: every 16th line, and those with local memory."""
    bodies = [body for group in groups(architecture) for body in group]
    chosen = [body for k, body in enumerate(bodies) if k % 16 == 0 or ".local" in body]
    wrong = []
    for k in range(0, len(chosen), 24):
        wrong += differing(architecture, "ptxas-blackwell", chosen[k : k + 24], 0)
    assert not wrong, "\n".join(wrong)
