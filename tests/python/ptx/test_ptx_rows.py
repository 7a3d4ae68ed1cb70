"""A row of opcodes.def has what others have to know about a PTX opcode; who names one says why."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[3]
SOURCES = [ROOT / "src", ROOT / "include", ROOT / "python" / "bindings"]
TABLE = (ROOT / "include/triton_runner/ptx/opcodes.def").read_text()

SYNTAX = "jumps and calls are written as no other instruction is"
CONTRACTION = "what ptxas contracts is products and sums, and what it splits blocks at it alone knows"
COPIES = "a copy of a register is followed to what it copies"
PRODUCTS = "the registers of wgmma are its own until its wait"
ALLOWED = {
    "include/triton_runner/ptx/module.h": ({"kUnknown"}, "says what parsing does with opcodes without a row"),
    "src/ptx/opcode.cpp": ({"kUnknown"}, "what the look-up gives where there is no row"),
    "src/ptx/parse_operands.cpp": ({"kBra", "kBrx", "kCall", "kMov", "kCvta"}, SYNTAX),
    "src/simt/front/ptx/routine.cpp": ({"kCall"}, "which functions a function calls"),
    "src/ptx/names.cpp": ({"kBra", "kBrx"}, SYNTAX),
    "src/ptx/print.cpp": ({"kBra"}, SYNTAX),
    "src/ptx/contract.cpp": (
        {"kMul", "kDiv", "kAdd", "kSub", "kNeg", "kMov", "kRem", "kSqrt", "kRsqrt", "kLd"}
        | {"kMembar", "kFence", "kSetmaxnreg", "kBrkpt", "kShfl", "kWgmma", "kFma"},
        CONTRACTION,
    ),
    "src/simt/front/ptx/contract.cpp": ({"kDiv", "kMul"}, CONTRACTION),
    "src/tile/machine/asm_program.cpp": (
        {"kDiv", "kBra", "kFence", "kMembar", "kGriddepcontrol", "kNanosleep", "kSetmaxnreg"},
        CONTRACTION + "; hints and fences do nothing in a tile",
    ),
    "src/simt/front/ptx/origin.cpp": (
        {"kMov", "kCvta", "kAdd", "kOr", "kSelp", "kSub", "kMad", "kLd", "kAtom", "kShfl", "kCall"},
        "which operands an address may come of",
    ),
    "src/simt/front/ptx/exact.cpp": (
        {"kAdd", "kSub", "kNeg", "kMul", "kMad", "kShl", "kShr", "kDiv", "kRem", "kMin", "kMax"}
        | {"kAnd", "kOr", "kXor", "kNot", "kMov", "kCvt", "kCvta", "kSelp", "kSetp"}
        | {"kLd", "kSt", "kShfl", "kRedux"},
        "which rule of exact integers is an instruction's",
    ),
    "src/simt/front/ptx/listing.cpp": (
        {"kCp", "kFence", "kMembar"},
        "which instructions order relaxed accesses, and which copies are made thread by thread",
    ),
    "src/simt/front/ptx/multimem.cpp": ({"kLd", "kSt", "kRed", "kUnknown"}, "what multimem is on one device"),
    "src/probe/insert/copies.cpp": (
        {"kSt"},
        "lanes store a value each, which stmatrix and bulk stores do not",
    ),
    "src/probe/ptx/registers_pair.cpp": ({"kMov", "kCvt"}, COPIES),
    "src/ptx/flow.cpp": ({"kCall", "kWgmma"}, "a call comes back; a wgmma adds to what its results hold"),
    "src/probe/sass/find.cpp": ({"kWgmma"}, PRODUCTS),
    "src/probe/sass/place.cpp": ({"kWgmma", "kMov"}, PRODUCTS + "; " + COPIES),
    "python/bindings/ptx.cpp": ({"kUnknown"}, "what Instruction.is_known says"),
}


def rows() -> dict[str, str]:
    """The handler of each opcode."""
    found = re.findall(r"^OP\((k\w+),.*?,\s+(\w+), (\w+), [\w |]+, \"[\d.]*\"\)$", TABLE, re.M | re.S)
    return {name: handler for name, handler, _ in found}


def named_elsewhere(path: pathlib.Path, handlers: dict[str, str]) -> set[str]:
    """The opcodes that a file names but does not handle."""
    text = path.read_text()
    own = set(re.findall(r"^bool lower_(\w+)\(", text, re.M))
    names = re.findall(r"(?<!sass::)\bOpcode::(k[A-Z]\w*)", text)
    # Names have nothing in front of them where a function has `using enum`, up to its end.
    for scope in re.findall(r"\busing enum ptx::Opcode;(.*?)(?:^\}|\Z)", text, re.M | re.S):
        names += [name for name in re.findall(r"(?<!::)\b(k[A-Z]\w*)", scope) if name in handlers]
    return {name for name in names if handlers[name] not in own}


def test_every_row_is_read():
    assert len(rows()) == len(re.findall(r"^OP\(", TABLE, re.M)) > 130


def test_nobody_names_an_opcode_without_a_reason():
    handlers = rows()
    found = {}
    for folder in SOURCES:
        files = [path for path in folder.rglob("*") if path.suffix in (".cpp", ".h")]
        files = [path for path in files if ROOT / "src/sass" not in path.parents]  # which has its own opcodes
        for path in files:
            names = named_elsewhere(path, handlers)
            if names and not path.name.endswith("_test.cpp"):
                found[str(path.relative_to(ROOT))] = names
    assert found == {path: names for path, (names, _) in ALLOWED.items()}
