"""Lists the element types, a row each, and reads their names: the IR's (f32), Triton's (fp32) and NumPy's
(float32). job.py reads signatures with it."""

import collections
import re

# name: as the IR has it. numpy: NumPy's or ml_dtypes'. triton: in a signature; "" where Triton has none.
Element = collections.namedtuple("Element", "name numpy triton safetensors")

ROWS = (
    Element("i1", "bool", "i1", "BOOL"),
    Element("i8", "int8", "i8", "I8"),
    Element("i16", "int16", "i16", "I16"),
    Element("i32", "int32", "i32", "I32"),
    Element("i64", "int64", "i64", "I64"),
    Element("u8", "uint8", "u8", "U8"),
    Element("u16", "uint16", "u16", "U16"),
    Element("u32", "uint32", "u32", "U32"),
    Element("u64", "uint64", "u64", "U64"),
    Element("f16", "float16", "fp16", "F16"),
    Element("f32", "float32", "fp32", "F32"),
    Element("f64", "float64", "fp64", "F64"),
    Element("bf16", "bfloat16", "bf16", "BF16"),
    Element("f8E4M3FN", "float8_e4m3fn", "fp8e4nv", "F8_E4M3"),
    Element("f8E5M2", "float8_e5m2", "fp8e5", "F8_E5M2"),
    Element("f8E4M3FNUZ", "float8_e4m3fnuz", "fp8e4b8", "F8_E4M3FNUZ"),
    Element("f8E5M2FNUZ", "float8_e5m2fnuz", "fp8e5b16", "F8_E5M2FNUZ"),
    Element("f8E8M0FNU", "float8_e8m0fnu", "", "F8_E8M0"),
)
_SPELLED = {name.lower(): row for row in ROWS for name in (row.name, row.numpy, row.triton) if name}
_SPELLED["u1"] = _SPELLED["i1"]  # as Triton's launches name a bool


def find(text):
    """The row of a type by any of its names, "f32", "fp32", "float32" or "torch.float32"; None for any
    other text."""
    return _SPELLED.get(text.rpartition(".")[2].lower())


KNOWN = "element types: " + ", ".join(row.triton for row in ROWS if row.triton)


# "f32" of "*f32", "tensordesc<f32[64]>", "f32" and "f32:16"; other words are constants.
_ELEMENT = re.compile(r"(?:\*+k?|tensordesc<)(\w+)|((?:[iu]|b?f|b?fp|u?int|b?float)\d+)(?::|$)")


def in_triton(word):
    """("*fp32:16", "") of "*f32:16": a type of a signature as Triton spells it, and the name of the elements
    that it points to where there are none of that name. Constants stay as they are."""
    if word.startswith(("'", '"', "tl.")):
        return word, ""
    pointed = _ELEMENT.match(word)
    name = pointed[1] or pointed[2] if pointed else ""
    is_type = not name or find(name) or re.match(r"fp[48]\w*\d|B$", name)  # newer ones, and bool as it was
    spelled = re.sub(r"[A-Za-z]\w*", lambda m: getattr(find(m.group()), "triton", "") or m.group(), word)
    return spelled, "" if is_type else name
