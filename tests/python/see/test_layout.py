"""Tests layout(): every encoding of tests/golden/layouts.txt as tables, against Triton's own bases; banks
against a count that takes the lanes one by one."""

import itertools
import json
import math
import pathlib

import numpy
import pytest
import triton_runner
import warm

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "golden" / "layouts.txt"
SHARED = {
    "swizzled": "#ttg.swizzled_shared<{vec = 8, perPhase = 2, maxPhase = 4, order = [1, 0]}>",
    "plain": "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>",
    "nvmma": "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>",
    "padded": "#ttg.padded_shared<[64:+8] {order = [1, 0], shape = [64, 64]}>",
    "rotating": "#ttg.amd_rotating_shared<{vec = 4, perPhase = 1, maxPhase = 8, order = [1, 0]}>",
}
HELD = {
    "rows": "#ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], "
    "order = [1, 0]}>",
    "columns": "#ttg.blocked<{sizePerThread = [8, 1], threadsPerWarp = [8, 4], warpsPerCTA = [1, 4], "
    "order = [0, 1]}>",
    "mma": "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], "
    "instrShape = [16, 8]}>",
}


def golden():
    for line in GOLDEN.read_text().splitlines():
        encoding, element, shape, bases = line.split(" | ")
        yield (
            encoding,
            element,
            shape,
            {name: json.loads(images) for name, images in (part.split("=") for part in bases.split(" "))},
        )


def images(bases: dict, rank: int) -> dict:
    """{element: [the index of each input]} of all holders, from the bases alone."""
    names = [name for name in bases if bases[name]]
    found: dict = {}
    for index in itertools.product(*(range(1 << len(bases[name])) for name in names)):
        at = numpy.zeros(rank, int)
        for name, number in zip(names, index, strict=True):
            for bit, image in enumerate(bases[name]):
                if number >> bit & 1:
                    at = at ^ numpy.array(image)
        found.setdefault(tuple(at.tolist()), []).append(dict(zip(names, index, strict=True)))
    return found


def test_every_encoding_has_tables():
    """Each place leads back to its element by the bases that Triton gives."""
    asked = 0
    for encoding, element, shape, bases in golden():
        found = triton_runner.layout(encoding, shape, element)
        if math.prod(found.shape) > 1 << 15:
            continue  # the same encodings stand there with smaller shapes
        asked += 1
        grid = numpy.indices(found.shape)
        at = numpy.zeros_like(grid)
        names = {"offset": "byte"}
        for name, images_of in (found.bases | bases).items():  # Triton does not say a pair's blocks
            place = found.places[names.get(name, name)]
            if name == "offset":
                place = place * 8 // found.element_bits
            for bit, image in enumerate(images_of):
                for d, step in enumerate(image):
                    at[d] ^= numpy.where(place >> bit & 1, step, 0)
        held = found.copies > 0
        assert held.all() or found.memory == "tensor", encoding
        assert (at == grid)[:, held].all(), (encoding, shape)
    assert asked > 700


def test_holders_are_all_of_them():
    asked = 0
    for encoding, element, shape, _ in golden():
        found = triton_runner.layout(encoding, shape, element)
        if (
            math.prod(found.shape) > 256
            or found.memory != "registers"
            or sum(map(len, found.bases.values())) > 12
        ):
            continue
        asked += 1
        for at, holders in images(found.bases, len(found.shape)).items():
            assert found.copies[at] == len(holders)
            whole = [
                {name: one.get(name, 0) for name in ("register", "lane", "warp", "block")} for one in holders
            ]
            ours = found.holders(*at)
            assert sorted(map(repr, ours)) == sorted(map(repr, whole))
    assert asked > 20


