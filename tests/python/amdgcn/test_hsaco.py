"""Code objects of AMD's on the CPU: what is decoded from their bytes is what LLVM printed, kernels run from
them as from their text, and bytes that are none end in an error."""

import pathlib
import random
import re
import struct
import sys

import amdgcn_texts
import kernels_for_amdgcn as k
import numpy
import pytest
import torch
import triton.language as tl
import triton_runner
from triton_runner import DiagnosticError, KernelTrap, _core, debug

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools"))
import amd_assembler  # noqa: E402

TABLE = ROOT / "src/amdgcn/internal/encodings.def"
# Opcodes of the engine that none of the chips encodes: other spellings, and those of gfx10 and gfx1250.
ONLY_TEXT = {
    "buffer_atomic_fmax", "buffer_atomic_fmin", "flat_atomic_fmax", "flat_atomic_fmin",
    "global_atomic_fmax", "global_atomic_fmin", "s_andn1_saveexec_b32", "s_andn1_wrexec_b32",
    "s_andn2_saveexec_b32", "s_andn2_wrexec_b32", "s_buffer_load_dwordx3", "s_inst_prefetch",
    "s_load_dwordx3", "s_max_f32", "s_min_f32", "s_orn1_saveexec_b32", "s_orn2_saveexec_b32",
    "s_setprio_inc_wg", "v_mfma_f32_16x16x16_bf16_1k", "v_mfma_f32_32x32x8_bf16_1k",
    "v_mfma_i32_16x16x16_i8", "v_mfma_i32_32x32x8_i8", "v_pk_add_bf16", "v_pk_fma_bf16", "v_pk_mul_bf16",
}  # fmt: skip
# Kernels, with what each is compiled for.
KERNELS = (
    (k.add, "*fp32 *fp32 *fp32 i32", {"B": 1024}), (k.add, "*fp16 *fp16 *fp16 i32", {"B": 256}),
    (k.add, "*bf16:16 *bf16:16 *bf16:16 i32:16", {"B": 2048}), (k.add, "*i8 *i8 *i8 i32", {"B": 512}),
    (k.add, "*fp64 *fp64 *fp64 i32", {"B": 512}), (k.add, "*i64:16 *i64:16 *i64:16 i64", {"B": 512}),
    (k.softmax, "*fp32:16 *fp32:16 i32", {"B": 1024}), (k.softmax, "*fp16 *fp16 i32", {"B": 4096}),
    (k.layer_norm, "*fp32 *fp32 *fp32 *fp32 i32 fp32", {"B": 1024}),
    (k.layer_norm, "*fp16 *fp16 *fp16 *fp16 i32 fp32", {"B": 2048}),
    (k.matmul, "*fp16:16 *fp16:16 *fp32:16 i32:16 i32:16 i32:16", {"M": 64, "N": 64, "K": 32}),
    (k.matmul, "*bf16:16 *bf16:16 *fp32:16 i32:16 i32:16 i32:16", {"M": 128, "N": 64, "K": 64}),
    (k.matmul, "*fp8e5:16 *fp8e5:16 *fp32:16 i32:16 i32:16 i32:16", {"M": 64, "N": 64, "K": 64}),
    (k.matmul, "*fp16 *fp16 *fp32 i32 i32 i32", {"M": 32, "N": 32, "K": 32}),
    (k.attention, "*fp16:16 *fp16:16 *fp16:16 *fp32:16 i32:16 fp32", {"L": 64, "D": 64}),
    (k.histogram, "*i32 *i32 i32", {"B": 256}), (k.scan, "*i32 *i32", {"B": 512}),
    (k.scan, "*i64 *i64", {"B": 256}),
    (k.bytes_of, "*i8 *i8", {"B": 256}), (k.doubles, "*fp64 *fp64", {"B": 128}), (k.calls, "*fp32 *fp32", {}),
    (k.counts_programs, "*i32", {}), (k.out_of_bounds, "*fp32 *fp32", {"B": 128}),
    (k.races, "*i32", {"B": 128}),
    *((k.rounds_to, "*fp32 *fp32", {"B": 64, "T": kind})
      for kind in (tl.float8e4nv, tl.float8e5, tl.float8e4b8, tl.float8e5b16, tl.bfloat16)),
    (k.stays_within, "*i16 *i16 *i16", {"B": 128, "W": tl.int32, "low": -32768, "high": 32767}),
    (k.sorts, "*i8 *i8", {"B": 512}), (k.sorts, "*fp32 *fp32", {"B": 256}),
    (k.divides, "*i64 *i64 *i64", {"B": 64}),
    (k.divides, "*i32 *i32 *i32", {"B": 64}), (k.strided, "*fp32 *fp32 i32", {"B": 128}),
)  # fmt: skip


