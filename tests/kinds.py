"""Who may ask which op it is. What an op does stands in the effects column of ops.def; its handler (in
src/tile/ops or src/tile/machine) knows the op itself. Everywhere else a kind of op stands with a reason: the
files below, and how often each may. tests/lint.py calls check()."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
KIND = re.compile(r"\b(?:OpKind|K)::k[A-Z]\w*")
NO_REASON_NEEDED = ("src/tile/ops/", "src/tile/machine/", "src/simt/", "src/ptx/", "src/num/")

# file: (how often, why)
REASONS = {
    "src/ir/custom_control.cpp": (1, "the op that the syntax of warp_specialize makes"),
    "src/ir/edit.cpp": (1, "where a function ends"),
    "src/ir/edit_grow.cpp": (1, "captures belong to the op around the partitions"),
    "src/ir/module.cpp": (1, "functions"),
    "src/ir/op_table.cpp": (1, "an old name of module"),
    "src/ir/parser.cpp": (2, "the module around everything"),
    "src/ir/printer.cpp": (1, "the yield that is not written"),
    "src/ir/translate.cpp": (1, "the module's own name stays"),
    "src/ir/translate_ops.cpp": (22, "ops that one release has and another puts others in the place of"),
    "src/ir/verify.cpp": (18, "what regions and branches of each op must be"),
    "src/probe/in_flight.cpp": (3, "products that go on, through loops"),
    "src/probe/insert.cpp": (11, "loops that are counted, and where stores may stand"),
    "src/probe/loop_counts.cpp": (2, "loops that are counted, and what partitions capture"),
    "src/probe/registers_taps.cpp": (5, "loops, branches and partitions"),
    "src/probe/names.cpp": (5, "what a function calls, and the loops around a place"),
    "src/probe/select.cpp": (6, "names of loops' and branches' results"),
    "src/probe/stores.cpp": (10, "where stores may stand"),
    "src/tile/check/uninit.cpp": (1, "what decides how often a loop runs must be defined"),
    "src/tile/check/zero_division.cpp": (1, "a power divides by its first operand"),
    "src/tile/fuse/fuse.cpp": (1, "a column that is repeated"),
    "src/tile/fuse/fuse_dots.cpp": (1, "a column that is repeated"),
    "src/tile/lowering.cpp": (1, "the yield that a region without one ends with"),
    "src/tile/trace/origin.cpp": (12, "through which operand an address came"),
}


def check() -> list[str]:
    """What is wrong, a line each."""
    wrong, left = [], dict(REASONS)
    for path in sorted((*(ROOT / "src").rglob("*.h"), *(ROOT / "src").rglob("*.cpp"))):
        name = str(path.relative_to(ROOT))
        if name.endswith("_test.cpp") or name.startswith(NO_REASON_NEEDED):
            continue
        count = sum(not kind.endswith("::kUnknown") for kind in KIND.findall(path.read_text()))
        most, _ = left.pop(name, (0, ""))
        if count > most:
            wrong.append(f"{name}: {count} kinds of ops, {most} with a reason: ask for effects")
        elif count < most:
            wrong.append(f"{name}: {count} kinds of ops: lower the {most} in tests/kinds.py")
    return wrong + [f"{name}: is gone, and stands in tests/kinds.py" for name in left]


if __name__ == "__main__":
    found = check()
    print("\n".join(found) or "every kind of op has its reason")
    sys.exit(bool(found))