def turns_of(addresses, size: int) -> int:
    """The turns of one access, a lane after the other: a turn takes 128 bytes' worth of lanes."""
    total, group = 0, max(1, 128 // max(size, 4))
    for first in range(0, len(addresses), group):
        banks = [set() for _ in range(32)]
        for address in addresses[first : first + group]:
            for word in range(address // 4, (address + size - 1) // 4 + 1):
                banks[word % 32].add(word)
        total += max(map(len, banks))
    return total


@pytest.mark.parametrize("element", ["i8", "f16", "f32"])
@pytest.mark.parametrize("held", HELD)
@pytest.mark.parametrize("shared", SHARED)
def test_banks(shared, held, element):
    buffer = triton_runner.layout(SHARED[shared], "64x64", element)
    tensor = triton_runner.layout(HELD[held], "64x64", element)
    size = buffer.element_bits // 8
    table = buffer.banks(HELD[held], warp=1)
    moved = set()
    for access in table.accesses:
        addresses = {}
        for lane in range(32):
            mine = (tensor.places["warp"] == 1) & (tensor.places["lane"] == lane)
            for i, register in enumerate(access.registers):
                (row,), (column,) = numpy.nonzero(mine & (tensor.places["register"] == register))
                assert buffer.places["byte"][row, column] == access.bytes[lane] + i * size
            addresses[lane] = access.bytes[lane]
            assert access.bytes[lane] % table.vector_bytes == 0
        moved |= set(access.registers)
        assert access.turns == turns_of(list(addresses.values()), table.vector_bytes)
        assert access.fewest == max(1, table.vector_bytes // 4)
    assert moved == set(range(tensor.size("register")))
    assert table.vector_bytes <= 16


def test_what_is_known_of_swizzles():
    """A column of 16-byte pieces is free of conflicts where swizzled, and eight-fold where not."""
    swizzled = triton_runner.layout(SHARED["nvmma"], "64x64").usual_banks()
    plain = triton_runner.layout(SHARED["plain"], "64x64").usual_banks()
    column = "lanes along dimension 0, 16 bytes each"
    assert swizzled[column].conflicts == 0
    assert plain[column].turns == 8 * swizzled[column].turns


def command(*arguments):
    return warm.invoke("layout", *arguments)


def test_the_command_draws(tmp_path):
    said = command(HELD["rows"], "--shape", "16x64", "--rows", "2").output
    assert "16 registers" not in said and "8 registers, 32 lanes, 4 warps; each element is held once" in said
    assert "    0  T0:0-7  T1:0-7" in said and "... 14 more rows" in said
    said = command(SHARED["nvmma"], "--shape", "64x64", "--png", str(tmp_path / "a.png")).output
    assert "8192 bytes of shared memory" in said and "144 b4" in said and "128 b0" in said
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    said = command(SHARED["plain"], "--shape", "64x64", "--type", "f32", "--access", HELD["columns"]).output
    assert "of 4 bytes a lane" in said and "conflicts 0" not in said
    module = tmp_path / "a.ttgir"
    module.write_text(f"#mine = {HELD['mma']}\nmodule {{\n}}\n")
    found = json.loads(command("#mine", "--shape", "32x32", "--file", str(module), "--json").output)
    assert found["kind"] == "nvidia_mma" and found["places"]["lane"][1][0] == 4


def test_every_kind_is_drawn():
    kinds = set()
    for encoding, element, shape, _ in golden():
        found = triton_runner.layout(encoding, shape, element)
        if found.kind not in kinds and math.prod(found.shape) <= 1 << 15:
            kinds.add(found.kind)
            done = command(encoding, "--shape", shape, "--type", element)
            assert done.exit_code == 0 and "a cell: " in done.output, done.output
    assert len(kinds) > 10


@pytest.mark.parametrize(
    ("encoding", "shape", "message"),
    [
        ("#ttg.blocked<{order = [0]}>", "64", "needs sizePerThread"),
        (
            "#ttg.dot_op<{opIdx = 0, parent = #ttg.blocked<{sizePerThread = [4, 4], threadsPerWarp = [4, 8], "
            "warpsPerCTA = [4, 1], order = [3, 0]}>}>",
            "64x32",
            "does not name each dimension",
        ),
        (
            "#ttg.linear<{register = [[1]], lane = [[2]], warp = [[1073741824]], block = []}>",
            "64",
            "bases from 0 to 1073741823, not 1073741824",
        ),
        ("#ttg.unheard_of<{a = 1}>", "64", "unknown encoding"),
        ("blocked", "64x64", "not an encoding"),
        (SHARED["plain"], "60x64", "powers of two"),
        (SHARED["plain"], "4294967296x64", r"up to 2\^30"),
        (SHARED["plain"], "64xa", "is not a shape"),
        (SHARED["nvmma"], "65536x65536", "smaller shape"),
    ],
)
def test_bad_input(encoding, shape, message):
    with pytest.raises(triton_runner.DiagnosticError, match=message):
        _ = triton_runner.layout(encoding, shape).places