def _compiled(target, kernel=k.add, types="*fp32 *fp32 *fp32 i32", constants=None):
    constants = {"B": 256} if constants is None else constants
    parameters = [name for name in kernel.arg_names if name not in constants]
    signature = dict(zip(parameters, types.split(), strict=True))
    return triton_runner.compile(kernel, signature, constants, target=f"hip:{target}", to="hsaco")


@pytest.fixture(scope="module")
def add_hsaco():
    return _compiled("gfx942").asm["hsaco"]


@pytest.mark.parametrize("target", amd_assembler.TARGETS)
def test_rows_and_operands_are_decoded_to_their_text(target):
    rows = [row for row in amd_assembler.read_rows(TABLE) if target in row.numbers]
    kinds = range(len(amd_assembler.KINDS))
    texts = [(row, kind, amd_assembler.text(row, target, kind)) for row in rows for kind in kinds]
    texts = [one for one in texts if one[2]] + [(None, -1, one) for one in amd_assembler.spelled(target)]
    codes = amd_assembler.assemble(target, [text for _, _, text in texts])
    others, plain = [], []
    for (row, kind, text), code in zip(texts, codes, strict=True):
        if code is None:  # LLVM has no such form
            continue
        decoded, size = _core.amdgcn_instruction(code, target)
        assert size == len(code), text
        if decoded != text.removesuffix("Iend"):
            others.append((text, decoded, code))
        if kind == 0:
            assert amd_assembler.opcode_of(row.format, code, target) == row.numbers[target], text
            plain.append(row)
    assert len(plain) == len(rows) > 1300
    # LLVM reads some words that it prints otherwise; what was decoded has the same bytes.
    again = amd_assembler.assemble(target, [decoded for _, decoded, _ in others])
    for (text, decoded, code), made in zip(others, again, strict=True):
        assert made == code, (text, decoded)
    assert len(others) < 60


def test_what_the_engine_executes_is_decoded():
    encoded = {re.sub(r"_e(32|64)$", "", row.name) for row in amd_assembler.read_rows(TABLE)}
    encoded |= {name.replace("v_dual_", "v_") for name in encoded}
    rows = re.findall(r"^(?:OP|ALIAS)\((\w+),", (TABLE.parent / "opcodes.def").read_text(), re.M)
    assert len(rows) > 1000
    assert sorted({*rows} - encoded - ONLY_TEXT) == []


@pytest.mark.parametrize("target", amd_assembler.TARGETS)
def test_kernels_are_decoded_letter_by_letter(target):
    count = 0
    for kernel, types, constants in KERNELS:
        try:
            compiled = _compiled(target, kernel, types, constants)
        except DiagnosticError:  # a type that the target has not
            continue
        printed, decoded = compiled.asm["amdgcn"], _core.amdgcn_of_hsaco(compiled.asm["hsaco"])
        instructions, wrong = amdgcn_texts.differences(printed, decoded)
        assert not wrong, (kernel, types, wrong[:5])
        assert amdgcn_texts.metadata(printed) == amdgcn_texts.metadata(decoded)
        assert amdgcn_texts.places(printed) == amdgcn_texts.places(decoded)
        a, b = amdgcn_texts.directives(printed), amdgcn_texts.directives(decoded)
        assert {name: a[name] for name in a.keys() & b.keys()} == {
            name: b[name] for name in a.keys() & b.keys()
        }
        assert a.keys() - b.keys() <= {
            "next_free_sgpr",
            "reserve_vcc",
            "reserve_xnack_mask",
            "reserve_flat_scratch",
        }
        count += instructions
    assert count > 4000


