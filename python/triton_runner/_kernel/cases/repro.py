"""Runs a launch again from this folder alone: python repro.py [--level ttir|ttgir|ptx].

On a GPU it needs triton and torch. Without one, triton-runner executes the kernel on the CPU at the level
asked for. Exit status: 0 where the result is what is expected, 1 where it is not, or the launch stops.
"""

import json
import pathlib
import struct
import sys

if "--level" in sys.argv:
    import os

    os.environ["TRITON_RUNNER_LEVEL"] = sys.argv[sys.argv.index("--level") + 1]
try:
    import triton_runner  # where there is no GPU, the CPU becomes Triton's device
except ImportError:
    triton_runner = None
import torch

HERE = pathlib.Path(__file__).resolve().parent
ABOUT = json.loads((HERE / "case.json").read_text())
TORCH = {
    "i1": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8",
    "u16": "uint16", "u32": "uint32", "u64": "uint64", "f16": "float16", "f32": "float32", "f64": "float64",
    "bf16": "bfloat16", "f8E4M3FN": "float8_e4m3fn", "f8E5M2": "float8_e5m2", "f8E4M3FNUZ": "float8_e4m3fnuz",
    "f8E5M2FNUZ": "float8_e5m2fnuz", "f8E8M0FNU": "float8_e8m0fnu",
}  # fmt: skip
# How far sums in another order may be apart, relative to the largest number, by the type of an element.
TOLERANCE: dict = {}  # the case that this file is written into has the table of _memory/difference.py


def on_gpu():
    return torch.cuda.is_available()


def arrays(name):
    """The bytes of the arrays of a safetensors file, by name."""
    data = bytearray((HERE / name).read_bytes())
    (size,) = struct.unpack_from("<Q", data)
    body = data[8 + size :]
    return {
        key: torch.frombuffer(body[entry["data_offsets"][0] : entry["data_offsets"][1]], dtype=torch.uint8)
        for key, entry in json.loads(data[8 : 8 + size]).items()
        if key != "__metadata__" and entry["data_offsets"][0] < entry["data_offsets"][1]
    }


def drawn(generator, size):
    """The bytes that a generator describes."""
    if generator["kind"] == "repeat":
        element = bytes.fromhex(generator["hex"])
        return torch.frombuffer(bytearray(element * (size // len(element))), dtype=torch.uint8)
    kind, chance = getattr(torch, TORCH[generator["dtype"]]), torch.Generator().manual_seed(0)
    count = size // torch.empty(0, dtype=kind).element_size()
    if generator["kind"] == "integers":
        values = torch.randint(generator["low"], generator["high"] + 1, (count,), generator=chance)
    else:
        values = torch.randn(count, generator=chance) * generator["deviation"] + generator["mean"]
    return values.to(kind).view(torch.uint8)


def blocks():
    """The memory of the launch, where it runs."""
    stored, arguments = arrays("arguments.safetensors"), []
    for block in ABOUT["blocks"]:
        if block["bytes"] == 0:
            arguments.append(torch.empty(0, dtype=torch.uint8))
        elif "stored" in block:
            arguments.append(stored[block["stored"]])
        else:
            arguments.append(drawn(block["generator"], block["bytes"]))
    # Each in memory of its own, aligned as it was.
    placed = []
    for block, data in zip(ABOUT["blocks"], arguments, strict=True):
        room = torch.zeros(block["bytes"] + 128, dtype=torch.uint8, device="cuda" if on_gpu() else "cpu")
        start = (block["align"] - room.data_ptr()) % 64
        placed.append(room[start : start + block["bytes"]])
        placed[-1].copy_(data)
    return placed


def argument(one, memory):
    if one["kind"] == "number":
        return float.fromhex(one["hex"]) if "hex" in one else one["value"]
    kind = getattr(torch, TORCH[one["dtype"]])
    whole = memory[one["block"]][one["offset"] :]
    width = torch.empty(0, dtype=kind).element_size()
    elements = whole[: whole.numel() // width * width].view(kind)
    tensor = elements.as_strided(one["shape"], one["strides"], elements.storage_offset())
    if one["kind"] == "descriptor":
        from triton.tools.tensor_descriptor import TensorDescriptor

        fields = one["descriptor"]
        return TensorDescriptor(tensor, fields["shape"], fields["strides"], fields["block_shape"])
    return tensor


def constant(value):
    if not isinstance(value, dict):
        return value
    import triton.language as tl

    ((form, content),) = value.items()
    if form == "tuple":
        return tuple(map(constant, content))
    return tl.dtype(content) if form == "dtype" else tl.constexpr(constant(content))


def main():
    sys.path.insert(0, str(HERE))
    import kernel as module

    function, memory = getattr(module, ABOUT["python"]), blocks()
    arguments = {one["name"]: argument(one, memory) for one in ABOUT["arguments"]}
    behind = {one["name"]: argument(one, memory) for one in ABOUT.get("pointed", ())}
    for pointer in ABOUT.get("pointers", ()):
        name, element, address = pointer["argument"], pointer["element"], behind[pointer["to"]].data_ptr()
        if element is None:
            arguments[name] = address
        else:
            arguments[name].view(-1)[element] = address
    constants = {name: constant(value) for name, value in ABOUT["constants"].items()}
    function[tuple(ABOUT["grid"])](**arguments, **constants, **ABOUT["options"])
    if on_gpu():
        torch.cuda.synchronize()
    wrong, expected = 0, arrays("expected.safetensors")
    if any(block.get("generator", {}).get("kind") not in (None, "repeat") for block in ABOUT["blocks"]):
        expected = {}  # torch draws other numbers than those of which this was computed
    for name, data in expected.items():
        given = {**arguments, **behind}[name]
        got = given if hasattr(given, "view") else given.base
        got = got.cpu().contiguous()
        expectation = data.view(got.dtype).view(got.shape)
        a, b = expectation.double(), got.double()
        largest = a[a.isfinite()].abs().max().item() if a.isfinite().any() else 0.0
        room = largest * TOLERANCE.get(str(got.dtype).removeprefix("torch."), 0.0)
        same = (a == b) | (a.isnan() & b.isnan()) | ((a - b).abs() <= room)
        if not same.all():
            first = (~same).flatten().nonzero()[0].item()
            numbers = f"{b.flatten()[first].item()!r}, expected {a.flatten()[first].item()!r}"
            print(
                f"WRONG: {name}: {(~same).sum().item()} of {same.numel()} elements, element {first}: "
                f"{numbers}"
            )
            wrong = 1
    print("wrong" if wrong else "right" if expected else "it ran to its end")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
