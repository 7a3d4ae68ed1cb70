"""Who may ask which op it is. What an op does stands in the effects column of ops.def, and what more others
have to know of it in rules that its row names; its handler (in src/tile/ops or src/tile/machine) knows the op
itself. Everywhere else only the ops of control flow are named, and the few below. tests/lint.py calls
check()."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
KIND = re.compile(r"\b(?:OpKind|K)::k([A-Z]\w*)")
HANDLERS = ("src/tile/ops/", "src/tile/machine/", "src/simt/", "src/ptx/", "src/lanes/", "src/num/")

# Who follows values or walks over regions goes through these: each passes values on in a way of its own.
CONTROL = """Module Func Return Call Br CondBr For If While ExecuteRegion IndexSwitch Yield Condition
    WarpSpecialize WarpSpecializePartitions"""
TRANSLATED = """Constant MemDescSubview MemDescIndex MemDescSubslice Broadcast Reshape Assert Barrier
    GpuBarrier WarpGroupDot WarpGroupDotWait TCGen5MMA TCGen5MMAScaled DescriptorLoad DescriptorStore
    ReinterpretTensorDescriptor AsyncTMACopyGlobalToLocal AsyncTMACopyLocalToGlobal"""
# file: (which, why)
REASONS = {
    "src/ir/translate_ops.cpp": (TRANSLATED, "one release has it, and another puts others in its place"),
    "src/probe/insert/insert.cpp": ("ConvertLayout", "the print before it was the reason for the conversion"),
    "src/tile/fuse/fuse.cpp": ("Broadcast", "a column that is repeated is spread out in scratch"),
    "src/tile/fuse/fuse_dots.cpp": ("Broadcast", "a column that scales the accumulator"),
    "src/tile/lowering.cpp": ("Constant", "a number of the text, which inline assembly and hashes want"),
    "src/tile/check/warps.cpp": (
        "AmdCondBarrier Barrier ConvertLayout GpuBarrier Histogram RocdlBarrier RocdlSBarrier",
        "barriers do nothing in a tile, and two ops bring elements to other warps without an axis",
    ),
    "src/tile/check/zero_division.cpp": ("IPowI", "a power divides by its first operand"),
}


def named() -> dict[str, set[str]]:
    """The kinds that each file names, but for those of handlers."""
    found = {}
    for path in sorted((*(ROOT / "src").rglob("*.h"), *(ROOT / "src").rglob("*.cpp"))):
        name = str(path.relative_to(ROOT))
        if not name.endswith("_test.cpp") and not name.startswith(HANDLERS):
            found[name] = set(KIND.findall(path.read_text())) - {"Unknown"}
    return found


def check() -> list[str]:
    """Returns what is wrong, a line each."""
    wrong, left = [], dict(REASONS)
    for name, kinds in named().items():
        reasons, _ = left.pop(name, ("", ""))
        for kind in sorted((kinds - set(CONTROL.split())) ^ set(reasons.split())):
            if kind in kinds:
                say = "ask op.does(an effect), or say in REASONS of tests/kinds.py why that cannot be"
            else:
                say = "it is not named any more: take it out of REASONS of tests/kinds.py"
            wrong.append(f"{name}: {kind}: {say}")
    return wrong + [f"{name}: is gone: take its line out of REASONS of tests/kinds.py" for name in left]


if __name__ == "__main__":
    found = check()
    count = len(set().union(*named().values()))
    print("\n".join(found) or f"{count} kinds of ops are named, each with its reason")
    sys.exit(bool(found))