@pytest.mark.parametrize("target", amd_assembler.TARGETS)
def test_kernels_run_from_their_bytes(target):
    with triton_runner.using(device="cpu", level="hsaco", target=f"hip:{target}"):
        x, y, out = torch.randn(3000), torch.randn(3000), torch.zeros(3000)
        kernel = k.add[(3,)](x, y, out, 3000, 1024)
        assert torch.equal(out, x + y) and kernel.asm["hsaco"].startswith(b"\x7fELF")
        x, out = torch.randn(5, 781), torch.zeros(5, 781)
        k.softmax[(5,)](x, out, 781, 1024)
        torch.testing.assert_close(out, torch.softmax(x, 1))
        # gfx90a's products take subnormal numbers as zeros.
        a, b = torch.randn(64, 96).half(), torch.randn(96, 64).half()
        a, b, out = a.where(a.abs() > 1e-4, 0), b.where(b.abs() > 1e-4, 0), torch.zeros(64, 64)
        k.matmul[(1, 1)](a, b, out, 64, 64, 96, 64, 64, 32)
        torch.testing.assert_close(out, a.float() @ b.float(), atol=1e-4, rtol=1e-4)
        x, out = torch.randn(128), torch.zeros(128)
        k.calls[(128,)](x, out)
        assert torch.equal(out, x * x * x)
        q, key, v = (torch.randn(64, 32).half() for _ in range(3))
        out = torch.zeros(64, 32)
        k.attention[(2,)](q, key, v, out, 64, 0.2, 32, 32)
        with triton_runner.using(level="amdgcn"):
            again = torch.zeros(64, 32)
            k.attention[(2,)](q, key, v, again, 64, 0.2, 32, 32)
        assert torch.equal(out, again)


def test_a_file_is_loaded_without_its_kernel(add_hsaco, tmp_path):
    path = tmp_path / "add.hsaco"
    path.write_bytes(add_hsaco)
    x, y, out = torch.randn(300), torch.randn(300), torch.zeros(300)
    loaded = triton_runner.load(path, device="cpu")
    loaded[(2,)](x, y, out, 300)
    assert torch.equal(out, x + y)
    assert "v_add_f32_e32" in loaded.asm["amdgcn"] and loaded.level == "hsaco"
    out.zero_()
    triton_runner.jit(k.add.fn)[(2,)](x, y, out, 300, 256, hsaco_dir=str(tmp_path), device="cpu")
    assert torch.equal(out, x + y)


def test_a_dump_of_a_file_is_that_of_its_text(add_hsaco, tmp_path):
    path = tmp_path / "add.hsaco"
    path.write_bytes(add_hsaco)
    loaded = triton_runner.load(path, device="cpu")
    (tmp_path / "add.amdgcn").write_text(loaded.asm["amdgcn"])
    dumps = []
    for kernel in (loaded, triton_runner.load(tmp_path / "add.amdgcn", device="cpu")):
        out = torch.zeros(300)
        with triton_runner.dumping("add", "v_add_f32") as dump:
            kernel[(2,)](torch.ones(300), torch.ones(300), out, 300)
        assert torch.equal(out, torch.full((300,), 2.0))
        dumps.append({one.name: one.to_numpy().tolist() for one in dump.launches[-1]})
    assert dumps[0] == dumps[1] and all(numpy.any(numpy.equal(one, 2.0)) for one in dumps[0].values())
    assert dumps[0]
    assert loaded.level == "hsaco"
    with pytest.raises(DiagnosticError, match="'v99' writes a register"), triton_runner.dumping("add", "v99"):
        loaded[(2,)](torch.ones(300), torch.ones(300), torch.zeros(300), 300)


def test_a_file_is_debugged_and_reduced_as_its_text(add_hsaco, tmp_path):
    path = tmp_path / "add.hsaco"
    path.write_bytes(add_hsaco)
    arrays = ["f32[300]=1", "f32[300]=1", "f32[300]"]
    with debug(str(path), *arrays, "i32=300", grid="2") as session:
        stop = session.run_until("v_add_f32")
        assert stop.level == "amdgcn" and stop.op.startswith("v_add_f32")
    with (
        pytest.raises(DiagnosticError, match="has no level ttgir"),
        debug(str(path), *arrays, "i32=300", grid="2", level="ttgir"),
    ):
        pass
    args = [torch.ones(300), torch.ones(300), torch.zeros(300), 301]
    smallest = triton_runner.reduce(path, "trap:oob", grid=(2,), args=args)
    assert "global_load" in smallest.text and smallest.size < smallest.size_before
    text = triton_runner.load(path, device="cpu", level="amdgcn")
    assert text.level == "amdgcn" and text.asm["amdgcn"].count("v_add_f32") > 0


def test_faults_and_waits_have_the_lines_of_the_program(add_hsaco, tmp_path):
    compiled = _compiled("gfx1100", k.out_of_bounds, "*fp32 *fp32", {"B": 128})
    (tmp_path / "out_of_bounds.hsaco").write_bytes(compiled.asm["hsaco"])
    loaded = triton_runner.load(tmp_path / "out_of_bounds.hsaco", device="cpu")
    with pytest.raises(KernelTrap, match=r"kernels_for_amdgcn.py:\d+:\d+.*right at the end of argument"):
        loaded[(1,)](torch.zeros(100), torch.zeros(128))
    # s_waitcnt vmcnt(0) becomes s_nop 0: 0xbf8c0f70, 0xbf800000.
    wait = bytes.fromhex("700f8cbf")
    assert add_hsaco.count(wait) >= 1
    (tmp_path / "add.hsaco").write_bytes(add_hsaco.replace(wait, bytes.fromhex("000080bf")))
    broken = triton_runner.load(tmp_path / "add.hsaco", device="cpu", check="hazard")
    with pytest.raises(KernelTrap, match="a load that nobody waited for"):
        broken[(2,)](torch.ones(300), torch.ones(300), torch.zeros(300), 300)


def test_an_unknown_instruction_is_named_before_the_launch(add_hsaco, tmp_path):
    at = add_hsaco.rindex(bytes.fromhex("000081bf"))  # s_endpgm
    text = _offset_of_text(add_hsaco)
    code = add_hsaco[:at] + bytes.fromhex("ffff9fbf") + add_hsaco[at + 4 :]
    (tmp_path / "add.hsaco").write_bytes(code)
    loaded = triton_runner.load(tmp_path / "add.hsaco", device="cpu")
    out = torch.zeros(300)
    where = re.escape(f".text+{hex(at - text)}: 0xbf9fffff")
    with pytest.raises(DiagnosticError, match=where + ".*gfx942.*the opcode 31 of SOPP is not in the table"):
        loaded[(2,)](torch.ones(300), torch.ones(300), out, 300)
    assert not out.any()


def _offset_of_text(elf: bytes) -> int:
    table, count, names = struct.unpack_from("<Q", elf, 40)[0], *struct.unpack_from("<2H", elf, 60)
    sections = [struct.unpack_from("<2I4Q", elf, table + 64 * n) for n in range(count)]
    start = sections[names][4]
    return next(s[4] for s in sections if elf[start + s[0] :].startswith(b".text\0"))


def test_other_chips_and_other_files_are_refused(add_hsaco):
    with pytest.raises(DiagnosticError, match="not decoded"):  # gfx1030
        _core.amdgcn_of_hsaco(add_hsaco[:48] + b"\x36\x05\0\0" + add_hsaco[52:])
    with pytest.raises(DiagnosticError, match="not linked"):
        _core.amdgcn_of_hsaco(add_hsaco[:16] + b"\x01" + add_hsaco[17:])
    with pytest.raises(DiagnosticError, match="version is not known"):
        _core.amdgcn_of_hsaco(add_hsaco[:8] + b"\x09" + add_hsaco[9:])
    for bytes_, says in ((b"", "it is empty"), (b"s_endpgm", "ELF magic"), (add_hsaco[:40], "truncated")):
        with pytest.raises(DiagnosticError, match=says):
            _core.amdgcn_of_hsaco(bytes_)


def test_damaged_files_end_in_errors(add_hsaco):
    chance = random.Random(7)
    ended = {"text": 0, "error": 0}
    damaged = [add_hsaco[:size] for size in range(0, len(add_hsaco), 61)]
    for _ in range(600):
        code = bytearray(add_hsaco)
        for _ in range(chance.randint(1, 6)):
            code[chance.randrange(len(code))] = chance.choice((0, 0xFF, 0x80, chance.randrange(256)))
        damaged.append(bytes(code))
    for code in damaged:
        try:
            _core.amdgcn_of_hsaco(code)
            ended["text"] += 1
        except DiagnosticError as error:
            assert str(error)
            ended["error"] += 1
    assert min(ended.values()) > 20
